"""What the observed car says at one instant: pose, twist, their covariances, virtual sensors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.errors import EstimationError
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.model.ground import lift
from veh_identification.systems.vehicle.observer.car_filter import CarFilter
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle
from veh_identification.types import Array, Vector

#: Below this speed a sideslip angle has no meaning [m/s].
SLOWEST = 1.0
POSITION, YAW, PITCH, ROLL = slice(0, 3), 3, 4, 5  # in the error state; pitch and roll: e1z, e2z
RATES = 10  # where the errors of the rates begin
STATES = 20
JOINTS = (*(f'wheel_{c}' for c in CORNERS), *(f'suspension_{c}' for c in CORNERS), 'steering_rack')


#: Entries of a row: position, orientation, covariance of the pose, twist, its covariance; as the
#: numbers of a nav_msgs/msg/Odometry follow each other.
POSE_COVARIANCE, TWIST, TWIST_COVARIANCE, ROW = 7, 43, 49, 85


class Odometry(NamedTuple):
    """Pose of base_link in odom, twist in base_link, covariances (6, 6) as in nav_msgs."""

    position: Vector
    orientation: tuple[float, float, float, float]
    linear: Vector
    angular: Vector
    pose_covariance: Array
    twist_covariance: Array

    @classmethod
    def of(cls, row: Array) -> Odometry:
        """From the numbers of `known_row`."""
        x, y, z, qx, qy, qz, qw = row[:POSE_COVARIANCE].tolist()
        vx, vy, vz, wx, wy, wz = row[TWIST:TWIST_COVARIANCE].tolist()
        return cls(
            (x, y, z),
            (qx, qy, qz, qw),
            (vx, vy, vz),
            (wx, wy, wz),
            row[POSE_COVARIANCE:TWIST].reshape(6, 6),
            row[TWIST_COVARIANCE:].reshape(6, 6),
        )


@njit(cache=True)
def _write_quaternion(axes: Array, out: Array) -> None:  # pragma: no cover (compiled)
    """(x, y, z, w) of a frame whose axes (9,), one after the other, are given in the outer one."""
    xx, xy, xz = axes[0], axes[1], axes[2]
    yx, yy, yz = axes[3], axes[4], axes[5]
    zx, zy, zz = axes[6], axes[7], axes[8]
    # of the four squares 4 q_i^2 the largest gives a root that is never small
    squares = (1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz)
    largest = 0
    for k in range(1, 4):
        if squares[k] > squares[largest]:
            largest = k
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
    for k in range(4):
        out[k] = q[k] * n


@njit(cache=True)
def _write_covariances(
    P: Array, yaw: float, forward: float, left: float, aligned: bool, row: Array
) -> None:  # pragma: no cover (compiled)
    """Of pose and twist, for a car that is nearly level; P begins with its errors.

    While the heading is not known at all (not `aligned`) the filter leaves it alone, and errors of
    velocities are those along and across the car: a car that heads elsewhere moves elsewhere.
    """
    co, si = math.cos(yaw), math.sin(yaw)
    both = np.zeros((12, STATES))  # from the error state (20) to pose and twist errors
    pose, twist = both[:6], both[6:]
    pose[0, 0] = pose[1, 1] = pose[2, 2] = pose[5, YAW] = 1.0
    # roll about the car's x axis is the error of e2z, pitch about its y axis minus that of e1z
    pose[3, ROLL], pose[3, PITCH] = co, si
    pose[4, ROLL], pose[4, PITCH] = si, -co
    twist[0, RATES], twist[0, RATES + 1] = co, si
    twist[1, RATES], twist[1, RATES + 1] = -si, co
    if aligned:
        twist[0, YAW], twist[1, YAW] = left, -forward
    twist[2, PITCH], twist[2, ROLL] = -forward, -left
    twist[2, RATES + 2] = twist[3, RATES + ROLL] = twist[5, RATES + YAW] = 1.0
    twist[4, RATES + PITCH] = -1.0
    spread = np.empty(STATES)
    for i in range(12):
        spread[:] = 0.0
        for s in range(STATES):
            if both[i, s] != 0.0:
                for c in range(STATES):
                    spread[c] += both[i, s] * P[s, c]
        begin = (POSE_COVARIANCE if i < 6 else TWIST_COVARIANCE) + 6 * (i % 6)
        for k in range(6):
            total = 0.0
            for c in range(STATES):
                if both[6 * (i // 6) + k, c] != 0.0:
                    total += spread[c] * both[6 * (i // 6) + k, c]
            row[begin + k] = total


@njit(cache=True)
def write_odometry(
    frame: Array, P: Array, aligned: bool, row: Array
) -> bool:  # pragma: no cover (compiled)
    """Pose, twist and covariances into a row; whether all but those of the twist are numbers.

    `frame` (>= 2, 12): origin and axes of the car in the world, and their rates; `aligned`:
    whether anything is known of the heading.
    """
    axes, turning, velocity = frame[0, 3:12], frame[1, 3:12], frame[1, :3]
    row[:3] = frame[0, :3]
    _write_quaternion(axes, row[3:POSE_COVARIANCE])
    for k in range(3):
        axis, other = axes[3 * k : 3 * k + 3], (k + 1) % 3
        row[TWIST + k] = velocity[0] * axis[0] + velocity[1] * axis[1] + velocity[2] * axis[2]
        # equation (101): each rate is one axis times the motion of another
        a, b = axes[3 * ((k + 2) % 3) :], turning[3 * other :]
        row[TWIST + 3 + k] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    yaw = math.atan2(axes[1], axes[0])
    _write_covariances(P, yaw, row[TWIST], row[TWIST + 1], aligned, row)
    return math.isfinite(row[:TWIST_COVARIANCE].sum())


@njit(cache=True)
def _write_known(
    q: Array,
    qd: Array,
    qdd: Array,
    above: float,
    carried: bool,
    ground: Array,
    P: Array,
    aligned: bool,
    row: Array,
) -> bool:
    """`write_odometry` for the frame of `Vehicle.world_frame`."""
    frame = np.empty((3, 12))
    for i in range(12):
        frame[0, i], frame[1, i], frame[2, i] = q[i], qd[i], qdd[i]
    frame[0, 2] += above
    if carried:
        lift(frame, ground)
    return write_odometry(frame, P, aligned, row)


def known_row(filter_: CarFilter) -> Array:
    """Pose and twist of the observed car (ROW,), with what the filter knows of them.

    EstimationError where they are no numbers any more.
    """
    observed, swing, aligned = filter_.observed, filter_.swing, filter_.bearings.aligned
    row, vehicle, P = np.empty(ROW), observed.vehicle, filter_.P
    q, qd, qdd = vehicle.model.q, vehicle.model.qd, vehicle.model.qdd
    above, carried = vehicle.elevation, observed.carried
    if not _write_known(q, qd, qdd, above, carried, vehicle.ground, P, aligned, row):
        raise EstimationError('the observed state is no number any more')
    if swing:
        row[POSE_COVARIANCE] += swing
        row[POSE_COVARIANCE + 7] += swing
    return row


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
