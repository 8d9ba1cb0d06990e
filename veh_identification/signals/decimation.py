"""Parallel decimation: both sides of an equation through one filter, in blocks of any size.

A linear-phase FIR filter keeps every `factor`-th output. Only outputs that rest on real samples
are given, so no transient reaches the regression and memory is one filter length whatever the
recording's length. Decimated to twice the cut-off (`folding`), white noise is nearly white again;
what correlation remains is in `noise_correlation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import signal

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import check_cutoff
from veh_identification.types import Array, BoolArray


@njit(cache=True, nogil=True)
def _decimate(x: Array, taps: Array, factor: int, first: int, out: Array) -> None:
    """out[m] = sum_j taps[j] x[first + m factor + j] for symmetric taps; x is (n, K)."""
    length = taps.shape[0]
    half = length // 2
    for m in range(out.shape[0]):
        base = first + m * factor
        middle = taps[half]
        for k in range(x.shape[1]):
            out[m, k] = middle * x[base + half, k]
        for j in range(half):
            tap = taps[j]
            mirror = base + length - 1 - j
            for k in range(x.shape[1]):
                out[m, k] += tap * (x[base + j, k] + x[mirror, k])


@dataclass(frozen=True)
class DecimationFilter:
    """Odd, symmetric low-pass taps and the decimation factor.

    Attributes:
        taps: impulse response, unit sum.
        factor: one output per `factor` samples.
        rate: input rate in Hz.
        cutoff_hz: frequency of half gain.
        stages: (taps, factor) in the order they are run; together they equal `taps`, `factor`
            (two short stages cost a fraction of one long one).
    """

    taps: Array
    factor: int
    rate: float
    cutoff_hz: float
    stages: tuple[tuple[Array, int], ...]

    @property
    def half_length(self) -> int:
        """Samples lost at each end of a segment; the delay for live use, in samples."""
        return len(self.taps) // 2

    @property
    def output_rate(self) -> float:
        """Rate after decimation in Hz."""
        return self.rate / self.factor

    @property
    def noise_gain(self) -> float:
        """Variance of filtered white noise over that of the white noise."""
        return float(self.taps @ self.taps)

    def noise_correlation(self) -> Array:
        """Correlation of filtered white noise between outputs 0, 1, 2 ... steps apart."""
        full = np.correlate(self.taps, self.taps, 'full')[len(self.taps) - 1 :]
        return full[:: self.factor] / full[0]

    def response(self, frequency_hz: Array | float) -> Array:
        """Real gain at the given frequencies."""
        f = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
        n = np.arange(1, self.half_length + 1)
        cosine = np.cos(2.0 * np.pi * np.outer(f, n) / self.rate)
        return self.taps[self.half_length] + 2.0 * cosine @ self.taps[self.half_length + 1 :]


def share_of_rows(flags: Sequence[BoolArray], filter_: DecimationFilter) -> Array:
    """Share (M, channels) of each output that comes from flagged samples (N, channels).

    Flags of pieces without gaps; outputs of all pieces below each other.
    """
    weights = np.abs(filter_.taps) / np.abs(filter_.taps).sum()
    shares = [
        signal.fftconvolve(one.astype(float), weights[:, None], mode='valid', axes=0)
        for one in flags
    ]
    return np.concatenate([one[:: filter_.factor] for one in shares])


def design_decimation(
    rate: float,
    cutoff_hz: float,
    *,
    factor: int | None = None,
    transition: float = 0.5,
    attenuation_db: float = 60.0,
    folding: bool = False,
) -> DecimationFilter:
    """Kaiser-window low-pass with half gain at `cutoff_hz`, in one stage or two.

    The pass band ends at (1 - transition/2) cut-off and the stop band begins at
    (1 + transition/2) cut-off. The default factor puts the new Nyquist frequency at or (at most
    15 %) above the stop band's edge: nothing folds back. With `folding` it stands at the cut-off:
    rows of an equation stay exact when the transition band folds, and their noise is whiter; do
    not use it for signals that are differentiated afterwards.
    """
    check_cutoff(cutoff_hz, rate, 'decimation')
    if factor is not None and (factor < 1 or factor % 1 != 0):
        raise SignalError(
            f'decimation: the factor must be a whole number of at least 1, found {factor}'
        )
    if not 0.0 < transition <= 1.0:
        raise SignalError(f'decimation: transition must lie in (0, 1], found {transition}')
    stop = (1.0 + 0.5 * transition) * cutoff_hz
    largest = max(1, int(rate / (2.0 * (cutoff_hz if folding else stop))))
    candidates = [int(factor)] if factor else list(range(max(1, int(0.87 * largest)), largest + 1))
    if min(candidates) < 1 or (max(candidates) > 1 and cutoff_hz > 0.5 * rate / max(candidates)):
        raise SignalError(
            f'decimation by {factor} has its Nyquist frequency at {0.5 * rate / max(candidates):g}'
            f' Hz, below the cut-off {cutoff_hz:g} Hz'
        )
    designs = [
        _stages(rate, cutoff_hz, stop, transition * cutoff_hz, attenuation_db, total, first)
        for total in candidates
        for first in range(1, total + 1)
        if total % first == 0 and (first == 1 or rate / first > 4.0 * stop)
    ]
    # Multiplications per input sample: each stage works at its own output rate.
    stages = min(designs, key=_multiplications)
    taps, step = np.ones(1), 1
    for stage, factor_of_stage in stages:
        spread = np.zeros((len(stage) - 1) * step + 1)
        spread[::step] = stage
        taps = np.convolve(taps, spread)
        step *= factor_of_stage
    return DecimationFilter(np.ascontiguousarray(taps), step, rate, cutoff_hz, stages)


def _stages(
    rate: float,
    cutoff: float,
    stop: float,
    transition_hz: float,
    attenuation_db: float,
    total: int,
    first: int,
) -> tuple[tuple[Array, int], ...]:
    """One stage (first = 1), or a wide first stage that only keeps [0, stop] free of aliases."""
    made: list[tuple[Array, int]] = []
    if first > 1:
        width = rate / first - 2.0 * stop
        made.append((_kaiser(rate, 0.5 * rate / first, width, attenuation_db + 6.0), first))
    made.append((_kaiser(rate / first, cutoff, transition_hz, attenuation_db), total // first))
    return tuple(made)


def _kaiser(rate: float, cutoff: float, width: float, attenuation_db: float) -> Array:
    length, beta = signal.kaiserord(attenuation_db, width / (rate / 2.0))
    return signal.firwin(length | 1, cutoff, window=('kaiser', beta), fs=rate)


def _multiplications(stages: tuple[tuple[Array, int], ...]) -> float:
    cost, reduction = 0.0, 1
    for taps, factor in stages:
        reduction *= factor
        cost += len(taps) / reduction
    return cost


class _Stage:
    """One FIR stage over a stream of (n, K) blocks."""

    def __init__(self, taps: Array, factor: int) -> None:
        self.taps, self.factor = np.ascontiguousarray(taps), factor
        self._tail: Array | None = None
        self._skip = 0

    def push(self, block: Array) -> Array:
        flat = block
        if self._tail is not None:
            if self._tail.shape[1] != block.shape[1]:
                raise SignalError(
                    f'decimation: blocks of {self._tail.shape[1]} columns before, '
                    f'{block.shape[1]} now'
                )
            flat = np.concatenate([self._tail, block])
        count = max(0, (len(flat) - self._skip - len(self.taps)) // self.factor + 1)
        out = np.empty((count, flat.shape[1]))
        _decimate(flat, self.taps, self.factor, self._skip, out)
        consumed = self._skip + count * self.factor
        keep_from = min(consumed, len(flat))
        self._skip = consumed - keep_from
        self._tail = flat[keep_from:].copy()
        return out


class BlockDecimator:
    """Streams blocks (n, ...) through a `DecimationFilter`; equal to filtering them in one piece.

    `push` returns the outputs that became complete. Output m stands at input sample
    `half_length + m factor` of the segment. `reset` at every gap.
    """

    def __init__(self, filter_: DecimationFilter) -> None:
        self.filter = filter_
        self.reset()

    def reset(self) -> None:
        """Begin a new segment."""
        self._stages = [_Stage(taps, factor) for taps, factor in self.filter.stages]
        self.outputs = 0

    def push(self, block: Array) -> Array:
        """Take (n, ...) samples and return (m, ...) decimated ones (m may be zero)."""
        x = np.asarray(block, dtype=np.float64)
        flat = np.ascontiguousarray(x.reshape(len(x), -1))
        for stage in self._stages:
            flat = stage.push(flat)
        self.outputs += len(flat)
        return flat.reshape((len(flat), *x.shape[1:]))


def decimate(values: Array, filter_: DecimationFilter) -> Array:
    """One whole segment (N, ...) at once."""
    if len(values) < len(filter_.taps):
        raise SignalError(
            f'{len(values)} samples are shorter than the filter ({len(filter_.taps)} samples at '
            f'{filter_.cutoff_hz:g} Hz)'
        )
    return BlockDecimator(filter_).push(values)


def decimated_stamps(stamps: Array, filter_: DecimationFilter) -> Array:
    """Stamps of the outputs of `decimate` for uniform input stamps."""
    last = len(stamps) - filter_.half_length
    return stamps[filter_.half_length : last : filter_.factor]


def decimate_equations(
    blocks: Iterable[tuple[Array, Array]], filter_: DecimationFilter
) -> Iterator[tuple[Array, Array]]:
    """(W, Y) blocks of one segment, each filtered and decimated alike; memory stays flat."""
    left, right = BlockDecimator(filter_), BlockDecimator(filter_)
    for w, y in blocks:
        if len(w) != len(y):
            raise SignalError(f'a block has {len(w)} rows of W and {len(y)} rows of Y')
        w_out, y_out = left.push(w), right.push(y)
        if len(w_out):
            yield w_out, y_out
