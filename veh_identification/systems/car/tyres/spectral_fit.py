"""Nonlinear least squares on the low lines of residuals, weighted by their own power.

Residuals of a drive are coloured: their Fourier lines are independent of each other, whatever the
colour, so lines are weighted by the power around them. They also come in bursts: what the noise of
a slip angle makes of a force depends on how stiff the tyre is just then. So the deviations are
those of the lines, or of blocks of time where these say more. What is known before enters as a
normal distribution of every unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import fft
from scipy.optimize import least_squares

from veh_identification.types import Array

#: Residuals of one stretch (N, wheels), zero where nothing counts.
Residuals = Callable[[Array], list[Array]]
PASSES = 3
#: Lines on either side that the power of a line is taken from.
NEIGHBOURS = 12
#: No model of a tyre explains more of a force than this leaves: road planes, compliances.
MODEL_SHARE = 0.005
STEP = 0.02  # of a derivative, over the deviation from before
BLOCK = 3.0  # whose scores are taken as independent of each other [s]


@dataclass(frozen=True)
class Unknown:
    """A number to find, with what is known of it before."""

    name: str
    guess: float
    spread: float
    least: float = -np.inf
    most: float = np.inf


@dataclass(frozen=True, eq=False)
class Found:
    """Values with their covariance, and what the recording adds to what was known before."""

    unknowns: tuple[Unknown, ...]
    value: Array
    covariance: Array
    rms: float  # of the residual below the top frequency

    def __getitem__(self, name: str) -> float:
        return float(self.value[self.place(name)])

    def std(self, name: str) -> float:
        """Standard deviation of one value."""
        place = self.place(name)
        return float(np.sqrt(self.covariance[place, place]))

    def told(self, name: str) -> float:
        """Share of the doubt from before that is left: 1 when the recording says nothing."""
        return self.std(name) / self.unknowns[self.place(name)].spread

    def place(self, name: str) -> int:
        """Index of an unknown."""
        return [one.name for one in self.unknowns].index(name)


def lines_of(residual: Array, rate: float, top_hz: float) -> Array:
    """Real lines (L, wheels) of a residual up to a frequency; their squares sum to its energy."""
    count = len(residual)
    lines = fft.rfft(residual, axis=0, workers=1)[: int(top_hz * count / rate) + 1]
    lines = lines * np.sqrt(2.0 / count)
    lines[0] *= np.sqrt(0.5)
    return np.concatenate([lines.real, lines.imag[1:]])


def signal_of(lines: Array, count: int) -> Array:
    """The signal (count, wheels) that has these lines and none above."""
    half = (len(lines) + 1) // 2
    whole = lines[:half].astype(complex)
    whole[1:] += 1j * lines[half:]
    whole[0] *= np.sqrt(2.0)
    return np.asarray(fft.irfft(whole * np.sqrt(count / 2.0), count, axis=0, workers=1))


def _power(lines: Array) -> Array:
    """Mean square of the lines around each line, real and imaginary parts together."""
    half = (len(lines) + 1) // 2
    square = np.square(lines[:half])
    square[1:] = 0.5 * (square[1:] + np.square(lines[half:]))
    reach = min(NEIGHBOURS, max(1, half // 3))
    total = np.concatenate([np.zeros((1, lines.shape[1])), np.cumsum(square, axis=0)])
    low = np.maximum(np.arange(half) - reach, 0)
    high = np.minimum(np.arange(half) + reach + 1, half)
    mean = (total[high] - total[low]) / (high - low)[:, None]
    return np.concatenate([mean, mean[1:]])


def fit(
    residuals: Residuals,
    unknowns: Sequence[Unknown],
    shares: Sequence[Array],
    rate: float,
    top_hz: float,
    signals: Sequence[Array],
    instruments: Callable[[Array], Residuals] | None = None,
) -> Found:
    """Most likely values; `shares` (wheels,) of every stretch: how much of it counts.

    `signals` are what the residuals are left of: a share of them stays unexplained by any model.
    `instruments` gives, at a solution, the same residuals as functions of signals without the
    noise that stands in the slips (instrumental variables): noise of a slip passes for less
    stiffness otherwise.
    """
    guess = np.array([one.guess for one in unknowns])
    spread = np.array([one.spread for one in unknowns])
    low = (np.array([one.least for one in unknowns]) - guess) / spread + 1e-9
    high = (np.array([one.most for one in unknowns]) - guess) / spread - 1e-9
    floor = [
        np.square(MODEL_SHARE) * _power(lines_of(one, rate, top_hz)) + 1e-18 for one in signals
    ]

    def lines(function: Residuals, z: Array) -> list[Array]:
        return [lines_of(one, rate, top_hz) for one in function(guess + spread * z)]

    def weighing(z: Array) -> list[Array]:
        # A stretch of which a part counts has that part of its lines to tell.
        return [
            np.sqrt(share / (_power(one) + least))
            for share, one, least in zip(shares, lines(residuals, z), floor, strict=True)
        ]

    def stacked(function: Residuals, weights: list[Array], z: Array) -> Array:
        parts = [(w * one).ravel() for w, one in zip(weights, lines(function, z), strict=True)]
        return np.concatenate([*parts, z])

    def slopes(function: Residuals, weights: list[Array], z: Array) -> Array:
        columns = []
        for k in range(len(z)):
            move = np.zeros(len(z))
            move[k] = STEP if z[k] + STEP < high[k] else -STEP
            change = stacked(function, weights, z + move) - stacked(function, weights, z)
            columns.append(change / move[k])
        return np.stack(columns, axis=1)

    z = np.zeros(len(guess))
    weights = weighing(z)
    for _ in range(PASSES):
        z = least_squares(
            partial(stacked, residuals, weights),
            z,
            jac=partial(slopes, residuals, weights),
            bounds=(low, high),
            max_nfev=8,
        ).x
        weights = weighing(z)
    for _ in range(PASSES if instruments is not None else 0):
        assert instruments is not None
        clean = slopes(instruments(guess + spread * z), weights, z)
        own = slopes(residuals, weights, z)
        step = np.linalg.solve(clean.T @ own, -clean.T @ stacked(residuals, weights, z))
        z = np.clip(z + step, low, high)
        weights = weighing(z)
    final = residuals if instruments is None else instruments(guess + spread * z)
    jacobian = slopes(final, weights, z)
    expected = np.linalg.inv(jacobian.T @ jacobian)
    sizes = [(len(weight), len(one)) for weight, one in zip(weights, signals, strict=True)]
    scores = _block_scores(jacobian, stacked(residuals, weights, z), sizes, round(BLOCK * rate))
    seen = expected @ (scores.T @ scores + np.eye(len(z))) @ expected
    # Few blocks may tell too little by chance: they only enlarge.
    grown = spread * np.sqrt(np.maximum(np.diag(seen) / np.diag(expected), 1.0))
    covariance = np.asarray(expected * np.outer(grown, grown))
    value = guess + spread * z
    energy = sum(float(np.square(one).sum()) for one in lines(residuals, z))
    rows = sum(len(one) * share.sum() for one, share in zip(signals, shares, strict=True))
    return Found(tuple(unknowns), value, covariance, float(np.sqrt(energy / max(rows, 1.0))))


def _block_scores(
    jacobian: Array, residual: Array, sizes: Sequence[tuple[int, int]], length: int
) -> Array:
    """Scores (blocks, unknowns) of blocks of time: residuals times slopes, both as weighted.

    `sizes`: lines and samples of each stretch; behind the lines stands what was known before.
    """
    found, row = [], 0
    for lines, count in sizes:
        rows = slice(row, row + 2 * lines)
        row = rows.stop
        error = signal_of(residual[rows].reshape(lines, 2), count)
        columns = [
            (error * signal_of(one.reshape(lines, 2), count)).sum(axis=1)
            for one in jacobian[rows].T
        ]
        starts = np.arange(0, count, length)
        found.append(np.add.reduceat(np.stack(columns, axis=1), starts, axis=0))
    return np.concatenate(found)
