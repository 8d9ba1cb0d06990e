"""Recordings whose samples do not fall on one grid of phases.

Jitter, lost messages and periods that are no whole number of samples long leave every period with
other phases. Interpolating the forces to a grid would smear dry friction and mix their noise, so
each force stays at its own moment: it is averaged with those of the other periods that lie nearest
to one sample of the mean period, and the regressor is averaged over the very same moments. What is
linear stays exact by that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

from veh_identification.signals import PeriodAverage
from veh_identification.signals.periodic import harmonic_basis
from veh_identification.types import Array

#: Lines of the smooth part that is taken off before lengths are averaged over a sample's width.
SMOOTH_LINES = 40


@dataclass(frozen=True)
class PhasedForces:
    """Raw forces with their moments after the begin of the period."""

    times: Array  # (K,) s, from half a sample before the period's begin
    bins: NDArray[np.intp]  # (K,) sample of the mean period that lies nearest
    forces: Array  # (K, 6)
    samples: int  # N of the mean period

    def counts(self) -> Array:
        """Raw samples behind each sample of the mean period (N,)."""
        return np.bincount(self.bins, minlength=self.samples).astype(float)


def binned_mean(bins: NDArray[np.intp], values: Array, samples: int) -> Array:
    """Mean of the values (K, C) of each bin (samples, C), nan where a bin is empty."""
    counts = np.bincount(bins, minlength=samples).astype(float)
    sums = binned_sum(bins, values, samples)
    with np.errstate(invalid='ignore'):
        return np.asarray(sums / counts[:, None])


def binned_sum(bins: NDArray[np.intp], values: Array, samples: int) -> Array:
    """Sum of the values (K, C) of each bin (samples, C)."""
    rows = np.arange(len(bins))
    select = sparse.csr_matrix((np.ones(len(bins)), (bins, rows)), shape=(samples, len(bins)))
    return np.asarray(select @ values)


def scatter_covariance(bins: NDArray[np.intp], values: Array, samples: int) -> Array:
    """Covariance of the values about the means of their bins (section 3.2, any counts)."""
    deviation = values - binned_mean(bins, values, samples)[bins]
    freedom = len(bins) - len(np.unique(bins))
    return np.asarray(deviation.T @ deviation / max(freedom, 1))


class FourierSeries:
    """A periodic signal (N, C) as its lines up to a highest one, to be had at any moment."""

    def __init__(self, values: Array, fundamental_hz: float, lines: int) -> None:
        count = len(values)
        self.fundamental_hz = fundamental_hz
        self.lines = max(min(lines, (count - 1) // 2), 0)
        spectrum = np.asarray(fft.rfft(values, axis=0))[: self.lines + 1] / count
        self.offset = spectrum[0].real
        self.sine, self.cosine = -2.0 * spectrum[1:].imag, 2.0 * spectrum[1:].real

    def __call__(self, times: Array, derivatives: int = 0) -> list[Array]:
        """Values at the times and their derivatives, (K, C) each."""
        basis = harmonic_basis(times, self.fundamental_hz, self.lines)
        omega = 2.0 * np.pi * self.fundamental_hz * np.arange(1, self.lines + 1)[:, None]
        offset, sine, cosine = self.offset, self.sine, self.cosine
        found = []
        for _ in range(derivatives + 1):
            found.append(basis @ np.concatenate([offset[None], sine, cosine]))
            offset, sine, cosine = np.zeros_like(offset), -omega * cosine, omega * sine
        return found


def average_phases(
    stamps: Array,
    values: Array,
    fundamental_hz: float,
    samples: int,
    periods: NDArray[np.intp],
    rough: Array,
) -> tuple[PeriodAverage, PeriodAverage, PhasedForces]:
    """Mean period of lengths and forces (K, 12) of the listed periods.

    `rough` is a first mean period (N, 12), e.g. of interpolated samples. Lengths are smooth: their
    motion within a sample's width is known from it well enough, and is taken off before averaging.
    """
    step = 1.0 / (fundamental_hz * samples)
    nearest = np.rint(stamps / step).astype(np.intp)
    use = np.isin(nearest // samples, periods)
    bins = nearest[use] % samples
    times = stamps[use] - (nearest[use] // samples) / fundamental_hz
    smooth = FourierSeries(rough, fundamental_hz, min(SMOOTH_LINES, samples // 8))
    rest = values[use] - smooth(times)[0]
    grid = np.arange(samples, dtype=float) * step
    mean = smooth(grid)[0] + np.nan_to_num(binned_mean(bins, rest, samples))
    covariance = scatter_covariance(bins, rest, samples)
    phased = PhasedForces(times, bins, values[use, 6:], samples)
    forces = binned_mean(bins, values[use, 6:], samples)
    lengths = PeriodAverage(mean[:, :6], covariance[:6, :6], len(periods))
    return lengths, PeriodAverage(forces, covariance[6:, 6:], len(periods)), phased
