"""Wheel force sensors that are all turned alike, told from a turned inertial unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.systems.car.checks.channels import RATE, Channels
from veh_identification.systems.car.checks.wheel_axes import check_wheel_axes
from veh_identification.systems.car.configuration import CarDescription

MASS, GRAVITY = 1500.0, 9.81
#: Toe of the rear wheels, as forces over load; it cancels within the axle.
TOE = 0.08


def driven() -> Channels:
    """Sines of the steering at a speed that changes, on a slope, front wheels driven."""
    time = np.arange(0.0, 20.0, 1.0 / RATE)
    count = len(time)
    speed = 25.0 + np.sin(0.3 * time)
    along, yaw = 0.3 * np.cos(0.3 * time), 0.12 * np.sin(3.0 * time)
    felt = np.column_stack([along + 0.01 * GRAVITY, speed * yaw, np.full(count, GRAVITY)])
    steering = 0.03 * np.sin(3.0 * time)
    force = MASS * np.repeat(felt[:, None], 4, axis=1) / 4.0
    force[:, :, 0] = 0.0
    force[:, :2, 0] = (0.5 * MASS * felt[:, :1]) + 0.25 * np.square(speed)[:, None]
    force[:, 2, 1] += TOE * force[:, 2, 2]
    force[:, 3, 1] -= TOE * force[:, 3, 2]
    cosine, sine = np.cos(steering)[:, None], np.sin(steering)[:, None]
    x, y = force[:, :2, 0].copy(), force[:, :2, 1].copy()
    force[:, :2, 0], force[:, :2, 1] = cosine * x + sine * y, cosine * y - sine * x
    wrench = np.concatenate([force, np.zeros((count, 4, 3))], axis=2)
    rate = np.column_stack([np.zeros(count), np.zeros(count), yaw])
    return Channels(
        time,
        rate,
        felt,
        np.column_stack([speed, np.zeros(count)]),
        steering,
        np.zeros((count, 4)),
        wrench,
        np.zeros((count, 4)),
    )


def turn(axis: str, degrees: float) -> np.ndarray:
    return Rotation.from_euler(axis, degrees, degrees=True).as_matrix().T


@pytest.mark.parametrize('axis', 'xyz')
def test_turned_wheel_forces_are_told_from_a_turned_unit(axis: str) -> None:
    """5 degrees about y passed for a turned unit, XZc 38 deviations off; about z for nothing."""
    shown, config = driven(), CarDescription()
    assert check_wheel_axes(shown, config) == []
    wheels = shown.wrench.copy()
    wheels[..., :3] = wheels[..., :3] @ turn(axis, 5.0)
    (found,) = check_wheel_axes(replace(shown, wrench=wheels), config)
    assert found.code == 'wrench_turned' and f'degrees about {axis}' in found.text
    assert found.size == pytest.approx(np.radians(5.0), abs=0.02)
    unit = replace(shown, force=shown.force @ turn(axis, 5.0), rate=shown.rate @ turn(axis, 5.0))
    assert check_wheel_axes(unit, config) == []


def test_one_axle_is_not_all_wheels_and_drag_is_no_angle() -> None:
    shown, config = driven(), CarDescription()
    front = shown.wrench.copy()
    front[:, :2, :3] = front[:, :2, :3] @ turn('z', 10.0)
    assert check_wheel_axes(replace(shown, wrench=front), config) == []
    fast = replace(shown, speed=shown.speed * 2.0, rate=0.5 * shown.rate)
    drag = fast.wrench.copy()
    drag[:, :, 0] += 0.2 * np.square(fast.speed[:, :1])
    assert check_wheel_axes(replace(fast, wrench=drag), config) == []


def test_without_speed_nothing_is_said() -> None:
    shown = driven()
    silent = replace(shown, speed=np.full_like(shown.speed, np.nan))
    assert check_wheel_axes(silent, CarDescription()) == []
