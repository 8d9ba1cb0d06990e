"""`veh-id observe buggy`: the errorEKF over a recording of a four-wheel car, offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from veh_identification import __version__
from veh_identification.errors import BagError, EstimationError
from veh_identification.runtime.atomic import OutputError, atomic_folder
from veh_identification.systems.buggy import result_bag
from veh_identification.systems.buggy.loading import load
from veh_identification.systems.buggy.metrics import summary, text
from veh_identification.systems.buggy.observed import ObservedVehicle
from veh_identification.systems.buggy.observer import find_start, make_filter, place
from veh_identification.systems.buggy.recording import read
from veh_identification.systems.buggy.run import Run, model_alone
from veh_identification.systems.buggy.run import observe as run_observer
from veh_identification.systems.buggy.vehicle import Vehicle

Progress = Callable[[int, int], None]
#: What an earlier run may have left in the output folder.
RESULTS = ('metrics.json', 'observed', 'report.html')


def check_out(out: Path) -> None:
    """Replacing a folder removes it: only results of this command may stand there."""
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError(f'{out} is not a folder')
    foreign = sorted(p.name for p in out.iterdir() if p.name not in RESULTS)
    if foreign:
        raise OutputError(f'{out} holds {foreign[0]!r}, which is no result of `veh-id observe`: '
                          'give another folder')


def _model_alone(run: Callable[[], Run], notes: list[str]) -> Run | None:
    try:
        return run()
    except EstimationError as error:
        notes.append(f'the uncorrected model cannot follow these inputs ({error}): no comparison')
        return None


def observe(*, bag: str | Path, out: str | Path, config: str | Path | None = None,
            progress: Progress | None = None) -> str:
    """Observe a recording; writes OUT/metrics.json and OUT/observed, returns the table."""
    check_out(Path(out))
    car = load(config)
    vehicle = Vehicle(car)
    recording = read(Path(bag), car, vehicle.rack_per_angle())
    if recording.duration < car.observer.step:
        raise BagError(f'{bag}: its sensors last {recording.duration:g} s, too short to observe')
    start = find_start(car, recording)
    filter_ = make_filter(car, recording, start)
    observed = filter_.model
    assert isinstance(observed, ObservedVehicle)
    run = run_observer(car, recording, filter_, progress)
    model = None
    if recording.truth:
        place(vehicle, start)
        model = _model_alone(lambda: model_alone(car, recording, vehicle, progress),
                             recording.notes)
    metrics = summary(recording, run, model, filter_, observed.repeated_steps)
    metrics |= {'config': car.name, 'bag': str(bag), 'version': __version__}
    with atomic_folder(Path(out), overwrite=True) as folder:
        (folder / 'metrics.json').write_text(json.dumps(metrics, indent=2) + '\n',
                                             encoding='utf-8')
        result_bag.write(folder / 'observed', run, recording.start_ns)
    return text(metrics)
