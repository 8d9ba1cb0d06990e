"""Damper and spring curves as straight pieces beside the linear columns.

A hinge is a column that is zero up to a speed (or travel) and rises by one from there: its
parameter is the change of the slope. Hinges are added to a corner one by one, the one that
explains most first, for as long as the equations ask for them; a linear car keeps its lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from veh_identification.systems.car.model import CarModel, Entry
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array, BoolArray

#: Knots of the dampers over their largest speeds, of the springs over their largest travels.
DAMPER_KNOTS, SPRING_KNOTS = (0.0, 0.15, 0.35, 0.6), (0.3, 0.5, 0.7, 0.85)
#: Share of the samples that counts as the largest: knots beyond have nothing to stand on.
TOP = 99.7
#: Weighted residual squares that a hinge must save: what chance and a friction that is not quite
#: that of the model save stays below.
EVIDENCE = 40.0
#: And so much of the force must it change at the ends of what was driven.
LEAST_CHANGE = 0.02
MOST_ROUNDS = 8
POINTS = 41
#: What the doubt of speeds and of the other columns leaves, over the force.
CURVE_SHARE = 0.02


@dataclass(frozen=True)
class Hinge:
    """A column of one corner: of the damper over speed, or of the spring over travel."""

    corner: int
    kind: str  # damper or spring
    knot: float
    up: bool  # counts above the knot, else below

    @property
    def name(self) -> str:
        """Unique among all hinges."""
        sign = 'above' if self.up else 'below'
        return f'{self.kind}_{CORNERS[self.corner]}_{sign}_{self.knot:.4g}'

    def column(self, along: Array) -> Array:
        """The signal of the hinge."""
        beyond = along - self.knot
        return np.maximum(beyond, 0.0) if self.up else np.minimum(beyond, 0.0)


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve with its deviation, over what was driven."""

    corner: str
    kind: str
    along: Array  # speed [m/s] or travel [m], positive in compression
    force: Array  # [N], of the damper with dry friction, of the spring without its offset
    std: Array
    linear: Array  # what the straight line of the same equations says
    hinges: tuple[Hinge, ...]
    friction: float = 0.0  # of it, dry

    @property
    def slopes(self) -> tuple[float, float]:
        """Mean slope of compression and extension, by the ends of the curve."""
        low, high = self.along[0], self.along[-1]
        return (
            float((self.force[-1] - self.friction) / high),
            float((self.force[0] + self.friction) / low),
        )

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'corner': self.corner,
            'kind': self.kind,
            'knots': [one.knot for one in self.hinges],
            'friction': self.friction,
            'along': self.along.tolist(),
            'force': self.force.tolist(),
            'std': self.std.tolist(),
            'linear': self.linear.tolist(),
        }


class CurvedModel:
    """The equations of a car with hinge columns in those of the suspensions."""

    def __init__(self, plain: CarModel, hinges: Sequence[Hinge]) -> None:
        self.plain, self.hinges = plain, tuple(hinges)
        self.names = (*plain.names, *(one.name for one in hinges))
        first = plain.signal_count - 10
        self.entries = (
            *plain.entries,
            *(
                Entry(6 + one.corner, len(plain.names) + k, first + k)
                for k, one in enumerate(hinges)
            ),
        )

    @property
    def signal_count(self) -> int:
        """Those of the plain model and one for each hinge."""
        return self.plain.signal_count + len(self.hinges)

    def signals(self, samples: CarSamples) -> Array:
        """Matrix (N, signal_count); the last ten are the measured sides."""
        plain = self.plain.signals(samples)
        columns = [one.column(_along(samples, one.kind)[:, one.corner]) for one in self.hinges]
        middle = np.stack(columns, axis=1) if columns else np.zeros((len(samples), 0))
        return np.concatenate([plain[:, :-10], middle, plain[:, -10:]], axis=1)


def _along(samples: CarSamples, kind: str) -> Array:
    travel = samples.joints['suspension']
    return travel.velocity if kind == 'damper' else travel.position


def candidates(pieces: Sequence[CarSamples]) -> list[Hinge]:
    """Hinges whose knots lie well within what was driven."""
    found = []
    for corner in range(4):
        for kind, shares in (('damper', DAMPER_KNOTS), ('spring', SPRING_KNOTS)):
            along = np.concatenate([_along(one, kind)[:, corner] for one in pieces])
            middle = 0.0 if kind == 'damper' else float(np.median(along))
            high = float(np.percentile(along, TOP)) - middle
            low = float(np.percentile(along, 100.0 - TOP)) - middle
            for share in shares:
                if high > 0.0:
                    found.append(Hinge(corner, kind, middle + share * high, True))
                if low < 0.0 and share > 0.0:
                    found.append(Hinge(corner, kind, middle + share * low, False))
    return found


@dataclass(frozen=True, eq=False)
class Curves:
    """All curves, and what the hinges saved."""

    curves: tuple[Curve, ...]
    saved: dict[str, float]

    @property
    def bent(self) -> list[Curve]:
        """Those that are not straight lines."""
        return [one for one in self.curves if one.hinges]

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {'curves': [one.as_dict() for one in self.curves], 'saved': self.saved}


def suspension_curves(
    plain: CarModel, pieces: Sequence[CarSamples], wide_hz: float, cutoffs: Sequence[float]
) -> Curves:
    """Curves of all corners from prepared stretches; `cutoffs` [Hz] of the four equations."""
    hinges = candidates(pieces)
    model = CurvedModel(plain, hinges)
    problem = CarProblem(model, gather(model, pieces, wide_hz))
    bands, base = in_suspensions(problem, plain, cutoffs)
    chosen, saved = _chosen(problem, model, bands, base, pieces)
    final = estimate(problem, Selection(bands, chosen))
    straight = estimate(problem, Selection(bands, base))
    curves = [
        _curve(
            model, corner, kind, pieces, chosen, (final.value, final.covariance, straight.value)
        )
        for corner in range(4)
        for kind in ('damper', 'spring')
    ]
    return Curves(tuple(curves), saved)


