"""Self-calibration: settings of the sensors as further unknowns with priors.

A wrong lever arm, a turned unit, a late sensor or camber that nothing tells changes the equations
Y = W X by little that is linear in its size t:

    Y = W X + sum_a t_a d(W X - Y)/dt_a + rho

so t is estimated beside the parameters X on a stretch of measured motion, below the frequencies
that every sensor follows, with its prior as one more row. What is certain and matters is applied
to the recording and its description before anything else is done with them, and its remaining
uncertainty enters that of the parameters; so does the usual uncertainty of settings about which
the recording says nothing (`doubts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import chi2, norm

from veh_identification.errors import EstimationError
from veh_identification.orientations import matrix_of_rpy, rpy_of_matrix
from veh_identification.systems.car.checks.explanations import (
    UNASKED,
    misfit_of,
    rivals,
    short_stretch,
)
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.description.axle_tables import AxleTable
from veh_identification.systems.car.estimation.unknown_settings import (
    ANGLES,
    CAMBER,
    FRONT,
    IMU,
    INWARDS,
    Setting,
    settings,
)
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Selection,
    estimate,
    line_weights,
    residual_power,
    without_influence,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel, Entry
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.cutoffs import fixed_cutoffs
from veh_identification.systems.car.processing.first_look import BELIEVED_HZ
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.reader import CarRecording, sensor_pose
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.uneven import bent_corners
from veh_identification.types import Array, BoolArray

#: A setting is applied when it is this many deviations large, and matters.
DEVIATIONS = 6.0
ROUNDS = 3
#: Noise in the regressor moves a setting by up to this many times what as much noise again does
#: (2.5 times on a straight run, where hardly anything but noise moves the travels quickly).
MADE_BY_NOISE = 3.0
#: Squared distances beyond which probabilities are too small for numbers.
MOST = 500.0
#: Signals are that wide at most; thinned so that nothing folds back to where they count.
SIGNAL_HZ = 36.0
#: Sensors whose delays differ by less are late together.
TOGETHER_SECONDS = 0.002
#: Ends of camber tables: beyond any travel and steering of a road car.
TABLE_METRES, TABLE_RADIANS = 0.5, 1.2


class SettingsModel:
    """The equations of a car with settings as unknowns, linearised about parameters X.

    The forces of the stops that the model knows may be further unknowns, as shares of themselves.
    """

    def __init__(
        self,
        model: CarModel,
        unknown: Sequence[Setting],
        imu: Sensor,
        value: Array,
        stops: bool = False,
    ) -> None:
        self.model, self.unknown, self.imu, self.value = model, tuple(unknown), imu, value
        self.stops = model.stops if stops else ()
        pushes = (f'stop_{k}' for k in range(len(self.stops)))
        self.names = (*model.names, *(one.name for one in unknown), *pushes)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Those of the car, then every further unknown in all ten equations."""
        count, start = len(EQUATIONS), self.model.signal_count - len(EQUATIONS)
        more = [
            Entry(equation, len(self.model.names) + extra, start + count * extra + equation)
            for extra in range(len(self.names) - len(self.model.names))
            for equation in range(count)
        ]
        return (*self.model.entries, *more)

    @property
    def signal_count(self) -> int:
        """Columns of `signals`; the last ten are the measured sides."""
        further = len(self.names) - len(self.model.names)
        return self.model.signal_count + len(EQUATIONS) * further

    def signals(self, samples: CarSamples) -> Array:
        """Signals of the car with the changes by the settings before the measured sides."""
        plain = self.model.signals(samples)
        left = self._left(plain)
        added = [
            (self._left(self.model.signals(one.change(samples, self.imu, one.step))) - left)
            / one.step
            for one in self.unknown
        ]
        added += [self.model.with_stops((one,)).stop_forces(samples) for one in self.stops]
        measured = plain[:, -len(EQUATIONS) :]
        return np.concatenate([plain[:, : -len(EQUATIONS)], *added, measured], axis=1)

    def _left(self, signals: Array) -> Array:
        """W X - Y."""
        result = -signals[:, -len(EQUATIONS) :]
        for one in self.model.entries:
            result[:, one.equation] += signals[:, one.column] * self.value[one.parameter]
        return result


