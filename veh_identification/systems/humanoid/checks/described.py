"""Entries of a humanoid's description that nobody has, without any recording."""

from __future__ import annotations

from veh_identification.checks.ranges import MASS, check_entry
from veh_identification.checks.settled import check_gravity
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.drawn import check_drawn
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.robot import Robot

#: Of whoever stands on the plates [kg].
WEIGHED = (0.05, 5e3)


def check_described(robot: Robot | None, c: Configuration) -> list[Finding]:
    """Gravity, weight, and the robot where one is named."""
    found = check_gravity(c.gravity)
    if c.weighed_mass > 0.0:
        found += check_entry(c.weighed_mass, MASS, 'weighed_mass', *WEIGHED)
    return [*found, *([] if robot is None else check_drawn(robot))]
