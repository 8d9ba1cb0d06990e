"""From the angle of a steering wheel to the travel of the rack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veh_identification.systems.buggy.configuration import Configuration

Array = NDArray[np.float64]


def rack_per_wheel_angle(car: Configuration, rack_per_angle: float) -> float:
    """Rack travel over steering wheel angle [m/rad]; 0 when the configuration gives no ratio.

    `rack_per_angle` [m/rad] is the rack travel over the angle of the road wheels.
    """
    rack = car.sensors.rack
    if rack.wheel_ratio != 0.0:
        return rack.wheel_ratio
    return rack_per_angle / rack.steering_ratio if rack.steering_ratio != 0.0 else 0.0


def rack_from_wheel(car: Configuration, rack_per_angle: float, angle: Array) -> Array:
    """Rack travel [m] of steering wheel angles [rad]."""
    return np.asarray(
        rack_per_wheel_angle(car, rack_per_angle) * (np.asarray(angle) - car.sensors.rack.offset),
        dtype=float,
    )