@dataclass(frozen=True)
class Calibration:
    """Settings with their deviations; what was applied; how far all of them may be off."""

    settings: tuple[Setting, ...]
    value: Array
    std: Array
    applied: BoolArray
    doubt: Array  # covariance of the settings, which the car's parameters inherit
    factor: float = 1.0  # by which the worst equation fits better
    rivalled: bool = False  # nothing is applied, as another cause explains the recording better

    def as_dict(self) -> dict[str, dict[str, float | bool | str]]:
        """For parameters.json: how far each setting is from the description."""
        return {
            one.name: {
                'value': float(self.value[k]),
                'std': float(self.std[k]),
                'unit': one.unit,
                'applied': bool(self.applied[k]),
            }
            for k, one in enumerate(self.settings)
        }

    def of(self, name: str) -> float:
        """A setting's value where it is applied."""
        for k, one in enumerate(self.settings):
            if one.name == name and self.applied[k]:
                return float(self.value[k])
        return 0.0

    def withdrawn(self) -> Calibration:
        """Nothing is applied: what was may be as large as it seemed, and stays in the doubt."""
        seemed = np.where(self.applied, self.value, 0.0)
        return replace(
            self,
            applied=np.zeros_like(self.applied),
            doubt=self.doubt + np.outer(seemed, seemed),
        )


@dataclass(frozen=True)
class _Solution:
    value: Array  # of the settings
    covariance: Array
    information: Array  # of the settings by the recording alone
    residual: Array  # mean square per equation, without and with the settings


def calibrate(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    stop_bands: tuple[tuple[float, float], ...] = (),
    camber: bool = True,
) -> Calibration | None:
    """Estimate the settings on one stretch of measured motion; None if it is too poor.

    `camber`: estimate that of the hubs as well, where nothing tells it.
    """
    piece = thinned(piece, BELIEVED_HZ)
    described = model.configuration
    every = tuple(one for one in settings(piece, described) if camber or one not in CAMBER)
    try:
        first = _solve(model, piece, imu, every, stop_bands)
        std = np.sqrt(np.diag(first.covariance))
        chosen = _whole(every, _certain(every, first.value, std), first.value, first.covariance)
        value, covariance, factor = _refined(model, piece, imu, every, chosen, stop_bands)
    except EstimationError:
        return None
    found = np.where(chosen, value, first.value)
    std = np.where(chosen, np.sqrt(np.diag(covariance)), std)
    applied = chosen & _whole(every, _certain(every, found, std), found, covariance)
    doubt = _left_open(every, first, applied, covariance)
    return Calibration(every, found, std, applied, doubt, factor)


def thinned(piece: CarSamples, top_hz: float) -> CarSamples:
    """As few samples as do where nothing above a frequency counts."""
    step = max(1, int(piece.rate / (SIGNAL_HZ + top_hz + 1.0)))
    return replace(piece[::step], rate=piece.rate / step)


def without_noise(found: Calibration, noisy: Sequence[Calibration]) -> Calibration:
    """What noise in the regressor makes of a setting is taken off; nothing else is applied.

    `noisy`: of the same stretch with as much noise again, as drawn and mirrored. Of what is taken
    off nobody knows more than its size, and what is not applied may be as large as it seemed: that
    stays in the deviations. (Hubs camber as a whole: single numbers say nothing.)
    """
    alone = found.applied & np.array([one not in CAMBER for one in found.settings])
    made = np.where(alone, np.mean([one.value for one in noisy], axis=0) - found.value, 0.0)
    value = found.value - made
    least = np.array([one.least for one in found.settings])
    told = np.abs(value) > np.maximum(least, MADE_BY_NOISE * np.abs(made))
    applied = found.applied & (told | ~alone)
    unsure = np.where(alone, np.where(applied, made, found.value), 0.0)
    return replace(
        found,
        value=value,
        std=np.hypot(found.std, unsure),
        applied=applied,
        doubt=found.doubt + np.diag(unsure**2),
    )


def calibrated(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    stop_bands: tuple[tuple[float, float], ...] = (),
    camber: bool = True,
) -> Calibration | None:
    """A calibration; nothing is applied where another cause explains the same data better."""
    found = calibrate(model, piece, imu, stop_bands, camber)
    if found is None or not found.applied.any():
        return found
    short = short_stretch('', piece, imu)
    value = np.where(found.applied, found.value, 0.0)
    put_right = replace(short, samples=corrected(short.samples, imu, found.settings, value))
    left = misfit_of(model, put_right)
    turned, any_cause = rivals(model, short)
    rivalled = UNASKED * any_cause < left
    if turned < left or rivalled:
        return replace(found.withdrawn(), rivalled=rivalled)
    return found


def _certain(every: Sequence[Setting], value: Array, std: Array) -> BoolArray:
    """What is both certain and large enough to matter, and small enough to be believed."""
    least, most = (np.array([getattr(one, name) for one in every]) for name in ('least', 'most'))
    size = np.abs(value)
    return np.asarray((size > np.maximum(least, DEVIATIONS * std)) & (size < most))


