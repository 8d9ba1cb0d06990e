"""Wrong units, signs, orders, geometry and gravity of a parallel robot, before anything is used.

What may be wrong is tried, the simplest first: the change with which the forces fit the motion far
better, and the moving mass that of the description, is named. The same offline and live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar

from veh_identification.checks.copied import check_copied
from veh_identification.checks.explanation import (
    CLEARLY_LESS,
    CONVINCING,
    Family,
    Hypothesis,
    best_explanation,
    explanation_findings,
)
from veh_identification.checks.health import (
    check_coarse,
    check_jumps,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.held import check_held
from veh_identification.checks.periods import check_periods
from veh_identification.checks.ranges import DEGREES, FORCE, LENGTH
from veh_identification.checks.rectified import check_rectified
from veh_identification.checks.settled import check_gravity, check_means
from veh_identification.checks.small_causes import small_cause, small_cause_findings
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.errors import ModelError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.signals import PeriodAverage, TimeSeries
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array, BoolArray

#: Share of the forces' variation beyond their noise up to which a fit is good.
GOOD = 0.05
#: The same where the lengths as they are have no pose at all: noisy forces may leave more.
POSSIBLE = 0.2
#: Excess over the noise of the mean forces that is looked into; chance moves it by a few per cent.
EXCESS = 0.5
#: The excess is not known better than to this part of the noise.
FLOOR = 0.2
#: Logarithm by which the moving mass may differ from the description's, a load included.
MASS = float(np.log(3.0))
#: Samples by which efforts are tried later and earlier.
LAGS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
#: Seconds by which one effort alone is tried later, and lines in which it is looked for.
LONG_LAGS, FILTER_LINES = (0.01, 0.02, 0.04, 0.06, 0.1), 60
#: Share of a motion's lines that lie between those of a shorter period by noise alone.
BETWEEN = 1e-4
#: Logarithm of a gain of one effort that is worth a word.
SMALLEST_GAIN = 0.03
#: Share of the way between shortest and longest leg by which lengths may lie beyond; where nobody
#: has said what these are, lengths that differ by this factor from those at home cannot be.
SLACK, UNLIKE_HOME = 0.2, 5.0
#: What lengths are recorded in besides; degrees by drivers that take every joint for an angle.
LENGTH_UNITS = {**LENGTH.others, 'inches': 1.0 / 0.0254, 'feet': 1.0 / 0.3048, 'degrees': DEGREES}
#: Step (m) by which the length of one leg is tried longer and shorter, and its largest error.
LENGTH_STEP, LARGEST_SHIFT = 2e-3, 0.1
#: Metres by which the mean length of one leg alone must be from where it is at home to be asked.
SMALLEST_GAP = 2e-3
#: The same of all legs together: m, or share of the lengths.
LARGEST_CHANGE = 0.05
#: On earth (m/s^2); what lies between these is somebody's own value.
GRAVITY, WEAKEST_GRAVITY, STRONGEST_GRAVITY = 9.80665, 8.0, 12.0
#: What a radius scales of a joint's place.
OUTWARDS = np.array([1.0, 1.0, 0.0])
#: Errors of a drawing that are looked for: share of the radii, m along the axis of the platform.
LARGEST_RADIUS, LARGEST_HEIGHT = 0.3, 0.1
#: Sizes that are tried first where the lengths as they are have no pose.
COARSELY = 25


@dataclass(frozen=True)
class Machine:
    """A robot as it is described, and a recording of it."""

    model: HexapodModel
    record: PeriodicRecord


Change = Callable[[Machine], Machine]
Hypotheses = Iterator[Hypothesis[Machine]]


class Judge:
    """Misfit of machines as they are and as they might be."""

    def __init__(self, machine: Machine, harmonics: int, cutoff_hz: float | None) -> None:
        self.machine, self.harmonics, self.cutoff_hz = machine, harmonics, cutoff_hz
        self._rows: Array | None = None

    def rows(self, machine: Machine) -> Array:
        """The regressor (N, 6, parameters), that of the machine as it is kept."""
        own = self.machine
        same = machine.model is own.model and machine.record.lengths is own.record.lengths
        if same and self._rows is not None:
            return self._rows
        plain = replace(machine.record, phased=None, effort_delay=0.0)
        W = equations(machine.model, [plain], self.harmonics, cutoff_hz=self.cutoff_hz).W[0]
        if same:
            self._rows = W
        return W

    def fit(self, machine: Machine) -> tuple[float, float, Array]:
        """Share of the forces that stays unexplained, that of noise, and the parameters."""
        W, forces = self.rows(machine), machine.record.forces
        known = np.isfinite(forces.mean).all(axis=1)
        Y = forces.mean[known]
        flat = W[known].reshape(-1, W.shape[2])
        norms = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
        p = np.linalg.lstsq(flat / norms, Y.ravel(), rcond=1e-10)[0] / norms
        varying = float(np.square(Y - Y.mean(axis=0)).mean())
        left = float(np.square(Y.ravel() - flat @ p).mean())
        noise = float(np.trace(forces.covariance) / 6.0 / machine.record.periods)
        scale = max(varying, 1e-300)
        return float(np.sqrt(left / scale)), float(np.sqrt(noise / scale)), p

    def residual(self, machine: Machine) -> Array:
        """What the best parameters leave of the mean forces."""
        return np.asarray(self.left(machine, machine.record.forces.mean[None])[0])

    def left(self, machine: Machine, signals: Array) -> Array:
        """What no parameters explain of changes (k, N, 6) of the mean forces."""
        W, Y = self.rows(machine), machine.record.forces.mean
        known = np.isfinite(Y).all(axis=1)
        flat = W[known].reshape(-1, W.shape[2])
        Q, _ = np.linalg.qr(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300))
        values = signals[:, known].reshape(len(signals), -1)
        return np.asarray(values - (values @ Q) @ Q.T)

    def misfit(self, machine: Machine) -> float:
        """What noise does not explain of the forces, and a moving mass that cannot be."""
        share, noise, p = self.fit(machine)
        excess = np.sqrt(max(share**2 - noise**2, (FLOOR * noise) ** 2, 1e-12))
        return float(np.hypot(excess, self.strange_mass(machine, p)))

    @staticmethod
    def strange_mass(machine: Machine, p: Array) -> float:
        """How far off the moving mass is; a negative one is as bad as forces unexplained."""
        index = machine.model.names.index('p10')
        mass, expected = float(p[index]), float(machine.model.a_priori()[index])
        if mass <= 0.0:
            return 1.0
        if not expected > 0.0:
            return 0.0
        return min(max(abs(np.log(mass / expected)) - MASS, 0.0), 1.0)


def plausibility(
    model: HexapodModel, record: PeriodicRecord, harmonics: int, cutoff_hz: float | None = None
) -> list[Finding]:
    """The mistake that explains why forces, motion and mass do not fit, if there is one."""
    found = _explained(model, record, harmonics, cutoff_hz)
    if any(one.level == 'bad' for one in found):
        return found  # the cause stands alone
    return [*found, *check_gravity(float(np.linalg.norm(model.robot.gravity)))]


def _explained(
    model: HexapodModel, record: PeriodicRecord, harmonics: int, cutoff_hz: float | None
) -> list[Finding]:
    machine = Machine(model, replace(record, phased=None))
    judge = Judge(machine, harmonics, cutoff_hz)
    findings = [*_commanded(record), *_more_often(record)]
    try:
        share, noise, _ = judge.fit(machine)
        as_it_is = judge.misfit(machine)
        if as_it_is < max(EXCESS * noise, FLOOR * GOOD):
            return [*findings, *_small(judge)]
        sizes = [*gains(judge), *zeros_of_efforts(judge), *offsets_of_lengths(machine)]
        sizes += zeros_of_lengths(judge)
    except ModelError:
        share, as_it_is = np.inf, np.inf
        sizes = [
            *offsets_of_lengths(machine),
            *zeros_of_impossible(judge),
            *_drawings(judge, coarse=True),
        ]
    hypotheses = [*every_hypothesis(machine), *sizes]
    found = best_explanation(machine, hypotheses, judge.misfit, as_it_is)
    if np.isfinite(as_it_is) and (found.factor < CONVINCING or found.misfit > GOOD):
        # Changes of all legs fit somewhat better whatever is wrong: only where nothing else does.
        rest = best_explanation(machine, all_legs(judge), judge.misfit, as_it_is)
        convincing = rest.factor >= CONVINCING and rest.misfit <= GOOD
        found = rest if convincing and rest.misfit < CLEARLY_LESS * found.misfit else found
    of_all = found.best is not None and found.best.code == 'effort_delay'
    if found.best is None or (of_all and found.best.where == ''):
        return findings  # the estimate says why it cannot be; it finds delays more exactly
    if not np.isfinite(as_it_is) and found.misfit > POSSIBLE:
        return findings  # nothing makes the lengths possible and the forces fit
    text = f'the model does not explain the forces, {share:.0%} of their variation is left'
    told = explanation_findings(
        found, label=record.source, better='forces and motion fit', misfit_text=text, good=GOOD
    )
    if np.isfinite(as_it_is) and not any(one.level == 'bad' for one in told):
        findings += _small(judge)
    # A misfit that nothing explains is told by the estimate, with its own figures.
    return [*findings, *(one for one in told if one.code != 'misfit_unexplained')]


def _small(judge: Judge) -> list[Finding]:
    """What noise hides of the forces, but not of the values."""
    record = judge.machine.record
    variance = float(np.trace(record.forces.covariance) / 6.0 / record.periods)
    if not variance > 0.0:
        return []
    found = small_cause(judge.machine, small_errors(), judge.residual, variance)
    if found is not None and found.hypothesis.code == 'effort_delay':
        return []  # the estimate finds and applies it
    return small_cause_findings(found, record.source)


def _more_often(record: PeriodicRecord) -> list[Finding]:
    """A motion that repeats within what should be its period: it has every second line alone."""
    lines = np.square(np.abs(np.fft.rfft(record.lengths.mean, axis=0))).sum(axis=1)[1:]
    if not np.isfinite(lines).all():
        return []
    number = np.arange(1, len(lines) + 1)
    for times in (4, 3, 2):  # what repeats four times repeats twice
        if lines[number % times > 0].sum() < BETWEEN * lines.sum():
            stated = record.fundamental_hz
            return [another_period(record.source, times * stated, stated)]
    return []


def another_period(source: str, found_hz: float, stated: float) -> Finding:
    """A motion repeats, but not as often as it should."""
    text = (
        f'{source}: the motion repeats every {1.0 / found_hz:.4g} s, but it should every '
        f'{1.0 / stated:.4g} s: stamps that advance {stated / found_hz:.3g} times as fast (all '
        'inertias and frictions come out wrong by that), or another motion than was configured '
        f'(then give fundamental_hz: {found_hz:.6g})'
    )
    return Finding('warn', 'fundamental_off', text, source, found_hz / stated)


def _commanded(record: PeriodicRecord) -> list[Finding]:
    """Lengths that repeat exactly while the forces do not were never measured."""
    scatter = float(np.trace(record.lengths.covariance))
    noise = float(np.trace(record.forces.covariance))
    size = float(np.square(record.forces.mean[np.isfinite(record.forces.mean)]).mean())
    if scatter > (1e-3 * 1e-6) ** 2 or noise < 1e-12 * size:
        return []
    text = (
        f'{record.source}: the lengths repeat from period to period without any noise while the '
        'efforts have some: they seem to be commanded, not measured; the control error is then '
        'missing'
    )
    return [Finding('warn', 'lengths_commanded', text, f'{record.source}, position')]


def _of_legs(which: BoolArray) -> str:
    """Which legs are meant, where not all are."""
    return '' if which.all() else f'of {listed([LEGS[k] for k in np.flatnonzero(which)])} '


def length_range(robot: Hexapod, lengths: Array, topic: str) -> list[Finding]:
    """Lengths that no leg of this robot has, and the unit in which it has them.

    A description that contradicts itself says nothing: its geometry may be in another unit.
    """
    nominal = inverse_kinematics(robot, robot.home)[0]
    low, high = robot.limits.length_min, robot.limits.length_max
    if np.isfinite(high):
        slack = SLACK * (high - low)
        low, high = low - slack, high + slack
    else:
        low, high = float(nominal.min()) / UNLIKE_HOME, float(nominal.max()) * UNLIKE_HOME

    def possible(values: Array) -> BoolArray:
        return np.asarray((values > low) & (values < high))

    mean = np.nanmean(lengths, axis=0)
    which = ~possible(mean)
    if not which.any() or not possible(nominal).all():
        return []
    converted = {unit: mean[which] / factor for unit, factor in LENGTH_UNITS.items()}
    apart = {
        unit: float(np.abs(np.log(values / nominal[which])).max())
        for unit, values in converted.items()
        if possible(values).all()
    }
    if not apart:
        return []  # strokes: forces and motion tell
    units = sorted(apart, key=lambda unit: apart[unit])  # the nearest to home first
    text = (
        f'{topic}, position: the lengths {_of_legs(which)}seem to be in {" or ".join(units)}, '
        f'they must be in m: {mean[which].min():.4g} to {mean[which].max():.4g} in the mean, '
        f'which no leg of {robot.name} has '
        f'({robot.limits.length_min:.4g} to {robot.limits.length_max:.4g} m)'
    )
    return [Finding('bad', 'unit', text, f'{topic}, position')]


def channel_findings(
    robot: Hexapod, legs: TimeSeries, topic: str, fundamental_hz: float | None = None
) -> list[Finding]:
    """Lengths and efforts that cannot be, hold or repeat values, run into a limit, or change.

    Without a fundamental the motion does not repeat, and nothing can be said of the last.
    """
    found = (
        _two_sources(legs, topic)
        or length_range(robot, legs.values[:, :6], topic)
        or check_rectified(legs.values[:, 6:], [_channel(topic, k) for k in range(6, 12)])
        or check_copied(legs.values, [_channel(topic, k) for k in range(legs.values.shape[1])])
        or jump_findings(legs, topic)
        or check_means(
            legs.values[:, 6:], [_channel(topic, k) for k in range(6, 12)], 'effort_offset'
        )
    )
    if found:
        return found
    repeated: list[Finding] = []
    held: list[Finding] = []
    moving = np.ones(len(legs), dtype=bool)
    for k in range(legs.values.shape[1]):
        where = _channel(topic, k)
        value = legs.values[:, k]
        found += check_saturated(value, where) or check_stuck(
            legs.stamps, value, where, moving=moving
        )
        held += [] if found else check_held(legs.stamps, value, where)
        found += check_coarse(value, where, 'm' if k < 6 else 'N')
        repeated += check_repeated(legs.stamps, value, where, least=0.0)
    found += told_once(held)
    if not found and fundamental_hz is not None:
        found += _changes(legs, topic, 1.0 / fundamental_hz)
    return [*found, *told_once(repeated)]


def _channel(topic: str, column: int) -> str:
    return f'{topic}, {"position" if column < 6 else "effort"}[{LEGS[column % 6]}]'


def _two_sources(legs: TimeSeries, topic: str) -> list[Finding]:
    """Messages that come from two sources by turns: nothing else can be said of them."""
    return told_once(
        [
            one
            for k in range(legs.values.shape[1])
            for one in check_two_sources(legs.values[:, k], _channel(topic, k))
        ]
    )


def jump_findings(legs: TimeSeries, topic: str) -> list[Finding]:
    """Lengths that stand, or are elsewhere from one sample on: a leg cannot, no pose has them.

    Of the samples as they came: about a jump they are taken for glitches and left out.
    """
    held = [
        one
        for k in range(6)
        for one in check_held(legs.stamps, legs.values[:, k], _channel(topic, k))
    ]
    if held:  # what leaps after a hold has not jumped
        return told_once(held)
    found = [
        one
        for k in range(6)
        for one in check_jumps(legs.stamps, legs.values[:, k], _channel(topic, k), SMALLEST_GAP)
    ]
    return [replace(one, level='bad') for one in told_once(found)]


def _changes(legs: TimeSeries, topic: str, period: float) -> list[Finding]:
    """Efforts that are others from some period on, where the lengths are not."""
    if check_periods(legs.stamps, legs.values[:, :6], period, LEGS):
        return []
    efforts = [f'{topic}, effort[{leg}]' for leg in LEGS]
    return told_once(check_periods(legs.stamps, legs.values[:, 6:], period, efforts))


# Hypotheses --------------------------------------------------------------------------------------


def every_hypothesis(machine: Machine) -> Hypotheses:
    """All that need no fit of their own, the simplest first."""
    yield from units()
    yield from signs()
    yield from orders()
    yield from inwards(machine)
    yield from descriptions(machine.model.robot)
    yield from listed_otherwise(machine.model.robot)
    for steps in (sign * lag for lag in LAGS for sign in (1, -1)):
        yield Hypothesis('effort_delay', f'efforts {steps} samples late', partial(_late, n=steps))
    yield from single_lags(machine)


def _average(
    average: PeriodAverage, change: Callable[[Array], Array], factor: Array
) -> PeriodAverage:
    return PeriodAverage(
        change(average.mean), average.covariance * np.outer(factor, factor), average.periods
    )


def _efforts(machine: Machine, factor: Array) -> Machine:
    forces = _average(machine.record.forces, lambda mean: mean * factor, factor)
    return replace(machine, record=replace(machine.record, forces=forces))


def _lengths(machine: Machine, factor: float = 1.0, shift: Array | float = 0.0) -> Machine:
    size = np.full(6, factor)
    lengths = _average(machine.record.lengths, lambda mean: mean * factor + shift, size)
    return replace(machine, record=replace(machine.record, lengths=lengths))


def _tared(machine: Machine, shift: Array) -> Machine:
    forces = _average(machine.record.forces, lambda mean: mean + shift, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def _ordered(machine: Machine, order: list[int], what: str) -> Machine:
    def taken(average: PeriodAverage) -> PeriodAverage:
        block = average.covariance[np.ix_(order, order)]
        return PeriodAverage(average.mean[:, order], block, average.periods)

    record = machine.record
    if what != 'efforts':
        record = replace(record, lengths=taken(record.lengths))
    if what != 'lengths':
        record = replace(record, forces=taken(record.forces))
    return replace(machine, record=record)


def _late(machine: Machine, n: int) -> Machine:
    forces = _average(machine.record.forces, lambda mean: np.roll(mean, -n, axis=0), np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def single_lags(machine: Machine) -> Hypotheses:
    """One effort that comes late, or has passed a low pass that the others have not."""
    for k, leg in enumerate(LEGS):
        for seconds in LONG_LAGS:
            steps = round(seconds * machine.record.rate)
            if not 0 < steps < machine.record.samples // 4:
                continue
            for change, what in (
                (partial(_one_late, leg=k, n=steps), 'comes about {:.3g} ms late'),
                (partial(_unfiltered, leg=k, seconds=seconds), 'lags behind by a low pass of '
                 'about {:.3g} ms'),
            ):  # fmt: skip
                text = f'the effort of {leg} {what.format(1e3 * seconds)} against the others'
                yield Hypothesis('effort_delay', text, change, f'effort[{leg}]')


def _one_late(machine: Machine, leg: int, n: int) -> Machine:
    def earlier(mean: Array) -> Array:
        made = mean.copy()
        made[:, leg] = np.roll(mean[:, leg], -n)
        return made

    forces = _average(machine.record.forces, earlier, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def _unfiltered(machine: Machine, leg: int, seconds: float) -> Machine:
    """One effort as it was before a first-order low pass, as far as its noise allows."""

    def before(mean: Array) -> Array:
        made = mean.copy()
        line = np.fft.rfft(np.nan_to_num(mean[:, leg]))
        number = np.arange(len(line))
        omega = 2.0 * np.pi * machine.record.fundamental_hz * number
        gain = np.where(number < FILTER_LINES, 1.0 + 1j * omega * seconds, 0.0)
        made[:, leg] = np.fft.irfft(gain * line, len(mean))
        return made

    forces = _average(machine.record.forces, before, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def _slightly_late(machine: Machine, samples: float) -> Machine:
    """Part of a sample: along the slope of the forces, none where a neighbour is not known."""

    def earlier(mean: Array) -> Array:
        slope = 0.5 * (np.roll(mean, -1, axis=0) - np.roll(mean, 1, axis=0))
        return mean + samples * np.nan_to_num(slope)

    forces = _average(machine.record.forces, earlier, np.ones(6))
    return replace(machine, record=replace(machine.record, forces=forces))


def units() -> Hypotheses:
    """Lengths and efforts in other units, all legs or one."""
    for unit, factor in LENGTH_UNITS.items():
        text = f'the lengths seem to be in {unit}, they must be in m'
        yield Hypothesis('unit', text, partial(_lengths, factor=1.0 / factor), 'position')
    for unit, factor in FORCE.others.items():
        text = f'the efforts seem to be in {unit}, they must be in N'
        every = np.full(6, 1.0 / factor)
        yield Hypothesis('unit', text, partial(_efforts, factor=every), 'effort')
        for k, leg in enumerate(LEGS):
            one = np.ones(6)
            one[k] = 1.0 / factor
            text = f'the effort of {leg} seems to be in {unit}, it must be in N'
            yield Hypothesis('unit', text, partial(_efforts, factor=one), f'effort[{leg}]')


def signs() -> Hypotheses:
    """Efforts of opposite sign, all or one."""
    text = 'all efforts seem to have the opposite sign (positive is where a leg pushes)'
    yield Hypothesis('effort_sign', text, partial(_efforts, factor=-np.ones(6)), 'effort')
    yield Hypothesis(
        'effort_sign', f'{text}, and gravity as well', _both_upside_down, 'effort, entry gravity'
    )
    for k, leg in enumerate(LEGS):
        sign = np.ones(6)
        sign[k] = -1.0
        text = f'the effort of {leg} seems to have the opposite sign'
        yield Hypothesis('effort_sign', text, partial(_efforts, factor=sign), f'effort[{leg}]')


def _both_upside_down(machine: Machine) -> Machine:
    """Efforts and gravity of the opposite sign: who turned the one often turns the other too."""
    turned = _described(machine, {'gravity': -machine.model.robot.gravity})
    return _efforts(turned, -np.ones(6))


def orders() -> Hypotheses:
    """Legs in another order: two exchanged, counted from another one, or the other way round."""
    for a, b in combinations(range(6), 2):
        order = list(range(6))
        order[a], order[b] = b, a
        legs = f'{LEGS[a]} and {LEGS[b]}'
        for what, code, text in (
            ('both', 'legs_exchanged', f'{legs} seem to be exchanged'),
            ('efforts', 'efforts_exchanged', f'the efforts of {legs} seem to be exchanged'),
            ('lengths', 'lengths_exchanged', f'the lengths of {legs} seem to be exchanged'),
        ):
            yield Hypothesis(code, text, partial(_ordered, order=order, what=what), 'name')
    for turn in range(6):
        for back in (False, True):
            order = [(turn - k if back else turn + k) % 6 for k in range(6)]
            if order == list(range(6)):
                continue
            way = ' and the other way round' if back else ''
            for what, words in (('both', 'legs'), ('efforts', 'efforts'), ('lengths', 'lengths')):
                text = f'the {words} seem to be counted from {LEGS[order[0]]}{way}'
                change = partial(_ordered, order=order, what=what)
                yield Hypothesis(f'{words}_exchanged', text, change, 'name')


def descriptions(robot: Hexapod) -> Hypotheses:
    """Entries of the configuration: units, base and platform, home, gravity."""
    g, home = robot.gravity, robot.home
    changes: list[tuple[str, str, str, dict[str, Array]]] = []
    for factor, unit in ((1e-3, 'mm'), (1e-2, 'cm')):
        parts = {'base_joints': 'base', 'platform_joints': 'platform'}
        for entry, name in parts.items():
            text = f'the joints of the {name} seem to be in {unit}, they must be in m'
            changes.append(('unit', text, name, {entry: factor * getattr(robot, entry)}))
        both = {entry: factor * getattr(robot, entry) for entry in parts}
        place = np.concatenate([factor * home[:3], home[3:]])
        text = f'the geometry seems to be in {unit}, it must be in m'
        changes.append(('unit', text, 'base, platform, home', {**both, 'home': place}))
        text = f'the joints seem to be in {unit}, they must be in m'
        changes.append(('unit', text, 'base, platform', both))
        text = f'the place of home seems to be in {unit}, it must be in m'
        changes.append(('unit', text, 'home', {'home': place}))
    text = 'the joints of base and platform seem to be swapped'
    swapped = {'base_joints': robot.platform_joints, 'platform_joints': robot.base_joints}
    changes.append(('geometry_swapped', text, 'base, platform', swapped))
    degrees = np.concatenate([home[:3], home[3:] / DEGREES])
    changes.append(('unit', 'the angles of home seem to be in degrees', 'home', {'home': degrees}))
    mirrored = home * np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    text = 'home seems to lie on the other side of the base: z of another sign'
    changes.append(('home_mirrored', text, 'home', {'home': mirrored}))
    size = float(np.linalg.norm(g))
    if not WEAKEST_GRAVITY < size < STRONGEST_GRAVITY:  # in g, in mm/s^2, none
        if size:
            text = f'gravity seems to be {GRAVITY:.4g} m/s^2, not {size:.4g} m/s^2'
            changes.append(('gravity', text, 'gravity', {'gravity': GRAVITY / size * g}))
        size = GRAVITY
    for axis in np.eye(3):
        for sign in (1.0, -1.0):
            other = sign * size * axis
            if not np.allclose(other, g):
                shown = ', '.join(f'{value:.4g}' for value in other + 0.0)
                text = f'gravity seems to be ({shown}) m/s^2 in the base frame'
                changes.append(('gravity', text, 'gravity', {'gravity': other}))
    for code, text, entry, fields in changes:
        yield Hypothesis(code, text, partial(_described, fields=fields), f'entry {entry}')


def inwards(machine: Machine) -> Hypotheses:
    """A sensor that counts against its leg: the mean length stands where home has it."""
    nominal = inverse_kinematics(machine.model.robot, machine.model.robot.home)[0]
    for k, leg in enumerate(LEGS):
        text = f'the length of {leg} seems to be counted inwards: it must grow with the leg'
        change = partial(_counted, leg=k, nominal=float(nominal[k]))
        yield Hypothesis('length_sign', text, change, f'position[{leg}]')


def _counted(machine: Machine, leg: int, nominal: float) -> Machine:
    sign = np.ones(6)
    sign[leg] = -1.0

    def outwards(mean: Array) -> Array:
        found = mean.copy()
        centre = float(found[:, leg].mean())
        # A length that is told as positive was taken from another zero; one that is not, from 0.
        found[:, leg] = (2.0 * centre if centre > 0.0 else centre + nominal) - found[:, leg]
        return found

    lengths = _average(machine.record.lengths, outwards, sign)
    return replace(machine, record=replace(machine.record, lengths=lengths))


def listed_otherwise(robot: Hexapod) -> Hypotheses:
    """Joints of base or platform in another order than the legs, or of mirrored axes."""
    parts = {'base': ('base_joints', 'alpha_axes'), 'platform': ('platform_joints',)}
    for part, entries in parts.items():
        own = {entry: getattr(robot, entry) for entry in entries}
        for turn in range(1, 6):
            text = f'the joints of the {part} seem to be listed from that of {LEGS[-turn]} on'
            fields = {entry: np.roll(value, -turn, axis=0) for entry, value in own.items()}
            yield _geometry(text, part, fields)
        fields = {entry: value[::-1] for entry, value in own.items()}
        yield _geometry(f'the joints of the {part} seem to be listed backwards', part, fields)
        for axis, mirror in zip('xy', np.ones((2, 3)) - 2.0 * np.eye(2, 3), strict=True):
            text = f'the joints of the {part} seem to be mirrored: {axis} of another sign'
            yield _geometry(text, part, {entry: value * mirror for entry, value in own.items()})


def _geometry(text: str, part: str, fields: dict[str, Array]) -> Hypothesis[Machine]:
    return Hypothesis('geometry', text, partial(_described, fields=fields), f'entry {part}')


def _described(machine: Machine, fields: dict[str, Array]) -> Machine:
    robot = replace(machine.model.robot, **fields)  # type: ignore[arg-type]
    return replace(machine, model=HexapodModel(robot, machine.model.structure))


def offsets_of_lengths(machine: Machine) -> Hypotheses:
    """Lengths from another zero: strokes instead of lengths, all legs alike."""
    robot = machine.model.robot
    nominal = inverse_kinematics(robot, robot.home)[0]
    mean = machine.record.lengths.mean.mean(axis=0)
    shift = float(np.mean(nominal - mean))
    if abs(shift) < 0.1 * float(nominal.mean()):
        return
    text = f'the lengths seem to be strokes: {shift:.3g} m seem to be missing of each'
    yield Hypothesis('length_offset', text, partial(_lengths, shift=shift), 'position')


def gains(judge: Judge) -> Hypotheses:
    """One effort with another gain: the residuals are linear in it, so that its size is known."""
    factors = 1.0 + _best_sizes(judge, judge.machine.record.forces.mean)
    for k, (leg, factor) in enumerate(zip(LEGS, factors.tolist(), strict=True)):
        if not (factor > 0.1 and abs(np.log(factor)) > SMALLEST_GAIN):
            continue
        size = np.ones(6)
        size[k] = factor
        text = _one_scaled(leg, factor)
        yield Hypothesis('scale', text, partial(_efforts, factor=size), f'effort[{leg}]')


def zeros_of_efforts(judge: Judge) -> Hypotheses:
    """One effort that is not tared: the residuals are linear in its zero as well."""
    zeros = _best_sizes(judge, np.ones_like(judge.machine.record.forces.mean))
    for leg, shift in zip(LEGS, np.diag(zeros), strict=True):
        text = _one_untared(leg, float(shift.sum()))
        yield Hypothesis('effort_offset', text, partial(_tared, shift=shift), f'effort[{leg}]')


def zeros_of_lengths(judge: Judge) -> Hypotheses:
    """One leg whose zero, or whose joint, is elsewhere: the length that the residuals ask for."""
    for k, leg in enumerate(LEGS):
        try:
            shift = _best_shift(judge, k)
        except ModelError:  # no pose has such lengths: nothing is wrong with those that are there
            continue
        if not abs(shift[k]) < LARGEST_SHIFT:
            continue
        text = _one_shifted(leg, float(shift[k]))
        yield Hypothesis('length_offset', text, partial(_lengths, shift=shift), f'position[{leg}]')


def zeros_of_impossible(judge: Judge) -> Hypotheses:
    """The same where no pose has the lengths: from where the leg would stand at home."""
    robot = judge.machine.model.robot
    nominal = inverse_kinematics(robot, robot.home)[0]
    apart = nominal - judge.machine.record.lengths.mean.mean(axis=0)
    for k, leg in enumerate(LEGS):
        start = float(apart[k] - np.median(np.delete(apart, k)))
        if not SMALLEST_GAP < abs(start) < LARGEST_SHIFT:
            continue
        try:
            shift = _best_shift(judge, k, start)
        except ModelError:
            continue
        text = _one_shifted(leg, float(shift[k]))
        yield Hypothesis('length_offset', text, partial(_lengths, shift=shift), f'position[{leg}]')


def _best_shift(judge: Judge, leg: int, start: float = 0.0) -> Array:
    """Of one leg (6,): Gauss and Newton, as the residuals are nearly linear in some mm."""
    shift = np.zeros(6)
    shift[leg] = start
    for _ in range(2 if start == 0.0 else 4):
        own = judge.residual(_lengths(judge.machine, shift=shift))
        further = shift + LENGTH_STEP * np.eye(6)[leg]
        change = judge.residual(_lengths(judge.machine, shift=further)) - own
        shift[leg] -= LENGTH_STEP * float(change @ own) / max(float(change @ change), 1e-300)
        if not abs(shift[leg]) < LARGEST_SHIFT:
            break
    return shift


def small_errors() -> Iterator[Family[Machine]]:
    """Lengths and efforts that are somewhat off, all legs or one, by their corrections."""
    step = ((LENGTH_STEP,),)
    yield Family('length_offset', _all_shifted, lambda size: partial(_lengths, shift=size), step,
                 'position')  # fmt: skip
    yield Family('length_scale', _all_scaled,
                 lambda size: partial(_lengths, factor=1.0 + size), step, 'position')  # fmt: skip
    yield Family('effort_delay', lambda size: f'efforts {size:.3g} samples late',
                 lambda size: partial(_slightly_late, samples=size), ((0.1,),))  # fmt: skip
    for part in ('base', 'platform'):
        yield Family(
            'geometry',
            lambda size, part=part: _too_far_out(part, 1.0 / (1.0 + size)),  # type: ignore[misc]
            lambda size, part=part: partial(_wider, part=part, share=size),  # type: ignore[misc]
            ((0.01,),),
            f'entry {part}',
        )
    yield Family('geometry', _too_high, lambda size: partial(_higher, metres=size), step,
                 'entry platform')  # fmt: skip
    for leg, one in zip(LEGS, np.eye(6), strict=True):
        yield Family(
            'length_offset',
            partial(_one_shifted, leg),
            lambda size, one=one: partial(_lengths, shift=size * one),  # type: ignore[misc]
            step,
            f'position[{leg}]',
        )
        yield Family(
            'scale',
            lambda size, leg=leg: _one_scaled(leg, 1.0 + size),  # type: ignore[misc]
            lambda size, one=one: partial(_efforts, factor=1.0 + size * one),  # type: ignore[misc]
            step,
            f'effort[{leg}]',
        )
        yield Family(
            'effort_offset',
            partial(_one_untared, leg),
            lambda size, one=one: partial(_tared, shift=size * one),  # type: ignore[misc]
            ((1.0,),),
            f'effort[{leg}]',
        )


def _one_scaled(leg: str, factor: float) -> str:
    return f'the effort of {leg} seems to be {1.0 / factor:.3g} times too large'


def _one_untared(leg: str, shift: float) -> str:
    return f'the effort of {leg} seems to be {-shift:+.4g} N off its zero'


def _one_shifted(leg: str, shift: float) -> str:
    return (
        f'the length of {leg} seems to be {-1e3 * shift:+.3g} mm off its zero (or one of its '
        'joints is elsewhere)'
    )


def _all_shifted(shift: float) -> str:
    return (
        f'all lengths seem to be {-1e3 * shift:+.3g} mm off their zero (or joints of base or '
        'platform lie elsewhere along the legs)'
    )


def _all_scaled(longer: float) -> str:
    return (
        f'all lengths seem to be {1.0 / (1.0 + longer):.4g} times what they should be (or base '
        'and platform are described as that much too small)'
    )


def all_legs(judge: Judge) -> Hypotheses:
    """What is wrong with all legs at once, by sizes that the residuals ask for."""
    machine = judge.machine
    shift = _best_change(judge, lambda size: _lengths(machine, shift=size))
    if shift is not None:
        change = partial(_lengths, shift=shift)
        yield Hypothesis('length_offset', _all_shifted(shift), change, 'position')
    longer = _best_change(judge, lambda size: _lengths(machine, factor=1.0 + size))
    if longer is not None:
        change = partial(_lengths, factor=1.0 + longer)
        yield Hypothesis('length_scale', _all_scaled(longer), change, 'position')
    yield from _drawings(judge)
    rest = judge.residual(judge.machine)
    moved = _moved(judge, np.ones_like(judge.machine.record.forces.mean))
    shifts = np.asarray(np.linalg.lstsq(moved.T, -rest, rcond=None)[0], float)
    text = (
        f'the efforts seem to be {", ".join(f"{-one:+.4g}" for one in shifts)} N off their zeros '
        '(tared under load?)'
    )
    yield Hypothesis('effort_offset', text, partial(_tared, shift=shifts), 'effort')
    yield from _gains_of_all(judge)


def _drawings(judge: Judge, *, coarse: bool = False) -> Hypotheses:
    """Joints that are described farther out or in, or higher, than they are.

    `coarse`: as they are described no pose has the lengths, so that sizes are tried first.
    """
    for part in ('base', 'platform'):
        share = _best_change(
            judge,
            lambda size, part=part: _wider(judge.machine, part, size),  # type: ignore[misc]
            LARGEST_RADIUS,
            coarse=coarse,
        )
        if share is not None:
            change = partial(_wider, part=part, share=share)
            text = _too_far_out(part, 1.0 / (1.0 + share))
            yield Hypothesis('geometry', text, change, f'entry {part}')
    metres = _best_change(judge, lambda size: _higher(judge.machine, size), LARGEST_HEIGHT,
                           coarse=coarse)  # fmt: skip
    if metres is not None:
        change = partial(_higher, metres=metres)
        yield Hypothesis('geometry', _too_high(metres), change, 'entry platform')


def _wider(machine: Machine, part: str, share: float) -> Machine:
    """Joints of base or platform farther out."""
    joints = getattr(machine.model.robot, f'{part}_joints')
    return _described(machine, {f'{part}_joints': joints * (1.0 + share * OUTWARDS)})


def _higher(machine: Machine, metres: float) -> Machine:
    joints = machine.model.robot.platform_joints + [0.0, 0.0, metres]
    return _described(machine, {'platform_joints': joints})


def _too_far_out(part: str, times: float) -> str:
    return f'the joints of the {part} seem to be described {times:.3g} times too far out'


def _too_high(metres: float) -> str:
    return f'the joints of the platform seem to be described {-1e3 * metres:+.3g} mm too high'


def _gains_of_all(judge: Judge) -> Hypotheses:
    """Efforts with a gain of each leg's own, and with one of all where the mass asks for it.

    Motor currents are such. The residuals tell how the gains differ, never what they are in the
    mean; that is told by a moving mass that cannot be.
    """
    machine = judge.machine
    differing = np.linalg.svd(np.ones((1, 6)))[2][1:].T  # (6, 5) changes that leave the mean
    moved = _moved(judge, machine.record.forces.mean).T @ differing
    factors = (
        1.0 + differing @ np.linalg.lstsq(moved, -judge.residual(judge.machine), rcond=None)[0]
    )
    if not (factors > 0.1).all():
        return
    index = machine.model.names.index('p10')
    mass = float(judge.fit(_efforts(machine, factors))[2][index])
    expected = float(machine.model.a_priori()[index])
    common = expected / mass if mass > 0.0 and expected > 0.0 else 1.0
    known = abs(np.log(common)) < MASS
    gains = ', '.join(f'{one:.3g}' for one in 1.0 / (factors * (1.0 if known else common)))
    text = f'the efforts seem to be {gains} times what they should be: each leg has its own gain'
    if not known:
        text += ', and they are not in N (motor currents?)'
    change = partial(_efforts, factor=factors * (1.0 if known else common))
    yield Hypothesis('scale' if known else 'unit', text, change, 'effort')


def _best_change(
    judge: Judge,
    sized: Callable[[float], Machine],
    largest: float = LARGEST_CHANGE,
    *,
    coarse: bool = False,
) -> float | None:
    """The size of a change of all legs that leaves least; None where it is no size within.

    Noise turns with the poses, so that steps along the residuals stop on the way.
    """

    def left(size: float) -> float:
        try:
            return float(np.linalg.norm(judge.residual(sized(size))))
        except ModelError:  # no pose has such lengths
            return worst

    worst = float(np.linalg.norm(np.nan_to_num(judge.machine.record.forces.mean)))
    low, high = -largest, largest
    if coarse:
        tried = np.linspace(low, high, COARSELY)
        best = float(min(tried, key=left))
        if not left(best) < worst:
            return None
        low, high = best - 2.0 * largest / COARSELY, best + 2.0 * largest / COARSELY
    found = minimize_scalar(
        left, bounds=(low, high), method='bounded', options={'xatol': 2e-3 * largest}
    )
    return float(found.x) if abs(found.x) < 0.95 * largest else None


def _best_sizes(judge: Judge, change: Array) -> Array:
    """How much of a change (N, 6), made in each leg alone, leaves least of the residuals."""
    rest = judge.residual(judge.machine)
    return np.array(
        [-float(one @ rest) / max(float(one @ one), 1e-300) for one in _moved(judge, change)]
    )


def _moved(judge: Judge, change: Array) -> Array:
    """What no parameters explain of a change (N, 6) of the forces, made in each leg alone."""
    return judge.left(judge.machine, change[None] * np.eye(6)[:, None, :])
