"""Motion of the base link at one stamp, from the inertial filter and the smoothed signals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion import rotation
from veh_identification.fusion.inertial import Snapshot
from veh_identification.fusion.pose_track import BodyMotion
from veh_identification.fusion.rotation import cross_array as cross
from veh_identification.fusion.state import BaseState

FloatArray = NDArray[np.float64]
Derivatives = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Support:
    """What was measured at an output instant, noted when the filter stood there."""

    imu: bool
    velocity: bool
    position: bool
    heading: bool
    gravity_removed: bool
    turn_rate: FloatArray | None


def base_acceleration(
    acceleration: FloatArray, omega: FloatArray, alpha: FloatArray, point: FloatArray
) -> FloatArray:
    """Acceleration of the base-link origin from that of a point of the base link (body axes)."""
    return acceleration - cross(alpha, point) - cross(omega, cross(omega, point))


class BaseMotion:
    """Joins the sources; `imu` holds rate and specific force (six channels) in base-link axes."""

    def __init__(self, gravity: float, max_position_sigma: float) -> None:
        self._gravity = gravity
        self._max_position_sigma = max_position_sigma

    def at(
        self,
        snapshot: Snapshot | None,
        support: Support,
        imu: Derivatives | None,
        point: FloatArray,
        captured: BodyMotion | None,
    ) -> BaseState:
        """The state of the base link at the snapshot's instant."""
        base = BaseState()
        if snapshot is not None:
            self._from_filter(base, snapshot, support, imu, point)
        if captured is not None:
            self._from_capture(base, captured, snapshot, imu, point)
        if base.orientation_valid or snapshot is not None:
            down = rotation.rotate(
                rotation.conjugate(base.orientation), (0.0, 0.0, -self._gravity)
            )
            base.gravity = down
        return base

    def _from_filter(
        self,
        base: BaseState,
        snapshot: Snapshot,
        support: Support,
        imu: Derivatives | None,
        point: FloatArray,
    ) -> None:
        R = rotation.matrix(snapshot.orientation)
        base.orientation = snapshot.orientation
        base.orientation_valid = support.imu or (
            support.heading and support.turn_rate is not None
        )
        omega = self._rates(base, snapshot, support, imu)
        base.angular_velocity = omega
        position = np.array(snapshot.position) - R @ point
        px, py, pz = position.tolist()
        base.position = (px, py, pz)
        base.velocity = R.T @ snapshot.velocity - cross(omega, point)
        turning_known = support.imu or support.turn_rate is not None
        base.twist_valid = snapshot.navigating and support.velocity and turning_known
        base.pose_valid = (
            snapshot.navigating
            and support.position
            and support.heading
            and base.orientation_valid
            and snapshot.position_sigma <= self._max_position_sigma
        )
        if support.imu and imu is not None and math.isfinite(imu[1][0]):
            self._accelerations(base, snapshot, support.gravity_removed, imu, point)

    def _rates(
        self,
        base: BaseState,
        snapshot: Snapshot,
        support: Support,
        imu: Derivatives | None,
    ) -> FloatArray:
        if support.imu and imu is not None:
            return imu[0][:3] - np.array(snapshot.gyro_bias)
        return np.zeros(3) if support.turn_rate is None else support.turn_rate

    def _accelerations(
        self,
        base: BaseState,
        snapshot: Snapshot,
        gravity_removed: bool,
        imu: Derivatives,
        point: FloatArray,
    ) -> None:
        alpha = imu[1][:3]
        here = imu[0][3:] - np.array(snapshot.accel_bias)
        if not gravity_removed:
            up = rotation.rotate(
                rotation.conjugate(base.orientation), (0.0, 0.0, self._gravity)
            )
            here = here - np.array(up)
        base.angular_acceleration = alpha
        base.acceleration = base_acceleration(here, base.angular_velocity, alpha, point)
        base.acceleration_valid = base.orientation_valid

    def _from_capture(
        self,
        base: BaseState,
        captured: BodyMotion,
        snapshot: Snapshot | None,
        imu: Derivatives | None,
        point: FloatArray,
    ) -> None:
        """Motion capture gives the pose; an IMU that it aids gives the better rates."""
        base.position = captured.position
        base.orientation = captured.orientation
        base.pose_valid = base.orientation_valid = True
        smooth = math.isfinite(captured.velocity[0])
        if smooth:
            base.velocity = captured.velocity
            base.twist_valid = True
        if base.acceleration_valid and snapshot is not None and snapshot.navigating:
            return
        if smooth:
            base.angular_velocity = captured.angular_velocity
            base.acceleration = captured.acceleration
            base.angular_acceleration = captured.angular_acceleration
            base.acceleration_valid = True
