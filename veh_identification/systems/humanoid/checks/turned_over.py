"""Ball joints whose angles turn over: two of three change by half a turn for nothing.

A ball joint is recorded as three angles. Where the second one brings the axes of the other two
together (a raised arm of a person), these turn by half a turn each while the limb moves as it did
before. Files of laboratories, and every filter since, smooth each angle for itself; what is left
then is a limb that whirls. Drop jumps of a person show moments of up to 335 N m that are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.findings import Finding
from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.systems.humanoid.robot import Robot, parse_xml
from veh_identification.types import Array

#: Within so many seconds both turn by more than so many radians: no limb does, about both axes.
SECONDS, TURN = 0.25, 2.0
#: Cosine between the outer axes from which on they are nearly one.
NEARLY_ONE = 0.8
#: Cosine up to which two axes count as square to each other.
SQUARE = 0.05
#: Metres between axes that meet.
MEET = 1e-6


@dataclass(frozen=True, eq=False)
class Ball:
    """Three joints whose axes meet, and these axes (3, 3) at rest, before the first one."""

    joints: tuple[str, str, str]
    axes: Array

    def aligned(self, angle: Array) -> Array:
        """Cosine (N,) between the outer axes, without its sign."""
        first, second, third = self.axes
        square = np.cross(second, third)
        along = np.outer(np.cos(angle), third) + np.outer(np.sin(angle), square)
        return np.asarray(np.abs(along @ first))


def turned_over(recording: Recording, robot: Robot) -> list[Finding]:
    """Each ball joint that does so, and when."""
    return [one for ball in balls(robot) if (one := _finding(recording, ball)) is not None]


def balls(robot: Robot) -> list[Ball]:
    """Joints in threes with nothing between them but massless links, axes square to the next."""
    turning = {
        joint.get('name', ''): joint
        for joint in parse_xml(robot.text, robot.path).findall('joint')
        if joint.get('type') in ('revolute', 'continuous')
    }
    ends = {one.name: (one.parent, one.child) for one in robot.joints if one.name in turning}
    found = []
    for first in ends:
        names = [first]
        while len(names) < 3:
            link = ends[names[-1]][1]
            after = [name for name, (parent, _) in ends.items() if parent == link]
            if link in robot.parameters or len(after) != 1:
                break
            names += after
        if len(names) < 3:
            continue
        places = [_numbers(turning[name].find('origin'), 'xyz', '0 0 0') for name in names[1:]]
        axes, turn = [], np.eye(3)
        for k, name in enumerate(names):
            if k:
                turn = turn @ matrix_of_rpy(_numbers(turning[name].find('origin'), 'rpy', '0 0 0'))
            axis = turn @ _numbers(turning[name].find('axis'), 'xyz', '1 0 0')
            axes.append(axis / max(float(np.linalg.norm(axis)), 1e-12))
        neighbours = max(abs(axes[0] @ axes[1]), abs(axes[1] @ axes[2]))
        if neighbours < SQUARE and max(np.linalg.norm(one) for one in places) < MEET:
            found.append(Ball((names[0], names[1], names[2]), np.array(axes)))
    return found


def _finding(recording: Recording, ball: Ball) -> Finding | None:
    series = next((s for s in recording.joints if set(ball.joints) <= set(s.names)), None)
    if series is None or len(series.stamps) < 2:
        return None
    first, middle, last = (series.values[:, series.names.index(name)] for name in ball.joints)
    near = np.concatenate([[0], np.cumsum(ball.aligned(middle) > NEARLY_ONE)])
    ends = np.searchsorted(series.stamps, series.stamps + SECONDS, side='right')
    worst = (TURN, 0.0, 0.0, 0.0)
    for begin in np.flatnonzero(near[ends] > near[:-1]):
        part = slice(int(begin), int(ends[begin]))
        one, other = float(np.ptp(first[part])), float(np.ptp(last[part]))
        if one > worst[0] and other > worst[0]:
            when = float(series.stamps[begin] - series.stamps[0])
            worst = (min(one, other), one, other, when)
    least, one, other, when = worst
    if not one:
        return None
    text = (
        f'{recording.label}: {ball.joints[0]} and {ball.joints[2]} turn by '
        f'{np.degrees(one):.0f} and {np.degrees(other):.0f} degrees within {SECONDS:g} s, '
        f'{when:.2f} s after the start, where {ball.joints[1]} makes their axes nearly one: '
        'angles that are filtered one by one show a motion there that was none, and moments and '
        'horizontal forces do not fit; leave that part out'
    )
    where = f'{recording.label}, topic joint_states, joint {ball.joints[0]}'
    return Finding('warn', 'ball_joint_turned_over', text, where, least)


def _numbers(element: object, key: str, default: str) -> Array:
    text = default if element is None else element.get(key, default)  # type: ignore[attr-defined]
    return np.array([float(part) for part in text.split()])
