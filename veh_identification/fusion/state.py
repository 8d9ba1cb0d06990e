"""The fused generalized state at one stamp, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.fusion.joints import JointReading
from veh_identification.fusion.kernels.output import MOTION_SIZE
from veh_identification.orientations import Quaternion
from veh_identification.types import Array, Vector

NO_COVARIANCE = np.zeros(72)


class BaseState:
    """Motion of the base link; vectors in base-link axes.

    All numbers stand in one row (see `fusion.output_kernels`): the output takes them in one go.
    """

    __slots__ = (
        'acceleration_valid',
        'covariance',
        'orientation_valid',
        'pose_valid',
        'row',
        'twist_valid',
    )

    def __init__(self) -> None:
        """Nowhere, at rest, nothing valid."""
        self.pose_valid = False
        self.orientation_valid = False
        self.twist_valid = False
        self.acceleration_valid = False
        self.row: Array = np.zeros(MOTION_SIZE)
        self.row[6] = 1.0
        #: Of pose and twist, 36 numbers each; zero where nobody wants them.
        self.covariance: Array = NO_COVARIANCE

    @property
    def position(self) -> Vector:
        """Of the base link in the world."""
        x, y, z = self.row[0:3].tolist()
        return x, y, z

    @property
    def orientation(self) -> Quaternion:
        """Of the base link in the world."""
        x, y, z, w = self.row[3:7].tolist()
        return x, y, z, w

    @property
    def velocity(self) -> Array:
        """Of the base-link origin."""
        return self.row[7:10]

    @property
    def angular_velocity(self) -> Array:
        """Of the base link."""
        return self.row[10:13]

    @property
    def acceleration(self) -> Array:
        """Of the base-link origin, gravity not included."""
        return self.row[13:16]

    @property
    def angular_acceleration(self) -> Array:
        """Of the base link."""
        return self.row[16:19]

    @property
    def gravity(self) -> Vector:
        """Gravity in base-link axes."""
        x, y, z = self.row[19:22].tolist()
        return x, y, z


@dataclass
class FusedState:
    """What `fused/state` carries."""

    stamp_ns: int
    base: BaseState
    joints: JointReading
    wrench_names: list[str]
    wrench_frames: list[str]  # in which each is given
    wrenches: list[tuple[Vector, Vector]]
    wrench_valid: list[bool]
    channel_names: list[str]
    channel_values: Array
    channel_valid: list[bool]
    #: In the continuous frame: pose of the base link (7) and its covariance (36), and the pose of
    #: that frame in the world (7); None while nothing is known.
    continuous: Array | None = None
