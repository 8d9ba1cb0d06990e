"""Where something is mounted: position and rotation as every file of the package gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import (
    NUMBER,
    Components,
    Position,
    Quantity,
    RollPitchYaw,
)
from veh_identification.orientations import matrix_of_rpy, rpy_of_quaternion
from veh_identification.types import Array, Vector

_QUATERNION = Components(Quantity(NUMBER), ('x', 'y', 'z', 'w'))


@dataclass(frozen=True)
class Mounting(Model):
    """A frame in its parent: the axes by roll, pitch, yaw; a file may give a quaternion."""

    position: Position = entry((0.0, 0.0, 0.0), 'of the origin')
    rpy: RollPitchYaw = entry(
        (0.0, 0.0, 0.0), 'roll, pitch, yaw of the axes (about fixed x, then y, then z)'
    )
    other_entries: ClassVar[Mapping[str, Any]] = {
        'quaternion': {
            **_QUATERNION.json_schema(),
            'description': 'of the axes [x, y, z, w], instead of rpy',
        }
    }

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """A quaternion becomes roll, pitch, yaw."""
        if not isinstance(data, dict) or 'quaternion' not in data:
            return data
        if 'rpy' in data:
            raise ValueError('expected either rpy or quaternion, not both')
        rest = {name: value for name, value in data.items() if name != 'quaternion'}
        return {**rest, 'rpy': _rpy(data['quaternion'])}

    @property
    def matrix(self) -> Array:
        """Rotation from the frame's axes to those of its parent."""
        return matrix_of_rpy(self.rpy) + 0.0  # no negative zeros


def _rpy(value: object) -> Vector:
    try:
        quaternion = _QUATERNION.read(value)
    except ValueError as error:
        raise ValueError(f'quaternion: {error}') from None
    length = math.hypot(*quaternion)
    if not abs(length - 1.0) < 1e-2:
        raise ValueError(f'quaternion: expected one of the length 1, found {length:.4g}')
    return rpy_of_quaternion(quaternion)
