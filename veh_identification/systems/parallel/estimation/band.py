"""Any motion: both sides of (8) through one and the same low-pass filter.

A controller answers friction that sticks and releases with accelerations far above the harmonics
of the excitation. Motion that was cut off below them cannot explain forces that hold them, and
dry and viscous friction take the blame. So the regressor is built at full rate from lengths of a
wider band, and then its columns and the forces pass one filter: what one side lost is not asked of
the other. Nothing has to repeat; recordings may have any fundamental, or none.

The delay of the efforts is one of the unknowns. Noise of the lengths reaches the rows through the
regressor: it is part of the residuals, whose covariance weights the rows, and the cut-off stays
below where it would shrink values (errors in variables).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from veh_identification.errors import EstimationError, ModelError, SignalError
from veh_identification.identification import ArrayBlocks, IdentificationResult, Options, identify
from veh_identification.identification.gauss_markov import whitened
from veh_identification.identification.repetition import (
    Phases,
    clusters_of,
    period_of,
    widened,
)
from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import TimeSeries, ZeroPhaseFilter, clean
from veh_identification.signals.cutoff import choose_cutoff
from veh_identification.signals.decimation import (
    DecimationFilter,
    decimate,
    decimate_equations,
    design_decimation,
    share_of_rows,
)
from veh_identification.signals.resting import long_stands, moving_rms, resting, sliding_rows
from veh_identification.signals.segments import contiguous_segments
from veh_identification.signals.spectra import welch_spectrum
from veh_identification.signals.synchronise import common_grid, resample
from veh_identification.systems.parallel.estimation.equations import Equations, floored
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import direct_kinematics, leg_motion
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.types import Array, BoolArray, IntArray

#: The band of the derivatives over the cut-off of the equations, and the order of its filter.
WIDER, ORDER = 2.5, 8
#: Band of the lengths for the moments when a joint turns round: share of the rate, at most [Hz].
FINE_SHARE, FINE_HZ = 0.2, 60.0
#: The cut-off over the frequency below which the speeds have nearly all of their power.
MOTION_BAND, EXCITED_POWER = 8.0, 0.95
LOWEST_HZ, HIGHEST_SHARE = 3.0, 0.12
#: The band of the instruments over that frequency.
EXCITED_BAND = 2.0
#: Longest delay that is sought, s.
LONGEST_DELAY = 0.025
BLOCK = 2048
ITERATIONS = 15
#: Below this share of its usual speed a leg may stick: rows with more than SLOW_LIMIT of such
#: moments are left out, as long as this share of a leg's rows is left.
SLOW_SHARE, SLOW_LIMIT, ENOUGH = 0.1, 0.05, 0.3
#: Squared errors with instruments over those without, above which the instruments are too weak.
WEAK = 1.2
#: Seconds: a step of the delay that is none any more.
SMALL_STEP = 1e-7


_NONE = np.empty(0)
Motion = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Piece:
    """Motion and forces at full rate, without gaps; `margin` samples serve late efforts only."""

    stamps_ns: IntArray
    motion: Motion  # pose, v and a of (16)
    excited: Motion  # within the band of the excitation: what a controller or noise adds is gone
    speeds: (
        Array  # (N, 6) of the legs in a wider band: when one turns round decides over dry friction
    )
    forces: Array
    rests: BoolArray  # (N, 6)
    margin: int

    @property
    def inner(self) -> slice:
        """What is used of the motion."""
        return slice(self.margin, len(self.forces) - self.margin)


@dataclass(frozen=True, eq=False)
class BandRows:
    """One recording: filtered regressor (M, 6, parameters), and what gives the filtered forces."""

    source: str
    filter: DecimationFilter
    pieces: tuple[Piece, ...]
    W: Array
    Z: Array  # the same of the motion within the band of the excitation
    stamps_ns: IntArray

    def forces(self, delay: float) -> Array:
        """Filtered forces (M, 6) that are taken as that much [s] late."""
        made = []
        for one in self.pieces:
            times = np.arange(len(one.forces), dtype=float)
            at = times[one.inner] + delay * self.filter.rate
            shifted = one.forces[one.inner] if delay == 0.0 else CubicSpline(times, one.forces)(at)
            made.append(decimate(shifted, self.filter))
        return np.concatenate(made)

    def slow(self, limits: Array) -> Array:
        """Share (M, 6) of each row that comes from speeds of its leg below `limits` (6,)."""
        return share_of_rows(
            [np.abs(one.speeds[one.inner]) < limits for one in self.pieces], self.filter
        )

    def rest(self) -> Array:
        """Share (M, 6) of each row that comes from moments at which its leg rests."""
        return share_of_rows([one.rests[one.inner] for one in self.pieces], self.filter)

    def phases(self) -> Phases:
        """When the rows are, and after which time their motion repeats."""
        longest = max(self.pieces, key=lambda piece: len(piece.forces))
        step = self.filter.factor / self.filter.rate
        period = period_of(longest.motion[0][:: self.filter.factor], step)
        return Phases(1e-9 * (self.stamps_ns - self.stamps_ns[0]), period, step)

    def regressor(self, model: HexapodModel, instrument: bool = False) -> Array:
        """Filtered (M, 6, parameters)."""
        made = []
        for one in self.pieces:
            blocks = ((A, A[:, :, 0]) for A in _regressors(model, one, instrument))
            made += [W for W, _ in decimate_equations(blocks, self.filter)]
        return np.concatenate(made)

    def changes(self, model: HexapodModel, p: Array, instrument: bool) -> Array:
        """Filtered rate of change [N/s] of the forces that the model gives (M, 6)."""
        made = []
        for one in self.pieces:
            predicted = np.concatenate([A @ p for A in _regressors(model, one, instrument)])
            rate = np.gradient(predicted, 1.0 / self.filter.rate, axis=0)
            made.append(decimate(rate, self.filter))
        return np.concatenate(made)


def _regressors(model: HexapodModel, piece: Piece, instrument: bool) -> Iterator[Array]:
    """Block after block."""
    legs = [model.names.index(f'r{j + 1}') for j in range(len(LEGS))]
    first, last = piece.margin, len(piece.forces) - piece.margin
    for start in range(first, last, BLOCK):
        part = slice(start, min(start + BLOCK, last))
        pose, v, a = (side[part] for side in (piece.excited if instrument else piece.motion))
        A = model.regressor(pose, v, a)
        if not instrument:
            A[:, range(len(LEGS)), legs] = model.signs(piece.speeds[part])
        yield A


def bands_of(lengths: Array, rate: float) -> tuple[float, float]:
    """Of the excitation and of the equations [Hz].

    The latter is where the motion has its power, below where the lengths are noise.
    """
    valid = np.asarray(np.isfinite(lengths).all(axis=1))
    spectrum = welch_spectrum(lengths, rate, valid=valid)
    power = np.cumsum(spectrum.density * spectrum.frequency_hz[:, None] ** 2, axis=0)
    line = np.argmax(power >= EXCITED_POWER * power[-1], axis=0)
    excited = float(np.maximum(spectrum.frequency_hz[line], spectrum.resolution_hz).max())
    noise = choose_cutoff(spectrum, derivative=2, minimum_hz=LOWEST_HZ).cutoff_hz
    wanted = min(max(MOTION_BAND * excited, LOWEST_HZ), noise, HIGHEST_SHARE * rate)
    return EXCITED_BAND * excited, float(f'{wanted:.3g}')


@dataclass(frozen=True, eq=False)
class EvenLegs:
    """Lengths and forces on a grid of equal steps, with its pieces without gaps."""

    source: str
    rate: float
    stamps_ns: IntArray
    lengths: Array
    forces: Array
    rests: BoolArray  # (N, 6) where a leg rests
    pieces: tuple[slice, ...]
    stood: float  # seconds of long stands, which are in no piece


def even_legs(series: TimeSeries) -> EvenLegs:
    """On equal steps; messages without a number make gaps where they are many, long stands do."""
    cleaned, _ = clean(series, max_gap=np.inf)
    grid, rate = common_grid([cleaned])
    values, valid = resample(cleaned, grid)
    stamps = np.rint(1e9 * grid).astype(np.int64) + cleaned.epoch_ns
    rests = resting(values[:, :6], valid, rate)
    stands = long_stands(rests, valid, rate)
    valid = valid & ~stands
    values[~valid] = np.nan  # spectra of the motion are to be those of the motion
    pieces = tuple(contiguous_segments(valid))
    stood = float(stands.sum()) / rate
    return EvenLegs(series.label, rate, stamps, values[:, :6], values[:, 6:], rests, pieces, stood)


def band_rows(
    model: HexapodModel, legs: EvenLegs, cutoff_hz: float, excited_hz: float
) -> BandRows:
    """The regressor of a recording, filtered and decimated."""
    band = min(WIDER * cutoff_hz, 0.4 * legs.rate)
    smooth = ZeroPhaseFilter(legs.rate, band, ORDER, label=legs.source)
    fine_band = max(band, min(FINE_SHARE * legs.rate, FINE_HZ))
    bands = (min(fine_band, 0.4 * legs.rate), min(excited_hz, cutoff_hz))
    others = [ZeroPhaseFilter(legs.rate, one, label=legs.source) for one in bands]
    filter_ = design_decimation(legs.rate, cutoff_hz, transition=1.0)
    margin = int(np.ceil(LONGEST_DELAY * legs.rate)) + 2
    least = len(filter_.taps) + 2 * (smooth.transient + margin)
    parts = [part for part in legs.pieces if part.stop - part.start > least]
    filters = [smooth, *others]
    pieces = tuple(_piece(model, legs, part, filters, margin) for part in parts)
    if not pieces:
        longest = max((one.stop - one.start for one in legs.pieces), default=0)
        raise SignalError(
            f'{legs.source}: the longest piece without a gap has {longest} samples, at '
            f'{cutoff_hz:g} Hz more than {least} are needed'
        )
    stamps = []
    for one in pieces:
        inner = one.stamps_ns[one.inner]
        rows = (len(inner) - len(filter_.taps)) // filter_.factor + 1
        stamps.append(inner[filter_.half_length :: filter_.factor][:rows])
    made = BandRows(legs.source, filter_, pieces, _NONE, _NONE, np.concatenate(stamps))
    return replace(made, W=made.regressor(model), Z=made.regressor(model, instrument=True))


def _piece(
    model: HexapodModel,
    legs: EvenLegs,
    part: slice,
    filters: Sequence[ZeroPhaseFilter],
    margin: int,
) -> Piece:
    try:
        pose = direct_kinematics(model.robot, legs.lengths[part])
    except ModelError as error:
        raise ModelError(f'{legs.source}: {error}') from None
    found = [one.derivatives(pose) for one in filters]
    keep = found[0].valid  # instruments need not be exact where their filter begins

    def motion(k: int) -> Motion:
        one = found[k]
        v, a = pose_rates(one.position[keep], one.velocity[keep], one.acceleration[keep])
        return one.position[keep], v, a

    return Piece(
        legs.stamps_ns[part][keep],
        motion(0),
        motion(2),
        leg_motion(model.robot, *motion(1))[1],
        legs.forces[part][keep],
        legs.rests[part][keep],
        margin,
    )


@dataclass(frozen=True, eq=False)
class BandEstimate:
    """Parameters and delay by filtered rows."""

    result: IdentificationResult
    rows: tuple[BandRows, ...]
    cutoff_hz: float
    delay: float  # s
    delay_std: float  # nan: it was given
    slope: Array  # of the parameters over the delay
    misfit_before: float  # squares of the errors without a delay, over those with it

    def equations(self, model: HexapodModel | None = None) -> Equations:
        """Equation (8) of the filtered rows, of another structure where a model is given."""
        regressors = [one.W if model is None else one.regressor(model) for one in self.rows]
        slides = np.split(sliding(self.rows), np.cumsum([len(W) for W in regressors])[:-1])
        forces = [
            np.where(free, one.forces(self.delay), np.nan)
            for one, free in zip(self.rows, slides, strict=True)
        ]
        counts = [np.ones(len(Y)) for Y in forces]
        return Equations(regressors, forces, [1] * len(counts), counts, [None] * len(counts))

    def covariance(self) -> Array:
        """Of the errors of the filtered rows between the legs."""
        system = self.equations()
        Y = np.concatenate(system.Y)
        return _error_covariance(Y, Y - np.concatenate(system.W) @ self.result.value)


def estimate_in_band(
    model: HexapodModel,
    recordings: Sequence[EvenLegs],
    cutoff_hz: float | None = None,
    delay: float | None = None,
) -> BandEstimate:
    """Gauss-Markov (9) on filtered rows; without a given delay [s] it is sought."""
    bands = [bands_of(one.lengths, one.rate) for one in recordings]
    cutoff = cutoff_hz or min(one for _, one in bands)
    rows = tuple(
        band_rows(model, legs, cutoff, excited)
        for legs, (excited, _) in zip(recordings, bands, strict=True)
    )
    sought = _Sought(model, rows, cutoff)
    before = 1.0
    if delay is None:
        before = sought.seek()
    else:
        sought.take(delay)
    names, units, a_priori = list(model.names), list(model.units), model.a_priori()
    if delay is None:
        names, units, a_priori = [*names, 'delay'], [*units, 's'], np.append(a_priori, np.nan)
    blocks = ArrayBlocks(*sought.instrumented(*sought.sides(delay is None)))
    try:
        result = identify(blocks, names, LEGS, units, a_priori, Options('gauss-markov'))
    except EstimationError as error:
        raise EstimationError(f'{rows[0].source}: {error}') from None
    result = _for_repetition(result, blocks, rows)
    count = len(model.names)
    std, slope = float('nan'), np.zeros(count)
    if delay is None:
        variance = float(result.covariance[count, count])
        std, slope = variance**0.5, result.covariance[:count, count] / variance
    return BandEstimate(_first(result, count), rows, cutoff, sought.tau, std, slope, before)


def _for_repetition(
    result: IdentificationResult, blocks: ArrayBlocks, rows: Sequence[BandRows]
) -> IdentificationResult:
    """With deviations that hold for errors that repeat with the motion: ripple, friction."""
    error = blocks.Y - blocks.W @ result.value
    noise = _error_covariance(blocks.Y, error)
    white = list(whitened(ArrayBlocks(blocks.W, error), noise, LEGS))
    V, residual = (np.nan_to_num(np.concatenate(side)) for side in zip(*white, strict=True))
    clusters = clusters_of([one.phases() for one in rows])
    return replace(result, covariance=widened(result.covariance, V, residual, clusters))


def _first(result: IdentificationResult, count: int) -> IdentificationResult:
    """Without the delay, which is no parameter of the model; its doubt stays in the others."""
    return replace(
        result,
        names=result.names[:count],
        units=result.units[:count],
        value=result.value[:count],
        covariance=result.covariance[:count, :count],
        a_priori=None if result.a_priori is None else result.a_priori[:count],
    )


def sliding(rows: Sequence[BandRows]) -> BoolArray:
    """(M, 6): rows at which the leg surely slides; all of a leg, where those would be too few."""
    pieces = [piece for one in rows for piece in one.pieces]
    rests = np.concatenate([piece.rests for piece in pieces])
    limits = SLOW_SHARE * moving_rms(np.concatenate([piece.speeds for piece in pieces]), rests)
    slow = np.concatenate([one.slow(limits) for one in rows])
    rest = np.concatenate([one.rest() for one in rows])
    return sliding_rows(slow, rest, SLOW_LIMIT, ENOUGH)


class _Sought:
    """Instrumental variables on the rows of all recordings; the delay by Gauss and Newton.

    In closed loop the noise of the lengths is in the forces too: the controller answers it. Motion
    within the band of the excitation hardly has any, so rows are asked there.
    """

    def __init__(self, model: HexapodModel, rows: Sequence[BandRows], cutoff: float) -> None:
        self.model, self.rows = model, rows
        self.W = np.concatenate([one.W for one in rows])
        self.Z = np.concatenate([one.Z for one in rows])
        self.longest = min(LONGEST_DELAY, 0.5 / cutoff)
        self.slides = sliding(rows)
        self.sigma = np.ones(len(LEGS))
        self.take(0.0)

    def take(self, delay: float) -> None:
        """Use a delay: forces (M, 6), nan where a leg may stick; solution and weights."""
        self.tau = delay
        forces = np.concatenate([one.forces(delay) for one in self.rows])
        self.Y = np.where(self.slides, forces, np.nan)
        if not np.isfinite(self.Y).any():
            raise EstimationError(f'{self.rows[0].source}: no leg moves, there is nothing to fit')
        if self.Z is not self.W and self._weak(self.Z, self.W):
            self.Z = self.W
        self.p = _solved(self.Z, self.W, self.Y, self.sigma)
        self.error = self.Y - self.W @ self.p
        floor = 1e-9 * float(np.nanmean(np.square(self.Y)))
        self.sigma = np.sqrt(np.nanmean(np.square(self.error), axis=0) + floor)

    def _weak(self, Z: Array, W: Array) -> bool:
        """Whether instruments tell the parameters apart so badly that the errors grow."""
        with_them, without = (
            float(np.nansum(np.square(self.Y - W @ _solved(one, W, self.Y, self.sigma))))
            for one in (Z, W)
        )
        return not with_them < WEAK * without

    def seek(self) -> float:
        """The delay; how many times the squares of the errors are larger without it."""
        sizes = []
        for _ in range(ITERATIONS):
            sizes.append(float(np.nansum(np.square(self.error))))
            step = float(_solved(*self.sides(True), self.sigma)[len(self.p)])
            self.take(float(np.clip(self.tau + step, -self.longest, self.longest)))
            if abs(step) < SMALL_STEP:
                break
        return sizes[0] / max(float(np.nansum(np.square(self.error))), 1e-300)

    def sides(self, free: bool) -> tuple[Array, Array, Array]:
        """Instruments, regressor and forces; a free delay has a column of its own."""
        if not free:
            return self.Z, self.W, self.Y
        W = np.concatenate([self.W, self._turning(False)[:, :, None]], axis=2)
        if self.Z is self.W:
            return W, W, self.Y
        Z = np.concatenate([self.Z, self._turning(True)[:, :, None]], axis=2)
        return (W if self._weak(Z, W) else Z), W, self.Y

    def _turning(self, instrument: bool) -> Array:
        """What a longer delay does to the forces (M, 6), per second."""
        return -np.concatenate([one.changes(self.model, self.p, instrument) for one in self.rows])

    def instrumented(self, Z: Array, W: Array, Y: Array) -> tuple[Array, Array]:
        """Rows (V, Y') whose least squares are the instrumental variables' solution.

        V = Z S is the part of W that the instruments explain; what W holds beyond it, times the
        solution, is taken off Y, so that residuals and their colour are those of Y - W p.
        """
        p = _solved(Z, W, Y, self.sigma)
        there = np.isfinite(Y)
        weight = 1.0 / self.sigma[np.nonzero(there)[1], None]
        A, B = W[there] * weight, Z[there] * weight
        norms = np.maximum(np.linalg.norm(B, axis=0), 1e-300)
        V = Z @ (np.linalg.lstsq(B / norms, A, rcond=1e-12)[0] / norms[:, None])
        return V, Y - (W - V) @ p


def _solved(Z: Array, W: Array, Y: Array, sigma: Array) -> Array:
    """Instrumental variables: Z' W p = Z' Y of rows over their deviations."""
    there = np.isfinite(Y)
    weight = 1.0 / sigma[np.nonzero(there)[1]]
    A, B, y = W[there] * weight[:, None], Z[there] * weight[:, None], Y[there] * weight
    norms = np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    A, B = A / norms, B / norms
    return np.asarray(np.linalg.lstsq(B.T @ A, B.T @ y, rcond=1e-14)[0] / norms)


def _error_covariance(Y: Array, error: Array) -> Array:
    """Of errors (M, 6) between the legs; nan where a leg is missing."""
    known = np.isfinite(error)
    pairs = np.maximum(known.T.astype(float) @ known, 1.0)
    error = np.nan_to_num(error)
    scale = np.sqrt(np.nanmean(np.square(Y), axis=0))
    return floored(positive(error.T @ error / pairs), scale)


def positive(covariance: Array) -> Array:
    """The nearest covariance: means over different samples need not be one."""
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(std, std))
    nearest = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    scale = std / np.sqrt(np.diag(nearest))
    return np.asarray(nearest * np.outer(scale, scale))
