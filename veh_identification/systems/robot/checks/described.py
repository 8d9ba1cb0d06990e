"""Entries of an arm's description that no arm has, without any recording."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.ranges import LENGTH, MASS, check_entry
from veh_identification.checks.settled import check_gravity
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.drawn import check_drawn
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.configuration import Configuration

#: Of loads [kg, m from the link].
LOAD, FAR = (1e-3, 5e3), 10.0


def check_described(robot: Robot | None, c: Configuration) -> list[Finding]:
    """Gravity, loads, and the arm where one is named."""
    found = check_gravity(float(np.linalg.norm(c.gravity)))
    for load in c.payloads:
        where = f'payloads, {load.recording}'
        found += [] if load.mass is None else check_entry(load.mass, MASS, f'{where}: mass', *LOAD)
        if load.centre is not None:
            far = float(np.linalg.norm(load.centre))
            found += check_entry(far, LENGTH, f'{where}: centre', 0.0, FAR)
    return [*found, *([] if robot is None else check_drawn(robot))]
