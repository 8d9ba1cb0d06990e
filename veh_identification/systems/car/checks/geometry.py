"""Lengths of a car's description that no car has: another unit, as a rule."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.ranges import LENGTH, check_range
from veh_identification.findings import Finding
from veh_identification.systems.car.configuration import CarDescription


def check_geometry(configuration: CarDescription) -> list[Finding]:
    """Wheelbase, half tracks and wheel radius by their ranges."""
    geometry, found = configuration.geometry, []
    for name, value, largest in (
        ('wheelbase', geometry.wheelbase, 7.0),
        ('half_track', max(geometry.half_track), 1.6),
        ('wheel_radius', geometry.wheel_radius, 0.8),
    ):
        found += check_range(np.array([value]), LENGTH, f'geometry.{name}', largest)
    return found
