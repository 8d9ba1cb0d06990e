"""Is the recording what it says it is? Wrong signs, swapped wheels, a turned inertial unit.

Every hypothesis is a change of the signals. The one that lets a physically possible car (masses,
springs and dampers not negative) explain the recording far better than the signals as recorded is
named. Hypotheses are only tried when the plain fit looks wrong, so good recordings cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from veh_identification.checks.explanation import Hypothesis, best_explanation
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
    diagonal_weights,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.parameters import CORNERS, POSITIVE
from veh_identification.systems.car.processing.spectral import one_band
from veh_identification.systems.car.recording.samples import (
    CarSamples,
    JointMotion,
    carried_acceleration,
)
from veh_identification.types import Array

Change = Callable[[CarSamples], CarSamples]
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
CONVINCING = 2.0


def suspicious(problem: CarProblem, fit: Fit, selection: Selection, constant: int) -> bool:
    """Whether the plain fit looks as if signals were wrong; `constant`: the column of ones."""
    moving = selection.bands.copy()
    moving[:, :2] = False  # without the mean and the slowest drift
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


def explain(model: CarModel, stretches: Sequence[Stretch], selection: Selection) -> list[Finding]:
    """The change of the signals that explains a recording best, for each of them."""
    found: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for one in stretches:
        judge = partial(_misfit, model, selection, one.top_hz)
        explained = best_explanation(one.samples, hypotheses(one.imu), judge)
        best = explained.best
        if best is not None and explained.factor > ASKING:
            before, after = (
                residuals(model, selection, one.top_hz, samples)
                for samples in (one.samples, best.change(one.samples))
            )
            key = (best.code, best.text, best.where)
            found.setdefault(key, []).append((one.label, float(np.max(before / after))))
    return [_finding(*key, judged, len(stretches)) for key, judged in found.items()]


def tried() -> tuple[str, ...]:
    """Codes of everything that `explain` tries."""
    return tuple(dict.fromkeys(one.code for one in hypotheses(Sensor())))


def misfit_of(model: CarModel, stretch: Stretch) -> float:
    """Misfit of a stretch as it is, all equations and parameters in use."""
    return _misfit(model, _everything(model), stretch.top_hz, stretch.samples)


def best_misfit(model: CarModel, stretch: Stretch) -> float:
    """The least misfit that a swapped, turned or wrongly signed sensor would leave."""
    judge = partial(_misfit, model, _everything(model), stretch.top_hz)
    return best_explanation(stretch.samples, hypotheses(stretch.imu), judge, 0.0).misfit


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


def _misfit(model: CarModel, selection: Selection, top_hz: float, piece: CarSamples) -> float:
    """Geometric mean of the residuals over equations, of the best physically possible car."""
    return float(np.exp(np.log(residuals(model, selection, top_hz, piece)).mean()))


def residuals(model: CarModel, selection: Selection, top_hz: float, piece: CarSamples) -> Array:
    """Rms of the residuals of every equation in use."""
    problem = CarProblem(model, one_band(model.signals(piece), piece.rate, top_hz))
    usable = np.asarray(selection.bands.any(axis=1))
    bands = np.asarray(usable).reshape(-1, 1)
    lines = float(problem.information.rows[0])
    chosen = np.flatnonzero(selection.parameters)
    lower = np.array([0.0 if model.names[k] in POSITIVE else -np.inf for k in chosen])
    _, squares = problem.squares(np.zeros(len(model.names)), bands)
    X = np.zeros(len(model.names))
    for _ in range(3):
        weights = np.where(usable, lines / np.maximum(squares, 1e-12), 0.0)
        left, right = problem.normal(diagonal_weights(weights[:, None]))
        X[chosen] = _bounded(left[np.ix_(chosen, chosen)], right[chosen], lower)
        squares, _ = problem.squares(X, bands)
    return np.asarray(np.sqrt(np.maximum(squares[usable] / lines, 1e-12)))


def _bounded(left: Array, right: Array, lower: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diag(left), 1e-300))
    # A trace of ridge: a hypothesis may leave a parameter without influence.
    matrix = np.linalg.cholesky(left / np.outer(scale, scale) + 1e-9 * np.eye(len(scale))).T
    target = solve_triangular(matrix, right / scale, trans=1)
    free = solve_triangular(matrix, target)
    if np.all(free >= lower):
        return np.asarray(free / scale)
    return np.asarray(lsq_linear(matrix, target, bounds=(lower, np.inf), method='bvls').x / scale)


def hypotheses(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """What may be wrong, each with the change that would put the signals right."""
    yield from _swapped()
    for j in range(len(CORNERS)):
        yield from _signs_of_a_corner(j)
    yield from _common_signs()
    yield from _turned_units(imu)
    yield from _signs_of_axes(imu)


def _swapped() -> Iterator[Hypothesis[CarSamples]]:
    for a, b in combinations(range(4), 2):
        for code, names, change in (
            (
                'swapped_wrenches',
                (f'wheel_{CORNERS[a]}/wrench', f'wheel_{CORNERS[b]}/wrench'),
                _swap_wrenches(a, b),
            ),
            (
                'swapped_travels',
                (f'suspension_{CORNERS[a]}', f'suspension_{CORNERS[b]}'),
                _swap_travels(a, b),
            ),
        ):
            both = ' and '.join(names)
            yield Hypothesis(code, f'{both} are swapped', change, both)


def _signs_of_a_corner(j: int) -> Iterator[Hypothesis[CarSamples]]:
    wheel, travel = f'wheel_{CORNERS[j]}/wrench', f'suspension_{CORNERS[j]}'
    yield Hypothesis(
        'wrench_sign',
        f'{wheel} has the wrong sign (it must be what the wheel exerts on the hub carrier)',
        _flip_wrench(slice(j, j + 1), slice(0, 6)),
        wheel,
    )
    yield Hypothesis(
        'travel_sign',
        f'{travel} has the wrong sign (positive in compression)',
        scaled_travel(j, -1.0),
        travel,
    )
    for axis, letter in enumerate('xyz'):
        yield Hypothesis(
            'wrench_axis_sign',
            f'{wheel}: force.{letter} has the wrong sign',
            _flip_wrench(slice(j, j + 1), slice(axis, axis + 1)),
            f'{wheel} force.{letter}',
        )


def _common_signs() -> Iterator[Hypothesis[CarSamples]]:
    yield Hypothesis(
        'wrench_sign',
        'all wheel wrenches have the wrong sign (they must be what the wheels '
        'exert on the hub carriers)',
        _flip_wrench(slice(0, 4), slice(0, 6)),
        'wheel_*/wrench',
    )
    yield Hypothesis(
        'travel_sign',
        'all suspension travels have the wrong sign (positive in compression)',
        _flip_all_travels(),
        'suspension_*',
    )
    yield Hypothesis(
        'steering_sign',
        'all steering angles have the wrong sign (positive to the left)',
        _flip_steering(),
        'steering_*',
    )


def _turned_units(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """All ways in which a box can be screwed down along the car's axes."""
    for turn in Rotation.create_group('O').as_matrix().round():
        if np.allclose(turn, np.eye(3)):
            continue
        axis = Rotation.from_matrix(turn).as_rotvec(degrees=True)
        angle = np.linalg.norm(axis)
        about = ' '.join(f'{one + 0.0:.2g}' for one in axis / angle)
        flipped = 'upside down, ' if turn[2, 2] < -0.5 else ''
        yield Hypothesis(
            'imu_turned',
            f'the inertial unit (imu/data) is mounted {flipped}turned by {angle:.0f} degrees '
            f'about the axis [{about}] against the pose given',
            _turn_imu(imu, turn, turn),
            'imu/data',
        )


