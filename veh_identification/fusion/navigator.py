"""Base motion from IMU, satellites, odometry, speed sensor and motion capture.

`Navigator` owns the inertial filter and decides what each sample does to it: give the first
attitude, start the navigation, find the heading, or correct. All samples come in order of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.frames import Transform
from veh_identification.fusion.inertial import (
    POSITION,
    ROTATION,
    VELOCITY,
    InertialFilter,
    InertialNoise,
    Snapshot,
    Update,
)
from veh_identification.fusion.measurements import Model
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.rotation import Quaternion
from veh_identification.fusion.start import AttitudeStarter, turned_imu_warning
from veh_identification.fusion.statistics import SensorRecord, gate_threshold

FloatArray = NDArray[np.float64]
AXES = {'x': [0], 'xy': [0, 1], 'xyz': [0, 1, 2], 'z': [2], 'yz': [1, 2]}
VELOCITY_SOURCES = ('gnss', 'gnss_velocity', 'odometry', 'speed', 'mocap')
LEVEL_PERIOD = 0.05
CONSTRAINT_PERIOD = 0.1
AIDING_PAUSE = 2.0
#: The first attitude may be wrong by more than its covariance says: no gates for so long.
SETTLING = 5.0
#: So many surrenders to sensors within so many seconds mean that the attitude itself is wrong.
SURRENDERS, SURRENDER_SPAN = 3, 10.0


class Navigator:
    """The inertial filter and its rules."""

    def __init__(self, options: FusionOptions, records: Mapping[str, SensorRecord]) -> None:
        self.options = options
        self.records = records
        imu = options.imu
        self._imu_on = bool(imu.topic)
        noise = InertialNoise(
            imu.gyro_noise, imu.accel_noise, imu.gyro_walk, imu.accel_walk, imu.gyro_bias,
            imu.accel_bias,
        )  # fmt: skip
        self.filter = InertialFilter(noise, options.gravity)
        self._starter = AttitudeStarter(imu.start_time, options.gravity, imu.gravity)
        self.imu_mount = Transform()
        self._mount_matrix = np.eye(3)
        self._imu_point = np.zeros(3)
        self.recoveries = 0
        self.restarts = 0
        self.mean_start_force = np.zeros(3)
        self.reset()

    def reset(self) -> None:
        """Start over with attitude and position; biases stay."""
        self.filter.time = math.nan
        self.filter.navigating = False
        self._starter.reset()
        self.heading_known = not self.options.gnss.topic or bool(self.options.mocap.topic)
        #: Without satellites the odometry frame starts where the vehicle starts.
        self.position_known = not self.options.gnss.topic
        self._level_sum = np.zeros(3)
        self._level_count = 0
        self._next_level = -math.inf
        self._next_constraint = -math.inf
        self.turn_rate: FloatArray | None = None
        self._still_since = math.inf
        self._settled_at = -math.inf
        self._surrenders: list[float] = []

    def set_imu_mount(self, mount: Transform) -> None:
        """Pose of the IMU in the base link."""
        self.imu_mount = mount
        self._mount_matrix = rotation.matrix(mount.rotation)
        self._imu_point = np.array(mount.translation)

    # IMU ----------------------------------------------------------------------------------------

    def to_base(self, values: tuple[float, ...]) -> FloatArray:
        """Rate and force of the IMU in base-link axes."""
        return (np.array(values[:6]).reshape(2, 3) @ self._mount_matrix.T).ravel()

    def imu(self, time: float, sample: FloatArray, measured: Quaternion | None) -> None:
        """One IMU sample (rate, force; base-link axes), with its orientation field if known."""
        record = self.records['imu']
        if measured is not None:
            measured = rotation.multiply(measured, rotation.conjugate(self.imu_mount.rotation))
            turn = rotation.from_rotation_vector(0.0, 0.0, self.options.imu.yaw_offset)
            measured = rotation.multiply(turn, measured)
        state = self.filter
        if not state.ready:
            self._first_attitude(time, sample[:3], sample[3:], measured)
        else:
            state.imu(time, sample, self.options.imu.timeout)
            self._level(time, sample[3:], measured)
            self._constrain(time)
        record.last_used = time

    def _first_attitude(
        self, time: float, rate: FloatArray, force: FloatArray, measured: Quaternion | None
    ) -> None:
        options = self.options
        yaw = options.gnss.heading if options.gnss.heading_given else 0.0
        use_heading = options.imu.use_orientation
        first = self._starter.add(time, rate, force, measured, use_heading, yaw)
        if first is None:
            return
        self.mean_start_force = first.mean_force
        self.filter.gravity_removed = first.gravity_removed
        if options.gnss.heading_given or first.heading_measured:
            self.heading_known = True
        sigma = options.imu.orientation_std if first.heading_measured else 0.1
        self.filter.start(time, first.orientation, first.tilt_sigma, sigma)
        self._settled_at = time + SETTLING

    def _level(self, time: float, force: FloatArray, measured: Quaternion | None) -> None:
        """Gravity levels the attitude while nothing else does; the orientation field may help."""
        self._level_sum = self._level_sum + force
        self._level_count += 1
        if time < self._next_level:
            return
        state, imu = self.filter, self.options.imu
        mean = self._level_sum / self._level_count
        self._level_sum = np.zeros(3)
        self._level_count = 0
        self._next_level = time + LEVEL_PERIOD
        if imu.use_orientation and measured is not None:
            self._correct_quietly(measurements.orientation(state, measured), imu.orientation_std)
        elif state.gravity_removed:
            # Nothing else keeps roll and pitch: the orientation field, or a level road.
            reference = rotation.IDENTITY if measured is None else measured
            self._correct_quietly(measurements.tilt(state, reference), 0.1)
        elif not self.aided(time):
            # A moving vehicle shows more than gravity: trust it less the further from one g.
            excess = abs(float(np.linalg.norm(mean)) - state.gravity)
            self._correct_quietly(measurements.gravity(state, mean), imu.level_std + 2.0 * excess)

    def _constrain(self, time: float) -> None:
        options = self.options.nonholonomic
        if options.axes == 'none' or not self.filter.navigating or time < self._next_constraint:
            return
        self._next_constraint = time + CONSTRAINT_PERIOD
        lever = np.array(options.position) - self._imu_point
        residual, H = measurements.body_velocity(self.filter, np.zeros(3), lever)
        rows = AXES[options.axes]
        self._correct_quietly((residual[rows], H[rows]), options.std)

    def _correct_quietly(self, model: Model, sigma: float) -> None:
        residual, H = model
        self.filter.correct(residual, H, sigma**2 * np.eye(len(residual)), math.inf)

    def aided(self, time: float) -> bool:
        """Whether velocity or position has been measured lately."""
        return self.filter.navigating and any(
            time - self.records[name].last_used <= max(AIDING_PAUSE, self.records[name].timeout)
            for name in VELOCITY_SOURCES
            if name in self.records
        )

    # Aiding sensors -----------------------------------------------------------------------------

    def advance(self, name: str, time: float) -> bool:
        """Bring the filter to `time`; false while there is no attitude yet."""
        state = self.filter
        if not state.ready:
            if self._imu_on:
                self.records[name].skip('no attitude yet')
                return False
            yaw = self.options.gnss.heading if self.options.gnss.heading_given else 0.0
            self.heading_known |= self.options.gnss.heading_given
            state.start(time, rotation.from_rpy(0.0, 0.0, yaw), 0.05, 0.1)
        state.advance(time, self.options.imu.timeout, self.turn_rate)
        return True

    def body_velocity(
        self, name: str, time: float, velocity: tuple[float, ...], axes: str, lever: list[float],
        sigma: float, gate: float,
    ) -> None:  # fmt: skip
        """Velocity of a point in base-link axes (odometry, optical sensor)."""
        if not self.advance(name, time):
            return
        state = self.filter
        arm = np.array(lever) - self._imu_point
        measured = np.array(velocity[:3])
        if not state.navigating:
            start = np.zeros(3)
            start[AXES[axes]] = (measured - rotation.cross_array(state.rate, arm))[AXES[axes]]
            state.start_navigation(np.zeros(3), 0.01, state.R @ start, 1.0)
            # The base link starts at the origin, the filter follows the IMU.
            state.position[:] = state.R @ self._imu_point
        residual, H = measurements.body_velocity(state, measured, arm)
        rows = AXES[axes]
        model = (residual[rows], H[rows])
        self.update(name, time, model, sigma**2 * np.eye(len(rows)), gate, VELOCITY)

    def odometry(self, time: float, twist: tuple[float, ...]) -> None:
        """Twist (vx, vy, vz, wz) of the wheel odometry."""
        options = self.options.odometry
        self.turn_rate = np.array([0.0, 0.0, twist[3]])
        self.body_velocity(
            'odometry', time, twist, options.axes, options.position, options.std, options.gate
        )
        still = abs(twist[0]) + abs(twist[1]) < 5e-3 and abs(twist[3]) < 5e-3
        self._still_since = min(self._still_since, time) if still else math.inf
        if (
            options.standstill
            and self.records['imu'].active_at(time)
            and self.filter.ready
            and time - self._still_since > 1.0
        ):
            self._correct_quietly(measurements.standstill_rate(self.filter), 0.02)

    def mocap(self, time: float, position: FloatArray, measured: Quaternion) -> None:
        """Pose of the base link; only useful here when an IMU is to be aided by it."""
        if not self.advance('mocap', time):
            return
        state, options = self.filter, self.options.mocap
        lever = -self._imu_point
        if not state.navigating:
            state.start(time, measured, options.orientation_std, options.orientation_std)
            state.start_navigation(position - state.R @ lever, options.std, np.zeros(3), 5.0)
        covariance = options.orientation_std**2 * np.eye(3)
        model = measurements.orientation(state, measured)
        self.update('mocap', time, model, covariance, options.gate, ROTATION)
        covariance = options.std**2 * np.eye(3)
        model = measurements.position(state, position, lever)
        self.update('mocap', time, model, covariance, options.gate, POSITION, 'position')

    def update(
        self, name: str, time: float, model: Model, covariance: FloatArray, gate: float,
        block: slice, part: str = '',
    ) -> Update:  # fmt: skip
        """Correct with a gate; after many rejections in a row the filter is the one in error, and
        the part `block` of its state is taken as unknown by the size of the residual.

        A sample that corrects in two steps names the second one by `part`: it has its own run of
        rejections and is not counted as another sample.
        """
        residual, H = model
        record = self.records[name]
        threshold = gate_threshold(gate if time >= self._settled_at else 1.0, len(residual))
        if record.rejections_in_a_row.get(part, 0) >= self.options.recover_after:
            own = H[:, block]
            self.filter.P[block, block] += float(residual @ residual) * (own.T @ own)
            threshold = math.inf
            self.recoveries += 1
            self._surrenders = [t for t in self._surrenders if time - t < SURRENDER_SPAN]
            self._surrenders.append(time)
        update = self.filter.correct(residual, H, covariance, threshold)
        record.innovations.add(update.whitened)
        if update.accepted:
            record.rejections_in_a_row[part] = 0
            record.last_used = time
            record.used += int(not part)
        else:
            record.rejections_in_a_row[part] = record.rejections_in_a_row.get(part, 0) + 1
            record.rejected += int(not part)
            if part:
                record.reasons[f'{part} gated'] = record.reasons.get(f'{part} gated', 0) + 1
        if len(self._surrenders) >= SURRENDERS:
            self.restarts += 1
            self.filter.forget_biases()
            self.reset()
        return update

    def snapshot(self, time: float) -> Snapshot | None:
        """State at an output instant; None without an attitude."""
        if not self.filter.ready or time < self.filter.time:
            return None
        gap = self.options.imu.timeout
        if not self.records['imu'].active_at(time):
            self.filter.advance(time, gap, self.turn_rate)
        return self.filter.snapshot(time, gap)

    @property
    def imu_point(self) -> FloatArray:
        """Position of the IMU in the base link."""
        return self._imu_point

    def level_warning(self) -> str:
        """Says when the first attitude looks like a wrongly given mounting."""
        if not self.filter.ready:
            return ''
        return turned_imu_warning(float(self.filter.R[2, 2]), self.mean_start_force)
