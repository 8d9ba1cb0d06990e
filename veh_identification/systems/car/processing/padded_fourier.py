"""Fourier transform of one stretch of samples, extended so that its ends do not leak."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from veh_identification.types import Array

Lines = NDArray[np.complex128]
#: Seconds of odd reflection at each end.
PAD_SECONDS = 1.0


@dataclass(frozen=True)
class Padded:
    """Transforms of signals (count,) at `rate`; the line through the ends is taken off."""

    rate: float
    count: int

    @cached_property
    def pad(self) -> int:
        """Samples added at each end."""
        return min(self.count - 1, int(PAD_SECONDS * self.rate))

    @cached_property
    def length(self) -> int:
        """Length of the transform."""
        return int(fft.next_fast_len(self.count + 2 * self.pad, real=True))

    @cached_property
    def frequency(self) -> Array:
        """Frequency of every line in Hz."""
        return np.asarray(fft.rfftfreq(self.length, 1.0 / self.rate))

    @cached_property
    def fade(self) -> Array:
        """From 0 far away to 1 at half of the reflection."""
        ramp = np.minimum(1.0, 2.0 * np.arange(self.pad) / self.pad)
        return np.asarray(np.sin(0.5 * np.pi * ramp) ** 2)

    def forward(self, x: Array) -> tuple[Lines, float]:
        """Lines of one signal and the slope of the line that was taken off."""
        pad = self.pad
        odd = x - np.linspace(x[0], x[-1], self.count)
        extended = np.zeros(self.length)
        extended[:pad] = -odd[pad:0:-1] * self.fade
        extended[pad : pad + self.count] = odd
        extended[pad + self.count : 2 * pad + self.count] = (
            -odd[-2 : -pad - 2 : -1] * self.fade[::-1]
        )
        slope = float(x[-1] - x[0]) * self.rate / (self.count - 1)
        return np.asarray(fft.rfft(extended)), slope

    def backward(self, lines: Lines) -> Array:
        """Signal (count,) of lines, without any trend."""
        return np.asarray(fft.irfft(lines, self.length)[self.pad : self.pad + self.count])
