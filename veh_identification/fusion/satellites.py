"""Satellite position and velocity: datum, first heading, corrections of the navigator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.fusion.imu_navigation import AXES
from veh_identification.fusion.inertial import (
    FIX_DELAY,
    POSITION,
    VELOCITY,
    VELOCITY_DELAY,
    WHEEL_DELAY,
)
from veh_identification.fusion.navigator import HEIGHT, Navigator
from veh_identification.orientations import Quaternion
from veh_identification.types import Array

#: A difference of delays that is worth an explanation (seconds).
EARLY = 0.015
#: Fixes closer than this (m) tell no course, and so many seconds without one are a rest.
SHORTEST_WAY, LONGEST_WAIT = 1.0, 5.0
#: Share of a delay of the fixes that may be wrong when it has just been found.
DOUBT = 0.2
#: Seconds by which velocities must be late that the fixes may be early instead.
SHOWN = 0.005
#: Slip that comes with acceleration shifts the delay that wheels seem to have by so much [s]: one
#: clean drive of 26 told -12 +- 5 ms.
BY_SLIP = 0.01


@dataclass(frozen=True)
class Alignment:
    """Turn about the vertical that lays the local track on the measured one."""

    angle: float
    sigma: float
    local_centre: tuple[float, float]
    world_centre: tuple[float, float]


class TrackAligner:
    """Collects pairs of dead-reckoned and measured positions until the heading is known."""

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._pairs: list[tuple[float, float, float, float]] = []

    def reset(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def add(
        self, local: tuple[float, float], world: tuple[float, float], sigma: float
    ) -> Alignment | None:
        """Take one pair; returns the alignment as soon as the way is long enough.

        Both tracks must have the wanted length, and it must stand out from the noise.
        """
        self._pairs.append((local[0], local[1], world[0], world[1]))
        first = self._pairs[0]
        local_way = math.hypot(local[0] - first[0], local[1] - first[1])
        world_way = math.hypot(world[0] - first[2], world[1] - first[3])
        needed = max(self._distance, 4.0 * sigma)
        if min(local_way, world_way) < needed:
            return None
        return self._solve(sigma)

    def _solve(self, sigma: float) -> Alignment:
        pairs = np.array(self._pairs)
        centre = pairs.mean(axis=0)
        a, b = (pairs - centre)[:, :2], (pairs - centre)[:, 2:]
        # Least squares rotation in the plane: maximise sum b . R a.
        sine = float(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
        cosine = float(np.sum(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]))
        spread = math.sqrt(float(np.sum(a**2)))
        # Neighbouring fixes share their error: do not let many of them pretend precision.
        yaw_sigma = math.hypot(sigma * math.sqrt(min(len(pairs), 5)) / spread, 0.02)
        return Alignment(
            math.atan2(sine, cosine),
            min(yaw_sigma, 0.5),
            (float(centre[0]), float(centre[1])),
            (float(centre[2]), float(centre[3])),
        )


class CourseTrack:
    """A track from fixes and the gyroscope alone: ways between fixes laid along the unknown
    heading that the gyroscope carries on. The vehicle drives forward.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all ways."""
        self._steps: list[tuple[float, float]] = []  # time, length
        self._last: Array | None = None
        self._time = math.nan
        self._yaw = 0.0
        self._here = (0.0, 0.0)

    def add(
        self, time: float, fix: Array, orientation: Quaternion, ahead: float, sigma: float
    ) -> tuple[float, float]:
        """Take a fix; where the track is now. Shorter ways than the noise say nothing. An antenna
        `ahead` of the base link, which does not slide, does in a turn.
        """
        yaw = rotation.yaw_of(orientation)
        if self._last is None:
            self._last, self._time, self._yaw = fix, time, yaw
            return self._here
        way = math.hypot(fix[0] - self._last[0], fix[1] - self._last[1])
        if way < max(SHORTEST_WAY, 4.0 * sigma):
            if time - self._time > LONGEST_WAIT:  # it stands, or creeps: begin here
                self._last, self._time, self._yaw = fix, time, yaw
            return self._here
        turn = math.remainder(yaw - self._yaw, 2.0 * math.pi)
        middle = self._yaw + 0.5 * turn + math.asin(max(-0.9, min(0.9, turn * ahead / way)))
        x, y = self._here
        self._here = (x + way * math.cos(middle), y + way * math.sin(middle))
        self._steps.append((time - self._time, way))
        self._last, self._time, self._yaw = fix, time, yaw
        return self._here

    def speed(self, sigma: float) -> tuple[float, float]:
        """Of the last way, and its standard deviation."""
        if not self._steps:
            return 0.0, 10.0
        span, way = self._steps[-1]
        return way / span, max(1.0, 2.0 * sigma / span)


def checked_datum(values: Sequence[float]) -> Datum:
    """The datum of the parameter `gnss.datum`; ParameterError when it is no place on earth."""
    if len(values) != 3:
        raise ParameterError(
            'parameter gnss.datum: expected latitude, longitude [deg] and altitude [m], '
            f'got {len(values)} numbers'
        )
    for name, value, limit in (
        ('latitude', values[0], 90.0),
        ('longitude', values[1], 180.0),
        ('altitude', values[2], math.inf),
    ):
        if not (math.isfinite(value) and abs(value) <= limit):
            wanted = f'within {-limit:g} and {limit:g} degrees' if limit < math.inf else 'finite'
            raise ParameterError(
                f'parameter gnss.datum: the {name} must be {wanted}, got {value:g}'
            )
    return Datum(*values)


class SatelliteAiding:
    """Feeds fixes and velocities to a navigator.

    The heading is not known at the start unless an orientation or a parameter gives it. It is
    found by laying the dead-reckoned track on the fixes where there is odometry or a speed sensor,
    otherwise from the course over ground of the first fast velocity, and from the ways between
    fixes where there are only these.
    """

    def __init__(self, navigator: Navigator) -> None:
        self.navigator = navigator
        self.options = navigator.options.gnss
        self.velocity_options = navigator.options.gnss_velocity
        self._aligner = TrackAligner(self.options.align_distance)
        self.local_frame: LocalFrame | None = None
        if self.options.fixed_datum:
            self.local_frame = LocalFrame(checked_datum(self.options.datum))
        self.antenna = np.array(self.options.position)
        self.datum_requested = False
        self._course_track = CourseTrack()
        self._track = (-1, False)

    def reset(self) -> None:
        """Forget the track; the datum stays."""
        self._aligner.reset()
        self._course_track.reset()

    def request_datum(self) -> None:
        """Let the next valid fix be the origin."""
        self.datum_requested = True

    def fix(self, time: float, fix: tuple[float, ...]) -> None:
        """Latitude, longitude, altitude and variances (horizontal, vertical)."""
        if self.datum_requested:
            self.navigator.position_known = False
        if self.local_frame is None or self.datum_requested:
            self.local_frame = LocalFrame(Datum(fix[0], fix[1], fix[2]))
            self.datum_requested = False
            self._aligner.reset()
        measured = np.array(self.local_frame.from_geodetic(fix[0], fix[1], fix[2]))
        self.navigator.journal.note('gnss', time, (*measured.tolist(), math.sqrt(fix[3])))
        if not self.navigator.advance('gnss', time):
            return
        state = self.navigator.filter
        lever = self.antenna - self.navigator.imu_point
        sigma = math.sqrt(fix[3])
        if not self.navigator.heading_known:
            self._align(time, measured, lever, sigma)
            return
        if not state.navigating:
            state.start_navigation(measured - state.R @ lever, sigma, np.zeros(3), 10.0)
        elif not self.navigator.position_known:
            self._place(measured - state.R @ lever, sigma)
        self.navigator.position_known = True
        residual, H = measurements.fix(state, measured, lever)
        gate = self.options.gate
        level = (residual[:2], H[:2])
        noise = measurements.noise(fix[3], 2)
        used = self.navigator.update('gnss', time, level, noise, gate, POSITION)
        # A fix that is wrong in the plane (a reflection) has no good height; a bad height says
        # little about the plane.
        if self.options.use_altitude and used:
            residual, H = measurements.fix(state, measured, lever)
            height = (residual[2:], H[2:])
            noise = measurements.noise(fix[4], 1)
            self.navigator.update('gnss', time, height, noise, gate, POSITION, HEIGHT)

    def _place(self, position: Array, sigma: float) -> None:
        state = self.navigator.filter
        velocity = state.velocity.copy()
        covariance = state.P.copy()
        state.start_navigation(position, sigma, velocity, 1.0)
        state.P[3:, 3:] = covariance[3:, 3:]

    def _align(self, time: float, measured: Array, lever: Array, sigma: float) -> None:
        """Find the heading: by the dead-reckoned track (course: see `velocity`)."""
        state = self.navigator.filter
        record = self.navigator.records['gnss']
        record.used += 1
        record.last_used = time
        reckoned = self._velocity_source_active(time)
        if self._track != (self.navigator.starts, reckoned):
            self._track = (self.navigator.starts, reckoned)  # pairs of another would mislead
            self._aligner.reset()
            self._course_track.reset()
        if reckoned:
            reached = state.position + state.R @ lever
            local = float(reached[0]), float(reached[1])
        elif 'gnss_velocity' in self.navigator.records and self._velocity_heard(time):
            return  # its course tells the heading sooner
        else:
            ahead = float(self.antenna[0])
            local = self._course_track.add(time, measured, state.orientation, ahead, sigma)
        found = self._aligner.add(local, (measured[0], measured[1]), sigma)
        if found is None:
            return
        state.turn_world(found.angle, found.sigma if reckoned else max(found.sigma, 0.1))
        if not reckoned:
            self._start_on_course(measured, lever, sigma)
            return
        here = state.position + state.R @ lever
        self._place(state.position + measured - here, sigma)
        self.navigator.heading_known = self.navigator.position_known = True

    def _velocity_heard(self, time: float) -> bool:
        """Whether satellite velocities arrive, used or not."""
        record = self.navigator.records['gnss_velocity']
        times = self.navigator.journal.of('gnss_velocity')
        return times is not None and time - float(times[0][-1]) <= record.timeout

    def _start_on_course(self, measured: Array, lever: Array, sigma: float) -> None:
        """Begin to navigate where fixes alone found the heading: it drives forward."""
        state = self.navigator.filter
        speed, deviation = self._course_track.speed(sigma)
        velocity = np.array([speed, 0.0, 0.0])
        state.start_in_body(measured - state.R @ lever, sigma, velocity, deviation)
        self.navigator.heading_known = self.navigator.position_known = True

    def _velocity_source_active(self, time: float) -> bool:
        return self.navigator.filter.navigating and any(
            name in self.navigator.records and self.navigator.records[name].active_at(time)
            for name in ('odometry', 'speed', 'wheels')
        )

    def velocity(self, time: float, velocity: tuple[float, ...]) -> None:
        """Velocity of the antenna in east-north-up axes."""
        self.navigator.journal.note('gnss_velocity', time, velocity[:3])
        if not self.navigator.advance('gnss_velocity', time):
            return
        state, options = self.navigator.filter, self.velocity_options
        lever = self.antenna - self.navigator.imu_point
        measured = np.array(velocity[:3])
        if not self.navigator.heading_known and not self._velocity_source_active(time):
            self._course(time, measured, options.std)
            return
        if not self.navigator.heading_known:
            self.navigator.records['gnss_velocity'].skip('heading not known yet')
            return
        if not state.navigating:
            state.start_navigation(np.zeros(3), 100.0, measured, 1.0)
        acceleration = state.R @ self.navigator.acceleration(time)
        residual, H = measurements.satellite_velocity(state, measured, lever, acceleration)
        rows = AXES['xyz' if options.use_vertical else 'xy']
        model = (residual[rows], H[rows])
        std = velocity[3] if len(velocity) > 3 else options.std
        covariance = measurements.noise(std**2, len(model[0]))
        self.navigator.update('gnss_velocity', time, model, covariance, options.gate, VELOCITY)
        self._settle_delays()

    def _settle_delays(self) -> None:
        """Velocities (and wheels) that seem to come before their time: the fixes are late.

        Only differences of delays show well, and the fixes are taken as punctual. Nothing comes
        early, so a clearly negative difference is the fixes' delay.
        """
        state = self.navigator.filter
        early = -float(state.x[VELOCITY_DELAY + 1])
        sigma = math.sqrt(max(state.P[VELOCITY_DELAY, VELOCITY_DELAY], 0.0))
        state.fixes_early = self._early_fixes(-early, sigma)
        if not early > max(EARLY, 5.0 * sigma) or not sigma < 0.2 * early:
            return
        wheels = math.sqrt(max(state.P[WHEEL_DELAY, WHEEL_DELAY], 0.0))
        if wheels > 0.0 and not state.x[WHEEL_DELAY + 1] < -2.0 * wheels:
            return
        for index in (FIX_DELAY, VELOCITY_DELAY, WHEEL_DELAY):
            if index != WHEEL_DELAY or wheels > 0.0:
                state.x[index + 1] += early
        state.position += early * state.velocity
        way = np.outer(state.velocity, state.velocity)
        state.P[POSITION, POSITION] += sigma**2 * way
        # From now on it is a delay like the others: estimated, and its uncertainty counts.
        doubt = max(sigma, DOUBT * early)
        state.P[FIX_DELAY, FIX_DELAY] = max(state.P[FIX_DELAY, FIX_DELAY], doubt**2)

    def _early_fixes(self, late: float, sigma: float) -> float:
        """By how many seconds fixes may be early: velocities that are late, or zero.

        Nothing tells which of both it is, unless the wheels clearly are not late.
        """
        state = self.navigator.filter
        if not (sigma > 0.0 and late > max(SHOWN, 2.0 * sigma)):
            return 0.0
        wheels = math.sqrt(max(state.P[WHEEL_DELAY, WHEEL_DELAY], 0.0))
        if wheels > 0.0 and state.x[WHEEL_DELAY + 1] + 2.0 * wheels + BY_SLIP < late:
            return 0.0
        return late

    def _course(self, time: float, measured: Array, std: float) -> None:
        """Take the course over ground as heading: the vehicle drives forward and starts so.

        The base link does not slide; an antenna ahead of it does, by turn rate times distance.
        """
        speed = math.hypot(measured[0], measured[1])
        record = self.navigator.records['gnss_velocity']
        if speed < self.options.course_speed:
            record.skip('heading not known yet')
            return
        record.used += 1
        record.last_used = time
        state = self.navigator.filter
        slide = float(state.rate[2] * self.antenna[0]) / speed
        course = math.atan2(measured[1], measured[0]) - math.asin(max(-0.9, min(0.9, slide)))
        angle = math.remainder(course - rotation.yaw_of(state.orientation), 2.0 * math.pi)
        state.turn_world(angle, math.hypot(std / speed, 0.1))
        state.start_navigation(np.zeros(3), 1e3, measured, std)
        self.navigator.heading_known = True
