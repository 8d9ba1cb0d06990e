"""Live samples into whole periods, and their running mean and covariance."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.errors import SignalError
from veh_identification.saved_state import SavedState
from veh_identification.signals import PeriodAverage
from veh_identification.signals.resting import SHARE, unsure_way
from veh_identification.systems.parallel.recording.phases import PhasedForces, average_phases
from veh_identification.types import Array, IntArray

NANOSECONDS = 1_000_000_000
#: Messages that may be lost one after the other; a longer gap drops its period.
LOST_SAMPLES = 3
#: Periods whose median says what a period looks like.
REMEMBERED = 5
#: A sample this many deviations off the median of the periods spoils its period. Less does not
#: matter: it moves a mean over hundreds of samples by a part of its deviation.
GLITCH = 10.0
#: Smallest deviation, as a share of the range of lengths and of forces.
LEAST_LENGTH, LEAST_FORCE = 2e-4, 2e-3
#: Periods whose ways say how far the legs usually go, and quantiles that leave out glitches.
WAYS_KEPT, WAY = 100, (0.01, 0.99)
#: Raw samples that are kept for periods off the grid: 40 s at 1 kHz, some megabytes.
RAW_SAMPLES = 40_000


@dataclass(frozen=True)
class RawPeriod:
    """The samples of a completed period as they came."""

    begin_ns: int
    stamps_ns: IntArray  # (K,)
    values: Array  # (K, C)
    on_grid: bool

    @property
    def times(self) -> Array:
        """Seconds after the begin of the period."""
        return np.asarray((self.stamps_ns - self.begin_ns) * 1e-9)


def stored_periods(name: str, periods: Sequence[RawPeriod]) -> dict[str, Any]:
    """Entries of a saved state."""
    stamps = [one.stamps_ns for one in periods]
    return {
        f'{name}_begin_ns': np.array([one.begin_ns for one in periods], np.int64),
        f'{name}_lengths': np.array([len(one) for one in stamps], np.int64),
        f'{name}_stamps_ns': np.concatenate([np.empty(0, np.int64), *stamps]),
        f'{name}_values': np.concatenate([np.empty((0, 12)), *(one.values for one in periods)]),
        f'{name}_on_grid': np.array([one.on_grid for one in periods], bool),
    }


def restored_periods(name: str, stored: SavedState) -> list[RawPeriod]:
    """What `stored_periods` gave."""
    begins = stored.stamps(f'{name}_begin_ns')
    lengths = stored.counts(f'{name}_lengths', begins.shape)
    stamps = stored.stamps(f'{name}_stamps_ns')
    values = stored.array(f'{name}_values', (len(stamps), 12))
    on_grid = stored.flags(f'{name}_on_grid', begins.shape)
    if lengths.sum() != len(stamps) or (len(stamps) and not (np.diff(stamps) > 0).all()):
        raise stored.refused(f'{name}_stamps_ns', 'do not fit the periods, or do not increase')
    if not len(begins):
        return []
    cuts = np.cumsum(lengths)[:-1]
    parts = zip(np.split(stamps, cuts), np.split(values, cuts), strict=True)
    return [
        RawPeriod(int(begin), times, table, bool(even))
        for begin, (times, table), even in zip(begins, parts, on_grid, strict=True)
    ]


class PeriodCollector:
    """Cuts a stream of stamped samples (C,) into periods of equally spaced samples.

    A period with a longer gap or without its ends is dropped and counted: it would weigh
    unequally.
    """

    def __init__(self, fundamental_hz: float, rate: float, channels: int = 12) -> None:
        self.samples = round(rate / fundamental_hz)
        if self.samples < 4:
            raise SignalError(
                f'a period of {1.0 / fundamental_hz:g} s has only {self.samples} samples at '
                f'{rate:g} Hz'
            )
        self.step_ns = NANOSECONDS / (fundamental_hz * self.samples)
        self.channels = channels
        self.accepted = self.rejected = self.duplicates = self.late = 0
        self.reason = ''
        self.restart()

    def restart(self) -> None:
        """Forget the period under way; the next sample begins a new one."""
        self._start_ns: int | None = None
        self._period = 0
        self.raw = RawPeriod(0, np.empty(0, np.int64), np.empty((0, self.channels)), True)
        self._stamps: list[int] = []  # after _start_ns: a float cannot hold Unix nanoseconds
        self._values: list[Array] = []

    def push(self, stamp_ns: int, values: Array) -> Array | None:
        """Take a sample; returns (samples, channels) when it completes a period."""
        if self._start_ns is None:
            self._start_ns = stamp_ns
        age = stamp_ns - self._start_ns
        if self._stamps and age <= self._stamps[-1]:
            if age == self._stamps[-1]:
                self.duplicates += 1
            else:
                self.late += 1
            return None
        done = None
        if age >= self._end() - 0.25 * self.step_ns:
            done = self._finish(age, values)
        self._stamps.append(age)
        self._values.append(values)
        return done

    @property
    def period_start_ns(self) -> int:
        """Stamp at which the last completed period began."""
        assert self._start_ns is not None
        return self._start_ns + round((self._period - 1) * self.samples * self.step_ns)

    def _end(self) -> float:
        return (self._period + 1) * self.samples * self.step_ns

    def _finish(self, age: int, values: Array) -> Array | None:
        begin = self._period * self.samples * self.step_ns
        # The sample after the period bounds the interpolation; so does the one before it.
        table = np.array([*self._values, values])
        steps = (np.array([*self._stamps, age], dtype=float) - begin) / self.step_ns
        self._period += 1
        before = self._stamps
        self._stamps, self._values = self._stamps[-1:], self._values[-1:]
        mine = (steps > -0.5) & (steps < self.samples - 0.5)
        assert self._start_ns is not None
        stamps = self._start_ns + np.array([*before, age], np.int64)
        self.raw = RawPeriod(self._start_ns + round(begin), stamps[mine], table[mine], True)
        gap = float(np.diff(steps).max())
        if gap > LOST_SAMPLES + 1.5:
            self._reject(f'a gap of {gap * self.step_ns * 1e-9:.4g} s')
            # Whole periods may be missing; the grid goes on. Not one by one: a stamp may be years
            # off.
            present = math.floor((age + 0.25 * self.step_ns) / (self.samples * self.step_ns))
            missing = max(0, present - self._period)
            self._period += missing
            self.rejected += missing
            return None
        own = (steps > -0.25) & (steps < self.samples - 0.25)
        if (
            own.sum() == self.samples
            and np.abs(steps[own] - np.arange(self.samples)).max() < 0.005
        ):
            self.accepted += 1
            return table[own]
        grid = np.arange(self.samples, dtype=float)
        if steps[0] > 0.25 or steps[-1] < grid[-1] - 0.25:
            self._reject('its ends are missing')
            return None
        self.accepted += 1
        self.raw = replace(self.raw, on_grid=False)
        return np.stack([np.interp(grid, steps, column) for column in table.T], axis=1)

    def _reject(self, reason: str) -> None:
        self.rejected += 1
        self.reason = reason

    def under_way(self) -> RawPeriod:
        """What came behind the last completed period."""
        start = self._start_ns or 0
        stamps = start + np.array(self._stamps, np.int64)
        values = np.array(self._values).reshape(len(stamps), self.channels)
        begin = start + round(self._period * self.samples * self.step_ns)
        mine = stamps > begin - 0.5 * self.step_ns
        return RawPeriod(begin, stamps[mine], values[mine], False)

    def state(self) -> dict[str, Any]:
        """Grid, counts and the period under way; the grid goes on where the samples do."""
        start = self._start_ns
        return {
            'collector_start_ns': np.array([] if start is None else [start], np.int64),
            'collector_counts': np.array(
                [self._period, self.accepted, self.rejected, self.duplicates, self.late], np.int64
            ),
            'collector_ages': np.array(self._stamps, np.int64),
            'collector_values': np.array(self._values).reshape(len(self._stamps), self.channels),
        }

    def restore(self, stored: SavedState) -> None:
        """Go on from what `state` gave."""
        start = stored.stamps('collector_start_ns')
        counts = stored.counts('collector_counts', (5,))
        ages = stored.stamps('collector_ages')
        values = stored.array('collector_values', (len(ages), self.channels))
        if len(start) > 1 or (len(ages) and not (len(start) and (np.diff(ages) > 0).all())):
            raise stored.refused('collector_ages', 'do not increase from one start')
        self.restart()
        self._start_ns = int(start[0]) if len(start) else None
        self._period, self.accepted, self.rejected, self.duplicates, self.late = map(int, counts)
        self._stamps, self._values = ages.tolist(), list(values)


class RunningPeriods:
    """Mean period and covariance of its noise, period by period (Welford), memory bounded."""

    def __init__(self) -> None:
        self.count = 0
        self.shift = 0.0  # samples by which the last period lags behind the mean of the others
        self._mean: Array = np.empty((0, 0))
        self._squares: Array = np.empty((0, 0))
        self.raw: deque[RawPeriod] = deque()  # the newest

    def add(self, period: Array, raw: RawPeriod | None = None) -> None:
        """Take one period (N, C), and the samples that it was made of."""
        if raw is not None:
            self.raw.append(raw)
            while sum(len(r.stamps_ns) for r in self.raw) > RAW_SAMPLES and len(self.raw) > 2:
                self.raw.popleft()
        if self.count == 0:
            self._mean = period.copy()
            self._squares = np.zeros((period.shape[1],) * 2)
        elif period.shape != self._mean.shape:
            raise SignalError(
                f'unequal periods: the first has {len(self._mean)} samples, a later one '
                f'{len(period)}'
            )
        before = period - self._mean
        self.shift = self._lag(before)
        self.count += 1
        # New arrays: those that were handed out in a state stay what they were.
        self._mean = self._mean + before / self.count
        self._squares = self._squares + before.T @ (period - self._mean)

    def _lag(self, difference: Array) -> float:
        """Least-squares delay of a period against the mean, by the mean's slope (lengths)."""
        slope = 0.5 * (np.roll(self._mean, -1, axis=0) - np.roll(self._mean, 1, axis=0))[:, :6]
        power = float(np.square(slope).sum())
        return 0.0 if power == 0.0 else -float((slope * difference[:, :6]).sum()) / power

    def average(self, channels: slice) -> PeriodAverage:
        """Mean and covariance of some channels, as `signals.average_periods` gives them."""
        if self.count < 2:
            raise SignalError(f'averaging needs at least two periods, found {self.count}')
        squares = 0.5 * (self._squares + self._squares.T)
        covariance = squares[channels, channels] / (len(self._mean) * (self.count - 1))
        return PeriodAverage(self._mean[:, channels].copy(), covariance, self.count)

    def samples(self, fundamental_hz: float) -> tuple[Array, Array]:
        """Times [s] and values of the newest periods as they came."""
        if not self.raw:
            return np.empty(0), np.empty((0, 12))
        times = [k / fundamental_hz + raw.times for k, raw in enumerate(self.raw)]
        return np.concatenate(times), np.concatenate([raw.values for raw in self.raw])

    def phased(
        self, fundamental_hz: float
    ) -> tuple[PeriodAverage, PeriodAverage, PhasedForces] | None:
        """Lengths and forces of the newest periods at their own moments, where off the grid."""
        if len(self.raw) < 2 or all(raw.on_grid for raw in self.raw):
            return None
        stamps = [k / fundamental_hz + raw.times for k, raw in enumerate(self.raw)]
        return average_phases(
            np.concatenate(stamps),
            np.concatenate([raw.values for raw in self.raw]),
            fundamental_hz,
            len(self._mean),
            np.arange(len(self.raw)),
            self._mean,
        )

    def state(self) -> dict[str, Any]:
        """Mean, scatter and the newest samples."""
        return {
            'periods': self.count,
            'period_shift': self.shift,
            'period_mean': self._mean,
            'period_squares': self._squares,
            # On the grid the mean has all of it.
            **stored_periods('period', [] if all(r.on_grid for r in self.raw) else self.raw),
        }

    @classmethod
    def restored(cls, stored: SavedState, samples: int) -> RunningPeriods:
        """What `state` gave, of periods of that many samples."""
        made = cls()
        made.count = stored.count('periods')
        made.shift = stored.number('period_shift')
        shapes = ((samples, 12), (12, 12)) if made.count else ((0, 0), (0, 0))
        made._mean = stored.array('period_mean', shapes[0])
        made._squares = stored.array('period_squares', shapes[1])
        made.raw.extend(restored_periods('period', stored))
        return made


