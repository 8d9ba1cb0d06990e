"""One sensor's clock steps by less than `max_step`: noticed, named, the others unharmed."""

from __future__ import annotations

import random

import pytest

from veh_identification.fusion.merge import EPOCH, NANOSECONDS, FixedLagMerge, MergeOptions

MS = 1_000_000
START = 1_700_000_000 * NANOSECONDS
PERIODS = {'imu': 5 * MS, 'joints': 10 * MS, 'speed': 20 * MS}
Arrival = tuple[int, str, int]  # true time, stream, stamp


def arrivals(seconds: float, shifts: dict[str, list[tuple[float, float]]]) -> list[Arrival]:
    """Samples in true order; `shifts` of a stream: (from second, clock error in seconds)."""
    found = []
    for key, period in PERIODS.items():
        for k in range(round(seconds * NANOSECONDS / period)):
            true = k * period
            error = 0.0
            for begin, value in shifts.get(key, []):
                error = value if true >= begin * NANOSECONDS else error
            found.append((START + true, key, START + true + round(error * NANOSECONDS)))
    return sorted(found)


def run(samples: list[Arrival]) -> tuple[FixedLagMerge, dict[str, list[int]]]:
    merge = FixedLagMerge(MergeOptions())
    out: dict[str, list[int]] = {key: [] for key in PERIODS}
    last = 0
    for _, key, stamp in samples:
        merge.push(key, stamp, (0.0,))
        for at, name, _ in merge.drain():
            assert at >= last, 'not in the order of stamps'
            last = at
            out[name].append(at)
    return merge, out


@pytest.mark.parametrize('step', [0.12, 0.5, 1.9])
@pytest.mark.parametrize('stepped', list(PERIODS))
def test_step_forward_of_one(stepped: str, step: float) -> None:
    merge, out = run(arrivals(8.0, {stepped: [(4.0, step)]}))
    assert merge.watch.steps == [(stepped, pytest.approx(step, abs=1e-6))]
    assert merge.watch.step_of(stepped) == pytest.approx(step, abs=1e-6)
    assert merge.epochs == 0
    for key, period in PERIODS.items():
        counters = merge.counters[key]
        assert counters.late == 0
        assert counters.clock_jumps == int(key == stepped)
        if key != stepped:
            assert len(out[key]) >= (8 * NANOSECONDS - 100 * MS) // period
            assert merge.watch.step_of(key) is None
    assert max(out[stepped]) < START + 4 * NANOSECONDS


def test_sensor_is_used_again_when_its_clock_comes_back() -> None:
    merge, out = run(arrivals(8.0, {'imu': [(3.0, 0.5), (5.0, 0.0)]}))
    assert [key for key, _ in merge.watch.steps] == ['imu']
    assert merge.watch.step_of('imu') is None and merge.watch.doubt is None
    outside = [at for at in out['imu'] if not 3.0 <= (at - START) / NANOSECONDS < 5.0]
    assert len(outside) >= (6 * NANOSECONDS - 100 * MS) // PERIODS['imu']
    assert all(counters.late == 0 for counters in merge.counters.values())


@pytest.mark.parametrize('step', [-0.12, -0.5, -1.9])
def test_step_back_of_one(step: float) -> None:
    merge, out = run(arrivals(8.0, {'joints': [(4.0, step)]}))
    assert merge.watch.steps == [('joints', pytest.approx(step, abs=0.02))]
    assert merge.watch.lag_of('joints') == pytest.approx(-step, abs=0.03)
    assert merge.counters['joints'].clock_jumps == 1
    for key in ('imu', 'speed'):
        assert merge.counters[key].late == 0 and merge.watch.lag_of(key) is None
        assert len(out[key]) >= (8 * NANOSECONDS - 100 * MS) // PERIODS[key]


def moves(samples: list[Arrival]) -> list[float]:
    """By how many seconds the merge moved to another time."""
    merge, found = FixedLagMerge(MergeOptions()), []
    for _, key, stamp in samples:
        merge.push(key, stamp, (0.0,))
        found += [values[0] / NANOSECONDS for _, name, values in merge.drain() if name == EPOCH]
    return found


