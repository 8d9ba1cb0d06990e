"""From a recording of `joint_states` to whole periods of leg lengths and forces."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import BagError, SignalError
from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import listed
from veh_identification.signals import (
    TimeSeries,
    check_fundamental,
    clean,
    guess_fundamental,
)
from veh_identification.signals.hygiene import MANY_SHARE, SampleReport
from veh_identification.signals.periodic import Fundamental
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.recording.mean_period import (
    PeriodicRecord,
    average_record,
)
from veh_identification.systems.parallel.recording.phases import average_phases
from veh_identification.types import Array, BoolArray, Progress

TOPIC = 'joint_states'
# The fundamental is sought on at most so many samples: lines of a few hertz need no more.
SEARCH_SAMPLES = 1500
LENGTH_HARMONICS = 3
ODD_FACTOR = 5.0
#: Motion over the noise of a sample below which a leg stands still.
STILL_FACTOR = 2.0
#: Samples that may be missing where the fundamental is not known either.
LOST_STEPS = 100
#: A gap may last this share of the fastest excited cycle: the lengths hardly bend within it.
GAP_SHARE = 0.05
#: Periods that lack more than this share of their samples are left out; less is filled by the mean
#: of the others at the same phase.
MISSING_SHARE = 0.1
#: Samples that may be missing for each that is there: a pause of hours is no gap.
MOST_MISSING = 10
#: Scatter of the periods over the motion above which the motion does not repeat.
REPEAT_SHARE = 0.05


class NotRepeatingError(SignalError):
    """A motion without periods."""


@dataclass(frozen=True, eq=False)
class LegRecording:
    """What one bag says of the six legs."""

    source: str
    legs: TimeSeries  # (N, 12): lengths in m, then forces in N

    def __repr__(self) -> str:
        return f'<{len(self.legs)} samples of six legs from {self.source}>'


def read_legs(
    bag: str | Path, topic: str = TOPIC, progress: Progress | None = None
) -> LegRecording:
    """Lengths and forces of the six legs from a bag."""
    from veh_identification.runtime.bags import BagReader, columns_of, named_joints

    paths = [f'{field}[{leg}]' for field in ('position', 'effort') for leg in LEGS]
    with BagReader(bag, progress=progress) as reader:
        if '/' + topic.strip('/') not in reader.topics:
            raise BagError(
                f'{bag}: there is no topic {topic} with lengths and forces of the legs, only '
                f'{", ".join(reader.topics) or "none"}; --topic, or topic under identify of the '
                'description, names it'
            )
        columns = columns_of(reader, {topic: paths})[topic]
        joints = named_joints(reader, topic)
    values = np.column_stack([columns.values.get(p, np.full(len(columns), np.nan)) for p in paths])
    missing = ~np.isfinite(values).any(axis=0)
    if missing.any():
        k = int(np.argmax(missing))
        what = 'position (length)' if k < 6 else 'effort (force)'
        raise BagError(
            f'{bag}, topic {topic}: no message gives the {what} of {LEGS[k % 6]}; '
            f'leg_1 to leg_6 are needed, the messages name {listed(joints) or "none"} '
            '(veh-id convert --map gives joints other names)'
        )
    units = ['m'] * 6 + ['N'] * 6
    series = TimeSeries.from_nanoseconds(columns.stamps_ns, values, paths, units, label=str(bag))
    return LegRecording(str(bag), series)


def periodic_record(
    series: TimeSeries,
    fundamental_hz: float | None = None,
    harmonics: int = 5,
    skip_periods: int = 0,
) -> PeriodicRecord:
    """Average a recording over its periods.

    Without a fundamental the strongest repetition is taken. A nominal fundamental that is off is
    replaced by the one found in the data (with a warning). Samples that do not fall on one grid of
    phases are averaged at their own moments (see `phases`). Periods that move unlike the others (a
    run-in, a stop) or that lack samples are left out, and said.
    """
    cleaned, report = clean(series, max_gap=np.inf)
    findings = _hygiene(report)
    if len(cleaned) < 4:
        raise SignalError(
            f'{series.label}: {len(cleaned)} of {len(series)} messages give the position and the '
            'effort of all six legs, which is no recording'
        )
    stamps, values = cleaned.stamps - cleaned.stamps[0], cleaned.values
    step = cleaned.median_period
    _require_motion(series.label, values)
    nominal = fundamental_hz or _guess(series.label, stamps, values[:, :6], step)
    _require_two_periods(series.label, stamps, step, nominal, skip_periods, not fundamental_hz)
    found = _check(stamps, values, step, nominal, harmonics)
    if fundamental_hz is not None and found.warning:
        findings.append(_corrected(series.label, found.warning))
    told = fundamental_hz is not None and not found.leaks
    fundamental = nominal if told else found.frequency_hz
    gaps = _Gaps.of(series.label, stamps, step, fundamental, harmonics)
    cut, gappy = _whole_periods(gaps, stamps, values, step, fundamental, skip_periods)
    kept, odd = _even_periods(series.label, cut.table, skip_periods, fundamental, gappy)
    if odd and not told:  # they pulled at the fundamental too
        left_out = [*range(skip_periods), *odd, *gappy]
        used = ~np.isin((stamps * fundamental).astype(int), left_out)
        fundamental = _check(stamps[used], values[used], step, fundamental, harmonics).frequency_hz
        cut, gappy = _whole_periods(gaps, stamps, values, step, fundamental, skip_periods)
        kept = kept[(kept < len(cut.table)) & ~np.isin(kept, [*gappy])]
    findings += gaps.findings(gappy, findings)
    findings += [_left_out(series.label, k, rms, int(kept[0])) for k, rms in odd.items()]
    begin_ns = int(cleaned.stamps_ns()[0]) + round(kept[0] / fundamental * 1e9)
    record = _averaged(cut, stamps, values, kept, fundamental, series.label, begin_ns)
    require_repetition(record)
    return replace(record, findings=tuple(findings))


def _corrected(label: str, warning: str) -> Finding:
    return Finding(
        'warn', 'fundamental_corrected', f'{label}: {warning}; the found one is used', label
    )


def _left_out(label: str, period: int, rms: float, first: int) -> Finding:
    """A period that moves unlike the others; before the first even one it is the run-in."""
    text = (
        f'{label}: period {period} differs from the others by {rms:.3g} m rms, more than '
        f'{ODD_FACTOR:g} times as much as usual: left out'
    )
    if period < first:
        return Finding('note', 'run_in_left_out', text, label)
    return Finding('warn', 'period_left_out', text, label)


def _hygiene(report: SampleReport) -> list[Finding]:
    """Messages that could not be used; those that lack a number are named by what they lack."""
    findings = replace(report, non_finite_values=0, non_finite_by_channel={}).findings()
    lost = report.non_finite_values
    if not lost:
        return findings
    channels = [name for name, count in report.non_finite_by_channel.items() if count == lost]
    named = ', '.join(channels[:2]) + (f' and {len(channels) - 2} more' * (len(channels) > 2))
    text = (
        f'{report.label}: {lost} of {report.samples_in} messages lack a number'
        f'{f" ({named})" if named else ""} and are left out'
    )
    many = lost >= MANY_SHARE * report.samples_in
    code = 'samples_not_finite'
    return [*findings, Finding('warn' if many else 'note', code, text, report.label)]


def _require_motion(label: str, values: Array) -> None:
    """Refuse a robot that stands still, and sensors that always say the same."""
    lengths = values[:, :6]
    noise = np.sqrt(np.square(np.diff(lengths, axis=0)).mean(axis=0) / 2.0)
    # White noise alone has this ratio at one; a motion of a few hertz moves little per sample.
    if (lengths.std(axis=0) <= STILL_FACTOR * noise + 1e-12).all():
        raise SignalError(
            f'{label}: the robot stands still, no leg moves by more than its noise '
            f'({lengths.std(axis=0).max():.3g} m rms)'
        )
    same = np.flatnonzero(np.ptp(values, axis=0) == 0.0)
    if len(same):
        what, unit = ('position (length)', 'm') if same[0] < 6 else ('effort (force)', 'N')
        raise SignalError(
            f'{label}: the {what} of {LEGS[same[0] % 6]} is {values[0, same[0]]:g} {unit} in '
            'every message'
        )


def _guess(label: str, stamps: Array, lengths: Array, step: float) -> float:
    gaps = np.diff(stamps)
    if gaps.max() > LOST_STEPS * step:
        raise SignalError(
            f'{label}: samples are missing, a gap of {gaps.max():.4g} s at '
            f'{stamps[int(np.argmax(gaps))]:.4g} s'
        )
    # Equal steps for the autocorrelation, whatever the stamps do.
    grid = np.arange(int(stamps[-1] / step) + 1) * step
    even = np.stack([np.interp(grid, stamps, column) for column in lengths.T], axis=1)
    try:
        return guess_fundamental(even, 1.0 / step)
    except SignalError as error:
        raise NotRepeatingError(f'{label}: {error}') from None


def _check(
    stamps: Array, values: Array, step: float, nominal: float, harmonics: int
) -> Fundamental:
    stride = max(1, len(stamps) // SEARCH_SAMPLES)
    # Lengths bend the pose's harmonics into further ones; left out, they would shift the fit.
    lines = min(LENGTH_HARMONICS * harmonics, int(0.4 / (step * stride) / nominal))
    return check_fundamental(stamps[::stride], values[::stride, :6], nominal, max(lines, 1))


@dataclass(frozen=True)
class _Cut:
    """Periods of equal samples (periods, N, 12), and whether these are the raw samples."""

    table: Array
    raw: bool


def _cut(stamps: Array, values: Array, step: float, fundamental: float) -> _Cut:
    count = round(1.0 / (fundamental * step))
    whole = len(stamps) // count
    grid = np.arange(len(stamps)) / (fundamental * count)
    # Half a percent of a step of accumulated or single deviation is below every sensor's noise.
    if whole >= 2 and np.abs(stamps - grid)[: whole * count].max() < 0.005 * step:
        return _Cut(values[: whole * count].reshape(whole, count, -1), True)
    whole = int((round(stamps[-1] * fundamental * count) + 1) / count)
    grid = np.arange(whole * count) / (fundamental * count)
    even = np.stack([np.interp(grid, stamps, column) for column in values.T], axis=1)
    return _Cut(even.reshape(whole, count, -1), False)


def _even_periods(
    label: str, table: Array, skipped: int, fundamental: float, gappy: Container[int] = ()
) -> tuple[NDArray[np.intp], dict[int, float]]:
    """Periods to average, and those that move unlike them with how much they differ [m rms]."""
    periods = np.array([k for k in range(skipped, len(table)) if k not in gappy], dtype=np.intp)
    if len(periods) < 2:
        raise SignalError(
            f'{label}: at least two periods of {1.0 / fundamental:.6g} s are needed after '
            f'{skipped} skipped, found {max(len(periods), 0)}'
        )
    if len(periods) < 3:
        return periods, {}
    lengths = table[periods, :, :6]
    rms = np.sqrt(np.square(lengths - np.median(lengths, axis=0)).mean(axis=(1, 2)))
    odd = rms > ODD_FACTOR * np.median(rms) + 1e-9
    if (~odd).sum() < 2:
        odd[:] = False
    return periods[~odd], {int(k): float(v) for k, v in zip(periods[odd], rms[odd], strict=True)}


def _averaged(
    cut: _Cut,
    stamps: Array,
    values: Array,
    kept: NDArray[np.intp],
    fundamental: float,
    label: str,
    begin_ns: int,
) -> PeriodicRecord:
    table = cut.table[kept]
    count = table.shape[1]
    if cut.raw:
        flat = table.reshape(-1, table.shape[2])
        return average_record(
            flat[:, :6], flat[:, 6:], count, fundamental, source=label, start_ns=begin_ns
        )
    lengths, forces, phased = average_phases(
        stamps, values, fundamental, count, kept, table.mean(axis=0)
    )
    return PeriodicRecord(
        lengths,
        forces,
        count * fundamental,
        fundamental,
        source=label,
        start_ns=begin_ns,
        phased=phased,
    )


def require_repetition(record: PeriodicRecord) -> None:
    """Averaging something that does not repeat would make a motion that never was."""
    scatter = float(np.sqrt(np.trace(record.lengths.covariance) / 6.0))
    motion = float(record.lengths.mean.std(axis=0).max())
    if scatter > REPEAT_SHARE * motion:
        raise NotRepeatingError(
            f'{record.source}: the motion does not repeat: periods of '
            f'{1.0 / record.fundamental_hz:.6g} s differ by {scatter:.3g} m rms where the legs '
            f'move by {motion:.3g} m rms'
        )


def _require_two_periods(
    label: str, stamps: Array, step: float, fundamental: float, skipped: int, guessed: bool
) -> None:
    duration = float(stamps[-1]) + step
    if duration * fundamental < (2 + skipped) * (1.0 - 1e-6):
        # Where nobody has said that there is a period, a long one is none.
        raise (NotRepeatingError if guessed else SignalError)(
            f'{label}: at least two periods of {1.0 / fundamental:.6g} s are needed'
            f'{f" after {skipped} skipped" if skipped else ""}, the recording lasts '
            f'{duration:.6g} s ({duration * fundamental:.3g} periods)'
        )


@dataclass(frozen=True)
class _Gaps:
    """Where samples are missing."""

    label: str
    stamps: Array
    step: float
    allowed: float  # seconds over which values may be interpolated

    @classmethod
    def of(
        cls, label: str, stamps: Array, step: float, fundamental: float, harmonics: int
    ) -> _Gaps:
        allowed = max(GAP_SHARE / (harmonics * fundamental), 2.5 * step)
        return cls(label, stamps, step, allowed)

    @property
    def long(self) -> NDArray[np.intp]:
        """Samples behind which the motion is not known for a while."""
        return np.flatnonzero(np.diff(self.stamps) > self.allowed)

    def filled(self, values: Array) -> tuple[Array, Array]:
        """Stamps and values with rows of NaN in the long gaps."""
        steps = np.diff(self.stamps)[self.long]
        counts = np.rint(steps / self.step).astype(int)
        if counts.sum() > MOST_MISSING * len(self.stamps):
            raise self.refused('samples are missing')
        stamps, rows, begin = [], [], 0
        for k, seconds, count in zip(self.long, steps, counts, strict=True):
            missing = self.stamps[k] + seconds / count * np.arange(1, count)
            stamps += [self.stamps[begin : k + 1], missing]
            rows += [values[begin : k + 1], np.full((count - 1, values.shape[1]), np.nan)]
            begin = k + 1
        return (
            np.concatenate([*stamps, self.stamps[begin:]]),
            np.concatenate([*rows, values[begin:]]),
        )

    def refused(self, what: str) -> SignalError:
        """An error with the longest gap."""
        gaps = np.diff(self.stamps)
        at = self.stamps[int(np.argmax(gaps))]
        return SignalError(f'{self.label}: {what} (a gap of {gaps.max():.4g} s at {at:.4g} s)')

    def findings(self, left_out: Mapping[int, float], known: Sequence[Finding]) -> list[Finding]:
        """Gaps that there are, and what they cost."""
        gaps = np.diff(self.stamps)
        if gaps.max() <= 1.5 * self.step:
            return []
        text = (
            f'{self.label}: {int((gaps > 1.5 * self.step).sum())} gaps of up to '
            f'{gaps.max():.3g} s (samples come every {self.step:.3g} s)'
        )
        if not len(self.long):
            return [Finding('note', 'short_gaps', text, self.label)]
        why = ''.join(f'; {one.text.removeprefix(f"{self.label}: ")}' for one in known)
        if left_out:
            names = ', '.join(str(k) for k in left_out)
            text += f': period {names} lacks too many samples and is left out'
        else:
            text += ': filled by the mean of the other periods at the same phase'
        level: Level = 'warn' if left_out else 'note'
        return [Finding(level, 'gaps_left_out', text + why, self.label)]


def _whole_periods(
    gaps: _Gaps, stamps: Array, values: Array, step: float, fundamental: float, skipped: int
) -> tuple[_Cut, dict[int, float]]:
    """Periods without holes, and the share of missing samples of those that have too many."""
    if not len(gaps.long):
        return _cut(stamps, values, step, fundamental), {}
    cut = _cut(*gaps.filled(values), step, fundamental)
    table = cut.table.copy()
    missing: BoolArray = np.asarray(np.isnan(table).any(axis=2))
    share = missing.mean(axis=1)
    gappy = {int(k): float(share[k]) for k in np.flatnonzero(share > MISSING_SHARE)}
    whole = np.array([k for k in range(skipped, len(table)) if k not in gappy], dtype=np.intp)
    known = (~missing[whole]).sum(axis=0)
    if len(whole) < 2 or known.min() < 1:
        raise gaps.refused(
            f'samples are missing: {len(whole)} of {len(table) - skipped} periods of '
            f'{1.0 / fundamental:.6g} s are whole but for a tenth, and two are needed'
        )
    mean = np.nanmean(np.where(missing[whole, :, None], np.nan, table[whole]), axis=0)
    return _Cut(np.where(missing[:, :, None], mean, table), cut.raw), gappy
