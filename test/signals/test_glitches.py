"""Single samples that no machine makes, among motion, friction, impacts and coarse steps."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.signals import TimeSeries, clean
from veh_identification.signals.glitches import (
    IMPACT_SHARE,
    median_of_five,
    rough_glitches,
    smooth_glitches,
)
from veh_identification.types import Array

TIMES = np.arange(3000) / 500.0


def motion(noise: float = 1e-5, step: float = 2.4e-5) -> Array:
    """A joint that rests for a second and then swings, as an encoder shows it."""
    moving = np.maximum(TIMES - 1.0, 0.0)
    angle = 0.8 * np.sin(2.0 * moving) + 0.2 * np.sin(7.0 * moving)
    angle = angle + noise * np.random.default_rng(1).standard_normal(len(TIMES))
    return np.asarray(step * np.round(angle / step))[:, None]


def torque(noise: float) -> Array:
    """Friction that changes its sign at once, and noise."""
    swing = np.cos(2.0 * TIMES)
    random = np.random.default_rng(2).standard_normal(len(TIMES))
    return np.asarray(20.0 * np.sin(TIMES) + 4.0 * np.sign(swing) + noise * random)[:, None]


@pytest.mark.parametrize('size', [0.002, 0.05, 6.28, 1e3, -1e9])
@pytest.mark.parametrize('width', [1, 2])
@pytest.mark.parametrize('place', [1, 2, 400, 1717, 2998])
def test_a_glitch_of_an_angle_is_found_alone(size: float, width: int, place: int) -> None:
    angle = motion()
    angle[place : place + width] += size
    found = np.flatnonzero(smooth_glitches(TIMES, angle))
    spoilt = set(range(place, min(place + width, len(TIMES))))
    assert spoilt <= set(found.tolist())
    assert np.all(np.abs(found - place) <= width + 1), found


@pytest.mark.parametrize('place', [0, len(TIMES) - 1])
def test_a_large_glitch_of_an_outermost_sample_is_found(place: int) -> None:
    angle = motion()
    angle[place] += 0.05
    found = np.flatnonzero(smooth_glitches(TIMES, angle))
    assert place in found and len(found) <= 2


@pytest.mark.parametrize('noise', [0.0, 0.3])
@pytest.mark.parametrize('size', [30.0, 1e3, -1e6])
@pytest.mark.parametrize('place', [0, 3, 1200, 2999])
def test_a_spike_of_a_torque_is_found_alone(noise: float, size: float, place: int) -> None:
    effort = torque(noise)
    effort[place] += size
    found = np.flatnonzero(rough_glitches(TIMES, effort))
    assert place in found and np.all(np.abs(found - place) <= 3), found


@pytest.mark.parametrize('noise', [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize('step', [1e-9, 1e-4, 0.02])
@pytest.mark.parametrize('every', [1, 5, 25])
def test_motion_noise_and_coarse_encoders_are_no_glitches(
    noise: float, step: float, every: int
) -> None:
    angle = motion(noise, step)[::every]
    assert not smooth_glitches(TIMES[::every], angle).any()


@pytest.mark.parametrize('noise', [0.0, 1e-3, 1.0])
@pytest.mark.parametrize('every', [1, 5])
def test_friction_and_noise_are_no_glitches(noise: float, every: int) -> None:
    assert not rough_glitches(TIMES[::every], torque(noise)[::every]).any()


def test_noise_of_a_million_samples_is_no_glitch() -> None:
    noise = np.random.default_rng(3).standard_normal((200_000, 5))
    stamps = np.arange(len(noise)) / 1000.0
    assert not rough_glitches(stamps, noise).any()
    assert not smooth_glitches(stamps, noise).any()


def test_a_heel_strike_is_no_glitch() -> None:
    """Ten strides of 700 N, each with a peak of two samples of 700 N more."""
    force = 700.0 * (np.sin(10.0 * TIMES) > 0.0).astype(float)
    begins = np.flatnonzero(np.diff(force) > 0.0) + 3
    assert len(begins) >= 9
    force[begins] += 700.0
    force[begins + 1] += 500.0
    force = force[:, None] + np.random.default_rng(4).standard_normal((len(force), 1))
    assert not rough_glitches(TIMES, force, IMPACT_SHARE).any()
    force[1500] += 1e5
    assert np.flatnonzero(rough_glitches(TIMES, force, IMPACT_SHARE)).tolist() == [1500]


def test_nothing_is_compared_across_a_pause() -> None:
    angle, late = motion(), TIMES.copy()
    late[1500:] += 10.0
    angle[1500:] += 2.0
    assert not smooth_glitches(late, angle).any()


def test_a_signal_of_glitches_is_left_alone() -> None:
    angle = motion()
    angle[::20] += 1.0
    assert not smooth_glitches(TIMES, angle).any()


def test_few_samples_say_nothing() -> None:
    few = np.zeros((10, 1))
    few[4] = 1e6
    assert not smooth_glitches(TIMES[:10], few).any()
    assert not rough_glitches(TIMES[:10], few).any()


def test_median_of_five() -> None:
    values = np.random.default_rng(5).standard_normal((50, 2))
    padded = np.pad(values, ((2, 2), (0, 0)), mode='reflect')
    wanted = np.median([padded[k : k + 50] for k in range(5)], axis=0)
    assert np.array_equal(median_of_five(values), wanted)


def test_cleaning_counts_them() -> None:
    values = np.hstack([motion(), motion()])
    values[700, 1] = 50.0
    series = TimeSeries(TIMES, values, ('a', 'b'), ('rad', 'rad'), label='arm')
    kept, report = clean(series, signal='smooth')
    assert report.glitches == 3 == report.dropped == len(series) - len(kept)
    assert [one.code for one in report.findings()] == ['glitches_left_out']
    assert not report.gaps and not report.clean
    as_it_is, report = clean(series)
    assert report.clean and len(as_it_is) == len(series)
