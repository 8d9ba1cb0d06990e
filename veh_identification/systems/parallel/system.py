"""The parallel robot as a system: recordings in, outcome out (Abdellatif 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification.errors import InputError, SignalError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.results.identification import identification_outcome
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.signals.jitter import evened
from veh_identification.systems.base import System, Task, paths_of
from veh_identification.systems.parallel import outcome as told
from veh_identification.systems.parallel.checks.channels import channel_findings, jump_findings
from veh_identification.systems.parallel.checks.described import check_described
from veh_identification.systems.parallel.checks.fit import SCALE_NOT_CHECKED
from veh_identification.systems.parallel.checks.plausibility import plausibility
from veh_identification.systems.parallel.checks.repetition import another_period
from veh_identification.systems.parallel.configuration import (
    DEFAULT,
    Configuration,
    load_configuration,
)
from veh_identification.systems.parallel.estimation.band import even_legs
from veh_identification.systems.parallel.estimation.glitches import without_glitches
from veh_identification.systems.parallel.estimation.structure_selection import (
    Candidate,
    best_structure,
    select_structure,
)
from veh_identification.systems.parallel.estimation.validation import validation_data
from veh_identification.systems.parallel.glossary import GLOSSARY
from veh_identification.systems.parallel.identify import Estimate, Recordings, estimate
from veh_identification.systems.parallel.live.accumulation import (
    PIECE,
    LiveOptions,
    ParallelLive,
)
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.systems.parallel.options import (
    IdentifyOptions,
    Settings,
    settings_of,
    with_options,
)
from veh_identification.systems.parallel.processing import measured_pose
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.systems.parallel.recording.reader import (
    LegRecording,
    NotRepeatingError,
    periodic_record,
    read_legs,
)
from veh_identification.types import Progress

#: Share by which the period of a motion may be off that of the configuration: nearer it is found.
ANOTHER_PERIOD = 0.05


class ImplausibleLegsError(InputError):
    """A recording contradicts itself or the robot's description."""


class ParallelRobot(System[Configuration, LegRecording]):
    """A six-legged parallel robot that repeats an exciting motion."""

    name: ClassVar[str] = 'parallel'
    aliases: ClassVar[tuple[str, ...]] = ('hexapod',)
    title: ClassVar[str] = 'parallel robot'
    summary: ClassVar[str] = (
        'six-legged parallel robots from periodic excitation (Abdellatif 2009)'
    )
    verbs: ClassVar[Mapping[str, type]] = {'identify': IdentifyOptions}
    glossary: ClassVar[Mapping[str, str]] = GLOSSARY
    node: ClassVar[str] = 'parallel_identification'
    template: ClassVar[str] = DEFAULT

    def configure(self, path: Path | None, options: Any = None) -> Configuration:
        """The robot of a file, PaLiDA without one; options replace entries of `identify:`."""
        made = with_options(load_configuration(path), options)
        settings_of(made)  # refuses entries that cannot be
        return made

    def read(
        self, bag: Path, config: Configuration, progress: Progress | None = None
    ) -> LegRecording:
        """Lengths and forces of the six legs."""
        return read_legs(bag, settings_of(config).topic, progress)

    def checks(self, recording: LegRecording, config: Configuration) -> list[Finding]:
        """Whether the motion repeats, is complete, and can be made by the described robot."""
        settings = settings_of(config)
        jumped = jump_findings(recording.legs, settings.topic)
        if any(one.level == 'bad' for one in jumped):
            return jumped
        calm, cut = _calm(recording, settings)
        records = _periods([calm], settings)
        if not records:
            found = [*channel_findings(config.robot, calm.legs, settings.topic), *cut]
            text = f'{recording.source}: the motion does not repeat; rows are filtered instead'
            found += _another_period(calm, settings)
            return [*found, Finding('note', 'motion_not_periodic', text, recording.source)]
        record = records[0]
        found = channel_findings(config.robot, calm.legs, settings.topic, record.fundamental_hz)
        found += [*cut, *record.findings, *_another_period(calm, settings, record)]
        if not any(one.level == 'bad' for one in found):
            found += plausibility(config.model(), record, settings.harmonics, settings.cutoff_hz)
        if not any(one.level == 'bad' for one in found):
            measured_pose(config.robot, record)
        return found

    def described(self, config: Configuration) -> list[Finding]:
        """Joints, home, masses and gravity that no hexapod has."""
        return check_described(config.robot)

    def live(self, config: Configuration) -> ParallelLive:
        """The estimate after each period of the excitation."""
        return ParallelLive(config, LiveOptions())

    def identify(self, task: Task[Configuration]) -> Outcome[IdentificationResult]:
        """Parameters from the mean periods of one or several recordings."""
        task = replace(task, config=with_options(task.config, task.options))
        config, settings = task.config, settings_of(task.config)
        model = config.model()
        recordings = [self.series(one, task) for one in task.recordings]
        for one in recordings:
            jumped = jump_findings(one.legs, settings.topic)
            if any(each.level == 'bad' for each in jumped):
                raise ImplausibleLegsError(f'{one.source}: {jumped[0].text}')
        calm = [_calm(one, settings) for one in recordings]
        recordings = [one for one, _ in calm]
        records = _periods(recordings, settings)
        unseen = None if task.validation is None else self.series(task.validation, task)
        checked = _plausible(model, recordings, records, settings)
        legs = tuple(even_legs(one.legs) for one in recordings)
        made = estimate(model, Recordings(legs, tuple(records)), settings)
        records = list(made.records)
        late = made.effort_delay
        data = None if unseen is None else validation_data(config.robot, unseen.legs, late)
        structures = told.Structures(*_structures(config, made))
        validated = None if data is None else told.Validated.of(model, data, made.parameters)
        result = replace(
            made.result,
            validation=None if validated is None else validated.found,
            input=told.input_facts(config, settings, records, made, validated),
            extra=told.extra_facts(structures, made),
        )
        findings = [
            *made.findings,
            *checked,
            *(one for record in records for one in record.findings),
            *(one for _, cut in calm for one in cut),
            SCALE_NOT_CHECKED,
            *structures.findings(),
            *([] if validated is None else validated.findings()),
        ]
        return identification_outcome(
            result,
            title=self.title,
            bags=paths_of(recordings),
            validate=next(iter(paths_of([] if unseen is None else [unseen])), None),
            findings=findings,
            series=told.series(model, made, validated),
            provenance=provenance(
                'identify',
                self.name,
                task.arguments,
                {'input': result.input, 'noise': result.noise, **result.extra},
                told.origins(config, settings, records, made, dict(task.arguments)),
            ),
            glossary=self.glossary,
            further=told.further(records, made, structures, validated),
            inputs=task.inputs,
        )


