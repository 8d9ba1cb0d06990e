"""How large a change must be that leaves least of the forces: of all legs, or of each alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from veh_identification.errors import ModelError
from veh_identification.systems.parallel.checks.judge import Judge
from veh_identification.systems.parallel.checks.machine import Machine
from veh_identification.types import Array

#: Largest error of all legs together: m, or share of the lengths.
LARGEST_CHANGE = 0.05
#: Sizes that are tried first where the lengths as they are have no pose.
COARSELY = 25


def best_change(
    judge: Judge,
    sized: Callable[[float], Machine],
    largest: float = LARGEST_CHANGE,
    *,
    coarse: bool = False,
) -> float | None:
    """The size of a change of all legs that leaves least; None where it is no size within.

    Noise turns with the poses, so that steps along the residuals stop on the way.
    """

    def left(size: float) -> float:
        try:
            return float(np.linalg.norm(judge.residual(sized(size))))
        except ModelError:  # no pose has such lengths
            return worst

    worst = float(np.linalg.norm(np.nan_to_num(judge.machine.record.forces.mean)))
    low, high = -largest, largest
    if coarse:
        tried = np.linspace(low, high, COARSELY)
        best = float(min(tried, key=left))
        if not left(best) < worst:
            return None
        low, high = best - 2.0 * largest / COARSELY, best + 2.0 * largest / COARSELY
    found = minimize_scalar(
        left, bounds=(low, high), method='bounded', options={'xatol': 2e-3 * largest}
    )
    return float(found.x) if abs(found.x) < 0.95 * largest else None


def best_sizes(judge: Judge, change: Array) -> Array:
    """How much of a change (N, 6), made in each leg alone, leaves least of the residuals."""
    rest = judge.residual(judge.machine)
    return np.array(
        [-float(one @ rest) / max(float(one @ one), 1e-300) for one in unexplained(judge, change)]
    )


def unexplained(judge: Judge, change: Array) -> Array:
    """What no parameters explain of a change (N, 6) of the forces, made in each leg alone."""
    return judge.left(judge.machine, change[None] * np.eye(6)[:, None, :])
