"""Single axes and standing speeds of a vehicle whose sensors tell the same story otherwise."""

import numpy as np
import pytest

from veh_identification.checks.channels import Channels
from veh_identification.checks.courses import turn_relations
from veh_identification.checks.motion import Story, _pairs, check_motion

rng = np.random.default_rng(5)
TIME = np.arange(0.0, 60.0, 0.05)
SPEED = 12.0 + 4.0 * np.sin(0.25 * TIME)
YAW_RATE = 0.2 * np.sin(0.45 * TIME)
HEADING = np.cumsum(YAW_RATE) * 0.05
WHERE = {'imu': 'imu/data', 'gnss_velocity': 'gps/vel', 'wheels': 'joint_states'}


def noise(size):
    return size * rng.standard_normal(TIME.size)


def codes(
    axis=None, factor=1.0, wheels=SPEED, change=None, gnss=None, turn=None, climb=None, **story
):
    imu = np.zeros((TIME.size, 6))
    imu[:, 2] = YAW_RATE + noise(0.005)
    imu[:, 3] = np.gradient(SPEED, TIME) + noise(0.1)
    imu[:, 4] = SPEED * YAW_RATE + noise(0.1)
    imu[:, 5] = 9.80665 + noise(0.1)
    if axis is not None:
        imu[:, axis] *= factor
    if change is not None:
        change(imu)
    ground = SPEED * np.exp(1j * HEADING)
    ground = np.column_stack([ground.real + noise(0.05), ground.imag + noise(0.05)])
    if climb is not None:
        ground = np.column_stack([ground, climb * SPEED + noise(0.05)])
    tables = {
        'imu': (TIME, imu),
        'gnss_velocity': (TIME, ground),
        'wheels': (TIME, wheels[:, None] + 0.0),
    }
    where = dict(WHERE)
    if turn is not None:  # nothing but the odometry tells turns
        zero = 0.0 * SPEED
        tables = {
            'imu': (TIME, imu),
            'odometry': (TIME, np.column_stack([SPEED, zero, zero, turn])),
        }
        where['odometry'] = 'odom'
    if gnss is not None:
        tables['gnss'], where['gnss'] = (TIME, gnss), 'gps/fix'
    story = Story(Channels(tables), where, **story)
    return [(one.level, one.code, one.where) for one in check_motion(story)]


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


def way():
    """East, north and up of the fixes."""
    steps = 0.05 * SPEED * np.exp(1j * HEADING)
    place = np.cumsum(steps)
    return np.column_stack([place.real + noise(0.02), place.imag + noise(0.02), noise(0.05)])


def mirrored(imu):
    imu[:, [0, 2, 4]] *= -1.0


def turned_midway(imu):
    late = TIME > 30.0
    imu[late, 3], imu[late, 4] = imu[late, 4].copy(), -imu[late, 3]


def rolled(imu):
    imu[:, 4] += 0.15 * imu[:, 5]


def pitched(imu):
    imu[:, 3] += 0.15 * imu[:, 5]


def wandering(imu):
    imu[:, 2] += 0.1 * TIME / TIME[-1]


@pytest.mark.parametrize(
    ('change', 'told'),
    [
        (mirrored, ('bad', 'imu_turned', 'imu/data')),
        (turned_midway, ('bad', 'changes', 'imu/data linear_acceleration')),
        (rolled, ('warn', 'imu_turned', 'imu/data linear_acceleration')),
        (wandering, ('warn', 'gyro_zero', 'imu/data angular_velocity.z')),
    ],
)
def test_a_unit_that_is_mirrored_turned_leaning_or_not_steady_is_named(change, told):
    assert codes(change=change) == [told]


def test_a_pitched_unit_is_no_hill():
    told = [('warn', 'imu_turned', 'imu/data linear_acceleration')]
    assert codes(change=pitched, gnss=way()) == told
    assert codes(change=pitched, climb=0.0) == told
    # A hill shows in fixes and velocities; where nothing tells of hills, a minute may be one.
    hilly = way()
    hilly[:, 2] += np.cumsum(0.15 * 0.05 * SPEED)
    assert codes(change=pitched, gnss=hilly) == []
    assert codes(change=pitched, climb=0.15) == []
    assert codes(change=pitched) == []


def test_a_zero_of_the_yaw_rate_is_no_lean():
    """Speed times such a zero is felt as gravity in a unit that leans."""

    def zero(imu):
        imu[:, 2] -= 0.068

    def zero_and_lean(imu):
        zero(imu)
        rolled(imu)

    assert codes(change=zero) == []
    told = ('warn', 'imu_turned', 'imu/data linear_acceleration')
    assert codes(change=zero_and_lean) == [told]


def test_gravity_that_is_there_though_the_description_says_it_was_removed():
    removed = {'gravity_present': False, 'gravity_removed': True}
    assert [one[1] for one in codes(**removed)] == ['gravity_present']
    assert codes(gravity_present=False) == []  # who finds it himself


