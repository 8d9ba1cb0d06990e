"""Base motion from IMU, satellites, odometry, speed sensor and motion capture.

`Navigator` owns the inertial filter and decides what each sample does to it: give the first
attitude, start the navigation, find the heading, or correct. All samples come in order of time.
"""

from __future__ import annotations

import math

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.imu_navigation import AXES, DISTRUST, ImuNavigation
from veh_identification.fusion.inertial import (
    POSITION,
    ROTATION,
    VELOCITY,
    Update,
)
from veh_identification.fusion.measurements import Model
from veh_identification.fusion.statistics import SensorRecord, gate_threshold
from veh_identification.orientations import Quaternion
from veh_identification.types import Array

#: So many surrenders to sensors within so many seconds mean that the attitude itself is wrong.
SURRENDERS, SURRENDER_SPAN = 3, 10.0


class Navigator(ImuNavigation):
    """The inertial filter and its rules."""

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
            state.start(time, orientations.quaternion_of_rpy((0.0, 0.0, yaw)), 0.05, 0.1)
        state.advance(time, self.options.imu.timeout, self.turn_rate)
        return True

    def body_velocity(
        self,
        name: str,
        time: float,
        velocity: tuple[float, ...],
        axes: str,
        lever: list[float],
        sigma: float,
        gate: float,
    ) -> None:
        """Velocity of a point in base-link axes (odometry, optical sensor)."""
        if not self.advance(name, time):
            return
        state = self.filter
        arm = self._lever(name, lever)
        rows = AXES[axes]
        if not state.navigating:
            measured = np.array(velocity[:3])
            start = np.zeros(3)
            start[rows] = (measured - rotation.cross_array(state.rate, arm))[rows]
            state.start_navigation(np.zeros(3), 0.01, state.R @ start, 1.0)
            # The base link starts at the origin, the filter follows the IMU.
            state.position[:] = state.R @ self._imu_point
        record = self.records[name]
        if record.rejections_in_a_row.get('', 0) >= self.options.recover_after:
            residual, H = measurements.body_velocity(state, np.array(velocity[:3]), arm)
            covariance = measurements.noise(sigma**2, rows.stop - rows.start)
            self.update(name, time, (residual[rows], H[rows]), covariance, gate, VELOCITY)
            return
        threshold = gate_threshold(
            gate if time >= self._settled_at else 1.0, rows.stop - rows.start
        )
        values = (velocity[0], velocity[1], velocity[2])
        update = state.correct_body_velocity(values, arm, rows, sigma**2, threshold)
        self._note(record, time, update, '')

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

    def mocap(self, time: float, position: Array, measured: Quaternion) -> None:
        """Pose of the base link; only useful here when an IMU is to be aided by it."""
        if not self.advance('mocap', time):
            return
        state, options = self.filter, self.options.mocap
        lever = -self._imu_point
        if not state.navigating:
            state.start(time, measured, options.orientation_std, options.orientation_std)
            state.start_navigation(position - state.R @ lever, options.std, np.zeros(3), 5.0)
        covariance = measurements.noise(options.orientation_std**2, 3)
        model = measurements.orientation(state, measured)
        self.update('mocap', time, model, covariance, options.gate, ROTATION)
        covariance = measurements.noise(options.std**2, 3)
        model = measurements.position(state, position, lever)
        self.update('mocap', time, model, covariance, options.gate, POSITION, 'position')

    def update(
        self,
        name: str,
        time: float,
        model: Model,
        covariance: Array,
        gate: float,
        block: slice,
        part: str = '',
    ) -> Update:
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
        self._note(record, time, update, part)
        if len(self._surrenders) >= SURRENDERS:
            self.restarts += 1
            self.filter.forget_biases()
            self.reset()
            self.distrusted_until = time + DISTRUST  # it begins in full motion
        return update

    def _note(self, record: SensorRecord, time: float, update: Update, part: str) -> None:
        """Count a sample that was offered to the filter."""
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
