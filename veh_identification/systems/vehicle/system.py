"""The observer of any four-wheel car with its multibody model (Sinigaglia 2016)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from veh_identification.checks.clocks import check_clocks
from veh_identification.errors import BagError, EstimationError, UsageError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.observation import ObserverAnalysis
from veh_identification.observation.streaming import OnlineOptions
from veh_identification.results.observation import ObserverRun
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.bags import BagWriter
from veh_identification.systems.base import System, Task
from veh_identification.systems.observing.checks import unusable_messages
from veh_identification.systems.observing.options import ObserveOptions
from veh_identification.systems.options import option
from veh_identification.systems.vehicle.checks.described import check_described
from veh_identification.systems.vehicle.checks.heard import heard_in
from veh_identification.systems.vehicle.checks.plausibility import TOPIC_OF, check_heard
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observed import OBSERVED
from veh_identification.systems.vehicle.observer.online import (
    VehicleSession,
    VehicleSystem,
    missing,
)
from veh_identification.systems.vehicle.observer.run import (
    Observed,
    Run,
    model_alone,
    observe_recording,
)
from veh_identification.systems.vehicle.observer.thesis import thesis_car
from veh_identification.systems.vehicle.observer.warm_up import warm_up
from veh_identification.systems.vehicle.recording.mounting import mounted
from veh_identification.systems.vehicle.recording.reader import read
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.results.observed_topics import ObservedBag
from veh_identification.systems.vehicle.results.outcome import Finished, outcome_of
from veh_identification.systems.vehicle.results.states import glossary
from veh_identification.types import Progress


@dataclass(frozen=True)
class VehicleOptions(ObserveOptions):
    """Options of `observe vehicle`."""

    step: float | None = option(
        None,
        'time step of the observer instead of that of the configuration [s]',
        minimum=1e-4,
        maximum=0.05,
    )
    settle: float = option(
        10.0, 'data that is looked at before the start [s]', minimum=0.0, maximum=600.0
    )
    force_estimation: bool = option(
        True, 'estimate forces that the model does not know, where the configuration says so'
    )
    thesis: bool = option(
        False,
        'the observer of Sinigaglia 2016 as it stands, to compare with: course as yaw, chassis '
        'grabbed, known start, nothing estimated beside the motion',
    )

    def applied(self, car: CarDescription) -> CarDescription:
        """The car with what was set for this run."""
        if self.thesis:
            car = thesis_car(car)
        o, gate = car.observer, self.gate_probability
        changed = replace(
            o,
            step=o.step if self.step is None else self.step,
            gate_probability=o.gate_probability if gate is None else gate,
            force_estimation=o.force_estimation and self.force_estimation,
        )
        return replace(car, observer=changed)


class FourWheelVehicle(System[CarDescription, Recording]):
    """Any four-wheel car; the thesis' buggy is one configuration of it."""

    name = 'vehicle'
    aliases = ('buggy',)
    title = 'vehicle'
    summary = 'any four-wheel car with its multibody model (Sinigaglia 2016)'
    verbs: ClassVar[Mapping[str, type]] = {'observe': VehicleOptions}
    glossary = glossary()
    node = 'error_ekf'
    template = 'road_car.yaml'

    def configure(
        self, path: Path | None, options: VehicleOptions | None = None
    ) -> CarDescription:
        """The car of a file, or the packaged buggy."""
        return load(path)

    def read(
        self, bag: Path, config: CarDescription, progress: Progress | None = None
    ) -> Recording:
        """One recording as plain series, and as the streams that a node would see."""
        return read(bag, config, Vehicle(config).rack_per_angle(), progress)

    def described(self, config: CarDescription) -> list[Finding]:
        """Geometry, masses, springs and tyres that no vehicle has."""
        return check_described(config)

    def checks(self, recording: Recording, config: CarDescription) -> list[Finding]:
        """What cannot be used, what is missing, where sensors sit, what they say of each other."""
        mounting = mounted(config, recording.frames, recording.frame_ids)
        heard = heard_in(recording, config)
        # (The node hears of clocks by when messages come.)
        times = {stream: time for stream, (time, _) in heard.items() if stream in TOPIC_OF}
        apart = check_clocks(times, TOPIC_OF)
        return [
            *completed(config),
            *recording.findings,
            *unusable_messages(recording.unusable),
            *mounting.findings,
            *missing(recording, config),
            *(apart or check_heard(heard, mounting.car, Vehicle(config).rack_per_angle())),
        ]

    def live(self, config: CarDescription) -> VehicleSystem:
        """What the node drives; its `say` and `input_timeout` may be set before the start."""
        return VehicleSystem(config, say=lambda finding: None)

    def observe(self, task: Task[CarDescription]) -> Outcome[ObserverRun]:
        """States over one recording: the observer, and the model alone where there is a truth."""
        options: VehicleOptions = task.options
        car = options.applied(task.config)
        recording = self.series(task.recordings[0], task)
        bag = recording.source
        if bag is None:
            raise UsageError('observe vehicle needs a recording that was read from a bag')
        if recording.duration < car.observer.step:
            raise BagError(
                f'{bag}: its sensors last {recording.duration:g} s, too short to observe'
            )
        findings = self.checks(recording, task.config)
        system = VehicleSystem(car, say=findings.append, adaptive=options.adaptive_settings())
        analysis = ObserverAnalysis(OBSERVED, options.observability, options.poles)
        spool = tempfile.TemporaryDirectory(prefix='veh-id-')
        observed_bag = Path(spool.name) / 'observed'
        found = _observed(system, recording, options, observed_bag, analysis, task.progress)
        if found is None:
            raise BagError(f'{bag}: no step of the observer could be made of its messages')
        findings += found.observer.events + found.session.filter.findings()
        model = None
        if options.compare_model:
            model, said = _uncorrected(found, recording, task.progress)
            findings += said
        finished = Finished(
            bag, recording, system, found, model, analysis, tuple(dict.fromkeys(findings))
        )
        return outcome_of(finished, task, self.name, {'observed': observed_bag}, spool)


