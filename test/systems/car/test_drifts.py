"""Zeros that wander, the zero of the steering, and channels alone in another unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration
from test_gyro_zeros import GRAVITY, LOAD, TIME, driving

from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.drifts import check_drifts
from veh_identification.systems.car.checks.steering_zeros import SMALLEST, check_steering_zero

RAMP = np.linspace(0.0, 1.0, len(TIME))
STIFF = 2.5e4


def rolling() -> Channels:
    """Loads and travels that follow the bends, one weight on all wheels, and what else shakes."""
    shown = driving()
    rng = np.random.default_rng(4)
    side = 300.0 * shown.force[:, 1:2] * np.array([-1.0, 1.0, -1.0, 1.0])
    shake = 60.0 * rng.standard_normal((len(TIME), 4))
    wrench = shown.wrench.copy()
    wrench[:, :, 2] = LOAD + side + shake
    travel = (side + shake) / STIFF + 2e-4 * rng.standard_normal((len(TIME), 4))
    along = np.gradient(shown.speed[:, 0], TIME)[:, None] * [1.0, 0.0, 0.0]
    force = shown.force + along + 0.02 * rng.standard_normal(shown.force.shape)
    rate = shown.rate + 0.002 * rng.standard_normal(shown.rate.shape)
    return replace(shown, wrench=wrench, travel=travel, force=force, rate=rate)


def load(shown: Channels) -> Channels:
    wrench = shown.wrench.copy()
    wrench[:, 3, 2] += 500.0 * RAMP
    return replace(shown, wrench=wrench)


def travel(shown: Channels) -> Channels:
    values = shown.travel.copy()
    values[:, 0] += 0.03 * RAMP
    return replace(shown, travel=values)


def rate(axis: int, size: float):
    def change(shown: Channels) -> Channels:
        return replace(shown, rate=shown.rate + size * RAMP[:, None] * np.eye(3)[axis])

    return change


@pytest.mark.parametrize(
    ('change', 'where', 'words'),
    [
        (load, 'wheel_rr/wrench force.z', ' N over the recording'),
        (travel, 'suspension_fl', 'its zero seems to wander'),
        (rate(0, 0.08), 'angular_velocity.x', '+0.08 rad/s'),
        (rate(1, -0.08), 'angular_velocity.y', '-0.08 rad/s'),
        (rate(2, 0.08), 'angular_velocity.z', 'rad/s'),
    ],
)
def test_a_zero_that_wanders_is_named(change, where: str, words: str) -> None:
    (found,) = check_drifts(change(rolling()), configuration())
    assert found.code == 'drift' and where in found.where and words in found.text


def test_driving_alone_is_no_drift() -> None:
    assert check_drifts(rolling(), configuration()) == []
    fuel = rolling()
    wrench = fuel.wrench.copy()
    wrench[:, :, 2] *= 1.0 - 0.02 * RAMP[:, None]
    assert check_drifts(replace(fuel, wrench=wrench), configuration()) == []
    bank = rolling()
    assert check_drifts(
        replace(bank, force=bank.force + GRAVITY * 0.01 * RAMP[:, None] * [0.0, 1.0, 0.0]),
        configuration(),
    ) == []  # fmt: skip


@pytest.mark.parametrize(('zero', 'level'), [(0.09, 'bad'), (-0.035, 'warn'), (0.01, None)])
def test_the_zero_of_the_steering_is_told_with_its_size(zero: float, level: str | None) -> None:
    found = check_steering_zero(driving(toe=zero), configuration())
    assert [one.level for one in found] == ([level] if level else [])
    assert not found or found[0].size == pytest.approx(abs(zero) / SMALLEST, rel=0.03)
    assert check_steering_zero(driving(toe=zero, turn=0.0), configuration()) == []
