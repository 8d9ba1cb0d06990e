"""Where the observer starts: pose, speed and gyro bias from the first part of a recording.

Nothing but the recording itself may be known: the heading follows from the course over ground,
carried back to the start with the gyroscope, whose bias comes from a standstill or from the
course itself; the position follows from the first fix, carried back with wheels and gyroscope.
What the configuration says of the start counts as long as the recording does not contradict it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.integrate import cumulative_trapezoid, trapezoid

from veh_identification.findings import Finding
from veh_identification.observation.sensors import turned_axes
from veh_identification.observation.sequential import wrap_angle
from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.road import road_height
from veh_identification.systems.vehicle.recording.recording import Recording, Series
from veh_identification.systems.vehicle.recording.wheel_speeds import speeds_of
from veh_identification.types import Array

MOVING = 1.0  # course means heading above this speed [m/s]
STANDING = 0.1  # a wheel that turns slower stands [rad/s]
LONG_ENOUGH = 0.5  # of a standstill for a gyro bias [s]
COURSE_SPAN = 10.0  # of driving from which heading and bias are fitted [s]
BASE = 1.0  # between two fixes that make a course where no velocity is measured [s]
NO_SPEED = 10.0  # deviation of a speed that nothing tells [m/s]
LARGEST_ACCELERATION = 3.0  # of a car before its first velocity [m/s^2]
NO_HEIGHT = 1e3  # deviation of a height before the first fix [m]
STEEP = 0.1  # slope of a steep road
NOWHERE = 1e4  # deviation of a place before the first fix [m]
CARRIED = 0.01  # error of the way carried with wheels, over the way
# Data that tell whether wheels turn at all [s], and deviations of it. A live node looks at no more
# before it starts (`settle`): a file must not start otherwise.
CREEPING, SURE = 0.3, 3.0
FROM_REST = 0.5  # share of the squares that wheels leave which clearly begin to turn
FIRST = 0.2  # of data from which speed and yaw rate at the start are taken [s]
COURSE_FIRST = 2.0  # of courses that give the heading, where the gyro bias is known [s]
UNKNOWN = float(np.pi / np.sqrt(3.0))  # deviation of a heading of which nothing is known [rad]
SPEED_SHARE = 0.02  # error of a speed that wheels tell, over the speed
CONTRADICTED = 4.0  # deviations that a start of the configuration may be off
LARGEST_SIDESLIP = 0.1  # between course and heading [rad]


@dataclass(frozen=True)
class Start:
    """Where the observer starts and how sure that is."""

    position: Array
    yaw: float
    velocity: Array
    yaw_rate: float
    position_deviation: float
    yaw_deviation: float
    rack: float
    speed_deviation: float = 0.0  # of the velocity along each axis
    #: Height of the road over where the configuration would have it, and its deviation [m].
    elevation: float = 0.0
    height_deviation: float = 0.0
    wheel_angles: Array = field(default_factory=lambda: np.zeros(4))
    gyro_bias: Array = field(default_factory=lambda: np.zeros(3))  # in base axes
    gyro_bias_deviation: float | None = None  # None: as the configuration says
    #: Where heading, place and gyro bias came from, in words.
    sources: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    by_fix: bool = False  # whether the place is that of a fix
    by_course: bool = False  # whether the heading is that of the course over ground
    antenna: tuple[float, float] = (0.0, 0.0)  # in base axes
    torques: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    pressure: float = 0.0

    @property
    def moving(self) -> bool:
        """Whether the car is driving already."""
        return self.speed_deviation > 0.0 and float(np.hypot(*self.velocity)) > MOVING


@dataclass(frozen=True)
class _Motion:
    """Gyroscope in base axes and forward speed over the recording's first part."""

    time: Array
    rates: Array  # (N, 3) bias removed
    turned: Array  # yaw since the start
    speed: Array  # forward speed from the wheels, NaN without
    bias: Array
    bias_deviation: float | None

    def yaw_at(self, time: Array | float) -> Array:
        return np.asarray(
            np.interp(time, self.time, self.turned) if self.time.size else np.zeros_like(time),
            dtype=float,
        )

    def rate_at(self, time: Array | float) -> Array:
        return np.asarray(
            np.interp(time, self.time, self.rates[:, 2])
            if self.time.size
            else np.zeros_like(time),
            dtype=float,
        )

    def speed_at(self, time: Array | float) -> Array:
        return np.asarray(
            np.interp(time, self.time, self.speed)
            if self.time.size
            else np.full_like(time, np.nan),
            dtype=float,
        )