def _structures(config: Configuration, made: Estimate) -> tuple[Structure, list[Candidate]]:
    """Passive friction models on the same rows as the estimate."""
    if made.band is not None:
        covariance = made.band.covariance()
        return best_structure(config.robot, made.band.equations, covariance, config.structure)
    lines = round(made.cutoff_hz / made.records[0].fundamental_hz)
    return select_structure(config.robot, made.records, lines, config.structure)


def _periods(recordings: Sequence[LegRecording], settings: Settings) -> list[PeriodicRecord]:
    """Mean periods; none where one of the motions does not repeat and need not."""
    try:
        return [_averaged(one, settings) for one in recordings]
    except NotRepeatingError:
        if settings.processing not in ('auto', 'band'):
            raise
        return []


def _another_period(
    recording: LegRecording, settings: Settings, record: PeriodicRecord | None = None
) -> list[Finding]:
    """A motion that does repeat, though less often than it should; `record`: its mean period.

    One that repeats more often is told by the lines of its mean, and then no period is left out.
    """
    stated = settings.fundamental_hz
    whole = record is not None and not any(
        one.code == 'period_left_out' for one in record.findings
    )
    if stated is None or whole:
        return []
    try:
        found = _averaged(recording, replace(settings, fundamental_hz=None)).fundamental_hz
    except SignalError:
        return []
    if abs(found / stated - max(round(found / stated), 1)) < ANOTHER_PERIOD:
        return []
    return [another_period(recording.source, found, stated)]


def _plausible(
    model: HexapodModel,
    recordings: Sequence[LegRecording],
    records: Sequence[PeriodicRecord],
    settings: Settings,
) -> list[Finding]:
    """What the checks say of all recordings; a mistake that explains a misfit is refused."""
    findings = []
    for k, recording in enumerate(recordings):
        fundamental = records[k].fundamental_hz if records else None
        found = channel_findings(model.robot, recording.legs, settings.topic, fundamental)
        if records:
            found += plausibility(model, records[k], settings.harmonics, settings.cutoff_hz)
        for one in found:
            if one.level == 'bad':
                raise ImplausibleLegsError(one.text)
        findings += found
        findings += _another_period(recording, settings, records[k] if records else None)
    return findings


def _calm(recording: LegRecording, settings: Settings) -> tuple[LegRecording, list[Finding]]:
    """On even stamps and without glitches: one of them would spoil the mean of all periods."""
    period = 1.0 / settings.fundamental_hz if settings.fundamental_hz else PIECE
    legs, findings = recording.legs, []
    if (np.diff(legs.stamps) > 0.0).all() and np.isfinite(legs.values[:, :6]).all():
        even = evened(legs.stamps, legs.values[:, :6])
        legs, findings = replace(legs, stamps=even.stamps), even.findings(legs.label, legs.label)
    legs, found = without_glitches(legs, period)
    return replace(recording, legs=legs), [*findings, *found]


def _averaged(recording: LegRecording, settings: Settings) -> PeriodicRecord:
    return periodic_record(
        recording.legs, settings.fundamental_hz, settings.harmonics, settings.skip_periods
    )
