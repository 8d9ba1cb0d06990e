"""From a recording of `joint_states` to whole periods of leg lengths and forces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError, SignalError
from veh_identification.signals import (
    TimeSeries,
    check_fundamental,
    clean,
    guess_fundamental,
    resample_periods,
    stack_periods,
)
from veh_identification.systems.hexapod.geometry import LEGS, FloatArray
from veh_identification.systems.hexapod.processing import PeriodicRecord, average_record

TOPIC = 'joint_states'
# The fundamental is sought on at most so many samples: lines of a few hertz need no more.
SEARCH_SAMPLES = 4000
LENGTH_HARMONICS = 3
ODD_FACTOR = 5.0


def read_legs(
    bag: str | Path, topic: str = TOPIC, progress: Callable[[int, int], None] | None = None
) -> TimeSeries:
    """Lengths and forces of the six legs, (N, 12), from a bag."""
    from veh_identification.runtime.bags import read_columns

    paths = [f'{field}[{leg}]' for field in ('position', 'effort') for leg in LEGS]
    columns = read_columns(bag, {topic: paths}, progress=progress)[topic]
    values = np.column_stack([columns.values.get(p, np.full(len(columns), np.nan)) for p in paths])
    missing = ~np.isfinite(values).any(axis=0)
    if missing.any():
        k = int(np.argmax(missing))
        what = 'position (length)' if k < 6 else 'effort (force)'
        raise BagError(
            f'{bag}, topic {topic}: no message gives the {what} of {LEGS[k % 6]}; '
            f'leg_1 to leg_6 are needed'
        )
    units = ['m'] * 6 + ['N'] * 6
    return TimeSeries.from_nanoseconds(columns.stamps_ns, values, paths, units, label=str(bag))


def periodic_record(
    series: TimeSeries,
    fundamental_hz: float | None = None,
    harmonics: int = 5,
    skip_periods: int = 0,
) -> PeriodicRecord:
    """Average a recording over its periods.

    Without a fundamental the strongest repetition is taken. A nominal fundamental that is off is
    replaced by the one found in the data (with a warning); the samples are then interpolated so
    that each period has a whole number of them, since otherwise every line would leak.
    """
    cleaned, report = clean(series, max_gap=np.inf)
    warnings = [] if report.clean else list(report.sentences())
    if len(cleaned) < 4:
        raise SignalError(f'{series.label}: {len(cleaned)} usable samples are not a recording')
    stamps, values = cleaned.stamps - cleaned.stamps[0], cleaned.values
    step = cleaned.median_period
    rate = 1.0 / step
    nominal = fundamental_hz or guess_fundamental(values[:, :6], rate)
    _require_two_periods(series.label, stamps, step, nominal, skip_periods)
    _refuse_gaps(series.label, stamps, step, nominal)
    stride = max(1, len(stamps) // SEARCH_SAMPLES)
    # Lengths bend the pose's harmonics into further ones; left out, they would shift the fit.
    lines = min(LENGTH_HARMONICS * harmonics, int(0.4 * rate / stride / nominal))
    found = check_fundamental(stamps[::stride], values[::stride, :6], nominal, max(lines, 1))
    if fundamental_hz is not None and found.warning:
        warnings.append(f'{series.label}: {found.warning}; the found one is used')
    fundamental = found.frequency_hz if fundamental_hz is None or found.leaks else nominal
    count, periods = _whole_periods(stamps, values, step, fundamental)
    kept = periods[skip_periods * count :]
    if len(kept) < 2 * count:
        _require_two_periods(series.label, stamps, step, fundamental, skip_periods)
        raise SignalError(
            f'{series.label}: at least two periods of {1.0 / fundamental:.6g} s are needed after '
            f'{skip_periods} skipped, found {len(kept) / count:.3g}'
        )
    warnings += _odd_periods(series.label, kept[:, :6], count)
    begin = int(cleaned.stamps_ns()[0]) + round(skip_periods / fundamental * 1e9)
    return average_record(
        kept[:, :6], kept[:, 6:], count, fundamental, tuple(warnings), series.label, begin
    )


def _odd_periods(label: str, lengths: FloatArray, count: int) -> list[str]:
    """Say which period moves unlike the others (a run-in, a stop, a collision)."""
    periods = lengths.reshape(-1, count, 6)
    if len(periods) < 3:
        return []
    rms = np.sqrt(np.square(periods - np.median(periods, axis=0)).mean(axis=(1, 2)))
    odd = np.flatnonzero(rms > ODD_FACTOR * np.median(rms) + 1e-9)
    return [
        f'{label}: period {k} differs from the others by {rms[k]:.3g} m rms, five times as much '
        f'as usual: skip it or record again'
        for k in odd
    ]


def _require_two_periods(
    label: str, stamps: FloatArray, step: float, fundamental: float, skipped: int
) -> None:
    duration = float(stamps[-1]) + step
    if duration * fundamental < (2 + skipped) * (1.0 - 1e-6):
        raise SignalError(
            f'{label}: at least two periods of {1.0 / fundamental:.6g} s are needed'
            f'{f" after {skipped} skipped" if skipped else ""}, the recording lasts '
            f'{duration:.6g} s ({duration * fundamental:.3g} periods)'
        )


def _refuse_gaps(label: str, stamps: FloatArray, step: float, fundamental: float) -> None:
    """Samples that are missing make periods unequal: nothing is filled in silently."""
    gaps = np.diff(stamps)
    if gaps.max() <= 1.5 * step:
        return
    at = int(np.argmax(gaps > 1.5 * step))
    whole = int((stamps[-1] + step) * fundamental + 1e-6)
    edges = (np.arange(whole + 1) - 1e-3 * step * fundamental) / fundamental
    counts = np.histogram(stamps, edges)[0]
    try:
        stack_periods([np.empty((n, 1)) for n in counts])
    except SignalError as error:
        raise SignalError(
            f'{label}: {error} (a gap of {gaps[at]:.4g} s at {stamps[at]:.4g} s)'
        ) from None
    raise SignalError(
        f'{label}: samples are missing, a gap of {gaps[at]:.4g} s at {stamps[at]:.4g} s'
    )


def _whole_periods(
    stamps: FloatArray, values: FloatArray, step: float, fundamental: float
) -> tuple[int, FloatArray]:
    """Samples per period and the values of whole periods, interpolated only where needed."""
    exact = 1.0 / (fundamental * step)
    count = round(exact)
    whole = len(stamps) // count
    grid = np.arange(len(stamps)) / (fundamental * count)
    # Half a percent of a step of accumulated or single deviation is below every sensor's noise.
    if whole >= 2 and np.abs(stamps - grid)[: whole * count].max() < 0.005 * step:
        return count, values[: whole * count]
    return count, resample_periods(stamps, values, fundamental, count)
