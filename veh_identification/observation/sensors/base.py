"""What all sensors share: checks of their settings and stand-alone predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.observation.protocols import (
    Model,
    Parameter,
    Reading,
    Sensor,
    common_of,
    reading_views,
)
from veh_identification.types import Array, IntArray

XYZ = ('x', 'y', 'z')


def variances(name: str, deviation: Sequence[float] | float, size: int) -> Array:
    """Variances from standard deviations; a sensor without a positive one is refused."""
    values = np.full(size, np.asarray(deviation, dtype=float)) ** 2
    if not np.all(np.isfinite(values)) or not np.all(values > 0.0):
        raise ParameterError(
            f'sensor {name!r}: its standard deviation must be positive, found {deviation}'
        )
    return values


def three(values: Array) -> tuple[float, float, float]:
    """As many numbers for one axis as for three."""
    first, second, third = (*values.tolist(), 0.0, 0.0)[:3]
    return first, second, third


def weights(name: str, position: Sequence[float]) -> Array:
    """(1, x, y, z) of a mounting position in the body."""
    values = np.concatenate([[1.0], np.asarray(position, dtype=float), np.zeros(3)])[:4]
    if not np.all(np.isfinite(values)):
        raise ParameterError(
            f'sensor {name!r}: its mounting position must be finite, found {position}'
        )
    return values


def rotation(name: str, mounting: Sequence[Sequence[float]] | Array | None) -> Array:
    """Mounting matrix T (columns: sensor axes in body axes), checked to be a rotation."""
    T = np.eye(3) if mounting is None else np.ascontiguousarray(mounting, dtype=float)
    if T.shape != (3, 3) or not np.allclose(T.T @ T, np.eye(3), atol=1e-6):
        raise ParameterError(f'sensor {name!r}: its mounting must be a rotation matrix (3, 3)')
    return T


def bias_parameters(axes: IntArray, deviation: float, walk: float) -> tuple[Parameter, ...]:
    """One bias per axis as error states; none when the deviation is zero."""
    if deviation <= 0.0:
        return ()
    return tuple(Parameter(f'bias_{XYZ[a]}', 0.0, deviation, walk) for a in axes)


def read(sensor: Sensor, model: Model, parameters: Array | None = None) -> Reading:
    """A fresh reading of one sensor, outside any filter; what it shares comes after its own."""
    own, shared = len(sensor.parameters), common_of(sensor)
    count = own + len(shared)
    values = (
        np.array([p.initial for p in (*sensor.parameters, *shared)], dtype=float)
        if parameters is None
        else parameters
    )
    n = 3 * model.size
    H = np.zeros((sensor.size, n + count))
    reading = reading_views(
        H,
        np.zeros(sensor.size),
        np.zeros(sensor.size),
        np.ones(sensor.size, dtype=bool),
        model.size,
        3,
        slice(n, n + count),
        slice(n, n + count),
        range(own, count),
    )
    sensor.linearise(model, values, reading)
    return reading


def predict(sensor: Sensor, model: Model, parameters: Array | None = None) -> Array:
    """Predicted measurement of one sensor."""
    return read(sensor, model, parameters).value
