"""A URDF whose lengths and masses no robot has: in other units, as exports of CAD often are.

The density tells it for robots of any size: mass over the cube of how far the robot reaches.
"""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.systems.humanoid.robot import Robot, parse_xml

#: kg/m^3: a robot reaches as far as its joints are apart. People have 20 to 40, arms 5 to 500;
#: nothing is lighter than a mast of a hundred to one, or denser than a cube of tungsten.
DENSITY, SURE = (5e-3, 2.5e3), 2e4


def check_drawn(robot: Robot) -> list[Finding]:
    """One finding where mass and reach of the links do not go together."""
    reach = _reach(robot)
    if not (reach > 0.0 and robot.total_mass > 0.0):
        return []
    density = robot.total_mass / reach**3
    if DENSITY[0] <= density <= DENSITY[1]:
        return []
    what = (
        'are its lengths in mm or cm, or its masses in t?'
        if density < DENSITY[0]
        else 'are its masses in g, or its lengths in km?'
    )
    text = (
        f'{robot.path}: links of {robot.total_mass:.4g} kg that reach {reach:.4g} m: {what} '
        'A URDF is in m and kg'
    )
    level: Level = 'warn' if DENSITY[1] < density < SURE else 'bad'
    return [Finding(level, 'unit', text, robot.path)]


def _reach(robot: Robot) -> float:
    """The farthest that a centre of mass, or the mass around it, is along the joints [m]."""
    root = parse_xml(robot.text, robot.path)
    offset: dict[str, float] = {}
    for element in root.findall('joint'):
        child, origin = element.find('child'), element.find('origin')
        place = '' if origin is None else origin.get('xyz') or ''
        offset[child.get('link')] = float(np.linalg.norm([float(x) for x in place.split()] or 0.0))
    parents = {joint.child: joint.parent for joint in robot.joints}
    farthest = 0.0
    for name, values in robot.parameters.items():
        along, link = 0.0, name
        while link in parents:
            along += offset.get(link, 0.0)
            link = parents[link]
        mass, moments = values[0], values[[4, 7, 9]]  # about the origin of the link
        farthest = max(farthest, along + float(np.sqrt(max(0.5 * moments.sum() / mass, 0.0))))
    return farthest
