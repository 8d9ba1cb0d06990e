"""Clocks of single streams that step, and what only looks like it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from veh_identification.observation.streaming.arrivals import Arrivals
from veh_identification.observation.streaming.clock_steps import ClockSteps

START = 1_700_000_000_000_000_000
MS = 1_000_000
#: Periods of three streams [ms].
PERIODS = {'imu': 2, 'wheels': 10, 'fix': 20}
Arrival = tuple[int, str, int]  # when it comes, its stream, its stamp [ms]


def arrivals(seconds: float = 4.0) -> list[Arrival]:
    """All streams on time, in the order of arrival."""
    return sorted(
        (time, stream, time)
        for stream, period in PERIODS.items()
        for time in range(0, round(1000 * seconds), period)
    )


def told(made: list[Arrival]) -> list[tuple[str, int]]:
    """Steps [ms] by stream."""
    steps = ClockSteps()
    found = []
    for _, stream, stamp in sorted(made, key=lambda one: one[0]):
        step = steps.push(stream, START + stamp * MS)
        if step is not None:
            found.append((stream, round(step / MS)))
    return found


def stepped(
    made: list[Arrival], streams: tuple[str, ...], step: int, begin: int, end: int = 10**9
) -> list[Arrival]:
    """With the clocks of streams off between two times."""
    return [
        (time, stream, stamp + step if stream in streams and begin <= time < end else stamp)
        for time, stream, stamp in made
    ]


@pytest.mark.parametrize('stream', list(PERIODS))
@pytest.mark.parametrize('step', [-300, -500, -2000])
def test_a_clock_that_steps_back_is_told_once(stream: str, step: int) -> None:
    assert told(stepped(arrivals(), (stream,), step, 3000)) == [(stream, step)]


@pytest.mark.parametrize('late', [('imu',), ('fix',), ('imu', 'wheels')])
def test_a_clock_that_steps_forward_to_the_others_is_told(late: tuple[str, ...]) -> None:
    """Also where most were behind one: found by bench/fuzz.py."""
    found = told(stepped(arrivals(), late, -500, 0, 2000))
    assert {stream for stream, _ in found} == set(late)
    assert all(abs(step - 500) <= 20 for _, step in found)


@pytest.mark.parametrize('step', [-2000, -1800])
def test_slow_streams_are_followed(step: int) -> None:
    slow = [(time, 'slow', time) for time in range(0, 20000, 300)]
    made = sorted([*arrivals(20.0), *slow])
    assert told(stepped(made, ('slow',), step, 10000)) == [('slow', step)]


def test_every_stream_is_told_whose_clock_steps() -> None:
    found = told(stepped(arrivals(), ('imu', 'wheels'), 500, 0, 2000))
    assert dict(found) == {'imu': -500, 'wheels': -500}


def look_alikes() -> Iterator[tuple[str, list[Arrival]]]:
    """Nothing of it is a clock that steps."""
    clean = arrivals()
    yield 'undisturbed', clean
    yield 'silence', [one for one in clean if one[1] != 'imu' or not 1000 < one[0] < 2000]
    pause = [
        (time + 700 * (time > 2000), s, stamp + 700 * (time > 2000)) for time, s, stamp in clean
    ]
    yield 'pause of all', pause
    held = [(max(t, 3000) if s == 'imu' and t > 1000 else t, s, stamp) for t, s, stamp in clean]
    yield 'held up', held
    half = [
        (max(t, 3000) if s == 'imu' and t > 1000 and t % 4 else t, s, stamp)
        for t, s, stamp in clean
    ]
    yield 'half of them held up', half
    yield 'one late by a second', [(t + 1000 * (t == 1500), s, stamp) for t, s, stamp in clean]
    yield 'later than before', [(t + 400 * (s == 'fix' and t > 1500), s, p) for t, s, p in clean]
    sooner = [(t + 400 * (s == 'fix' and t < 1500), s, stamp) for t, s, stamp in clean]
    yield 'sooner than before', sooner
    yield 'strays', [(t, s, stamp + 900 * (t % 500 == 0)) for t, s, stamp in clean]
    yield 'doubled', [one for one in clean for _ in range(3)]
    mixed = [(t + (0, 10, 100, 1000)[t // 2 % 7 % 4], s, stamp) for t, s, stamp in clean]
    yield 'out of order', mixed
    generator = np.random.default_rng(1)
    yield (
        'shuffled over half a second',
        [(t + round(generator.uniform(0.0, 500.0)), s, stamp) for t, s, stamp in clean],
    )
    yield 'small step', stepped(clean, ('imu',), -100, 2000)


@pytest.mark.parametrize(('name', 'made'), list(look_alikes()), ids=lambda one: str(one)[:25])
def test_what_looks_alike_is_not_told(name: str, made: list[Arrival]) -> None:
    assert told(made) == []


def test_every_sample_is_accounted_for_where_a_clock_steps() -> None:
    """Handed out, belated, late, double, or forgotten by the step."""
    found = Arrivals(0.01, 0.5)
    handed = belated = markers = 0
    for _, stream, stamp in stepped(arrivals(), ('imu', 'wheels'), -400, 2000, 3000):
        found.push(stream, START + stamp * MS, (1.0,))
        for item in found.drain():
            markers += item.key not in PERIODS
            handed += item.key in PERIODS
        if stamp % 100 == 0:
            belated += len(found.belated())
    belated += len(found.belated())
    assert markers >= 2
    total = handed + belated + sum(found.waiting().values())
    for stream in PERIODS:
        record = found.summary(stream)
        total += record.late + record.duplicate + record.invalid + record.unused
    assert total == len(arrivals())
    assert belated == sum(found.summary(stream).belated for stream in PERIODS)
