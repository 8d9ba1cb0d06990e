"""Measurement models of the inertial filter: residual and Jacobian of each kind of sensor.

Every function returns (residual, H) for the error state of `fusion.inertial`; `lever` is the
measured point relative to the IMU, in base-link axes.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.inertial import (
    ACCEL_BIAS,
    ANTENNA_X,
    ANTENNA_Y,
    ERRORS,
    FIX_DELAY,
    GYRO_BIAS,
    MOUNT_YAW,
    POSITION,
    ROTATION,
    SIDE_SLIP,
    VELOCITY,
    VELOCITY_DELAY,
    WHEEL_SCALE,
    InertialFilter,
)
from veh_identification.fusion.kernels import measurements as kernels
from veh_identification.fusion.rotation import skew
from veh_identification.orientations import Quaternion
from veh_identification.types import Array

Model = tuple[Array, Array]
ZERO = np.zeros(3)


@lru_cache(maxsize=256)
def noise(variance: float, size: int) -> Array:
    """Covariance of `size` equal and independent errors; shared, so leave it as it is."""
    return np.asarray(variance * np.eye(size))


def position(state: InertialFilter, measured: Array, lever: Array) -> Model:
    """A point of the vehicle in the world: p + R l."""
    H = np.zeros((3, ERRORS))
    H[:, POSITION] = np.eye(3)
    H[:, ROTATION] = -state.R @ skew(lever)
    return measured - state.position - state.R @ lever, H


def fix(state: InertialFilter, measured: Array, lever: Array) -> Model:
    """`position` of an antenna as it was when the receiver measured it: less velocity times
    delay.
    """
    lever = _corrected(state, lever)
    residual, H = position(state, measured, lever)
    delay = state.x[FIX_DELAY + 1]
    _, moving = world_velocity(state, measured, lever)
    velocity = state.velocity + state.R @ rotation.cross_array(state.rate, lever)
    H -= delay * moving
    H[:, FIX_DELAY] = -velocity
    swing = state.R[:, :2] - delay * _turning(state)
    H[:, ANTENNA_X], H[:, ANTENNA_Y] = swing[:, 0], swing[:, 1]
    return residual + delay * velocity, H


def _corrected(state: InertialFilter, lever: Array) -> Array:
    """The place of the antenna as it was found to be."""
    x, y = state.x[ANTENNA_X + 1], state.x[ANTENNA_Y + 1]
    return lever + np.array([x, y, 0.0])


def _turning(state: InertialFilter) -> Array:
    """Velocities in the world of points a metre ahead and to the left: R (w x e)."""
    return np.asarray((state.R @ skew(state.rate))[:, :2])


def world_velocity(state: InertialFilter, measured: Array, lever: Array) -> Model:
    """Velocity of a point in world axes: v + R (w x l)."""
    arm = rotation.cross_array(state.rate, lever)
    H = np.zeros((3, ERRORS))
    H[:, VELOCITY] = np.eye(3)
    H[:, ROTATION] = -state.R @ skew(arm)
    H[:, GYRO_BIAS] = state.R @ skew(lever)
    return measured - state.velocity - state.R @ arm, H


def satellite_velocity(
    state: InertialFilter, measured: Array, lever: Array, acceleration: Array
) -> Model:
    """`world_velocity` of an antenna as it was: less acceleration (in the world) times delay.

    The delay is told by braking and accelerating only: in a turn, sideslip looks the same.
    """
    residual, H = world_velocity(state, measured, _corrected(state, lever))
    forward = state.R[:, 0]
    swing = _turning(state)
    H[:, ANTENNA_X], H[:, ANTENNA_Y] = swing[:, 0], swing[:, 1]
    H[:, VELOCITY_DELAY] = -float(forward @ acceleration) * forward
    return residual + state.x[VELOCITY_DELAY + 1] * acceleration, H


def body_velocity(state: InertialFilter, measured: Array, lever: Array) -> Model:
    """Velocity of a point in base-link axes: R^T v + w x l."""
    residual, H = np.empty(3), np.empty((3, ERRORS))
    kernels.body_velocity_model(state.memory, measured, lever, residual, H)
    return residual, H


def scaled_velocity(state: InertialFilter, measured: Array, lever: Array) -> Model:
    """`body_velocity` as wheels tell it, with their scale."""
    residual, H = body_velocity(state, measured, lever)
    velocity, scale = measured - residual, state.x[WHEEL_SCALE + 1]
    H *= 1.0 + scale
    H[:, WHEEL_SCALE] = velocity
    return residual - scale * velocity, H


def no_slide(state: InertialFilter, lever: Array) -> Model:
    """A point that moves forward only: R^T v + w x l is zero sideways (but for the slip angle
    that lateral acceleration needs, and in the axes of the base link) and upwards.
    """
    residual, H = body_velocity(state, ZERO, lever)
    forward, rate = -residual[0], state.rate[2]
    residual[1] -= state.x[MOUNT_YAW + 1] * forward
    H[1, MOUNT_YAW] = forward
    # Lateral acceleration is forward speed times yaw rate; the axle drifts outwards.
    growth = forward * rate * forward
    residual[1] -= state.x[SIDE_SLIP + 1] * growth
    H[1, SIDE_SLIP] = growth
    return residual, H


def gravity(state: InertialFilter, force: Array) -> Model:
    """Specific force while the mean acceleration is small: R^T g up + bias."""
    expected = state.gravity * state.R[2]
    H = np.zeros((3, ERRORS))
    H[:, ROTATION] = skew(expected)
    H[:, ACCEL_BIAS] = np.eye(3)
    return force - expected - state.accel_bias, H


def orientation(state: InertialFilter, measured: Quaternion) -> Model:
    """A measured orientation of the base link."""
    difference = orientations.multiply(orientations.conjugate(state.orientation), measured)
    H = np.zeros((3, ERRORS))
    H[:, ROTATION] = np.eye(3)
    return np.array(rotation.to_rotation_vector(difference)), H


def tilt(state: InertialFilter, measured: Quaternion) -> Model:
    """Roll and pitch of a measured orientation: where it says that up is, in body axes."""
    up = orientations.rotate(orientations.conjugate(measured), (0.0, 0.0, 1.0))
    H = np.zeros((3, ERRORS))
    H[:, ROTATION] = skew(state.R[2])
    return np.array(up) - state.R[2], H


def heading(state: InertialFilter, measured: float) -> Model:
    """Heading about the world vertical."""
    error = measured - rotation.yaw_of(state.orientation)
    H = np.zeros((1, ERRORS))
    H[0, ROTATION] = state.R[2]  # a body rotation about the world vertical turns the heading
    return np.array([math.remainder(error, 2.0 * math.pi)]), H


def standstill_rate(state: InertialFilter) -> Model:
    """A vehicle that does not turn: the gyroscope shows its bias."""
    H = np.zeros((3, ERRORS))
    H[:, GYRO_BIAS] = -np.eye(3)
    return -state.rate, H
