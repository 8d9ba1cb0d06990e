"""A recording reduced to its mean period (Abdellatif 2009, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.findings import Finding
from veh_identification.signals import PeriodAverage, average_periods
from veh_identification.systems.parallel.recording.phases import PhasedForces
from veh_identification.types import Array, IntArray


@dataclass(frozen=True)
class PeriodicRecord:
    """One recording reduced to its mean period with full noise covariances (section 3.2)."""

    lengths: PeriodAverage
    forces: PeriodAverage
    rate: float
    fundamental_hz: float
    source: str = 'recording'
    start_ns: int = 0  # stamp of the first averaged sample
    findings: tuple[Finding, ...] = ()  # what was mended, left out or corrected
    phased: PhasedForces | None = None  # forces at their own moments, off the grid of phases
    effort_delay: float = 0.0  # s by which forces are stamped later than the lengths

    @property
    def periods(self) -> int:
        """Number of averaged periods N_m."""
        return self.lengths.periods

    @property
    def samples(self) -> int:
        """Samples per period N."""
        return len(self.lengths.mean)

    def stamps_ns(self) -> IntArray:
        """Stamps of the first averaged period."""
        return self.start_ns + np.rint(np.arange(self.samples) / self.rate * 1e9).astype(np.int64)


def average_record(
    lengths: Array,
    forces: Array,
    samples_per_period: int,
    fundamental_hz: float,
    source: str = 'recording',
    start_ns: int = 0,
) -> PeriodicRecord:
    """Average whole periods of lengths and forces (N_m N, 6)."""
    return PeriodicRecord(
        average_periods(lengths, samples_per_period),
        average_periods(forces, samples_per_period),
        samples_per_period * fundamental_hz,
        fundamental_hz,
        source,
        start_ns,
    )
