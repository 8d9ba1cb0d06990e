"""The period of a sensor and its pauses, by stamps of the device and of arrival."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.signals import TimeSeries
from veh_identification.signals.segments import gap_segments, sent_segments, usual_step
from veh_identification.types import Array

RATE = 500.0
TIMES = np.arange(6000) / RATE


def arrived(times: Array, late: float) -> Array:
    """Each message waits for the one before it."""
    waits = np.random.default_rng(5).exponential(late, len(times))
    return np.asarray(np.maximum.accumulate(times + waits) + 1e-9 * np.arange(len(times)))


def test_the_period_is_the_median_step_whatever_pauses_there_are() -> None:
    paused = np.where(TIMES > 5.0, TIMES + 100.0, TIMES)
    assert usual_step(paused) == pytest.approx(1.0 / RATE)
    lost = TIMES[np.random.default_rng(1).random(len(TIMES)) > 0.3]
    assert usual_step(lost) == pytest.approx(1.0 / RATE)
    assert np.isnan(usual_step(np.zeros(3))) and np.isnan(usual_step(np.zeros(0)))


def test_messages_that_come_at_once_do_not_shorten_the_period() -> None:
    stamps = arrived(TIMES, 0.006)
    assert np.median(np.diff(stamps)) < 1e-6
    assert usual_step(stamps) == pytest.approx(1.0 / RATE, rel=0.1)
    series = TimeSeries(stamps, TIMES[:, None], ('q',), ('rad',), 0, 'arm')
    assert series.median_period == usual_step(stamps)


def test_a_late_message_is_no_pause_but_a_pause_is() -> None:
    stamps = arrived(TIMES, 0.006)
    assert len(gap_segments(stamps, 5.0 / RATE)) > 50
    assert len(sent_segments(stamps, 5.0 / RATE)) == 1
    paused = np.where(TIMES > 5.0, TIMES + 0.5, TIMES)
    first, second = sent_segments(paused, 5.0 / RATE)
    assert first.stop == second.start == np.argmax(TIMES > 5.0)
    late = sent_segments(arrived(paused, 0.006), 25.0 / RATE)
    assert len(late) == 2 and abs(late[1].start - second.start) < 10
