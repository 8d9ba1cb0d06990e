"""car_identification while the load changes, sensors fail, or nothing is excited; its warm-up."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live_harness import Item, run

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.nodes.car_identification.node import CarIdentification
from veh_identification.simulation.car.manoeuvres import KMH, Manoeuvre
from veh_identification.simulation.car.messages import readings, static_transforms
from veh_identification.simulation.car.scenarios import (
    car_recording,
    default_configuration,
    run_sensors,
    sine_steer,
)
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.live import accumulation
from veh_identification.systems.car.live import chunks as chunks_module
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.live.advice import SINE
from veh_identification.systems.car.live.chunks import OVERLAP, CarChunks
from veh_identification.systems.car.live.model import CarLiveModel

NAME = 'car_identification'
CHUNK = 10.0
OPTIONS = CarMethod(bias_correction=False)


def loaded(mass: float, place: tuple[float, float, float] = (0.9, 0.3, 0.35)) -> Vehicle:
    """The example car with a load; its suspension is set so that it stands level again."""
    vehicle, i = Vehicle(), Vehicle().inertia
    centre = (i.mass * np.array(i.centre) + mass * np.array(place)) / (i.mass + mass)
    return replace(vehicle, inertia=replace(i, mass=i.mass + mass, centre=tuple(centre)))


def chunks(seconds: float, seed: int, vehicle: Vehicle | None = None):
    """A drive in chunks as the node cuts it."""
    recording, _ = car_recording(
        default_configuration(), sine_steer(1), seconds, seed, vehicle=vehicle
    )

    def cut(series, a):
        return series.take((series.stamps >= a) & (series.stamps < a + CHUNK))

    for a in np.arange(0.0, seconds - CHUNK + 1e-9, CHUNK - OVERLAP):
        yield replace(
            recording,
            imu=cut(recording.imu, a),
            speed=cut(recording.speed, a),
            joints={n: cut(s, a) for n, s in recording.joints.items()},
            wrenches={n: cut(s, a) for n, s in recording.wrenches.items()},
        )


@pytest.fixture(scope='module')
def live() -> CarLive:
    core = CarLive(default_configuration(), OPTIONS, 1e-5)
    for chunk in chunks(40.0, 3):
        assert core.add(chunk) == ''
    assert not core.changed
    return core


def test_chunks_with_the_load_add_up_and_unloading_shows_at_once(live: CarLive) -> None:
    core = copy.deepcopy(live)
    values, spreads = [], []
    for chunk in chunks(30.0, 5, loaded(30.0)):
        assert core.add(chunk) == '' and core.changed
        values.append(core.change.value[0])
        spreads.append(core.change.std[0])
    print('load 30 kg:', np.round(values, 2), '+-', np.round(spreads, 2))
    assert core.load.chunks == len(values) >= 3
    assert spreads[-1] <= spreads[0]
    # Each run draws constant errors of its own, which the deviation holds.
    assert abs(values[-1] - 30.0) < 3.0 * spreads[-1] < 6.0
    empty = next(chunks(CHUNK, 3))
    assert core.add(empty) == ''
    assert not core.changed and core.load.information is None


def test_another_load_starts_the_second_estimate_anew(live: CarLive) -> None:
    core = copy.deepcopy(live)
    for mass in (60.0, 150.0):
        assert core.add(next(chunks(CHUNK, 5, loaded(mass)))) == ''
        assert core.changed and core.load.chunks == 1
        assert core.change.value[0] == pytest.approx(mass, abs=6.0)
    before, after = live.solve().value[0], core.solve().value[0]
    assert after == pytest.approx(before, abs=1.0)  # held meanwhile


def test_a_lost_steering_sensor_is_not_taken_as_straight_wheels(live: CarLive) -> None:
    core = copy.deepcopy(live)
    chunk = next(chunks(CHUNK, 7))
    blind = replace(chunk, joints={n: s for n, s in chunk.joints.items() if n != 'steering_fl'})
    assert core.add(blind) == 'sensors are missing: steering_fl'
    assert core.add(chunk) == ''
    other = CarLive(default_configuration(), OPTIONS, 1e-5)
    other.restore(live.state())
    assert other.add(blind) == 'sensors are missing: steering_fl'


def test_the_sums_are_made_once_for_all_who_keep_them(live: CarLive) -> None:
    """Forty megabytes: the state to go back to and every checkpoint hold the same."""
    core = copy.deepcopy(live)
    core._kept = None  # a copied array can be written to
    first = core.state()
    assert core.state()['grams'] is first['grams']
    with pytest.raises(ValueError, match='read-only'):
        first['grams'][:] = 0.0
    core.found = [Finding('warn', 'samples_lost', 'half of them are missing', 'imu/data')]
    core._remember(100)  # what changes without a chunk is told anew
    assert 'doubts' in core.state() and 'doubts' not in first
    assert core.add(next(chunks(CHUNK, 7))) == ''
    later = core.state()
    assert later['samples'] > first['samples']
    core._kept = None
    np.testing.assert_array_equal(later['grams'], core.state()['grams'])
    core.restore(first)
    assert core.state()['samples'] == first['samples']
    np.testing.assert_array_equal(core.state()['grams'], first['grams'])


def test_a_wrong_first_chunk_decides_nothing_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither by its friction law nor by its knowledge, were it even one that cannot be solved."""
    first, second = (one for one, _ in zip(chunks(20.0, 3), range(2), strict=False))
    alone = CarLive(default_configuration(), OPTIONS, 1e-5)
    assert alone.add(second) == ''
    wrong = replace(
        first,
        wrenches={**first.wrenches, 'fl': first.wrenches['fr'], 'fr': first.wrenches['fl']},
    )
    core = CarLive(default_configuration(), OPTIONS, 1e-5)
    seen: list[CarMethod] = []
    gather = accumulation.gather_recordings

    def noted(recordings, configuration, options):
        seen.append(options)
        return gather(recordings, configuration, options)

    monkeypatch.setattr(accumulation, 'gather_recordings', noted)
    core.add(wrong)
    assert core.provisional
    assert core.add(second) == '' and not core.provisional
    assert seen[1] == OPTIONS
    np.testing.assert_allclose(core.solve().value, alone.solve().value, rtol=1e-9, atol=1e-9)

    unsolved = CarLive(default_configuration(), OPTIONS, 1e-5)
    solve = CarLive._solve
    monkeypatch.setattr(CarLive, '_solve', _fails)
    with pytest.raises(EstimationError):
        unsolved.add(first)
    assert unsolved.known is None and unsolved.samples == 0
    monkeypatch.setattr(CarLive, '_solve', solve)
    assert unsolved.add(second) == ''
    np.testing.assert_allclose(unsolved.solve().value, alone.solve().value, rtol=1e-9, atol=1e-9)


