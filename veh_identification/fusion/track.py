"""Signals on one common stamp: smoothed values and derivatives of irregular samples."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from veh_identification.signals.causal import CausalDerivativeFilter
from veh_identification.types import Array


class Track:
    """Samples of several channels that share their stamps, evaluated at any stamp in the past.

    `at(t)` fits the samples within `half_width` to both sides (no phase error). Where the sensor
    is too slow or has a hole there, values are interpolated linearly between neighbours that are
    no further apart than `timeout`, and the derivatives are NaN.
    """

    def __init__(self, channels: int, half_width: float, order: int, timeout: float) -> None:
        self.smoother = CausalDerivativeFilter(
            channels, cutoff_hz=1.0, order=order, max_gap=half_width, half_width=half_width
        )
        self.channels = channels
        self.half_width = half_width
        # A window that is less than half filled on one side would extrapolate.
        self._margin = 0.5 * half_width
        self._timeout = timeout
        self._memory = 2.0 * half_width + timeout
        self._recent: deque[tuple[float, tuple[float, ...] | Array]] = deque()
        self._unbroken_since = math.inf
        self._wide_gaps = 0
        #: Stamp of the newest sample, minus infinity before the first.
        self.newest = -math.inf

    @property
    def too_slow(self) -> bool:
        """Whether sample after sample comes further apart than half a window."""
        return self._wide_gaps >= 3

    def add(self, time: float, values: tuple[float, ...] | Array) -> None:
        """Take one sample, all of it finite; stamps increase. It is kept, not copied."""
        self.smoother.append(time, values)
        self._note(time, values)

    def add_beside(self, time: float, values: tuple[float, ...]) -> None:
        """`add` of a sample without a gap that the caller puts into `smoother` itself."""
        gate = self.smoother.gate
        gate.accepted += 1
        gate.last_stamp = time
        self._wide_gaps = 0
        self.newest = time
        recent = self._recent
        recent.append((time, values))
        horizon = time - self._memory
        while len(recent) > 2 and recent[1][0] < horizon:
            recent.popleft()

    def _note(self, time: float, values: tuple[float, ...] | Array) -> None:
        if time - self.newest > self.half_width:
            self._unbroken_since = time
            self._wide_gaps += 1
        else:
            self._wide_gaps = 0
        self.newest = time
        recent = self._recent
        recent.append((time, values))
        # The newest sample at or before the oldest stamp still asked for has to stay.
        horizon = time - self._memory
        while len(recent) > 2 and recent[1][0] < horizon:
            recent.popleft()

    def at(self, time: float) -> Array | None:
        """Values and first two derivatives (3, channels), or None where nothing supports it."""
        margin = self._margin
        if self._unbroken_since + margin <= time <= self.newest - margin:
            result = self.smoother.evaluate_rows(time)
            if math.isfinite(result[0, 0]):
                return result
        return self._interpolated(time)

    def value_at(self, time: float) -> Array | None:
        """Linear interpolation of the raw samples, no smoothing."""
        found = self._interpolated(time)
        return None if found is None else found[0]

    def _interpolated(self, time: float) -> Array | None:
        recent = self._recent
        if not recent or not recent[0][0] <= time <= recent[-1][0]:
            return None
        for index in range(len(recent) - 1, -1, -1):
            t0, x0 = recent[index]
            if t0 <= time:
                break
        result = np.full((3, self.channels), np.nan)
        if t0 == time:
            result[0] = x0
            return result
        t1, x1 = recent[index + 1]
        if t1 - t0 > self._timeout:
            return None
        share = (time - t0) / (t1 - t0)
        before = np.asarray(x0)
        result[0] = before + share * (np.asarray(x1) - before)
        return result

    def reset(self) -> None:
        """Forget all samples."""
        self.smoother.reset()
        self._recent.clear()
        self._unbroken_since = math.inf
        self._wide_gaps = 0
        self.newest = -math.inf
