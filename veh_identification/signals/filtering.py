"""Zero-phase filters: one frozen object for all signals of an equation.

Both sides of an equation must pass the same filter (facts of the project: the paper's unequal
filtering ruins unsprung masses and dampers), so a `ZeroPhaseFilter` is made once and applied to
every signal. Two methods:

- 'spectral' (default): the gain 1 / (1 + (f / fc)^(2 n)) in the frequency domain, derivatives by
  j w, exact in band. The segment is made periodic by taking off the line through its ends and
  reflecting it oddly, so there is no jump to leak.
- 'butterworth': forward and backward Butterworth passes and central differences, equation (29)
  of Venture 2006, whose gain sin(w T) / (w T) falls short near the Nyquist frequency.

In both, the gain at the cut-off is one half (-6 dB): that of two Butterworth passes.
Gaps are never bridged: each valid segment is filtered alone and its ends, where the transient
lives, are marked invalid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from veh_identification.errors import SignalError
from veh_identification.signals.segments import apply_per_segment, contiguous_segments, erode
from veh_identification.signals.time_series import require_finite
from veh_identification.types import Array, BoolArray

TRANSIENT_TOLERANCE = 1e-3
#: Segments of up to so many samples come again and again, live: what their length needs is kept.
SHORT = 4096


def check_cutoff(cutoff_hz: float, rate: float, label: str = 'filter') -> None:
    """Raise unless 0 < cut-off < Nyquist frequency."""
    if not rate > 0.0 or not np.isfinite(rate):
        raise SignalError(f'{label}: the sample rate must be positive, found {rate} Hz')
    if not cutoff_hz > 0.0 or not cutoff_hz < rate / 2.0:
        raise SignalError(
            f'{label}: the cut-off must lie between 0 and the Nyquist frequency '
            f'{rate / 2.0:g} Hz, found {cutoff_hz:g} Hz'
        )


@dataclass(frozen=True)
class Derivatives:
    """Filtered signal and its first two derivatives (N, C); use only the `valid` samples."""

    position: Array
    velocity: Array
    acceleration: Array
    valid: BoolArray


@dataclass(frozen=True)
class ZeroPhaseFilter:
    """Low-pass (or high-pass) with optional stop bands, no phase, known transient.

    Args:
        rate: samples per second of the uniform grid.
        cutoff_hz: frequency of half gain.
        order: Butterworth order n of one pass (the slope is that of 2 n).
        stop_bands: (low, high) bands in Hz that are taken out (half gain at their edges).
        kind: 'low' or 'high'.
        method: 'spectral' or 'butterworth'.
        tolerance: share of the impulse response that may lie beyond `transient`.
    """

    rate: float
    cutoff_hz: float
    order: int = 4
    stop_bands: tuple[tuple[float, float], ...] = ()
    kind: str = 'low'
    method: str = 'spectral'
    tolerance: float = TRANSIENT_TOLERANCE
    label: str = field(default='filter', compare=False)

    def __post_init__(self) -> None:
        check_cutoff(self.cutoff_hz, self.rate, self.label)
        if self.kind not in ('low', 'high') or self.method not in ('spectral', 'butterworth'):
            raise SignalError(
                f"{self.label}: kind must be 'low' or 'high' and method 'spectral' or "
                f"'butterworth', found {self.kind!r} and {self.method!r}"
            )
        if not 1 <= self.order <= 12:
            raise SignalError(f'{self.label}: the order must be 1 to 12, found {self.order}')
        for low, high in self.stop_bands:
            if not 0.0 < low < high < self.rate / 2.0:
                raise SignalError(
                    f'{self.label}: a stop band must lie between 0 and {self.rate / 2.0:g} Hz, '
                    f'found {low:g} to {high:g} Hz'
                )

    @cached_property
    def sections(self) -> list[Array]:
        """Second-order sections of one pass, main filter first, then the stop bands."""
        kind: Literal['lowpass', 'highpass'] = 'lowpass' if self.kind == 'low' else 'highpass'
        made = [signal.butter(self.order, self.cutoff_hz, kind, fs=self.rate, output='sos')]
        made += [
            signal.butter(2, band, 'bandstop', fs=self.rate, output='sos')
            for band in self.stop_bands
        ]
        return made

    def response(self, frequency_hz: Array | float) -> Array:
        """Real gain at the given frequencies (of the filter alone, without derivatives)."""
        f = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
        if self.method == 'butterworth':
            gain = np.ones_like(f)
            for sos in self.sections:
                gain *= np.abs(signal.sosfreqz(sos, worN=f, fs=self.rate)[1]) ** 2
            return gain
        low = 1.0 / (1.0 + (f / self.cutoff_hz) ** (2 * self.order))
        gain = low if self.kind == 'low' else 1.0 - low
        for start, end in self.stop_bands:
            # Band-stop of order 2 squared, as two passes of a Butterworth band-stop would give.
            with np.errstate(divide='ignore'):
                ratio = (end - start) * f / (f**2 - start * end)
            gain = gain / (1.0 + ratio**4)
        return gain

    @cached_property
    def transient(self) -> int:
        """Samples at each end of a segment that the filter's start and stop disturb."""
        slowest = min([self.cutoff_hz] + [high - low for low, high in self.stop_bands])
        length = int(2 ** np.ceil(np.log2(64.0 * self.rate / slowest)))
        gain = self.response(fft.rfftfreq(length, 1.0 / self.rate))
        impulse = np.abs(fft.irfft(gain, length))[: length // 2]
        tail = np.cumsum(impulse[::-1])[::-1]
        return int(np.argmax(tail <= self.tolerance * tail[0])) + 1

    @property
    def minimum_length(self) -> int:
        """Shortest segment that leaves one valid sample."""
        return 2 * self.transient + 1

    def apply(self, values: Array, valid: BoolArray | None = None) -> tuple[Array, BoolArray]:
        """Filtered values (N, ...) and the mask of samples free of transients."""
        (position,), kept = self._run(values, valid, (0,))
        return position, kept

    def derivatives(self, values: Array, valid: BoolArray | None = None) -> Derivatives:
        """Filtered values with their first and second derivative."""
        (position, velocity, acceleration), kept = self._run(values, valid, (0, 1, 2))
        return Derivatives(position, velocity, acceleration, kept)

    def _run(
        self, values: Array, valid: BoolArray | None, orders: tuple[int, ...]
    ) -> tuple[list[Array], BoolArray]:
        x = np.asarray(values, dtype=np.float64)
        mask = np.ones(len(x), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
        require_finite(x[mask], self.label)
        segments = contiguous_segments(mask, self.minimum_length)
        if not segments:
            longest = max((s.stop - s.start for s in contiguous_segments(mask)), default=0)
            raise SignalError(
                f'{self.label}: the longest segment has {longest} samples, shorter than the '
                f"filter's transient ({self.minimum_length} samples at {self.cutoff_hz:g} Hz)"
            )
        work = self._spectral if self.method == 'spectral' else self._butterworth
        flat = x.reshape(len(x), -1)
        results = [np.full(flat.shape, np.nan) for _ in orders]
        for segment in segments:
            # Of long ones one column at a time: the transforms stay in the cache and memory stays
            # flat. Short ones, as live estimates have them, cost calls: all columns at once.
            step = 1 if segment.stop - segment.start > SHORT else max(flat.shape[1], 1)
            for first in range(0, flat.shape[1], step):
                columns = slice(first, first + step)
                filtered = work(np.ascontiguousarray(flat[segment, columns].T), orders)
                for result, one in zip(results, filtered, strict=True):
                    result[segment, columns] = one.T
        return [result.reshape(x.shape) for result in results], erode(mask, self.transient)

    def _spectral(self, x: Array, orders: tuple[int, ...]) -> list[Array]:
        """Columns (k, n) that lie beside each other, filtered with each derivative."""
        count = x.shape[1]
        slope = (x[:, -1:] - x[:, :1]) * self.rate / (count - 1)
        line = np.linspace(x[:, 0], x[:, -1], count, axis=1)
        odd = x - line
        plan = _plan(self, count) if count <= SHORT else _Plan.of(self, count)
        pad, length = len(plan.fade), plan.length
        before = -odd[:, pad:0:-1] * plan.fade
        after = -odd[:, -2 : -pad - 2 : -1] * plan.fade[::-1]
        spectrum = fft.rfft(np.concatenate([before, odd, after], axis=1), length) * plan.gain
        results = []
        for order in orders:
            scaled = spectrum * plan.turn**order if order else spectrum
            if order % 2 and length % 2 == 0:
                # An odd derivative of the Nyquist line has no real counterpart.
                scaled[:, -1] = 0.0
            out = fft.irfft(scaled, length)[:, pad : pad + count]
            if self.kind == 'low':
                # Low-pass filters leave lines alone, stop bands too (unit gain at no frequency).
                out = out + (line if order == 0 else (slope if order == 1 else 0.0))
            results.append(out)
        return results

    def _butterworth(self, x: Array, orders: tuple[int, ...]) -> list[Array]:
        """The same by recursive filters."""
        smooth = x
        for sos in self.sections:
            pad = min(x.shape[1] - 1, max(self.transient, 3 * (2 * len(sos) + 1)))
            smooth = signal.sosfiltfilt(sos, smooth, axis=1, padlen=pad)
        results = []
        for order in orders:
            out = smooth.T
            for _ in range(order):
                out = central_difference(out, self.rate)
            results.append(out.T)
        return results


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a spectral filter needs for segments of one length, whatever their values."""

    fade: Array  # of the odd reflection, continuous with its slope, far from the segment
    length: int  # zeros pad the record to one that transforms fast
    gain: Array
    turn: NDArray[np.complex128]  # 2 pi j f, once for each derivative

    @classmethod
    def of(cls, filter_: ZeroPhaseFilter, count: int) -> _Plan:
        """For segments of `count` samples."""
        pad = min(count - 1, 4 * filter_.transient)
        fade = np.sin(0.5 * np.pi * np.minimum(1.0, 2.0 * np.arange(pad) / pad)) ** 2
        length = fft.next_fast_len(count + 2 * pad, real=True)
        frequency = fft.rfftfreq(length, 1.0 / filter_.rate)
        return cls(fade, length, filter_.response(frequency), np.asarray(2j * np.pi * frequency))


@lru_cache(maxsize=64)
def _plan(filter_: ZeroPhaseFilter, count: int) -> _Plan:
    return _Plan.of(filter_, count)


def central_difference(values: Array, rate: float) -> Array:
    """Equation (29): (f(k+1) - f(k-1)) / (2 Te); second-order one-sided at the two ends."""
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 3:
        raise SignalError(f'a central difference needs three samples, found {len(x)}')
    out = np.empty_like(x)
    out[1:-1] = (x[2:] - x[:-2]) * (0.5 * rate)
    out[0] = (-3.0 * x[0] + 4.0 * x[1] - x[2]) * (0.5 * rate)
    out[-1] = (3.0 * x[-1] - 4.0 * x[-2] + x[-3]) * (0.5 * rate)
    return out


def trapezoid(values: Array, rate: float) -> Array:
    """Equation (30): running trapezoidal integral that starts at zero."""
    x = np.asarray(values, dtype=np.float64)
    out = np.zeros_like(x)
    np.cumsum((x[1:] + x[:-1]) * (0.5 / rate), axis=0, out=out[1:])
    return out


def integrate_high_passed(
    values: Array,
    rate: float,
    cutoff_hz: float,
    *,
    order: int = 2,
    valid: BoolArray | None = None,
    label: str = 'integral',
) -> tuple[Array, BoolArray]:
    """Zero-phase integral: trapezoids (30) times a two-pass high-pass Butterworth filter.

    The mean goes first: it integrates to a ramp that the high-pass would have to remove, with a
    transient as long as the ramp is steep. Returns the integral and the mask without transients.
    """
    high = ZeroPhaseFilter(rate, cutoff_hz, order, kind='high', method='butterworth', label=label)
    x = np.asarray(values, dtype=np.float64)
    mask = np.ones(len(x), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    integral = apply_per_segment(
        x, mask, lambda segment: trapezoid(segment - segment.mean(axis=0), rate), 2
    )
    short = ~np.isfinite(integral.reshape(len(x), -1)).all(axis=1)
    return high.apply(integral, mask & ~short)
