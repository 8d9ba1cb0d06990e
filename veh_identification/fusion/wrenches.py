"""Wrenches of force plates and 6-axis sensors at the base-link origin in base-link axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion.frames import Transform
from veh_identification.fusion.rotation import Vector, cross, rotate

FloatArray = NDArray[np.float64]


def move_wrench(pose: Transform, force: Vector, torque: Vector) -> tuple[Vector, Vector]:
    """A wrench given in a sensor frame, at the origin and in the axes of the frame that `pose`
    (of the sensor) is given in: F' = R F, N' = R N + t x R F.
    """
    moved_force = rotate(pose.rotation, force)
    moved_torque = rotate(pose.rotation, torque)
    arm = cross(pose.translation, moved_force)
    return moved_force, (
        moved_torque[0] + arm[0],
        moved_torque[1] + arm[1],
        moved_torque[2] + arm[2],
    )


def wrench_in_base(
    values: FloatArray, attached: str, sensor_pose: Transform, base_pose: Transform | None
) -> tuple[Vector, Vector] | None:
    """Force and torque at the base-link origin; None where the base pose is needed but unknown.

    `attached`: 'world' (the sensor pose is in the world), 'base' (in the base link) or 'link'
    (on a moving link whose pose is not known here: passed on as it is).
    """
    fx, fy, fz, tx, ty, tz = values.tolist()
    force, torque = (fx, fy, fz), (tx, ty, tz)
    if attached == 'link':
        return force, torque
    if attached == 'world':
        if base_pose is None:
            return None
        sensor_pose = base_pose.inverse() @ sensor_pose
    return move_wrench(sensor_pose, force, torque)