def _whole(
    every: Sequence[Setting], certain: BoolArray, value: Array, covariance: Array
) -> BoolArray:
    """Hubs that camber at all: all their settings, which the recording hardly tells apart.

    So none of them may be certain where all of them together are.
    """
    camber = np.array([one in CAMBER for one in every])
    if not camber.any():
        return certain
    part, size = covariance[np.ix_(camber, camber)], value[camber]
    least, most = (np.array([getattr(one, name) for one in CAMBER]) for name in ('least', 'most'))
    possible = bool(np.any(np.abs(size) > least) and np.all(np.abs(size) < most))
    together = possible and np.all(np.diag(part) > 0.0) and _distance(size, part) > DEVIATIONS
    return np.asarray(certain | (camber & (np.any(certain & camber) | together)))


def _distance(value: Array, covariance: Array) -> float:
    """From zero in deviations of one number that is as improbable."""
    square = float(value @ np.linalg.solve(covariance, value))
    return float(norm.isf(0.5 * chi2.sf(square, len(value)))) if square < MOST else np.inf


def _refined(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    every: Sequence[Setting],
    chosen: BoolArray,
    stop_bands: tuple[tuple[float, float], ...],
) -> tuple[Array, Array, float]:
    """The chosen settings alone, linearised where they are; how much better the data fit."""
    value, covariance = np.zeros(len(every)), np.zeros((len(every), len(every)))
    places = np.flatnonzero(chosen)
    if len(places) == 0:
        return value, covariance, 1.0
    some = [one for one, taken in zip(every, chosen, strict=True) if taken]
    before = None
    for _ in range(ROUNDS):
        moved = corrected(piece, imu, every, value)
        found = _solve(model, moved, imu, some, stop_bands, offset=value[places])
        before = found.residual[0] if before is None else before
        value[places] += found.value
        if np.any(np.abs(value) > [one.most for one in every]):
            break
    covariance[np.ix_(places, places)] = found.covariance
    return value, covariance, float(np.sqrt(np.max(before / found.residual[1])))


def corrected(
    piece: CarSamples, imu: Sensor, every: Sequence[Setting], value: Array
) -> CarSamples:
    """The signals with settings as they were found; angles before lever arms."""
    # Angles of the unit act where it sits, so they come before its lever arm.
    for k in sorted(range(len(every)), key=lambda k: every[k].name[4:] not in ANGLES):
        if value[k] != 0.0:
            piece = every[k].change(piece, imu, float(value[k]))
    return piece


def _solve(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    unknown: Sequence[Setting],
    stop_bands: tuple[tuple[float, float], ...],
    offset: Array | None = None,
) -> _Solution:
    """Settings and parameters together; `offset`: how far the settings are from their priors."""
    cutoffs = fixed_cutoffs(BELIEVED_HZ, BELIEVED_HZ, stop_bands)
    information = gather(model, [piece], BELIEVED_HZ + 1.0)
    bands = cutoffs.bands(information.frequency)
    # What straight dampers leave of two slopes would be a setting's.
    model = model.with_bends(bent_corners(model, information, bands))
    alone = CarProblem(model, information)
    excited = ~without_influence(alone, bands)
    plain = estimate(alone, Selection(bands, excited), iterations=3)
    wide = SettingsModel(model, unknown, imu, plain.value)
    problem = CarProblem(wide, gather(wide, [piece], BELIEVED_HZ + 1.0))
    selection = Selection(bands, np.concatenate([excited, np.ones(len(unknown), dtype=bool)]))
    count = len(model.names)
    strength = np.array([one.prior for one in unknown]) ** -2.0
    value = np.concatenate([plain.value, np.zeros(len(unknown))])
    for _ in range(3):
        power = residual_power(problem, value, selection)
        weights = line_weights(power, bands, False)
        left, right = problem.normal(weights)
        left[count:, count:] += np.diag(strength)
        right[count:] -= strength * (0.0 if offset is None else offset)
        inverse = _inverse(left, selection.parameters)
        value = inverse @ right
    meat = problem.normal(weights @ power @ weights)[0]
    meat[count:, count:] += np.diag(strength)
    covariance = inverse @ meat @ inverse
    response = _inverse(left[:count, :count], excited) @ left[:count, count:]
    told = left[count:, count:] - np.diag(strength) - left[count:, :count] @ response
    squares = [problem.squares(one, bands)[0] for one in (_padded(plain.value, wide), value)]
    return _Solution(
        value[count:],
        covariance[count:, count:],
        told,
        np.maximum(squares, 1e-12),
    )


def _padded(value: Array, wide: SettingsModel) -> Array:
    return np.concatenate([value, np.zeros(len(wide.unknown))])


