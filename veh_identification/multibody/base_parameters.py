"""Base parameters found numerically: the combinations that the equations can tell apart.

Everything works on the triangular factor of the observation matrix, so a recording of any length
is treated in the memory of one block (Gautier's QR method; Venture 2006, section III.B.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from veh_identification.errors import EstimationError
from veh_identification.multibody.columns import Columns
from veh_identification.multibody.motion import Motion, random_motion
from veh_identification.multibody.parameter_relations import ParameterMap
from veh_identification.multibody.regressor import Regressor
from veh_identification.types import Array, IntArray

# A column this much shorter than the longest one has no effect (rounding of exact zeros).
NO_EFFECT = 1e-11
# Only what lies below this share of the spectrum's top can be a numerical zero.
ZERO_CEILING = 1e-6


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which columns to keep and how the others join them: x_base = full_to_base @ x_full.

    `W_full x_full = W_full[:, base] x_base` for every motion (or for the recording studied).
    `spectrum` is the falling diagonal of the pivoted QR of the scaled matrix, `tolerance` the
    border between what counts and what does not, `gap` the ratio across it.
    """

    columns: Columns
    base: IntArray
    full_to_base: Array
    no_effect: IntArray
    spectrum: Array
    tolerance: float
    gap: float

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return int(self.base.size)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that carry the base parameters."""
        names = self.columns.names
        return tuple(names[k] for k in self.base)

    @property
    def base_to_full(self) -> Array:
        """One full vector with the same predictions: the parameters that were regrouped are 0."""
        matrix = np.zeros((len(self.columns), self.rank))
        matrix[self.base, np.arange(self.rank)] = 1.0
        return matrix

    @property
    def null_space(self) -> Array:
        """Directions (full, full - rank) along which x_full may move unseen."""
        others = np.setdiff1d(np.arange(len(self.columns)), self.base)
        matrix = np.zeros((len(self.columns), others.size))
        matrix[others, np.arange(others.size)] = 1.0
        matrix[self.base] = -self.full_to_base[:, others]
        return matrix

    def relations(self, digits: int = 6) -> list[str]:
        """`NAME_R = NAME + 0.5 * OTHER ...` per base parameter; rounding is for print only."""
        return [self._relation(row, digits) for row in range(self.rank)]

    def _relation(self, row: int, digits: int) -> str:
        name = self.columns.names[self.base[row]]
        weights = self.full_to_base[row]
        terms = [name]
        for k in np.flatnonzero(np.abs(weights) > 1e-9):
            if k == self.base[row]:
                continue
            size = f'{abs(weights[k]):.{digits}g}'
            factor = '' if size == '1' else f'{size} * '
            terms.append(f'{"-" if weights[k] < 0 else "+"} {factor}{self.columns.names[k]}')
        return f'{name}_R = {" ".join(terms)}' if len(terms) > 1 else f'{name} alone'


def triangular_factor(blocks: Iterable[Array], columns: int) -> Array:
    """R of the QR factorisation of all blocks (any, columns) below each other, streamed."""
    R = np.zeros((0, columns))
    for block in blocks:
        rows = block.reshape(-1, columns)
        if not np.all(np.isfinite(rows)):
            raise EstimationError('the observation matrix holds values that are not finite')
        R = np.asarray(np.linalg.qr(np.vstack([R, rows]), mode='r'))
    return R


def factor_of_motion(
    regressor: Regressor, motion: Motion, mapping: ParameterMap | None = None
) -> Array:
    """Triangular factor of a regressor over a motion, block by block."""
    _check_unknowns(regressor, mapping)
    blocks = (W if mapping is None else mapping.reduce(W) for _, W in regressor.blocks(motion))
    count = len(regressor.columns if mapping is None else mapping.columns)
    return triangular_factor(blocks, count)


def structural_base_parameters(
    regressor: Regressor, mapping: ParameterMap | None = None, seed: int = 0
) -> BaseParameters:
    """What the structure allows to identify, from random motion."""
    _check_unknowns(regressor, mapping)
    rows, columns = regressor.shape
    samples = max(20, 4 * (columns // rows + 1))
    factor = factor_of_motion(regressor, random_motion(regressor.model, samples, seed), mapping)
    return base_from_factor(factor, regressor.columns if mapping is None else mapping.columns)


def _check_unknowns(regressor: Regressor, mapping: ParameterMap | None) -> None:
    """A model whose moving bodies have no mass has no parameter, one that cannot move no row."""
    rows, columns = regressor.shape
    free = columns if mapping is None else len(mapping.columns)
    if columns == 0 or rows == 0:
        what = 'no moving body with mass' if rows else 'no equation of motion'
        raise EstimationError(
            f'model {regressor.model.name}: there is {what}, so there is nothing to identify'
        )
    if free == 0:
        raise EstimationError(
            f'model {regressor.model.name}: the relations between parameters '
            'leave none free, so there is nothing to identify'
        )


def base_from_factor(
    factor: Array, columns: Columns, tolerance: float | None = None
) -> BaseParameters:
    """Base parameters of any observation matrix with the triangular factor `factor`.

    `tolerance` (share of the spectrum's top) replaces the border found from the gap. Earlier
    columns are kept rather than later ones, so parameters regroup towards the base of the tree.
    """
    lengths = np.linalg.norm(factor, axis=0)
    used = np.flatnonzero(lengths > NO_EFFECT * np.max(lengths, initial=0.0))
    if used.size == 0:
        raise EstimationError('no parameter has an effect on the rows')
    scaled = factor[:, used] / lengths[used]
    _, R, pivots = qr(scaled, mode='economic', pivoting=True, check_finite=False)
    spectrum = np.zeros(used.size)
    diagonal = np.abs(np.diag(R))
    spectrum[: diagonal.size] = diagonal / diagonal[0]
    rank, border, gap = _rank(spectrum, tolerance)
    chosen = _first_independent(scaled, border * diagonal[0])
    if chosen.size != rank:
        chosen = np.sort(pivots[:rank])
    kept = used[chosen]
    return BaseParameters(
        columns=columns,
        base=kept,
        full_to_base=_regrouping(factor, lengths, kept, used),
        no_effect=np.setdiff1d(np.arange(len(columns)), used),
        spectrum=spectrum,
        tolerance=border,
        gap=gap,
    )


def _rank(spectrum: Array, tolerance: float | None) -> tuple[int, float, float]:
    """Rank, border and the ratio across it; the widest gap below ZERO_CEILING decides."""
    padded = np.append(np.maximum(spectrum, np.finfo(float).tiny), np.finfo(float).eps / 10)
    ratios = padded[:-1] / np.maximum(padded[1:], np.finfo(float).eps / 10)
    if tolerance is not None:
        rank = int(np.sum(spectrum > tolerance))
        return rank, tolerance, float(ratios[rank - 1]) if rank else 0.0
    below = np.flatnonzero(padded[1:] < ZERO_CEILING)
    rank = int(below[np.argmax(ratios[below])]) + 1
    return rank, float(np.sqrt(padded[rank - 1] * padded[rank])), float(ratios[rank - 1])


def _first_independent(scaled: Array, border: float) -> IntArray:
    """Columns that lie further than `border` from the span of the columns kept before them."""
    basis = np.zeros(scaled.shape[::-1])  # vectors in rows; the first len(kept) are filled
    kept: list[int] = []
    for k in range(scaled.shape[1]):
        rest, found = scaled[:, k], basis[: len(kept)]
        for _ in range(2):
            # Twice is enough for orthogonality to rounding.
            rest = rest - (found @ rest) @ found
        distance = float(np.sqrt(rest @ rest))
        if distance > border and len(kept) < len(rest):
            basis[len(kept)] = rest / distance
            kept.append(k)
    return np.array(kept, dtype=np.int64)


def _regrouping(factor: Array, lengths: Array, kept: IntArray, used: IntArray) -> Array:
    """full_to_base: identity on the kept columns, least-squares weights for the others."""
    result = np.zeros((kept.size, factor.shape[1]))
    result[np.arange(kept.size), kept] = 1.0
    others = np.setdiff1d(used, kept)
    if others.size:
        Q, R = np.linalg.qr(factor[:, kept] / lengths[kept])
        weights = solve_triangular(R, Q.T @ (factor[:, others] / lengths[others]))
        result[:, others] = weights / lengths[kept][:, None] * lengths[others]
    return result


def unexcited_parameters(
    structural: BaseParameters, factor: Array, tolerance: float | None = None
) -> dict[str, str]:
    """Base parameters that a recording does not tell apart, with the reason, by name.

    `factor` is the triangular factor of the recording over the same columns as `structural`.
    """
    reduced = factor[:, structural.base]
    found = base_from_factor(reduced, structural.columns.take(structural.base), tolerance)
    names, reasons = found.columns.names, {}
    for k in found.no_effect:
        reasons[names[k]] = 'has no effect in this recording'
    for k in np.setdiff1d(np.arange(len(names)), [*found.base, *found.no_effect]):
        weights = np.abs(found.full_to_base[:, k])
        partners = [found.names[i] for i in np.argsort(-weights) if weights[i] > 1e-6][:4]
        reasons[names[k]] = f'cannot be told apart from {", ".join(partners)}'
    return reasons
