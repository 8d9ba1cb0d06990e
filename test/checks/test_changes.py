"""A mistake that begins or ends on the way is told with its time; ordinary motion is none."""

from dataclasses import replace

import numpy as np
import pytest

from veh_identification.checks.changes import check_changes
from veh_identification.checks.ranges import ACCELERATION, ANGULAR_VELOCITY, SPEED
from veh_identification.checks.relations import Relation, Source, judge

TIME = np.arange(0.0, 60.0, 0.1)
SOURCES = {
    'speed': Source('correvit/velocity', SPEED.suspects()),
    'gyro': Source('imu/data angular_velocity', ANGULAR_VELOCITY.suspects(), scale=True),
    'accel': Source('imu/data linear_acceleration', ACCELERATION.suspects()),
}


def relations(gyro=1.0, accel=1.0, speed=1.0, backwards_from=np.inf):
    """What a car records that turns and speeds up; factors may change with time."""
    noise = np.random.default_rng(3).standard_normal((3, TIME.size))
    v = np.where(backwards_from > TIME, 1.0, -1.0) * (12.0 + 4.0 * np.sin(0.5 * TIME))
    rate = 0.3 * np.sin(0.8 * TIME + 0.5 * np.sin(0.13 * TIME))
    w = (rate + 0.02 * noise[0]) * gyro
    ay = (v * rate + 0.3 * noise[1]) * accel
    ax = (np.gradient(v, TIME) + 0.2 * noise[2]) * accel
    told = v * speed
    return [
        Relation('ay', ay, told * w, {'accel': 1, 'speed': -1, 'gyro': -1}, 0.5, 0.5),
        Relation('ax', ax, np.gradient(told, TIME), {'accel': 1, 'speed': -1}, 0.5, 0.5),
        Relation('turn', w, rate, {'gyro': 1.0}, 0.05, 0.4),
        Relation('way', told, v, {'speed': 1.0}, 0.5, 0.2),
    ]


def after(time, factor):
    return np.where(time > TIME, 1.0, factor)


@pytest.mark.parametrize(
    ('factors', 'place', 'when'),
    [
        ({'gyro': after(20.0, -1.0)}, 'imu/data angular_velocity', 'from about 20 s on'),
        ({'gyro': after(41.0, np.degrees(1.0))}, 'imu/data angular_velocity', 'from about 41 s'),
        ({'gyro': -after(25.0, -1.0)}, 'imu/data angular_velocity', 'up to about 25 s'),
        ({'accel': after(30.0, -1.0)}, 'imu/data linear_acceleration', 'from about 30 s on'),
        ({'speed': after(33.0, 3.6)}, 'correvit/velocity', 'from about 33 s on'),
    ],
)
def test_a_mistake_that_begins_or_ends_on_the_way_is_named_with_its_time(factors, place, when):
    (found,) = check_changes(relations(**factors), SOURCES, TIME)
    assert (found.level, found.code, found.where) == ('bad', 'changes', place)
    said = float(found.text.split('about ')[1].split(' s')[0])
    assert found.text.startswith(when.split(' about')[0])
    assert abs(said - float(when.split('about ')[1].split(' s')[0])) < 1.6


def test_what_is_wrong_or_right_throughout_does_not_change():
    assert check_changes(relations(), SOURCES, TIME) == []
    assert check_changes(relations(gyro=-1.0), SOURCES, TIME) == []
    (whole,) = judge(relations(gyro=-1.0), SOURCES).findings
    assert whole.code == 'sign'


def test_going_backwards_is_no_change_of_a_sensor():
    """Satellites tell the size of a speed: reversing turns the sign of what is made of it."""
    reverse = relations(backwards_from=30.0)
    assert check_changes(reverse, SOURCES, TIME) == []
    sized = [
        replace(reverse[0], predicted=np.sign(30.0 - TIME) * reverse[0].predicted),
        replace(reverse[1], predicted=np.sign(30.0 - TIME) * reverse[1].predicted),
        reverse[2],
    ]
    assert check_changes(sized, SOURCES, TIME)  # a signed speed would have changed
    unsigned = [replace(one, sizes=frozenset({'speed'})) for one in sized[:2]]
    assert check_changes([*unsigned, sized[2]], SOURCES, TIME) == []


def test_a_change_needs_both_sides():
    early = relations(gyro=after(4.0, -1.0))
    assert check_changes(early, SOURCES, TIME, only_both=True) == []
    short = slice(None, 100)
    cut = [
        replace(one, measured=one.measured[short], predicted=one.predicted[short])
        for one in relations(gyro=after(5.0, -1.0))
    ]
    assert check_changes(cut, SOURCES, TIME[short]) == []


def straight_until(time, made):
    """Relations of a car that does not turn before a time."""
    straight = time > TIME
    return [
        replace(
            one,
            measured=np.where(straight, 0.01 * one.measured, one.measured),
            predicted=np.where(straight, 0.01 * one.predicted, one.predicted),
        )
        for one in made
    ]


def test_a_mistake_is_told_of_the_one_side_that_says_anything():
    """On a straight road no gyroscope is seen: what it shows in the bend behind it is told."""
    turns = [one for one in relations(gyro=after(30.0, -1.0)) if 'gyro' in one.exponents]
    (found,) = check_changes(straight_until(30.0, turns), SOURCES, TIME)
    assert (found.code, found.where) == ('changes', 'imu/data angular_velocity')
    assert found.text.startswith('at least from about')
    right = [one for one in relations() if 'gyro' in one.exponents]
    assert check_changes(straight_until(30.0, right), SOURCES, TIME) == []


def test_the_best_time_tells_the_right_unit():
    """Means over a longer stretch would be those of miles an hour."""
    speeds = [one for one in relations(speed=after(30.0, 3.6)) if one.text == 'way']
    means = [replace(one, constant=True) for one in speeds]
    (found,) = check_changes(means, SOURCES, TIME)
    assert 'km/h' in found.text
    assert abs(float(found.text.split('about ')[1].split(' s')[0]) - 30.0) < 1.6


def test_what_is_made_of_samples_before_is_of_one_side_only():
    """A turn over 5 s that spans the change says nothing of either side."""
    (turn,) = (one for one in relations(gyro=after(30.0, -1.0)) if one.text == 'turn')
    reach = 50
    over = {
        name: np.append(
            np.full(reach, np.nan), np.convolve(getattr(turn, name), np.ones(reach), 'valid')[1:]
        )
        for name in ('measured', 'predicted')
    }
    whole = replace(turn, reach=reach, **over)
    (found,) = check_changes([whole], SOURCES, TIME)
    assert found.text.startswith('from about 30 s on') or found.text.startswith('from about 29')
