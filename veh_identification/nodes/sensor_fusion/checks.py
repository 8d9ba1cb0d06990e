"""Do the sensors of the fusion tell the same story? Units, signs and axes, by who else tells it.

The same relations live and in replay: they look at the last minute of what the sensors said.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.checks.grid import averaged, slope
from veh_identification.checks.ranges import (
    ACCELERATION,
    ANGULAR_VELOCITY,
    SPEED,
    check_range,
)
from veh_identification.checks.relations import Relation, Source, judge
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.types import Array

#: Step of the common grid, the mean taken around each of its times, and the least span (seconds).
STEP, WINDOW, SHORTEST = 0.1, 0.5, 8.0
#: Course and curvature mean nothing below this speed (m/s).
ROLLING = 1.0
#: An axis that follows this much better (in correlation) than the right one is the wrong one.
CLEARLY = 0.25
#: The swing of the antenna shows above this speed (m/s), in so many samples of the grid; how far
#: off (m) it must be to be told.
SWINGING, FEWEST, AWAY = 2.0, 150, 0.25
#: Usual slip angles (rad a m/s^2) and delays (s).
SLIP, DELAY = 0.008, 0.03
SPEEDS = ('speed', 'odometry', 'wheels')
RATE, FORCE = slice(0, 3), slice(3, 6)


class Channels:
    """All channels on one grid; nan where a sensor is silent."""

    def __init__(self, core: FusionCore) -> None:
        journal = core.navigator.journal
        found = {name: journal.of(name) for name in ('imu', 'gnss', 'gnss_velocity', *SPEEDS)}
        self._tables = {name: one for name, one in found.items() if one is not None}
        ends = [one[0] for one in self._tables.values() if len(one[0]) > 1]
        begin = min((times[0] for times in ends), default=0.0)
        end = max((times[-1] for times in ends), default=0.0)
        self.grid = np.arange(begin, end, STEP)
        self.span = end - begin

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def of(self, name: str, column: int) -> Array:
        """One channel as means around the times of the grid."""
        times, values = self._tables[name]
        # A slow sensor needs a longer window to hold a sample at all.
        usual = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
        return averaged(times, values[:, column], self.grid, max(WINDOW, 2.0 * usual))


def check_channels(core: FusionCore) -> list[Finding]:
    """Everything that the channels say against each other."""
    channels = Channels(core)
    if channels.span < SHORTEST or 'imu' not in channels:
        return []
    where = {name: record.topic for name, record in core.records.items()}
    rates = [channels.of('imu', axis) for axis in range(3)]
    forces = [channels.of('imu', 3 + axis) for axis in range(3)]
    findings = _ranges(channels, rates, forces, where)
    findings += _gravity(core, forces, where['imu'])
    findings += _axes(channels, rates, forces, where['imu'])
    if not findings:
        sources = _sources(channels, where)
        findings += judge(_relations(channels, rates, forces, core), sources).findings
    if not findings:
        findings += _antenna(channels, rates[2], core)
    return findings


def _ranges(
    channels: Channels, rates: list[Array], forces: list[Array], where: Mapping[str, str]
) -> list[Finding]:
    found: list[Finding] = []
    for axis, values in zip('xyz', rates, strict=True):
        found += check_range(values, ANGULAR_VELOCITY, f'{where["imu"]} angular_velocity.{axis}')
    for axis, values in zip('xyz', forces, strict=True):
        found += check_range(values, ACCELERATION, f'{where["imu"]} linear_acceleration.{axis}')
    for name in (*SPEEDS, 'gnss_velocity'):
        if name in channels:
            found += check_range(channels.of(name, 0), SPEED, where[name])
    return found


def _gravity(core: FusionCore, forces: list[Array], where: str) -> list[Finding]:
    """The mean specific force is one g, or nothing where gravity was removed."""
    mean = np.array([np.nanmean(values) for values in forces])
    size, gravity = float(np.linalg.norm(mean)), core.options.gravity
    if not np.isfinite(size) or abs(size - gravity) < 0.1 * gravity:
        return []
    field = f'{where} linear_acceleration'
    if abs(size - 1.0) < 0.1 and core.options.imu.measured[5]:
        text = (
            f'{field}: its mean is {size:.3f}, one g: the acceleration seems to be in g, it must '
            'be in m/s^2'
        )
        return [Finding('bad', 'unit', text, field)]
    if size < 0.15 * gravity:
        if core.options.imu.gravity == 'present':
            text = (
                f'{field}: its mean is {size:.2f} m/s^2: gravity seems to have been removed '
                '(imu.gravity says that it is present)'
            )
            return [Finding('bad', 'gravity_removed', text, field)]
        return []  # the report says so
    text = f'{field}: its mean is {size:.2f} m/s^2 instead of {gravity:.2f}: wrong unit or scale'
    return [Finding('bad', 'unit', text, field)]


def _speed(channels: Channels) -> tuple[str, Array] | None:
    """The first forward speed there is; satellites tell its size only."""
    for name in SPEEDS:
        if name in channels:
            return name, channels.of(name, 0)
    if 'gnss_velocity' in channels:
        return 'gnss_velocity', _ground_speed(channels)
    return None


def _ground_speed(channels: Channels) -> Array:
    return np.hypot(channels.of('gnss_velocity', 0), channels.of('gnss_velocity', 1))


def _course_rate(channels: Channels) -> Array:
    """Turn rate of the course over ground; nan where the vehicle is slow."""
    east, north = channels.of('gnss_velocity', 0), channels.of('gnss_velocity', 1)
    speed2 = east**2 + north**2
    with np.errstate(invalid='ignore', divide='ignore'):
        rate = (east * slope(channels.grid, north) - north * slope(channels.grid, east)) / speed2
    return np.where(speed2 > ROLLING**2, rate, np.nan)


def _correlation(a: Array, b: Array) -> float:
    good = np.isfinite(a) & np.isfinite(b)
    if good.sum() < 50 or a[good].std() <= 0.0 or b[good].std() <= 0.0:
        return 0.0
    return float(np.corrcoef(a[good], b[good])[0, 1])


def _axes(
    channels: Channels, rates: list[Array], forces: list[Array], where: str
) -> list[Finding]:
    """The axis that follows the turns is z, and the one that follows speed times turn is y."""
    turns = [_course_rate(channels)] if 'gnss_velocity' in channels else []
    if 'odometry' in channels and len(channels._tables['odometry'][1][0]) > 3:
        turns.append(channels.of('odometry', 3))
    for turn in turns:
        if not np.nanstd(turn) > 0.03:
            continue
        told = [abs(_correlation(rate, turn)) for rate in rates]
        best = int(np.argmax(told))
        if best != 2 and told[best] > 0.85 and told[2] < told[best] - CLEARLY:
            return [_axis(f'{where} angular_velocity', 'turns of the path', 'xyz'[best], 'z')]
    speed = _speed(channels)
    if speed is None:
        return []
    lateral = speed[1] * rates[2]
    told = [abs(_correlation(force, lateral)) for force in forces]
    best = int(np.argmax(told))
    if (
        np.nanstd(lateral) > 0.5
        and best != 1
        and told[best] > 0.85
        and told[1] < told[best] - CLEARLY
    ):
        text = 'speed times yaw rate'
        return [_axis(f'{where} linear_acceleration', text, 'xyz'[best], 'y')]
    return []


def _axis(where: str, what: str, found: str, wanted: str) -> Finding:
    text = (
        f'{where}: its {found} follows the {what}, not its {wanted}: axes are exchanged, or the '
        'IMU is mounted turned (imu.orientation_rpy or /tf_static)'
    )
    return Finding('bad', 'axis', text, where)


def _antenna(channels: Channels, turn: Array, core: FusionCore) -> list[Finding]:
    """Where the antenna is by how it swings in turns.

    Its course is heading + turn rate x / speed - slip angle (turn rate times speed times the
    compliance of the axle) + turn rate times the delay of the gyroscope against it (both hardly
    told apart: within what is usual); its speed is that of the wheels - turn rate y.
    """
    ground = _over_ground(channels)
    if ground is None:
        return []
    east, north = ground
    speed = np.hypot(east, north)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(turn + speed) & (speed > SWINGING)
    if good.sum() < FEWEST or not np.std(turn[good]) > 0.05:
        return []
    w, v, t = turn[good], speed[good], channels.grid[good]
    heading = np.cumsum(np.where(np.isfinite(turn), turn, 0.0))[good] * STEP
    apart = np.unwrap(np.arctan2(north[good], east[good]) - heading)
    given = core.satellites.antenna
    found: list[Finding] = []
    columns = [w / v, w * v, w, np.ones_like(w), t - t[0]]
    value, sigma = _fitted(columns, apart, (np.inf, SLIP, DELAY, np.inf, np.inf))
    if np.ptp(apart) < np.pi:  # else backwards, or no heading at all
        found += _swing('x', value, sigma, float(given[0]))
    rolling = _speed(channels)
    if rolling is not None and rolling[0] != 'gnss_velocity':
        forward = rolling[1][good]
        known = np.isfinite(forward)
        if known.sum() >= FEWEST:
            columns = [-w[known], v[known], np.ones(known.sum())]
            difference = (v - np.abs(forward))[known]
            value, sigma = _fitted(columns, difference, (np.inf, np.inf, np.inf))
            found += _swing('y', value, sigma, float(given[1]))
    return found


def _over_ground(channels: Channels) -> tuple[Array, Array] | None:
    """Velocity of the antenna to east and north; by the fixes where it is not measured."""
    if 'gnss_velocity' in channels:
        return channels.of('gnss_velocity', 0), channels.of('gnss_velocity', 1)
    if 'gnss' in channels:
        east, north = (slope(channels.grid, channels.of('gnss', axis)) for axis in (0, 1))
        return east, north
    return None


def _fitted(columns: list[Array], wanted: Array, priors: tuple[float, ...]) -> tuple[float, float]:
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


def _swing(axis: str, value: float, sigma: float, given: float) -> list[Finding]:
    if not abs(value - given) > max(AWAY, 6.0 * sigma):
        return []
    text = (
        f'the antenna swings as if its {axis} were {value:.2f} +- {sigma:.2f} m, not {given:.2f} '
        'm: sign or place (gnss.position or /tf_static)'
    )
    return [Finding('bad', 'antenna_place', text, 'gnss.position', abs(value - given))]


def _sources(channels: Channels, where: Mapping[str, str]) -> dict[str, Source]:
    imu = where['imu']
    sources = {
        'gyro': Source(f'{imu} angular_velocity', ANGULAR_VELOCITY.suspects()),
        'accel': Source(f'{imu} linear_acceleration', ACCELERATION.suspects()),
    }
    for name in (*SPEEDS, 'gnss_velocity'):
        if name in channels:
            sources[name] = Source(where[name], SPEED.suspects())
    return sources


def _relations(
    channels: Channels, rates: list[Array], forces: list[Array], core: FusionCore
) -> list[Relation]:
    relations = []
    present = [name for name in SPEEDS if name in channels]
    speed = _speed(channels)
    if speed is not None:
        name, forward = speed
        text = f'lateral acceleration against {name} times yaw rate'
        powers = {'accel': 1.0, name: -1.0, 'gyro': -1.0}
        relations.append(Relation(text, forces[1], forward * rates[2], powers, 0.5, 0.5))
        gain = slope(channels.grid, forward)
        text = f'forward acceleration against the change of {name}'
        powers = {'accel': 1.0, name: -1.0}
        relations.append(Relation(text, forces[0], gain, powers, 0.5, 0.5))
    if 'gnss_velocity' in channels:
        ground = _ground_speed(channels)
        for name in present:
            text, powers = f'{name} against satellite speed', {name: 1.0, 'gnss_velocity': -1.0}
            # Satellites do not tell backwards.
            measured = np.abs(channels.of(name, 0))
            relations.append(Relation(text, measured, ground, powers, 1.0, 0.2))
        text, powers = 'yaw rate against the course over ground', {'gyro': 1.0}
        relations.append(Relation(text, rates[2], _course_rate(channels), powers, 0.05, 0.4))
    for i, a in enumerate(present):
        for b in present[i + 1 :]:
            text, powers = f'{a} against {b}', {a: 1.0, b: -1.0}
            pair = channels.of(a, 0), channels.of(b, 0)
            relations.append(Relation(text, *pair, powers, 0.5, 0.2))
    if 'odometry' in channels and len(channels._tables['odometry'][1][0]) > 3:
        text, powers = 'yaw rate against that of the odometry', {'gyro': 1.0}
        turn = channels.of('odometry', 3)
        relations.append(Relation(text, rates[2], turn, powers, 0.05, 0.5))
    return relations