def test_a_doubt_stands_as_long_as_its_chunk_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    core = CarLive(default_configuration(), OPTIONS, 1e-5)
    core.found = [Finding('warn', 'samples_lost', 'half of them are missing', 'imu/data')]
    core._remember(1000)
    monkeypatch.setattr(CarLive, 'samples', property(lambda self: 2000))
    assert core.doubted == []  # the latest chunk says so itself
    core.found = []
    (told,) = core.doubted
    assert (told.level, told.code) == ('warn', 'samples_lost') and 'earlier part' in told.text
    monkeypatch.setattr(CarLive, 'samples', property(lambda self: 20_000))
    assert core.doubted == []
    core.reset()
    monkeypatch.setattr(CarLive, 'samples', property(lambda self: 2000))
    assert core.doubted == []


def _fails(self: CarLive, known: object) -> None:
    raise EstimationError('no')


def messages_of(
    manoeuvre: Manoeuvre, seconds: float, seed: int, vehicle: Vehicle | None = None
) -> list[Item]:
    car = default_configuration()
    _, streams, _ = run_sensors(car, manoeuvre, seconds, seed, vehicle=vehicle)
    used = [one for one in streams if not one.topic.startswith('ride')]
    first = Item(EPOCH_NS, '/tf_static', static_transforms(car))
    return [first, *(Item(r.log_ns, r.topic, r.message) for r in readings(used))]


def test_the_node_tells_a_payload(live: CarLive, tmp_path: Path) -> None:
    """The estimate of the empty car is loaded; then somebody gets in."""
    file = tmp_path / 'empty.npz'
    np.savez(file, **live.state())
    source = messages_of(sine_steer(1), 8.0, 4, loaded(75.0))
    node, sink = run(
        CarIdentification,
        NAME,
        source,
        chunk=7.0,
        bias_correction=False,
        reconstruction=False,
        file=str(file),
        calls=[(0.1, '/load', {})],
    )
    assert node.model.core.changed and node.model.core.held_chunks == 1
    text = sink.statuses(NAME)[-1].message
    assert 'the load has changed by +7' in text and 'kg at x 0.9' in text
    last = {p.name: p for p in sink.of(f'/{NAME}/parameters')[-1].parameters}
    assert last['change.Mc'].value == pytest.approx(75.0, abs=5.0)
    assert last['Mc'].value == pytest.approx(Vehicle().parameters()['Mc'], rel=0.005)


