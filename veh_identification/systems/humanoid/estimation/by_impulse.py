"""The mass that the balance of impulse gives, as one more equation of the estimate.

Joint angles of people are wrong in ways that follow the motion, and noise in the regressor shrinks
masses: a run of two seconds may come out 5 % too light. The balance of impulse sees nothing of it
but the velocity of the centre of mass at both ends.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.identification.result import Solved
from veh_identification.systems.humanoid.estimation.problem import Problem
from veh_identification.systems.humanoid.processing.impulse import ImpulseMass
from veh_identification.types import Array

#: The rows hold the same forces already, and errors of the centre's velocity repeat with the
#: strides: its deviation counts this many times, and is never below this share of the mass
#: (walks of one person differed by 0.5 % where their own deviation was 0.1 %).
INFLATION, SMALLEST_SHARE = 2.0, 0.0025


def with_impulse(solved: Solved, problem: Problem, impulse: ImpulseMass | None) -> Solved:
    """The estimate with that equation added, where plates carry everything."""
    if impulse is None:
        return solved
    covariance = with_ends(solved.value, solved.covariance, problem.base.rank, impulse)
    sources = problem.unknowns.sources
    if not all(one.is_plate for one in sources) or any(problem.unknowns.apart):
        return replace(solved, covariance=covariance)
    value, covariance = updated(solved.value, covariance, _row(problem), impulse)
    return replace(solved, value=value, covariance=covariance)


def with_ends(value: Array, covariance: Array, rank: int, impulse: ImpulseMass) -> Array:
    """Deviations that allow for the centre's velocity at both ends of each stretch.

    An acceleration that is wrong by the same all the time makes every link heavier or lighter. It
    leaves nothing over, so that the rows of a short recording cannot show it.
    """
    heavier = np.zeros(len(value))
    heavier[:rank] = value[:rank] * impulse.std / impulse.value
    return np.asarray(covariance + np.outer(heavier, heavier))


def updated(
    value: Array, covariance: Array, row: Array, impulse: ImpulseMass
) -> tuple[Array, Array]:
    """Value and covariance with row @ value = mass of the impulses as a further equation."""
    deviation = max(INFLATION * impulse.std, SMALLEST_SHARE * impulse.value)
    gain = covariance @ row / (row @ covariance @ row + deviation**2)
    left = np.eye(len(row)) - np.outer(gain, row)
    known = left @ covariance @ left.T + deviation**2 * np.outer(gain, gain)
    return value + gain * (impulse.value - row @ value), known


def _row(problem: Problem) -> Array:
    """What the impulses show as mass: that of all links, and offsets along the vertical."""
    row = np.zeros(len(problem.names))
    weights = problem.mass_weights
    row[: len(weights)] = weights
    for source in problem.unknowns.sources:
        assert source.pose is not None
        for axis, name in enumerate(('FX', 'FY', 'FZ')):
            place = problem.unknowns.place(source, name)
            if place is not None:
                up = source.pose.rotation[2, axis]
                row[problem.base.rank + place] = up / problem.configuration.gravity
    return row
