"""The fused generalized state at one stamp, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion import rotation
from veh_identification.fusion.joints import JointReading
from veh_identification.fusion.rotation import Quaternion, Vector

FloatArray = NDArray[np.float64]
NOWHERE: Vector = (0.0, 0.0, 0.0)


@dataclass
class BaseState:
    """Motion of the base link; vectors in base-link axes."""

    pose_valid: bool = False
    orientation_valid: bool = False
    twist_valid: bool = False
    acceleration_valid: bool = False
    position: Vector = NOWHERE
    orientation: Quaternion = rotation.IDENTITY
    velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    angular_velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    acceleration: FloatArray = field(default_factory=lambda: np.zeros(3))
    angular_acceleration: FloatArray = field(default_factory=lambda: np.zeros(3))
    gravity: Vector = NOWHERE


@dataclass(frozen=True)
class FusedState:
    """What `fused/state` carries."""

    stamp_ns: int
    base: BaseState
    joints: JointReading
    wrench_names: list[str]
    wrenches: list[tuple[Vector, Vector]]
    wrench_valid: list[bool]
    channel_names: list[str]
    channel_values: FloatArray
    channel_valid: list[bool]
