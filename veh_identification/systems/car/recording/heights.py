"""The body over the road by its ride height sensors, wherever the description puts them."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array


def sensor_places(configuration: CarDescription) -> Array:
    """x, y, z (4, 3) of the ride height sensors in base_link: as given, else above the wheels."""
    geometry = configuration.geometry
    wheels = np.column_stack([geometry.wheel_x, geometry.wheel_y, np.zeros(4)])
    given = configuration.sensors.ride_height.given
    return np.array(
        [wheel if one is None else one for one, wheel in zip(given, wheels, strict=True)]
    )


def body_heights(
    recording: CarRecording, piece: CarSamples, configuration: CarDescription
) -> Array | None:
    """Height (N, 4) of the body's plane z = 0 over the road at the wheels, None without sensors.

    The body is stiff: sensors elsewhere tell the same plane.
    """
    if any(corner not in recording.ride_heights for corner in CORNERS):
        return None
    delay = configuration.sensors.ride_height.delay
    columns = []
    for corner in CORNERS:
        series = recording.ride_heights[corner].with_epoch(piece.epoch_ns).delayed(delay)
        columns.append(np.interp(piece.stamps, series.stamps, series.values[:, 0]))
    seen = np.stack(columns, axis=1)
    if all(one is None for one in configuration.sensors.ride_height.given):
        return seen
    places, geometry = sensor_places(configuration), configuration.geometry
    plane = np.column_stack([np.ones(4), places[:, :2]])
    wheels = np.column_stack([np.ones(4), geometry.wheel_x, geometry.wheel_y])
    return np.asarray((seen - places[:, 2]) @ np.linalg.pinv(plane).T @ wheels.T)