def completed(car: CarDescription) -> list[Finding]:
    """What a description does not say and an example car was taken for."""
    taken = [name for name, source in (car.provenance or {}).items() if ': ' not in source]
    if not taken:
        return []
    sections = list(dict.fromkeys(name.split('.')[0] for name in taken))
    text = (
        f'{len(taken)} entries below {listed(sections, 10)} are those of an example car: give '
        'those of this car where you know them'
    )
    return [Finding('note', 'description_completed', text, car.source)]


def _observed(
    system: VehicleSystem,
    recording: Recording,
    options: VehicleOptions,
    observed_bag: Path,
    analysis: ObserverAnalysis,
    progress: Progress | None,
) -> Observed | None:
    """The run; what it publishes goes into a bag meanwhile."""
    # everything waits as long as any message may be late
    wait = options.window + max(system.delays_ns.values()) * 1e-9
    online = OnlineOptions(lag=wait, window=wait, settle=options.settle, bridge=options.bridge)
    looking = analysis.observability or analysis.poles
    warm_up(system.car)
    with BagWriter(observed_bag) as writer:
        written = ObservedBag(writer)

        def step(session: VehicleSession, end_ns: int) -> None:
            written.step(session, end_ns)
            if looking:
                _look(analysis, session)

        return observe_recording(system, recording, online, progress, step)


def _look(analysis: ObserverAnalysis, session: VehicleSession) -> None:
    """Linearising moves the model: everything is put back, so that nothing changes by looking."""
    observed, vehicle = session.observed, session.vehicle
    before, report = observed.snapshot(), vehicle.report.copy()
    # the observed coordinates are the first of the independent ones
    columns = np.arange(observed.size)
    filter_ = session.filter
    analysis.look(filter_, vehicle.model, columns, filter_.time, session.car.observer.step)
    observed.restore(before)
    vehicle.report[:] = report


def _uncorrected(
    found: Observed, recording: Recording, progress: Progress | None
) -> tuple[Run | None, list[Finding]]:
    """The model without corrections beside a truth; None where there is no comparison."""
    if not recording.truth:
        return None, []
    if found.observer.starts > 1:
        text = 'the observer started anew on the way: no comparison with the model'
        return None, [Finding('note', 'no_comparison', text)]
    car, until = found.session.car, float(found.run.time[-1])
    try:
        return model_alone(car, recording, found.session.start, until, progress), []
    except EstimationError as error:
        text = f'the uncorrected model cannot follow these inputs ({error}): no comparison'
        return None, [Finding('note', 'no_comparison', text)]
