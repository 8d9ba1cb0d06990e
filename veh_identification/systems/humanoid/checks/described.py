"""Entries of a humanoid's description that nobody has, without any recording."""

from __future__ import annotations

from veh_identification.checks.ranges import MASS, TIME, check_entry
from veh_identification.checks.settled import check_gravity
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.drawn import check_drawn
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.robot import Robot

#: Of whoever stands on the plates [kg]; of the delays between sensors [s].
WEIGHED, DELAY = (0.05, 5e3), 1.0


def check_described(robot: Robot | None, c: Configuration) -> list[Finding]:
    """Gravity, weight, delays, and the robot where one is named."""
    found = check_gravity(c.gravity)
    if c.weighed_mass > 0.0:
        found += check_entry(c.weighed_mass, MASS, 'weighed_mass', *WEIGHED)
    for name, delay in c.delays.items():
        found += check_entry(abs(delay), TIME, f'delays.{name}', 0.0, DELAY)
    return [*found, *([] if robot is None else check_drawn(robot))]
