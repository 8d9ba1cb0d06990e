"""Joints beyond the limits of the URDF: a sign, a zero, a unit, or another joint's angle.

Arms are so light that no wrench tells their joints apart; their limits may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from veh_identification.checks.ranges import DEGREES
from veh_identification.checks.wanted import SLACK
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.hypotheses import mirrored_pairs
from veh_identification.systems.humanoid.joint_range import joint_limits
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.systems.humanoid.robot import Robot

Ends = tuple[float, float]
#: Share of the samples on either side that may be glitches.
OUTER = 0.005
#: Joints beyond their limits that ask for one cause.
SEVERAL = 3
#: A joint that goes so far (rad) goes round and round, or is in degrees.
FAR = 7.0


def limit_findings(recording: Recording, robot: Robot) -> list[Finding]:
    """Each joint that goes where it cannot, with what would put it within its limits."""
    limits, reach = joint_limits(robot), _reach(recording)
    names = [name for name in robot.moving_joints() if name in reach]
    beyond = {name for name in names if name in limits and not _within(reach[name], limits[name])}
    found = []
    for name in names:
        if name not in beyond:
            continue
        (low, high), (lower, upper) = reach[name], limits[name]
        text = (
            f'{recording.label}: {name} goes from {low:.3g} to {high:.3g} in joint_states, '
            f'beyond its limits {lower:.3g} to {upper:.3g} in the URDF'
        )
        if _within((low / DEGREES, high / DEGREES), limits[name]) and high - low > FAR:
            text = f'{text}: it seems to be in degrees, it must be in rad'
            where = f'{recording.label}, topic joint_states, joint {name}'
            found.append(Finding('bad', 'unit', text, where))
            continue
        cures = [*_cures(name, _related(robot, name, names), reach, limits)]
        # Two joints of which each would be where it should with the other's angle.
        exchanged = [one for one in cures if one[0] == 'joints_swapped' and one[2] in beyond]
        cures = exchanged or cures
        codes = {code for code, _, _ in cures}
        code = codes.pop() if len(codes) == 1 else 'beyond_limits'
        cure = ' or '.join(what for _, what, _ in cures) or 'its zero, its unit or its limits'
        where = f'{recording.label}, topic joint_states, joint {name}'
        found.append(Finding('warn', code, f'{text}: {cure}?', where))
    return [*another_order(found, recording.label), *found]


def another_order(found: Sequence[Finding], label: str) -> list[Finding]:
    """Several joints beyond their limits at once: one cause is likelier than many."""
    beyond = [one for one in found if one.level == 'warn']
    if len(beyond) < SEVERAL:
        return []
    text = (
        f'{label}: {len(beyond)} joints at once go where they cannot: do the names in '
        'joint_states stand in another order than the positions?'
    )
    return [Finding('warn', 'joints_swapped', text, f'{label}, topic joint_states, name')]


def _reach(recording: Recording) -> dict[str, Ends]:
    """Between what positions each joint goes."""
    found: dict[str, Ends] = {}
    for series in recording.joints:
        low, high = np.nanquantile(series.values, [OUTER, 1.0 - OUTER], axis=0)
        found.update(zip(series.names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return found


def _within(reach: Ends, limits: Ends | None) -> bool:
    if limits is None:
        return True
    slack = SLACK * (limits[1] - limits[0])
    return limits[0] - slack <= reach[0] and reach[1] <= limits[1] + slack


def _related(robot: Robot, name: str, names: list[str]) -> list[str]:
    """Joints of the same limb, and that of the other side: such are exchanged."""
    above = {one.child: one for one in robot.joints}

    def chain(joint: str) -> list[str]:
        """Joints between one and the base."""
        link = next(one.parent for one in robot.joints if one.name == joint)
        found = []
        while link in above:
            found.append(above[link].name)
            link = above[link].parent
        return found

    limb = {*chain(name), *(one for one in names if name in chain(one))}
    place = names.index(name)
    limb |= {names[k] for pair in mirrored_pairs(names) if place in pair for k in pair}
    return [one for one in names if one in limb and one != name]


def _cures(
    name: str, others: list[str], reach: Mapping[str, Ends], limits: Mapping[str, Ends]
) -> Iterator[tuple[str, str, str]]:
    """Code, words and other joint of what would put a joint within its limits."""
    low, high = reach[name]
    if _within((-high, -low), limits[name]):
        yield 'joint_sign', 'of the opposite sign', ''
    for other in others:
        if _within(reach[other], limits[name]) and _within(reach[name], limits.get(other)):
            yield 'joints_swapped', f'exchanged with {other}', other
