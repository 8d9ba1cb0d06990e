"""Entries of a mechanism's description that none has, without any recording."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.ranges import ACCELERATION, LENGTH, MASS, check_entry
from veh_identification.findings import Finding
from veh_identification.systems.mechanism.configuration import BodyEntries, Description

#: From the moon to Jupiter [m/s^2].
GRAVITY = (1.5, 26.0)
#: How far apart the points of a drawing are at most [m], and a body's mass [kg].
EXTENT, BODY = (1e-4, 60.0), (1e-7, 1e6)
#: kg/m^3, mass over the cube of the length: thin rods have 0.1, short ones with flywheels 1e5.
DENSITY = (1e-3, 1e7)
#: Radius of inertia over the length of a body.
RADIUS = (1e-3, 30.0)


def check_described(description: Description) -> list[Finding]:
    """Gravity, the size of the drawing, and bodies by mass, length and inertia."""
    found = []
    gravity = float(np.linalg.norm(description.gravity))
    if gravity > 0.0:  # none: it lies flat
        found += check_entry(gravity, ACCELERATION, 'gravity', *GRAVITY)
    places = np.array([one.at for one in description.points.values()])
    if len(places) > 1:
        extent = float(np.linalg.norm(np.ptp(places, axis=0)))
        found += check_entry(extent, LENGTH, 'points, extent', *EXTENT)
    for name, body in description.bodies.items():
        found += check_entry(body.mass, MASS, f'bodies.{name}.mass', *BODY)
        found += [] if found else _body(name, body, _length(body, description))
    return found


def _length(body: BodyEntries, description: Description) -> float:
    """Between its points, as given or as drawn; nan where they are not in the drawing."""
    if body.length is not None:
        return body.length
    first, second = (description.points.get(name) for name in body.points)
    if first is None or second is None:
        return float('nan')
    return float(np.hypot(first.at[0] - second.at[0], first.at[1] - second.at[1]))


def _body(name: str, body: BodyEntries, length: float) -> list[Finding]:
    if not length > 0.0:
        return []
    density = body.mass / length**3
    if not DENSITY[0] <= density <= DENSITY[1]:
        what = 'length in mm, or the mass in t' if density < DENSITY[0] else 'mass in g'
        text = (
            f'bodies.{name}: {body.mass:.4g} kg on {length:.4g} m: is its {what}? They must be in '
            'kg and m'
        )
        return [Finding('bad', 'unit', text, f'bodies.{name}')]
    radius = float(np.sqrt((body.inertia or 0.0) / body.mass)) / length
    if body.inertia is None or RADIUS[0] <= radius <= RADIUS[1]:
        return []
    text = (
        f'bodies.{name}.inertia is {body.inertia:.4g} kg m^2, a mass of {body.mass:.4g} kg that '
        f'sits {radius * length:.3g} m from its middle: is it in kg cm^2, kg mm^2 or g m^2? '
        'It must be in kg m^2'
    )
    return [Finding('bad', 'unit', text, f'bodies.{name}.inertia')]
