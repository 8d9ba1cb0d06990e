"""From positions and efforts to rows: both sides of the equations pass the same low-pass filter.

Positions are differentiated in a band that is wider than that of the equations, the regressor is
built at full rate, and then its columns and the efforts are low-passed and decimated by one and
the same filter. So dry friction stays sharp before it is filtered, as in the efforts, and nothing
that one side lost is asked of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from veh_identification.errors import SignalError
from veh_identification.identification.repetition import Phases, period_of
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.signals.cutoff import choose_cutoff
from veh_identification.signals.decimation import (
    DecimationFilter,
    decimate,
    decimate_equations,
    design_decimation,
    share_of_rows,
)
from veh_identification.signals.periodic import resample_periods
from veh_identification.signals.resting import long_stands, resting
from veh_identification.signals.segments import contiguous_segments
from veh_identification.signals.spectra import Spectrum, welch_spectrum
from veh_identification.signals.synchronise import common_grid, resample
from veh_identification.systems.robot.model import ArmModel, Dry
from veh_identification.systems.robot.recording import ArmRecording, BaseWrench
from veh_identification.types import Array, BoolArray, IntArray

#: The band of the derivatives over the cut-off of the equations.
WIDER = 2.5
#: Order of that filter: what passes the cut-off of the equations passes it whole.
ORDER = 8
#: The cut-off over the frequency below which the speeds have nearly all of their power.
MOTION_BAND = 8.0
LOWEST_HZ = 3.0
#: Of the sample rate.
HIGHEST_SHARE = 0.12
#: Band of the positions for dry friction: share of the rate, and at most.
FINE_SHARE, FINE_HZ = 0.2, 60.0
#: Longest delay that is looked for, as a share of the period at the cut-off.
LONGEST_DELAY = 0.25
#: Share of a joint's power of motion, and how much wider than that the excitation is taken.
EXCITED_POWER, EXCITED_BAND = 0.95, 2.0
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Signals:
    """A recording on a uniform grid; columns are those of the model's joints."""

    label: str
    name: str
    rate: float
    epoch_ns: int
    stamps: Array
    position: Array  # nan between segments
    effort: Array  # of the model's equations; nan of those without
    rests: BoolArray  # where a joint rests
    segments: tuple[slice, ...]
    cycle: int = 0  # samples of the mean period, which stands there three times; 0: no averaging
    stood: float = 0.0  # seconds of long stands, which are in no segment


@dataclass(frozen=True, eq=False)
class Segment:
    """Motion and efforts at full rate, without gaps, ends of the differentiation cut off."""

    stamps_ns: IntArray
    q: Array
    qd: Array
    qdd: Array
    fine_q: Array  # of a wider band: when a joint turns round decides over its dry friction
    fine_qd: Array
    effort: Array
    rests: BoolArray
    margin: int  # samples at each end that only serve delayed efforts

    @property
    def inner(self) -> slice:
        """What is used of the motion."""
        return slice(self.margin, len(self.q) - self.margin)


def on_grid(
    recording: ArmRecording,
    joints: Sequence[str],
    rate_hz: float,
    fundamental_hz: float = 0.0,
    base_wrench: bool = False,
) -> Signals:
    """Even steps; efforts that are missing now and then make gaps, missing throughout do not.

    `base_wrench`: efforts end with the six of the sensors below the base (nan: there are none).
    """
    places = [recording.joints.index(name) for name in joints]
    count = len(recording.joints)
    values = recording.series.values
    has_effort = np.asarray(np.isfinite(values[:, count:]).any(axis=0))
    known = [k for k in places if has_effort[k]]
    finite = np.asarray(np.isfinite(values[:, [count + k for k in known]]).all(axis=1))
    series = recording.series.take(finite)
    names = [recording.series.names[k] for k in places]
    names += [recording.series.names[count + k] for k in known]
    series = series.select(names)
    if len(series) < 2:
        raise SignalError(f'{recording.source}: no sample has the efforts of all joints')
    grid, rate = common_grid([series], rate_hz or None)
    resampled, valid = resample(series, grid)
    effort = np.full((len(grid), len(joints)), np.nan)
    for column, k in enumerate(known):
        effort[:, places.index(k)] = resampled[:, len(places) + column]
    position = resampled[:, : len(places)]
    if base_wrench:
        wrench, known_wrench = total_wrench(recording.wrenches, grid, series.epoch_ns)
        effort = np.column_stack([effort, wrench])
        valid = valid & known_wrench
    rests = resting(position, valid, rate)
    stands = long_stands(rests, valid, rate)
    valid = valid & ~stands
    position[~valid] = np.nan  # spectra of the motion are to be those of the motion
    made = Signals(
        recording.source,
        recording.name,
        rate,
        series.epoch_ns,
        grid,
        position,
        effort,
        rests,
        tuple(contiguous_segments(valid)),
        stood=float(stands.sum()) / rate,
    )
    return averaged(made, fundamental_hz) if fundamental_hz > 0.0 else made


