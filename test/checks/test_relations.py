"""One mistake explains several slopes; what cannot be told apart is not blamed on anybody."""

import numpy as np
import pytest

from veh_identification.checks.ranges import (
    ANGULAR_VELOCITY,
    FORCE,
    SPEED,
    TRAVEL,
    check_range,
)
from veh_identification.checks.relations import Relation, Source, Suspect, judge

rng = np.random.default_rng(0)
TIME = np.arange(0.0, 40.0, 0.02)
RATE = 0.3 * np.sin(0.8 * TIME)
SPEED_ = 20.0 + 3.0 * np.sin(0.2 * TIME)
SOURCES = {
    'speed': Source('correvit/velocity', SPEED.suspects()),
    'gyro': Source('imu/data.angular_velocity', ANGULAR_VELOCITY.suspects()),
    'steering': Source('joint_states.position[steering]', (Suspect(57.2958, 'in degrees'),)),
    'wheelbase': Source('geometry.wheelbase', (Suspect(1000.0, 'in mm'),)),
}


def relations(speed=1.0, gyro=1.0, steering=1.0, wheelbase=1.0, noise=0.02):
    """What a car records, each channel with a factor of its own."""
    v, r = SPEED_ * speed, (RATE + noise * rng.standard_normal(TIME.size)) * gyro
    steer, base = RATE * 2.7 / SPEED_ * steering, 2.7 * wheelbase
    ay = SPEED_ * RATE + 0.2 * rng.standard_normal(TIME.size)
    ax = np.gradient(SPEED_, TIME) + 0.1 * rng.standard_normal(TIME.size)
    return [
        Relation('ay against v r', ay, v * r, {'speed': -1.0, 'gyro': -1.0}, 0.3),
        Relation('ax against dv/dt', ax, np.gradient(v, TIME), {'speed': -1.0}, 0.3),
        Relation(
            'r against v steer / l',
            r,
            v * steer / base,
            {'gyro': 1.0, 'speed': -1.0, 'steering': -1.0, 'wheelbase': 1.0},
            0.05,
        ),
    ]


def test_clean_channels_say_nothing():
    found = judge(relations(), SOURCES)
    assert found.findings == ()
    assert len(found.told) == 3 and all(one.clear for one in found.told)


@pytest.mark.parametrize(
    ('channel', 'factor', 'code'),
    [
        ('speed', 3.6, 'unit'),
        ('gyro', np.degrees(1.0), 'unit'),
        ('gyro', -1.0, 'sign'),
        ('steering', np.degrees(1.0), 'unit'),
        ('wheelbase', 1000.0, 'unit'),
    ],
)
def test_the_wrong_channel_is_named(channel, factor, code):
    (found,) = judge(relations(**{channel: factor}), SOURCES).findings
    assert (found.level, found.code, found.where) == ('bad', code, SOURCES[channel].where)
    assert found.evidence >= 2.0


def test_two_mistakes_at_once_are_both_named():
    found = judge(relations(speed=3.6, steering=57.3), SOURCES).findings
    assert {one.where for one in found} == {SOURCES['speed'].where, SOURCES['steering'].where}
    assert {(one.level, one.code) for one in found} == {('bad', 'unit')}


def test_what_no_two_mistakes_explain_is_blamed_on_nobody():
    together = relations(speed=3.6, gyro=5.0, steering=57.3)
    together[1] = Relation('a', TIME, 9.0 * TIME, {'speed': -1.0, 'wheelbase': 1.0})
    (found,) = judge(together, SOURCES).findings
    assert (found.level, found.code) == ('warn', 'sensors_disagree')


def test_a_mistake_that_nothing_else_can_make_is_named_beside_any_others():
    """The change of speed tells kilometres an hour, the course tells degrees a second."""
    course = Relation('course', 57.3 * RATE, RATE, {'gyro': 1.0})
    found = judge([*relations(speed=3.6, gyro=57.3, steering=57.3), course], SOURCES).findings
    assert [(one.level, one.code) for one in found] == [('bad', 'unit')] * 3
    assert [one.where for one in found] == [
        SOURCES[name].where for name in ('speed', 'gyro', 'steering')
    ]
    # A factor that no unit has stays with nobody; what is certain is said all the same.
    named, rest = judge(relations(speed=3.6, gyro=5.0, steering=57.3), SOURCES).findings
    assert (named.code, named.where) == ('unit', SOURCES['speed'].where)
    assert (rest.level, rest.code) == ('warn', 'sensors_disagree')


def test_a_signal_that_does_not_move_says_nothing():
    still = Relation('a', 1e-3 * rng.standard_normal(500), np.zeros(500), {'speed': 1.0}, 0.1)
    assert judge([still], SOURCES).told == ()


def test_means_are_compared_where_asked():
    one = Relation('weight', np.full(9, 14.7), np.full(9, 1500.0), {'force': 1.0}, constant=True)
    two = Relation('weight', np.full(9, 1490.0), np.full(9, 1500.0), {'force': 1.0}, constant=True)
    sources = {'force': Source('wrench', FORCE.suspects())}
    assert judge([two], sources).findings == ()
    assert judge([one], sources).findings[0].code in ('unit', 'sensors_disagree')


def test_ranges_name_the_likely_unit():
    (found,) = check_range(np.full(100, 35.0), TRAVEL, 'suspension_fl')
    assert (found.level, found.code) == ('bad', 'unit') and ' mm' in found.text
    assert check_range(np.full(100, 0.03), TRAVEL, 'suspension_fl') == []
    (found,) = check_range(np.full(100, 1e9), SPEED, 'speed')
    assert found.code == 'out_of_range'
    assert check_range(np.array([np.nan]), SPEED, 'speed') == []
