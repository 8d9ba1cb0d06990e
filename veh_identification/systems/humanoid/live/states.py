"""From fused/state to rows of numbers for the base-link equation (4) of a humanoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.signals.hygiene import possible
from veh_identification.types import Array

#: Base part of a row: acceleration, angular velocity, angular acceleration, gravity, position,
#: quaternion, sum of the wrenches that are already given at the base link, velocity.
BASE = 28
#: What of a veh_identification/msg/FusedState is read; see `runtime.cdr.fields`.
FIELDS = (
    'header.frame_id',
    'child_frame_id',
    *(f'{name}_valid' for name in ('pose', 'orientation', 'twist', 'acceleration')),
    *('joint_names', 'wrench_names', 'wrench_frames', 'joint_valid[]', 'wrench_valid[]'),
    *(f'acceleration.linear.{axis}' for axis in 'xyz'),
    *(f'twist.angular.{axis}' for axis in 'xyz'),
    *(f'acceleration.angular.{axis}' for axis in 'xyz'),
    *(f'gravity.{axis}' for axis in 'xyz'),
    *(f'pose.position.{axis}' for axis in 'xyz'),
    *(f'pose.orientation.{axis}' for axis in 'xyzw'),
    *(f'twist.linear.{axis}' for axis in 'xyz'),
    *(f'joint_{name}[]' for name in ('positions', 'velocities', 'accelerations')),
    *(f'wrenches[].{part}.{axis}' for part in ('force', 'torque') for axis in 'xyz'),
)
MOTION, VELOCITY, JOINTS, WRENCHES = slice(11, 30), slice(30, 33), slice(33, 36), slice(36, 42)
#: Plates whose own wrenches are kept beside their sum, for the checks.
MOST_PLATES = 4


def instruments_of(fields: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Names of the wrenches that a state holds, and the links on which they are measured.

    The link is empty for a wrench that is given at the base link.
    """
    base, names, frames = fields[1], fields[7], fields[8]
    if len(frames) != len(names):
        return list(names), [''] * len(names)
    return list(names), ['' if frame == base else frame for frame in frames]


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

    def parse(self, fields: Sequence[Any]) -> Array | str:
        """One row from what FIELDS name, or why there is none."""
        self.world = fields[0]
        pose_valid, orientation_valid, twist_valid, acceleration_valid = fields[2:6]
        joint_names, wrench_names, _, joint_valid, wrench_valid = fields[6:11]
        if not (twist_valid and acceleration_valid and orientation_valid):
            return 'the motion of the base is not known'
        if joint_names != self._joint_names:
            self._take_joints(list(joint_names))
        if wrench_names != self._wrench_names:
            self._take_wrenches(list(wrench_names))
        if self._problem:
            return self._problem
        valid = np.array(joint_valid, bool)[self._joint_places]
        if not valid.all():
            return f'joint {self.joints[self._joint_targets[np.argmin(valid)]]} is not known'
        for place in (*self._plate_places, *self._link_places):
            if not wrench_valid[place]:
                return f'wrench {wrench_names[place]} is not known'
        if (self._plate_places or self.needs_pose) and not pose_valid:
            return 'the pose of the base is not known'
        row = np.zeros(self.width)
        row[:19], row[25:28] = fields[MOTION], fields[VELOCITY]
        if not pose_valid:
            self.posed = False
            row[12:15] = 0.0  # of no use without plates: what it holds is no reason to refuse
            row[25:28] = 0.0
        self._fill_joints(fields[JOINTS], row)
        self._fill_wrenches(np.array(fields[WRENCHES]).T, row)
        return row if possible(row).all() else 'values that are no numbers'

    def _fill_joints(self, motion: Sequence[Any], row: Array) -> None:
        count = len(self.joints)
        for k, values in enumerate(motion):
            target = row[BASE + k * count : BASE + (k + 1) * count]
            target[self._joint_targets] = np.array(values)[self._joint_places]

    def _fill_wrenches(self, wrenches: Array, row: Array) -> None:
        for k, place in enumerate(self._plate_places):
            row[19:25] += wrenches[place]
            if k < MOST_PLATES:
                start = self.own_plates + 6 * k
                row[start : start + 6] = wrenches[place]
        for k, place in enumerate(self._link_places):
            start = BASE + 3 * len(self.joints) + 6 * k
            row[start : start + 6] = wrenches[place]

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