class _Wheels(NamedTuple):
    """Times and forward speed of the wheels [m/s], and its noise."""

    time: Array
    speed: Array
    noise: float


def _wheel_speed(car: CarDescription, recording: Recording) -> _Wheels:
    """The median: one wheel may be stuck or spin."""
    series = recording.wheel_rate
    if not len(series) and len(recording.wheel_angle):
        series = speeds_of(car, recording.wheel_angle)
    radius = car.geometry.wheel_radius
    noise = car.sensors.wheels.speed * radius
    if not len(series):
        return _Wheels(np.zeros(0), np.zeros(0), noise)
    good = np.isfinite(series.value).any(axis=1)
    middle = np.nanmedian(series.value[good], axis=1)
    if series.variance is not None:
        noise = float(np.hypot(noise, radius * np.sqrt(np.nanmedian(series.variance))))
    return _Wheels(series.time[good], np.asarray(middle * radius, dtype=float), noise)


def _yaw_rates(gyro: Series, mounting: Array) -> tuple[Series, Array]:
    """Samples that tell the yaw rate, and their rates in base axes, zero where not told."""
    if not len(gyro):
        return gyro, np.zeros((0, 3))
    rates = turned_axes(gyro.value, mounting)
    good = np.isfinite(rates[:, 2])
    return Series(gyro.time[good], gyro.value[good]), np.nan_to_num(rates[good])


def _motion(car: CarDescription, recording: Recording, wheels: _Wheels) -> _Motion:
    mounting = matrix_of_rpy(car.sensors.imu.rpy)
    gyro, rates = _yaw_rates(recording.gyro, mounting)
    time, speed, _ = wheels
    if not len(gyro):
        grid = time if time.size else np.zeros(0)
        return _Motion(
            grid, np.zeros((grid.size, 3)), np.zeros(grid.size), speed, np.zeros(3), None
        )
    forward = np.interp(gyro.time, time, speed) if time.size else np.full(gyro.time.size, np.nan)
    bias, deviation = np.zeros(3), None
    if car.sensors.imu.gyroscope_bias > 0.0 and time.size:
        moving = np.flatnonzero(np.abs(forward) > STANDING * car.geometry.wheel_radius)
        until = gyro.time[moving[0]] if moving.size else gyro.time[-1]
        still = gyro.time < until - 0.2
        if still.any() and gyro.time[still][-1] - gyro.time[0] > LONG_ENOUGH:
            bias = np.median(rates[still], axis=0)
            deviation = max(1e-3, car.sensors.imu.gyroscope / np.sqrt(still.sum()))
    rates = rates - bias
    turned = cumulative_trapezoid(rates[:, 2], gyro.time, initial=0)
    return _Motion(gyro.time, rates, turned, forward, bias, deviation)


def _courses(car: CarDescription, recording: Recording) -> tuple[Array, Array, float]:
    """Times, velocities over ground and their deviation, from `gps/vel` or from fixes."""
    gps = car.sensors.gps
    if len(recording.velocity):
        return (
            recording.velocity.time - gps.velocity_delay,
            recording.velocity.value,
            gps.velocity,
        )
    fix = recording.fix
    if len(fix) < 2:
        return np.zeros(0), np.zeros((0, 2)), gps.deviation
    after = np.searchsorted(fix.time, fix.time + BASE)
    first = np.flatnonzero(after < len(fix))
    last = after[first]
    gap = fix.time[last] - fix.time[first]
    first, last, gap = first[gap < 2 * BASE], last[gap < 2 * BASE], gap[gap < 2 * BASE]
    velocity = (fix.value[last, :2] - fix.value[first, :2]) / gap[:, None]
    # errors of neighbouring fixes are mostly equal
    return (0.5 * (fix.time[first] + fix.time[last]), velocity, min(gps.deviation, 0.5) / BASE)


