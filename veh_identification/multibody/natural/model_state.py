"""Plain data of a running model: loads, solver settings, a copy of its state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.types import Array


@dataclass
class Loads:
    """Forces on the model during one step; a hook may rewrite them at every iteration.

    `coordinate_force` (n) is added to Q, `tangents` (2, n) are its diagonal stiffness and
    damping. `wrenches` (k, 27) are one row per loaded body: force (3, global), point (3, local),
    moment (3, global), stiffness (3x3) and damping (3x3) of the force.
    """

    coordinate_force: Array
    tangents: Array
    wrenches: Array
    bodies: NDArray[np.int64]

    def copied(self) -> Loads:
        """The same in arrays of their own."""
        return Loads(
            self.coordinate_force.copy(), self.tangents.copy(), self.wrenches.copy(), self.bodies
        )


@dataclass(frozen=True)
class Solver:
    """Settings of the integrator; `penalty` None follows the inertia and the step."""

    tolerance: float = 1e-10
    iterations: int = 30
    penalty: float | None = None


@dataclass(frozen=True)
class State:
    """A copy of everything that changes with time."""

    q: Array
    qd: Array
    qdd: Array
    multipliers: Array
    drive: Array
    force_error: Array
