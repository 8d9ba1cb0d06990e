"""Single axes and standing speeds of a vehicle whose sensors tell the same story otherwise."""

import numpy as np
import pytest

from veh_identification.checks.channels import Channels
from veh_identification.checks.motion import Story, check_motion

rng = np.random.default_rng(5)
TIME = np.arange(0.0, 60.0, 0.05)
SPEED = 12.0 + 4.0 * np.sin(0.25 * TIME)
YAW_RATE = 0.2 * np.sin(0.45 * TIME)
HEADING = np.cumsum(YAW_RATE) * 0.05
WHERE = {'imu': 'imu/data', 'gnss_velocity': 'gps/vel', 'wheels': 'joint_states'}


def noise(size):
    return size * rng.standard_normal(TIME.size)


def codes(axis=None, factor=1.0, wheels=SPEED):
    imu = np.zeros((TIME.size, 6))
    imu[:, 2] = YAW_RATE + noise(0.005)
    imu[:, 3] = np.gradient(SPEED, TIME) + noise(0.1)
    imu[:, 4] = SPEED * YAW_RATE + noise(0.1)
    imu[:, 5] = 9.80665 + noise(0.1)
    if axis is not None:
        imu[:, axis] *= factor
    ground = SPEED * np.exp(1j * HEADING)
    ground = np.column_stack([ground.real + noise(0.05), ground.imag + noise(0.05)])
    channels = Channels(
        {
            'imu': (TIME, imu),
            'gnss_velocity': (TIME, ground),
            'wheels': (TIME, wheels[:, None] + 0.0),
        }
    )
    return [(one.level, one.code, one.where) for one in check_motion(Story(channels, WHERE))]


def test_a_right_story_says_nothing():
    assert codes() == []


@pytest.mark.parametrize(
    ('axis', 'factor', 'code', 'where'),
    [
        (2, 1.25, 'scale', 'imu/data angular_velocity'),
        (3, 1.0 / 9.80665, 'unit', 'imu/data linear_acceleration.x'),
        (5, 1.0 / 9.80665, 'unit', 'imu/data linear_acceleration.z'),
    ],
)
def test_a_single_wrong_axis_is_named(axis, factor, code, where):
    assert codes(axis, factor) == [('bad', code, where)]


def test_wheels_that_stand_or_repeat_while_the_car_moves():
    stuck = np.where(TIME > 30.0, 0.0, SPEED)
    assert codes(wheels=stuck) == [('bad', 'stuck', 'joint_states')]
    now_and_then = np.where(np.arange(TIME.size) % 4, 0.0, 4.0 * SPEED)
    assert codes(wheels=now_and_then) == [('warn', 'repeated', 'joint_states')]


@pytest.mark.parametrize('axis', [2, 4])
def test_a_sign_that_changes_on_the_way_is_named(axis):
    """Over the whole it looked late, or of another scale."""
    place = {2: 'imu/data angular_velocity', 4: 'imu/data linear_acceleration.y'}[axis]
    assert codes(axis, np.where(TIME > 27.0, -1.0, 1.0)) == [('bad', 'changes', place)]
    assert codes(axis, np.where(TIME > 48.0, -1.0, 1.0)) == [('bad', 'changes', place)]


@pytest.mark.parametrize(('factor', 'code'), [(1.0, ''), (3.28084, 'unit'), (-1.0, 'sign')])
def test_altitudes_are_compared_with_the_vertical_velocity(factor, code):
    climb = 0.8 * np.sin(0.2 * TIME)
    ground = SPEED * np.exp(1j * HEADING)
    path = np.cumsum(ground) * 0.05
    places = np.column_stack([path.real, path.imag, factor * (500.0 + np.cumsum(climb) * 0.05)])
    velocity = np.column_stack([ground.real, ground.imag, climb]) + noise(0.05)[:, None]
    imu = np.zeros((TIME.size, 6))
    imu[:, 2] = YAW_RATE + noise(0.005)
    imu[:, 3] = np.gradient(SPEED, TIME) + noise(0.1)
    imu[:, 4] = SPEED * YAW_RATE + noise(0.1)
    imu[:, 5] = 9.80665 + noise(0.1)
    tables = {'imu': (TIME, imu), 'gnss': (TIME, places), 'gnss_velocity': (TIME, velocity)}
    story = Story(Channels(tables), {**WHERE, 'gnss': 'gps/fix'})
    wanted = [(code, 'gps/fix altitude')] if code else []
    assert [(one.code, one.where) for one in check_motion(story)] == wanted