class _Heading(NamedTuple):
    """Yaw at the start and the gyro bias that goes with it, with their deviations."""

    yaw: float
    deviation: float
    bias: Array
    bias_deviation: float | None
    source: str
    by_course: bool = False


def _course_heading(car: CarDescription, recording: Recording, motion: _Motion) -> _Heading | None:
    """Heading from the course over ground; None when the car never moves."""
    time, velocity, noise = _courses(car, recording)
    if not time.size:
        return None
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    moving = np.flatnonzero((speed > max(MOVING, 15.0 * noise)) & (time >= 0.0))
    if not moving.size:
        moving = np.flatnonzero((speed > max(MOVING, 5.0 * noise)) & (time >= 0.0))
    if not moving.size:
        return None
    begin = time[moving[0]]
    chosen = moving[time[moving] <= begin + COURSE_SPAN]
    t = time[chosen]
    backwards = motion.speed_at(t) < -0.5 * MOVING
    course = np.arctan2(velocity[chosen, 1], velocity[chosen, 0]) + np.pi * backwards
    # the antenna swings with the car
    course -= np.arctan2(motion.rate_at(t) * car.sensors.gps.position[0], speed[chosen])
    offset = course - motion.yaw_at(t)
    offset = offset[0] + np.angle(np.exp(1j * (offset - offset[0])))  # no whole turns
    bias, deviation = motion.bias.copy(), motion.bias_deviation
    angle_noise = max(0.03, 2.0 * noise / float(np.median(speed[chosen])))
    unknown = car.sensors.imu.gyroscope_bias if deviation is None else deviation
    if deviation is None and car.sensors.imu.gyroscope_bias > 0.0 and t[-1] - t[0] > 3.0:
        slope, _ = np.polyfit(t - t[0], offset, 1)
        bias[2] -= slope  # the gyroscope turned faster than the course: offset falls
        offset = offset - slope * (t - t[0])
        # sideslip and lever arm make neighbouring courses err alike: as if there were ten
        deviation = unknown = float(np.sqrt(12.0 / 10.0) * angle_noise / (t[-1] - t[0]))
        yaw = float(np.median(offset)) - slope * begin
    else:
        yaw = float(np.median(offset[t <= begin + COURSE_FIRST]))
    source = f'course over ground from {begin:.2f} to {t[-1]:.2f} s, carried back by the gyroscope'
    spread = float(np.hypot(angle_noise, unknown * begin))
    return _Heading(yaw, spread, bias, deviation, source, True)


def _carried(motion: _Motion, yaw: float, extra: float, until: float, velocity: Array) -> Array:
    """Way (2) from the start to a time, with wheels and gyroscope or with the first velocity."""
    inside = motion.time < until
    if inside.sum() < 2 or not np.isfinite(motion.speed[inside]).all():
        return np.asarray(velocity * until, dtype=float)
    # from end to end: 10 ms between samples are 0.2 m of a motorway
    time = np.concatenate([[0.0], motion.time[inside], [until]])
    heading = yaw + motion.yaw_at(time) - extra * time
    parts = np.stack([np.cos(heading), np.sin(heading)], axis=1) * motion.speed_at(time)[:, None]
    return np.asarray(trapezoid(parts, time, axis=0), dtype=float)


def _turning(time: Array, value: Array, order: int) -> float:
    """Rate of a wheel by its rates (order 0) or angles (1), zero unless it surely turns and does
    not begin to; NaN: it was not heard.
    """
    good = np.isfinite(value)
    if good.sum() < 3 * (order + 1):
        return np.nan
    time, value = time[good], value[good]
    columns = np.vander(time - time.mean(), order + 1)
    fitted = np.linalg.lstsq(columns, value, rcond=None)[0]
    noise = float(np.std(value - columns @ fitted))
    # a car that drives off stands at the start: its wheels turn more and more
    from_rest = np.stack([(time - time[0]) ** (order + 1), time**0], axis=1)[:, : order + 1]
    left = value - from_rest @ np.linalg.lstsq(from_rest, value, rcond=None)[0]
    if float(left @ left) < FROM_REST * float(np.square(value - columns @ fitted).sum()):
        return 0.0
    sure = SURE * noise / float(np.linalg.norm(columns[:, 0]))
    rate = float(fitted[0])
    return rate if abs(rate) > max(STANDING, sure) else 0.0


