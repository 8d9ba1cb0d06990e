"""Each channel of a recording alone: units, limits, stuck, saturated and repeated values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.checks.health import (
    check_missing,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.robot import Robot, parse_xml
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.types import Array

DEGREES = 180.0 / np.pi


def sensor_findings(robot: Robot, recording: ArmRecording) -> list[Finding]:
    """Each channel alone: stuck, saturated, missing, angles beyond the limits of the URDF."""
    findings, limits = [], joint_limits(robot)
    repeated: list[Finding] = []
    time = recording.series.stamps
    moving = np.zeros(len(time), bool)
    for k in range(len(recording.joints)):
        step = np.abs(np.gradient(recording.position[:, k], time))
        moving |= step > 0.2 * max(float(np.quantile(step, 0.95)), 1e-6)
    for k, name in enumerate(recording.joints):
        position, effort = recording.position[:, k], recording.effort[:, k]
        where = f'{recording.topic}.position[{name}]'
        findings += _angle(robot, name, position, limits.get(name), where)
        effort_place = f'{recording.topic}.effort[{name}]'
        if np.isfinite(effort).any():
            findings += check_missing(effort, effort_place)
            findings += check_stuck(time, effort, effort_place, moving=moving)
            findings += check_saturated(effort, effort_place)
            repeated += check_repeated(time, effort, effort_place)
        repeated += check_repeated(time, position, where)
    findings += told_once(repeated)
    return [replace(one, text=f'{recording.source}: {one.text}') for one in findings]


def joint_limits(robot: Robot) -> dict[str, tuple[float, float]]:
    """Lower and upper limit of the joints that have them."""
    found = {}
    for joint in parse_xml(robot.text, robot.path).findall('joint'):
        limit = joint.find('limit')
        if limit is None or joint.get('type') == 'continuous':
            continue
        try:
            low, high = float(limit.get('lower', 'nan')), float(limit.get('upper', 'nan'))
        except ValueError:
            continue
        if high > low:
            found[joint.get('name', '')] = (low, high)
    return found


def _angle(
    robot: Robot, name: str, position: Array, limits: tuple[float, float] | None, where: str
) -> list[Finding]:
    """Angles that the joint cannot have; in degrees they could be."""
    kinds = {joint.name: joint.type for joint in robot.joints}
    if kinds.get(name) not in ('revolute', 'continuous'):
        return []
    low, high = limits or (-4.0 * np.pi, 4.0 * np.pi)
    slack = 0.1 * (high - low)
    reach = np.nanquantile(position, [0.005, 0.995])
    if reach[0] >= low - slack and reach[1] <= high + slack:
        return []
    text = (
        f'{where} goes from {reach[0]:.4g} to {reach[1]:.4g}, beyond the limits {low:.4g} to '
        f'{high:.4g} rad of the URDF'
    )
    if (
        reach[0] / DEGREES >= low - slack
        and reach[1] / DEGREES <= high + slack
        and np.ptp(reach) > 7.0
    ):
        text += ': degrees? It must be in rad'
        return [Finding('bad', 'unit', text, where)]
    return [Finding('warn', 'beyond_limits', text, where)]
