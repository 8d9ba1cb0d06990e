"""`veh-id observe buggy`: the errorEKF over a recording of a four-wheel car, offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from veh_identification import __version__
from veh_identification.atomic import OutputError, atomic_folder
from veh_identification.errors import BagError, EstimationError
from veh_identification.observation.streaming import OnlineOptions
from veh_identification.reporting.hooks import write_buggy_report
from veh_identification.runtime.bags import BagWriter
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observer import place
from veh_identification.systems.vehicle.observer.online import BuggySystem
from veh_identification.systems.vehicle.observer.run import (
    Observed,
    Run,
    model_alone,
    observe_arrivals,
)
from veh_identification.systems.vehicle.recording.mounting import given_poses
from veh_identification.systems.vehicle.recording.reader import Recording, read
from veh_identification.systems.vehicle.results.metrics import counts_of, summary, text
from veh_identification.systems.vehicle.results.observed_topics import ObservedBag
from veh_identification.types import Progress

#: What an earlier run may have left in the output folder.
RESULTS = ('metrics.json', 'observed', 'report.html')
#: How old a message may be when it arrives [s]; a file has time to wait for it.
WINDOW = 1.0
#: Data that is looked at before the start [s]; live there is less patience.
SETTLE = 10.0


def check_out(out: Path) -> None:
    """Replacing a folder removes it: only results of this command may stand there."""
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError(f'{out} is not a folder')
    foreign = sorted(p.name for p in out.iterdir() if p.name not in RESULTS)
    if foreign:
        raise OutputError(
            f'{out} holds {foreign[0]!r}, which is no result of `veh-id observe`: '
            'give another folder'
        )


def _model_alone(run: Callable[[], Run], notes: list[str]) -> Run | None:
    try:
        return run()
    except EstimationError as error:
        notes.append(f'the uncorrected model cannot follow these inputs ({error}): no comparison')
        return None


def make_system(recording: Recording, config: str | Path | None) -> BuggySystem:
    """The car of a configuration, with what the recording says about its sensors' places."""
    system = BuggySystem(load(config), given=given_poses(config), say=recording.notes.append)
    system.frames, system.frame_ids = recording.frames, recording.frame_ids
    return system


def offline_options(system: BuggySystem) -> OnlineOptions:
    """Everything waits as long as any message may be late."""
    wait = WINDOW + max(system.delays_ns.values()) * 1e-9
    return OnlineOptions(lag=wait, window=wait, settle=SETTLE)


def uncorrected(found: Observed, recording: Recording, progress: Progress | None) -> Run | None:
    """The model without corrections beside a truth; None where there is no comparison."""
    if not recording.truth:
        return None
    if found.observer.starts > 1:
        recording.notes.append(
            'the observer started anew on the way: no comparison with the model'
        )
        return None
    vehicle = Vehicle(found.session.car)
    place(vehicle, found.session.start)
    return _model_alone(
        lambda: model_alone(
            found.session.car, recording, vehicle, progress, float(found.run.time[-1])
        ),
        recording.notes,
    )


def observe(
    *,
    bag: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    progress: Progress | None = None,
) -> str:
    """Observe a recording; writes OUT/metrics.json, report.html, observed; returns the table."""
    check_out(Path(out))
    car = load(config)
    recording = read(Path(bag), car, Vehicle(car).rack_per_angle())
    if recording.duration < car.observer.step:
        raise BagError(f'{bag}: its sensors last {recording.duration:g} s, too short to observe')
    system = make_system(recording, config)
    with atomic_folder(Path(out), overwrite=True) as folder:
        with BagWriter(folder / 'observed') as writer:
            found = observe_arrivals(
                system, recording, offline_options(system), progress, ObservedBag(writer).step
            )
        if found is None:
            raise BagError(f'{bag}: no step of the observer could be made of its messages')
        recording.notes.extend(found.observer.events)
        model = uncorrected(found, recording, progress)
        session = found.session
        recording.datum = system.places.datum
        metrics = summary(
            recording, found.run, model, session.filter, session.observed.repeated_steps
        )
        metrics |= {
            'streams': counts_of(found.observer, system),
            'config': car.name,
            'bag': str(bag),
            'version': __version__,
        }
        (folder / 'metrics.json').write_text(
            json.dumps(metrics, indent=2) + '\n', encoding='utf-8'
        )
        report = write_buggy_report(
            folder,
            found.run,
            model,
            recording,
            metrics,
            bag=bag,
            out=out,
            config=config,
            gate_probability=session.car.observer.gate_probability,
        )
    return f'{text(metrics)}{report}\n'
