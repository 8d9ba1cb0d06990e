"""What the observed car says at one instant: pose, twist, their covariances, virtual sensors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle
from veh_identification.types import Array, Vector

#: Below this speed a sideslip angle has no meaning [m/s].
SLOWEST = 1.0
POSITION, YAW, PITCH, ROLL = slice(0, 3), 3, 4, 5  # in the error state; pitch and roll: e1z, e2z
RATES = 10  # where the errors of the rates begin
STATES = 20
JOINTS = (*(f'wheel_{c}' for c in CORNERS), *(f'suspension_{c}' for c in CORNERS), 'steering_rack')


class Odometry(NamedTuple):
    """Pose of base_link in odom, twist in base_link, covariances (6, 6) as in nav_msgs."""

    position: Vector
    orientation: tuple[float, float, float, float]
    linear: Vector
    angular: Vector
    pose_covariance: Array
    twist_covariance: Array


def quaternion(axes: list[list[float]]) -> tuple[float, float, float, float]:
    """(x, y, z, w) of a frame whose axes are given in the outer frame.

    Not by `orientations`: it is needed for every published state, and takes 5 us instead of 40.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = axes
    # of the four squares 4 q_i^2 the largest gives a root that is never small
    squares = (1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz)
    largest = squares.index(max(squares))
    if largest == 3:
        q = (yz - zy, zx - xz, xy - yx, squares[3])
    elif largest == 0:
        q = (squares[0], yx + xy, zx + xz, yz - zy)
    elif largest == 1:
        q = (yx + xy, squares[1], zy + yz, zx - xz)
    else:
        q = (zx + xz, zy + yz, squares[2], xy - yx)
    sign = 1.0 if q[3] >= 0.0 else -1.0
    n = sign / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * n, q[1] * n, q[2] * n, q[3] * n


@njit(cache=True)
def _covariances(
    P: Array, yaw: float, forward: float, left: float
) -> Array:  # pragma: no cover (compiled)
    """Of pose and twist (2, 6, 6), for a car that is nearly level; P begins with its errors."""
    co, si = math.cos(yaw), math.sin(yaw)
    both = np.zeros((12, STATES))  # from the error state (20) to pose and twist errors
    pose, twist = both[:6], both[6:]
    pose[0, 0] = pose[1, 1] = pose[2, 2] = pose[5, YAW] = 1.0
    # roll about the car's x axis is the error of e2z, pitch about its y axis minus that of e1z
    pose[3, ROLL], pose[3, PITCH] = co, si
    pose[4, ROLL], pose[4, PITCH] = si, -co
    twist[0, RATES], twist[0, RATES + 1] = co, si
    twist[1, RATES], twist[1, RATES + 1] = -si, co
    twist[0, YAW], twist[1, YAW] = left, -forward
    twist[2, PITCH], twist[2, ROLL] = -forward, -left
    twist[2, RATES + 2] = twist[3, RATES + ROLL] = twist[5, RATES + YAW] = 1.0
    twist[4, RATES + PITCH] = -1.0
    found, row = np.zeros((2, 6, 6)), np.empty(STATES)
    for i in range(12):
        row[:] = 0.0
        for s in range(STATES):
            for c in range(STATES):
                row[c] += both[i, s] * P[s, c]
        part = i // 6
        for k in range(6):
            for c in range(STATES):
                found[part, i % 6, k] += row[c] * both[6 * part + k, c]
    return found


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def odometry(observed: ObservedVehicle, P: Array) -> Odometry:
    """Pose and twist of the observed car; P is the filter's covariance."""
    frame = observed.vehicle.world_frame()
    numbers, rates = frame[0].tolist(), frame[1].tolist()
    axes = [numbers[k : k + 3] for k in (3, 6, 9)]
    turning = [rates[k : k + 3] for k in (3, 6, 9)]
    velocity = rates[:3]
    linear = _dot(velocity, axes[0]), _dot(velocity, axes[1]), _dot(velocity, axes[2])
    # equation (101): each rate is one axis times the motion of another
    angular = _dot(axes[2], turning[1]), _dot(axes[0], turning[2]), _dot(axes[1], turning[0])
    yaw = math.atan2(axes[0][1], axes[0][0])
    covariances = _covariances(P, yaw, linear[0], linear[1])
    return Odometry(
        (numbers[0], numbers[1], numbers[2]),
        quaternion(axes),
        linear,
        angular,
        covariances[0],
        covariances[1],
    )


def sideslip(linear: Vector) -> float:
    """Angle [rad] of the velocity of base_link from its x axis; NaN when the car hardly moves."""
    forward, side = linear[0], linear[1]
    if abs(forward) < SLOWEST:
        return math.nan
    return math.atan2(side, abs(forward))


class VirtualSensors(NamedTuple):
    """Quantities that no sensor measures."""

    tyre_forces: Array  # (4, 3) along, across and normal to the road [N]
    strokes: Array  # (4,) compression of the dampers [m]
    sideslip: float
    force: Vector  # estimated force that the model does not know, in base_link [N]
    yaw_moment: float  # [N m]
    wheel_torques: Array  # (4,) the same on the wheels [N m]


def virtual_sensors(observed: ObservedVehicle, found: Odometry) -> VirtualSensors:
    """Virtual sensors of the observed car."""
    vehicle, error = observed.vehicle, observed.force_error
    yaw = float(vehicle.model.q[12])
    co, si = math.cos(yaw), math.sin(yaw)
    x, y = float(error[0]), float(error[1])
    return VirtualSensors(
        vehicle.report[:, :3].copy(),
        vehicle.travel,
        sideslip(found.linear),
        (co * x + si * y, co * y - si * x, float(error[2])),
        float(error[YAW]),
        error[6:10].copy(),
    )


def joints(observed: ObservedVehicle) -> tuple[list[float], list[float]]:
    """Positions and rates of wheels, suspension and rack, in the order of JOINTS."""
    vehicle = observed.vehicle
    q, qd = vehicle.model.q, vehicle.model.qd
    # strokes are lengths: compression is minus their change
    return (
        [*q[vehicle.spins].tolist(), *vehicle.travel.tolist(), float(q[vehicle.rack])],
        [*qd[vehicle.spins].tolist(), *(-qd[vehicle.strokes]).tolist(), float(qd[vehicle.rack])],
    )
