"""Where something is mounted: position and rotation as every file of the package gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import Position, RollPitchYaw, UnitQuaternion
from veh_identification.orientations import matrix_of_quaternion, matrix_of_rpy
from veh_identification.types import Array


@dataclass(frozen=True)
class Mounting(Model):
    """A frame in its parent: the axes by roll, pitch, yaw or by a quaternion."""

    position: Position = entry((0.0, 0.0, 0.0), 'of the origin')
    rpy: RollPitchYaw | None = entry(
        None, 'roll, pitch, yaw of the axes (fixed x, then y, then z)'
    )
    quaternion: UnitQuaternion | None = entry(None, 'of the axes [x, y, z, w], instead of rpy')

    def __post_init__(self) -> None:
        if self.rpy is not None and self.quaternion is not None:
            raise ValueError('expected either rpy or quaternion, found both')
        if self.quaternion is not None:
            length = math.hypot(*self.quaternion)
            if not abs(length - 1.0) < 1e-2:
                raise ValueError(f'expected a quaternion of the length 1, found {length:.4g}')

    @property
    def matrix(self) -> Array:
        """Rotation from the frame's axes to those of its parent."""
        if self.quaternion is not None:
            return matrix_of_quaternion(self.quaternion)
        return matrix_of_rpy(self.rpy or (0.0, 0.0, 0.0))