def total_wrench(
    wrenches: Sequence[BaseWrench], grid: Array, epoch_ns: int
) -> tuple[Array, BoolArray]:
    """What all sensors below the base exert (N, 6), at the root's origin; and where it is known.

    Without any sensor it is nan, which is no gap.
    """
    if not wrenches:
        return np.full((len(grid), 6), np.nan), np.ones(len(grid), bool)
    total, known = np.zeros((len(grid), 6)), np.ones(len(grid), bool)
    for one in wrenches:
        values, there = resample(one.series.with_epoch(epoch_ns), grid, keep_ends=True)
        total += one.at_root(values)
        known &= there
    if not known.any():
        names = ', '.join(one.topic for one in wrenches)
        raise SignalError(f'{names}: no moment at which joints and base wrench are both recorded')
    return total, known


def averaged(signals: Signals, fundamental_hz: float) -> Signals:
    """The mean period three times over: the ends of filters fall into the outer two."""
    part = max(signals.segments, key=lambda one: one.stop - one.start)
    samples = round(signals.rate / fundamental_hz)
    stamps = signals.stamps[part] - signals.stamps[part.start]
    both = np.concatenate([signals.position[part], signals.effort[part]], axis=1)
    there = np.isfinite(both).all(axis=0)
    mean = np.full((samples, both.shape[1]), np.nan)
    try:
        cut = resample_periods(stamps, both[:, there], fundamental_hz, samples)
    except SignalError as error:
        raise SignalError(f'{signals.label}: {error}') from None
    mean[:, there] = cut.reshape(-1, samples, cut.shape[1]).mean(axis=0)
    whole = np.tile(mean, (3, 1))
    count, joints = len(whole), signals.position.shape[1]
    rate = samples * fundamental_hz
    return Signals(
        signals.label,
        signals.name,
        rate,
        signals.epoch_ns,
        signals.stamps[part.start] + np.arange(count) / rate,
        whole[:, :joints],
        whole[:, joints:],
        resting(whole[:, :joints], np.ones(count, bool), rate),
        (slice(0, count),),
        samples,
        signals.stood,
    )


def cutoff_of(signals: Sequence[Signals]) -> tuple[float, str]:
    """Of the equations: where the motion has its power, below where the positions are noise."""
    found, reasons = [], []
    for one in signals:
        valid = np.asarray(np.isfinite(one.position).all(axis=1))
        moving = np.ptp(one.position[valid], axis=0) > 1e-9
        spectrum = welch_spectrum(one.position[:, moving], one.rate, valid=valid)
        noise = choose_cutoff(spectrum, derivative=2, minimum_hz=LOWEST_HZ)
        motion = MOTION_BAND * float(_excited(spectrum).max())
        highest = HIGHEST_SHARE * one.rate
        wanted = min(max(motion, LOWEST_HZ), noise.cutoff_hz, highest)
        found.append(wanted)
        reasons.append(
            'the noise of the positions'
            if wanted == noise.cutoff_hz
            else 'the sample rate'
            if wanted == highest
            else f'{MOTION_BAND:g} times the band of the motion'
        )
    k = int(np.argmin(found))
    return float(f'{found[k]:.3g}'), reasons[k]


