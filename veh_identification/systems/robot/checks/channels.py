"""Each channel of a recording alone: units, limits, stuck, saturated and repeated values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.checks.copied import check_copied
from veh_identification.checks.health import (
    check_coarse,
    check_jumps,
    check_missing,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.held import check_held
from veh_identification.checks.rectified import check_rectified
from veh_identification.checks.settled import check_means
from veh_identification.checks.ticks import check_ticks
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.limits import another_order
from veh_identification.systems.humanoid.joint_range import joint_limits
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.types import Array

DEGREES = 180.0 / np.pi
#: Positions that go through so many ranges of the joint are no angles of it.
RANGES = 5.0
#: Jump of a joint (rad, m) that is told.
SMALLEST_JUMP = 0.02
#: What a jump may differ from a whole turn (rad), and samples about it that say whether it lasts.
SHORT, ABOUT = 0.5, 5


def sensor_findings(robot: Robot, recording: ArmRecording, unit: str = 'N m') -> list[Finding]:
    """Each channel alone: stuck, saturated, missing, angles beyond the limits of the URDF."""
    alone = _two_sources(recording) or _not_their_own(recording) or _ticks(robot, recording)
    if alone:  # what follows from it is no news
        return alone
    findings, limits = [], joint_limits(robot)
    repeated: list[Finding] = []
    held: list[Finding] = []
    jumps: list[Finding] = []
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
            held += check_stuck(time, effort, effort_place, moving=moving) or check_held(
                time, effort, effort_place
            )
            findings += check_saturated(effort, effort_place)
            findings += check_coarse(effort, effort_place, unit)
            repeated += check_repeated(time, effort, effort_place)
        held += check_held(time, position, where)
        jumps += check_jumps(time, position, where, SMALLEST_JUMP)
        repeated += check_repeated(time, position, where)
    limited = [one for one in findings if one.code == 'beyond_limits']
    findings = [*another_order(limited, recording.topic), *findings]
    findings += told_once(held) or [replace(one, level='bad') for one in told_once(jumps)]
    findings += told_once(repeated)
    return [replace(one, text=f'{recording.source}: {one.text}') for one in findings]


def _two_sources(recording: ArmRecording) -> list[Finding]:
    """Joints and efforts of which every other message is another robot's, or nobody's."""
    found = [
        one
        for kind, values in (('position', recording.position), ('effort', recording.effort))
        for k, name in enumerate(recording.joints)
        for one in check_two_sources(values[:, k], f'{recording.topic}.{kind}[{name}]')
    ]
    return [replace(one, text=f'{recording.source}: {one.text}') for one in told_once(found)]


def _not_their_own(recording: ArmRecording) -> list[Finding]:
    """Efforts without signs, or that are those of another joint."""
    places = [f'{recording.topic}.effort[{name}]' for name in recording.joints]
    known = np.asarray(np.isfinite(recording.effort).any(axis=0))
    names = [place for place, there in zip(places, known, strict=True) if there]
    found = check_rectified(recording.effort[:, known], names)
    found += check_copied(recording.effort[:, known], names)
    found += check_means(recording.effort[:, known], names, 'effort_offset')
    return [replace(one, text=f'{recording.source}: {one.text}') for one in found]


def _ticks(robot: Robot, recording: ArmRecording) -> list[Finding]:
    """Positions of which nothing but steps is left in the accelerations."""
    kinds = {joint.name: joint.type for joint in robot.joints}
    found = []
    for k, name in enumerate(recording.joints):
        unit = 'm' if kinds.get(name) == 'prismatic' else 'rad'
        place = f'{recording.topic}.position[{name}]'
        found += check_ticks(recording.position[:, k], place, unit)
    return [replace(one, text=f'{recording.source}: {one.text}') for one in told_once(found)]


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
