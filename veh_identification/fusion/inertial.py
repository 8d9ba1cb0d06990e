"""Error-state Kalman filter on an IMU: position, velocity, orientation and both biases.

The filter navigates the point of the IMU in base-link axes; lever arms enter each measurement
model, so no angular acceleration is needed here. Error state, three entries each: position and
velocity in the world, rotation in the body (R_true = R exp(dtheta)), gyroscope bias,
accelerometer bias; then one each: what the other sensors need to be true (CALIBRATION). Time is
in seconds; the caller calls in order of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.kernels import inertial as kernels
from veh_identification.fusion.kernels import measurements as measurement_kernels
from veh_identification.fusion.kernels import output as output_kernels
from veh_identification.orientations import Quaternion
from veh_identification.signals.causal import CausalDerivativeFilter
from veh_identification.types import Array

POSITION, VELOCITY, ROTATION = slice(0, 3), slice(3, 6), slice(6, 9)
GYRO_BIAS, ACCEL_BIAS = slice(9, 12), slice(12, 15)
ERRORS = kernels.ERRORS
#: Yaw of the IMU against its given mounting [rad] (the filter's attitude is that of the IMU),
#: sideslip of the rear axle a m/s^2 of lateral acceleration [rad], wheel speed over ground speed
#: (less one), slip a m/s^2, delays of the wheels, of fixes and of satellite velocities [s], error
#: of the antenna's place in the base link (y, x) [m]; x cannot be told from slip: it counts, no
#: more. A sensor informs its own ones and those
#: before it only: a slip angle and a delay look alike in a turn, and the constraint must not tell
#: how late the satellites are.
CALIBRATION = slice(15, ERRORS)
MOUNT_YAW, SIDE_SLIP, WHEEL_SCALE, WHEEL_SLIP, WHEEL_DELAY = range(15, 20)
FIX_DELAY, VELOCITY_DELAY, ANTENNA_Y, ANTENNA_X = range(20, ERRORS)
MOTION_ONLY, WITH_SLIP, WITH_WHEELS, WITH_ALL = 15, SIDE_SLIP + 1, WHEEL_DELAY + 1, ANTENNA_X
#: Deviation (seconds) of the stamps of an inertial unit: what buses and drivers bring.
STAMPS = 0.015


@dataclass(frozen=True)
class InertialNoise:
    """Noise densities (per square root of Hz) and bias random walks."""

    gyro: float = 0.003
    accel: float = 0.03
    gyro_walk: float = 1e-4
    accel_walk: float = 1e-3
    gyro_bias: float = 0.05
    accel_bias: float = 0.3
    hold_rate: float = 0.3
    turn_rate: float = 0.05
    hold_accel: float = 2.0
    #: Axes (rate, then force) that are not measured: the body turns and accelerates unseen.
    unmeasured: tuple[bool, ...] = (False,) * 6
    #: Standard deviations of the calibration at start, and its walks.
    calibration: tuple[float, ...] = (0.0,) * kernels.CALIBRATED
    calibration_walk: tuple[float, ...] = (0.0,) * kernels.CALIBRATED
    #: Deviations of roll and pitch of the IMU and of the antenna's height as they are given.
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Update(NamedTuple):
    """Outcome of a measurement update."""

    accepted: bool
    nis: float
    whitened: Array


class InertialFilter:
    """Strapdown navigation with measurement updates; see the module's description."""

    def __init__(self, noise: InertialNoise, gravity: float) -> None:
        self.noise = noise
        self.gravity = gravity
        self.gravity_removed = False
        self.time = math.nan
        self.navigating = False
        #: Whether the calibration is estimated; otherwise its uncertainty counts, no more.
        self.calibrating = False
        #: Seconds by which the fixes may be early: the place is uncertain by as much of the way.
        self.fixes_early = 0.0
        self.memory = np.zeros(kernels.MEMORY_SIZE)
        self.x, self.R, self.P = kernels.parts.py_func(self.memory)
        self.x[9] = 1.0
        self.R[:] = np.eye(3)
        self.position = self.x[0:3]
        self.velocity = self.x[3:6]
        self.gyro_bias = self.x[10:13]
        self.accel_bias = self.x[13:16]
        self.calibration = self.x[16:]
        self._bias_variances = np.repeat(np.square([noise.gyro_bias, noise.accel_bias]), 3)
        self._measured = _densities(noise)
        self.gyro_density = noise.gyro
        self._held = self._measured.copy()
        self._held[kernels.GYRO : kernels.GYRO + 3] = noise.hold_rate**2
        self._held[kernels.ACCEL : kernels.ACCEL + 3] = noise.hold_accel**2
        self._turning = self._held.copy()
        self._turning[kernels.GYRO : kernels.GYRO + 3] = noise.turn_rate**2
        self._last_imu = math.nan
        #: Of the forces: their sum since its user has set it to zero.
        self.sample, self._done, self.force_sum = kernels.inertial_parts.py_func(self.memory)
        self._warm_up()

    def scale_noise(self, gyro: float, accel: float) -> None:
        """Take shares of the configured densities for the axes that are measured."""
        full = _densities(self.noise)
        known = ~np.array(self.noise.unmeasured)
        shares = np.repeat(np.square([gyro, accel]), 3)
        self._measured[:6] = np.where(known, shares, 1.0) * full[:6]
        self.gyro_density = gyro * self.noise.gyro

    def _warm_up(self) -> None:
        """Compile (or load from the cache) now, not on the first sample of a running system."""
        before = self.memory.copy()
        self._propagate(np.zeros(3), np.zeros(3), 0.0, self._measured)
        kernels.imu_step(self.memory, np.zeros(6), 0.0, 0.0, 0.0, False, self._measured)
        kernels.hold(self.memory, 0.0, 0.0, False, self._measured)
        smoother = CausalDerivativeFilter(6, 1.0)
        kernels.imu_sample(
            self.memory,
            *smoother.buffers,
            1.0,
            0.0,
            (0.0,) * 6,
            0.0,
            0.0,
            0.0,
            False,
            self._measured,
        )
        self.add_covariances(self.snapshot(0.0, 0.0), np.zeros(3), 1.0)
        self.correct(np.zeros(1), np.zeros((1, ERRORS)), np.eye(1), math.inf)
        self.innovate(np.zeros(1), np.zeros((1, ERRORS)), np.eye(1))
        self.wheel_rows(np.zeros((1, 6)), 0.0, np.zeros(1))
        self.is_sane(1.0, 1.0)
        residual, H = np.empty(3), np.empty((3, ERRORS))
        measurement_kernels.body_velocity_model(self.memory, np.zeros(3), np.zeros(3), residual, H)
        self.correct(residual[:1], H[:1], np.eye(1), math.inf)
        kernels.set_matrix(self.x, self.R)
        self.memory[:] = before

    @property
    def orientation(self) -> Quaternion:
        """Base link in the world."""
        x, y, z, w = self.x[6:10].tolist()
        return x, y, z, w

    @property
    def ready(self) -> bool:
        """Whether the orientation has been set."""
        return math.isfinite(self.time)

    def start(
        self, time: float, orientation: Quaternion, tilt_sigma: float, yaw_sigma: float
    ) -> None:
        """Begin at rest of knowledge: orientation given, biases and calibration kept if there
        are any.
        """
        fresh = not self.P[9:15, 9:15].any()
        self.time = time
        self._last_imu = math.nan
        self._set_orientation(orientation)
        self.navigating = False
        kept = self.P[9:, 9:].copy()
        self.P[:] = 0.0
        if fresh:
            noise = self.noise
            biases = [noise.gyro_bias] * 3 + [noise.accel_bias] * 3
            kept = np.diag(np.square([*biases, *noise.calibration]))
        self.P[9:, 9:] = kept
        up = self.R[2]  # world vertical in body axes
        self.P[ROTATION, ROTATION] = tilt_sigma**2 * (np.eye(3) - np.outer(up, up)) + (
            yaw_sigma**2 * np.outer(up, up)
        )
        self.position[:] = 0.0
        self.velocity[:] = 0.0

    def go_on(self, time: float, covariance: Array, sample: Array) -> None:
        """Navigate from `time` on, where the state was put, with the last sample of the IMU."""
        kernels.set_matrix(self.x, self.R)
        self.P[:] = covariance
        self.sample[:] = sample
        self._done[:] = 0.0
        self.time = self._last_imu = time
        self.navigating = True

    def renew_attitude(self, sigma: float, biases: Array, variances: Array) -> None:
        """Take the attitude as uncertain by `sigma`, the biases as given with their variances;
        none is known better than within a share of what was expected at the start.
        """
        self.x[10:16] = biases
        self.P[6:15, :] = 0.0
        self.P[:, 6:15] = 0.0
        noise = self.noise
        self.P[ROTATION, ROTATION] = sigma**2 * np.eye(3)
        least = np.repeat(np.square([0.1 * noise.gyro_bias, 0.3 * noise.accel_bias]), 3)
        self.P[9:15, 9:15] = np.diag(np.maximum(variances, least))

    def doubt_biases(self, before: Array, times: int) -> None:
        """Take the last correction of the biases, which were `before`, as one that may be wholly
        wrong, as were the `times` - 1 before it; none is known worse than at the start by that.

        A row of n doubtful steps in one direction adds the square of the whole way: the weights
        1, 3, 5 ... add up to n^2.
        """
        doubt = (2 * times - 1) * np.square(self.x[10:16] - before)
        room = np.maximum(self._bias_variances - np.diagonal(self.P)[9:15], 0.0)
        # Each by itself: steps that go together would tie the biases to each other.
        self.P[range(9, 15), range(9, 15)] += np.minimum(doubt, room)

    def renew_biases(self) -> None:
        """Take the biases as uncertain as at the start; those that nobody expects are none."""
        if not self.P[9:15, 9:15].any():
            return
        unexpected = np.square(self.x[10:16]) > self._bias_variances
        self.x[10:16][unexpected] = 0.0
        self.P[9:15, :] = 0.0
        self.P[:, 9:15] = 0.0
        self.P[range(9, 15), range(9, 15)] = self._bias_variances

    def forget_biases(self) -> None:
        """The next start begins with unknown biases and calibration."""
        self.x[10:] = 0.0
        self.P[9:, 9:] = 0.0

    def forget_calibration(self) -> None:
        """Take the calibration as given, and as uncertain as at the start."""
        self.calibration[:] = 0.0
        self.P[CALIBRATION, :] = 0.0
        self.P[:, CALIBRATION] = 0.0
        self.P[CALIBRATION, CALIBRATION] = np.diag(np.square(self.noise.calibration))

    def start_navigation(
        self, position: Array, position_sigma: float, velocity: Array, sigma: float
    ) -> None:
        """Begin to integrate position and velocity."""
        self.navigating = True
        self.position[:] = position
        self.velocity[:] = velocity
        for block, value in ((POSITION, position_sigma), (VELOCITY, sigma)):
            self.P[block, :] = 0.0
            self.P[:, block] = 0.0
            self.P[block, block] = value**2 * np.eye(3)

    def start_in_body(
        self, position: Array, position_sigma: float, velocity: Array, sigma: float
    ) -> None:
        """`start_navigation` with a velocity in base-link axes: in the world it is known no better
        than the attitude, v = R u, dv = R du - R [u]x theta.
        """
        self.start_navigation(position, position_sigma, self.R @ velocity, sigma)
        swing = -self.R @ rotation.skew(velocity)
        self.P[VELOCITY, 6:] = swing @ self.P[ROTATION, 6:]
        self.P[6:, VELOCITY] = self.P[VELOCITY, 6:].T
        self.P[VELOCITY, VELOCITY] += swing @ self.P[ROTATION, ROTATION] @ swing.T

    def stop_navigation(self) -> None:
        """Keep the attitude only."""
        self.navigating = False
        self.P[0:6, :] = 0.0
        self.P[:, 0:6] = 0.0
        self.velocity[:] = 0.0

    def turn_world(self, angle: float, sigma: float) -> None:
        """Turn position, velocity and orientation about the vertical (heading alignment).

        An angle that is wrong turns all three together.
        """
        q = rotation.from_rotation_vector(0.0, 0.0, angle)
        turn = rotation.matrix(q)
        self.position[:] = turn @ self.position
        self.velocity[:] = turn @ self.velocity
        self._set_orientation(orientations.multiply(q, self.orientation))
        for block in (POSITION, VELOCITY):
            self.P[block, :] = turn @ self.P[block, :]
            self.P[:, block] = self.P[:, block] @ turn.T
        (px, py, _), (vx, vy, _) = self.position.tolist(), self.velocity.tolist()
        swing = sigma * np.array([-py, px, 0.0, -vy, vx, 0.0, *self.R[2].tolist()])
        self.P[:9, :9] += np.outer(swing, swing)

    def _set_orientation(self, q: Quaternion) -> None:
        self.x[6:10] = q
        kernels.set_matrix(self.x, self.R)

    # Prediction ---------------------------------------------------------------------------------

    def imu(self, time: float, sample: Array, max_gap: float) -> None:
        """An IMU sample (rate, force; base-link axes): integrate up to it by the trapezoid."""
        dt = time - self._last_imu
        if 0.0 < dt <= max_gap and time > self.time:
            kernels.imu_step(
                self.memory,
                sample,
                dt,
                time - self.time,
                self._fall(),
                self.navigating,
                self._measured,
            )
            self.time = time
        else:
            if not 0.0 < dt <= max_gap:
                self.advance(time, max_gap)
            self.sample[:] = sample
            self._done[:] = 0.0
            self.force_sum += sample[3:]
        self._last_imu = time

    def imu_with(
        self,
        smoother: CausalDerivativeFilter,
        time: float,
        values: tuple[float, ...],
        max_gap: float,
    ) -> bool:
        """`imu` of a sample that goes into a smoother as well: one call. False, with nothing
        done, when it does not complete a trapezoid.
        """
        dt, step = time - self._last_imu, time - self.time
        if not (step > 0.0 and 0.0 < dt <= max_gap):
            return False
        fall = 0.0 if self.gravity_removed else self.gravity
        while not kernels.imu_sample(
            self.memory,
            *smoother.buffers,
            smoother.keep,
            time,
            values,
            dt,
            step,
            fall,
            self.navigating,
            self._measured,
        ):
            smoother.grow()
        self.time = self._last_imu = time
        return True

    def _fall(self) -> float:
        """Gravity that the accelerometer shows."""
        return 0.0 if self.gravity_removed else self.gravity

    def advance(self, time: float, max_gap: float, rate: Array | None = None) -> None:
        """Go on to `time` without a new IMU sample.

        Within `max_gap` of the last one its values are held, and what has been integrated is
        remembered, so that the next sample completes the trapezoid. Beyond it the filter coasts:
        constant velocity and `rate` (of another sensor, zero if unknown), with wide noise.
        """
        dt = time - self.time
        if not dt > 0.0:
            return
        if time - self._last_imu <= max_gap:
            kernels.hold(self.memory, dt, self._fall(), self.navigating, self._measured)
        else:
            speed = np.zeros(3) if self.gravity_removed else dt * self.gravity * self.R[2]
            if rate is None:
                self._propagate(np.zeros(3), speed, dt, self._held)
            else:
                # A vehicle that turns keeps its velocity in body axes, not in the world.
                body = self.R.T @ self.velocity
                speed = speed + dt * rotation.cross_array(rate, body)
                self._propagate(dt * rate, speed, dt, self._turning)
        self.time = time

    def _propagate(self, angle: Array, speed: Array, dt: float, variances: Array) -> None:
        kernels.propagate(
            self.x, self.R, self.P, angle, speed, dt, self._fall(), self.navigating, variances
        )

    def snapshot(self, time: float, max_gap: float) -> Array:
        """The state at `time`, at or shortly after the filter's own, without changing it.

        The row is described in `fusion.output_kernels`.
        """
        row = np.zeros(output_kernels.SNAPSHOT_SIZE)
        output_kernels.take_snapshot(
            self.memory,
            time - self.time,
            time - self._last_imu <= max_gap,
            self.navigating,
            self._fall(),
            row,
        )
        return row

    def add_covariances(self, row: Array, point: Array, bandwidth: float) -> None:
        """Covariances of pose and twist of the base link into a snapshot; `point`: the IMU in it,
        `bandwidth`: of the published rates (Hz).
        """
        noise = self.noise
        rates = 2.0 * bandwidth * self.gyro_density**2
        output_kernels.take_covariances(self.memory, point, rates, *noise.mounting, row)
        # Only the course tells whether its stamps are late, and slip tells the same: not known.
        turn = STAMPS * (self.R @ self.rate)
        pose = row[20:56].reshape(6, 6)
        pose[3:, 3:] += np.outer(turn, turn)
        # The place is where the fixes say it was when their stamps say so: no sensor sees that.
        way = self.fixes_early * self.velocity
        pose[:3, :3] += np.outer(way, way)

    # Correction ---------------------------------------------------------------------------------

    def correct(
        self,
        residual: Array,
        H: Array,
        R: Array,
        threshold: float,
        estimated: int = MOTION_ONLY,
    ) -> Update:
        """One Kalman update with a chi-square gate on the innovation; errors from `estimated` on
        keep their values, and all of the calibration does where nothing absolute tells it.
        """
        whitened = np.empty(len(residual))
        estimated = estimated if self.calibrating else MOTION_ONLY
        nis = measurement_kernels.correct(
            self.memory, residual, H, R, threshold, estimated, whitened
        )
        return Update(nis <= threshold, nis, whitened)

    def innovate(self, residual: Array, H: Array, R: Array) -> Array:
        """The innovation in units of its standard deviations; nothing is changed."""
        whitened = np.empty(len(residual))
        measurement_kernels.innovate(self.memory, residual, H, R, whitened)
        return whitened

    def wheel_rows(
        self, wheels: Array, acceleration: float, begins: Array
    ) -> tuple[Array, Array, Array]:
        """Residuals, rows and whitened innovations of wheels (see the kernel of this name)."""
        count = len(wheels)
        H, residuals, whitened = np.empty((count, ERRORS)), np.empty(count), np.empty(count)
        measurement_kernels.wheel_rows(
            self.memory, wheels, acceleration, begins, H, residuals, whitened
        )
        return residuals, H, whitened

    def is_sane(self, fastest: float, furthest: float) -> bool:
        """Whether state and covariance are finite and the motion can be."""
        return bool(measurement_kernels.is_sane(self.memory, fastest, furthest))

    def clear(self) -> None:
        """Forget everything, numbers that are none included."""
        self.memory[:] = 0.0
        self.x[9] = 1.0
        self.R[:] = np.eye(3)
        self.time = math.nan
        self._last_imu = math.nan
        self.navigating = False
        self.fixes_early = 0.0

    @property
    def rate(self) -> Array:
        """Angular velocity of the last IMU sample without its bias, base-link axes."""
        return self.sample[:3] - self.gyro_bias


def _densities(noise: InertialNoise) -> Array:
    """Variances in the order of the kernels."""
    gyro, accel = [noise.gyro] * 3, [noise.accel] * 3
    for axis, missing in enumerate(noise.unmeasured[:3]):
        gyro[axis] = noise.turn_rate if missing else gyro[axis]
    for axis, missing in enumerate(noise.unmeasured[3:]):
        accel[axis] = noise.hold_accel if missing else accel[axis]
    walks = [noise.gyro_walk, noise.accel_walk, *noise.calibration_walk]
    return np.square(np.array([*gyro, *accel, *walks]))
