"""What the satellite receiver says of itself, and where its antenna is by how it swings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veh_identification.checks.channels import SPEEDS, STEP, WINDOW, Channels
from veh_identification.checks.explanation import (
    Hypothesis,
    best_explanation,
    explanation_findings,
)
from veh_identification.checks.grid import slope
from veh_identification.checks.ranges import DEGREES
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.types import Array

#: Directions of fixes and velocities are compared above this speed (m/s), in so many samples.
DIRECTED, FEWEST = 4.0, 60
#: Usual gap of two directions (as unit vectors) that noise and lags may bring.
ALIKE = 0.4
#: Angle (rad) between velocities and path that is told, from so many deviations on (on clean
#: simulated drives it is below 0.0004), and how late (s) one may be behind the other.
ASIDE, BEARING_SIGMAS, DELAYED = 0.02, 6.0, 1.0
#: The swing of the antenna shows above this speed (m/s), in so many samples of the grid; how far
#: off (m) it must be to be told: to the side more, as unequal wheels in bends look alike.
SWINGING, MANY, AWAY = 2.0, 150, {'x': 0.25, 'y': 0.5}
#: A place that is known worse than this (m) is none: what is not modelled is larger than noise;
#: worse than the other, it is a place that hardly confirms the description.
KNOWN, CONFIRMED = 0.5, 0.25
#: Usual slip angles (rad a m/s^2) and delays (s).
SLIP, DELAY = 0.008, 0.03
#: Scatter of fixes over what they state that is told, in so many of them; jerk (m/s^3).
UNSTATED, MANY_FIXES, JERK = 5.0, 50, 10.0
#: Share of the speed that wheels lose for each (m/s^2)^2 sideways and each m/s^2 forward.
LOST = (0.001, 0.01)
#: Ratios of the way gone over a path in radians: near the equator, where such fixes seem to be,
#: meridians are apart by as much more as the cosine of the true latitude is less than one.
RADIANS = (0.35 * DEGREES, 1.2 * DEGREES)
#: Of a path whose minutes were read as hundredths of a degree, which are 1.67 times as many.
MINUTES = (1.55, 1.8)
NOTATIONS = {
    RADIANS: 'in rad, they must be in degrees',
    MINUTES: 'degrees and minutes with a point between (48.0736 for 48 degrees and 7.36 minutes, '
    'as receivers print them), they must be degrees with decimals (48.1227)',
}
#: Ratio of both axes (in logarithms) that no lag or noise of fixes makes.
STRETCHED = 0.1
#: Distance (m) from a datum at which the plane through it is far off the ground; of the earth (m).
FAR_DATUM, EARTH_DIAMETER = 20_000.0, 12_742_000.0
#: Steps of fixes that are cut off, in stated deviations, and how many of them there must be; how
#: far from whole steps (of one) moves may be, and the share of the moves that are.
STEPS, FEW_STEPS, OFF_STEP, IN_STEPS = 3.0, 5, 0.05, 0.95


def check_scatter(channels: Channels, topic: str) -> list[Finding]:
    """Fixes that scatter from one to the next by far more than the deviation that they state.

    Columns of `gnss`: east, north, up, stated deviation. Third differences know nothing of place,
    speed and acceleration; medians know nothing of jumps.
    """
    if 'gnss' not in channels or channels.width('gnss') < 4:
        return []
    time, values = channels.tables['gnss']
    if len(time) < MANY_FIXES:
        return []
    # The third difference of white noise has 20 times its variance; the median of a normal
    # number's size is 0.6745 of its deviation.
    bent = np.abs(np.diff(values[:, :2], 3, axis=0))
    noise = float(np.median(bent)) / (0.6745 * np.sqrt(20.0))
    moved = JERK * float(np.median(np.diff(time))) ** 3 / np.sqrt(20.0)
    stated = float(np.median(values[:, 3]))
    if not noise > UNSTATED * stated + moved:
        return []
    text = (
        f'{topic}: the fixes scatter by {noise:.2g} m from one to the next, where a deviation of '
        f'{stated:.2g} m is stated: position_covariance (or gnss.std) must tell what they have, '
        'or they are believed too much, or set aside'
    )
    return [Finding('warn', 'noisier_than_stated', text, topic, size=noise / max(stated, 1e-9))]


def check_datum(distance: float, entry: str) -> list[Finding]:
    """Fixes too far (m) from the origin of their own map: that of another site?"""
    if not distance > FAR_DATUM:
        return []
    text = (
        f'{entry}: the fixes lie {1e-3 * distance:.0f} km from it: is it the origin of another '
        f'site? On a plane through it heights are {distance**2 / EARTH_DIAMETER:.0f} m off there'
    )
    return [Finding('warn', 'datum_far', text, entry, size=distance)]


def check_rounded(channels: Channels, topic: str) -> list[Finding]:
    """Fixes that go in steps larger than the deviation that they state: digits were cut off.

    From one fix to the next a place then moves by nothing or by whole steps, along east or north.
    """
    if 'gnss' not in channels or channels.width('gnss') < 4:
        return []
    values = channels.tables['gnss'][1]
    stated = float(np.median(values[:, 3]))
    steps = []
    for axis in (0, 1):
        moved = np.abs(np.diff(values[:, axis]))
        whole = moved[moved > STEPS * stated]
        if len(moved) < MANY_FIXES or len(whole) < FEW_STEPS:
            continue
        step = float(np.min(whole))
        off = np.abs(moved / step - np.round(moved / step))
        if np.mean(off < OFF_STEP) > IN_STEPS:
            steps.append(f'{step:.3g} m to the {("east", "north")[axis]}')
    if not steps:
        return []
    text = (
        f'{topic}: the fixes go in steps of {" and ".join(steps)}, where a deviation of '
        f'{stated:.2g} m is stated: digits of latitude and longitude seem to be cut off, and the '
        'estimate is as far off as the steps are large'
    )
    return [Finding('bad', 'coarse', text, topic)]


def check_units(channels: Channels, topic: str) -> list[Finding]:
    """A path that is as much shorter than the way gone as an angle is in another notation.

    All others that tell the way must say so, and two at least: one of them may be in degrees.
    """
    if 'gnss' not in channels:
        return []
    path = channels.path_speed()
    speeds = [np.abs(channels.of(name, 0)) for name in SPEEDS if name in channels]
    speeds += [channels.ground_speed()] if 'gnss_velocity' in channels else []
    ratios = []
    for way in map(channels.as_path, speeds):
        good = np.isfinite(way) & np.isfinite(path)
        if good.sum() < FEWEST or way[good].mean() < DIRECTED or not path[good].mean() > 0.0:
            return []
        ratios.append(float(way[good].mean() / path[good].mean()))
    for (least, most), what in NOTATIONS.items():
        if len(ratios) >= 2 and all(least < one < most for one in ratios):
            shown = listed([f'{one:.3g}' for one in ratios])
            text = (
                f'{topic}: latitude and longitude seem to be {what}: the way gone is {shown} '
                'times that of the fixes'
            )
            return [Finding('bad', 'unit', text, topic)]
    return []


@dataclass(frozen=True, eq=False)
class _Directions:
    """Velocity by the receiver and by its fixes, as complex numbers (east + i north)."""

    velocity: Array
    path: Array

    def misfit(self) -> float:
        """Usual gap of the directions, whatever the sizes: fixes may jump now and then."""
        a, b = self.velocity / np.abs(self.velocity), self.path / np.abs(self.path)
        return float(np.median(np.abs(a - b)))


def check_velocity(channels: Channels, topic: str, fixes: str) -> list[Finding]:
    """Do velocities point where the fixes go?"""
    if 'gnss' not in channels or 'gnss_velocity' not in channels:
        return []
    east, north = channels.path_velocity()
    path = east + 1j * north
    velocity = channels.of('gnss_velocity', 0) + 1j * channels.of('gnss_velocity', 1)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(path + velocity) & (np.abs(path) > DIRECTED) & (np.abs(velocity) > 0.0)
    if good.sum() < FEWEST:
        return []
    data = _Directions(velocity[good], path[good])
    if data.misfit() < ALIKE:
        return []
    found = best_explanation(data, _hypotheses(data), _Directions.misfit)
    return explanation_findings(
        found,
        label=topic,
        better=f'velocities and the path of {fixes} agree',
        misfit_text=f'its direction is not that of the path of {fixes}',
        good=ALIKE,
    )


def check_stretched(channels: Channels, topic: str, fixes: str) -> list[Finding]:
    """Fixes whose way to the east is longer or shorter beside that to the north than by velocity.

    Metres of a map are degrees by two factors; who takes one for both bends all directions. One of
    the two is right then: where neither is, it is the velocity that has another unit.
    """
    if 'gnss' not in channels or 'gnss_velocity' not in channels:
        return []
    ratios = []
    for axis, path in enumerate(channels.path_velocity()):
        velocity = channels.as_path(channels.of('gnss_velocity', axis))
        good = np.isfinite(path + velocity)
        if good.sum() < MANY or not velocity[good].std() > SWINGING:
            return []
        columns = [velocity[good], np.ones(int(good.sum()))]
        ratios.append(fitted(columns, path[good], (np.inf, np.inf)))
    (east, doubt), (north, other) = ratios
    if not (east > 0.0 and north > 0.0):
        return []
    apart = float(np.log(east / north))
    right = min(abs(np.log(east)), abs(np.log(north)))
    if right > 0.5 * STRETCHED or abs(apart) < max(
        STRETCHED, BEARING_SIGMAS * float(np.hypot(doubt / east, other / north))
    ):
        return []
    text = (
        f'{fixes}: its path goes {east:.2f} times as far to the east as {topic} says, and '
        f'{north:.2f} times to the north: longitudes or latitudes were made from metres without '
        'the cosine of the latitude, or with another one'
    )
    return [Finding('bad', 'scale', text, fixes, size=abs(apart) / STRETCHED)]


def check_bearing(channels: Channels, topic: str, fixes: str) -> list[Finding]:
    """Velocities that point to one side of where the fixes go, by the same angle all the way.

    Both are of one antenna, so that slip angles and its place say nothing; a delay of one against
    the other turns it by the turn rate times as much.
    """
    if 'gnss' not in channels or 'gnss_velocity' not in channels:
        return []
    east, north = channels.path_velocity()
    path = east + 1j * north
    own = [channels.as_path(channels.of('gnss_velocity', axis)) for axis in (0, 1)]
    velocity = own[0] + 1j * own[1]
    bent = slope(channels.grid, east) + 1j * slope(channels.grid, north)
    with np.errstate(invalid='ignore', divide='ignore'):
        turn = (bent / path).imag
        good = np.isfinite(turn + velocity) & (np.abs(path) > DIRECTED)
        good &= np.abs(velocity) > DIRECTED
    if good.sum() < MANY:
        return []
    apart = np.angle(velocity[good] * path[good].conj())
    columns = [np.ones(len(apart)), turn[good]]
    value, sigma = fitted(columns, apart, (np.inf, DELAYED))
    if not abs(value) > max(ASIDE, BEARING_SIGMAS * sigma):
        return []
    side = 'left' if value > 0.0 else 'right'
    text = (
        f'{topic}: its velocities point {np.degrees(abs(value)):.1f} +- {np.degrees(sigma):.1g} '
        f'degrees to the {side} of where {fixes} goes: x must be true east and y true north, not '
        'those of a compass, a map grid or another heading'
    )
    return [Finding('bad', 'velocity_turned', text, topic, size=abs(value) / max(sigma, 1e-9))]


def _hypotheses(data: _Directions) -> Iterator[Hypothesis[_Directions]]:
    def changed(code: str, text: str, velocity: Array) -> Hypothesis[_Directions]:
        return Hypothesis(code, text, lambda one: _Directions(velocity, one.path))

    v = data.velocity
    yield changed('axis', 'east and north seem to be exchanged', v.imag + 1j * v.real)
    yield changed('sign', 'twist.linear.x seems to be to the west', -v.conjugate())
    yield changed('sign', 'twist.linear.y seems to be to the south', v.conjugate())
    yield changed('sign', 'both signs seem to be wrong', -v)
    yield changed(
        'axis', 'x seems to be north and y west (or another quarter turn)', _turned(v, data.path)
    )
    yield Hypothesis(
        'axis',
        'not the velocities, but latitude and longitude of the fixes seem to be exchanged',
        lambda one: _Directions(one.velocity, _exchanged(one)),
    )
    courses = _courses(v)
    for text, velocity in courses:
        yield changed('axis', text, velocity)
    if any(_Directions(one, data.path).misfit() < ALIKE for _, one in courses):
        return  # a course in rad is small beside the speed, as what goes to the left is
    if np.median(np.abs(np.angle(v))) < 0.1 and np.quantile(np.abs(np.angle(v)), 0.9) < 0.4:
        yield changed(
            'axis',
            'x seems to be forward and y to the left (axes of the vehicle): it must be east and '
            'north',
            np.abs(v) * data.path,
        )


def _courses(v: Array) -> list[tuple[str, Array]]:
    """Velocities of which x is the speed and y the course, and how that is told."""
    made = []
    for factor, unit in ((1.0 / DEGREES, 'degrees'), (1.0, 'rad')):
        angle = factor * v.imag
        for course, way in ((0.5 * np.pi - angle, 'clockwise from north'), (angle, 'from east')):
            text = (
                f'x seems to be the speed and y the course in {unit}, {way}: they must be the '
                'velocities to east and north'
            )
            made.append((text, v.real * np.exp(1j * course)))
    return made


def _exchanged(data: _Directions) -> Array:
    """The path with its axes exchanged, each as long as the velocities say.

    A degree of longitude is shorter than one of latitude, and both are taken elsewhere on earth.
    """
    wanted = (data.velocity.real, data.velocity.imag)
    east, north = (
        own * float(np.sqrt(np.mean(one**2) / max(float(np.mean(own**2)), 1e-12)))
        for own, one in zip((data.path.imag, data.path.real), wanted, strict=True)
    )
    return np.asarray(east + 1j * north)


def _turned(velocity: Array, path: Array) -> Array:
    """Velocities turned by the constant angle that brings them nearest to the path."""
    mean = np.mean(path * velocity.conjugate() / np.abs(path * velocity))
    return velocity * mean / max(abs(mean), 1e-12)


def check_antenna(
    channels: Channels,
    turn: Array,
    given: tuple[float, float],
    entry: str,
    delay: float = DELAY,
    grown: float = 0.0,
) -> list[Finding]:
    """Where the antenna is by how it swings in turns, or a note that nothing tells it.

    `given`: x and y of the description, `delay`: how late its velocity may be (seconds), `grown`:
    by how much more at the end than at the beginning.

    Its course is heading + turn rate x / speed - slip angle (turn rate times speed times the
    compliance of the axle) + turn rate times the delay of the gyroscope against it (both hardly
    told apart: within what is usual); its speed is that of the wheels - turn rate y.
    """
    ground = channels.over_ground()
    if ground is None:
        return []
    east, north = ground
    speed = np.hypot(east, north)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(turn + speed) & (speed > SWINGING)
    if good.sum() < MANY:
        return []
    if not np.std(turn[good]) > 0.015:
        return [_untold('it hardly turns', given, entry)]
    w, v, t = turn[good], speed[good], channels.grid[good]
    heading = np.cumsum(np.where(np.isfinite(turn), turn, 0.0))[good] * STEP
    apart = np.unwrap(np.arctan2(north[good], east[good]) - heading)
    # The heading of a gyroscope with a bias drifts away; it would turn the antenna on a straight.
    w = w + np.polyfit(t - t[0], apart, 1)[0]
    found: list[Finding] = []
    columns = [w / v, w * v, w, np.ones_like(w), t - t[0]]
    priors: tuple[float, ...] = (np.inf, SLIP, delay, np.inf, np.inf)
    if grown > 0.0:
        columns, priors = [*columns, w * (t - t.mean()) / np.ptp(t)], (*priors, grown)
    value, sigma = fitted(columns, apart, priors)
    if np.ptp(apart) < np.pi:  # else backwards, or no heading at all
        found += _swing('x', value, sigma, given[0], entry)
        if not found and sigma > CONFIRMED:
            found.append(_untold(f'its swing tells x to +- {sigma:.1f} m only', given, entry))
    rolling = channels.forward_speed()
    if rolling is not None and rolling[0] != 'gnss_velocity':
        forward = rolling[1][good]
        known = np.isfinite(forward)
        if known.sum() >= MANY:
            # A bend costs speed by slip, whichever way it turns, as driving and braking do: where
            # most bends turn one way, that would look like an antenna aside.
            slipping = [(v * np.square(w * v))[known], (v * np.gradient(v, t))[known]]
            columns = [-w[known], v[known], np.ones(known.sum()), *slipping]
            difference = (v - np.abs(forward))[known]
            value, sigma = fitted(columns, difference, (np.inf,) * 3 + LOST)
            found += _swing('y', value, sigma, given[1], entry)
    return found


def _untold(why: str, given: tuple[float, float], entry: str) -> Finding:
    x, y = given
    text = (
        f'nothing confirms that the antenna is at x = {x:.2f} m and y = {y:.2f} m ({entry} or '
        f'/tf_static): {why}. An error there moves base_link by as much; slow turns to both sides '
        'would tell'
    )
    return Finding('note', 'antenna_untold', text, entry)


def fitted(columns: list[Array], wanted: Array, priors: tuple[float, ...]) -> tuple[float, float]:
    """The first coefficient by least squares, and its standard deviation; `priors`: deviations of
    the coefficients from zero. Neighbours on the grid share their window.
    """
    A = np.column_stack(columns)
    values, *_ = np.linalg.lstsq(A, wanted, rcond=None)
    variance = max(float(np.var(wanted - A @ values)), 1e-12) * WINDOW / STEP
    information = A.T @ A / variance + np.diag(1.0 / np.square(priors))
    covariance = np.linalg.pinv(information)
    value = float((covariance @ (A.T @ wanted / variance))[0])
    return value, float(np.sqrt(max(covariance[0, 0], 0.0)))


def _swing(axis: str, value: float, sigma: float, given: float, entry: str) -> list[Finding]:
    if sigma > KNOWN or not abs(value - given) > max(AWAY[axis], 6.0 * sigma):
        return []
    text = (
        f'the antenna swings as if its {axis} were {value:.2f} +- {sigma:.2f} m, not {given:.2f} '
        f'm: sign or place ({entry} or /tf_static)'
    )
    return [Finding('bad', 'antenna_place', text, entry, size=abs(value - given))]
