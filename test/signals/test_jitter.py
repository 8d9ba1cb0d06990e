"""Stamps that jitter about even steps, and stamps that do not."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.signals.jitter import evened
from veh_identification.types import Array

RATE = 250.0
TIMES = np.arange(5000) / RATE


def positions(times: Array) -> Array:
    """Two joints as an encoder shows them, one of which rests at first."""
    first = 0.7 * np.sin(2.0 * times) + 0.2 * np.sin(5.0 * times)
    second = 0.5 * np.sin(3.0 * np.maximum(times - 2.0, 0.0))
    return np.asarray(1e-5 * np.round(np.column_stack([first, second]) / 1e-5))


@pytest.mark.parametrize('jitter', [0.0005, 0.001, 0.0019])
def test_jitter_is_taken_out(jitter: float) -> None:
    random = np.random.default_rng(1)
    stamps = TIMES + jitter * random.uniform(-1.0, 1.0, len(TIMES))
    found = evened(stamps, positions(TIMES))
    assert found.jitter == pytest.approx(jitter / np.sqrt(3.0), rel=0.1)
    assert np.std(found.stamps - TIMES) < 0.15 * jitter / np.sqrt(3.0)
    (told,) = found.findings('arm', 'joint_states')
    assert told.code == 'stamps_jitter' and f'{1e3 * found.jitter:.2g} ms' in told.text


@pytest.mark.parametrize('wait', [0.0008, 0.004])
def test_stamps_late_by_chance_are_evened_and_were_sent_before(wait: float) -> None:
    """Arrival is never early: the mean of the waits would be a delay beside other sensors."""
    late = np.random.default_rng(2).exponential(wait, len(TIMES))
    stamps = np.maximum.accumulate(TIMES + late) + 1e-9 * np.arange(len(TIMES))
    found = evened(stamps, positions(TIMES))
    assert found.jitter > 0.0
    assert np.std(found.stamps - TIMES) < 0.2 * np.std(stamps - TIMES)
    assert abs(np.mean(found.stamps - TIMES)) < 0.25 * np.mean(stamps - TIMES)
    (told,) = found.findings('arm', 'joint_states')
    assert told.level == 'note'


def test_a_clock_that_is_read_with_noise_is_not_late() -> None:
    stamps = TIMES + 0.001 * np.random.default_rng(3).standard_normal(len(TIMES)).clip(-1.8, 1.8)
    found = evened(stamps, positions(TIMES))
    assert found.jitter > 0.0 and abs(np.mean(found.stamps - TIMES)) < 5e-5


def test_messages_that_wait_for_several_steps_are_evened() -> None:
    late = np.random.default_rng(7).exponential(0.01, len(TIMES))
    stamps = np.maximum.accumulate(TIMES + late) + 1e-9 * np.arange(len(TIMES))
    found = evened(stamps, positions(TIMES))
    steps = np.diff(found.stamps[:-60])  # at the end nothing tells a pause from a late message
    assert found.jitter > 0.005 and steps.min() > 0.7 / RATE and steps.max() < 1.4 / RATE


def test_stamps_of_messages_that_pile_up_are_a_reservation() -> None:
    """What is left of 20 ms, 5 steps, put a humanoid 18 deviations off under a mere note."""
    late = np.random.default_rng(7).exponential(0.02, len(TIMES))
    stamps = np.maximum.accumulate(TIMES + late) + 1e-9 * np.arange(len(TIMES))
    (told,) = evened(stamps, positions(TIMES)).findings('base', 'base/pose')
    assert told.level == 'warn' and 'delay' in told.text


def test_even_stamps_stay_to_the_last_bit() -> None:
    found = evened(TIMES, positions(TIMES))
    assert found.stamps is TIMES and found.jitter == 0.0 and found.findings('a', 'b') == []


def test_true_uneven_stamps_stay() -> None:
    random = np.random.default_rng(3)
    stamps = np.cumsum(random.uniform(0.3, 1.7, len(TIMES))) / RATE
    assert evened(stamps, positions(stamps)).jitter == 0.0
    shaken = TIMES + 0.0015 * random.uniform(-1.0, 1.0, len(TIMES))
    assert evened(shaken, positions(shaken)).jitter == 0.0


@pytest.mark.parametrize('share', [0.01, 0.3])
def test_lost_samples_move_no_stamp(share: float) -> None:
    kept = np.random.default_rng(4).random(len(TIMES)) > share
    assert evened(TIMES[kept], positions(TIMES)[kept]).jitter == 0.0


def test_a_pause_is_no_jitter() -> None:
    stamps = TIMES.copy()
    stamps[2500:] += 3.0
    jittered = stamps + 0.001 * np.random.default_rng(5).uniform(-1.0, 1.0, len(stamps))
    found = evened(jittered, positions(TIMES))
    assert np.std(found.stamps - stamps) < 1e-4
    assert found.stamps[2500] - found.stamps[2499] == pytest.approx(3.004, abs=5e-4)


def test_what_rests_tells_nothing() -> None:
    stamps = TIMES + 0.001 * np.random.default_rng(6).uniform(-1.0, 1.0, len(TIMES))
    assert evened(stamps, np.zeros((len(TIMES), 2))).jitter == 0.0
    assert evened(stamps[:20], positions(TIMES)[:20]).jitter == 0.0
