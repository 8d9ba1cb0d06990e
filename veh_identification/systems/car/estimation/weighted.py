"""Weighted least squares over the ten equations (22)-(28) from Gram matrices per band.

Weights are 1 / S_j(f): the inverse power density of the residuals of equation j in each band, the
frequency-wise form of (23)-(25). The covariance allows for the noise that equations share (a wheel
force stands in four of them). With `gauss_markov` that shared noise also enters the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.systems.car.estimation.gram_kernels import (
    residual_products,
    weighted_normal,
)
from veh_identification.systems.car.model import EQUATIONS, EquationModel
from veh_identification.systems.car.processing.spectral import BAND_HZ, SpectralInformation
from veh_identification.types import Array, BoolArray

ITERATIONS = 4
#: Real lines that a power estimate should rest on before it may serve as a weight.
SMOOTHING_ROWS = 160.0
#: Residuals below this share of the signal are rounding, not noise.
FLOOR = 1e-7
#: Share of an equation that a fit leaves, from which on another minimum is looked for: nearly all.
#: (A model that lacks joints leaves half of one, and that is its answer.)
UNEXPLAINED = 0.9
#: Residuals that are smaller by this (in logarithms) are another minimum, not another rounding.
DEEPER = 0.05


@dataclass(frozen=True)
class Selection:
    """Which bands of which equations, and which parameters are estimated."""

    bands: BoolArray  # (equations, bands)
    parameters: BoolArray  # (parameters,)


@dataclass(frozen=True)
class Fit:
    """Solution with its covariance; parameters left out are zero with zero covariance."""

    value: Array
    covariance: Array
    power: Array  # (bands, equations, equations): covariance of the residual lines
    residual_squares: Array  # (equations,)
    measured_squares: Array  # (equations,)
    lines: Array  # (equations,) real lines used
    condition_number: float
    cost: float  # weighted residual squares per degree of freedom
    weights: Array  # (bands, equations, equations)

    def first(self, count: int) -> Fit:
        """The same with the first `count` parameters alone, whatever the others are."""
        return replace(self, value=self.value[:count], covariance=self.covariance[:count, :count])


class CarProblem:
    """Normal equations of a recording for any weights, parameters and measured sides."""

    def __init__(self, model: EquationModel, information: SpectralInformation) -> None:
        self.model, self.information = model, information
        self.parameters = len(model.names)
        count = len(EQUATIONS)
        self._columns = [
            np.array([e.column for e in model.entries if e.equation == j]) for j in range(count)
        ]
        self._unknowns = [
            np.array([e.parameter for e in model.entries if e.equation == j]) for j in range(count)
        ]
        self._measured = model.signal_count - count + np.arange(count)
        first = np.cumsum([0, *(len(one) for one in self._columns)])
        self._places = (
            np.concatenate(self._columns),
            np.concatenate(self._unknowns),
            first,
            self._measured,
        )

    def power(self, X: Array) -> Array:
        """Sums (bands, equations, equations) of products of residual lines Y - W X."""
        return np.asarray(residual_products(self.information.grams, *self._places, X))

    def measured_power(self) -> Array:
        """Sums (bands, equations) of squared lines of Y."""
        return self.information.grams[:, self._measured, self._measured]

    def agreement(self, X: Array) -> tuple[Array, Array]:
        """Sums (bands, equations) of measured times predicted sides, and of measured squares."""
        measured = self.measured_power()
        agreed = np.empty_like(measured)
        for j, (columns, unknowns) in enumerate(zip(self._columns, self._unknowns, strict=True)):
            agreed[:, j] = self.information.grams[:, self._measured[j], columns] @ X[unknowns]
        return agreed, measured

    def squares(self, X: Array, bands: BoolArray) -> tuple[Array, Array]:
        """Residual and measured sums of squares of every equation over its bands."""
        residual = np.einsum('bjj->jb', self.power(X))
        return (residual * bands).sum(axis=1), (self.measured_power().T * bands).sum(axis=1)

    def normal(self, weights: Array) -> tuple[Array, Array]:
        """W' P W and W' P Y for weights (bands, equations, equations)."""
        grams, places = self.information.grams, self._places
        left, right = weighted_normal(grams, *places, weights, self.parameters)
        return np.asarray(left), np.asarray(right)

    def apart(self, bands: BoolArray) -> tuple[Array, Array, Array]:
        """W' W, W' Y and Y' Y of every equation by itself, over its bands.

        Whoever solves again and again for other weights of whole equations needs no more.
        """
        count = len(EQUATIONS)
        left = np.zeros((count, self.parameters, self.parameters))
        right = np.zeros((count, self.parameters))
        for j in range(count):
            alone = np.zeros((count, bands.shape[1]))
            alone[j] = bands[j]
            left[j], right[j] = self.normal(diagonal_weights(alone))
        return left, right, (self.measured_power().T * bands).sum(axis=1)

    def constant_response(self, weights: Array, inverse: Array, constant: Array) -> Array:
        """Change of the parameters (parameters, equations) per constant error of an equation.

        `constant` (bands, signals) holds the products of all signals with the one that is one
        throughout, over the recordings that have the error.
        """
        result = np.zeros((self.parameters, len(EQUATIONS)))
        for j, rows in enumerate(self._unknowns):
            for k in range(len(EQUATIONS)):
                result[rows, k] += weights[:, j, k] @ constant[: len(weights), self._columns[j]]
        return inverse @ result

    def residual_means(self, X: Array, constant: int) -> Array:
        """Mean of Y - W X of every equation."""
        samples = self.information.samples
        measured = self.information.grams[:, self._measured, constant].sum(axis=0) / samples
        return np.asarray(measured - self.mean_regressor(constant) @ X)

    def mean_regressor(self, constant: int) -> Array:
        """Mean of W (equations, parameters)."""
        result = np.zeros((len(EQUATIONS), self.parameters))
        sums = self.information.grams[:, :, constant].sum(axis=0) / self.information.samples
        for j, (columns, unknowns) in enumerate(zip(self._columns, self._unknowns, strict=True)):
            result[j, unknowns] = sums[columns]
        return result

    def involving(self, unknowns: BoolArray) -> BoolArray:
        """Equations in which one of some parameters (mask) appears, its regressor not zero."""
        size = np.einsum('bii->i', self.information.grams)
        return np.array(
            [
                np.any(unknowns[parameters] & (size[columns] > 0.0))
                for columns, parameters in zip(self._columns, self._unknowns, strict=True)
            ]
        )


def estimate(
    problem: CarProblem,
    selection: Selection,
    *,
    gauss_markov: bool = False,
    spectral_weights: bool = True,
    iterations: int = ITERATIONS,
) -> Fit:
    """Iteratively weighted least squares; the first pass weighs equations by their size.

    Where hardly anything moves sideways those equations are small and pull the mass to what their
    noise tells, which leaves others unexplained. The likelihood then has a deeper minimum, which
    equal weights lead to.
    """
    _, measured = problem.squares(np.zeros(problem.parameters), selection.bands)
    lines = (selection.bands * problem.information.rows).sum(axis=1)
    used = lines > 0.0
    by_size = np.where(used, np.maximum(lines, 1.0) / np.maximum(measured, 1e-300), 0.0)
    alike = np.where(used, lines.sum() / max(measured[used].sum(), 1e-300), 0.0)
    found = []
    for start in (by_size, alike):
        weights = diagonal_weights(start[:, None] * selection.bands)
        value = solve(problem, weights, selection.parameters)[0]
        for _ in range(iterations):
            power = residual_power(problem, value, selection, spectral_weights)
            weights = line_weights(power, selection.bands, gauss_markov)
            value, inverse = solve(problem, weights, selection.parameters)
        found.append((value, weights, inverse, _depth(problem, value, selection)))
        residual, _ = problem.squares(value, selection.bands)
        if np.all(residual <= UNEXPLAINED**2 * measured):
            break
    deeper = len(found) > 1 and found[1][3] < found[0][3] - DEEPER
    value, weights, inverse, _ = found[1 if deeper else 0]
    power = residual_power(problem, value, selection, spectral_weights)
    covariance = _sandwich(problem, weights, power, selection, inverse)
    residual, measured = problem.squares(value, selection.bands)
    cost = float(
        np.sum(
            np.where(
                selection.bands,
                np.einsum('bjj->jb', problem.power(value)) * np.einsum('bjj->jb', weights),
                0.0,
            )
        )
        / max(lines.sum(), 1.0)
    )
    return Fit(
        value,
        covariance,
        power,
        residual,
        measured,
        lines,
        _condition(problem, weights, selection.parameters),
        cost,
        weights,
    )


def _depth(problem: CarProblem, value: Array, selection: Selection) -> float:
    """Mean logarithm of the rms that is left of every equation, by its lines."""
    residual, _ = problem.squares(value, selection.bands)
    lines = (selection.bands * problem.information.rows).sum(axis=1)
    used = lines > 0.0
    level = np.log(np.maximum(residual[used] / lines[used], 1e-300))
    return float(0.5 * np.average(level, weights=lines[used]))


def residual_power(
    problem: CarProblem, value: Array, selection: Selection, spectral: bool = True
) -> Array:
    """Covariance (bands, equations, equations) of one real line, smoothed over neighbours."""
    rows = problem.information.rows
    sums = problem.power(value)
    in_band = selection.bands
    # A band counts for a pair of equations only where both use it.
    both = (in_band[:, None, :] & in_band[None, :, :]).transpose(2, 0, 1)
    total, count = sums * both, rows[:, None, None] * both
    if spectral:
        total, count = _smooth(total, rows), _smooth(count, rows)
    else:
        total = np.broadcast_to(total.sum(axis=0), total.shape)
        count = np.broadcast_to(count.sum(axis=0), count.shape)
    unknowns = int(selection.parameters.sum())
    lines = (in_band * rows).sum()
    correction = lines / max(lines - unknowns, 1.0)
    power = correction * total / np.maximum(count, 1.0)
    level = np.sqrt(problem.measured_power().sum(axis=0) / max(rows.sum(), 1.0))
    diagonal = np.arange(len(EQUATIONS))
    power[:, diagonal, diagonal] = np.maximum(
        power[:, diagonal, diagonal], np.square(FLOOR * np.maximum(level, 1e-3))
    )
    return power


def _smooth(values: Array, rows: Array) -> Array:
    """Sum over as many neighbouring bands as hold SMOOTHING_ROWS lines."""
    typical = float(np.median(rows[rows > 0.0])) if (rows > 0.0).any() else 1.0
    half = int(np.ceil(0.5 * (SMOOTHING_ROWS / max(typical, 1.0) - 1.0)))
    half = max(0, min(half, int(2.0 / BAND_HZ)))
    padded = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    return np.asarray(padded[high] - padded[low])


def diagonal_weights(weights: Array) -> Array:
    """(equations, bands) to (bands, equations, equations)."""
    result = np.zeros((weights.shape[1], weights.shape[0], weights.shape[0]))
    index = np.arange(weights.shape[0])
    result[:, index, index] = weights.T
    return result


def line_weights(power: Array, bands: BoolArray, gauss_markov: bool) -> Array:
    """Inverse variances per band, or the whole inverse covariance between the equations."""
    variance = np.einsum('bjj->bj', power)
    if not gauss_markov:
        return diagonal_weights(np.where(bands, 1.0 / variance.T, 0.0))
    result = np.zeros_like(power)
    for b in range(len(power)):
        used = np.flatnonzero(bands[:, b])
        if len(used):
            block = power[b][np.ix_(used, used)]
            spread = np.sqrt(np.diag(block))
            # A little shrinkage keeps combinations that look noise-free by chance in check.
            rho = 0.98 * block / np.outer(spread, spread)
            np.fill_diagonal(rho, 1.0)
            result[b][np.ix_(used, used)] = np.linalg.inv(rho) / np.outer(spread, spread)
    return result


def solve(problem: CarProblem, weights: Array, chosen: BoolArray) -> tuple[Array, Array]:
    """Solution and inverse of the normal matrix, zero for parameters that are not chosen."""
    left, right = problem.normal(weights)
    unit, scale = _scaled(left[np.ix_(chosen, chosen)])
    try:
        root = np.linalg.inv(np.linalg.cholesky(unit))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(unit)
        weak = np.abs(vectors[:, values < 1e-12 * values[-1]]).max(axis=1, initial=0.0) > 0.1
        names = np.array(problem.model.names)[chosen][weak]
        raise EstimationError(
            f'the recording cannot tell these parameters apart: {", ".join(names)}'
        ) from None
    full_inverse = np.zeros((problem.parameters, problem.parameters))
    full_inverse[np.ix_(chosen, chosen)] = root.T @ root / np.outer(scale, scale)
    return full_inverse @ right, full_inverse


def _scaled(left: Array) -> tuple[Array, Array]:
    scale = np.sqrt(np.maximum(np.diag(left), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    return left / np.outer(scale, scale), scale


def _condition(problem: CarProblem, weights: Array, chosen: BoolArray) -> float:
    """Condition number of the weighted observation matrix with unit columns."""
    values = np.linalg.eigvalsh(_scaled(problem.normal(weights)[0][np.ix_(chosen, chosen)])[0])
    return float(np.sqrt(values[-1] / max(values[0], 1e-300)))


def _sandwich(
    problem: CarProblem, weights: Array, power: Array, selection: Selection, inverse: Array
) -> Array:
    """Covariance H^-1 (W' P Sigma P W) H^-1 with the noise that equations share."""
    meat = problem.normal(weights @ power @ weights)[0]
    return inverse @ meat @ inverse


def without_influence(problem: CarProblem, bands: BoolArray) -> BoolArray:
    """Mask of the parameters whose columns vanish in all bands used."""
    left = problem.normal(diagonal_weights(np.where(bands, 1.0, 0.0)))[0]
    return np.asarray(~(np.diag(left) > 0.0))
