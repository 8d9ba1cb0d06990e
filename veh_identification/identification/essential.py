"""Essential parameters: step by step removal of those that the data do not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from veh_identification.identification.factor import Factor
from veh_identification.identification.statistics import require_determined
from veh_identification.types import Array


@dataclass(frozen=True)
class Removal:
    """Why one parameter left the model."""

    name: str
    value: float
    rel_std_percent: float
    F: float
    probability: float  # of an F at least as large if the parameter were truly zero
    residual_increase_percent: float  # of the weighted residual norm
    reason: str


@dataclass(frozen=True)
class EssentialFit:
    """Indices of the parameters kept and the removed ones in the order of removal."""

    kept: NDArray[np.intp]
    value: Array  # all parameters, zero where removed
    covariance: Array  # all parameters, zero where removed
    removed: list[Removal]


def essential_parameters(
    factor: Factor,
    names: Sequence[str],
    inflation: Array | float = 1.0,
    relative_limit_percent: float = 30.0,
    significance: float = 0.05,
    protected: Sequence[str] = (),
) -> EssentialFit:
    """Remove the parameter with the largest relative deviation while that costs nothing.

    A parameter goes when its sigma% exceeds the limit and the F-test of the residual increase
    cannot tell it from zero. `inflation` (true variance over white-noise variance, per parameter)
    keeps the test honest under coloured noise. The factor must have its rows weighted.
    """
    require_determined(factor, names)
    inflation = np.broadcast_to(np.asarray(inflation, float), (len(names),))
    kept = np.arange(len(names))
    keep_always = {names.index(name) for name in protected} if protected else set()
    removed: list[Removal] = []
    while True:
        current = factor.select(kept)
        value, covariance = _solve(current)
        covariance = covariance * np.sqrt(np.outer(inflation[kept], inflation[kept]))
        relative = 100.0 * np.sqrt(np.diag(covariance)) / np.maximum(np.abs(value), 1e-300)
        candidate = _worst_removable(
            current,
            factor,
            kept,
            value,
            covariance,
            relative,
            keep_always,
            names,
            relative_limit_percent,
            significance,
        )
        if candidate is None or len(kept) == 1:
            break
        index, removal = candidate
        removed.append(removal)
        kept = np.delete(kept, index)
    full_value, full_covariance = np.zeros(len(names)), np.zeros((len(names), len(names)))
    full_value[kept] = value
    full_covariance[np.ix_(kept, kept)] = covariance
    return EssentialFit(kept, full_value, full_covariance, removed)


def _solve(factor: Factor) -> tuple[Array, Array]:
    inverse = factor.inverse()
    variance = factor.rss / (factor.rows - len(factor.z))
    return factor.solve(), variance * (inverse @ inverse.T)


def _worst_removable(
    current: Factor,
    original: Factor,
    kept: NDArray[np.intp],
    value: Array,
    covariance: Array,
    relative: Array,
    keep_always: set[int],
    names: Sequence[str],
    limit: float,
    significance: float,
) -> tuple[int, Removal] | None:
    """Return the position in `kept` of the parameter to remove next, with the reason."""
    freedom = current.rows - len(kept)
    for index in np.argsort(-relative):
        if relative[index] <= limit:
            return None
        if int(kept[index]) in keep_always:
            continue
        # Removing one parameter raises the residual by exactly value^2 / variance (in sigma^2).
        F = float(value[index] ** 2 / max(covariance[index, index], 1e-300))
        probability = float(f_distribution.sf(F, 1, freedom))
        if probability < significance:
            continue
        rss = original.select(np.delete(kept, index)).rss
        increase = 100.0 * (float(np.sqrt(rss / max(original.rss, 1e-300))) - 1.0)
        reason = (
            f'sigma% {relative[index]:.3g} > {limit:g} and F = {F:.3g} cannot be told from zero '
            f'(p = {probability:.2g}); residual +{increase:.2g} % over the full model'
        )
        name = names[int(kept[index])]
        return int(index), Removal(
            name, float(value[index]), float(relative[index]), F, probability, increase, reason
        )
    return None
