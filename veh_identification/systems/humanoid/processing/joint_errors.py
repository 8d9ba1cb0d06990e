"""Zero and gain of every joint's angle as columns beside the parameters.

Skin moves over bones and marker models have zeros of their own: angles of people are wrong in ways
that follow the motion. With a true angle q + z + g q instead of the measured q, equation (4) is to
first order

    W(q) phi + dW/dq phi z + (dW/dq q + dW/dqd qd + dW/dqdd qdd) phi g = Y,

the derivatives along given parameters. A recording tells such errors from masses where the others
cannot, because they change the posture: without them the parameters follow the errors instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array

#: How far zero and gain may be off: skeletons of motion capture differ from bones by degrees.
ZERO_ANGLE, ZERO_LENGTH, GAIN = 0.1, 0.02, 0.3
STEP = 1e-4  # rad or m of the differences; inverse dynamics are exact to 1e-12


@dataclass(frozen=True, eq=False)
class JointErrors:
    """Errors of all coordinates of a model."""

    model: TreeModel
    parameters: Array  # (bodies, 10) about which the equations are linear

    @property
    def names(self) -> list[str]:
        """Zeros of all joints, then their gains."""
        joints = self.model.coordinate_names
        return [f'{name}.zero' for name in joints] + [f'{name}.gain' for name in joints]

    @property
    def units(self) -> list[str]:
        """Of the zeros, then of the gains."""
        turns = [self.model.coordinate_is_angle(k) for k in range(self.model.dof)]
        return ['rad' if one else 'm' for one in turns] + ['-'] * len(turns)

    @property
    def deviations(self) -> Array:
        """How large each may be."""
        zeros = [ZERO_ANGLE if unit == 'rad' else ZERO_LENGTH for unit in self.units]
        return np.array(zeros[: self.model.dof] + [GAIN] * self.model.dof)

    def columns(self, motion: Motion) -> Array:
        """(n, 6, columns) of the equations by accelerations, at the base."""

        def rows(q: Array, qd: Array, qdd: Array) -> Array:
            return self._wrench(
                q,
                qd,
                qdd,
                motion.base_acceleration,
                motion.base_angular_velocity,
                motion.base_angular_acceleration,
            )

        q, qd, qdd = motion.q, motion.qd, motion.qdd
        zeros, gains = [], []
        for k in range(self.model.dof):
            step = np.zeros(self.model.dof)
            step[k] = STEP
            zeros.append((rows(q + step, qd, qdd) - rows(q - step, qd, qdd)) / (2.0 * STEP))
            more, less = ([(1.0 + s * step) * x for x in (q, qd, qdd)] for s in (1.0, -1.0))
            gains.append((rows(*more) - rows(*less)) / (2.0 * STEP))
        return np.stack(zeros + gains, axis=2)

    def momentum(self, motion: Motion, velocity: Array, up: Array) -> tuple[Array, Array]:
        """Columns (n, 6, columns) of momentum and of what gravity takes, at the base.

        `velocity` is the base's, `up` gravity's opposite, both in base axes.
        """
        still, rest = np.zeros_like(motion.q), np.zeros_like(velocity)

        def moving(q: Array, qd: Array) -> Array:
            return self._wrench(q, still, qd, velocity, rest, motion.base_angular_velocity)

        def held(q: Array) -> Array:
            return self._wrench(q, still, still, up, rest, rest)

        q, qd = motion.q, motion.qd
        parts: list[list[Array]] = [[], [], [], []]
        for k in range(self.model.dof):
            step, one = np.zeros(self.model.dof), np.zeros_like(q)
            step[k], one[:, k] = STEP, qd[:, k]
            by_angle = (moving(q + step, qd) - moving(q - step, qd)) / (2.0 * STEP)
            gravity = (held(q + step) - held(q - step)) / (2.0 * STEP)
            # Momentum is linear in the velocities: that of one joint alone, all else at rest.
            alone = self._wrench(q, still, one, rest, rest, rest)
            angle = q[:, k, None]
            for part, column in zip(
                parts, (by_angle, angle * by_angle + alone, gravity, angle * gravity), strict=True
            ):
                part.append(column)
        zeros, gains, held_zeros, held_gains = parts
        return np.stack(zeros + gains, axis=2), np.stack(held_zeros + held_gains, axis=2)

    def _wrench(self, q: Array, qd: Array, qdd: Array, *base: Array) -> Array:
        motion = floating_base_motion(q, qd, qdd, base[0], base[1], base[2])
        return np.asarray(inverse_dynamics(self.model, motion, self.parameters)[:, :6])
