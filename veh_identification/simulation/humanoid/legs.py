"""Inverse kinematics of a leg with hip yaw, roll, pitch, knee, ankle pitch and roll.

Three hip axes meet in one point and two ankle axes in another, so the six angles follow in closed
form from the pose of the foot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.errors import ModelError
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array

LEG_JOINTS = ('hip_yaw', 'hip_roll', 'hip_pitch', 'knee', 'ankle_pitch', 'ankle_roll')


@dataclass(frozen=True, eq=False)
class Leg:
    """Geometry of one leg: hip centre in the base, lengths, and where its angles stand in q."""

    side: str
    hip: Array
    thigh: float
    shank: float
    indices: NDArray[np.int64]


def find_leg(model: TreeModel, side: str) -> Leg:
    """The leg whose joints are named SIDE_hip_yaw_joint ... SIDE_ankle_roll_joint."""
    bodies = [model.body_index(f'{side}_{name}') for name in LEG_JOINTS]
    offsets = [model.translation[body] for body in bodies]
    if np.any(np.abs(offsets[2]) > 1e-9) or np.any(np.abs(offsets[5]) > 1e-9):
        raise ModelError(f'model {model.name}: the hip or ankle axes of leg {side} do not meet')
    return Leg(
        side,
        offsets[0] + offsets[1],
        float(-offsets[3][2]),
        float(-offsets[4][2]),
        np.array([model.coordinate_index(f'{side}_{name}_joint') for name in LEG_JOINTS]),
    )


def leg_angles(leg: Leg, ankle: Array, foot: Array) -> Array:
    """Six angles (N, 6) for ankle positions (N, 3) and foot rotations (N, 3, 3) in the base."""
    to_hip = np.einsum('nji,nj->ni', foot, leg.hip - ankle)  # hip seen from the ankle, foot axes
    distance = np.linalg.norm(to_hip, axis=1)
    cosine = (leg.thigh**2 + leg.shank**2 - distance**2) / (2.0 * leg.thigh * leg.shank)
    if np.any(np.abs(cosine) > 1.0):
        raise ModelError(f'leg {leg.side} cannot reach {float(distance.max()):.4g} m')
    knee = np.pi - np.arccos(cosine)
    ankle_roll = np.arctan2(to_hip[:, 1], to_hip[:, 2])
    flat = np.hypot(to_hip[:, 1], to_hip[:, 2])
    ankle_pitch = np.arctan2(
        -leg.thigh * np.sin(knee), leg.shank + leg.thigh * np.cos(knee)
    ) - np.arctan2(to_hip[:, 0], flat)
    # The rotation vectors of the turns that lead from the foot back to the thigh.
    back_roll = Rotation.from_rotvec(-ankle_roll[:, None] * np.array([1.0, 0.0, 0.0]))
    back_pitch = Rotation.from_rotvec(-(knee + ankle_pitch)[:, None] * np.array([0.0, 1.0, 0.0]))
    hip = (Rotation.from_matrix(foot) * back_roll * back_pitch).as_matrix()
    # Rz(yaw) Rx(roll) Ry(pitch): its second column holds yaw and roll, its last row the pitch.
    hip_yaw = np.arctan2(-hip[:, 0, 1], hip[:, 1, 1])
    hip_roll = np.arctan2(hip[:, 2, 1], np.hypot(hip[:, 0, 1], hip[:, 1, 1]))
    hip_pitch = np.arctan2(-hip[:, 2, 0], hip[:, 2, 2])
    return np.column_stack([hip_yaw, hip_roll, hip_pitch, knee, ankle_pitch, ankle_roll])
