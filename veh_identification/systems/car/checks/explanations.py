"""Is the recording what it says it is? Wrong signs, swapped wheels, a turned inertial unit.

Every hypothesis is a change of the signals. The one that lets a physically possible car (masses,
springs and dampers not negative) explain the recording far better than the signals as recorded is
named. Most are only tried when the plain fit looks wrong, so good recordings cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from veh_identification.checks.explanation import (
    Explanation,
    Hypothesis,
    alike,
    best_explanation,
    best_of,
    partly,
    sized,
)
from veh_identification.findings import CONVINCING, Finding
from veh_identification.findings.numbers import listed
from veh_identification.systems.car.checks.hypotheses import families, hypotheses
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.parameters import POSITIVE
from veh_identification.systems.car.processing.driveline import HALF_BAND_HZ, RANGE_HZ
from veh_identification.systems.car.processing.spectral import one_band
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion
from veh_identification.types import Array

#: Samples and their signals, of which other samples may share the motion.
Like = tuple[CarSamples, Array]
TEST_SECONDS = 20.0
TEST_HZ = 12.0
#: Relative residual (without the mean) above which an equation is suspicious.
SUSPICIOUS = 0.35
#: Force (N) or moment (N m) whose rms an equation must reach to be a witness; a moment twice as
#: much: the yaw moment of a slow ramp is hardly more than what the driveline shakes.
WITNESS = 300.0
_WITNESS = WITNESS * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
#: So many times smaller residuals of all equations raise the question: 0.08 of the
#: log-likelihood per line. To be called the cause, the equation that improves most must fit
#: twice as well.
ASKING = float(np.exp(0.5 * 0.08))
#: Where the fit is not poor, a scale or a zero must make all residuals this much smaller.
UNASKED = 1.1
#: And for axes that are turned by small angles one equation must fit so much better: on five clean
#: drives none gained more than 0.7 % from turning them, and the longitudinal one lost 2 to 18 %.
ONE_EQUATION = 1.03


def suspicious(
    problem: CarProblem, fit: Fit, selection: Selection, constant: int, driveline: bool = True
) -> bool:
    """Whether the plain fit looks as if signals were wrong; `constant`: the column of ones.

    Where the modes of the `driveline` are not known (a recording of a few seconds does not show
    them) they are still in the chassis equations, which are no witness in their range.
    """
    moving = selection.bands.copy()
    moving[:, :2] = False  # without the mean and the slowest drift
    if not driveline:
        frequency = problem.information.frequency
        shaken = (frequency >= RANGE_HZ[0] - HALF_BAND_HZ) & (frequency <= RANGE_HZ[1])
        moving[:6, shaken] = False
    residual, measured = problem.squares(fit.value, moving)
    used = (measured > 0.0) & moving.any(axis=1)
    # An equation that hardly moves (longitudinal force at constant speed) is no witness.
    least = problem.information.samples * _WITNESS[used] ** 2
    if np.any(np.sqrt(residual[used] / np.maximum(measured[used], least)) > SUSPICIOUS):
        return True
    # A wheel force of the wrong sign may hardly move, but it pulls to one side all the time.
    means = np.abs(problem.residual_means(fit.value, constant)[:6])
    if np.any(means[used[:6]] > WITNESS):
        return True
    std = np.sqrt(np.diag(fit.covariance))
    names = problem.model.names
    return any(
        fit.value[names.index(name)] < -3.0 * std[names.index(name)]
        for name in POSITIVE
        if selection.parameters[names.index(name)]
    )


@dataclass(frozen=True)
class Stretch:
    """A short stretch of one recording on which hypotheses are tried."""

    label: str
    samples: CarSamples
    imu: Sensor  # with the pose that was assumed
    top_hz: float = TEST_HZ  # where the inertial unit is believed


def short_stretch(label: str, piece: CarSamples, imu: Sensor, top_hz: float = TEST_HZ) -> Stretch:
    """The beginning of a piece of measured motion, with as few samples as do."""
    # What folds back above TEST_HZ is small beside a wrong sign.
    step = max(1, int(piece.rate / (4.0 * TEST_HZ)))
    short = replace(piece[: int(TEST_SECONDS * piece.rate) : step], rate=piece.rate / step)
    # A view would keep the whole piece in memory.
    return Stretch(label, deepcopy(short), imu, min(top_hz, TEST_HZ))


_SIZED = frozenset(one.code for one in families(Sensor()))


def explain(
    model: CarModel,
    stretches: Sequence[Stretch],
    selection: Selection,
    poor: bool,
    rivalled: bool = False,
) -> list[Finding]:
    """The change of the signals that explains a recording best, for each of them.

    Scales and zeros of sensors are looked for in any case, as they hardly show in a fit;
    exchanged, turned and wrongly signed sensors where the fit is `poor`, or where one of them
    explains more than a calibration that is certain (`rivalled`).
    """
    least = 1.0 if rivalled else ASKING if poor else UNASKED
    found: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for one in stretches:
        best = _best(model, selection, one, poor or rivalled)
        factor = _improvement(model, selection, one, best)
        # A scale that is fitted to all makes up for a mistake that began in the middle, too.
        by_size = best.best is not None and best.best.code in _SIZED
        if poor and (factor < CONVINCING or by_size):
            part = _best_part(model, selection, one)
            of_part = _improvement(model, selection, one, part)
            if of_part >= CONVINCING and part.factor > best.factor:
                best, factor = part, of_part
        if best.best is not None and (best.factor > least or _turned_frame(best.best, factor)):
            text = f'one of these: {"; or ".join([best.best.text, *best.rivals])}'
            key = (best.best.code, text if best.rivals else best.best.text, best.best.where)
            found.setdefault(key, []).append((one.label, factor))
    return [_finding(*key, judged, len(stretches)) for key, judged in found.items()]


def _turned_frame(found: Hypothesis[CarSamples], factor: float) -> bool:
    """Whether axes that turn with the steering are told: small angles, felt by one equation."""
    return found.code == 'wrench_frame' and factor > ONE_EQUATION


def _improvement(
    model: CarModel, selection: Selection, one: Stretch, found: Explanation[CarSamples]
) -> float:
    """How much better the equation fits that improves most."""
    if found.best is None:
        return 1.0
    before, after = (
        residuals(model, selection, one.top_hz, samples)
        for samples in (one.samples, found.best.change(one.samples))
    )
    return float(np.max(before / after))


def _best_part(model: CarModel, selection: Selection, one: Stretch) -> Explanation[CarSamples]:
    """The mistake that explains most if it was made in the first or the second half alone."""
    middle = len(one.samples) // 2
    time = f'{one.samples.stamps[middle]:.3g} s'
    tried = [
        *partly(hypotheses(one.imu), lambda a, b: _joined(a, b, middle), f'from about {time} on'),
        *partly(hypotheses(one.imu), lambda a, b: _joined(b, a, middle), f'until about {time}'),
    ]
    return best_explanation(one.samples, tried, _judge(model, selection, one))


def _joined(first: CarSamples, second: CarSamples, row: int) -> CarSamples:
    """One until a row and another from it on."""
    a, b = first[:row], second[row:]

    def both(name: str) -> Array:
        return np.concatenate([getattr(a, name), getattr(b, name)])

    joints = {
        kind: JointMotion(
            *(
                np.concatenate([getattr(one, name), getattr(b.joints[kind], name)])
                for name in ('position', 'velocity', 'acceleration')
            )
        )
        for kind, one in a.joints.items()
    }
    return replace(
        first,
        specific_force=both('specific_force'),
        angular_velocity=both('angular_velocity'),
        angular_acceleration=both('angular_acceleration'),
        friction_sign=both('friction_sign'),
        wrench=both('wrench'),
        joints=joints,
    )


def _best(
    model: CarModel, selection: Selection, one: Stretch, poor: bool
) -> Explanation[CarSamples]:
    judge = _judge(model, selection, one)
    plain = judge(one.samples)
    tried = [*hypotheses(one.imu)] if poor else []
    best = best_explanation(one.samples, tried, judge, plain)
    by_size = sized(one.samples, families(one.imu), judge, plain)
    if not by_size:
        return best
    if best.best is None or (best.factor < ASKING and by_size[0][1] < best.misfit):
        return Explanation(*by_size[0], plain, (), alike(by_size, plain))
    found = best_of([(best.best, best.misfit), by_size[0]], plain)
    return replace(found, rivals=alike(by_size, plain) if found.best is by_size[0][0] else ())


def tried() -> tuple[str, ...]:
    """Codes of everything that `explain` tries."""
    codes = [one.code for one in hypotheses(Sensor())]
    return tuple(dict.fromkeys([*codes, *(one.code for one in families(Sensor()))]))


def misfit_of(model: CarModel, stretch: Stretch) -> float:
    """Misfit of a stretch as it is, all equations and parameters in use."""
    return _judge(model, _everything(model), stretch)(stretch.samples)


def rivals(model: CarModel, stretch: Stretch) -> tuple[float, float]:
    """The least misfit that a swapped, turned or wrongly signed sensor, or any cause, leaves."""
    selection = _everything(model)
    judge = _judge(model, selection, stretch)
    turned = best_explanation(stretch.samples, [*hypotheses(stretch.imu)], judge)
    return turned.misfit, _best(model, selection, stretch, poor=True).misfit


def _everything(model: CarModel) -> Selection:
    return Selection(
        np.ones((len(EQUATIONS), 1), dtype=bool), np.ones(len(model.names), dtype=bool)
    )


def _finding(
    code: str, text: str, where: str, judged: Sequence[tuple[str, float]], recordings: int
) -> Finding:
    factor = max(factor for _, factor in judged)
    some = '' if len(judged) == recordings else f', in {listed([label for label, _ in judged])}'
    better = f'the equation that improves most fits {factor:.2g} times better'
    if factor < CONVINCING:
        return Finding('warn', code, f'maybe {text}{some}: with that put right, {better}', where)
    return Finding('bad', code, f'{text}{some} (with that put right, {better})', where, factor)


def _judge(model: CarModel, selection: Selection, one: Stretch) -> Callable[[CarSamples], float]:
    """The misfit of a stretch with its signals changed."""
    like = one.samples, model.signals(one.samples)
    return partial(_misfit, model, selection, one.top_hz, like)


def _misfit(
    model: CarModel, selection: Selection, top_hz: float, like: Like, piece: CarSamples
) -> float:
    """Geometric mean of the residuals over equations, of the best physically possible car."""
    return float(np.exp(np.log(residuals(model, selection, top_hz, piece, like)).mean()))


def residuals(
    model: CarModel,
    selection: Selection,
    top_hz: float,
    piece: CarSamples,
    like: Like | None = None,
) -> Array:
    """Rms of the residuals of every equation in use; `like`: samples whose signals are known."""
    signals = model.signals(piece, like)
    problem = CarProblem(model, one_band(signals, piece.rate, top_hz))
    usable = np.asarray(selection.bands.any(axis=1))
    bands = np.asarray(usable).reshape(-1, 1)
    lines = float(problem.information.rows[0])
    chosen = np.flatnonzero(selection.parameters)
    lower = np.array([0.0 if model.names[k] in POSITIVE else -np.inf for k in chosen])
    left, right, measured = problem.apart(bands)
    left, right = left[:, chosen[:, None], chosen], right[:, chosen]
    # Weights by size lead to another minimum where equations that hardly move weigh most.
    alike = np.full(len(measured), measured[usable].mean())
    least = np.zeros(0)
    for start in (measured, alike):
        squares = start
        for _ in range(3):
            weights = np.where(usable, lines / np.maximum(squares, 1e-12), 0.0)
            X = _bounded(np.tensordot(weights, left, axes=1), weights @ right, lower)
            squares = measured - 2.0 * right @ X + left @ X @ X
        left_over = np.asarray(np.sqrt(np.maximum(squares[usable] / lines, 1e-12)))
        if not len(least) or np.log(left_over).mean() < np.log(least).mean():
            least = left_over
    return least / _sizes(piece)[usable]


def _sizes(piece: CarSamples) -> Array:
    """What the residuals of every equation are told in: of a suspension, how its force varies.

    A force that is made smaller leaves less of its own suspension's equation, and explains nothing
    by that. Differences, as neither a zero nor a jump in the middle is a size.
    """
    varying = np.diff(piece.wrench[:, :, 2], axis=0)
    sizes = np.sqrt(np.mean(varying**2, axis=0))
    return np.concatenate([np.ones(6), np.maximum(sizes, 1e-9)])


def _bounded(left: Array, right: Array, lower: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diag(left), 1e-300))
    # A trace of ridge: a hypothesis may leave a parameter without influence.
    matrix = np.linalg.cholesky(left / np.outer(scale, scale) + 1e-9 * np.eye(len(scale))).T
    target = solve_triangular(matrix, right / scale, trans=1)
    free = solve_triangular(matrix, target)
    if np.all(free >= lower):
        return np.asarray(free / scale)
    return np.asarray(lsq_linear(matrix, target, bounds=(lower, np.inf), method='bvls').x / scale)
