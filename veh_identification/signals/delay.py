"""Delay between two signals by cross-correlation with a sub-sample peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.optimize import minimize_scalar

from veh_identification.errors import SignalError
from veh_identification.signals.time_series import require_finite
from veh_identification.types import Array


@dataclass(frozen=True)
class DelayEstimate:
    """`delay`: the second signal shows what the first one showed `delay` seconds earlier."""

    delay: float
    standard_deviation: float
    correlation: float

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f'delay {self.delay * 1e3:.3f} ms +- {self.standard_deviation * 1e3:.3f} ms '
            f'at correlation {self.correlation:.3f}'
        )


def estimate_delay(
    reference: Array, delayed: Array, rate: float, *, max_delay: float = 1.0
) -> DelayEstimate:
    """Delay of `delayed` (N,) behind `reference` (N,) on one uniform grid.

    The correlation is that of the band-limited signals (trigonometric interpolation), so its peak
    is found between samples without the bias of a parabola. A negative correlation counts too (a
    sensor with the wrong sign): its sign is in `correlation`. The standard deviation is that of
    white residuals.
    """
    reach = int(np.ceil(max_delay * rate))
    count = len(reference)
    if reach < 1 or count < 2 * reach + 2:
        raise SignalError(
            f'{count} samples at {rate:g} Hz are too few to look for delays up to {max_delay:g} s'
        )
    x, y = _tapered(reference, delayed)
    power = np.sqrt((x @ x) * (y @ y))
    length = fft.next_fast_len(2 * count)
    cross = np.conj(fft.rfft(x, length)) * fft.rfft(y, length)
    omega = 2.0 * np.pi * fft.rfftfreq(length, 1.0 / rate)
    weight = np.full(len(cross), 2.0)
    weight[0] = 1.0
    weight[-1] = 1.0 if length % 2 == 0 else 2.0
    coarse = fft.irfft(cross, length)
    lags = np.concatenate([np.arange(reach + 1), np.arange(-reach, 0)])
    start = int(lags[np.argmax(np.abs(coarse[lags]))])
    sign = np.sign(coarse[start])

    def negative(lag: float) -> float:
        return -sign * float((weight * (cross * np.exp(1j * omega * lag)).real).sum()) / length

    best = minimize_scalar(
        negative,
        bounds=((start - 1) / rate, (start + 1) / rate),
        method='bounded',
        options={'xatol': 1e-6 / rate},
    )
    correlation = min(1.0, float(-best.fun / power))
    spectrum = weight * np.abs(cross)
    bandwidth = np.sqrt((spectrum * omega**2).sum() / spectrum.sum())
    spread = np.sqrt(max(0.0, 1.0 / correlation**2 - 1.0)) / (bandwidth * np.sqrt(count))
    return DelayEstimate(float(best.x), float(spread), float(sign * correlation))


def _tapered(reference: Array, delayed: Array) -> tuple[Array, Array]:
    """Both signals without mean, faded out so that the record's ends make no steps."""
    x, y = np.asarray(reference, dtype=float), np.asarray(delayed, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise SignalError(f'two signals of one length needed, found {x.shape} and {y.shape}')
    require_finite(x, 'reference')
    require_finite(y, 'delayed')
    x, y = x - x.mean(), y - y.mean()
    if x.std() == 0.0 or y.std() == 0.0:
        raise SignalError('a constant signal has no delay')
    taper = np.sin(np.linspace(0.0, np.pi, len(x))) ** 2
    return x * taper, y * taper
