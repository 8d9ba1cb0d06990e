"""Wheel forces set to zero under the car, and others that have both signs."""

from __future__ import annotations

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.tared import check_tared

TIME = np.linspace(0.0, 20.0, 500)
SIDES = np.array([1.0, -1.0, 1.0, -1.0])


def leaning(change) -> Channels:
    """A car that leans to and fro, with the forces of its wheels (N, 4, 3) changed."""
    wrench = np.zeros((len(TIME), 4, 6))
    wrench[:, :, 1] = 1200.0 * np.sin(TIME)[:, None]
    wrench[:, :, 2] = 4000.0 + 1500.0 * np.sin(TIME)[:, None] * SIDES
    wrench[:, :, :3] = change(wrench[:, :, :3].copy())
    nothing = np.zeros((len(TIME), 4))
    vectors = nothing[:, :3]
    return Channels(
        TIME, vectors, vectors, nothing[:, :2], nothing[:, 0], nothing, wrench, nothing
    )


def one_wheel(force):
    force[:, 2] -= force[0, 2]
    return force


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        (lambda force: force - force[0], 'wheel_fl/wrench, wheel_fr/wrench, wheel_rl/wrench'),
        (one_wheel, 'wheel_rl/wrench: '),
    ],
)
def test_wheels_on_which_the_road_pulls_were_set_to_zero_under_the_car(change, names):
    (found,) = check_tared(leaning(change), configuration())
    assert (found.level, found.code) == ('bad', 'tared_under_load')
    assert found.text.startswith(names)


def from_the_middle_on(force):
    force[250:, 0] *= -1.0
    return force


@pytest.mark.parametrize(
    'change',
    [
        lambda force: force,
        lambda force: -force,  # signs
        from_the_middle_on,
        lambda force: force[:, :, [0, 2, 1]],  # axes
        lambda force: np.full_like(force, np.nan),
        lambda force: 0.0 * force,
    ],
)
def test_signs_axes_and_silence_are_told_by_others(change):
    assert check_tared(leaning(change), configuration()) == []
