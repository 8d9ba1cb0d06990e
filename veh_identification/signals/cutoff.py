"""Choice of a cut-off frequency from spectra, with the reason in words.

Noise in the regressor shrinks least-squares estimates (errors in variables): with a signal of
power P and noise of power B in a column, the estimate shrinks by about B / (P + B). Both grow
with the cut-off, the noise of a derivative fast (f^3 for a velocity, f^5 for an acceleration).
The rule takes the highest cut-off at which every channel still has

- its spectrum above the noise floor just below the cut-off (no band of noise only), and
- a share of noise B / (P + B) of at most `bias_bound`;

then it looks at what the user knows: named modes to keep push the cut-off up, named disturbance
bands are left above it, or cut out by stop bands when a mode to keep lies above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import SignalError
from veh_identification.signals.spectra import Spectrum, noise_floor
from veh_identification.types import Array

# A mode is kept when the two-pass filter of order 4 leaves it 98 %: cut-off at 1.65 times it.
KEEP_MARGIN = 1.65
# The same filter takes a disturbance to 5 % at 1.45 times the cut-off.
REMOVE_MARGIN = 1.45


@dataclass(frozen=True)
class NamedBand:
    """A mode to keep or a disturbance to remove."""

    name: str
    low_hz: float
    high_hz: float

    def __post_init__(self) -> None:
        if not 0.0 < self.low_hz <= self.high_hz:
            raise SignalError(
                f'band {self.name!r} must have 0 < low <= high, found {self.low_hz:g} to '
                f'{self.high_hz:g} Hz'
            )


@dataclass(frozen=True)
class CutoffChoice:
    """The cut-off, the stop bands that go with it, the bias to expect, and why."""

    cutoff_hz: float
    stop_bands: tuple[tuple[float, float], ...]
    noise_share: float
    reason: str


def noise_share(spectrum: Spectrum, derivative: int, floor: Array | None = None) -> Array:
    """Share (F, C) of noise power in the `derivative`-th derivative, for each cut-off."""
    white = noise_floor(spectrum) if floor is None else np.asarray(floor, dtype=float)
    omega = (2.0 * np.pi * spectrum.frequency_hz[:, None]) ** (2 * derivative)
    total = np.cumsum(spectrum.density * omega, axis=0)
    noise = np.cumsum(white * omega, axis=0)
    # The first line holds the mean and the trend, which detrending took out: no share there.
    share = noise / np.maximum(total, 1e-300)
    share[0] = 0.0
    return np.minimum(share, 1.0)


def choose_cutoff(
    spectrum: Spectrum,
    *,
    derivative: int = 2,
    bias_bound: float = 0.002,
    keep: Sequence[NamedBand] = (),
    remove: Sequence[NamedBand] = (),
    floor: Array | None = None,
    minimum_hz: float | None = None,
    signal_to_noise: float = 2.0,
) -> CutoffChoice:
    """One cut-off for all channels of an equation (all its signals pass the same filter).

    Args:
        spectrum: of the raw signals whose derivatives enter the regressor.
        derivative: the highest derivative used (2 for accelerations from positions).
        bias_bound: largest share of noise power in any regressor signal.
        keep: modes that the equation needs.
        remove: disturbances that must not pass.
        floor: noise densities (C,) when they are known better than from the spectrum.
        minimum_hz: lowest cut-off that makes sense (four spectral lines by default).
        signal_to_noise: how far the spectrum must stand above its floor to count as signal.
    """
    white = noise_floor(spectrum) if floor is None else np.asarray(floor, dtype=float)
    nyquist = spectrum.rate / 2.0
    lowest = 4.0 * spectrum.resolution_hz if minimum_hz is None else minimum_hz
    share = noise_share(spectrum, derivative, white)
    by_noise, name, why = _noise_limit(spectrum, share, white, bias_bound, signal_to_noise)
    cutoff = min(by_noise, 0.8 * nyquist)
    reason = [f'{why} ({name})' if by_noise <= 0.8 * nyquist else 'signal up to Nyquist']
    wanted = max((KEEP_MARGIN * band.high_hz for band in keep), default=0.0)
    if wanted > cutoff:
        top = max(keep, key=lambda band: band.high_hz)
        reason.append(f'raised to keep {top.name} at {top.high_hz:g} Hz')
        cutoff = min(wanted, 0.9 * nyquist)
    if cutoff < lowest:
        reason.append(f'raised to the lowest sensible cut-off {lowest:g} Hz')
        cutoff = lowest
    cutoff, stop_bands, notes = _avoid(cutoff, wanted, lowest, remove)
    reason += notes
    line = min(int(cutoff / spectrum.resolution_hz), len(share) - 1)
    expected = float(share[line].max())
    if expected > bias_bound:
        reason.append(f'the noise share {expected:.2g} exceeds the bound {bias_bound:.2g}')
    sentence = f'cut-off {cutoff:.3g} Hz: ' + '; '.join(reason) + '.'
    return CutoffChoice(float(cutoff), stop_bands, expected, sentence)


def _noise_limit(
    spectrum: Spectrum, share: Array, white: Array, bound: float, ratio: float
) -> tuple[float, str, str]:
    """Highest cut-off allowed by the noise, the channel that sets it and the reason."""
    f = spectrum.frequency_hz
    best = (np.inf, '', '')
    # Smooth over five lines: one lucky line above the floor is not signal.
    width = min(5, len(f))
    kernel = np.ones(width) / width
    for c, name in enumerate(spectrum.names):
        if white[c] <= 0.0:
            continue
        smooth = np.convolve(spectrum.density[:, c], kernel, mode='same')
        above = np.flatnonzero(smooth > ratio * white[c])
        last = f[above[-1]] if len(above) else 0.0
        within = np.flatnonzero(share[:, c] <= bound)
        biased = f[within[-1]] if len(within) else 0.0
        limit = min(last, biased)
        text = (
            f'above {last:.3g} Hz only noise'
            if last <= biased
            else f'above {biased:.3g} Hz noise would bias by more than {bound:.2g}'
        )
        if limit < best[0]:
            best = (float(limit), name, text)
    return best


def _avoid(
    cutoff: float, wanted: float, lowest: float, remove: Sequence[NamedBand]
) -> tuple[float, tuple[tuple[float, float], ...], list[str]]:
    """Lower the cut-off below disturbances, or cut them out where a mode to keep forbids it."""
    stop_bands: list[tuple[float, float]] = []
    notes: list[str] = []
    for band in sorted(remove, key=lambda one: one.low_hz):
        if band.low_hz > REMOVE_MARGIN * cutoff:
            continue
        below = band.low_hz / REMOVE_MARGIN
        if below >= max(wanted, lowest):
            cutoff = below
            notes.append(f'lowered below {band.name} at {band.low_hz:g} Hz')
        else:
            stop_bands.append((0.92 * band.low_hz, 1.08 * band.high_hz))
            notes.append(
                f'stop band {0.92 * band.low_hz:.3g}-{1.08 * band.high_hz:.3g} Hz for {band.name}'
            )
    return cutoff, tuple(stop_bands), notes
