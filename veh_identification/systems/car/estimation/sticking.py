"""Do the suspensions stick? Which presliding explains their equations best.

Friction that sticks keeps its old sign for a while after a reversal (`processing.friction`). A
plain sign then puts a part of it into masses and dampers. The presliding is chosen by how well the
four suspension equations fit with it; the plain sign stays unless the data contradict it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Selection,
    estimate,
    solve,
    without_influence,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.processing.cutoffs import Cutoffs
from veh_identification.systems.car.processing.signals import Prepared
from veh_identification.systems.car.processing.spectral import gather

#: Strains of stuck surfaces that are tried [m]: from nearly none to that of rubber bushes.
PRESLIDING = (1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4)
#: Weighted residual squares that a presliding must save before the plain sign gives way.
EVIDENCE = 12.0


def chosen_presliding(costs: Mapping[float, float]) -> float:
    """The presliding of the best fit, or none where the plain sign does about as well."""
    best = min(costs, key=lambda one: costs[one])
    return best if costs[0.0] - costs[best] > EVIDENCE else 0.0


def presliding_costs(
    model: CarModel, tried: Mapping[float, Prepared], cutoffs: Cutoffs
) -> dict[float, float]:
    """Weighted residual squares of the suspension equations by presliding; 0 is the sign.

    Empty where the recording cannot tell the parameters apart.
    """
    problems = {
        length: CarProblem(model, gather(model, prepared.pieces, prepared.cutoff_hz))
        for length, prepared in tried.items()
    }
    plain = problems[0.0]
    bands = cutoffs.bands(plain.information.frequency)
    bands[:6] = False
    suspension = np.zeros(len(model.names), dtype=bool)
    suspension[[one.parameter for one in model.entries if one.equation >= 6]] = True
    parameters = suspension & ~without_influence(plain, bands)
    try:
        weights = estimate(plain, Selection(bands, parameters)).weights
        return {
            length: _cost(problem, weights, parameters) for length, problem in problems.items()
        }
    except EstimationError:
        return {}


def _cost(problem: CarProblem, weights: np.ndarray, parameters: np.ndarray) -> float:
    value = solve(problem, weights, parameters)[0]
    residual = np.einsum('bjj->bj', problem.power(value))
    return float(np.sum(residual * np.einsum('bjj->bj', weights)[:, : len(EQUATIONS)]))
