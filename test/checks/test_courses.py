"""Turns over seconds, and fixes that jump."""

import numpy as np
import pytest

from veh_identification.checks.channels import Channels
from veh_identification.checks.courses import TURN_TOLERANCE, check_jumps, turn_relations

rng = np.random.default_rng(3)
TIME = np.arange(0.0, 60.0, 0.05)
YAW_RATE = 0.25 * np.sin(0.4 * TIME)
HEADING = np.cumsum(YAW_RATE) * 0.05
SLIP = -0.04 * np.sin(0.4 * TIME + 0.3)
VELOCITY = 12.0 * np.exp(1j * (HEADING + SLIP))


def channels(places, gain=1.0):
    noise = 0.1 * (rng.standard_normal(TIME.size) + 1j * rng.standard_normal(TIME.size))
    velocity = VELOCITY + noise
    imu = np.zeros((TIME.size, 6))
    imu[:, 2] = gain * YAW_RATE + 0.002
    return Channels(
        {
            'imu': (TIME, imu),
            'gnss_velocity': (TIME, np.column_stack([velocity.real, velocity.imag])),
            'gnss': (TIME, np.column_stack([places.real, places.imag])),
        }
    )


PLACES = np.cumsum(VELOCITY) * 0.05 + 0.3 * (
    rng.standard_normal(TIME.size) + 1j * rng.standard_normal(TIME.size)
)


@pytest.mark.parametrize('gain', [0.8, 1.0, 1.2])
def test_turns_over_seconds_tell_the_scale_of_a_gyroscope(gain):
    shown = channels(PLACES, gain)
    (relation,) = turn_relations(shown, shown.of('imu', 2))
    told = relation.told()
    assert told is not None and told.correlation > 0.99
    assert told.slope == pytest.approx(gain, rel=0.03)


def test_fixes_that_jump_are_told_with_time_and_size():
    assert check_jumps(channels(PLACES), 'gps/fix', 'gps/vel') == []
    moved = PLACES + np.where(TIME > 30.0, 6.0j, 0.0)
    (found,) = check_jumps(channels(moved), 'gps/fix', 'gps/vel')
    assert found.code == 'jump' and ' 6.' in found.text and '30.' in found.text


def test_one_wild_velocity_is_no_jump_of_the_fixes():
    shown = channels(PLACES)
    wild = shown.tables['gnss_velocity'][1]
    quiet = shown.of('gnss_velocity', 0).copy()
    wild[600, 0] += 300.0  # 15 m of way, a bit on the bus
    spoilt = Channels(shown.tables)
    assert check_jumps(spoilt, 'gps/fix', 'gps/vel') == []
    np.testing.assert_allclose(spoilt.of('gnss_velocity', 0), quiet, atol=0.2)


def test_a_slow_drift_of_the_fixes_is_no_jump():
    assert check_jumps(channels(PLACES + 0.1 * TIME), 'gps/fix', 'gps/vel') == []


def test_speed_by_fixes_is_told_where_the_path_is_no_tight_bend() -> None:
    """Twenty metres a second straight on, then five on a circle of six metres."""
    time = np.arange(0.0, 40.0, 0.1)
    angle = np.where(time < 20.0, 0.0, 5.0 / 6.0 * (time - 20.0))
    east = np.where(time < 20.0, 20.0 * time, 400.0 + 6.0 * np.sin(angle))
    north = np.where(time < 20.0, 0.0, 6.0 - 6.0 * np.cos(angle))
    channels = Channels({'gnss': (time, np.column_stack([east, north]))})
    speed, when = channels.path_speed(), channels.grid
    straight = (when > 4.0) & (when < 16.0)
    np.testing.assert_allclose(speed[straight], 20.0, rtol=0.02)
    assert np.isnan(speed[(when > 24.0) & (when < 36.0)]).all()


def test_few_turns_tell_a_scale_only_roughly():
    """Eleven seconds with a slight bend: slip angles are several per cent of it."""
    whole = channels(PLACES)
    few = {name: (times[:220], rows[:220].copy()) for name, (times, rows) in whole.tables.items()}
    few['imu'][1][:, 2] *= 0.2
    turned = np.exp(-0.8j * HEADING[:220])  # the course turns less as well
    velocity = (few['gnss_velocity'][1] @ [1.0, 1.0j]) * turned
    few['gnss_velocity'] = (TIME[:220], np.column_stack([velocity.real, velocity.imag]))
    short = Channels(few)
    (rough,) = turn_relations(short, short.of('imu', 2))
    (sure,) = turn_relations(whole, whole.of('imu', 2))
    assert sure.tolerance == TURN_TOLERANCE
    assert rough.tolerance > 2.0 * TURN_TOLERANCE
