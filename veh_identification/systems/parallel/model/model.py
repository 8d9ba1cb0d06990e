"""The model Q_a = J^T [A_rb, J_L^T A_f] [p_rb; p_f] (7), linear in its parameters.

Equation (7) is printed with a block-diagonal matrix; the model is one row of two blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import Choice, NotNegativeNumber
from veh_identification.errors import ModelError
from veh_identification.identification.trajectory import pose_rates
from veh_identification.systems.parallel.model import kinematics_kernel
from veh_identification.systems.parallel.model.dynamics_kernel import (
    RIGID_COLUMNS,
    rigid_regressor,
)
from veh_identification.systems.parallel.model.geometry import Hexapod
from veh_identification.systems.parallel.model.kinematics import check_regular
from veh_identification.types import Array

PASSIVE = ('none', 'dry', 'dry_viscous', 'dry_per_leg')
PLATFORM = ('symmetric', 'full')
# Column of the kernel behind each name of Table I: Ixx, Iyy, Izz, s_z, m of the platform.
_SYMMETRIC = {'p6': 9, 'p7': 12, 'p8': 14, 'p9': 8, 'p10': 5}
_FULL = {'p_sx': 6, 'p_sy': 7, 'p_Ixy': 10, 'p_Ixz': 11, 'p_Iyz': 13}
_UNITS = {
    **dict.fromkeys(('p1', 'p2', 'p3', 'p6', 'p7', 'p8', 'p_Ixy', 'p_Ixz', 'p_Iyz'), 'kg m^2'),
    **dict.fromkeys(('p4', 'p5', 'p9', 'p_sx', 'p_sy'), 'kg m'),
    'p10': 'kg',
}
# p2 is a difference of moments of inertia, the others are first moments and products of inertia.
_POSITIVE = ('p1', 'p3', 'p6', 'p7', 'p8', 'p10')


@dataclass(frozen=True)
class Structure(Model):
    """Which parameters the model has; the default is Table I: 10 rigid-body, 14 friction.

    Args:
        passive: friction of the universal joints: 'none', 'dry' (r_alpha, r_beta, common to the
            legs), 'dry_viscous' (v_alpha, v_beta as well) or 'dry_per_leg' (one pair a leg).
        platform: 'symmetric' (p6 .. p10) or 'full' (also p_sx, p_sy and the products of inertia,
            for platforms without three-fold symmetry).
        sign_width: speed [m/s, rad/s] over which the dry friction changes its sign as tanh; zero
            is the plain sign.
    """

    passive: Annotated[str, Choice(PASSIVE)] = entry(
        'dry', 'friction of the universal joints: none, dry (Table I), dry_viscous, dry_per_leg'
    )
    platform: Annotated[str, Choice(PLATFORM)] = entry(
        'symmetric', 'full adds p_sx, p_sy and the products of inertia'
    )
    sign_width: NotNegativeNumber = entry(
        0.0, 'm/s or rad/s; above zero the dry friction changes sign as tanh'
    )

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.passive, PASSIVE, 'passive friction'),
            (self.platform, PLATFORM, 'platform'),
        ):
            if value not in known:
                raise ModelError(f'hexapod: {what} must be one of {known}, found {value!r}')
        if not self.sign_width >= 0.0:
            raise ModelError(f'hexapod: sign_width must not be negative, got {self.sign_width}')

    def rigid_columns(self) -> dict[str, int]:
        """Names of the rigid-body parameters and their columns in the kernel's regressor."""
        names = {f'p{i + 1}': i for i in range(5)} | _SYMMETRIC
        return names | _FULL if self.platform == 'full' else names

    def passive_names(self) -> list[str]:
        """Names of the passive joints' friction parameters."""
        if self.passive == 'none':
            return []
        if self.passive == 'dry_per_leg':
            return [f'r_{angle}{j}' for angle in ('alpha', 'beta') for j in range(1, 7)]
        dry = ['r_alpha', 'r_beta']
        return dry + ['v_alpha', 'v_beta'] if self.passive == 'dry_viscous' else dry

    def names(self) -> list[str]:
        """All parameter names, rigid body first."""
        actuator = [f'{kind}{j}' for kind in ('r', 'v') for j in range(1, 7)]
        return [*self.rigid_columns(), *self.passive_names(), *actuator]

    def positive_names(self) -> set[str]:
        """Masses, moments of inertia and friction: below zero they cannot exist."""
        return {name for name in self.names() if name[0] in 'rv' or name in _POSITIVE}

    def units(self) -> list[str]:
        """Units of `names`."""

        def unit(name: str) -> str:
            if name in _UNITS:
                return _UNITS[name]
            if name.startswith('r_'):
                return 'N m'
            return {'r': 'N', 'v': 'N s/m'}[name[0]] if '_' not in name else 'N m s/rad'

        return [unit(name) for name in self.names()]


