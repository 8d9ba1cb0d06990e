"""Spectra (Welch) over the valid segments of a recording, and their white noise floors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import fft, signal
from scipy.stats import chi2

from veh_identification.errors import SignalError
from veh_identification.signals.segments import contiguous_segments
from veh_identification.signals.time_series import require_finite
from veh_identification.types import Array, BoolArray

#: Windows that are transformed in one call.
AT_ONCE = 16


@dataclass(frozen=True)
class Spectrum:
    """One-sided power spectral density (F, C) in unit^2 / Hz."""

    frequency_hz: Array
    density: Array
    names: tuple[str, ...]
    averages: float
    rate: float

    @property
    def resolution_hz(self) -> float:
        """Distance of two lines."""
        return float(self.frequency_hz[1])

    def peaks(self, channel: int, count: int = 5) -> list[float]:
        """Frequencies of the strongest local maxima that stand out of their surroundings."""
        level = np.log(np.maximum(self.density[1:, channel], 1e-300))
        places, found = signal.find_peaks(level, prominence=1.0)
        order = np.argsort(found['prominences'])[::-1][:count]
        return [float(self.frequency_hz[1 + p]) for p in places[order]]


def welch_spectrum(
    values: Array,
    rate: float,
    *,
    names: Sequence[str] | None = None,
    valid: BoolArray | None = None,
    window_seconds: float | None = None,
) -> Spectrum:
    """Welch's average of Hann-windowed, linearly detrended, half-overlapping windows.

    Windows never span a gap. By default the window is the power of two that gives about sixteen
    averages on the longest segment.
    """
    x = np.asarray(values, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    mask = np.ones(len(x), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    require_finite(x[mask], 'spectrum')
    segments = contiguous_segments(mask)
    longest = max((s.stop - s.start for s in segments), default=0)
    if window_seconds is None:
        length = int(2 ** np.floor(np.log2(max(longest, 1) / 4.5))) if longest >= 72 else longest
        length = min(length, 8192)
    else:
        length = round(window_seconds * rate)
    if length < 16 or longest < length:
        raise SignalError(
            f'a spectrum with windows of {length} samples needs a segment at least that long and '
            f'16 samples; the longest has {longest}'
        )
    window = signal.get_window('hann', length)
    scale = 2.0 / (rate * (window @ window))
    total = np.zeros((length // 2 + 1, x.shape[1]))
    count = 0
    for segment in segments:
        if segment.stop - segment.start < length:
            continue
        overlapping = sliding_window_view(x[segment], length, axis=0)[:: length // 2]
        for first in range(0, len(overlapping), AT_ONCE):
            blocks = _detrended(overlapping[first : first + AT_ONCE]) * window
            total += (np.abs(fft.rfft(blocks, axis=-1)) ** 2).sum(axis=0).T
        count += len(overlapping)
    density = total * (scale / count)
    density[0] *= 0.5
    if length % 2 == 0:
        density[-1] *= 0.5
    labels = tuple(names) if names else tuple(f'channel {c}' for c in range(x.shape[1]))
    return Spectrum(fft.rfftfreq(length, 1.0 / rate), density, labels, float(count), rate)


def _detrended(blocks: Array) -> Array:
    """Blocks along the last axis without their straight lines."""
    ramp = np.arange(blocks.shape[-1]) - 0.5 * (blocks.shape[-1] - 1)
    slope = (blocks @ ramp) / (ramp @ ramp)
    return np.asarray(blocks - blocks.mean(axis=-1, keepdims=True) - slope[..., None] * ramp)


def noise_floor(spectrum: Spectrum, band: tuple[float, float] | None = None) -> Array:
    """White noise density (C,) from a band where the signal has died out.

    Without a band: the lowest of the medians over eight bands in the upper three quarters of the
    spectrum, so that lines and disturbances up there do not count. The median of averaged
    periodograms lies below their mean; the chi-square distribution gives the correction.
    """
    f = spectrum.frequency_hz
    nyquist = spectrum.rate / 2.0
    if band is None:
        edges = np.linspace(0.25, 0.95, 9) * nyquist
        bands = [(float(edges[i]), float(edges[i + 1])) for i in range(8)]
    else:
        bands = [band]
    medians = []
    for low, high in bands:
        inside = (f >= low) & (f <= high)
        if inside.any():
            medians.append(np.median(spectrum.density[inside], axis=0))
    if not medians:
        raise SignalError(f'no spectral line in the noise band {bands[0][0]:g}-{bands[0][1]:g} Hz')
    degrees = 2.0 * spectrum.averages
    return np.min(medians, axis=0) * degrees / float(chi2.median(degrees))
