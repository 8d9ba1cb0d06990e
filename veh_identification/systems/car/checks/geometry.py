"""Lengths of a car's description that no car has: another unit, as a rule."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from veh_identification.checks.ranges import LENGTH, check_entry, check_range
from veh_identification.findings import Finding
from veh_identification.systems.car.configuration import CarDescription

#: Half tracks (m) of cars and of anything else that may go on a road: the least, the most.
HALF_TRACK = (0.4, 1.3)
#: The least of models of cars [m]: wheelbase, half track, wheel radius.
LEAST = (0.05, 0.02, 0.01)
#: No sensor of a car is further away from base_link (m).
FARTHEST = 15.0


def check_geometry(configuration: CarDescription) -> list[Finding]:
    """Wheelbase, half tracks, wheel radius and places of sensors by their ranges."""
    geometry = configuration.geometry
    found = _whole_track(max(geometry.half_track))
    for name, value, largest in (
        ('geometry.wheelbase', geometry.wheelbase, 7.0),
        ('geometry.half_track', max(geometry.half_track), 2.0 * HALF_TRACK[1]),
        ('geometry.wheel_radius', geometry.wheel_radius, 0.8),
        *((f'sensors.{name}.position', far, FARTHEST) for name, far in _places(configuration)),
    ):
        found += check_range(np.array([value]), LENGTH, name, largest)
    names = ('geometry.wheelbase', 'geometry.half_track', 'geometry.wheel_radius')
    values = geometry.wheelbase, min(geometry.half_track), geometry.wheel_radius
    for name, value, least in zip(names, values, LEAST, strict=True):
        found += check_entry(max(value, 0.0), LENGTH, name, least, np.inf)
    return found


def _whole_track(half: float) -> list[Finding]:
    """A half track that is a whole one."""
    low, high = HALF_TRACK
    if not high < half <= 2.0 * high or half < 2.0 * low:
        return []
    text = (
        f'geometry.half_track: a wheel is {half:.4g} m from the middle, more than {high:.4g} m '
        f'that can be: it seems to be the whole track, and must be {0.5 * half:.4g} m then'
    )
    return [Finding('bad', 'geometry', text, 'geometry.half_track')]


def _places(configuration: CarDescription) -> list[tuple[str, float]]:
    """Sensors that have a place, and how far it is from base_link."""
    sensors = configuration.sensors
    found = []
    for one in fields(sensors):
        place = getattr(getattr(sensors, one.name), 'position', None)
        if place is not None:
            found.append((one.name, float(np.linalg.norm(place))))
    return found
