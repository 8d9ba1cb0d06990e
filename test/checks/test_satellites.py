"""What fixes say of their own noise."""

import numpy as np
import pytest

from veh_identification.checks.channels import Channels
from veh_identification.checks.satellites import (
    check_antenna,
    check_bearing,
    check_rounded,
    check_scatter,
    check_units,
    check_velocity,
)

TIME = np.arange(0.0, 30.0, 0.1)


def fixes(noise: float, stated: float, jump: float = 0.0) -> Channels:
    """A car in bends of 5 m/s^2, brisk steering included."""
    rng = np.random.default_rng(8)
    heading = 1.5 * np.sin(0.5 * TIME)
    path = np.cumsum(12.0 * np.exp(1j * heading)) * 0.1 + np.where(TIME > 15.0, jump, 0.0)
    east, north = path.real, path.imag
    values = np.column_stack([east, north, np.zeros(len(TIME)), np.full(len(TIME), stated)])
    values[:, :2] += noise * rng.standard_normal((len(TIME), 2))
    return Channels({'gnss': (TIME, values)})


@pytest.mark.parametrize('noise', [0.3, 3.0])
def test_fixes_that_scatter_more_than_they_state_are_told_with_both_sizes(noise):
    (found,) = check_scatter(fixes(noise, 0.02), 'gps/fix')
    assert (found.level, found.code, found.where) == ('warn', 'noisier_than_stated', 'gps/fix')
    shown = float(found.text.split('scatter by ')[1].split(' m')[0])
    assert shown == pytest.approx(noise, rel=0.2)
    assert '0.02 m' in found.text


def test_motion_jumps_and_modest_statements_are_no_scatter():
    assert check_scatter(fixes(0.02, 0.02), 'gps/fix') == []
    assert check_scatter(fixes(0.0, 0.002), 'gps/fix') == []
    assert check_scatter(fixes(0.05, 0.02, jump=20.0), 'gps/fix') == []
    assert check_scatter(fixes(1.0, 2.0), 'gps/fix') == []


@pytest.mark.parametrize('step', [0.7, 11.0])
def test_fixes_with_digits_cut_off_are_told_with_the_step(step):
    channels = fixes(0.02, 0.02)
    time, values = channels.tables['gnss']
    values[:, :2] = step * np.round(values[:, :2] / step)
    (found,) = check_rounded(Channels({'gnss': (time, values)}), 'gps/fix')
    assert (found.level, found.code) == ('bad', 'coarse')
    assert f'steps of {step:.3g} m to the east' in found.text


def test_fixes_that_are_not_cut_off_or_say_so_have_no_steps():
    for noise, stated in ((0.02, 0.02), (0.0, 0.002), (1.0, 0.02)):
        assert check_rounded(fixes(noise, stated), 'gps/fix') == []
    resting = np.column_stack([0.02 * np.random.default_rng(1).standard_normal((300, 3)), TIME])
    resting[:, 3] = 0.02
    assert check_rounded(Channels({'gnss': (TIME, resting)}), 'gps/fix') == []
    time, values = fixes(0.02, 2.0).tables['gnss']
    values[:, :2] = 0.7 * np.round(values[:, :2] / 0.7)
    assert check_rounded(Channels({'gnss': (time, values)}), 'gps/fix') == []


def swinging(turning: float, ahead: float, vary: float = 5.0) -> tuple[Channels, np.ndarray]:
    """Velocity of an antenna so far ahead of the rear axle, in bends of this size (rad/s)."""
    rng = np.random.default_rng(2)
    rate = turning * np.sin(0.6 * TIME)
    heading = np.cumsum(rate) * 0.1
    speed = 8.0 + vary * np.sin(0.35 * TIME)  # else slip and delay look like a place
    velocity = (speed + 1j * ahead * rate) * np.exp(1j * heading)
    values = np.column_stack([velocity.real, velocity.imag])
    values += 0.1 * rng.standard_normal(values.shape)
    imu = np.column_stack([0.0 * TIME, 0.0 * TIME, rate])
    channels = Channels({'gnss_velocity': (TIME, values), 'imu': (TIME, imu)})
    return channels, channels.of('imu', 2)


def test_the_place_of_an_antenna_is_told_where_it_is_known():
    channels, turn = swinging(0.25, 3.0)
    (found,) = check_antenna(channels, turn, (0.0, 0.0), 'gnss.position')
    shown = float(found.text.split('were ')[1].split(' ')[0])
    assert found.code == 'antenna_place' and shown == pytest.approx(3.0, abs=0.5)
    assert check_antenna(channels, turn, (3.0, 0.0), 'gnss.position') == []


@pytest.mark.parametrize('turning', [0.022, 0.001])
def test_hardly_any_bend_tells_no_place_and_that_is_said(turning: float):
    """Six deviations away, yet each of them is metres: what is not modelled is as large."""
    channels, turn = swinging(turning, 30.0, vary=1.0)
    (found,) = check_antenna(channels, turn, (0.0, 0.0), 'gnss.position')
    assert (found.level, found.code) == ('note', 'antenna_untold')
    assert 'slow turns' in found.text