def circle(lean=0.0):
    """A minute on a circle at 0.75 g, as on a skid pad; `lean` of the unit [rad]."""
    speed, turn = 13.5 + 0.3 * np.sin(0.5 * TIME), 0.55 + 0.0 * TIME
    imu = np.zeros((TIME.size, 6))
    imu[:, 2] = np.cos(lean) * turn + noise(0.005)
    imu[:, 3] = np.gradient(speed, TIME) + noise(0.1)
    imu[:, 4] = np.cos(lean) * speed * turn + 9.80665 * np.sin(lean) + noise(0.1)
    imu[:, 5] = 9.80665 * np.cos(lean) - np.sin(lean) * speed * turn + noise(0.1)
    ground = speed * np.exp(1j * np.cumsum(turn) * 0.05)
    tables = {
        'imu': (TIME, imu),
        'gnss_velocity': (TIME, np.column_stack([ground.real, ground.imag])),
        'wheels': (TIME, speed[:, None] + 0.0),
    }
    return [one.code for one in check_motion(Story(Channels(tables), WHERE))]


def test_a_circle_is_no_wrong_unit():
    assert circle() == []
    assert circle(np.pi) == ['imu_turned']  # upside down all the same


def test_what_nobody_measures_tells_no_unit():
    """Of a unit without a vertical axis, which is filled in, a race car's bends remain."""

    def race(imu):
        imu[:, 4] += 7.0

    assert 'unit' not in [one[1] for one in codes(change=race, vertical=False)]


def test_maps_of_another_scale_to_the_east_and_altitudes_that_jump():
    assert codes(gnss=way()) == []
    narrow = way() * [0.67, 1.0, 1.0]
    assert codes(gnss=narrow) == [('bad', 'scale', 'gps/fix')]
    lower = way()
    lower[TIME > 30.0, 2] -= 47.0
    assert codes(gnss=lower) == [('warn', 'jump', 'gps/fix')]


def test_hills_are_no_jumps_of_the_altitude():
    hilly = way()
    hilly[:, 2] += np.cumsum(np.where((TIME > 30.0) & (TIME < 45.0), 0.1 * 0.05 * SPEED, 0.0))
    assert codes(gnss=hilly) == []


def test_wheels_that_stand_for_seconds_are_stuck():
    wheels = np.where((TIME > 20.0) & (TIME < 24.0), 0.0, SPEED)
    assert codes(wheels=wheels) == [('bad', 'stuck', 'joint_states')]


def test_a_robot_that_skids_in_turns_says_nothing_of_its_gyroscope():
    assert codes(turn=YAW_RATE + noise(0.005)) == []
    assert [one[:2] for one in codes(turn=3.0 * YAW_RATE)] == [('warn', 'sensors_disagree')]
    deg = codes(2, 57.29578, turn=YAW_RATE)
    assert deg == [('bad', 'unit', 'imu/data angular_velocity')]


def test_wheels_that_lock_are_no_pair_of_the_acceleration():
    """While they do, and as long as means carry it on: the inertial unit would look late."""
    wheels = np.where((TIME > 20.0) & (TIME < 21.0), 0.4, 1.0) * SPEED
    ground = np.column_stack([SPEED, 0.0 * SPEED])
    channels = Channels({'wheels': (TIME, wheels[:, None]), 'gnss_velocity': (TIME, ground)})
    pair = next(one for one in _pairs(channels, [0.0 * channels.grid]) if one.first == 'imu')
    near = (channels.grid > 19.5) & (channels.grid < 21.5)
    assert np.isnan(pair.b[near]).all()
    assert np.abs(pair.b[np.isfinite(pair.b)]).max() < 1.5
    assert np.isfinite(pair.b[(channels.grid > 25.0) & (channels.grid < 55.0)]).all()


def test_a_turn_that_has_not_ended_tells_no_scale_of_the_gyroscope():
    """The slip angle of the bend is still in the course: 7 % of the first 45 degrees."""
    yaw_rate = np.where(TIME > 12.0, 0.28, 0.0)
    heading = np.cumsum(yaw_rate) * 0.05
    slip = np.where(TIME > 12.0, 0.045, 0.0)
    until = TIME < 14.9
    ground = SPEED * np.exp(1j * (heading + slip))
    tables = {
        'imu': (TIME[until], np.column_stack([0.0 * yaw_rate, 0.0 * yaw_rate, yaw_rate])[until]),
        'gnss_velocity': (TIME[until], np.column_stack([ground.real, ground.imag])[until]),
        'gnss': (TIME[until], way()[until]),
    }
    (relation,) = turn_relations(Channels(tables), np.interp(np.arange(149) * 0.1, TIME, yaw_rate))
    known = np.isfinite(relation.measured + relation.predicted)
    a, b = relation.measured[known], relation.predicted[known]
    assert relation.tolerance > abs(np.log(a @ b / (b @ b))) > 0.05