class HexapodModel:
    """A robot with a model structure: regressor, prediction, a-priori values."""

    def __init__(self, robot: Hexapod, structure: Structure | None = None) -> None:
        self.robot = robot
        self.structure = structure or Structure()
        self.names = self.structure.names()
        self.units = self.structure.units()
        self._columns = list(self.structure.rigid_columns().values())
        axes = robot.alpha_axes
        lever = _rotation(robot.home) @ robot.platform_joints.T
        legs = robot.home[:3] + lever.T - robot.base_joints
        along = np.abs((legs * axes).sum(axis=1)) / np.linalg.norm(legs, axis=1)
        if (along > 0.98).any():
            raise ModelError(
                f'hexapod {robot.name}: at home leg_{int(along.argmax()) + 1} points along its '
                'alpha axis, where the universal joint is singular'
            )

    def a_priori(self) -> Array:
        """Values from the configured masses; nan for friction, which nobody knows beforehand."""
        whole = np.concatenate([self.robot.a_priori_leg(), self.robot.a_priori_platform()])
        values = np.full(len(self.names), np.nan)
        values[: len(self._columns)] = whole[self._columns]
        return values

    def regressor(
        self,
        pose: Array,
        velocity: Array,
        acceleration: Array,
        check: bool = True,
    ) -> Array:
        """A(x, v, a) of (7), (N, 6, parameters), from v and a of equation (16)."""
        robot = self.robot
        rigid, maps, rates, conditions = rigid_regressor(
            np.ascontiguousarray(pose, dtype=float),
            np.ascontiguousarray(velocity, dtype=float),
            np.ascontiguousarray(acceleration, dtype=float),
            robot.base_joints,
            robot.platform_joints,
            robot.alpha_axes,
            robot.gravity,
            robot.characteristic_length,
        )
        if check:
            check_regular(robot, conditions, pose)
        return self._assemble(rigid, maps, rates)

    def pose_regressor(self, pose: Array, pose_dot: Array, pose_ddot: Array) -> Array:
        """The same from the pose's own derivatives, without the singularity check."""
        velocity, acceleration = pose_rates(pose, pose_dot, pose_ddot)
        return self.regressor(pose, velocity, acceleration, check=False)

    def rigid_parameters(self, p: Array) -> Array:
        """The kernel's 15 rigid-body parameters, zero where the structure has none."""
        whole = np.zeros(RIGID_COLUMNS)
        whole[self._columns] = np.asarray(p, float)[: len(self._columns)]
        return whole

    def joint_friction(self, p: Array) -> tuple[Array, Array]:
        """Dry and viscous friction of all joints (18,): alpha of the legs, beta, lengths."""
        value = dict(zip(self.names, np.asarray(p, float), strict=True))
        dry, viscous = np.zeros(18), np.zeros(18)
        for k, angle in enumerate(('alpha', 'beta')):
            for j in range(6):
                own = value.get(f'r_{angle}{j + 1}', 0.0)
                dry[6 * k + j] = value.get(f'r_{angle}', own)
                viscous[6 * k + j] = value.get(f'v_{angle}', 0.0)
        dry[12:] = [value[f'r{j + 1}'] for j in range(6)]
        viscous[12:] = [value[f'v{j + 1}'] for j in range(6)]
        return dry, viscous

    def _assemble(self, rigid: Array, maps: Array, rates: Array) -> Array:
        """Rigid-body columns and J_L^T A_f (6), in the order of `names`."""
        count, first = len(rigid), len(self._columns)
        A = np.zeros((count, 6, len(self.names)))
        A[:, :, :first] = rigid[:, :, self._columns]
        sign = self.signs(rates)
        kind = self.structure.passive
        if kind == 'dry_per_leg':
            A[:, :, first : first + 12] = maps * sign[:, None, :12]
        elif kind != 'none':
            for k, values in enumerate([sign] + [rates] * (kind == 'dry_viscous')):
                weighted = maps * values[:, None, :12]
                A[:, :, first + 2 * k] = weighted[:, :, :6].sum(axis=2)
                A[:, :, first + 2 * k + 1] = weighted[:, :, 6:].sum(axis=2)
        dry = len(self.names) - 12
        legs = np.arange(6)
        A[:, legs, dry + legs] = sign[:, 12:]
        A[:, legs, dry + 6 + legs] = rates[:, 12:]
        return A

    def signs(self, rates: Array) -> Array:
        """Between -1 and 1: the direction of dry friction at the joints' speeds."""
        width = self.structure.sign_width
        return np.sign(rates) if width == 0.0 else np.tanh(rates / width)


def _rotation(pose: Array) -> Array:
    R = np.empty((3, 3))
    kinematics_kernel.rotation(pose[3], pose[4], pose[5], R)
    return R
