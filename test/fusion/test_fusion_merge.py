from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.fusion.merge import EPOCH, NANOSECONDS, FixedLagMerge, MergeOptions

MS = 1_000_000
START = 1_700_000_000 * NANOSECONDS


def feed(merge: FixedLagMerge, samples: list[tuple[str, int, tuple[float, ...]]]) -> list:
    out = []
    for key, stamp, payload in samples:
        merge.push(key, stamp, payload)
        out.extend(merge.drain())
    return out


def shuffled_within(samples: list, lag: int, seed: int) -> list:
    """An arrival order in which nothing comes more than `lag` behind a newer stamp."""
    rng = random.Random(seed)
    delayed = [
        (stamp + rng.randrange(lag), rng.random(), (key, stamp, p)) for key, stamp, p in samples
    ]
    return [item for _, _, item in sorted(delayed)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_any_arrival_within_the_lag_gives_the_same_sequence(seed: int, twins: bool) -> None:
    rng = random.Random(seed)
    samples = []
    for key, period in (('imu', 5), ('gnss', 70), ('joints', 11)):
        phase = rng.randrange(period * MS)
        first = START + phase
        samples += [(key, first + k * period * MS, (float(k),)) for k in range(300 // period)]
    if twins:
        samples += [samples[rng.randrange(len(samples))] for _ in range(5)]
        samples += [('imu', START + 100 * MS, (1.0,)), ('gnss', START + 100 * MS, (2.0,))]
    options = MergeOptions(lag=50 * MS)
    runs, counts = [], []
    for order in (sorted(samples, key=lambda s: s[1]), shuffled_within(samples, 50 * MS, seed)):
        merge = FixedLagMerge(options)
        end = START + 900 * MS  # two streams: one alone that runs ahead would be doubted
        out = feed(merge, [*order, ('imu', end, (0.0,)), ('gnss', end, (0.0,))])
        runs.append(out)
        counts.append({k: (c.late, c.duplicate) for k, c in merge.counters.items()})
    assert runs[0] == runs[1]
    assert counts[0] == counts[1]
    assert all(late == 0 for late, _ in counts[1].values())
    assert [item[:2] for item in runs[0]] == sorted({(s, k) for k, s, _ in samples})


def test_too_late_is_counted_and_dropped() -> None:
    merge = FixedLagMerge(MergeOptions(lag=10 * MS))
    out = feed(
        merge,
        [
            ('a', START, (0.0,)),
            ('a', START + 50 * MS, (1.0,)),
            ('b', START + 39 * MS, (9.0,)),
            ('b', START + 41 * MS, (8.0,)),
            ('a', START + 100 * MS, (2.0,)),
        ],
    )
    assert [item[2][0] for item in out] == [0.0, 8.0, 1.0]
    assert merge.counters['b'].late == 1
    assert merge.counters['b'].delivered == 1


def test_duplicates_before_and_after_the_watermark() -> None:
    merge = FixedLagMerge(MergeOptions(lag=10 * MS))
    feed(
        merge,
        [
            ('a', START, (0.0,)),
            ('a', START, (0.0,)),
            ('a', START + 20 * MS, (1.0,)),
            ('a', START, (0.0,)),
        ],
    )
    assert merge.counters['a'].duplicate == 2
    assert merge.counters['a'].late == 0


def test_in_order_streams_do_not_wait() -> None:
    merge = FixedLagMerge(MergeOptions(lag=1000 * MS, in_order=True))
    merge.add_stream('a')
    merge.add_stream('b')
    out = feed(
        merge,
        [('a', START, (0.0,)), ('a', START + 20 * MS, (1.0,)), ('b', START + 10 * MS, (2.0,))],
    )
    assert [item[1] for item in out] == ['a']
    # a silent stream holds the others up only as long as the lag
    out = feed(merge, [('a', START + k * 100 * MS, (0.0,)) for k in range(1, 14)])
    assert out[-1][0] == START + 300 * MS


def steady(key: str, first: int, count: int, period: int = 10 * MS) -> list:
    return [(key, first + k * period, (float(k),)) for k in range(count)]


def interleave(*streams: list) -> list:
    return [s for group in zip(*streams, strict=True) for s in group]


def test_one_sensor_an_hour_ahead_is_left_out() -> None:
    merge = FixedLagMerge(MergeOptions())
    hour = 3600 * NANOSECONDS
    good = interleave(steady('a', START, 500), steady('b', START + MS, 500))
    bad = steady('c', START + hour, 500)
    out = feed(merge, interleave(good[::2], good[1::2], bad))
    assert all(item[1] in 'ab' for item in out)
    assert sum(item[1] == 'a' for item in out) > 490
    c = merge.counters['c']
    assert c.clock_jumps == 1
    assert c.delivered == 0
    assert c.invalid >= 90
    assert merge.epochs == 0
    # it comes back to the right time and is used again
    out = feed(
        merge,
        interleave(
            steady('a', START + 5 * NANOSECONDS, 100), steady('c', START + 5 * NANOSECONDS, 100)
        ),
    )
    assert sum(item[1] == 'c' for item in out) > 90
    assert merge.counters['c'].invalid == 500


def test_all_clocks_jump_back_an_hour() -> None:
    merge = FixedLagMerge(MergeOptions())
    hour = 3600 * NANOSECONDS
    before = interleave(steady('a', START, 300), steady('b', START + MS, 300))
    after = interleave(steady('a', START - hour, 300), steady('b', START + MS - hour, 300))
    out = feed(merge, before + after)
    markers = [i for i, item in enumerate(out) if item[1] == EPOCH]
    assert len(markers) == 1
    assert out[markers[0]][0] == START - hour
    stamps = [item[0] for item in out]
    assert stamps[: markers[0]] == sorted(stamps[: markers[0]])
    assert stamps[markers[0] + 1 :] == sorted(stamps[markers[0] + 1 :])
    # nothing of either side is lost
    assert markers[0] == 600
    assert len(out) - markers[0] - 1 >= 590
    assert merge.counters['a'].clock_jumps == merge.counters['b'].clock_jumps == 1


def test_a_wrong_first_sensor_is_outvoted() -> None:
    merge = FixedLagMerge(MergeOptions())
    hour = 3600 * NANOSECONDS
    rest = interleave(
        steady('a', START, 400), steady('b', START + MS, 400), steady('c', START + hour + MS, 400)
    )
    out = feed(merge, [('c', START + hour, (0.0,)), *rest])
    assert merge.epochs == 1
    assert sum(item[1] == 'a' for item in out) > 390
    assert merge.counters['a'].invalid == 0


def test_a_pause_of_all_is_no_clock_jump() -> None:
    merge = FixedLagMerge(MergeOptions())
    out = feed(merge, steady('a', START, 100) + steady('a', START + 10 * NANOSECONDS, 400))
    assert merge.epochs == 1
    assert merge.counters['a'].clock_jumps == 0
    assert merge.counters['a'].delivered >= 490
    assert sum(item[1] == EPOCH for item in out) == 1


def test_single_glitch_is_invalid() -> None:
    merge = FixedLagMerge(MergeOptions())
    samples = steady('a', START, 100)
    samples.insert(50, ('a', START - 3600 * NANOSECONDS, (0.0,)))
    out = feed(merge, samples)
    assert merge.counters['a'].invalid == 1
    assert merge.counters['a'].clock_jumps == 1
    assert merge.epochs == 0
    assert len(out) >= 94
