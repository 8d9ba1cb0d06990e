"""Motion of the base link at one stamp, from the inertial filter and the smoothed signals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from veh_identification import orientations
from veh_identification.fusion.kernels import output as output_kernels
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.pose_track import BodyMotion
from veh_identification.fusion.state import BaseState
from veh_identification.types import Array

NO_FIT = np.zeros((3, 6))
NO_RATE = np.zeros(3)


class Support(NamedTuple):
    """What was measured at an output instant, noted when the filter stood there."""

    imu: bool
    velocity: bool
    position: bool
    heading: bool
    gravity_removed: bool
    turn_rate: Array | None


class BaseMotion:
    """Joins the sources; `imu` holds rate and specific force (six channels) in base-link axes."""

    def __init__(self, options: FusionOptions) -> None:
        gravity = options.gravity
        self._gravity = gravity
        self._max_position_sigma = options.max_position_sigma
        self._captured = _captured_covariance(options)
        # Compile (or load from the cache) now, not on the first output of a running system.
        output_kernels.base_motion(
            np.zeros(output_kernels.SNAPSHOT_SIZE),
            NO_FIT,
            True,
            NO_RATE,
            NO_RATE,
            gravity,
            False,
            np.zeros(output_kernels.MOTION_SIZE),
        )

    def at(
        self,
        snapshot: Array | None,
        support: Support,
        imu: Array | None,
        point: Array,
        captured: BodyMotion | None,
    ) -> BaseState:
        """The state of the base link at the snapshot's instant.

        `imu` (3, 6): values and two derivatives of the IMU's channels.
        """
        base = BaseState()
        if snapshot is not None:
            self._from_filter(base, snapshot, support, imu, point)
        if captured is not None:
            self._from_capture(base, captured, snapshot)
        return base

    def _from_filter(
        self,
        base: BaseState,
        snapshot: Array,
        support: Support,
        imu: Array | None,
        point: Array,
    ) -> None:
        fit = imu if support.imu and imu is not None else None
        turn_rate = support.turn_rate
        navigating = bool(snapshot[19])
        accelerated = output_kernels.base_motion(
            snapshot,
            NO_FIT if fit is None else fit,
            fit is not None,
            NO_RATE if turn_rate is None else turn_rate,
            point,
            self._gravity,
            support.gravity_removed,
            base.row,
        )
        turning_known = support.imu or turn_rate is not None
        base.orientation_valid = support.imu or (support.heading and turn_rate is not None)
        base.twist_valid = navigating and support.velocity and turning_known
        base.pose_valid = (
            navigating
            and support.position
            and support.heading
            and base.orientation_valid
            and float(snapshot[16]) <= self._max_position_sigma
        )
        base.acceleration_valid = accelerated and base.orientation_valid
        base.covariance = snapshot[20:92]

    def _from_capture(self, base: BaseState, captured: BodyMotion, snapshot: Array | None) -> None:
        """Motion capture gives the pose; an IMU that it aids gives the better rates."""
        row = base.row
        row[0:3] = captured.position
        row[3:7] = captured.orientation
        down = (0.0, 0.0, -self._gravity)
        row[19:22] = orientations.rotate(orientations.conjugate(captured.orientation), down)
        base.pose_valid = base.orientation_valid = True
        base.covariance = self._captured
        smooth = math.isfinite(captured.velocity[0])
        if smooth:
            row[7:10] = captured.velocity
            base.twist_valid = True
        if base.acceleration_valid and snapshot is not None and snapshot[19]:
            return
        if smooth:
            row[10:13] = captured.angular_velocity
            row[13:16] = captured.acceleration
            row[16:19] = captured.angular_acceleration
            base.acceleration_valid = True


def _captured_covariance(options: FusionOptions) -> Array:
    """Of a captured pose, and of the twist that its derivative within the cut-off is."""
    mocap, slope = options.mocap, 2.0 * math.pi * options.filter.cutoff
    variances = np.square([mocap.std] * 3 + [mocap.orientation_std] * 3)
    return np.concatenate([np.diag(variances).ravel(), slope**2 * np.diag(variances).ravel()])
