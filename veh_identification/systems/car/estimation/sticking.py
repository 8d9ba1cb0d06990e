"""Do the suspensions stick? Which presliding explains their equations best.

Friction that sticks keeps its old sign for a while after a reversal (`processing.friction`). A
plain sign then puts a part of it into masses and dampers. The presliding is chosen by how well the
four suspension equations fit with it; the plain sign stays unless the data contradict it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Selection,
    estimate,
    solve,
    without_influence,
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.processing.cutoffs import Cutoffs
from veh_identification.systems.car.processing.signals import Prepared
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.types import Array, BoolArray

#: Strains of stuck surfaces that are tried [m], from nearly none to that of rubber bushes.
PRESLIDING = (1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4)
#: Weighted residual squares that a presliding must save before the plain sign gives way.
EVIDENCE = 12.0


def presliding_evidence(
    model: CarModel, cutoffs: Cutoffs, prepared: Callable[[float], Prepared]
) -> dict[float, float]:
    """Weighted residual squares that each presliding saves against the plain sign.

    `prepared` gives the signals for a presliding, 0 for the plain sign. Tried from the smallest
    on for as long as the equations fit better; empty where they cannot be solved.
    """
    plain = _problem(model, prepared(0.0))
    bands = cutoffs.bands(plain.information.frequency)
    bands[:6] = False
    suspension = np.zeros(len(model.names), dtype=bool)
    suspension[[one.parameter for one in model.entries if one.equation >= 6]] = True
    parameters = suspension & ~without_influence(plain, bands)
    saved: dict[float, float] = {}
    try:
        weights = estimate(plain, Selection(bands, parameters)).weights
        start = _cost(plain, weights, parameters)
        for length in PRESLIDING:
            saved[length] = start - _cost(_problem(model, prepared(length)), weights, parameters)
            if saved[length] < max(saved.values()):
                break
    except EstimationError:
        return {}
    return saved


def chosen_presliding(saved: Mapping[float, float]) -> float:
    """The presliding of the best fit, or none where the plain sign does about as well."""
    best = max(saved, key=lambda one: saved[one], default=0.0)
    return best if saved.get(best, 0.0) > EVIDENCE else 0.0


def _problem(model: CarModel, prepared: Prepared) -> CarProblem:
    return CarProblem(model, gather(model, prepared.pieces, prepared.cutoff_hz))


def _cost(problem: CarProblem, weights: Array, parameters: BoolArray) -> float:
    value = solve(problem, weights, parameters)[0]
    residual = np.einsum('bjj->bj', problem.power(value))
    return float(np.sum(residual * np.einsum('bjj->bj', weights)))