def in_suspensions(
    problem: CarProblem, plain: CarModel, cutoffs: Sequence[float]
) -> tuple[BoolArray, BoolArray]:
    """Bands of the four equations of the suspensions, and the linear parameters in them."""
    frequency = problem.information.frequency
    bands = np.zeros((10, len(frequency)), dtype=bool)
    for j, top in enumerate(cutoffs):
        bands[6 + j] = frequency < top
    base = np.zeros(problem.parameters, dtype=bool)
    base[[one.parameter for one in plain.entries if one.equation >= 6]] = True
    return bands, base & ~without_influence(problem, bands)


def _cost(problem: CarProblem, weights: Array, parameters: BoolArray) -> Array:
    """Weighted residual squares of the four suspension equations."""
    value = solve(problem, weights, parameters)[0]
    residual = np.einsum('bjj->bj', problem.power(value))
    return np.asarray((residual * np.einsum('bjj->bj', weights))[:, 6:].sum(axis=0))


def _chosen(
    problem: CarProblem,
    model: CurvedModel,
    bands: BoolArray,
    base: BoolArray,
    pieces: Sequence[CarSamples],
) -> tuple[BoolArray, dict[str, float]]:
    """Linear parameters and the hinges that the equations ask for."""
    first = len(model.plain.names)
    chosen, saved = base.copy(), dict[str, float]()
    for _ in range(MOST_ROUNDS):
        fitted = estimate(problem, Selection(bands, chosen))
        now = _cost(problem, fitted.weights, chosen)
        best: dict[int, tuple[float, tuple[int, ...]]] = {}
        for step in _steps(model.hinges):
            places, corner = [first + k for k in step], model.hinges[step[0]].corner
            if chosen[places].any():
                continue
            trial = chosen.copy()
            trial[places] = True
            try:
                value = solve(problem, fitted.weights, trial)[0]
                gain = float(now[corner] - _cost(problem, fitted.weights, trial)[corner])
            except EstimationError:
                continue
            beyond = gain - EVIDENCE * len(step)
            if beyond > best.get(corner, (0.0, ()))[0] and all(
                _matters(model.hinges[k], value, first + k, model, pieces) for k in step
            ):
                best[corner] = beyond, step
        if not best:
            break
        for beyond, step in best.values():
            for k in step:
                chosen[first + k] = True
                saved[model.hinges[k].name] = beyond / len(step) + EVIDENCE
    return chosen, saved


def _steps(hinges: Sequence[Hinge]) -> list[tuple[int, ...]]:
    """What may be added at once: a hinge, or one on each side.

    Valves that open in both directions look like friction and less damping: a hinge of one side
    alone saves little.
    """
    pairs = [
        (i, k)
        for i, one in enumerate(hinges)
        for k, other in enumerate(hinges)
        if one.up and not other.up and (one.corner, one.kind) == (other.corner, other.kind)
    ]
    return [*((k,) for k in range(len(hinges))), *pairs]


def _matters(
    hinge: Hinge, value: Array, place: int, model: CurvedModel, pieces: Sequence[CarSamples]
) -> bool:
    """Whether a hinge changes the force by more than a trifle at the end of what was driven."""
    along = np.concatenate([_along(one, hinge.kind)[:, hinge.corner] for one in pieces])
    end = float(np.percentile(along, TOP if hinge.up else 100.0 - TOP))
    letter = 'h' if hinge.kind == 'damper' else 'k'
    straight = value[model.plain.names.index(f'{letter}{hinge.corner + 1}')] * end
    change = value[place] * float(hinge.column(np.array([end]))[0])
    return bool(abs(change) > LEAST_CHANGE * abs(straight))


def _curve(
    model: CurvedModel,
    corner: int,
    kind: str,
    pieces: Sequence[CarSamples],
    chosen: BoolArray,
    fits: tuple[Array, Array, Array],
) -> Curve:
    value, covariance, straight = fits
    names = model.plain.names
    along = np.concatenate([_along(one, kind)[:, corner] for one in pieces])
    low, high = np.percentile(along, [100.0 - TOP, TOP])
    grid = np.linspace(low, high, POINTS)
    letter = 'h' if kind == 'damper' else 'k'
    places = [names.index(f'{letter}{corner + 1}')]
    columns = [grid]
    if kind == 'damper':
        # Friction and a damper that is steep at first look alike; their sum is known well.
        places.append(names.index(f'fs{corner + 1}'))
        columns.append(np.sign(grid))
    lines = len(columns)
    used = [
        (len(names) + k, hinge)
        for k, hinge in enumerate(model.hinges)
        if chosen[len(names) + k] and hinge.corner == corner and hinge.kind == kind
    ]
    for place, hinge in used:
        places.append(place)
        columns.append(hinge.column(grid) - float(hinge.column(np.zeros(1))[0]))
    shape = np.stack(columns, axis=1)
    force = shape @ value[places]
    variance = np.einsum('pi,ij,pj->p', shape, covariance[np.ix_(places, places)], shape)
    std = np.hypot(np.sqrt(np.maximum(variance, 0.0)), CURVE_SHARE * np.abs(force))
    return Curve(
        CORNERS[corner],
        kind,
        grid,
        np.asarray(force),
        std,
        np.asarray(shape[:, :lines] @ straight[places[:lines]]),
        tuple(hinge for _, hinge in used),
        float(value[places[1]]) if kind == 'damper' else 0.0,
    )
