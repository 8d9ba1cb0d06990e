"""The equations of a recording in the frequency domain, reduced to one Gram matrix per band.

A discrete Fourier transform is linear, so it leaves Y = W X + rho an equality: taking the lines
below a cut-off is an ideal zero-phase filter that treats both sides alike, without transients.
Lines of stationary noise are independent of each other, whatever its colour; so weights may differ
from band to band and the deviations stay honest without any model of the correlation in time.
Per band only the Gram matrix of all signals is kept: memory does not grow with the recording, and
every later step (weights, covariance, hypotheses, validation) needs no further pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from veh_identification.errors import EstimationError
from veh_identification.systems.car.model import EquationModel
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

BAND_HZ = 0.25
WINDOW = 8192


@dataclass(frozen=True)
class SpectralInformation:
    """Gram matrices (bands, signals, signals) of the real lines in bands of `BAND_HZ`."""

    grams: Array
    rows: Array  # (bands,) real lines, two for each frequency above zero
    samples: int
    seconds: float

    @property
    def frequency(self) -> Array:
        """Centre of every band in Hz."""
        return np.asarray((np.arange(len(self.rows)) + 0.5) * BAND_HZ, dtype=np.float64)

    def __add__(self, other: SpectralInformation) -> SpectralInformation:
        """Several recordings concatenated: their lines side by side."""
        if other.grams.shape[1:] != self.grams.shape[1:]:
            raise EstimationError('recordings with different signals cannot be concatenated')
        bands = min(len(self.rows), len(other.rows))
        return SpectralInformation(
            self.grams[:bands] + other.grams[:bands],
            self.rows[:bands] + other.rows[:bands],
            self.samples + other.samples,
            self.seconds + other.seconds,
        )

    def up_to(self, bands: int) -> SpectralInformation:
        """The lowest of its bands."""
        return replace(self, grams=self.grams[:bands], rows=self.rows[:bands])


def sum_of(several: Sequence[SpectralInformation]) -> SpectralInformation:
    """All recordings concatenated."""
    total = several[0]
    for one in several[1:]:
        total = total + one
    return total


def gather(
    model: EquationModel, pieces: Iterable[CarSamples], top_hz: float
) -> SpectralInformation:
    """Transform every stretch in windows of equal length and sum the Gram matrices up to a top."""
    bands = int(np.ceil(top_hz / BAND_HZ))
    count = model.signal_count
    grams, rows = np.zeros((bands, count, count)), np.zeros(bands)
    samples, seconds = 0, 0.0
    for piece in pieces:
        length = fast_length(len(piece) // max(1, round(len(piece) / WINDOW)))
        for begin in range(0, len(piece) - length + 1, length):
            _add_window(model.signals(piece[begin : begin + length]), piece.rate, grams, rows)
            samples += length
            seconds += length / piece.rate
    if samples == 0:
        raise EstimationError('the recording holds no usable stretch')
    return SpectralInformation(grams, rows, samples, seconds)


def one_band(signals: Array, rate: float, top_hz: float) -> SpectralInformation:
    """All lines up to `top_hz` of one short stretch together: enough to compare hypotheses."""
    lines = fft.rfft(signals, axis=0, workers=1)
    lines = lines[: int(top_hz * len(signals) / rate) + 1] * np.sqrt(2.0 / len(signals))
    lines[0] *= np.sqrt(0.5)
    real = np.concatenate([lines.real, lines.imag])
    return SpectralInformation(
        (real.T @ real)[None], np.array([len(real) - 1.0]), len(signals), len(signals) / rate
    )


def fast_length(most: int) -> int:
    """The longest length up to `most` that transforms fast; at most a few percent are lost."""
    length = most
    while fft.next_fast_len(length, real=True) != length:
        length -= 1
    return length


def _add_window(signals: Array, rate: float, grams: Array, rows: Array) -> None:
    length = len(signals)
    top = int(len(rows) * BAND_HZ * length / rate) + 2
    lines = np.ascontiguousarray(fft.rfft(np.ascontiguousarray(signals.T), workers=1)[:, :top].T)
    band = np.minimum(np.arange(len(lines)) * rate / length / BAND_HZ, len(rows)).astype(int)
    # Two real rows for each line, real and imaginary part, scaled so that powers add up.
    scale = np.full(len(lines), np.sqrt(2.0 / length))
    scale[0] = np.sqrt(1.0 / length)
    lines *= scale[:, None]
    starts = np.searchsorted(band, np.arange(len(rows) + 1))
    for index in range(len(rows)):
        chosen = lines[starts[index] : starts[index + 1]]
        if len(chosen) == 0:
            continue
        real = np.concatenate([chosen.real, chosen.imag])
        grams[index] += real.T @ real
        rows[index] += 2 * len(chosen) - (1 if index == 0 else 0)