def _creeping(car: CarDescription, recording: Recording) -> float:
    """Forward speed by how most wheels turn in the first part; zero where they stand."""
    order = int(not len(recording.wheel_rate))
    series = recording.wheel_angle if order else recording.wheel_rate
    early = series.time <= series.time[0] + CREEPING
    rates = [_turning(series.time[early], column, order) for column in series.value[early].T]
    heard = [rate for rate in rates if np.isfinite(rate)]  # there may be sensors at one axle only
    return float(np.median(heard)) * car.geometry.wheel_radius if heard else 0.0


def _velocity(
    car: CarDescription, recording: Recording, wheels: _Wheels, yaw: float
) -> tuple[Array, float]:
    """Velocity at the first message and its deviation along each axis [m/s]."""
    time, speed, noise = wheels
    if time.size and time[0] < BASE:
        early = time <= time[0] + FIRST
        forward = float(np.median(speed[early]))
        spread = float(np.std(speed[early]))
        deviation = float(np.hypot(noise + spread, SPEED_SHARE * forward))
        if abs(forward) < max(2.0 * deviation, STANDING * car.geometry.wheel_radius):
            # counters of few teeth tell a speed at an instant badly, and whether wheels turn well
            forward = _creeping(car, recording)
        if not forward:
            return np.zeros(2), deviation
        return forward * np.array([np.cos(yaw), np.sin(yaw)]), deviation
    if not len(recording.velocity):
        return np.zeros(2), float(NO_SPEED)
    time = recording.velocity.time
    early = time <= time[0] + FIRST
    velocity = np.median(recording.velocity.value[early], axis=0)
    waited = LARGEST_ACCELERATION * max(0.0, float(time[0]))
    return np.asarray(velocity, dtype=float), float(np.hypot(car.sensors.gps.velocity, waited))


def _yaw_rate(
    car: CarDescription,
    recording: Recording,
    motion: _Motion,
    bias: Array,
    bias_deviation: float | None,
) -> float:
    """Yaw rate at the start: gyroscope, or the rear wheels when its bias is not known."""
    wheels = recording.wheel_rate
    if len(wheels) and car.sensors.imu.gyroscope_bias > 0.0 and bias_deviation is None:
        early = wheels.time <= wheels.time[0] + FIRST
        gap = wheels.value[early, 3] - wheels.value[early, 2]
        if np.isfinite(gap).any():
            return float(
                np.nanmedian(gap)
                * car.geometry.wheel_radius
                / (2.0 * car.geometry.half_track_rear)
            )
    if not len(motion.rates) or not len(recording.gyro):
        return 0.0
    early = motion.time <= motion.time[0] + 0.25 * FIRST
    return float(np.median(motion.rates[early, 2])) - float(bias[2] - motion.bias[2])


def _heading(
    car: CarDescription, recording: Recording, motion: _Motion
) -> tuple[_Heading, tuple[Finding, ...]]:
    """Heading of the configuration unless the course contradicts it, of the course, or none."""
    given, bias, bias_deviation = car.observer.initial_yaw, motion.bias, motion.bias_deviation
    found = _course_heading(car, recording, motion)
    where = 'configuration, observer.initial_yaw'
    if given is not None:
        deviation = float(car.observer.position_deviation[2])
        asserted = _Heading(given, deviation, bias, bias_deviation, 'configuration')
        if found is None:
            return asserted, ()
        off = float(wrap_angle(found.yaw - given))
        if abs(off) <= CONTRADICTED * float(np.hypot(deviation, found.deviation)) + (
            LARGEST_SIDESLIP
        ):
            # a car that had left its start before the first message has turned since
            if abs(off) > 2.0 * float(np.hypot(deviation, found.deviation)):
                return found, ()
            if abs(float(motion.speed_at(0.0))) > MOVING:
                return asserted._replace(deviation=max(deviation, abs(off))), ()
            return asserted, ()
        text = (
            f'the course over ground contradicts the heading of the configuration by '
            f'{np.degrees(off):.0f} degrees: the course counts'
        )
        return found, (Finding('warn', 'heading_contradicted', text, where),)
    if found is not None:
        return found, ()
    # (the filter says so as long as it is true)
    return _Heading(0.0, UNKNOWN, bias, bias_deviation, 'unknown until the car moves'), ()


