"""The online observer on the four-bar linkage: order, lateness, duplicates, clocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.findings import Finding
from veh_identification.observation import ErrorEKF
from veh_identification.observation.streaming import Item, OnlineObserver, OnlineOptions
from veh_identification.systems.four_bar import model as four_bar
from veh_identification.systems.mechanism.online import MechanismSystem

START = 1_700_000_000_000_000_000
STEP = 5_000_000
HOUR = 3600 * 10**9


def crank(count: int, first: int = 0) -> list[Item]:
    """A crank that turns unevenly."""
    return [
        Item(START + k * STEP, 'encoder', (1.5 + 0.3 * math.sin(0.02 * k) + 0.005 * k,))
        for k in range(first, first + count)
    ]


class Watched:
    """An observer and everything it made."""

    def __init__(self, **options: float) -> None:
        self.notes: list[Finding] = []
        self.steps: dict[int, tuple[float, float]] = {}
        self.used: list[tuple[str, float]] = []
        self.observer = OnlineObserver(
            MechanismSystem(four_bar.description_of(four_bar.load()), say=self.notes.append),
            OnlineOptions(**options),
            self.made,
        )

    def made(self, session: Any, end_ns: int, innovations: list[Any]) -> None:
        self.steps[end_ns] = (float(session.model.q[4]), float(session.filter.P[0, 0]))
        self.used += [(i.sensor, i.time) for i in innovations]

    def feed(self, items: list[Item]) -> Watched:
        for item in items:
            self.observer.push(item.key, item.time_ns, item.payload)
            self.observer.poll()
        return self

    def record(self) -> Any:
        return self.observer.arrivals.summary('encoder')


LIVE = {'lag': 0.01, 'window': 0.2, 'settle': 0.05}
FILE = {'lag': 1.0, 'window': 1.0, 'settle': 0.05}


def test_live_and_file_give_the_same_numbers():
    items = crank(300)
    live, file = Watched(**LIVE).feed(items), Watched(**FILE).feed(items)
    live.observer.finish()
    file.observer.finish()
    assert len(file.steps) == 300  # the first sample is used as well
    assert live.steps == file.steps
    assert live.record().late == live.record().duplicate == 0


@pytest.mark.parametrize('seed', [0, 1])
def test_order_within_the_wait_does_not_matter(seed):
    items = crank(300)
    generator = np.random.default_rng(seed)
    keys = np.arange(300) + generator.uniform(0.0, 15.0, 300)  # up to 75 ms of disorder
    shuffled = [items[k] for k in np.argsort(keys)]
    straight = Watched(**FILE).feed(items)
    mixed = Watched(lag=0.1, window=0.1, settle=0.05).feed(shuffled)
    straight.observer.finish()
    mixed.observer.finish()
    assert mixed.record().late == 0
    assert mixed.steps == straight.steps


def test_a_belated_sample_is_used_by_going_back():
    """After it the estimate is what it would have been, to the last bit."""
    items = crank(200)
    held = items.pop(100)
    items.insert(120, held)  # 100 ms late
    late = Watched(**LIVE).feed(items)
    straight = Watched(**FILE).feed(crank(200))
    late.observer.finish()
    straight.observer.finish()
    assert late.record().belated == 1
    assert late.record().late == 0
    assert late.observer.stepper is not None
    assert 15 < late.observer.stepper.repeated < 40
    ends = sorted(straight.steps)
    assert late.steps[ends[105]] != straight.steps[ends[105]]
    for end in ends[130:]:
        assert late.steps[end] == straight.steps[end]
    # nothing is lost: its innovation is handed out as well, once
    assert sorted(late.used) == sorted(straight.used)


def test_older_samples_are_counted_late():
    items = crank(200)
    held = items.pop(50)
    items.insert(150, held)  # 500 ms late
    watched = Watched(**LIVE).feed(items)
    assert watched.record().late == 1
    assert watched.record().belated == 0
    assert watched.record().received == 200


def test_a_stream_that_is_always_late_does_not_choke_the_observer():
    """Two streams, one of them 80 ms late each time: computing again stays bounded."""
    items = []
    for k, item in enumerate(crank(600)):
        items.append(Item(item.time_ns, 'torque', (-10.0,)))
        if k >= 16:
            items.append(Item(START + (k - 16) * STEP, 'encoder', item.payload))
    watched = Watched(**LIVE).feed(items)
    stepper = watched.observer.stepper
    assert stepper is not None
    assert watched.record().late == 0
    assert watched.record().belated > 500
    assert stepper.repeated < 1.7 * stepper.count
    counts = watched.observer.session.filter.counts['encoder']
    assert counts.used > 550


def test_duplicates_are_counted_not_used_twice():
    items = crank(100)
    doubled = [item for k, item in enumerate(items) for _ in range(2 if k % 10 == 0 else 1)]
    once, twice = Watched(**LIVE).feed(items), Watched(**LIVE).feed(doubled)
    assert twice.record().duplicate == 10
    assert twice.steps == once.steps
    # one that comes again long after it was used
    twice.feed([items[90]])
    assert twice.record().duplicate == 11


@pytest.mark.parametrize('jump', [HOUR, -HOUR])
def test_a_clock_that_jumps_starts_the_observer_anew(jump):
    after = [Item(i.time_ns + jump, i.key, i.payload) for i in crank(700, 200)]
    watched = Watched(**LIVE).feed(crank(200) + after)
    assert watched.observer.starts == 2
    assert 'clock_jumped' in {event.code for event in watched.observer.events}
    assert watched.record().clock_jumps == 1
    assert max(watched.steps) > START + 890 * STEP + max(jump, 0) - HOUR * (jump < 0)
    assert all(math.isfinite(q) for q, _ in watched.steps.values())


@pytest.mark.parametrize('options', [LIVE, FILE])
def test_a_clock_that_steps_by_less_than_a_jump_starts_the_observer_anew(options):
    """Found by bench/fuzz.py: what was learnt while clocks differed was kept for good."""
    before = crank(200)
    after = [Item(i.time_ns - 100 * STEP, i.key, i.payload) for i in crank(300, 200)]
    watched = Watched(**options).feed(before + after)
    watched.observer.finish()
    assert watched.observer.starts == 2
    (told,) = [one for one in watched.observer.events if one.code == 'clock_stepped']
    assert 'encoder stepped by -0.5 s' in told.text
    assert max(watched.steps) == after[-1].time_ns


def test_one_odd_stamp_is_left_out():
    items = crank(200)
    items.insert(100, Item(START + HOUR, 'encoder', (0.0,)))
    watched = Watched(**LIVE).feed(items)
    straight = Watched(**LIVE).feed(crank(200))
    assert watched.observer.starts == 1
    assert watched.steps == straight.steps
    assert watched.record().clock_jumps == 1


def test_the_model_bridges_a_pause_of_all():
    gap = 4 * 10**9
    after = [Item(i.time_ns + gap, i.key, i.payload) for i in crank(600, 200)]
    watched = Watched(**LIVE, bridge=5.0).feed(crank(200) + after)
    assert watched.observer.starts == 1
    assert [event.code for event in watched.observer.events] == ['all_sensors_silent']
    ends = np.array(sorted(watched.steps))
    assert np.all(np.diff(ends) == STEP)
    short = Watched(**LIVE, bridge=1.0).feed(crank(200) + after)
    assert short.observer.starts == 2


@pytest.mark.parametrize(('gap', 'starts'), [(4 * 10**9, 2), (0, 1)])
def test_behind_a_silence_of_all_most_sensors_are_believed(
    gap: int, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the campaign of bench/fuzz.py: the car's gyroscope stayed set aside for good."""
    contradicted: list[float] = []

    def by_most(self: ErrorEKF) -> bool:
        contradicted.append(self.time)
        return True

    monkeypatch.setattr(ErrorEKF, 'contradicted_by_most', property(by_most))
    after = [Item(i.time_ns + gap, i.key, i.payload) for i in crank(600, 200)]
    watched = Watched(**LIVE, bridge=5.0).feed(crank(200) + after)
    assert watched.observer.starts == starts
    assert bool(contradicted) == (gap > 0)  # nobody asks while sensors support the model
    codes = [event.code for event in watched.observer.events]
    assert codes == (['all_sensors_silent', 'model_failed'] if gap else [])


def test_a_model_that_cannot_go_on_starts_anew():
    watched = Watched(**LIVE).feed(crank(100))
    session = watched.observer.session
    assert session is not None

    def fail(dt: float, inputs: Any) -> None:
        raise EstimationError('a step does not converge')

    session.filter.model.predict = fail  # type: ignore[method-assign]
    watched.feed(crank(100, 100))
    assert watched.observer.starts == 2
    assert watched.observer.events[0].code == 'model_failed'
    assert max(watched.steps) > START + 190 * STEP


def test_reset_starts_anew_and_keeps_the_counters():
    watched = Watched(**LIVE).feed(crank(100))
    watched.observer.reset('asked to')
    assert watched.observer.session is None
    watched.feed(crank(100, 100))
    assert watched.observer.starts == 2
    assert watched.record().received == 200


def test_options_are_checked():
    with pytest.raises(ParameterError, match='window'):
        OnlineOptions(window=-1.0)
    with pytest.raises(ParameterError, match='lag'):
        OnlineOptions(lag=float('nan'))