@dataclass(frozen=True)
class CollectedPeriod:
    """A whole period, on the grid and as its samples came."""

    table: Array  # (N, 12) lengths, forces
    raw: RawPeriod


class Standing:
    """Tells periods in which the robot stands: they say nothing of its model, only of stiction."""

    def __init__(self) -> None:
        self.count = 0
        self.now = False  # whether the last period was one
        self._ways: deque[Array] = deque(maxlen=WAYS_KEPT)

    def push(self, raw: RawPeriod) -> bool:
        """Take the samples of a period; whether all legs rest in it."""
        if len(raw.stamps_ns) < 3:
            return False
        lengths = raw.values[:, :6]
        way = np.ptp(np.quantile(lengths, WAY, axis=0), axis=0)
        noise = unsure_way([lengths])
        self.now = bool((way <= noise).all())
        if not self.now:
            # Those that stand count as well: what is usual must not hang on the first that came.
            self._ways.append(way)
            usual = np.median(np.stack(self._ways), axis=0)
            self.now = bool((way <= np.maximum(SHARE * usual, noise)).all())
        self.count += self.now
        return self.now


class PeriodGate:
    """Tells periods that hold what the others do not: a spike, a jump, a push from outside.

    Of two periods that differ nobody can say which is the spoilt one: both wait for a third.
    """

    def __init__(self) -> None:
        self._recent: deque[CollectedPeriod] = deque(maxlen=REMEMBERED)
        self._undecided: list[CollectedPeriod] = []
        self._left_out = False  # whether the last one was
        self.reason = ''  # why the last one was left out

    @property
    def waiting(self) -> int:
        """Periods of which nothing is known yet."""
        return len(self._undecided)

    def push(self, period: CollectedPeriod) -> tuple[list[CollectedPeriod], int]:
        """Take a period; returns those to be used now, and how many more are left out."""
        if self._recent and self._recent[-1].table.shape != period.table.shape:
            return [period], 0  # averaging refuses it with its own words
        self._recent.append(period)
        self._undecided.append(period)
        if len(self._recent) == 2 and self._fault(period):
            return [], 0
        if len(self._recent) == 1:
            return [], 0
        waiting, self._undecided = self._undecided, []
        faults = [self._fault(one) for one in waiting]
        used = [one for one, fault in zip(waiting, faults, strict=True) if not fault]
        self.reason = next((fault for fault in reversed(faults) if fault), self.reason)
        if used or not self._left_out:
            self._left_out = not used
            return used, len(waiting) - len(used)
        return self._like_the_last(period)

    def _like_the_last(self, period: CollectedPeriod) -> tuple[list[CollectedPeriod], int]:
        """Two in a row that differ from those before: if they are alike, those were the odd ones.

        Else a robot that ran badly for a while would have to run well for as long.
        """
        before = list(self._recent)
        self._recent = deque(before[-2:], maxlen=REMEMBERED)
        if not self._fault(period):
            self._left_out = False
            return list(self._recent), -1  # that of the last one is taken back
        self._recent = deque(before, maxlen=REMEMBERED)
        return [], 1

    def state(self) -> dict[str, Any]:
        """The periods that tell what is usual."""
        return {
            'gate_tables': np.array([one.table for one in self._recent]),
            'gate_waiting': self.waiting,
            **stored_periods('gate', [one.raw for one in self._recent]),
        }

    @classmethod
    def restored(cls, stored: SavedState, samples: int) -> PeriodGate:
        """What `state` gave."""
        made = cls()
        raws = restored_periods('gate', stored)
        waiting = stored.count('gate_waiting')
        shape = (len(raws), samples, 12) if raws else (0,)
        tables = stored.array('gate_tables', shape)
        if len(raws) > REMEMBERED or waiting > len(raws):
            raise stored.refused('gate_waiting', 'does not fit the periods')
        made._recent.extend(map(CollectedPeriod, tables, raws))
        made._undecided = list(made._recent)[len(raws) - waiting :]
        return made

    def _fault(self, period: CollectedPeriod) -> str:
        """What is odd about a period; empty: nothing."""
        tables = np.stack([one.table for one in self._recent])
        middle = np.median(tables, axis=0)
        spread = np.abs(tables - middle)
        count = len(tables)
        pair = count == 2  # both are half of their difference off the middle
        # One of few values is the median itself, which makes the others look more alike.
        scale = 1.4826 * np.median(spread.reshape(-1, spread.shape[2]), axis=0)
        scale *= 1.0 if pair else count / (count - 1)
        share = np.repeat([LEAST_LENGTH, LEAST_FORCE], 6)
        scale = np.maximum(np.maximum(scale, share * np.ptp(tables, axis=1).min(axis=0)), 1e-9)
        # Where forces jump in all periods (dry friction), they may jump a sample earlier or later.
        steps = np.abs(tables - np.roll(tables, 1, axis=1))
        jump = np.maximum(steps, np.roll(steps, -1, axis=1)).min(axis=0)
        jump *= 0.5 if pair else 1.0
        off = (np.abs(period.table - middle) - jump) / scale
        sample, channel = np.unravel_index(int(np.argmax(off)), off.shape)
        if not off[sample, channel] > GLITCH:
            return ''
        what, unit = ('position', 'm') if channel < 6 else ('effort', 'N')
        value = period.table[sample, channel]
        return (
            f'{what} of leg_{channel % 6 + 1} is {value:.4g} {unit} where the other periods have '
            f'{middle[sample, channel]:.4g} {unit}'
        )
