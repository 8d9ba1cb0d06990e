"""Wanted motions that a robot cannot mean, and those that it can."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.checks.wanted import Range, check_limits, check_sides
from veh_identification.errors import InputError

NAMES = ('shoulder', 'elbow', 'slide')
LIMITS = Range(
    NAMES,
    np.array([-2.0, -np.inf, 0.0]),
    np.array([2.0, np.inf, 0.5]),
    np.array([1.5, np.inf, 0.4]),
    np.array([True, True, False]),
)
TIMES = np.arange(50) / 50.0
WAVE = 2.0 * np.pi * 0.5 * TIMES[:, None] + np.arange(3)
MOTION = (0.3 * np.sin(WAVE), 0.3 * np.pi * np.cos(WAVE), -0.3 * np.pi**2 * np.sin(WAVE))


def test_what_the_limits_allow_passes() -> None:
    check_limits(LIMITS, np.array([[1.9, 40.0, 0.2]]), np.array([[1.4, 9.0, -0.3]]))


@pytest.mark.parametrize(
    ('position', 'speed', 'words'),
    [
        ([40.0, 0.0, 0.1], [0.1, 0.0, 0.0], r'positions of shoulder go to 40 .*: degrees\?'),
        ([900.0, 0.0, 0.1], [0.1, 0.0, 0.0], r'go to 900 \(point 0\), the robot from -2 to 2$'),
        ([0.5, 0.0, 30.0], [0.1, 0.0, 0.0], r'positions of slide go to 30 .* to 0.5$'),
        ([0.5, 0.0, 0.1], [40.0, 0.0, 0.0], r'velocities of shoulder go to 40 .*degrees/s\?'),
    ],
)
def test_what_is_beyond_them_is_refused(position, speed, words) -> None:
    with pytest.raises(InputError, match=words):
        check_limits(LIMITS, np.array([position]), np.array([speed]), 'wanted.points')


def test_rates_that_belong_to_the_positions_pass() -> None:
    check_sides(NAMES, TIMES, MOTION, 'wanted.points')
    still = np.zeros_like(MOTION[0])
    check_sides(NAMES, TIMES, (MOTION[0], still, still), 'poses at rest')
    few = tuple(side[:3] for side in MOTION)
    check_sides(NAMES, TIMES[:3], (few[0], 9.0 * few[1], few[2]), 'too few to tell')
    # Way points far apart, with rest at each: anything may lie between them.
    jumps = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 3))
    rest = np.zeros_like(jumps)
    check_sides(NAMES, np.arange(12.0), (jumps, rest, rest + 1.0), 'way points')


@pytest.mark.parametrize(
    ('side', 'factor', 'words'),
    [
        (1, 180.0 / np.pi, r'velocities of shoulder .*\(57.3 times as large\); degrees\?'),
        (1, -1.0, 'velocities of shoulder are not the rates of its positions'),
        (2, 180.0 / np.pi, r'accelerations of shoulder are not the rates .*; degrees\?'),
        (2, 0.0, 'accelerations of shoulder are not the rates of its velocities'),
    ],
)
def test_rates_that_are_not_are_refused(side, factor, words) -> None:
    motion = [one.copy() for one in MOTION]
    motion[side] *= factor
    with pytest.raises(InputError, match=words):
        check_sides(NAMES, TIMES, tuple(motion), 'wanted.points')