def test_straight_driving_is_told_to_steer() -> None:
    """Neither yaw nor lateral force without steering: the node says what would help."""
    straight = Manoeuvre('sine', 100.0 * KMH, frequency=0.5, lateral=1e-3)
    node, sink = run(
        CarIdentification,
        NAME,
        messages_of(straight, 8.0, 3),
        chunk=6.0,
        bias_correction=False,
        reconstruction=False,
    )
    assert node.model.core.chunks == 1
    text = sink.statuses(NAME)[-1].message
    weak = next(part for part in text.split('; ') if part.endswith(SINE)).split(':')[0].split()
    print(text)
    assert 'ZZc' in weak and 'Mc' not in weak
    found = sink.of(f'/{NAME}/parameters')[-1]
    assert SINE in found.advice
    assert next(p for p in found.parameters if p.name == 'Mc').excited


WARM = """
import sys
import numba.core.dispatcher as dispatcher
import numpy as np
from veh_identification.identification.rows import row_filter
from veh_identification.signals import decimate
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.live.warm_up import warm_up
from veh_identification.simulation.car.scenarios import car_recording, default_configuration
from veh_identification.simulation.car.scenarios import sine_steer
from veh_identification.systems.car.estimation.identify import CarMethod

def compiled():
    return {f'{name}.{key}': len(value.overloads)
            for name, module in list(sys.modules.items()) if name.startswith('veh_identification')
            and not name.startswith('veh_identification.simulation')
            for key, value in vars(module).items() if isinstance(value, dispatcher.Dispatcher)}

car = default_configuration()
recording, _ = car_recording(car, sine_steer(1), 8.0, 3)
warm_up(0, True)
before = compiled()
assert sum(before.values()) >= 3, before
live = CarLive(car, CarMethod(), 1e-5)
assert live.add(recording) == ''
live.solve()
W, Y = live.model.matrices(live.latest)
decimate(np.ascontiguousarray(Y), row_filter(live.latest.rate, 3.0))
print({key: n for key, n in compiled().items() if n != before.get(key)})
"""


def test_after_the_warm_up_nothing_is_compiled_any_more() -> None:
    done = subprocess.run(
        [sys.executable, '-c', WARM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == '{}'


def test_every_sample_is_accounted_for_when_a_chunk_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by bench/fuzz.py: samples of a chunk whose work was broken off were lost."""
    model = CarLiveModel(default_configuration(), OPTIONS, significance=1e-5, seconds=CHUNK)

    def broken(_chunk: object) -> str:
        raise FloatingPointError('overflow')

    monkeypatch.setattr(model.core, 'add', broken)
    failed = 0
    for k in range(4000):
        try:
            model.push('speed', EPOCH_NS + k * 10_000_000, (20.0, 1e308 if k == 7 else 0.0))
        except FloatingPointError:
            failed += 1
    counts = model.counts()['speed']
    assert failed and counts.received == 4000 and counts.invalid == 1
    told = counts.used + counts.rejected + counts.late + counts.invalid + counts.waiting
    assert told == 4000 and counts.used == 0


def test_a_clock_that_stands_still_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks_module, 'MOST_SAMPLES', 50)
    cut = CarChunks(10.0)
    for _ in range(1000):
        assert cut.push('speed', EPOCH_NS, (20.0, 0.0)) is None
    assert len(cut._buffers['speed'].stamps) <= 50
    counts = cut.counts()['speed']
    assert counts.received == 1000 == counts.rejected + counts.waiting


def test_a_part_of_the_chunks_tells_what_noise_and_doubts_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside the same drive of which every chunk is looked at closely; and through a state."""
    options = CarMethod(dof=38)
    every = CarLive(default_configuration(), options, 1e-5)
    some = CarLive(default_configuration(), options, 1e-5)
    looked = []
    for chunk in chunks(100.0, 11):
        assert every.add(chunk) == ''
        with monkeypatch.context() as patched:
            patched.setattr(accumulation, 'BIAS_SECONDS', 15.0)
            assert some.add(chunk) == ''
        last = some.known.gathered if some.newest is None else some.newest
        looked.append(last.closely)
    assert looked[:2] == [True, True] and 3 <= sum(looked) <= 5 < len(looked)
    assert every.known is not None and some.known is not None
    assert every.known.close_seconds == pytest.approx(every.known.gathered.information.seconds)
    assert some.known.close_seconds < 0.6 * every.known.close_seconds
    all_of, part_of = every.solve(), some.solve()
    sigma = np.sqrt(np.diag(all_of.covariance))
    moved = np.abs(part_of.value - all_of.value) / sigma
    wider = np.sqrt(np.diag(part_of.covariance)) / sigma
    print('moved by', moved.max().round(3), 'deviations by', wider.min(), wider.max())
    assert moved.max() < 0.3
    assert wider.min() > 0.8 and wider.max() < 1.25
    some._absorb()
    again = CarLive(default_configuration(), options, 1e-5)
    again.restore(some.state())
    assert again.known is not None and again.known.close_seconds == some.known.close_seconds
    np.testing.assert_array_equal(again.solve().value, some.solve().value)
