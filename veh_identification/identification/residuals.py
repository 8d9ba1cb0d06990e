"""One streamed pass over the residuals: rms, covariance between equations, autocovariance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import (
    LARGE,
    BlockSource,
    CleanBlock,
    checked_blocks,
    clean,
)
from veh_identification.identification.worker_threads import for_each
from veh_identification.types import Array

MAXIMUM_LAG = 2000
_CHUNK = 4096


@dataclass(frozen=True)
class ResidualStatistics:
    """Second moments of the residuals of one parameter vector over one recording."""

    samples: int
    excluded: int
    rms: Array  # (equations,)
    measured_rms: Array  # (equations,)
    pairs: NDArray[np.int64]  # (equations, equations): samples in which both are usable
    neighbours: NDArray[np.int64]  # (equations,): rows whose neighbour in time is usable, and one
    covariance: Array  # (equations, equations): mean of r_i r_j at equal time
    autocovariance: Array  # (equations, lags + 1) over pairs of usable samples; positive definite
    leverage: Array | None  # (equations, lags + 1): mean of the probes' lagged sums
    gradient: Array  # (equations, columns) if asked for: W_j' r_j, to refine the solution

    @property
    def rows(self) -> NDArray[np.int64]:
        """Usable rows of every equation."""
        return np.diag(self.pairs)

    @property
    def lacking(self) -> NDArray[np.int64]:
        """Rows of every equation that are not usable."""
        return self.samples + self.excluded - self.rows

    @property
    def rms_relative(self) -> Array:
        """Share rms(residual) / rms(measured); nan where the measurement is zero throughout."""
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(self.measured_rms > 0.0, self.rms / self.measured_rms, np.nan)


def predicted(W: Array, X: Array) -> Array:
    """W X for all samples in one product (a stack of small ones is several times slower)."""
    product = np.ascontiguousarray(W).reshape(-1, W.shape[2]) @ X
    return product.reshape(W.shape[:2] + X.shape[1:])


def residual_blocks(source: BlockSource, X: Array) -> Iterator[tuple[Array, CleanBlock]]:
    """Residuals Y - W X of every block; rows that are not usable have residual zero."""
    for W, Y in checked_blocks(source):
        if W.shape[2] != len(X):
            raise EstimationError(
                f'W has {W.shape[2]} columns, but {len(X)} parameters were given'
            )
        with np.errstate(invalid='ignore', over='ignore'):
            residuals = Y - predicted(W, X)
        # Whatever is not finite in a row shows in its residual: no pass over W for that.
        if np.isfinite(residuals).all():
            yield residuals, CleanBlock(W, Y, np.ones(Y.shape, bool))
        else:
            block = clean(W, Y)
            yield block.Y - predicted(block.W, X), block


class _AutoCovariance:
    """Sums of lagged products over a stream, with a memory of one chunk and the largest lag."""

    def __init__(self, equations: int, lags: int) -> None:
        self.lags = lags
        self._size = next_fast_len(_CHUNK + 2 * lags, real=True)
        self.sums = np.zeros((equations, lags + 1))
        self._past = np.zeros((equations, lags))
        self._queue: list[Array] = []
        self._queued = 0

    def add(self, residuals: Array) -> None:
        self._queue.append(residuals.T)
        self._queued += len(residuals)
        if self._queued >= _CHUNK:
            self._flush()

    def result(self) -> Array:
        if self._queue:
            self._flush()
        return self.sums

    def repeat_last(self, count: int) -> None:
        """From now on `count` channels for the last one; what they have seen is the same."""
        self.result()
        kept = np.append(np.arange(len(self.sums) - 1), [len(self.sums) - 1] * count)
        self.sums, self._past = self.sums[kept], self._past[kept]

    def _flush(self) -> None:
        data = np.concatenate(self._queue, axis=1)
        self._queue, self._queued = [], 0
        for start in range(0, data.shape[1], _CHUNK):
            self._products(data[:, start : start + _CHUNK])

    def _products(self, chunk: Array) -> None:
        extended = np.concatenate([self._past, chunk], axis=1)
        # sum_k chunk[k] extended[k + lags - l]: products with the past only, each pair once.
        spectrum = rfft(extended, self._size, axis=1)
        spectrum *= np.conj(rfft(chunk, self._size, axis=1))
        self.sums += irfft(spectrum, self._size, axis=1)[:, self.lags :: -1][:, : self.lags + 1]
        if self.lags:
            self._past = extended[:, -self.lags :]


def _filling(pairs: Array, rows: int, lacking: int) -> Array:
    """Factor per lag that makes up for pairs of which one row is missing.

    A whole recording has samples - lag pairs, and its sums over them are divided by the number of
    samples (which keeps the autocovariance positive definite): the same is aimed at here. Lags
    that hardly any pair has are not blown up.
    """
    if not lacking:
        return np.ones(len(pairs))
    whole = rows * (1.0 - np.arange(len(pairs)) / (rows + lacking))
    return np.minimum(whole / np.maximum(pairs, 1.0), 4.0)


def positive(autocovariance: Array) -> Array:
    """The nearest autocovariance without negative power, of the same variance."""
    if autocovariance[0] <= 0.0:
        return autocovariance
    both = np.concatenate([autocovariance, autocovariance[:0:-1]])
    power = rfft(both).real
    result = irfft(np.maximum(power, 1e-6 * power.max()), len(both))[: len(autocovariance)]
    return np.asarray(result * (autocovariance[0] / result[0]))


def _products(residuals: Array, W: Array) -> Array:
    rows = for_each(
        lambda j: residuals[:, j] @ W[:, j], range(W.shape[1]), worth_it=W.size > LARGE
    )
    return np.stack(rows)


class _Moments:
    """Sums over the residuals of a stream; tells apart which rows of a sample are usable."""

    def __init__(self, equations: int, maximum_lag: int) -> None:
        self.samples = self.excluded = 0
        self.cross = np.zeros((equations, equations))
        self.pairs = np.zeros((equations, equations), np.int64)
        # The last channels tell which rows are usable: one for all equations while all agree.
        self._auto = _AutoCovariance(equations + 1, maximum_lag)
        self._apart = False
        self._equations = equations

    def add(self, residuals: Array, block: CleanBlock) -> None:
        valid, excluded = block.valid, block.excluded
        used = len(valid) - excluded
        alike = bool(block.counts.min() == used)  # no sample is usable in part
        if not alike and not self._apart:
            self._auto.repeat_last(self._equations)
            self._apart = True
        known = valid if self._apart else valid[:, :1]
        self._auto.add(np.column_stack([residuals, known]))
        self.samples += used
        self.excluded += excluded
        self.cross += residuals.T @ residuals
        self.pairs += used if alike else valid.T.astype(np.int64) @ valid.astype(np.int64)

    def lagged(self) -> tuple[Array, Array]:
        """Sums of lagged products of every equation, and the number of pairs in them."""
        sums = self._auto.result()
        n = self._equations
        return sums[:n], np.broadcast_to(sums[n:], (n, sums.shape[1]))


def residual_statistics(
    source: BlockSource,
    X: Array,
    maximum_lag: int = MAXIMUM_LAG,
    clip: Array | None = None,
    probes: Array | None = None,
    with_gradient: bool = False,
) -> ResidualStatistics:
    """Read a source once and gather the moments of Y - W X (`maximum_lag` 0: no colour).

    `clip` bounds the residuals per equation, so that outliers do not hide the noise. `probes`
    (columns, count) are random parameter vectors whose predictions W probe are gathered too.
    """
    moments: _Moments | None = None
    leverages: _AutoCovariance | None = None
    measured: Array | float = 0.0
    gradient: Array | float = 0.0
    for residuals, block in residual_blocks(source, X):
        if clip is not None:
            residuals = np.clip(residuals, -clip, clip)
        moments = moments or _Moments(residuals.shape[1], maximum_lag)
        moments.add(residuals, block)
        if probes is not None:
            signals = predicted(block.W, probes).reshape(len(residuals), -1)
            leverages = leverages or _AutoCovariance(signals.shape[1], maximum_lag)
            leverages.add(signals)
        measured = measured + np.square(block.Y).sum(axis=0)
        if with_gradient:
            gradient = gradient + _products(residuals, block.W)
    if moments is None or moments.samples == 0:
        raise EstimationError('the recording holds no sample whose values are all finite')
    covariance = moments.cross / np.maximum(moments.pairs, 1)
    rows = np.diag(moments.pairs)
    lacking = moments.samples + moments.excluded - rows
    sums, pairs = moments.lagged()
    filling = np.stack(
        [_filling(*each) for each in zip(pairs, rows.tolist(), lacking.tolist(), strict=True)]
    )
    autocovariance = sums / np.maximum(rows, 1)[:, None] * filling
    for j in np.flatnonzero(lacking):
        autocovariance[j] = positive(autocovariance[j])
    leverage = None
    if leverages is not None:
        leverage = leverages.result().reshape(len(rows), -1, maximum_lag + 1).mean(axis=1)
        leverage = leverage * filling
    following = np.rint(pairs[:, min(1, maximum_lag)]).astype(np.int64) + 1
    return ResidualStatistics(
        samples=moments.samples,
        excluded=moments.excluded,
        rms=np.sqrt(np.diag(covariance)),
        measured_rms=np.sqrt(np.asarray(measured) / np.maximum(rows, 1)),
        pairs=moments.pairs,
        neighbours=np.minimum(rows, following),
        covariance=covariance,
        autocovariance=autocovariance,
        leverage=leverage,
        gradient=np.asarray(gradient),
    )
