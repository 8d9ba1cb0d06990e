"""A yaw rate that is off by a constant, and what looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.gyro_zeros import check_gyro_zero

TIME = np.arange(0.0, 40.0, 0.04)
GRAVITY, LOAD = 9.80665, 4000.0


def driving(
    *, zero: float = 0.0, factor: float = 1.0, bank: float = 0.0, toe: float = 0.0,
    felt: float = 0.0, turn: float = 0.2, circle: float = 0.0, forces: bool = True,
) -> Channels:  # fmt: skip
    """A car in bends of a speed that changes, by the laws of a point that does not slide.

    Yaw rates are off by `zero` [rad/s] and a factor, lateral accelerations by `felt` [m/s^2], the
    steering by `toe` [rad]; the road is banked by `bank` [rad]. `turn` [rad/s] is how fast it
    turns to and fro, `circle` how fast all the time.
    """
    speed = 20.0 + 5.0 * np.sin(0.3 * TIME)
    yaw = turn * np.sin(0.9 * TIME) + circle
    sideways = speed * yaw + GRAVITY * bank
    none = np.zeros(len(TIME))
    wrench = np.zeros((len(TIME), 4, 6))
    wrench[:, :, 2] = LOAD if forces else np.nan
    wrench[:, :, 1] = (LOAD / GRAVITY * sideways)[:, None] if forces else np.nan
    steering = 1.4 * yaw * configuration().geometry.wheelbase / speed + toe  # it understeers
    return Channels(
        TIME,
        np.column_stack([none, none, factor * yaw + zero]),
        np.column_stack([none, sideways + felt, none + GRAVITY]),
        np.column_stack([speed, none]),
        steering,
        np.zeros((len(TIME), 4)),
        wrench,
        np.zeros((len(TIME), 4)),
    )


@pytest.mark.parametrize('zero', [0.1, -0.1, 0.05])
@pytest.mark.parametrize('forces', [True, False])
def test_a_yaw_rate_off_its_zero_is_told_with_its_size(zero, forces) -> None:
    (found,) = check_gyro_zero(driving(zero=zero, forces=forces), configuration())
    assert (found.level, found.code) == ('bad', 'gyro_zero')
    assert found.size == pytest.approx(abs(zero), rel=0.2)
    assert (f'the yaw rate is {"+" if zero > 0.0 else "-"}') in found.text
    assert 'angular_velocity.z' in found.where


@pytest.mark.parametrize(
    'other',
    [
        {},
        {'zero': 0.01},
        {'bank': 0.05},
        {'felt': 2.0},  # the accelerometer: wheel forces and steering contradict it
        {'toe': 0.03},
        {'factor': -1.0, 'circle': 0.1},  # a sign and a unit are told by others
        {'factor': 57.3, 'circle': 0.1},
        {'factor': 1.2, 'circle': 0.2},
        {'zero': 0.1, 'turn': 0.0},  # nothing turns: nobody says what moves alike
    ],
)
def test_what_is_no_zero_of_the_gyroscope_is_not_told(other) -> None:
    assert check_gyro_zero(driving(**other), configuration()) == []


def test_an_accelerometer_off_its_zero_alone_against_the_steering_is_not_told() -> None:
    assert check_gyro_zero(driving(felt=2.0, forces=False), configuration()) == []


def test_with_a_wheel_force_missing_the_others_tell_it() -> None:
    shown = driving(zero=0.1)
    shown.wrench[:, 2] = np.nan
    (found,) = check_gyro_zero(shown, configuration())
    assert 'by 2 others' in found.text
