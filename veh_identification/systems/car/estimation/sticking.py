"""Do the suspensions stick? What their surfaces do near rest, by how well the equations fit.

Friction that sticks keeps its old sign for a while after a reversal (`processing.friction`), and a
film that creeps has less of it. A plain sign then puts a part of the friction into masses and
dampers. Several lengths of presliding and several speeds of creep are tried; rigid surfaces stay
unless the data contradict them.

What the friction is in the moments of a reversal is known only roughly, and errs alike over many
of them: the curvature of the fit would promise too much. How far apart the four suspensions find
the length tells how well it is known, and that enters the deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from veh_identification.systems.car.processing.friction import RIGID, NearRest
from veh_identification.systems.car.processing.signals import Prepared
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.types import Array, BoolArray

#: What is tried: strains of stuck surfaces [m], from nearly none to that of rubber bushes, and
#: speeds of creep [m/s]. The first of each is as good as rigid: it stands for that.
TRIED = {
    'presliding': (5e-6, 1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4),
    'creep': (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2),
}
#: Weighted residual squares that must be saved before rigid surfaces give way.
EVIDENCE = 12.0
#: Deviation of the logarithm of what is found at least: for suspensions whose presliding is known
#: it scatters by about so much.
LEAST_DEVIATION = 0.25
MOST_DEVIATION = 1.0


@dataclass(frozen=True, eq=False)
class Sticking:
    """The surfaces that fit best."""

    surfaces: NearRest = RIGID
    spread: Array | float = 0.0  # covariance of the parameters that their doubt brings
    deviation: float = 0.0  # of the logarithm of length or speed
    saved: dict[str, dict[float, float]] = field(default_factory=dict)  # weighted squares

    def as_dict(self) -> dict[str, Any]:
        """For the entry `input` of parameters.json."""
        return {
            'presliding': self.surfaces.presliding,
            'creep': self.surfaces.creep,
            'deviation_of_logarithm': self.deviation,
            'evidence': {
                kind: {f'{one:g}': value for one, value in saved.items()}
                for kind, saved in self.saved.items()
            },
        }


@dataclass(frozen=True, eq=False)
class Trials:
    """The suspension equations with several lengths or speeds; the first stand for rigid."""

    along: Array  # (L,)
    saved: Array  # (L, 4) weighted squares of each suspension, against rigid surfaces
    values: Array  # (L, parameters)

    @property
    def total(self) -> Array:
        """Of all four suspensions."""
        return np.asarray(self.saved.sum(axis=1))


def tried_surfaces(
    model: CarModel, cutoffs: Cutoffs, prepared: Callable[[NearRest], Prepared]
) -> dict[str, Trials]:
    """Fits with each kind, from nearly rigid on for as long as the equations fit better.

    `prepared` gives the signals for given surfaces. Empty where they cannot be solved.
    """
    rigid = _problem(model, prepared(RIGID))
    bands = cutoffs.bands(rigid.information.frequency)
    bands[:6] = False
    suspension = np.zeros(len(model.names), dtype=bool)
    suspension[[one.parameter for one in model.entries if one.equation >= 6]] = True
    parameters = suspension & ~without_influence(rigid, bands)
    found: dict[str, Trials] = {}
    try:
        weights = estimate(rigid, Selection(bands, parameters)).weights
        first = _cost(rigid, weights, parameters)
        for kind, sizes in TRIED.items():
            fits = [first]
            for size in sizes[1:]:
                problem = _problem(model, prepared(NearRest(**{kind: size})))
                fits.append(_cost(problem, weights, parameters))
                if fits[-1][0].sum() > min(cost.sum() for cost, _ in fits):
                    break
            found[kind] = Trials(
                np.array(sizes[: len(fits)]),
                first[0] - np.array([cost for cost, _ in fits]),
                np.array([value for _, value in fits]),
            )
    except EstimationError:
        return {}
    return found


def chosen_surfaces(trials: Mapping[str, Trials]) -> Sticking:
    """Those of the best fit, or rigid ones where they do about as well."""
    saved = {
        kind: dict(zip(one.along[1:].tolist(), one.total[1:].tolist(), strict=True))
        for kind, one in trials.items()
    }
    kind = max(trials, key=lambda one: float(trials[one].total.max()), default='')
    if not kind or trials[kind].total.max() <= EVIDENCE:
        return Sticking(saved=saved)
    best = trials[kind]
    logarithm = np.log(best.along)
    middle, _ = vertex(logarithm, best.total)
    own, weight = np.array([vertex(logarithm, one) for one in best.saved.T]).T
    deviation = max(_deviation_of_mean(own - middle, weight), LEAST_DEVIATION)
    slope = _slope(logarithm, best.values, middle)
    spread = deviation**2 * np.outer(slope, slope)
    return Sticking(NearRest(**{kind: float(np.exp(middle))}), spread, deviation, saved)


def _deviation_of_mean(apart: Array, weight: Array) -> float:
    """Of a weighted mean of values that lie `apart` from it."""
    whole = float(weight.sum())
    if whole <= 0.0:
        return MOST_DEVIATION
    share = float(np.square(weight).sum()) / whole**2
    variance = float(weight @ np.square(apart)) / whole * share / max(1.0 - share, 0.25)
    return min(float(np.sqrt(variance)), MOST_DEVIATION)


def vertex(along: Array, value: Array) -> tuple[float, float]:
    """Place of the largest value by a parabola through it and its neighbours, and its curvature.

    At an end there is no curvature to tell: the end, with that of the nearest three.
    """
    best = int(np.argmax(value))
    if len(value) < 3:
        return float(along[best]), 0.0
    middle = min(max(best, 1), len(value) - 2)
    near = slice(middle - 1, middle + 2)
    a, b, _ = np.polyfit(along[near] - along[middle], value[near], 2)
    if a >= 0.0:
        return float(along[best]), 0.0
    place = along[middle] - 0.5 * b / a
    return float(np.clip(place, along[0], along[-1])), -2.0 * float(a)


def _slope(along: Array, values: Array, place: float) -> Array:
    """Change of the parameters per unit of the logarithm, between the nearest two lengths."""
    k = int(np.clip(np.searchsorted(along, place), 1, len(along) - 1))
    return np.asarray((values[k] - values[k - 1]) / (along[k] - along[k - 1]))


def _problem(model: CarModel, prepared: Prepared) -> CarProblem:
    return CarProblem(model, gather(model, prepared.pieces, prepared.cutoff_hz))


def _cost(problem: CarProblem, weights: Array, parameters: BoolArray) -> tuple[Array, Array]:
    """Weighted residual squares of the four suspensions, and the parameters."""
    value = solve(problem, weights, parameters)[0]
    residual = np.einsum('bjj->bj', problem.power(value))
    return (residual * np.einsum('bjj->bj', weights)).sum(axis=0)[6:], value
