"""From a finished run to its outcome: states, metrics, inputs, findings, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.findings import Finding
from veh_identification.observation import ObserverAnalysis, is_pseudo
from veh_identification.results.observation import ObserverRun, observation_outcome
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.systems.base import Task
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import Observed, Run
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.results.inputs import inputs_of
from veh_identification.systems.vehicle.results.metrics import metrics_of, text_of
from veh_identification.systems.vehicle.results.states import states_of, units


@dataclass(frozen=True, eq=False)
class Finished:
    """Everything that an observation of a recording leaves."""

    bag: Path
    recording: Recording
    system: VehicleSystem
    found: Observed
    model: Run | None  # without corrections
    analysis: ObserverAnalysis
    findings: tuple[Finding, ...]


def outcome_of(
    finished: Finished,
    task: Task[CarDescription],
    name: str,
    files: Mapping[str, bytes | Path],
    spool: Any,
) -> Outcome[ObserverRun]:
    """The outcome; `name` is that of the system, `spool` keeps what `files` names."""
    f, session = finished, finished.found.session
    car = session.car
    notes = [one.text for one in f.findings]
    metrics = metrics_of(f.recording, f.system, f.found, f.model, f.analysis, notes)
    metrics |= {'config': car.name, 'bag': str(f.bag), 'version': __version__}
    sensors, forces = session.filter.sensors, session.filter.orders == 3
    run = ObserverRun(
        states_of(f.found.run, f.model, f.recording.truth, forces),
        f.found.run.innovations,
        metrics,
        frozenset(sensor for sensor, model in sensors.items() if is_pseudo(model)),
        car.observer.gate_probability,
        ('x', 'y'),
        f.found,
    )
    settings = {key: value for key, value in metrics.items() if key != 'coordinates'}
    inputs = inputs_of(f.recording, f.system, session)
    return observation_outcome(
        run,
        system=name,
        title=f'{name} {car.name}',
        bag=f.bag,
        findings=f.findings,
        provenance=provenance('observe', name, task.arguments, settings, inputs),
        body=text_of(metrics, f.analysis, units()),
        files=files,
        spool=spool,
        inputs=task.inputs,
    )
