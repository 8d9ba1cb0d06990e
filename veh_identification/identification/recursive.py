"""Recursive square-root information estimator with exponential forgetting, for live use.

State: the triangle [R z; 0 e] of all weighted rows seen, old rows faded by sqrt(lambda) per
sample. A second triangle fades by lambda per sample: the covariance of a weighted mean depends on
the squared weights, so with forgetting the naive (R'R)^-1 would be about two times too large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import clean_blocks
from veh_identification.identification.factor import (
    NULL_PARTICIPATION,
    column_norms,
    triangular_factor,
)
from veh_identification.identification.least_squares import Prior, checked_sigma
from veh_identification.types import Array

_STATE_VERSION = 1
# Live decisions want a margin over rounding: a direction counts as excited when its singular
# value in the column-scaled factor exceeds this share of the largest.
EXCITED_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LiveEstimate:
    """A snapshot of the recursive estimator."""

    value: Array  # undetermined parameters hold nan
    covariance: Array  # nan rows and columns where undetermined
    excited: NDArray[np.bool_]
    condition_number: float
    samples: int  # used so far
    effective_samples: float  # sum of the forgetting weights


class RecursiveEstimator:
    """Block-wise square-root information filter for constant or slowly changing parameters."""

    def __init__(
        self,
        names: Sequence[str],
        equation_names: Sequence[str],
        sigma: Array,
        forgetting: float = 1.0,
        prior: Prior | None = None,
        inflation: float = 1.0,
    ) -> None:
        """Set up for given noise deviations per equation and forgetting factor per sample.

        `inflation` multiplies the noise's share of the covariance where filtering colours it.
        """
        if not 0.0 < forgetting <= 1.0:
            raise EstimationError(f'forgetting must lie in (0, 1], found {forgetting:g}')
        self.names, self.equation_names = list(names), list(equation_names)
        self.sigma = checked_sigma(sigma, equation_names)
        self.forgetting, self.inflation = float(forgetting), float(inflation)
        width = len(names) + 1
        self._triangle, self._squared = np.zeros((width, width)), np.zeros((width, width))
        # The prior is knowledge, not data: it does not fade.
        self._prior_rows = np.zeros((0, width))
        if prior is not None:
            self._prior_rows = np.column_stack(prior.rows(len(names)))
        self.samples = self.excluded = 0
        self.effective_samples = self._effective_rows = 0.0
        self._telling = np.zeros(len(equation_names), bool)

    def update(self, W: Array, Y: Array) -> None:
        """Add a block of samples W (n, equations, columns), Y (n, equations) in time order."""
        shape = (len(self.equation_names), len(self.names))
        for block in clean_blocks([(W, Y)], shape):
            count = len(block.Y)
            age = np.arange(count - 1, -1, -1.0)
            # An equation whose regressor has been zero so far says nothing, its residuals neither.
            self._telling = self._telling | block.used.any(axis=1)
            Y_told = np.where(self._telling, block.Y, 0.0)
            rows = np.concatenate([block.W, Y_told[:, :, None]], axis=2) / self.sigma[:, None]
            # sqrt(lambda)^age on rows weights squares by lambda^age; the second triangle twice.
            fade = self.forgetting ** (0.5 * age)
            self._triangle = _faded(self._triangle, rows, fade, self.forgetting ** (0.5 * count))
            if self.forgetting < 1.0:
                self._squared = _faded(
                    self._squared, rows, fade**2, self.forgetting ** float(count)
                )
            self.samples += count - block.excluded
            self.excluded += block.excluded
            self.effective_samples *= self.forgetting**count
            share = self.forgetting**age
            self.effective_samples += float(share[block.valid.any(axis=1)].sum())
            self._effective_rows *= self.forgetting**count
            self._effective_rows += float((share @ block.valid)[self._telling].sum())

    def estimate(self) -> LiveEstimate:
        """Current values, covariance, condition number and which parameters are excited."""
        p = len(self.names)
        full = triangular_factor(np.vstack([self._triangle, self._prior_rows]))
        R, z = full[:p, :p], full[:p, p]
        scale = column_norms(R)
        U, values, Vt = np.linalg.svd(R / scale)
        rank = int(np.count_nonzero(values > EXCITED_TOLERANCE * max(values[0], 1e-300)))
        # Where null directions do not reach, the minimum-norm solution is the unique one.
        excited = np.linalg.norm(Vt[rank:], axis=0) < NULL_PARTICIPATION
        inverse = (Vt[:rank].T / values[:rank]) @ U[:, :rank].T / scale[:, None]
        rest = np.append(U[:, rank:].T @ z, full[p, p])
        covariance = self._covariance(inverse, float(rest @ rest))
        value = inverse @ z
        value[~excited] = np.nan
        covariance[~excited, :] = covariance[:, ~excited] = np.nan
        return LiveEstimate(
            value,
            covariance,
            excited,
            float(values[0] / values[-1]) if values[-1] > 0.0 else math.inf,
            self.samples,
            self.effective_samples,
        )

    def _covariance(self, inverse: Array, rss: float) -> Array:
        """Covariance of the faded estimate with the noise level that the residuals show (26)."""
        p = len(self.names)
        faded = self._squared if self.forgetting < 1.0 else self._triangle
        # Residuals and inflation speak of the samples' noise; the prior has its own covariance.
        spread, known = faded[:, :p] @ inverse, self._prior_rows[:, :p] @ inverse
        noise = spread.T @ spread
        freedom = self._effective_rows - float(np.trace(noise))
        # Too few residuals say nothing about their own size: trust the given sigma instead.
        variance = rss / freedom if freedom > 10.0 else 1.0
        core = self.inflation * variance * noise + known.T @ known
        return inverse @ core @ inverse.T

    def reset(self) -> None:
        """Forget all samples; the prior stays."""
        self._triangle[:], self._squared[:] = 0.0, 0.0
        self.samples = self.excluded = 0
        self.effective_samples = self._effective_rows = 0.0
        self._telling[:] = False

    def state(self) -> dict[str, Any]:
        """Return plain arrays and numbers, fit for np.savez and back through `from_state`."""
        return {
            'version': _STATE_VERSION,
            'names': np.array(self.names),
            'equation_names': np.array(self.equation_names),
            'sigma': self.sigma.copy(),
            'forgetting': self.forgetting,
            'inflation': self.inflation,
            'triangle': self._triangle.copy(),
            'squared': self._squared.copy(),
            'prior_rows': self._prior_rows.copy(),
            'samples': self.samples,
            'excluded': self.excluded,
            'effective_samples': self.effective_samples,
            'effective_rows': self._effective_rows,
            'telling': self._telling.copy(),
        }

    @staticmethod
    def from_state(state: dict[str, Any]) -> RecursiveEstimator:
        """Restore an estimator from `state()` or from an opened npz file."""
        if 'version' not in state or int(state['version']) != _STATE_VERSION:
            raise EstimationError(f'the stored estimator must have state version {_STATE_VERSION}')
        result = RecursiveEstimator(
            [str(n) for n in state['names']],
            [str(n) for n in state['equation_names']],
            np.asarray(state['sigma'], float),
            float(state['forgetting']),
            inflation=float(state['inflation']),
        )
        width = len(result.names) + 1
        for key in ('triangle', 'squared', 'prior_rows'):
            array = np.array(state[key], float)
            if array.shape[1:] != (width,) or not np.isfinite(array).all():
                raise EstimationError(f'the stored estimator holds an unusable {key!r}')
            setattr(result, f'_{key}', array)
        result.samples, result.excluded = int(state['samples']), int(state['excluded'])
        result.effective_samples = float(state['effective_samples'])
        if 'effective_rows' in state:
            result._effective_rows = float(state['effective_rows'])
            result._telling = np.array(state['telling'], bool)
        else:  # stored before rows were counted by equation
            result._effective_rows = result.effective_samples * len(result.sigma)
            result._telling[:] = True
        return result


def _faded(triangle: Array, rows: Array, fade: Array, old: float) -> Array:
    width = triangle.shape[1]
    new = (rows * fade[:, None, None]).reshape(-1, width)
    return triangular_factor(np.vstack([old * triangle, new]))