def _signs_of_axes(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    same = np.eye(3)
    for axis, letter in enumerate('xyz'):
        sign = np.diag([-1.0 if k == axis else 1.0 for k in range(3)])
        yield Hypothesis(
            'gyro_sign',
            f'imu/data: angular_velocity.{letter} has the wrong sign',
            _turn_imu(imu, sign, same),
            f'imu/data angular_velocity.{letter}',
        )
        yield Hypothesis(
            'accelerometer_sign',
            f'imu/data: linear_acceleration.{letter} has the wrong sign',
            _turn_imu(imu, same, sign),
            f'imu/data linear_acceleration.{letter}',
        )
    yield Hypothesis(
        'accelerometer_sign',
        'imu/data: linear_acceleration has the wrong sign (it must show '
        '+9.81 m/s^2 upwards at rest)',
        _turn_imu(imu, same, -same),
        'imu/data linear_acceleration',
    )


def _swap_wrenches(a: int, b: int) -> Change:
    order = list(range(4))
    order[a], order[b] = b, a
    return lambda s: replace(s, wrench=s.wrench[:, order])


def _swap_travels(a: int, b: int) -> Change:
    order = list(range(4))
    order[a], order[b] = b, a

    def change(s: CarSamples) -> CarSamples:
        joint = s.joints['suspension']
        moved = JointMotion(
            joint.position[:, order], joint.velocity[:, order], joint.acceleration[:, order]
        )
        return replace(
            s, joints={**s.joints, 'suspension': moved}, friction_sign=s.friction_sign[:, order]
        )

    return change


def _flip_wrench(wheels: slice, components: slice) -> Change:
    def change(s: CarSamples) -> CarSamples:
        wrench = s.wrench.copy()
        wrench[:, wheels, components] *= -1.0
        return replace(s, wrench=wrench)

    return change


def _scaled(joint: JointMotion, sign: Array) -> JointMotion:
    return JointMotion(joint.position * sign, joint.velocity * sign, joint.acceleration * sign)


def scaled_travel(j: int, factor: float) -> Change:
    """The travel of one wheel times a factor."""
    factors = np.ones(4)
    factors[j] = factor
    return lambda s: replace(
        s,
        joints={**s.joints, 'suspension': _scaled(s.joints['suspension'], factors)},
        friction_sign=s.friction_sign * np.sign(factors),
    )


def _flip_all_travels() -> Change:
    return lambda s: replace(
        s,
        joints={**s.joints, 'suspension': _scaled(s.joints['suspension'], -np.ones(4))},
        friction_sign=-s.friction_sign,
    )


def _flip_steering() -> Change:
    return lambda s: replace(
        s, joints={**s.joints, 'steering': _scaled(s.joints['steering'], -np.ones(4))}
    )


def _turn_imu(imu: Sensor, gyro: Array, accelerometer: Array) -> Change:
    """Turns or signs of the inertial unit's own axes, applied where the unit sits."""
    position, turn = np.array(imu.position), imu.matrix
    turn_gyro, turn_felt = (turn @ one.T @ turn.T for one in (gyro, accelerometer))

    def change(s: CarSamples) -> CarSamples:
        omega, alpha = s.angular_velocity, s.angular_acceleration
        felt = s.specific_force + carried_acceleration(omega, alpha, position)
        omega, alpha = omega @ turn_gyro, alpha @ turn_gyro
        moved = felt @ turn_felt - carried_acceleration(omega, alpha, position)
        return replace(s, angular_velocity=omega, angular_acceleration=alpha, specific_force=moved)

    return change
