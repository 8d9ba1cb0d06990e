"""Causal filters for live use: position, velocity and acceleration of irregularly stamped samples.

Two small stateful classes with one interface, `update(t, x) -> (position, velocity,
acceleration)`:

- `CausalDerivativeFilter`: local polynomial on a sliding window, evaluated in the middle of the
  window. All three outputs lag by the same constant `delay` and have no phase error besides it,
  which is what a regression wants. `evaluate(t)` gives the state of several sensors at one stamp.
- `KalmanDerivativeFilter`: constant-acceleration Kalman filter with a fixed bandwidth. No lag on
  slow signals, more phase error in band; for display and control.

Neither looks at a clock: equal samples give equal results to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from veh_identification.errors import SignalError
from veh_identification.signals.kalman_derivative import KalmanDerivativeFilter
from veh_identification.signals.local_polynomial import (
    fit_local_polynomial,
    half_width_for_cutoff,
    local_polynomial_response,
)
from veh_identification.signals.sample_gate import SampleGate
from veh_identification.types import Array

__all__ = ['CausalDerivativeFilter', 'KalmanDerivativeFilter']

#: Samples nearer to each other are at one place: of half a window.
APART = 0.1
#: How far beyond the samples a fit may be: of their span, and of the values for rounding.
BEYOND, ROUNDING = 0.5, 1e-6

Derivatives = tuple[Array, Array, Array]


@njit(cache=True, nogil=True)
def _evaluate(
    times: Array,
    values: Array,
    ring: NDArray[np.int64],
    centre: float,
    half_width: float,
    order: int,
    result: Array,
) -> int:
    """Fit at `centre` and turn the coefficients into derivatives, result (3, channels)."""
    coefficients = np.empty((order + 1, values.shape[1]))
    used = fit_local_polynomial(
        times, values, ring[0], ring[1], centre, half_width, order, coefficients
    )
    scale = 1.0
    for k in range(3):
        if k > 0:
            scale *= k / half_width
        for c in range(values.shape[1]):
            result[k, c] = coefficients[k, c] * scale if k <= order else np.nan
    if not _follows_samples(times, values, ring, centre, half_width, coefficients):
        result[:, :] = np.nan
    return used


@njit(cache=True, nogil=True)
def _follows_samples(
    times: Array,
    values: Array,
    ring: NDArray[np.int64],
    centre: float,
    half_width: float,
    coefficients: Array,
) -> bool:
    """Whether the samples hold a polynomial: it is near them, and they are at enough places.

    Stamps that come in bunches leave it free to go anywhere between two of them.
    """
    channels = values.shape[1]
    low, high = np.full(channels, np.inf), np.full(channels, -np.inf)
    places, last = 0, -np.inf
    for offset in range(ring[1]):
        index = ring[0] + offset
        if index >= times.shape[0]:
            index -= times.shape[0]
        if abs(times[index] - centre) < half_width:
            if times[index] - last >= APART * half_width:
                places, last = places + 1, times[index]
            for c in range(channels):
                low[c] = min(low[c], values[index, c])
                high[c] = max(high[c], values[index, c])
    if places < coefficients.shape[0]:
        return False
    for c in range(channels):
        beyond = BEYOND * (high[c] - low[c]) + ROUNDING * max(abs(low[c]), abs(high[c]))
        if not low[c] - beyond <= coefficients[0, c] <= high[c] + beyond:
            return False
    return True


@njit(cache=True, nogil=True)
def ring_slot(times: Array, ring: NDArray[np.int64], stamp: float, keep: float) -> int:
    """Make room for a sample in a ring buffer (`ring`: first entry, count), dropping what is older
    than `keep`; returns its place, or -1 when the buffer must grow first.
    """
    capacity = len(times)
    oldest_needed = stamp - keep
    while ring[1] > 0 and times[ring[0]] < oldest_needed:
        ring[0] = (ring[0] + 1) % capacity
        ring[1] -= 1
    if ring[1] == capacity:
        return -1
    index = (ring[0] + ring[1]) % capacity
    times[index] = stamp
    ring[1] += 1
    return int(index)


class CausalDerivativeFilter:
    """Low-pass and first two derivatives with one constant delay, for irregular stamps.

    Args:
        channels: number of signals filtered together.
        cutoff_hz: frequency at which the acceleration has fallen to 1/sqrt(2) (position and
            velocity pass at least as far or nearly so; see `response`).
        order: polynomial order, 2 (short delay, 0.47 / cutoff) to 6 (flat pass band,
            1.29 / cutoff); 4 by default (0.91 / cutoff, within 1 % up to 0.3 cutoff).
        max_gap: a longer pause empties the window (default: a quarter of the window).
        half_width: half window in seconds instead of the one that `cutoff_hz` gives, so that
            sensors of different kinds can share one delay.

    Attributes:
        delay: `update(t, x)` returns the state at `t - delay` (seconds).
        stamp: time of the last result, NaN before the first.
        ready: whether the last result is a number (the window is full).
    """

    def __init__(
        self,
        channels: int,
        cutoff_hz: float,
        order: int = 4,
        max_gap: float | None = None,
        half_width: float | None = None,
    ) -> None:
        self.cutoff_hz = cutoff_hz
        self.order = order
        width = half_width_for_cutoff(cutoff_hz, order, 2) if half_width is None else half_width
        if not width > 0.0 or not math.isfinite(width):
            raise SignalError(f'the half window must be a positive time, found {width} s')
        self.delay = float(width)
        self.gate = SampleGate(channels, 0.5 * width if max_gap is None else max_gap)
        #: `evaluate` may ask for stamps up to `delay` behind the last result: keep three widths.
        self.keep = 3.0 * self.delay
        self._times = np.zeros(64)
        self._values = np.zeros((64, channels))
        self.ring = np.zeros(2, np.int64)  # place of the first sample, how many
        #: Ring buffer of the stamps, of the samples, and its state.
        self.buffers = (self._times, self._values, self.ring)
        self._result = np.full((3, channels), np.nan)
        self.stamp = math.nan
        # Compile (or load from the cache) now, not on the first sample of a running system.
        self.append(0.0, np.zeros(channels))
        self.evaluate(0.0)
        self.gate.accepted = 0
        self.reset()

    @property
    def channels(self) -> int:
        """Number of signals."""
        return self.gate.channels

    @property
    def ready(self) -> bool:
        """Whether the last result is usable."""
        return math.isfinite(self.stamp)

    def reset(self) -> None:
        """Forget all samples; counters stay."""
        self.ring[:] = 0
        self._start = math.nan
        self.stamp = math.nan
        self._result[:] = np.nan
        self.gate.last_stamp = -math.inf

    def update(self, stamp: float, sample: ArrayLike) -> Derivatives:
        """Take one sample; return position, velocity and acceleration at `stamp - delay`.

        NaN while the window fills after a start or a gap. An unusable sample (NaN, not newer than
        the last one) is counted and the last result is returned again.
        """
        if self.push(stamp, np.asarray(sample, dtype=np.float64)):
            # A window that reaches before the first sample would be lopsided: wait for it.
            if stamp - self._start >= 2.0 * self.delay * (1.0 - 1e-9):
                self._set_result(stamp - self.delay)
            else:
                self.stamp = math.nan
                self._result[:] = np.nan
        result = self._result.copy()
        return result[0], result[1], result[2]

    def push(self, stamp: float, sample: Array) -> bool:
        """Take one sample without a result, for those who `evaluate` at stamps of their own.

        False for an unusable sample, which is counted as by `update`.
        """
        use, gap = self.gate.admit(stamp, sample)
        if use:
            if gap or math.isnan(self._start):
                self.ring[:] = 0
                self._start = stamp
            self._push(stamp, sample)
        return use

    def append(self, stamp: float, values: Array | tuple[float, ...]) -> None:
        """`push` for samples that are known to be finite and newer than the one before."""
        gate = self.gate
        pause = stamp - gate.last_stamp
        if pause > gate.max_gap:
            gate.gaps += int(pause < math.inf)
            self.ring[:] = 0
            self._start = stamp
        gate.accepted += 1
        gate.last_stamp = stamp
        self._push(stamp, values)

    def evaluate(self, stamp: float) -> Derivatives:
        """State at any stamp within the window, for several sensors at one common stamp.

        The result has no phase error when the samples reach `delay` seconds to both sides;
        closer to the newest sample it is a one-sided fit with more noise, and beyond the samples
        NaN: nothing is extrapolated.
        """
        result = self.evaluate_rows(stamp)
        return result[0], result[1], result[2]

    def evaluate_rows(self, stamp: float) -> Array:
        """The same as one array (3, channels)."""
        result = np.empty(self._result.shape)
        if self._start <= stamp <= self.gate.last_stamp:
            _evaluate(*self.buffers, stamp, self.delay, self.order, result)
        else:
            result[:] = np.nan
        return result

    def response(self, frequency_hz: ArrayLike) -> Array:
        """Gains (F, 3) of position, velocity, acceleration relative to the ideal, at no phase."""
        return local_polynomial_response(
            np.asarray(frequency_hz, dtype=float), self.delay, self.order
        )

    def _push(self, stamp: float, sample: Array | tuple[float, ...]) -> None:
        index = ring_slot(self._times, self.ring, stamp, self.keep)
        if index < 0:
            self.grow()
            index = ring_slot(self._times, self.ring, stamp, self.keep)
        self._values[index] = sample

    def grow(self) -> None:
        """Double the buffer."""
        capacity = len(self._times)
        order = (self.ring[0] + np.arange(capacity)) % capacity
        self._times = np.concatenate([self._times[order], np.zeros(capacity)])
        self._values = np.concatenate([self._values[order], np.zeros_like(self._values)])
        self.ring[0] = 0
        self.buffers = (self._times, self._values, self.ring)

    def _set_result(self, centre: float) -> None:
        _evaluate(*self.buffers, centre, self.delay, self.order, self._result)
        self.stamp = centre if math.isfinite(self._result[0, 0]) else math.nan
