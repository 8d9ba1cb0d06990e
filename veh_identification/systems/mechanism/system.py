"""The observer of a planar mechanism that a file describes (Sinigaglia 2016, chapters 2 and 3)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification._version import __version__
from veh_identification.errors import BagError, InputError, ModelError, UsageError, VehIdError
from veh_identification.findings import Finding
from veh_identification.observation import Innovation, ObserverAnalysis
from veh_identification.observation.streaming import Item, OnlineOptions, Session
from veh_identification.results.observation import ObserverRun, observation_outcome
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.runtime.bags import BagWriter
from veh_identification.systems.base import System, Task
from veh_identification.systems.mechanism.agreement.check import check_agreement
from veh_identification.systems.mechanism.configuration import Description, load
from veh_identification.systems.mechanism.described import check_described
from veh_identification.systems.mechanism.model import build, sensors_of
from veh_identification.systems.mechanism.online import MechanismSession, MechanismSystem
from veh_identification.systems.mechanism.recording import MechanismRecording, read
from veh_identification.systems.mechanism.results import (
    Run,
    error_tables,
    joints_message,
    judged,
    nees,
    states_of,
    text_of,
)
from veh_identification.systems.mechanism.streams import brought_by
from veh_identification.systems.observing.checks import unusable_messages
from veh_identification.systems.observing.figures import (
    adaptive_figures,
    sensor_counts,
    speed_figures,
    stream_counts,
)
from veh_identification.systems.observing.offline import Beside, OfflineRun, run_offline
from veh_identification.systems.observing.options import ObserveOptions
from veh_identification.systems.options import option
from veh_identification.types import Array, Progress

#: Progress is told every so many steps.
TELL = 500
GLOSSARY = {
    'coordinate': 'what a coordinate is called in the description: angle, distance or travel',
    'coordinate rate': 'its rate',
    'x_point': 'place of a point along x (x1 for a point that is called 1); y_point along y',
    'vx_point': 'velocity of a point along x; vy_point along y',
}


@dataclass(frozen=True)
class MechanismOptions(ObserveOptions):
    """Options of `observe mechanism`."""

    step: float | None = option(
        None,
        'longest time step instead of that of the configuration [s]',
        minimum=1e-4,
        maximum=0.1,
    )
    settle: float = option(
        1.0, 'data that is looked at before the start [s]', minimum=0.0, maximum=600.0
    )
    force_estimation: bool = option(False, 'errorEKF-FE: estimate unknown forces as well')

    def applied(self, description: Description) -> Description:
        """The mechanism with what was set for this run."""
        observer = description.observer
        if self.step is not None:
            observer = replace(observer, step=self.step)
        if self.gate_probability is not None:
            observer = replace(observer, gate_probability=self.gate_probability)
        if self.force_estimation:
            observer = replace(observer, force_estimation=True)
        return replace(description, observer=observer)


class PlanarMechanism(System[Description, MechanismRecording]):
    """Any planar mechanism; `four-bar` is one whose description is known."""

    name = 'mechanism'
    title = 'mechanism'
    summary = 'planar mechanisms of a YAML file (Sinigaglia 2016)'
    verbs: ClassVar[Mapping[str, type]] = {'observe': MechanismOptions}
    glossary = GLOSSARY
    node = 'error_ekf'
    template = 'mechanism_slider_crank.yaml'
    config_optional = False

    def configure(self, path: Path | None, options: Any = None) -> Description:
        """The mechanism of a file; it must be possible to assemble it."""
        if path is None:
            raise UsageError(
                f'observe {self.name} needs --config FILE, the mechanism; `veh-id init '
                f'{self.name}` writes one to begin with'
            )
        description = load(path)
        try:
            check_assembly(description, path)
        except VehIdError as error:
            wrong = next((one for one in check_described(description) if one.level == 'bad'), None)
            if wrong is None:
                raise
            raise InputError(f'{path}: {wrong.text} ({error})') from None
        return description

    def read(
        self, bag: Path, config: Description, progress: Progress | None = None
    ) -> MechanismRecording:
        """One recording: sensors, forces and the truth."""
        return read(bag, config, progress)

    def checks(self, recording: MechanismRecording, config: Description) -> list[Finding]:
        """What cannot be used, sensors that lack, and what they say against each other."""
        findings = unusable_messages(recording.unusable)
        absent = [name for name in sensors_of(config) if not recording.counts.get(name)]
        if absent:
            wanted = [f'{name} ({brought_by(config, name)})' for name in absent]
            text = f'the recording does not bring {", ".join(wanted)}: the observer does without'
            findings.append(
                Finding('warn', 'sensor_not_recorded', text, 'configuration, observer.sensors')
            )
        return [*findings, *check_agreement(recording.items, config)]

    def described(self, config: Description) -> list[Finding]:
        """Gravity, sizes, masses and inertias that no mechanism has."""
        return check_described(config)

    def live(self, config: Description) -> MechanismSystem:
        """What the node drives; its `say` may be set before the start."""
        return MechanismSystem(config, say=lambda finding: None)

    def observe(self, task: Task[Description]) -> Outcome[ObserverRun]:
        """States over one recording: the observer, and the model alone where there is a truth."""
        options: MechanismOptions = task.options
        description = options.applied(task.config)
        recording = self.series(task.recordings[0], task)
        findings = self.checks(recording, description)
        heard = [name for name in sensors_of(description) if recording.counts.get(name)]
        if not heard:
            raise BagError(f'{recording.source}: it brings none of the sensors of the observer')
        analysis = ObserverAnalysis(
            tuple(description.independent), options.observability, options.poles
        )
        spool = tempfile.TemporaryDirectory(prefix='veh-id-')
        observed_bag = Path(spool.name) / 'observed'
        system = MechanismSystem(
            description,
            say=findings.append,
            sensors=heard,
            adaptive=options.adaptive_settings(),
        )
        warm_up(description)
        with BagWriter(observed_bag) as writer:
            run, offline = _run(
                system, recording, options, task.progress, _beside(writer, analysis)
            )
        if not run.stamps:
            raise BagError(
                f'{recording.source}: no step of the observer could be made of its messages'
            )
        assert run.session is not None  # a step was made
        findings += run.session.filter.findings()
        if offline.observer.session is None:
            findings.append(_ended(recording, run))
        findings = list(dict.fromkeys([*findings, *offline.observer.events]))
        truth = _truth(recording, run.stamps[0]) if offline.observer.starts == 1 else {}
        alone = None
        if truth and options.compare_model:
            bare = MechanismSystem(description, sensors=(), say=lambda finding: None)
            alone_run, _ = _run(bare, recording, options, task.progress)
            alone = alone_run.levels if len(alone_run.stamps) == len(run.stamps) else None
        metrics = self._metrics(description, recording, run, offline, truth, alone, analysis)
        metrics['notes'] = [one.text for one in findings]
        settings = {name: value for name, value in metrics.items() if name != 'coordinates'}
        return observation_outcome(
            ObserverRun(
                states_of(system.built, run, truth, alone),
                {name: run.innovations.get(name, []) for name in metrics['sensors']},
                metrics,
                gate_probability=description.observer.gate_probability,
                details=run,
            ),
            system=self.name,
            title=description.name,
            bag=recording.source,
            findings=findings,
            provenance=provenance(
                'observe', self.name, task.arguments, settings, inputs_of(description, recording)
            ),
            body=text_of(metrics, analysis, system.built),
            files={'observed': observed_bag},
            spool=spool,
            inputs=task.inputs,
        )

    def _metrics(
        self,
        description: Description,
        recording: MechanismRecording,
        run: Run,
        offline: OfflineRun,
        truth: Mapping[str, Array],
        alone: tuple[Array, Array] | None,
        analysis: ObserverAnalysis,
    ) -> dict[str, Any]:
        """Everything of metrics.json but the notes."""
        session = run.session  # the observer may have given up since
        assert session is not None
        mechanism, filter_ = session.mechanism, session.filter
        found = judged(run.innovations)
        if truth:
            found['consistency']['nees'] = nees(mechanism, run, truth)
        lost = {topic: count for topic, (count, _) in recording.unusable.items() if count}
        if filter_.orders == 3:
            error = dict(zip(description.independent, run.force[-1].tolist(), strict=True))
            found['force_error'] = error
        return {
            'system': self.name,
            **(error_tables(mechanism, run, truth, alone) if truth else {}),
            **found,
            'sensors': sensor_counts(filter_),
            'streams': stream_counts(offline.observer),
            'unusable_messages': lost,
            'parameters': dict(
                zip(filter_.parameter_names, filter_.parameters.tolist(), strict=True)
            ),
            'failed_corrections': filter_.failed_corrections,
            **adaptive_figures(filter_, description.independent),
            **analysis.figures(),
            **speed_figures(float(run.times[-1]), offline),
            'bag': str(recording.source),
            'version': __version__,
        }


def _ended(recording: MechanismRecording, run: Run) -> Finding:
    """The model could not follow the sensors to the end."""
    text = (
        f'the observer gave up {run.times[-1]:.2f} s after its first step and did not start '
        'again: what it was told (units, signs, geometry, masses, forces of the drives) does not '
        'fit what the sensors show'
    )
    return Finding('bad', 'observer_ended', text, str(recording.source))


def check_assembly(description: Description, path: Path) -> None:
    """A sentence with the file when bodies and joints do not fit together."""
    try:
        build(description)
    except ModelError as error:
        raise ModelError(f'{path}: {error}') from error


def warm_up(description: Description) -> None:
    """Compile everything on a mechanism of its own, with the samples of its own model."""
    system = MechanismSystem(
        replace(description, observer=replace(description.observer, start='given')),
        say=lambda finding: None,
    )
    step_ns = round(description.observer.step * 1e9)
    items = []
    for name in system.sensors:
        one = description.sensors[name]
        if one.by_joint:
            column = system.built.columns[str(one.coordinate)]
            level = system.built.model.qd if one.kind == 'rate' else system.built.model.q
            value: tuple[float, ...] = (float(level[column]),)
        else:
            value = (0.0,) if one.kind == 'gyro' else (0.0, 0.0)
            if one.kind == 'position':
                place = system.built.points[str(one.point)].value(system.built.model.q)
                value = (float(place[0]), float(place[1]))
        items += [Item((k + 1) * step_ns, name, value) for k in range(5)]
    items.sort(key=lambda item: item.time_ns)
    run_offline(system, items, OnlineOptions(settle=0.01), lambda session, end_ns, found: None)


def _run(
    system: MechanismSystem,
    recording: MechanismRecording,
    options: MechanismOptions,
    progress: Progress | None,
    beside: Beside | None = None,
) -> tuple[Run, OfflineRun]:
    """All samples through the observer, or through the model alone."""
    run, count = Run(), len(recording.items)

    def keep(session: Session, end_ns: int, found: Sequence[Innovation]) -> None:
        assert isinstance(session, MechanismSession)
        run.store(session, end_ns, found)
        if progress is not None and len(run.stamps) % TELL == 0:
            progress(min(len(run.stamps), count), count)

    online = OnlineOptions(options.window, options.window, options.settle, options.bridge)
    return run, run_offline(system, recording.items, online, keep, beside)


def _beside(writer: BagWriter, analysis: ObserverAnalysis) -> Beside:
    """After every step: the observed topics, and a look at the filter."""
    looking = analysis.observability or analysis.poles

    def step(session: Session, end_ns: int) -> None:
        assert isinstance(session, MechanismSession)
        model = session.model
        message = joints_message(session.mechanism, end_ns, model.q, model.qd)
        writer.write_message('joint_states/observed', message, end_ns)
        if looking:
            filter_ = session.filter
            before = session.observed.snapshot()
            dt = session.step_ns * 1e-9
            analysis.look(filter_, model, session.observed.columns, filter_.time, dt)
            session.observed.restore(before)

    return step


def _truth(recording: MechanismRecording, start_ns: int) -> Mapping[str, Array]:
    """The truth with its times since the first step."""
    if not recording.truth:
        return {}
    known = dict(recording.truth)
    return {'time': np.asarray((known.pop('stamps') - start_ns) * 1e-9), **known}


def inputs_of(
    description: Description, recording: MechanismRecording
) -> tuple[tuple[str, str, str], ...]:
    """What went in, and where it came from."""
    start = description.observer.start
    rows = [
        (f'body {name}', f'{one.mass:g} kg', 'configuration')
        for name, one in description.bodies.items()
    ]
    rows.append(('gravity', f'{description.gravity} m/s^2', 'configuration'))
    for name in description.independent:
        one = description.coordinates[name]
        given = 'as drawn' if one.start is None else f'{one.start:.6g}'
        rows.append((f'{name} at the start', f'{given}, rate {one.rate:g}', f'{start}'))
    for name, drive in description.drives.items():
        measured = recording.counts.get(name, 0) > 0
        rows.append(
            (
                f'drive {name}',
                'measured' if measured else f'{drive.force:g}',
                'joint_states, field effort' if measured else 'configuration',
            )
        )
    return tuple(rows)