def test_latitude_and_longitude_exchanged_are_told_from_axes_of_the_velocity():
    """Exchanged degrees are of other lengths: 1.5 times to the north, as at 48 degrees."""
    rng = np.random.default_rng(4)
    velocity = 12.0 * np.exp(1j * (0.9 + 1.2 * np.sin(0.3 * TIME)))
    path = np.cumsum(velocity) * 0.1
    told = np.column_stack([velocity.real, velocity.imag])
    told += 0.1 * rng.standard_normal(told.shape)

    def text_of(places: np.ndarray, velocities: np.ndarray) -> str:
        channels = Channels({'gnss': (TIME, places), 'gnss_velocity': (TIME, velocities)})
        return ''.join(one.text for one in check_velocity(channels, 'gps/vel', 'gps/fix'))

    right = np.column_stack([path.real, path.imag])
    assert text_of(right, told) == ''
    assert 'latitude and longitude' in text_of(right[:, ::-1] * [1.0, 1.5], told)
    assert 'east and north seem to be exchanged' in text_of(right, told[:, ::-1])


def driven(path_over_way: float = 1.0, wheels_over_way: float = 1.0, wheels: bool = True):
    """A car at 12 m/s in wide bends, whose fixes and wheels tell ways of other lengths."""
    heading = 0.5 * np.sin(0.3 * TIME)
    path = path_over_way * np.cumsum(12.0 * np.exp(1j * heading)) * 0.1
    none = np.zeros(len(TIME))
    velocity = 12.0 * np.exp(1j * heading)
    tables = {
        'gnss': (TIME, np.column_stack([path.real, path.imag, none, none + 0.02])),
        'gnss_velocity': (TIME, np.column_stack([velocity.real, velocity.imag, none])),
    }
    if wheels:
        tables['wheels'] = (TIME, np.full((len(TIME), 1), 12.0 * wheels_over_way))
    return Channels(tables)


@pytest.mark.parametrize('stretched', [1.0, 1.4, 2.0])  # to the east, far from the equator
def test_fixes_in_radians_are_told(stretched):
    (found,) = check_units(driven(stretched * np.pi / 180.0), 'gps/fix')
    assert (found.level, found.code, found.where) == ('bad', 'unit', 'gps/fix')
    assert 'in rad' in found.text


@pytest.mark.parametrize(
    'given',
    [
        {},
        {'wheels_over_way': 180.0 / np.pi},  # those are in degrees
        {'path_over_way': np.pi / 180.0, 'wheels': False},  # one against one
        {'path_over_way': 0.1},
    ],
)
def test_fixes_that_are_not_in_radians_are_not_told(given):
    assert check_units(driven(**given), 'gps/fix') == []


def test_minutes_read_as_decimals_of_a_degree_are_told():
    (found,) = check_units(driven(0.6), 'gps/fix')
    assert (found.level, found.code) == ('bad', 'unit') and 'minutes' in found.text
    assert check_units(driven(0.6, wheels=False), 'gps/fix') == []  # one against one


@pytest.mark.parametrize(('degrees', 'late'), [(3.0, 0.0), (-5.0, 0.4)])
def test_velocities_that_point_aside_are_told_with_the_angle(degrees, late):
    assert check_bearing(aside(0.0, late), 'gps/vel', 'gps/fix') == []
    (found,) = check_bearing(aside(degrees, late), 'gps/vel', 'gps/fix')
    assert (found.level, found.code, found.where) == ('bad', 'velocity_turned', 'gps/vel')
    shown = float(found.text.split('point ')[1].split(' ')[0])
    assert shown == pytest.approx(abs(degrees), abs=0.15)
    assert ('to the left' if degrees > 0.0 else 'to the right') in found.text


def aside(degrees: float, late: float) -> Channels:
    """A car in bends whose velocities are turned, and come late."""
    rng = np.random.default_rng(6)

    def heading(time):
        return 0.8 * np.sin(0.3 * time) + 0.1 * time

    path = np.cumsum(12.0 * np.exp(1j * heading(TIME))) * 0.1
    velocity = 12.0 * np.exp(1j * (heading(TIME - late) + np.radians(degrees)))
    noise = rng.standard_normal((4, len(TIME)))
    places = np.column_stack([path.real + 0.03 * noise[0], path.imag + 0.03 * noise[1]])
    told = np.column_stack([velocity.real + 0.1 * noise[2], velocity.imag + 0.1 * noise[3]])
    return Channels({'gnss': (TIME, places), 'gnss_velocity': (TIME, told)})


@pytest.mark.parametrize(
    ('course', 'words'),
    [
        (lambda angle: np.degrees(0.5 * np.pi - angle) % 360.0, 'degrees, clockwise'),
        (lambda angle: 0.5 * np.pi - angle, 'rad, clockwise'),
        (lambda angle: angle, 'rad, from east'),
    ],
)
def test_speed_and_course_for_velocities_are_named(course, words):
    channels = fixes(0.02, 0.02)
    heading = 1.5 * np.sin(0.5 * TIME)
    values = np.column_stack([12.0 + 0.05 * np.cos(TIME), course(heading), 0.0 * TIME])
    channels = Channels({**channels.tables, 'gnss_velocity': (TIME, values)})
    (found,) = check_velocity(channels, 'gps/vel', 'gps/fix')
    assert (found.level, found.code) == ('bad', 'axis') and words in found.text
