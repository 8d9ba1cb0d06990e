"""What the limits of a URDF say that joints can do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.checks.wanted import Range
from veh_identification.systems.humanoid.robot import Robot, parse_xml


def joint_limits(robot: Robot) -> dict[str, tuple[float, float]]:
    """Lower and upper limit of the joints that have them."""
    limits = motion_range(robot, [joint.name for joint in robot.joints])
    return {
        name: (float(low), float(high))
        for name, low, high in zip(limits.names, limits.lower, limits.upper, strict=True)
        if np.isfinite(low)
    }


def motion_range(robot: Robot, joints: Sequence[str]) -> Range:
    """What the limits of the URDF allow; infinite where it gives none."""
    found, kinds = {}, {joint.name: joint.type for joint in robot.joints}
    for joint in parse_xml(robot.text, robot.path).findall('joint'):
        limit = joint.find('limit')
        if limit is None:
            continue
        low, high, speed = (_number(limit.get(key)) for key in ('lower', 'upper', 'velocity'))
        if joint.get('type') == 'continuous' or not high > low:
            low, high = -np.inf, np.inf
        found[joint.get('name', '')] = (low, high, speed if speed > 0.0 else np.inf)
    free = (-np.inf, np.inf, np.inf)
    rows = np.array([found.get(name, free) for name in joints], float).reshape(-1, 3)
    angle = np.array([kinds.get(name) != 'prismatic' for name in joints])
    return Range(tuple(joints), rows[:, 0], rows[:, 1], rows[:, 2], angle)


def _number(text: str | None) -> float:
    try:
        return float(text or 'nan')
    except ValueError:
        return float('nan')
