"""Sample hygiene: what is wrong with a recording is counted, then cleaned by stated rules.

Rules, in this order (arrival order is the order of the array):
1. samples with a stamp or value that is not finite, or beyond all that is measured, are dropped;
2. lone wild stamps (far from the median of their five neighbours) are dropped;
3. where the clock is set back and stays there, a new session begins; the longest session is kept
   and every other one that does not overlap it or another kept one, the rest is dropped;
4. samples are sorted by stamp (late messages find their place);
5. of samples with one stamp the first to arrive is kept;
6. glitches are dropped, where a series says what kind of signal it is (module `glitches`);
7. pauses longer than `max_gap` split the series in segments; nothing is filled in.
Every dropped sample is counted: samples_in = samples_out + dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from veh_identification.errors import SignalError
from veh_identification.findings import Finding, Level
from veh_identification.signals.glitches import IMPACT_SHARE, rough_glitches, smooth_glitches
from veh_identification.signals.segments import gap_segments
from veh_identification.signals.time_series import TimeSeries
from veh_identification.types import Array, BoolArray

GAP_FACTOR = 5.0
JUMP_SECONDS = 1.0
#: Of the samples of a series: more than this dropped for one reason is a reservation.
MANY_SHARE = 0.1
#: No quantity of a vehicle or robot is larger in SI units; squares and derivatives stay numbers.
LARGEST = 1e12


#: What a series holds: values that go on as they did, or that may jump and have impacts.
Signal = Literal['smooth', 'impacts']


@dataclass(frozen=True)
class SampleReport:
    """What was found in a series and what was done about it."""

    label: str
    samples_in: int
    samples_out: int
    non_finite_stamps: int = 0
    non_finite_values: int = 0
    non_finite_by_channel: dict[str, int] = field(default_factory=dict)
    wild_stamps: int = 0
    clock_jumps: tuple[float, ...] = ()
    dropped_by_clock_jump: int = 0
    out_of_order: int = 0
    duplicates: int = 0
    conflicting_duplicates: int = 0
    glitches: int = 0
    gaps: tuple[tuple[float, float], ...] = ()
    median_period: float = float('nan')
    max_gap: float = float('nan')

    @property
    def dropped(self) -> int:
        """Samples that were taken out, for any reason."""
        return (
            self.non_finite_stamps
            + self.non_finite_values
            + self.wild_stamps
            + self.dropped_by_clock_jump
            + self.duplicates
            + self.glitches
        )

    @property
    def clean(self) -> bool:
        """True when nothing had to be repaired and there is no gap."""
        return not (self.dropped or self.out_of_order or self.gaps or self.clock_jumps)

    def findings(self) -> list[Finding]:
        """One finding per kind: a clock that jumps, or many samples lost, questions the series."""

        def lost(code: str, count: int, text: str) -> list[Finding]:
            many = count > MANY_SHARE * self.samples_in
            return [self._finding('warn' if many else 'note', code, text)] if count else []

        channels = ', '.join(f'{k} {v}' for k, v in self.non_finite_by_channel.items())
        found = [
            *lost(
                'samples_without_stamp',
                self.non_finite_stamps,
                f'{self.non_finite_stamps} samples without a usable stamp dropped',
            ),
            *lost(
                'samples_not_finite',
                self.non_finite_values,
                f'{self.non_finite_values} samples with NaN or inf dropped ({channels})',
            ),
            *lost(
                'wild_stamps',
                self.wild_stamps,
                f'{self.wild_stamps} samples with a wild stamp dropped',
            ),
            *(
                self._finding('warn', 'clock_set_back', f'clock set back by {-jump:.6g} s')
                for jump in self.clock_jumps
            ),
            *lost(
                'sessions_overlap',
                self.dropped_by_clock_jump,
                f'{self.dropped_by_clock_jump} samples of overlapping sessions dropped',
            ),
        ]
        if self.out_of_order:
            found.append(
                self._finding(
                    'note', 'late_samples', f'{self.out_of_order} late samples sorted in'
                )
            )
        found += lost(
            'repeated_stamps',
            self.duplicates,
            self._repeated(),
        )
        found += lost(
            'glitches_left_out',
            self.glitches,
            f'{self.glitches} samples about glitches are left out',
        )
        if self.gaps:
            longest = max(end - start for start, end in self.gaps)
            text = f'{len(self.gaps)} gaps, the longest {longest:.6g} s'
            found.append(self._finding('note', 'signal_gaps', text))
        return found

    def _repeated(self) -> str:
        """The same words for every series of a recording that holds all messages several times."""
        times = self.samples_in / max(self.samples_in - self.duplicates, 1)
        if not self.conflicting_duplicates and times > 1.9 and abs(times - round(times)) < 0.1:
            return (
                f'every message is there {round(times)} times (two publishers, two recorders, or '
                'bags that were joined): the copies are left out'
            )
        return (
            f'{self.duplicates} samples with a repeated stamp dropped '
            f'({self.conflicting_duplicates} with another value)'
        )

    def _finding(self, level: Level, code: str, text: str) -> Finding:
        return Finding(level, code, f'{self.label}: {text}', self.label)

    def sentences(self) -> list[str]:
        """One sentence per finding."""
        return [one.text for one in self.findings()]


def possible(values: Array) -> BoolArray:
    """Where values are numbers that something can have."""
    with np.errstate(invalid='ignore'):
        found: BoolArray = np.abs(values) <= LARGEST  # false for what is no number
    return found


def clean(
    series: TimeSeries,
    *,
    max_gap: float | None = None,
    jump_seconds: float | None = None,
    signal: Signal | None = None,
) -> tuple[TimeSeries, SampleReport]:
    """Apply the rules of this module; returns the clean series and the report.

    `max_gap` is by default five times the median period, `jump_seconds` (what counts as a wild
    stamp or a clock set back) the larger of 1 s and ten median periods. `signal`: whether values
    go on as they did, or may have impacts; left out: no sample is judged by its value.
    """
    period = series.median_period
    jump = jump_seconds
    if jump is None:
        jump = max(JUMP_SECONDS, 10.0 * period) if np.isfinite(period) else JUMP_SECONDS
    keep = np.arange(len(series))
    bad_stamp = ~np.isfinite(series.stamps)
    bad_value = ~possible(series.values)
    by_channel = {
        name: int(n)
        for name, n in zip(series.names, bad_value[~bad_stamp].sum(axis=0), strict=True)
        if n
    }
    row_bad = bad_value.any(axis=1) & ~bad_stamp
    keep = keep[~bad_stamp & ~row_bad]
    wild = _wild_stamps(series.stamps[keep], jump)
    keep = keep[~wild]
    keep, jumps, lost = _resolve_sessions(series.stamps, keep, jump)
    stamps = series.stamps[keep]
    running = np.maximum.accumulate(stamps) if len(stamps) else stamps
    late = int((stamps < running).sum())
    keep = keep[np.argsort(stamps, kind='stable')]
    repeated = np.concatenate([[False], np.diff(series.stamps[keep]) == 0.0])[: len(keep)]
    conflicting = _conflicting(series, keep, repeated)
    keep = keep[~repeated]
    result = series.take(keep)
    cut = _glitches(result, signal)
    result = result.take(np.flatnonzero(~cut)) if cut.any() else result
    period = result.median_period
    limit = max_gap if max_gap is not None else GAP_FACTOR * period
    pieces = gap_segments(result.stamps, limit) if np.isfinite(limit) else []
    gaps = tuple(
        (float(result.stamps[b.start - 1]), float(result.stamps[b.start])) for b in pieces[1:]
    )
    report = SampleReport(
        series.label,
        len(series),
        len(result),
        int(bad_stamp.sum()),
        int(row_bad.sum()),
        by_channel,
        int(wild.sum()),
        jumps,
        lost,
        late,
        int(repeated.sum()),
        conflicting,
        int(cut.sum()),
        gaps,
        period,
        float(limit),
    )
    return result, report


def _glitches(series: TimeSeries, signal: Signal | None) -> BoolArray:
    if signal == 'smooth':
        return smooth_glitches(series.stamps, series.values)
    if signal == 'impacts':
        return rough_glitches(series.stamps, series.values, IMPACT_SHARE)
    return np.zeros(len(series), bool)


def split_segments(series: TimeSeries, max_gap: float) -> list[TimeSeries]:
    """A clean series cut at pauses longer than `max_gap`."""
    if not max_gap > 0.0:
        raise SignalError(f'{series.label}: max_gap must be positive, found {max_gap} s')
    return [series.take(piece) for piece in gap_segments(series.stamps, max_gap)]


def _wild_stamps(stamps: NDArray[np.float64], jump: float) -> NDArray[np.bool_]:
    if len(stamps) < 5:
        return np.zeros(len(stamps), dtype=bool)
    neighbourhood = median_filter(stamps, size=5, mode='nearest')
    return np.abs(stamps - neighbourhood) > jump


def _resolve_sessions(
    stamps: NDArray[np.float64], keep: NDArray[np.intp], jump: float
) -> tuple[NDArray[np.intp], tuple[float, ...], int]:
    """Split where the clock was set back; keep the longest session and what does not overlap."""
    arrived = stamps[keep]
    steps = np.diff(arrived)
    backward = np.flatnonzero(steps < -jump)
    if len(backward) == 0:
        return keep, (), 0
    # Leaps ahead split too: a few samples from the past must not drag what follows with them.
    breaks = np.flatnonzero(np.abs(steps) > jump) + 1
    sessions = np.split(keep, breaks)
    chosen: list[int] = []
    for index in sorted(range(len(sessions)), key=lambda i: (-len(sessions[i]), i)):
        low, high = stamps[sessions[index]].min(), stamps[sessions[index]].max()
        spans = [(stamps[sessions[c]].min(), stamps[sessions[c]].max()) for c in chosen]
        if all(high < a or low > b for a, b in spans):
            chosen.append(index)
    kept = np.concatenate([sessions[i] for i in sorted(chosen)])
    return kept, tuple(float(steps[b]) for b in backward), len(keep) - len(kept)


def _conflicting(series: TimeSeries, order: NDArray[np.intp], repeated: NDArray[np.bool_]) -> int:
    rows = np.flatnonzero(repeated)
    if len(rows) == 0:
        return 0
    values, before = series.values[order[rows]], series.values[order[rows - 1]]
    differs = (values != before) & ~(np.isnan(values) & np.isnan(before))
    return int(differs.any(axis=1).sum())