@pytest.mark.parametrize('step', [-0.2, -0.5, -1.9])
def test_step_back_of_all_is_another_time(step: float) -> None:
    """What moves has moved on when the stamps have caught up."""
    (moved,) = moves(arrivals(8.0, {key: [(4.0, step)] for key in PERIODS}))
    assert moved == pytest.approx(step, abs=0.03)
    # One stream may keep its time: it speaks for the present all along.
    assert moves(arrivals(8.0, {key: [(4.0, step)] for key in ('joints', 'speed')})) == []


def test_step_back_of_slow_streams_is_another_time() -> None:
    """Further apart than the lag: the first one on time is the newest of all."""
    keys, period = ('fix', 'velocity', 'speed'), 100 * MS
    samples = []
    for k in range(80):
        back = 1060 * MS if k >= 40 else 0
        stamps = (START + k * period + 7 * MS * i for i in range(len(keys)))
        samples += [(at, key, at - back) for at, key in zip(stamps, keys, strict=True)]
    (moved,) = moves(samples)
    assert moved == pytest.approx(-1.06, abs=0.02)


def test_old_samples_of_all_in_disorder_are_no_other_time() -> None:
    samples = arrivals(8.0, {})
    old = [s for s in samples if 3.5 <= _second(s) < 4.0]
    random.Random(1).shuffle(old)
    assert moves([s for s in samples if _second(s) < 3.5 or _second(s) >= 4.0] + old) == []
    before = [s for s in samples if _second(s) < 4.5]
    assert moves(before + old + [s for s in samples if _second(s) >= 4.5]) == []


@pytest.mark.parametrize('pause', [0.2, 1.0, 1.9])
def test_pause_of_all_is_no_step(pause: float) -> None:
    both = {key: [(4.0, pause)] for key in PERIODS}
    samples = arrivals(8.0, both)
    merge, out = run(samples)
    assert merge.watch.steps == [] and merge.epochs == 0
    for key, period in PERIODS.items():
        counters = merge.counters[key]
        assert (counters.late, counters.invalid, counters.clock_jumps) == (0, 0, 0)
        assert len(out[key]) >= (8 * NANOSECONDS - 100 * MS) // period


def test_pause_of_one_is_no_step() -> None:
    samples = [s for s in arrivals(8.0, {}) if s[1] != 'imu' or not 4.0 <= _second(s) < 5.0]
    merge, out = run(samples)
    assert merge.watch.steps == []
    assert len(out['imu']) >= (7 * NANOSECONDS - 100 * MS) // PERIODS['imu']


def test_delayed_transport_is_late_but_no_step() -> None:
    delayed = [
        (
            true + (300 * MS if key == 'joints' and _second((true, key, stamp)) >= 4.0 else 0),
            key,
            stamp,
        )
        for true, key, stamp in arrivals(8.0, {})
    ]
    merge, _ = run([s for s in sorted(delayed) if s[0] < START + 8 * NANOSECONDS])
    assert merge.watch.steps == []
    assert merge.counters['joints'].late > 300
    assert merge.watch.lag_of('joints') == pytest.approx(0.3, abs=0.02)


def test_single_straggler_is_late_but_no_step() -> None:
    samples = arrivals(4.0, {})
    samples.insert(700, (0, 'speed', START + 100 * MS))
    merge, _ = run(samples)
    assert merge.watch.steps == []
    assert merge.counters['speed'].late == 1
    assert merge.watch.lag_of('speed') is None


def test_others_that_fall_silent_at_the_same_time_do_not_block() -> None:
    shifted = arrivals(8.0, {'imu': [(4.0, 0.5)]})
    merge, out = run([s for s in shifted if s[1] == 'imu' or _second(s) < 4.0])
    assert merge.watch.steps == []
    assert max(out['imu']) > START + 8 * NANOSECONDS


def _second(sample: Arrival) -> float:
    return (sample[0] - START) / NANOSECONDS
