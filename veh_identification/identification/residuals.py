"""One streamed pass over the residuals: rms, covariance between equations, autocovariance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
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
    covariance: Array  # (equations, equations): mean of r_i r_j at equal time
    autocovariance: Array  # (equations, lags + 1) over pairs of usable samples; positive definite
    leverage: Array | None  # (equations, lags + 1): mean of the probes' lagged sums
    gradient: Array  # (equations, columns) if asked for: W_j' r_j, to refine the solution

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
    """Residuals Y - W X of every block; excluded samples have residual zero."""
    for W, Y in checked_blocks(source):
        if W.shape[2] != len(X):
            raise EstimationError(
                f'W has {W.shape[2]} columns, but {len(X)} parameters were given'
            )
        with np.errstate(invalid='ignore', over='ignore'):
            residuals = Y - predicted(W, X)
        # Whatever is not finite in a sample shows in its residual: no pass over W for that.
        if np.isfinite(residuals).all():
            yield residuals, CleanBlock(W, Y, np.ones(len(Y), bool))
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


def _filling(pairs: Array, samples: int, excluded: int) -> Array:
    """Factor per lag that makes up for pairs of which one sample is excluded.

    A whole recording has samples - lag pairs, and its sums over them are divided by the number of
    samples (which keeps the autocovariance positive definite): the same is aimed at here. Lags
    that hardly any pair has are not blown up.
    """
    if not excluded:
        return np.ones(len(pairs))
    whole = samples * (1.0 - np.arange(len(pairs)) / (samples + excluded))
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
    auto: _AutoCovariance | None = None
    lagged: _AutoCovariance | None = None
    samples = excluded = 0
    cross: Array | float = 0.0
    measured: Array | float = 0.0
    gradient: Array | float = 0.0
    for residuals, block in residual_blocks(source, X):
        if clip is not None:
            residuals = np.clip(residuals, -clip, clip)
        auto = auto or _AutoCovariance(residuals.shape[1] + 1, maximum_lag)
        auto.add(np.column_stack([residuals, block.valid]))
        if probes is not None:
            signals = predicted(block.W, probes).reshape(len(residuals), -1)
            lagged = lagged or _AutoCovariance(signals.shape[1], maximum_lag)
            lagged.add(signals)
        samples += len(residuals) - block.excluded
        excluded += block.excluded
        cross = cross + residuals.T @ residuals
        measured = measured + np.square(block.Y).sum(axis=0)
        if with_gradient:
            gradient = gradient + _products(residuals, block.W)
    if auto is None or samples == 0:
        raise EstimationError('the recording holds no sample whose values are all finite')
    covariance = np.asarray(cross) / samples
    sums, pairs = auto.result()[:-1], auto.result()[-1]
    filling = _filling(pairs, samples, excluded)
    autocovariance = sums / samples * filling
    if excluded:
        autocovariance = np.stack([positive(row) for row in autocovariance])
    leverage = None
    if lagged is not None:
        leverage = lagged.result().reshape(len(covariance), -1, maximum_lag + 1).mean(axis=1)
        leverage = leverage * filling
    return ResidualStatistics(
        samples,
        excluded,
        np.sqrt(np.diag(covariance)),
        np.sqrt(np.asarray(measured) / samples),
        covariance,
        autocovariance,
        leverage,
        np.asarray(gradient),
    )
