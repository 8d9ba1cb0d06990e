"""Robots that an identification has described, of either kind, behind one face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from veh_identification.errors import InputError
from veh_identification.nodes.wanted_motion import motion_of, with_efforts
from veh_identification.results.identified import read_identified
from veh_identification.runtime.share import share_directory
from veh_identification.systems.parallel import feedforward as parallel
from veh_identification.systems.parallel.model.geometry import LEGS, POSE_NAMES
from veh_identification.systems.robot import feedforward as robot


class Identified(Protocol):
    """What the node asks of a robot."""

    @property
    def kind(self) -> str:
        """The system, as `veh-id identify` names it."""
        ...

    def answer(self, wanted: Any, topic: str) -> tuple[Any, Any]:
        """JointTrajectory with the efforts, and one with the deviations of their prediction."""
        ...


@dataclass(frozen=True, eq=False)
class Arm:
    """A fixed-base tree; a motion names its joints."""

    model: robot.IdentifiedArm
    noise: bool
    kind: str = 'robot'

    def answer(self, wanted: Any, topic: str) -> tuple[Any, Any]:
        """Joint torques."""
        motion = motion_of(wanted, self.model.joints, topic)
        where = f'{topic}.points'
        made = robot.feedforward(self.model, *motion, noise=self.noise, where=where)
        return with_efforts(wanted, self.model.joints, motion, *_finite(made, motion, topic))


@dataclass(frozen=True, eq=False)
class Hexapod:
    """A parallel robot; a motion names its legs, or the six coordinates of its platform."""

    model: parallel.IdentifiedHexapod
    noise: bool
    kind: str = 'parallel'

    def answer(self, wanted: Any, topic: str) -> tuple[Any, Any]:
        """Forces of the legs, with the motion of the legs."""
        if set(POSE_NAMES) <= set(wanted.joint_names):
            pose = motion_of(wanted, POSE_NAMES, topic)
            legs = parallel.legs_of(self.model, *pose)
            made = parallel.feedforward(self.model, *pose, noise=self.noise)
        else:
            legs = motion_of(wanted, LEGS, topic)
            made = parallel.leg_feedforward(self.model, *legs, noise=self.noise)
        return with_efforts(wanted, LEGS, legs, *_finite(made, legs, topic))


def _finite(made: tuple[Any, Any], motion: Sequence[Any], topic: str) -> tuple[Any, Any]:
    """Efforts, deviations and motions of legs that are no numbers never leave.

    Deviations of joints whose efforts were not measured are nan throughout, and stay.
    """
    effort, sigma = made
    told = sigma[:, ~np.isnan(sigma).all(axis=0)]
    numbers = np.column_stack([effort, told, *motion])
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        raise InputError(f'{topic}.points[{bad[0]}]: the model gives no number for this motion')
    return made


def load_identified(result: str, urdf: str, hexapod: str, noise: bool) -> tuple[Identified, str]:
    """The robot of a result folder, and in words what its verdict was."""
    path, data = read_identified(result)
    system = data.get('system')
    level = data.get('verdict', {}).get('level', 'unknown')
    told = f'{path}: verdict {level}'
    if system == 'parallel':
        return Hexapod(parallel.load_feedforward(path, hexapod), noise), told
    if system == 'robot':
        if not urdf:
            raise InputError(f'{path}: is of an arm, whose description (urdf) must be given')
        shipped = share_directory() / 'config' / urdf
        file = shipped if shipped.is_file() else urdf
        return Arm(robot.load_feedforward(path, file), noise), told
    raise InputError(
        f'{path}: system is {system!r}, expected a result of identify parallel or identify robot'
    )
