"""A recorded or generated motion of a tree model, sampled."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.errors import ModelError
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


@dataclass(frozen=True, eq=False)
class Motion:
    """Coordinates (N, dof) and the motion of the root frame (N, 3), in root axes.

    `base_acceleration` is the acceleration of the root origin MINUS gravity (what an ideal
    accelerometer at the origin shows), so gravity needs no further treatment.
    `air_speed_squared` (N,) is used by aerodynamic columns only.
    """

    q: Array
    qd: Array
    qdd: Array
    base_acceleration: Array
    base_angular_velocity: Array
    base_angular_acceleration: Array
    air_speed_squared: Array

    def __len__(self) -> int:
        return int(self.q.shape[0])

    def __getitem__(self, samples: slice) -> Motion:
        return Motion(
            *(np.ascontiguousarray(getattr(self, item.name)[samples]) for item in fields(self))
        )


def fixed_base_motion(
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    gravity: ArrayLike = STANDARD_GRAVITY,
    air_speed_squared: ArrayLike | None = None,
) -> Motion:
    """Motion over a root frame at rest; `gravity` (3,) in root axes (equation 9's start)."""
    positions = _contiguous(q)
    samples = positions.shape[0]
    acceleration = np.tile(-np.asarray(gravity, dtype=float), (samples, 1))
    return Motion(
        positions,
        _contiguous(qd),
        _contiguous(qdd),
        acceleration,
        np.zeros((samples, 3)),
        np.zeros((samples, 3)),
        _air(air_speed_squared, samples),
    )


def floating_base_motion(
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    acceleration: ArrayLike,
    angular_velocity: ArrayLike,
    angular_acceleration: ArrayLike,
    rotation: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    air_speed_squared: ArrayLike | None = None,
) -> Motion:
    """Motion of a floating base from Euler variables, all (N, 3) in base axes.

    `acceleration` is that of the base origin; with `rotation` (N, 3, 3), the base in the world,
    `gravity` (world axes) is taken off here. Without `rotation` the acceleration must already be
    the specific force of an accelerometer.
    """
    positions = _contiguous(q)
    specific = _contiguous(acceleration)
    if rotation is not None:
        turned = np.einsum(
            'nji,j->ni', np.asarray(rotation, dtype=float), np.asarray(gravity, dtype=float)
        )
        specific = specific - turned
    return Motion(
        positions,
        _contiguous(qd),
        _contiguous(qdd),
        specific,
        _contiguous(angular_velocity),
        _contiguous(angular_acceleration),
        _air(air_speed_squared, positions.shape[0]),
    )


def check_motion(model: TreeModel, motion: Motion) -> None:
    """ModelError when an array of the motion does not fit the model."""
    samples = len(motion)
    expected = {
        'q': (samples, model.dof),
        'qd': (samples, model.dof),
        'qdd': (samples, model.dof),
        'air_speed_squared': (samples,),
    }
    for item in fields(motion):
        shape = expected.get(item.name, (samples, 3))
        found = getattr(motion, item.name).shape
        if found != shape:
            raise ModelError(
                f'model {model.name}: {item.name} has the shape {found}, expected '
                f'{shape}: {samples} samples of {model.dof} coordinates'
            )


def random_motion(model: TreeModel, samples: int, seed: int = 0) -> Motion:
    """Independent random states, rich enough to excite every parameter the structure allows."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (samples, model.dof))
    qd, qdd = (rng.normal(0.0, 3.0, (samples, model.dof)) for _ in range(2))
    air = rng.uniform(0.0, 10.0, samples)
    if not model.floating:
        return fixed_base_motion(q, qd, qdd, air_speed_squared=air)
    acceleration = rng.normal(0.0, 10.0, (samples, 3))
    omega, alpha = (rng.normal(0.0, 3.0, (samples, 3)) for _ in range(2))
    return floating_base_motion(q, qd, qdd, acceleration, omega, alpha, air_speed_squared=air)


def _contiguous(values: ArrayLike) -> Array:
    # One memory layout means one compiled kernel.
    return np.ascontiguousarray(values, dtype=float)


def _air(values: ArrayLike | None, samples: int) -> Array:
    return np.zeros(samples) if values is None else _contiguous(values)
