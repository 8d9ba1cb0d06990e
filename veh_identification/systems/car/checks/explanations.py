"""Is the recording what it says it is? Wrong signs, swapped wheels, a turned inertial unit.

Every hypothesis is a change of the signals. The one that lets a physically possible car (masses,
springs and dampers not negative) explain the recording far better than the signals as recorded is
named. Hypotheses are only tried when the plain fit looks wrong, so good recordings cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

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
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion
from veh_identification.types import Array, BoolArray

Change = Callable[[CarSamples], CarSamples]
TEST_SECONDS = 20.0
TEST_HZ = 12.0
#: Relative residual (without the mean) above which an equation is suspicious.
SUSPICIOUS = 0.35
#: Force (N) or moment (N m) whose rms an equation must reach to be a witness; a moment twice as
#: much: the yaw moment of a slow ramp is hardly more than what the driveline shakes.
WITNESS = 300.0
_WITNESS = WITNESS * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
#: Standard deviation (rad) below which nobody steers: what moves is bump steer and noise.
STEERED = 0.003
#: Improvement of the log-likelihood per line that convicts.
CONVINCING = 0.08


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or missing, with a short name for programs."""

    name: str
    text: str
    serious: bool = True

    def as_dict(self) -> dict[str, object]:
        """For parameters.json."""
        return {'name': self.name, 'text': self.text, 'serious': self.serious}


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


def explain(
    model: CarModel, piece: CarSamples, selection: Selection, imu: Sensor, top_hz: float = TEST_HZ
) -> Finding | None:
    """The change of the signals that explains the recording, if one does so convincingly.

    `piece` holds measured motion only; `imu` is the inertial unit's pose that was assumed.
    """
    # Every few samples do: what folds back above TEST_HZ is small beside a wrong sign.
    step = max(1, int(piece.rate / (4.0 * TEST_HZ)))
    short = replace(piece[: int(TEST_SECONDS * piece.rate) : step], rate=piece.rate / step)
    plain = _score(model, short, selection, top_hz)
    best_score, best = np.inf, ('', '')
    for name, text, change in hypotheses(imu):
        score = _score(model, change(short), selection, top_hz)
        if score < best_score:
            best_score, best = score, (name, text)
    if plain - best_score > CONVINCING:
        return Finding(
            best[0],
            f'{best[1]} (with that put right, the equations fit '
            f'{np.exp(0.5 * (plain - best_score)):.2g} times better)',
        )
    return None


def _score(model: CarModel, piece: CarSamples, selection: Selection, top_hz: float) -> float:
    """Mean log power per line of the residuals of the best physically possible car."""
    problem = CarProblem(model, one_band(model.signals(piece), piece.rate, min(top_hz, TEST_HZ)))
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
    return float(np.log(np.maximum(squares[usable] / lines, 1e-12)).mean())


def _bounded(left: Array, right: Array, lower: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diag(left), 1e-300))
    # A trace of ridge: a hypothesis may leave a parameter without influence.
    matrix = np.linalg.cholesky(left / np.outer(scale, scale) + 1e-9 * np.eye(len(scale))).T
    target = solve_triangular(matrix, right / scale, trans=1)
    free = solve_triangular(matrix, target)
    if np.all(free >= lower):
        return np.asarray(free / scale)
    return np.asarray(lsq_linear(matrix, target, bounds=(lower, np.inf), method='bvls').x / scale)


