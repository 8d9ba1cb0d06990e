"""Constant errors of sensors: no residual shows them where a parameter takes them up.

A wheel sensor that reads 4 N too much moves `off` and `Mc`, whatever the length of the recording.
Offsets come from the configuration (`offset` of a sensor, a standard deviation); of those without
one, typical ones are scaled to what the constant parts of the equations show: lateral force and
yaw moment have no parameter that could take up a constant error, the others only in part. That of
a travel sensor is taken up whole: nothing but its `offset` tells it.

What several recordings have in common is one error: no number of recordings makes it smaller. How
they differ is another: instruments are set to zero anew before a drive. That is what separates an
aerodynamic coefficient from a constant, so it is counted in full as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.estimation.weighted import CarProblem, Fit, Selection
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.processing.spectral import SpectralInformation
from veh_identification.types import Array

#: Accelerometer m/s^2, wheel force N, wheel moment N m, travel m.
Sizes = tuple[float, float, float, float]
TYPICAL: Sizes = (3e-3, 4.0, 1.5, 1e-4)
LARGEST_SCALE = 5.0
#: How well the typical offsets are known beforehand: as a deviation of the logarithm.
SCALE_SPREAD = 0.7


def equation_offsets(
    value: Array,
    names: tuple[str, ...],
    configuration: CarDescription,
    sizes: Sizes,
) -> Array:
    """Covariance (10, 10) of the constant errors of the equations for offsets of given size."""
    accelerometer, force, moment, travel = sizes
    p = dict(zip(names, np.nan_to_num(value), strict=True))
    columns: list[Array] = []
    x, y = configuration.geometry.wheel_x, configuration.geometry.wheel_y
    for j in range(4):
        for axis in range(3):
            push = np.zeros(3)
            push[axis] = force
            column = np.zeros(10)
            column[:3], column[3:6] = push, np.cross([x[j], y[j], 0.0], push)
            column[6 + j] = push[2]
            columns.append(column)
            turn = np.zeros(10)
            turn[3 + axis] = moment
            columns.append(turn)
        spring = np.zeros(10)
        bar = p.get('karf' if j < 2 else 'karr', 0.0)
        spring[6 + j], spring[6 + (j ^ 1)] = travel * (p[f'k{j + 1}'] + bar), -travel * bar
        columns.append(spring)
    first = np.array([p['MXc'], p['MYc'], p['MZc']])
    for axis in range(3):
        felt = np.zeros(3)
        felt[axis] = accelerometer
        column = np.zeros(10)
        column[:3], column[3:6] = p['Mc'] * felt, np.cross(first, felt)
        column[6:] = [p[f'M{j}'] * felt[2] for j in range(1, 5)]
        columns.append(column)
    stacked = np.stack(columns)
    return np.asarray(stacked.T @ stacked)


def offset_covariance(
    problem: CarProblem,
    fit: Fit,
    selection: Selection,
    configuration: CarDescription,
    inverse: Array,
    constant_column: int,
    recordings: Sequence[tuple[Array, int]] = (),
) -> tuple[Array, float]:
    """Covariance of the parameters by constant sensor errors, and the scale of typical ones.

    `recordings`: the constant column of each one's Gram matrices, and its samples.
    """
    names = problem.model.names
    responses = constant_responses(problem, fit, inverse, constant_column, recordings)
    stated, usual = offset_sizes(configuration)
    known, judged = (
        equation_offsets(fit.value, names, configuration, sizes) for sizes in (stated, usual)
    )
    scale = (
        _observed_scale(problem, fit, selection, (known, judged), responses[0], constant_column)
        if any(usual)
        else 1.0
    )
    cause = known + scale**2 * judged
    spread = _height(fit.value, names, stated[3] + scale * usual[3])
    for one in responses:
        spread = spread + one @ cause @ one.T
    return spread, scale


def constant_responses(
    problem: CarProblem,
    fit: Fit,
    inverse: Array,
    constant_column: int,
    recordings: Sequence[tuple[Array, int]],
) -> list[Array]:
    """Responses of the parameters: to errors that all recordings share, then to each one's own.

    A recording's own error counts beyond its share of the common one.
    """
    information = problem.information
    common = problem.constant_response(
        fit.weights, inverse, information.grams[:, :, constant_column]
    )
    return [common] + [
        problem.constant_response(fit.weights, inverse, constant)
        - samples / information.samples * common
        for constant, samples in (recordings if len(recordings) > 1 else ())
    ]


def _height(value: Array, names: tuple[str, ...], travel: float) -> Array:
    """Covariance by wheels that stand elsewhere than thought: lateral forces tilt MZc alone."""
    p = dict(zip(names, np.nan_to_num(value), strict=True))
    carried = sum(p[name] for name in ('Mc', 'M1', 'M2', 'M3', 'M4'))
    result = np.zeros((len(names), len(names)))
    # Four independent offsets, each with about a quarter of the lateral force.
    result[names.index('MZc'), names.index('MZc')] = (0.5 * travel * carried) ** 2
    return result


def offset_sizes(configuration: CarDescription) -> tuple[Sizes, Sizes]:
    """Offsets that the description states, and usual ones of the sensors that it says none of.

    Each is zero where the other one counts. Accelerometers usually have the bias that the
    description allows them.
    """
    sensors = configuration.sensors
    accelerometer, force, moment, travel = TYPICAL
    entries = (
        (sensors.imu, 1, max(accelerometer, sensors.imu.accelerometer_bias)),
        (sensors.wheel_force, 0, force),
        (sensors.wheel_force, 1, moment),
        (sensors.suspension, 0, travel),
    )
    stated = [_stated(sensor, place) for sensor, place, _ in entries]
    usual = [0.0 if sensor.offset else size for sensor, _, size in entries]
    return _four(stated), _four(usual)


def _stated(sensor: Sensor, place: int) -> float:
    return float(sensor.offset[min(place, len(sensor.offset) - 1)]) if sensor.offset else 0.0


def _four(sizes: Sequence[float]) -> Sizes:
    accelerometer, force, moment, travel = sizes
    return accelerometer, force, moment, travel


def _observed_scale(
    problem: CarProblem,
    fit: Fit,
    selection: Selection,
    causes: tuple[Array, Array],
    response: Array,
    constant_column: int,
) -> float:
    """Root mean square size of usual offsets that the means of the residuals leave possible.

    `causes`: covariances of the equations by stated and by usual offsets.
    """
    information: SpectralInformation = problem.information
    used = selection.bands[:, 0]
    means = problem.residual_means(fit.value, constant_column)[used]
    # What the fit leaves of a constant error: (I - mean of W times response).
    left = np.eye(len(EQUATIONS)) - problem.mean_regressor(constant_column) @ response
    known, shown = ((left @ cause @ left.T)[np.ix_(used, used)] for cause in causes)
    noise = fit.power[0][np.ix_(used, used)] / information.samples
    noise = noise + known + 1e-12 * np.trace(shown) * np.eye(int(used.sum()))

    def cost(scale: float) -> float:
        total = noise + scale**2 * shown
        return float(np.linalg.slogdet(total)[1] + means @ np.linalg.solve(total, means))

    # A few means are all there is to judge by: the mean square over what they leave possible,
    # with typical offsets as likely to be too small as too large by any factor.
    logarithm = np.linspace(-np.log(LARGEST_SCALE), np.log(LARGEST_SCALE), 201)
    scales = np.exp(logarithm)
    costs = np.array([cost(one) for one in scales]) + np.square(logarithm / SCALE_SPREAD)
    likely = np.exp(-0.5 * (costs - costs.min()))
    return float(np.sqrt(likely @ scales**2 / likely.sum()))
