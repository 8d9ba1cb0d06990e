"""Signals on one common stamp: smoothed values and derivatives of irregular samples."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from veh_identification.signals.causal import CausalDerivativeFilter

FloatArray = NDArray[np.float64]
Derivatives = tuple[FloatArray, FloatArray, FloatArray]


class Track:
    """Samples of several channels that share their stamps, evaluated at any stamp in the past.

    `at(t)` fits the samples within `half_width` to both sides (no phase error). Where the sensor
    is too slow or has a hole there, values are interpolated linearly between neighbours that are
    no further apart than `timeout`, and the derivatives are NaN.
    """

    def __init__(self, channels: int, half_width: float, order: int, timeout: float) -> None:
        self._filter = CausalDerivativeFilter(
            channels, cutoff_hz=1.0, order=order, max_gap=half_width, half_width=half_width
        )
        self._half_width = half_width
        self._timeout = timeout
        self._recent: deque[tuple[float, FloatArray]] = deque()
        self._nothing = np.full(channels, np.nan)
        self._unbroken_since = math.inf
        self._wide_gaps = 0

    @property
    def too_slow(self) -> bool:
        """Whether sample after sample comes further apart than half a window."""
        return self._wide_gaps >= 3

    @property
    def newest(self) -> float:
        """Stamp of the newest sample, minus infinity before the first."""
        return self._recent[-1][0] if self._recent else -math.inf

    def add(self, time: float, values: tuple[float, ...] | FloatArray) -> None:
        """Take one sample; stamps increase."""
        x = np.array(values)
        self._filter.push(time, x)
        recent = self._recent
        if not recent or time - recent[-1][0] > self._half_width:
            self._unbroken_since = time
            self._wide_gaps += 1
        else:
            self._wide_gaps = 0
        recent.append((time, x))
        # The newest sample at or before the oldest stamp still asked for has to stay.
        horizon = time - 2.0 * self._half_width - self._timeout
        while len(recent) > 2 and recent[1][0] < horizon:
            recent.popleft()

    def at(self, time: float) -> Derivatives | None:
        """Values and first two derivatives, or None where no sample supports `time`."""
        # A window that is less than half filled on one side would extrapolate.
        margin = 0.5 * self._half_width
        if self._unbroken_since + margin <= time <= self.newest - margin:
            result = self._filter.evaluate(time)
            if math.isfinite(result[0][0]):
                return result
        return self._interpolated(time)

    def value_at(self, time: float) -> FloatArray | None:
        """Linear interpolation of the raw samples, no smoothing."""
        found = self._interpolated(time)
        return None if found is None else found[0]

    def _interpolated(self, time: float) -> Derivatives | None:
        recent = self._recent
        if not recent or not recent[0][0] <= time <= recent[-1][0]:
            return None
        for index in range(len(recent) - 1, -1, -1):
            t0, x0 = recent[index]
            if t0 <= time:
                break
        if t0 == time:
            return x0, self._nothing, self._nothing
        t1, x1 = recent[index + 1]
        if t1 - t0 > self._timeout:
            return None
        share = (time - t0) / (t1 - t0)
        return x0 + share * (x1 - x0), self._nothing, self._nothing

    def reset(self) -> None:
        """Forget all samples."""
        self._filter.reset()
        self._recent.clear()
        self._unbroken_since = math.inf
        self._wide_gaps = 0