def segments_of(signals: Signals, cutoff_hz: float) -> list[Segment]:
    """Derivatives of every segment that is long enough."""
    band = min(WIDER * cutoff_hz, 0.4 * signals.rate)
    smooth = _low_pass(signals.rate, band, ORDER, signals.label)
    sharp = _low_pass(signals.rate, max(band, fine_band(signals.rate)), 4, signals.label)
    margin = int(np.ceil(LONGEST_DELAY / cutoff_hz * signals.rate)) + 2
    taps = equation_filter(signals.rate, cutoff_hz).taps.size
    least = taps + 2 * (smooth.transient + margin)
    made = []
    for part in signals.segments:
        if part.stop - part.start <= least:
            continue
        motion = smooth.derivatives(signals.position[part])
        fine, keep = sharp.derivatives(signals.position[part]), motion.valid
        if signals.cycle:  # rows of one period, no sample counts twice
            margin = max(margin, (int(keep.sum()) - signals.cycle - taps + 1) // 2)
        stamps = np.rint(1e9 * signals.stamps[part][keep]).astype(np.int64) + signals.epoch_ns
        made.append(
            Segment(
                stamps,
                motion.position[keep],
                motion.velocity[keep],
                motion.acceleration[keep],
                fine.position[keep],
                fine.velocity[keep],
                signals.effort[part][keep],
                signals.rests[part][keep],
                margin,
            )
        )
    if not made:
        longest = max((s.stop - s.start for s in signals.segments), default=0)
        raise SignalError(
            f'{signals.label}: the longest piece without a gap has {longest} samples, at '
            f'{cutoff_hz:g} Hz more than {least} are needed'
        )
    return made


def fine_band(rate: float) -> float:
    """Band of the positions for dry friction: as wide as their noise allows."""
    return min(FINE_SHARE * rate, FINE_HZ)


@lru_cache(maxsize=32)
def _low_pass(rate: float, band: float, order: int, label: str) -> ZeroPhaseFilter:
    """Kept: a live estimate asks for the same filter again and again."""
    return ZeroPhaseFilter(rate, band, order, label=label)


@lru_cache(maxsize=32)
def equation_filter(rate: float, cutoff_hz: float) -> DecimationFilter:
    """The one filter of both sides; wide flanks keep it short."""
    return design_decimation(rate, cutoff_hz, transition=1.0)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one recording: what does not change while delay, widths and gains are sought."""

    label: str
    name: str
    filter: DecimationFilter
    segments: tuple[Segment, ...]
    stamps_ns: IntArray
    linear: Array  # (M, joints, base parameters)
    instrument: Array  # the same of the motion within the band of the excitation
    load: Array | None = None  # (M, joints, 10) of a load in this recording
    load_instrument: Array | None = None

    def friction(self, model: ArmModel, shapes: Sequence[Dry]) -> Array:
        """Filtered columns of dry friction and the like (M, joints, columns)."""
        return self._filtered(lambda s: model.friction_rows(s.fine_q, s.fine_qd, s.qdd, shapes))

    def widths(self, model: ArmModel, shapes: Sequence[Dry], value: Array) -> Array:
        """Filtered derivative of the dry friction over its widths (M, joints)."""
        return self._filtered(lambda s: model.width_rows(s.fine_q, s.fine_qd, shapes, value))

    def dry(self, joint: int, shape: Dry) -> Array:
        """Filtered dry friction of one joint (M,)."""
        return self._filtered(lambda s: shape.value(s.fine_q[:, joint], s.fine_qd[:, joint]))

    def phases(self) -> Phases:
        """When the rows are, and after which time their motion repeats."""
        longest = max(self.segments, key=lambda segment: len(segment.q))
        step = self.filter.factor / self.filter.rate
        period = period_of(longest.q[:: self.filter.factor], step)
        return Phases(1e-9 * (self.stamps_ns - self.stamps_ns[0]), period, step)

    def motion(self) -> tuple[Array, Array, Array]:
        """Positions, speeds, accelerations (M, joints) at the moments of the rows."""
        half, factor, made = self.filter.half_length, self.filter.factor, []
        for name in ('q', 'qd', 'qdd'):
            sides = (getattr(one, name)[one.inner] for one in self.segments)
            rows = [side[half : len(side) - half : factor] for side in sides]
            made.append(np.concatenate(rows)[: len(self.linear)])
        return made[0], made[1], made[2]

    def fading(self, speeds: Array) -> Array:
        """Filtered friction (M, joints) that is one at rest and fades over `speeds` (joints,)."""
        return self._filtered(lambda s: np.sign(s.fine_qd) * np.exp(-((s.fine_qd / speeds) ** 2)))

    def slow(self, limits: Array) -> Array:
        """Share (M, joints) of each row that comes from speeds below `limits` (joints,)."""
        return share_of_rows(
            [np.abs(one.fine_qd[one.inner]) < limits for one in self.segments], self.filter
        )

    def rest(self) -> Array:
        """Share (M, joints) of each row that comes from moments at which the joint rests."""
        return share_of_rows([one.rests[one.inner] for one in self.segments], self.filter)

    def effort(self, delay: float, base_delay: float = 0.0) -> Array:
        """Filtered efforts (M, equations), taken as `delay` late; those of the base by theirs."""
        made = []
        for segment in self.segments:
            joints = segment.q.shape[1]
            parts = (slice(0, joints), delay), (slice(joints, None), base_delay)
            shifted = [self._later(segment, segment.effort[:, part], d) for part, d in parts]
            made.append(decimate(np.concatenate(shifted, axis=1), self.filter))
        return np.concatenate(made)

    def _later(self, segment: Segment, effort: Array, delay: float) -> Array:
        """What is used of some efforts, `delay` later."""
        shifted = effort[segment.inner]
        there = np.isfinite(effort).all(axis=0)
        if delay == 0.0 or not there.any():
            return shifted
        times = np.arange(len(effort), dtype=float)
        at = times[segment.inner] + delay * self.filter.rate
        later = np.full(shifted.shape, np.nan)
        later[:, there] = CubicSpline(times, effort[:, there])(at)
        return later

    def _filtered(self, function: Callable[[Segment], Array]) -> Array:
        return np.concatenate(
            [decimate(function(one)[one.inner], self.filter) for one in self.segments]
        )


def excited_bands(signals: Sequence[Signals]) -> Array:
    """Of each joint: the band that holds nearly all of its motion, over all recordings."""
    bands = []
    for one in signals:
        valid = np.asarray(np.isfinite(one.position).all(axis=1))
        spectrum = welch_spectrum(one.position, one.rate, valid=valid)
        bands.append(EXCITED_BAND * _excited(spectrum))
    return np.max(bands, axis=0)


def _excited(spectrum: Spectrum) -> Array:
    """Frequency below which each joint's speed has nearly all of its power."""
    power = np.cumsum(spectrum.density * spectrum.frequency_hz[:, None] ** 2, axis=0)
    power = power / np.maximum(power[-1], 1e-300)
    line = np.argmax(power >= EXCITED_POWER, axis=0)
    return np.maximum(spectrum.frequency_hz[line], spectrum.resolution_hz)


def _smoothed(segment: Segment, rate: float, bands: Array) -> tuple[Array, Array, Array]:
    """The motion within the bands of the excitation: what a controller or noise adds is gone."""
    made = segment.q.copy(), segment.qd.copy(), segment.qdd.copy()
    for j, band in enumerate(bands):
        smooth = ZeroPhaseFilter(rate, min(float(band), 0.4 * rate))
        if len(segment.q) < smooth.minimum_length:
            continue  # too short to tell noise from motion: the motion is its own instrument
        found = smooth.derivatives(segment.q[:, j])
        # An instrument need not be exact: the ends, where the filter begins, serve too.
        made[0][:, j], made[1][:, j] = found.position, found.velocity
        made[2][:, j] = found.acceleration
    return made


def rows_of(
    model: ArmModel,
    signals: Signals,
    cutoff_hz: float,
    bands: Array | None,
    load_link: str | None = None,
) -> Rows:
    """The regressor of a recording and its instrument, filtered and decimated.

    Without `bands` the motion is its own instrument.
    """
    filter_ = equation_filter(signals.rate, cutoff_hz)
    segments = segments_of(signals, cutoff_hz)
    sides: dict[str, list[Array]] = {'linear': [], 'instrument': [], 'load': [], 'smooth': []}
    stamps = []
    for one in segments:
        motions = [((one.q, one.qd, one.qdd), 'linear', 'load')]
        if bands is not None:
            motions.append((_smoothed(one, signals.rate, bands), 'instrument', 'smooth'))
        for motion, name, load in motions:
            inner = tuple(side[one.inner] for side in motion)
            sides[name] += _filtered_rows(model, inner, filter_)
            if load_link is not None:
                sides[load].append(decimate(model.load_rows(load_link, *inner), filter_))
        last = len(one.stamps_ns[one.inner]) - filter_.half_length
        inner_stamps = one.stamps_ns[one.inner]
        stamps.append(inner_stamps[filter_.half_length : last : filter_.factor])
    linear = np.concatenate(sides['linear'])
    if bands is None:
        sides['instrument'], sides['smooth'] = sides['linear'], sides['load']
    loads = [None if load_link is None else np.concatenate(sides[k]) for k in ('load', 'smooth')]
    return Rows(
        signals.label,
        signals.name,
        filter_,
        tuple(segments),
        np.concatenate(stamps)[: len(linear)],
        linear,
        np.concatenate(sides['instrument']),
        *loads,
    )


def _filtered_rows(
    model: ArmModel, motion: tuple[Array, ...], filter_: DecimationFilter
) -> list[Array]:
    """Columns of the base parameters, block by block: memory stays flat."""

    def blocks() -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(motion[0]), BLOCK):
            q, qd, qdd = (side[start : start + BLOCK] for side in motion)
            yield model.linear_rows(q, qd, qdd), q

    return [W for W, _ in decimate_equations(blocks(), filter_)]