class _Place(NamedTuple):
    """Position (2) at the start, its deviation and where it came from."""

    position: Array
    deviation: float
    source: str
    by_fix: bool = False


def _place(
    car: CarDescription, recording: Recording, motion: _Motion, heading: _Heading, velocity: Array
) -> _Place:
    """The origin that the configuration knows, or the first fix carried back to the start."""
    o, gps = car.observer, car.sensors.gps
    origin = _Place(np.zeros(2), float(o.position_deviation[0]), 'origin of odom')
    if not len(recording.fix):
        if o.initial_yaw is None:
            return _Place(np.zeros(2), NOWHERE, 'unknown before the first fix')
        return origin
    time = float(recording.fix.time[0]) - gps.delay
    more = float(heading.bias[2] - motion.bias[2])
    way = _carried(motion, heading.yaw, more, time, velocity)
    turn = float(motion.yaw_at(time)) - more * time
    co, si = np.cos(heading.yaw + turn), np.sin(heading.yaw + turn)
    arm = np.array([[co, -si], [si, co]]) @ np.array(gps.position[:2])
    first = recording.fix.value[0, :2] - arm - way
    variance = recording.fix.variance
    own = 0.0 if variance is None else float(np.sqrt(variance[0, 0]))
    spread = max(gps.deviation, own)
    spread = float(np.hypot(spread, (CARRIED + heading.deviation) * np.hypot(*way)))
    # a start that the configuration knows counts as long as the first fix agrees with it
    allowed = CONTRADICTED * float(np.hypot(spread, origin.deviation))
    if (
        o.initial_yaw is None
        or car.datum is None
        or heading.source != 'configuration'
        or np.hypot(*first) > allowed
    ):
        return _Place(first, spread, f'first fix at {time:.2f} s, carried back', True)
    return origin


def _wheel_angles(car: CarDescription, recording: Recording, forward: float) -> Array:
    """Angles (4) of the wheels at the start; counters that are about zero are at zero.

    A wheel may be heard later than others: until then it has turned.
    """
    angles = np.zeros(4)
    if not len(recording.wheel_angle):
        return angles
    wheels = car.sensors.wheels
    for i in range(4):
        column = recording.wheel_angle.value[:, i]
        known = np.flatnonzero(np.isfinite(column))
        if known.size:
            time, angle = recording.wheel_angle.time[known], column[known]
            rate = forward / car.geometry.wheel_radius
            early = time <= time[0] + FIRST
            # Before a pause there may be one message only.
            if time[-1] - time[0] >= FIRST and time[early][-1] - time[0] >= 0.5 * FIRST:
                rate = float(np.polyfit(time[early] - time[0], angle[early], 1)[0])
            angles[i] = angle[0] - rate * max(float(time[0]), 0.0)
    angles[np.abs(angles) < 3.0 * np.hypot(wheels.resolution, wheels.deviation)] = 0.0
    return angles


def carried_back(start: Start, seconds: float) -> Start:
    """The start as it was some time before, in the same bend at the same speed."""
    turn = seconds * start.yaw_rate
    forth = complex(*start.velocity.tolist())
    back = forth * np.exp(-1j * turn)
    # of a velocity that turns evenly the mean is that in the middle, a little shorter
    way = seconds * forth * np.exp(-0.5j * turn) * np.sinc(0.5 * turn / np.pi)
    position = start.position.copy()
    position[:2] -= [way.real, way.imag]
    velocity = np.array([back.real, back.imag])
    return replace(start, position=position, yaw=start.yaw - turn, velocity=velocity)


