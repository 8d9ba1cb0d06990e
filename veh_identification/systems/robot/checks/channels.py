"""Each channel of a recording alone: units, limits, stuck, saturated and repeated values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veh_identification.checks.health import (
    check_coarse,
    check_missing,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.wanted import Range
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.robot import Robot, parse_xml
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.types import Array

DEGREES = 180.0 / np.pi
#: Positions that go through so many ranges of the joint are no angles of it.
RANGES = 5.0
#: What a jump may differ from a whole turn (rad), and samples about it that say whether it lasts.
SHORT, ABOUT = 0.5, 5


def sensor_findings(robot: Robot, recording: ArmRecording, unit: str = 'N m') -> list[Finding]:
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
            findings += check_coarse(effort, effort_place, unit)
            repeated += check_repeated(time, effort, effort_place)
        repeated += check_repeated(time, position, where)
    findings += told_once(repeated)
    return [replace(one, text=f'{recording.source}: {one.text}') for one in findings]


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


def _turns(position: Array) -> int:
    """How often an angle jumps by a whole turn and stays there."""
    steps = np.abs(np.diff(position))
    if not len(steps) or not np.quantile(steps, 0.9) < SHORT:  # no angle of a joint at all
        return 0
    jumps = np.flatnonzero(np.abs(steps - 2.0 * np.pi) < SHORT) + 1
    before, after = (
        np.array([np.median(position[slice(*ends)]) for ends in both])
        for both in ([(max(0, k - ABOUT), k) for k in jumps], [(k, k + ABOUT) for k in jumps])
    )
    return int(np.sum(np.abs(after - before) > 2.0 * np.pi - 2.0 * SHORT))


def _angle(
    robot: Robot, name: str, position: Array, limits: tuple[float, float] | None, where: str
) -> list[Finding]:
    """Angles that the joint cannot have; in degrees they could be."""
    kinds = {joint.name: joint.type for joint in robot.joints}
    if kinds.get(name) not in ('revolute', 'continuous'):
        return []
    turns = _turns(position)
    if turns:
        text = (
            f'{where} jumps by a whole turn {turns} times: an encoder that begins anew, where '
            'angles that go on are needed'
        )
        return [Finding('bad', 'wrapped', text, where)]
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
    if limits and np.ptp(reach) > RANGES * (high - low):
        text += ': ticks of an encoder, or the angle of the motor? It must be that of the joint'
        return [Finding('bad', 'unit', text, where)]
    return [Finding('warn', 'beyond_limits', text, where)]