def hypotheses(imu: Sensor) -> Iterator[tuple[str, str, Change]]:
    """Name, sentence and the change that would put the signals right."""
    for a, b in combinations(range(4), 2):
        pair = f'wheel_{CORNERS[a]}/wrench and wheel_{CORNERS[b]}/wrench'
        yield ('swapped_wrenches', f'{pair} are swapped', _swap_wrenches(a, b))
        pair = f'suspension_{CORNERS[a]} and suspension_{CORNERS[b]}'
        yield ('swapped_travels', f'{pair} are swapped', _swap_travels(a, b))
    for j, corner in enumerate(CORNERS):
        yield (
            'wrench_sign',
            f'wheel_{corner}/wrench has the wrong sign (it must be what the '
            'wheel exerts on the hub carrier)',
            _flip_wrench(slice(j, j + 1), slice(0, 6)),
        )
        yield (
            'travel_sign',
            f'suspension_{corner} has the wrong sign (positive in compression)',
            _flip_travel(j),
        )
        for axis in range(3):
            yield (
                'wrench_axis_sign',
                f'wheel_{corner}/wrench: force.{"xyz"[axis]} has the wrong sign',
                _flip_wrench(slice(j, j + 1), slice(axis, axis + 1)),
            )
    yield (
        'wrench_sign',
        'all wheel wrenches have the wrong sign (they must be what the wheels '
        'exert on the hub carriers)',
        _flip_wrench(slice(0, 4), slice(0, 6)),
    )
    yield (
        'travel_sign',
        'all suspension travels have the wrong sign (positive in compression)',
        _flip_all_travels(),
    )
    yield (
        'steering_sign',
        'all steering angles have the wrong sign (positive to the left)',
        _flip_steering(),
    )
    for about, angle in (
        ('x', (1.0, -1.0, -1.0)),
        ('y', (-1.0, 1.0, -1.0)),
        ('z', (-1.0, -1.0, 1.0)),
    ):
        what = 'mounted upside down' if about in 'xy' else 'mounted back to front'
        yield (
            'imu_turned',
            f'the inertial unit (imu/data) is {what}: turned by 180 degrees '
            f'about its {about} axis against the pose given',
            _turn_imu(imu, angle, angle),
        )
    for axis in range(3):
        flip = [1.0, 1.0, 1.0]
        flip[axis] = -1.0
        sign = (flip[0], flip[1], flip[2])
        one = (1.0, 1.0, 1.0)
        yield (
            'gyro_sign',
            f'imu/data: angular_velocity.{"xyz"[axis]} has the wrong sign',
            _turn_imu(imu, sign, one),
        )
        yield (
            'accelerometer_sign',
            f'imu/data: linear_acceleration.{"xyz"[axis]} has the wrong sign',
            _turn_imu(imu, one, sign),
        )
    minus = (-1.0, -1.0, -1.0)
    yield (
        'accelerometer_sign',
        'imu/data: linear_acceleration has the wrong sign (it must show '
        '+9.81 m/s^2 upwards at rest)',
        _turn_imu(imu, (1.0, 1.0, 1.0), minus),
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


def _flip_travel(j: int) -> Change:
    sign = np.ones(4)
    sign[j] = -1.0
    return lambda s: replace(
        s,
        joints={**s.joints, 'suspension': _scaled(s.joints['suspension'], sign)},
        friction_sign=s.friction_sign * sign,
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


def _turn_imu(
    imu: Sensor, gyro: tuple[float, float, float], accelerometer: tuple[float, float, float]
) -> Change:
    """Signs on the inertial unit's own axes, applied where the unit sits."""
    position, turn = np.array(imu.position), imu.matrix
    turn_gyro = (turn * np.array(gyro)) @ turn.T  # R diag(signs) R^T, symmetric
    turn_felt = (turn * np.array(accelerometer)) @ turn.T

    def change(s: CarSamples) -> CarSamples:
        omega, alpha = s.angular_velocity, s.angular_acceleration
        felt = s.specific_force + _carried(omega, alpha, position)
        omega, alpha = omega @ turn_gyro, alpha @ turn_gyro
        moved = felt @ turn_felt - _carried(omega, alpha, position)
        return replace(s, angular_velocity=omega, angular_acceleration=alpha, specific_force=moved)

    return change


def _carried(omega: Array, alpha: Array, arm: Array) -> Array:
    return np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))


def check_steering(piece: CarSamples) -> list[Finding]:
    """A front wheel that steers against the yaw rate, or against the other wheel."""
    turning = piece.angular_velocity[:, 2] - piece.angular_velocity[:, 2].mean()
    found = []
    for j in (0, 1):
        angle = piece.joints['steering'].position[:, j]
        spread = angle.std() * turning.std()
        if angle.std() > STEERED and spread > 1e-9:
            likeness = float((angle - angle.mean()) @ turning / len(angle) / spread)
            if likeness < -0.5:
                found.append(
                    Finding(
                        'steering_sign',
                        f'steering_{CORNERS[j]} has the wrong sign (positive to the '
                        f'left): it runs against the yaw rate (correlation {likeness:.2f})',
                    )
                )
    return found


def check_gravity(piece: CarSamples) -> list[Finding]:
    """The mean specific force must point upwards and be about one g."""
    mean = piece.specific_force.mean(axis=0)
    if mean[2] > 0.8 * 9.81:
        return []
    return [
        Finding(
            'imu_turned',
            'the inertial unit (imu/data) does not show +9.81 m/s^2 along z '
            f'of base_link but [{mean[0]:.2f}, {mean[1]:.2f}, {mean[2]:.2f}]: it is '
            'mounted upside down or turned against the pose given',
        )
    ]


def lost_equations(
    missing_wrenches: tuple[str, ...], missing_travels: tuple[str, ...]
) -> tuple[BoolArray, list[Finding]]:
    """Mask of usable equations and what is lost with the missing sensors."""
    usable = np.ones(len(EQUATIONS), dtype=bool)
    found = []
    for corner in missing_wrenches:
        usable[:6] = False
        usable[6 + CORNERS.index(corner)] = False
        found.append(
            Finding(
                'missing_wrench',
                f'wheel_{corner}/wrench is missing: the six chassis equations '
                f'(FX FY FZ NX NY NZ) and suspension_{corner} are lost; the other suspension '
                'equations are used',
            )
        )
    for corner in missing_travels:
        axle = [other for other in CORNERS if other[0] == corner[0]]
        usable[[6 + CORNERS.index(other) for other in axle]] = False
        found.append(
            Finding(
                'missing_travel',
                f'suspension_{corner} is missing: the equations '
                f'{" and ".join(f"suspension_{other}" for other in axle)} are lost (the anti-roll '
                'bar '
                'couples them)',
            )
        )
    return usable, found