def with_sideslip(start: Start, sideslip: float) -> Start:
    """The start of a car that moves at an angle to its heading, whichever of the two is known."""
    turn = np.exp(1j * sideslip)
    if not start.by_course:
        velocity = complex(*start.velocity.tolist()) * turn
        return replace(start, velocity=np.array([velocity.real, velocity.imag]))
    position = start.position.copy()
    if start.by_fix:  # which is where the antenna is
        arm = complex(*start.antenna) * np.exp(1j * start.yaw)
        moved = arm - arm / turn
        position[:2] += [moved.real, moved.imag]
    return replace(start, position=position, yaw=start.yaw - sideslip)


def find_start(car: CarDescription, recording: Recording) -> Start:
    """Pose and velocity at the first message, from configuration, fixes, course and gyro."""
    wheels = _wheel_speed(car, recording)
    motion = _motion(car, recording, wheels)
    heading, findings = _heading(car, recording, motion)
    velocity, speed_deviation = _velocity(car, recording, wheels, heading.yaw)
    slowest = max(MOVING, 3.0 * car.sensors.gps.velocity)
    if np.hypot(*velocity) < slowest and not (
        len(recording.wheel_rate) or len(recording.wheel_angle)
    ):
        velocity = np.zeros(2)
    bias, bias_deviation = heading.bias, heading.bias_deviation
    yaw_rate = _yaw_rate(car, recording, motion, bias, bias_deviation) if velocity.any() else 0.0
    forward = float(velocity @ [np.cos(heading.yaw), np.sin(heading.yaw)])
    place = _place(car, recording, motion, heading, velocity)
    height = road_height(car.road.table(), place.position[0], place.position[1])[0]
    elevation, height_deviation, said = _elevation(car, recording, height)
    return Start(
        np.array([*place.position, height + car.geometry.wheel_radius]),
        heading.yaw,
        velocity,
        yaw_rate,
        place.deviation,
        heading.deviation,
        float(np.mean(recording.rack.value[:10])) if len(recording.rack) else 0.0,
        speed_deviation if velocity.any() else 0.0,
        elevation,
        height_deviation,
        _wheel_angles(car, recording, forward),
        bias,
        bias_deviation,
        {
            'heading': heading.source,
            'place': place.source,
            'gyro bias': _bias_source(motion, bias_deviation),
        },
        (*findings, *said),
        place.by_fix,
        heading.by_course,
        car.sensors.gps.position[:2],
        *_first(recording),
    )


def _first(recording: Recording) -> tuple[tuple[float, float, float, float], float]:
    """Torques of the wheels and brake pressure at the start; zero where nothing tells them."""
    early = np.nan_to_num(recording.torque.value[:10]).reshape(-1, 4)
    a, b, c, d = (float(one) for one in (early.mean(axis=0) if len(early) else np.zeros(4)))
    pressure = recording.pressure.value[:10]
    return (a, b, c, d), float(np.nanmean(pressure)) if np.isfinite(pressure).any() else 0.0


def _elevation(
    car: CarDescription, recording: Recording, height: float
) -> tuple[float, float, tuple[Finding, ...]]:
    """How far above the map's road the first fixes are, if that is more than their noise.

    A datum that is the first fix is as high as the antenna, and altitudes are not all of one kind.
    """
    fix = recording.fix
    if not len(fix):
        return 0.0, NO_HEIGHT, ()
    first = fix.time <= fix.time[0] + COURSE_FIRST
    level = height + car.geometry.wheel_radius + car.sensors.gps.position[2]
    off = float(np.median(fix.value[first, 2])) - level
    own = 0.0 if fix.variance is None else float(np.sqrt(np.median(fix.variance[first, 2])))
    spread = max(car.sensors.gps.deviation, own)
    if car.road.unknown:
        way = float(fix.time[0]) * NO_SPEED * STEEP  # that the first fix is away from the start
        return off, float(np.hypot(2.0 * spread, way)), ()
    if abs(off) <= CONTRADICTED * spread:
        return 0.0, spread, ()
    text = f'the road is {off:+.2f} m above the datum: all heights are moved'
    return off, spread, (Finding('note', 'road_height_found', text, 'configuration, datum'),)


def _bias_source(motion: _Motion, deviation: float | None) -> str:
    if deviation is None:
        return 'unknown: zero is assumed'
    return 'standstill' if motion.bias_deviation is not None else 'course over ground'
