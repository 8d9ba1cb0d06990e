"""Gravity in the accelerometer of a car that turns all the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.signals import TimeSeries
from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.ranges import check_ranges
from veh_identification.systems.car.checks.specific_force import (
    check_one_g,
    check_specific_force,
)
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.system import Car


def turning(up: float, rate_factor: float) -> Channels:
    """A car on circles to the left, 12 m/s: never straight."""
    time = np.arange(0.0, 20.0, 0.02)
    yaw = 0.2 + 0.1 * np.sin(time)
    speed = np.full_like(time, 12.0)
    nothing = np.zeros_like(time)
    return Channels(
        time,
        np.column_stack([nothing, nothing, rate_factor * yaw]),
        np.column_stack([nothing, speed * yaw, np.full_like(time, up)]),
        np.column_stack([speed, nothing]),
        nothing,
        np.zeros((len(time), 4)),
        np.zeros((len(time), 4, 6)),
        np.zeros((len(time), 4)),
    )


@pytest.mark.parametrize('rate_factor', [1.0, 57.3])
def test_gravity_that_is_removed_is_told_whatever_unit_the_yaw_rate_has(rate_factor) -> None:
    (found,) = check_specific_force(turning(0.0, rate_factor), configuration())
    assert found.code == 'gravity_removed'


def test_a_unit_without_gravity_is_refused_with_wheel_forces_alone() -> None:
    car = configuration()
    car = replace(
        car, sensors=replace(car.sensors, imu=replace(car.sensors.imu, gravity='removed'))
    )
    assert [(one.level, one.code) for one in Car().described(car)] == [('note', 'gravity_removed')]
    time = np.arange(100) / 100.0
    force = np.tile([0.0, 0.0, 4e3, 0.0, 0.0, 0.0], (100, 1))
    force = TimeSeries(time, force, tuple('abcdef'), ('',) * 6)
    for wrenches, refused in (({}, False), ({'fl': force}, True)):
        told = check_ranges(CarRecording('bag', None, None, {}, wrenches), car)
        assert (('bad', 'gravity_removed') in [(one.level, one.code) for one in told]) == refused


def test_circles_do_not_tilt_what_is_upright() -> None:
    assert check_specific_force(turning(9.81, 1.0), configuration()) == []


def braking(tilt: float) -> Channels:
    """Nine seconds that hold nothing but straight braking; the unit is tilted forward (rad)."""
    time = np.arange(0.0, 9.0, 0.02)
    nothing = np.zeros_like(time)
    force = np.column_stack([np.full_like(time, -3.2), nothing, np.full_like(time, 9.81)])
    turn = np.array(
        [[np.cos(tilt), 0.0, -np.sin(tilt)], [0.0, 1.0, 0.0], [np.sin(tilt), 0.0, np.cos(tilt)]]
    )
    return Channels(
        time,
        np.zeros((len(time), 3)),
        force @ turn.T,
        np.column_stack([30.0 - 3.2 * time, nothing]),
        nothing,
        np.zeros((len(time), 4)),
        np.zeros((len(time), 4, 6)),
        np.zeros((len(time), 4)),
    )


def test_braking_all_the_time_turns_no_inertial_unit() -> None:
    assert check_specific_force(braking(0.0), configuration()) == []
    assert check_one_g(braking(0.0), configuration()) == []
    (found,) = check_specific_force(braking(0.35), configuration())
    assert found.code == 'imu_turned'