def _inverse(left: Array, chosen: BoolArray) -> Array:
    """Inverse of the chosen part, zero elsewhere."""
    place = np.ix_(chosen, chosen)
    scale = np.sqrt(np.maximum(np.diag(left)[chosen], 1e-300))
    result = np.zeros_like(left)
    try:
        result[place] = np.linalg.inv(left[place] / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        raise EstimationError('the stretch cannot tell the parameters apart') from None
    result[place] /= np.outer(scale, scale)
    return result


def _left_open(
    every: Sequence[Setting], first: _Solution, applied: BoolArray, covariance: Array
) -> Array:
    """Covariance of the settings that the parameters inherit.

    Of what was applied, that of the estimate. Of the others the usual one where the recording
    cannot confirm them that well; where it can, it does, and nothing is added but what is certain
    of the inertial unit: too small to be applied, that still puts the parameters off. Where the
    wheels are and the wind no recording confirms.
    """
    usual = np.array([one.careful for one in every])
    seen = np.linalg.inv(first.information + np.diag(usual**-2.0))
    open_ones = ~applied & (np.diag(seen) > (0.7 * usual) ** 2)
    result = np.where(np.outer(open_ones, open_ones), seen, 0.0)
    certain = np.abs(first.value) > DEVIATIONS * np.sqrt(np.diag(first.covariance))
    small = certain & ~applied & ~open_ones & np.array([one in IMU for one in every])
    result[small, small] = first.value[small] ** 2
    untold = np.array([one.untold for one in every])
    result[untold] = result[:, untold] = 0.0
    result[untold, untold] = usual[untold] ** 2
    result[np.ix_(applied, applied)] = covariance[np.ix_(applied, applied)]
    return np.asarray(result)


def delays_of(found: Calibration) -> tuple[dict[str, float], float]:
    """Delays of wheel and travel sensors, and of the inertial unit where all others agree."""
    late = {one.name: found.of(one.name) for one in found.settings if one.unit == 's'}
    mean = sum(late.values()) / len(late)
    if all(late.values()) and max(late.values()) - min(late.values()) < TOGETHER_SECONDS:
        return {}, -mean
    return {name: value for name, value in late.items() if value}, 0.0


def applied_to(
    recording: CarRecording, configuration: CarDescription, found: Calibration
) -> tuple[CarRecording, CarDescription]:
    """Recording and description with what the calibration found."""
    sensors = configuration.sensors
    pose, _ = sensor_pose(sensors.imu, recording)
    late, imu_late = delays_of(found)
    turn = matrix_of_rpy([found.of(f'imu_{name}') for name in ANGLES])
    x, y, z = pose.position
    imu = replace(
        sensors.imu,
        position=(x + found.of('imu_x'), y + found.of('imu_y'), z + found.of('imu_z')),
        rpy=rpy_of_matrix(turn @ pose.matrix),
        delay=sensors.imu.delay + imu_late,
        pose_given=True,
    )
    kinematics = dict(configuration.axle_kinematics)
    if any(found.of(one.name) for one in CAMBER):
        kinematics['camber'] = _camber_tables(found)
    changed = replace(configuration, sensors=replace(sensors, imu=imu), axle_kinematics=kinematics)
    wrenches = {
        corner: one.delayed(late.get(f'delay_{corner}', 0.0))
        for corner, one in recording.wrenches.items()
    }
    joints = {
        name: one.delayed(late.get('delay_travel', 0.0)) if name.startswith('suspension') else one
        for name, one in recording.joints.items()
    }
    return replace(recording, wrenches=wrenches, joints=joints), changed


def as_calibrated(
    recording: CarRecording, configuration: CarDescription, found: Sequence[Calibration]
) -> tuple[CarRecording, CarDescription]:
    """Another recording of the same car, with what the newest calibration applied."""
    if not found or not found[-1].applied.any():
        return recording, configuration
    return applied_to(recording, configuration, found[-1])


def _camber_tables(found: Calibration) -> dict[str, AxleTable]:
    """Camber over travel and steering as tables of axle kinematics."""
    travel, steering = (-TABLE_METRES, TABLE_METRES), (-TABLE_RADIANS, TABLE_RADIANS)
    tables = {}
    for corner, side, front in zip(CORNERS, INWARDS, FRONT, strict=True):
        axle = 'front' if front else 'rear'
        rest, slope = (side * found.of(f'camber_{part}{axle}') for part in ('rest_', ''))
        per_angle = front * found.of('camber_steering')
        rows = tuple(
            tuple(rest + slope * q + per_angle * angle for angle in steering) for q in travel
        )
        tables[corner] = AxleTable(travel, rows, steering)
    return tables
