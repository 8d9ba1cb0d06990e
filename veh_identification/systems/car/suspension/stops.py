"""Suspensions that reach their stops, whose force is taken off before springs are looked for.

A stop is some times as stiff as the spring and is met for moments only, in hard bends. A straight
spring leaves its force to `k`, to the anti-roll bar and to whatever else goes with roll: 2 to 14
per cent, or camber that is none. Each side of each corner may have one stop, a hinge at a travel
from which on the force rises by a further slope. It is looked for on a lively stretch of each
recording, so that one that is met later, or by other wheels, is found there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed, number
from veh_identification.systems.car.estimation.weighted import CarProblem, Selection, estimate
from veh_identification.systems.car.model import CarModel, Stop
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.curves import (
    EVIDENCE,
    CurvedModel,
    Hinge,
    in_suspensions,
)
from veh_identification.systems.car.suspension.uneven import bent_corners
from veh_identification.types import Array, BoolArray, IntArray

#: Where stops are looked for, over the largest travel from the middle.
KNOTS = np.arange(0.5, 0.99, 0.02)
#: Below this the motion is believed, and signals need no more than four times it.
TOP_HZ = 8.0
#: A stop adds at least so much of the spring's own slope.
LEAST_SLOPE = 0.5
ROUNDS = 4
#: So much of the force of a stop is unsure: stops are no hinges.
UNSURE = 0.1


@dataclass(frozen=True, eq=False)
class Stops:
    """Stops that were met."""

    stops: tuple[Stop, ...] = ()

    def findings(self, label: str) -> list[Finding]:
        """That stops were met."""
        if not self.stops:
            return []
        told = [
            f'suspension_{CORNERS[one.corner]} at {number(1e3 * one.knot, 3)} mm'
            for one in self.stops
        ]
        text = (
            f'stops are met: {listed(told)}. Their force is taken off; k is the slope of the '
            'spring between them. --curves shows the curves'
        )
        return [Finding('note', 'stops_met', text, f'{label}, suspension')]

    def as_dict(self) -> list[dict[str, Any]]:
        """For parameters.json."""
        return [
            {'corner': CORNERS[one.corner], 'travel': one.knot, 'stiffness': one.slope}
            for one in self.stops
        ]


def found_stops(model: CarModel, piece: CarSamples) -> Stops:
    """Stops that the suspension equations ask for, on a stretch of measured motion."""
    step = max(1, int(piece.rate / (4.0 * TOP_HZ)))
    piece = replace(piece[::step], rate=piece.rate / step)
    hinges = _candidates(piece)
    top = TOP_HZ + 1.0
    try:
        information = gather(model, [piece], top)
        bands = np.broadcast_to(information.frequency < TOP_HZ, (10, len(information.rows)))
        bent = model.with_bends(bent_corners(model, information, bands.copy()))
        curved = CurvedModel(bent, hinges)
        problem = CarProblem(curved, gather(curved, [piece], top))
        return _found(problem, curved, bent)
    except (
        EstimationError,
        np.linalg.LinAlgError,
    ):  # a stretch that tells springs and dampers not apart
        return Stops()


def _candidates(piece: CarSamples) -> list[Hinge]:
    travel = piece.joints['suspension'].position
    middle = np.median(travel, axis=0)
    return [
        Hinge(corner, 'spring', float(middle[corner] + share * (end - middle[corner])), up)
        for corner in range(4)
        for up, end in ((True, travel[:, corner].max()), (False, travel[:, corner].min()))
        for share in KNOTS
    ]


def _found(problem: CarProblem, curved: CurvedModel, bent: CarModel) -> Stops:
    bands, base = in_suspensions(problem, bent, [TOP_HZ] * 4)  # without any hinge
    first, hinges = len(bent.names), curved.hinges
    sides = dict[tuple[int, bool], list[int]]()
    for k, one in enumerate(hinges):
        sides.setdefault((one.corner, one.up), []).append(first + k)
    fit, taken = estimate(problem, Selection(bands, base)), dict[tuple[int, bool], int]()
    for _ in range(ROUNDS):
        left, right = problem.normal(fit.weights)
        now = dict[tuple[int, bool], int]()
        for side, places in sides.items():
            others = _with(base, [place for other, place in taken.items() if other != side])
            gain, slope = _gains(left, right, others, np.array(places))
            spring = fit.value[bent.names.index(f'k{side[0] + 1}')]
            gain = np.where(slope > LEAST_SLOPE * abs(spring), gain, 0.0)
            best = int(np.argmax(gain))
            if gain[best] > EVIDENCE:
                now[side] = places[best]
        if now == taken:
            break
        taken = now
        fit = estimate(problem, Selection(bands, _with(base, list(taken.values()))))
    return Stops(
        tuple(
            Stop(side[0], hinges[place - first].knot, side[1], float(fit.value[place]))
            for side, place in taken.items()
        )
    )


def _with(base: BoolArray, places: Sequence[int]) -> BoolArray:
    chosen = base.copy()
    chosen[list(places)] = True
    return chosen


def _gains(left: Array, right: Array, chosen: BoolArray, places: IntArray) -> tuple[Array, Array]:
    """Weighted squares that each further column saves, and its parameter."""
    own = np.flatnonzero(chosen)
    inverse_times = np.linalg.solve(
        left[np.ix_(own, own)], np.column_stack([right[own], left[np.ix_(own, places)]])
    )
    rest = right[places] - left[np.ix_(places, own)] @ inverse_times[:, 0]
    size = left[places, places] - np.einsum(
        'ki,ik->k', left[np.ix_(places, own)], inverse_times[:, 1:]
    )
    known = size > 1e-9 * np.maximum(left[places, places], 1e-300)
    slope = np.where(known, rest / np.where(known, size, 1.0), 0.0)
    return np.where(known, rest * slope, 0.0), slope
