"""What a hexapod is made of: joints, legs, platform, limits; the a-priori base parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import (
    ACCELERATION,
    NUMBER,
    SPEED,
    FirstMoment,
    Inertia,
    Length,
    Mass,
    Number,
    Quantity,
    Table,
)
from veh_identification.errors import ModelError
from veh_identification.types import Array

LEGS = tuple(f'leg_{j}' for j in range(1, 7))
POSE_NAMES = ('x', 'y', 'z', 'phi', 'theta', 'psi')


@dataclass(frozen=True)
class LegInertia(Model):
    """Inertia of one leg; all six are alike (Table I of Abdellatif 2009).

    Body 1: the ring of the universal joint, turning about the alpha axis (z1).
    Body 2: the stator on the ring, y2 along the leg, z2 the beta axis, x2 = y2 x z2, origin at
    the base joint. Body 3: the moving rod, x3 = x2, z3 along the leg, y3 = -z2, origin at the
    *platform* joint. The paper prints s_y3 for its first moment; with the axes that its inertia
    sums imply (I_zz3 beside I_yy2) the component along the leg is s_z3.
    """

    Izz1: Inertia = entry(0.0, 'ring of the universal joint about the alpha axis')
    Ixx2: Inertia = entry(0.0, 'stator about the base joint')
    Iyy2: Inertia = entry(0.0, 'stator about the leg')
    Izz2: Inertia = entry(0.0, 'stator about the beta axis')
    sy2: FirstMoment = entry(0.0, 'stator along the leg, from the base joint')
    m3: Mass = entry(0.0, 'moving rod')
    sz3: FirstMoment = entry(
        0.0, 'moving rod along the leg, from the platform joint: it extends towards the base'
    )
    Ixx3: Inertia = entry(0.0, 'moving rod about the platform joint')
    Iyy3: Inertia = entry(0.0, 'moving rod about the platform joint')
    Izz3: Inertia = entry(0.0, 'moving rod about the leg')

    def base_parameters(self) -> Array:
        """p1 .. p5 of Table I."""
        return np.array(
            [
                self.Izz1 + self.Iyy2 + self.Izz3,
                self.Ixx2 + self.Ixx3 - self.Iyy2 - self.Izz3,
                self.Izz2 + self.Iyy3,
                self.sy2,
                self.sz3,
            ]
        )


@dataclass(frozen=True)
class PlatformInertia(Model):
    """Platform (and tool) about the end-effector origin: J entries of the inertia matrix."""

    m: Mass = entry(0.0, 'platform and tool')
    sx: FirstMoment = entry(0.0, 'along x, from the end-effector origin (the tool point)')
    sy: FirstMoment = entry(0.0, 'along y')
    sz: FirstMoment = entry(0.0, 'along z')
    Ixx: Inertia = entry(0.0, 'entry of the inertia matrix about that origin')
    Ixy: Inertia = entry(0.0, 'entry of the matrix: minus the integral of x y dm')
    Ixz: Inertia = entry(0.0, 'entry of the matrix')
    Iyy: Inertia = entry(0.0, 'entry of the matrix')
    Iyz: Inertia = entry(0.0, 'entry of the matrix')
    Izz: Inertia = entry(0.0, 'entry of the matrix')

    def with_point_masses(self, m3: float, joints: Array) -> Array:
        """[M, MSx .. Jzz] of the platform with m3 at each platform joint (p6 .. p10)."""
        square = m3 * joints.T @ joints
        inertia = np.trace(square) * np.eye(3) - square
        moment = m3 * joints.sum(axis=0)
        return np.array(
            [
                self.m + m3 * len(joints),
                self.sx + moment[0],
                self.sy + moment[1],
                self.sz + moment[2],
                self.Ixx + inertia[0, 0],
                self.Ixy + inertia[0, 1],
                self.Ixz + inertia[0, 2],
                self.Iyy + inertia[1, 1],
                self.Iyz + inertia[1, 2],
                self.Izz + inertia[2, 2],
            ]
        )


@dataclass(frozen=True)
class Limits(Model):
    """Actuator limits (20), the pose box of the design, the singularity guard."""

    length_min: Length = entry(0.0, 'shortest leg')
    length_max: Length = entry(np.inf, 'longest leg')
    velocity: Annotated[float, Quantity(SPEED)] = entry(np.inf, 'of every leg')
    acceleration: Annotated[float, Quantity(ACCELERATION)] = entry(np.inf, 'of every leg')
    pose_range: Annotated[Array, Table(Quantity(NUMBER), (6,))] = entry(
        lambda: np.full(6, np.inf), "half widths of the design's box around home, m and rad"
    )
    condition: Number = entry(
        1e3, 'guard against singular poses (Frobenius norm of the Jacobian, 6 is perfect)'
    )


@dataclass(frozen=True)
class Hexapod:
    """Geometry, inertia and limits of one robot; SI, base frame z up.

    The pose is (x, y, z, phi, theta, psi) of the end effector in the base frame with the rotation
    Rx(phi) Ry(theta) Rz(psi).
    """

    name: str
    base_joints: Array  # (6, 3) universal joints in the base frame
    platform_joints: Array  # (6, 3) spherical joints in the end-effector frame
    alpha_axes: Array  # (6, 3) unit, fixed in the base
    home: Array  # (6,) pose, also the start of the direct kinematics
    leg: LegInertia = LegInertia()
    platform: PlatformInertia = PlatformInertia()
    limits: Limits = Limits()
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.80665]))
    resolution: float = 1e-6  # m, of the length sensors
    tolerance: float = 1e-9  # m, where the direct kinematics stops

    def __post_init__(self) -> None:
        shapes = {
            'base_joints': (6, 3),
            'platform_joints': (6, 3),
            'alpha_axes': (6, 3),
            'home': (6,),
            'gravity': (3,),
        }
        for attribute, shape in shapes.items():
            value = np.ascontiguousarray(getattr(self, attribute), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise ModelError(
                    f'hexapod {self.name}: {attribute} must hold {" x ".join(map(str, shape))} '
                    f'finite numbers, found shape {value.shape}'
                )
            object.__setattr__(self, attribute, value)
        norms = np.linalg.norm(self.alpha_axes, axis=1)
        if not (norms > 0.0).all():
            raise ModelError(f'hexapod {self.name}: an alpha axis has no length')
        object.__setattr__(self, 'alpha_axes', self.alpha_axes / norms[:, None])
        if not 0.0 < self.tolerance < self.resolution:
            raise ModelError(
                f'hexapod {self.name}: the tolerance of the direct kinematics must lie between 0 '
                f'and the sensor resolution {self.resolution:g} m, found {self.tolerance:g} m'
            )

    @property
    def characteristic_length(self) -> float:
        """Radius of the platform joints: brings rotations and translations to one unit."""
        centred = self.platform_joints - self.platform_joints.mean(axis=0)
        return float(np.sqrt((centred**2).sum(axis=1).mean()))

    def a_priori_leg(self) -> Array:
        """p1 .. p5 from masses."""
        return self.leg.base_parameters()

    def a_priori_platform(self) -> Array:
        """The ten inertial parameters of the platform with the rods' masses."""
        return self.platform.with_point_masses(self.leg.m3, self.platform_joints)
