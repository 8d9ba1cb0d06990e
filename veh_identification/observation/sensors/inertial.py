"""Gyroscopes and accelerometers on a body (section 4.3), with optional bias states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.observation.parameters import Parameter
from veh_identification.observation.protocols import Model, Reading
from veh_identification.observation.sensors.base import (
    bias_parameters,
    rotation,
    three,
    variances,
    weights,
)
from veh_identification.observation.sensors.kernels import (
    ACCELEROMETER,
    GYROSCOPE,
    Packed,
    accelerometer_rows,
    add_leaks,
    add_turn,
    gyroscope_rows,
)
from veh_identification.types import Array

#: Part of an axis that a sensor of other axes may leave out (cosine).
SMALL_PART = 0.1
LARGEST_LEAK = 0.2  # an IMU that is mounted further askew than this is described wrongly [rad]

Receive = Callable[[Array, Array | None], tuple[Array, Array | None]]


def turned_by(name: str, mounting: Array, size: int) -> Receive | None:
    """A `receive` that turns messages of three axes from the sensor's axes to the body's.

    None where they are the same.
    """
    if size != 3:
        raise ParameterError(f'sensor {name!r}: only all three axes can be turned to body axes')
    if np.array_equal(mounting, np.eye(3)):
        return None

    def receive(value: Array, variance: Array | None) -> tuple[Array, Array | None]:
        turned = turned_axes(value, mounting)
        return turned, None if variance is None else mounting**2 @ variance

    return receive


def turned_axes(values: Array, mounting: Array) -> Array:
    """Vectors (..., 3) in the axes of the body; what needs an axis that is no number is none.

    A sensor of one axis is hardly ever mounted exactly along the body's: a small part of an axis
    that nobody measures is left out.
    """
    turned = values @ mounting.T
    missing = np.isnan(values)
    if missing.any():
        turned = np.where(missing, 0.0, values) @ mounting.T
        turned[missing @ (np.abs(mounting) > SMALL_PART).T] = np.nan
    return np.asarray(turned)


class Gyroscope:
    """Angular rates of a body in sensor axes; `axes` picks components (2: about z, the plane).

    `in_body_axes`: messages of all three axes are turned into body axes first, so deviations and
    biases belong to the axes of the body, however the sensor is mounted. `leak_deviation`: angle
    by which a sensor of three axes may be mounted askew, so that those about x and y show some of
    the rate about z: two more error states. A car that turns a corner would seem to roll.
    `scale_deviation`: share by which the rate about z may be too large or small, one more.
    """

    wrap = False
    learns = False
    order = 1

    def __init__(
        self,
        name: str,
        body: str,
        deviation: float | Sequence[float],
        *,
        mounting: Array | None = None,
        axes: Sequence[int] = (0, 1, 2),
        bias_deviation: float = 0.0,
        bias_walk: float = 0.0,
        delay: float = 0.0,
        in_body_axes: bool = False,
        leak_deviation: float = 0.0,
        scale_deviation: float = 0.0,
    ) -> None:
        self.name, self.body, self.size, self.delay = name, body, len(axes), delay
        self._axes = np.array(axes, dtype=np.int64)
        self._mounting = rotation(name, mounting)
        if in_body_axes:
            self.receive = turned_by(name, self._mounting, self.size)
            self._mounting = np.eye(3)
        self._variance = variances(name, deviation, self.size)
        self.parameters = bias_parameters(self._axes, bias_deviation, bias_walk)
        if leak_deviation > 0.0 and len(self.parameters) == 3:
            self.parameters += tuple(
                Parameter(
                    f'leak_{axis}', 0.0, leak_deviation, bounds=(-LARGEST_LEAK, LARGEST_LEAK)
                )
                for axis in 'xy'
            )
            if scale_deviation > 0.0:
                limits = (-LARGEST_LEAK, LARGEST_LEAK)
                self.parameters += (Parameter('scale_z', 0.0, scale_deviation, bounds=limits),)
        self._unit = np.eye(self.size)

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body(self.body, 1)
        gyroscope_rows(
            view.values,
            view.derivatives,
            self._mounting,
            self._axes,
            reading.value,
            reading.z,
            reading.zd,
        )
        if len(self.parameters) > self.size:
            add_leaks(parameters, reading.value, reading.parameters)
        if self.parameters:
            reading.value += parameters[: self.size]
            reading.parameters[:, : self.size] = self._unit
        reading.variance[:] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`."""
        reals = (*three(self._variance), *self._mounting.ravel().tolist())
        return Packed(GYROSCOPE, tuple(self._axes.tolist()), reals)


class Accelerometer:
    """Specific force of a body point in sensor axes (+g upwards at rest).

    `orientation_only` keeps just the terms of equation (116); otherwise the Jacobian is complete,
    with the acceleration errors z'' that errorEKF-FE estimates. `in_body_axes` as for gyroscopes.
    `turn_deviation`: angle about z by which a sensor of three axes with biases may be mounted
    otherwise, one more error state: in bends such a car seems to speed up, and under its brakes
    to be pushed aside.
    """

    wrap = False
    learns = False

    def __init__(
        self,
        name: str,
        body: str,
        position: Sequence[float],
        deviation: float | Sequence[float],
        gravity: Sequence[float],
        *,
        mounting: Array | None = None,
        axes: Sequence[int] = (0, 1, 2),
        orientation_only: bool = False,
        bias_deviation: float = 0.0,
        bias_walk: float = 0.0,
        delay: float = 0.0,
        in_body_axes: bool = False,
        turn_deviation: float = 0.0,
    ) -> None:
        self.name, self.body, self.size, self.delay = name, body, len(axes), delay
        self.orientation_only = orientation_only
        self.order = 0 if orientation_only else 2
        self._axes = np.array(axes, dtype=np.int64)
        self._mounting = rotation(name, mounting)
        if in_body_axes:
            self.receive = turned_by(name, self._mounting, self.size)
            self._mounting = np.eye(3)
        self._w = weights(name, position)
        self._gravity = np.concatenate([np.asarray(gravity, dtype=float), np.zeros(3)])[:3]
        self._variance = variances(name, deviation, self.size)
        self.parameters = bias_parameters(self._axes, bias_deviation, bias_walk)
        if turn_deviation > 0.0 and len(self.parameters) == 3:
            limits = (-LARGEST_LEAK, LARGEST_LEAK)
            self.parameters += (Parameter('turn', 0.0, turn_deviation, bounds=limits),)
        self._unit = np.eye(self.size)

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body(self.body, self.order)
        accelerometer_rows(
            view.values,
            view.derivatives,
            self._w,
            self._gravity,
            self._mounting,
            self._axes,
            not self.orientation_only,
            reading.value,
            reading.z,
            reading.zd,
            reading.zdd,
        )
        if len(self.parameters) > self.size:
            add_turn(parameters, reading.value, reading.parameters)
        if self.parameters:
            reading.value += parameters[: self.size]
            reading.parameters[:, : self.size] = self._unit
        reading.variance[:] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`."""
        axes = (*self._axes.tolist(), 0, 0, 0)[:3]
        reals = (
            *three(self._variance),
            *self._mounting.ravel().tolist(),
            *self._w.tolist(),
            *self._gravity.tolist(),
        )
        return Packed(ACCELEROMETER, (*axes, int(not self.orientation_only)), reals)
