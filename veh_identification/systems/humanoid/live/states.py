"""From fused/state to rows of numbers for the base-link equation (4) of a humanoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.types import Array

#: Base part of a row: acceleration, angular velocity, angular acceleration, gravity, position,
#: quaternion, sum of the wrenches that are already given at the base link, velocity.
BASE = 28
#: Plates whose own wrenches are kept beside their sum, for the checks.
MOST_PLATES = 4


class ContactStates:
    """Reads states: base, joints, wrenches; the reason in words where one cannot be used.

    `links` names the wrenches that stand in their own sensor's frame on a moving link, `plates`
    those that the fusion has brought to the base link (empty: all others).
    """

    def __init__(self, joints: Sequence[str], links: Sequence[str], plates: Sequence[str]) -> None:
        self.joints, self.links, self.plates = list(joints), list(links), list(plates)
        self.missing: list[str] = []  # joints that no state names
        self.unknown: list[str] = []  # joints that the robot does not have
        self.world = ''  # frame of the latest state
        self.posed = True  # all states so far had a pose
        self.needs_pose = False  # states without one are of no use
        self._joint_names: list[str] | None = None
        self._joint_places = np.zeros(0, np.intp)
        self._joint_targets = np.zeros(0, np.intp)
        self._wrench_names: list[str] | None = None
        self._plate_places: list[int] = []
        self._link_places: list[int] = []
        self._problem = ''

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.own_plates + 6 * MOST_PLATES

    @property
    def own_plates(self) -> int:
        """Where the wrenches of single plates begin in a row."""
        return BASE + 3 * len(self.joints) + 6 * len(self.links)

    def parse(self, msg: Any) -> Array | str:
        """One row, or why there is none."""
        self.world = msg.header.frame_id
        if not (msg.twist_valid and msg.acceleration_valid and msg.orientation_valid):
            return 'the motion of the base is not known'
        if list(msg.joint_names) != self._joint_names:
            self._take_joints(list(msg.joint_names))
        if list(msg.wrench_names) != self._wrench_names:
            self._take_wrenches(list(msg.wrench_names))
        if self._problem:
            return self._problem
        valid = np.asarray(msg.joint_valid, bool)[self._joint_places]
        if not valid.all():
            return f'joint {self.joints[self._joint_targets[np.argmin(valid)]]} is not known'
        places = [*self._plate_places, *self._link_places]
        for place in places:
            if not msg.wrench_valid[place]:
                return f'wrench {msg.wrench_names[place]} is not known'
        if (self._plate_places or self.needs_pose) and not msg.pose_valid:
            return 'the pose of the base is not known'
        row = np.zeros(self.width)
        self._fill_base(msg, row)
        if not msg.pose_valid:
            self.posed = False
            row[12:15] = 0.0  # of no use without plates: what it holds is no reason to refuse
            row[25:28] = 0.0
        count = len(self.joints)
        for k, values in enumerate(
            (msg.joint_positions, msg.joint_velocities, msg.joint_accelerations)
        ):
            target = row[BASE + k * count : BASE + (k + 1) * count]
            target[self._joint_targets] = np.asarray(values)[self._joint_places]
        for k, place in enumerate(self._link_places):
            start = BASE + 3 * count + 6 * k
            row[start : start + 6] = _wrench(msg.wrenches[place])
        return row if np.isfinite(row).all() else 'values that are no numbers'

    def _fill_base(self, msg: Any, row: Array) -> None:
        a, g, p, q = msg.acceleration, msg.gravity, msg.pose.position, msg.pose.orientation
        v, w = msg.twist.linear, msg.twist.angular
        row[25:28] = v.x, v.y, v.z
        row[:19] = (
            a.linear.x,
            a.linear.y,
            a.linear.z,
            w.x,
            w.y,
            w.z,
            a.angular.x,
            a.angular.y,
            a.angular.z,
            g.x,
            g.y,
            g.z,
            p.x,
            p.y,
            p.z,
            q.x,
            q.y,
            q.z,
            q.w,
        )
        for k, place in enumerate(self._plate_places):
            wrench = np.array(_wrench(msg.wrenches[place]))
            row[19:25] += wrench
            if k < MOST_PLATES:
                start = self.own_plates + 6 * k
                row[start : start + 6] = wrench

    def _take_joints(self, names: list[str]) -> None:
        self._joint_names = names
        known = [(k, self.joints.index(n)) for k, n in enumerate(names) if n in self.joints]
        self._joint_places = np.array([k for k, _ in known], np.intp)
        self._joint_targets = np.array([k for _, k in known], np.intp)
        self.missing = [name for name in self.joints if name not in names]
        self.unknown = [name for name in names if name not in self.joints]

    def _take_wrenches(self, names: list[str]) -> None:
        self._wrench_names = names
        wanted = self.plates or [name for name in names if name not in self.links]
        lacking = [name for name in (*self.links, *self.plates) if name not in names]
        self._problem = f'there is no wrench {lacking[0]}' if lacking else ''
        if not wanted and not self.links:
            self._problem = 'there is no wrench at all'
        self._plate_places = [names.index(name) for name in wanted if name in names]
        self._link_places = [names.index(name) for name in self.links if name in names]

    @property
    def plate_names(self) -> list[str]:
        """Wrenches that come from the world."""
        return [(self._wrench_names or [])[place] for place in self._plate_places]

    @property
    def has_plates(self) -> bool:
        """Whether some wrenches come from the world."""
        return bool(self._plate_places)


def _wrench(wrench: Any) -> tuple[float, ...]:
    f, t = wrench.force, wrench.torque
    return f.x, f.y, f.z, t.x, t.y, t.z
