"""The two wheels of an axle fit alike: where one does not, its travel may be scaled.

A travel that is recorded f times too large makes spring, damper and unsprung mass of its wheel
wrong without a word from the other equations; but the anti-roll bar couples both wheels, and with
one scaled travel no single stiffness fits both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veh_identification.checks.explanation import (
    Hypothesis,
    best_explanation,
)
from veh_identification.findings import CONVINCING, Finding
from veh_identification.systems.car.checks.explanations import Stretch, residuals
from veh_identification.systems.car.checks.hypotheses import scaled_travel
from veh_identification.systems.car.estimation.weighted import CarProblem, Fit, Selection
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

#: Residual of one wheel over that of the other wheel of its axle that raises the question, and
#: that is told even where no factor answers it.
ASKED, UNEVEN = 1.4, 2.0
#: Factors of a travel that are tried.
FACTORS = (0.5, 0.6, 0.7, 0.8, 0.87, 1.15, 1.25, 1.4, 1.6, 2.0)
#: The suspension equations follow the six of the chassis.
FIRST = 6


def check_axles(
    model: CarModel,
    problem: CarProblem,
    fit: Fit,
    selection: Selection,
    stretches: Sequence[Stretch],
) -> list[Finding]:
    """A wheel whose equation fits clearly worse than that of its neighbour, and why."""
    squares, _ = problem.squares(fit.value, selection.bands)
    left = np.sqrt(np.maximum(squares[FIRST:], 0.0))
    usable = np.asarray(selection.bands.any(axis=1))[FIRST:]
    found = []
    for pair in ((0, 1), (2, 3)):
        if not usable[list(pair)].all():
            continue
        worse, better = sorted(pair, key=lambda k: -left[k])
        if left[worse] > ASKED * left[better] > 0.0:
            ratio = float(left[worse] / left[better])
            found += _cause(model, selection, stretches, worse, ratio)
    return found


def _cause(
    model: CarModel, selection: Selection, stretches: Sequence[Stretch], worse: int, ratio: float
) -> list[Finding]:
    wheel = CORNERS[worse]
    for one in stretches:

        def misfit(samples: CarSamples, top_hz: float = one.top_hz) -> float:
            return _of_axle(residuals(model, selection, top_hz, samples), selection, worse)

        explained = best_explanation(one.samples, _hypotheses(worse), misfit)
        if explained.best is not None and explained.factor > np.sqrt(CONVINCING):
            text = f'{one.label}: {explained.best.text} (with that put right, it fits the wheel '
            text += f'force {explained.factor**2:.2g} times better)'
            where = f'{one.label} {explained.best.where}'.lstrip()
            text = text.removeprefix(': ')
            return [Finding('bad', 'travel_scale', text, where, explained.factor**2)]
    if ratio < UNEVEN:
        return []
    text = (
        f'the equation suspension_{wheel} fits {ratio:.2g} times worse than that of the other '
        f'wheel of its axle: look at suspension_{wheel} and wheel_{wheel}/wrench (scale, stamps, '
        'noise); no factor of the travel explains it'
    )
    return [Finding('warn', 'uneven_fit', text, f'suspension_{wheel}')]


def _of_axle(left: Array, selection: Selection, wheel: int) -> float:
    """Geometric mean of the residuals of both wheels of an axle."""
    usable = np.flatnonzero(selection.bands.any(axis=1))
    pair = np.isin(usable, [FIRST + wheel, FIRST + (wheel ^ 1)])
    return float(np.exp(np.log(left[pair]).mean()))


def _hypotheses(worse: int) -> Iterator[Hypothesis[CarSamples]]:
    """Either wheel of the axle may be the scaled one."""
    for k in (worse, worse ^ 1):
        where = f'suspension_{CORNERS[k]}'
        for factor in FACTORS:
            text = f'{where} seems to be about {factor:.3g} times what it should be'
            yield Hypothesis('travel_scale', text, scaled_travel(k, 1.0 / factor), where)
