"""Instrumental variables: noise of the positions must not bias the estimate.

Odd and even samples of the positions have independent noise. The regressor is built from each
half; one serves as the instrument of the other, (Z' P W) x = Z' P Y, so that products of noise
with itself drop out. The deviations are those of the weighted fit, whose noise is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

from veh_identification.identification.result import Solved
from veh_identification.systems.robot.estimation.unknowns import State, assemble, noise_of
from veh_identification.systems.robot.processing import Signals, rows_of
from veh_identification.types import Array, BoolArray

if TYPE_CHECKING:
    from veh_identification.systems.robot.setup import Setup


def half(signals: Signals, first: int) -> Signals:
    """Positions from every second sample, the others in between."""
    position = signals.position.copy()
    for part in signals.segments:
        place = np.arange(part.start, part.stop)
        kept = place[first::2]
        if len(kept) > 3:
            inside = (place >= kept[0]) & (place <= kept[-1])
            spline = CubicSpline(kept, signals.position[kept])
            position[place[inside]] = spline(place[inside])
    return replace(signals, position=position)


def instrumental(setup: Setup, state: State, slides: BoolArray, start: Solved) -> Solved:
    """The estimate with one half's regressor as the instrument of the other."""
    links = {one.recording: one.link for one in setup.loads}
    systems = []
    for first in (0, 1):
        rows = [
            rows_of(setup.model, half(one, first), setup.cutoff_hz, links.get(one.name))
            for one in setup.signals
        ]
        systems.append(assemble(setup.model, rows, setup.loads, setup.masks, state, slides))
    sigma = np.where(start.sigma > 0.0, start.sigma, 1.0)
    Y = (systems[0].Y - systems[0].known) / sigma
    there = np.isfinite(Y)
    A, Z = (one.W[there] / sigma[np.nonzero(there)[1], None] for one in systems)
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0.0] = 1.0
    A, Z = A / norms, Z / norms
    # Both ways round: neither half is preferred.
    left, right = Z.T @ A + A.T @ Z, (Z + A).T @ Y[there]
    x = np.linalg.solve(left, right) / norms
    value = start.value.copy()
    value[: len(x)] = x
    residual = (Y - np.where(there, _predicted(systems, x, sigma), 0.0)) * sigma
    rms, size = noise_of(residual), noise_of(Y * sigma)
    told = there.any(axis=0)
    return replace(
        start,
        value=value,
        residual_rms=np.where(told, rms, np.nan),
        residual_rms_relative=np.where(told, rms / size, np.nan),
    )


def _predicted(systems: list, x: Array, sigma: Array) -> Array:  # type: ignore[type-arg]
    return np.asarray(0.5 * (systems[0].W + systems[1].W) @ x / sigma)
