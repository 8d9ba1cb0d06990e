"""Sensors below the base of an arm: which wrench topics they are, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import BagError
from veh_identification.findings import Finding
from veh_identification.multibody.tree import ROOT, Frame
from veh_identification.runtime.bags import BagReader, Columns
from veh_identification.runtime.transforms import StaticFrames, read_static_frames
from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.recording.base_signals import read_series
from veh_identification.systems.humanoid.recording.reader import (
    WRENCH_NAMES,
    WRENCH_PATHS,
    WRENCH_UNITS,
)
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.humanoid.wrench_topics import WRENCH_TYPE
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.model import fixed_tree
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class BaseWrench:
    """What one sensor exerts on the base, in its own frame."""

    topic: str
    frame: str
    series: TimeSeries  # FX FY FZ NX NY NZ
    pose: Pose  # of its frame in the root link
    origin: str  # where that comes from
    named: bool  # the configuration names it

    def at_root(self, values: Array) -> Array:
        """Wrenches (N, 6) at the origin of the root link, in its axes."""
        force = values[:, :3] @ self.pose.rotation.T
        moment = values[:, 3:] @ self.pose.rotation.T + np.cross(self.pose.position, force)
        return np.concatenate([force, moment], axis=1)


@dataclass(frozen=True)
class Places:
    """How wrench topics are told: links fixed to the root, static transforms, configuration."""

    root: Mapping[str, Frame]  # links that never move, the root link among them
    configuration: Configuration

    @staticmethod
    def of(robot: Robot, configuration: Configuration) -> Places:
        """Of a robot."""
        frames = fixed_tree(robot, {}).frames
        return Places({n: f for n, f in frames.items() if f.body == ROOT}, configuration)

    def find(self, reader: BagReader, bag: str) -> tuple[dict[str, _Place], list[Finding]]:
        """Sensors below the base by topic, and what is said of the others."""
        c, present = self.configuration, {n.lstrip('/'): n for n in reader.topics}
        for name in c.base_sensors:
            if name not in present:
                raise BagError(
                    f'{bag}: base_sensors names {name}, which the recording does not hold; there '
                    f'are {", ".join(sorted(present)) or "no topics"}'
                )
        wrenches = {
            name: full
            for name, full in sorted(present.items())
            if reader.topics[full].typename == WRENCH_TYPE and reader.topics[full].count
        }
        if c.base_wrench == 'off' or not (wrenches or c.base_sensors):
            return {}, []
        frames, refused = read_static_frames(reader)
        findings = [Finding('note', 'transform_refused', text, '/tf_static') for text in refused]
        found: dict[str, _Place] = {}
        for name in c.base_sensors or wrenches:
            full = present[name]
            reader.expect_type(full, WRENCH_TYPE)
            message = next(iter(reader.messages([full])), None)
            frame = '' if message is None else message.message.header.frame_id.strip('/')
            place = self._place(name, frame, frames)
            if place is None:
                text = (
                    f'{bag}: {name} ({WRENCH_TYPE}) is not used: its frame {frame!r} is not fixed '
                    'to the root link by the URDF or /tf_static; if it is a sensor below the '
                    f'base, give its pose there as base_sensors.{name}'
                )
                findings.append(Finding('note', 'wrench_not_used', text, name))
                continue
            found[full] = place
            text = f'{bag}: {name} is taken for a sensor below the base, by {place.origin}'
            findings.append(Finding('note', 'wrench_by_frame', text, name))
        return found, findings

    def _place(self, topic: str, frame: str, frames: StaticFrames) -> _Place | None:
        """Pose of a sensor in the root link; the configuration wins."""
        given = self.configuration.base_sensors.get(topic)
        if given is not None:
            pose = Pose(np.array(given.position), given.matrix)
            return _Place(frame, pose, f'configuration, base_sensors.{topic}', True)
        if frame in self.root:
            one = self.root[frame]
            return _Place(frame, Pose(one.translation, one.rotation), f'the link {frame}')
        for name, one in self.root.items():
            if frame and frames.connected(name, frame):
                found = frames.lookup(name, frame)
                place = one.translation + one.rotation @ np.array(found.translation)
                pose = Pose(place, one.rotation @ found.matrix)
                return _Place(frame, pose, f'/tf_static between {name} and {frame}')
        return None


@dataclass(frozen=True, eq=False)
class _Place:
    frame: str
    pose: Pose
    origin: str
    named: bool = False


def wrenches_of(
    found: Mapping[str, _Place], columns: Mapping[str, Columns], epoch_ns: int
) -> tuple[tuple[BaseWrench, ...], list[Finding]]:
    """The sensors with what they measured."""
    made, findings = [], []
    for full, place in found.items():
        series, told = read_series(
            columns[full], WRENCH_PATHS, WRENCH_NAMES, WRENCH_UNITS, epoch_ns
        )
        findings += told
        name = full.lstrip('/')
        made.append(BaseWrench(name, place.frame, series, place.pose, place.origin, place.named))
    return tuple(made), findings
