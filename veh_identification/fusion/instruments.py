"""Wrench sensors and scalar channels: tracks, poses, and their values at one stamp."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.fusion.mounts import MountTable
from veh_identification.fusion.options import FilterOptions
from veh_identification.fusion.rotation import cross
from veh_identification.fusion.sensor_options import ChannelOptions, WrenchOptions
from veh_identification.fusion.state import BaseState
from veh_identification.fusion.track import Track
from veh_identification.orientations import rotate
from veh_identification.runtime.transforms import Transform
from veh_identification.types import Array, Vector


def move_wrench(pose: Transform, force: Vector, torque: Vector) -> tuple[Vector, Vector]:
    """A wrench given in a sensor frame, at the origin and in the axes of the frame that `pose`
    (of the sensor) is given in: F' = R F, N' = R N + t x R F.
    """
    moved_force = rotate(pose.rotation, force)
    moved_torque = rotate(pose.rotation, torque)
    arm = cross(pose.translation, moved_force)
    return moved_force, (
        moved_torque[0] + arm[0],
        moved_torque[1] + arm[1],
        moved_torque[2] + arm[2],
    )


def wrench_in_base(
    values: Array, attached: str, sensor_pose: Transform, base_pose: Transform | None
) -> tuple[Vector, Vector] | None:
    """Force and torque at the base-link origin; None where the base pose is needed but unknown.

    `attached`: 'world' (the sensor pose is in the world), 'base' (in the base link) or 'link'
    (on a moving link whose pose is not known here: passed on as it is).
    """
    fx, fy, fz, tx, ty, tz = values.tolist()
    force, torque = (fx, fy, fz), (tx, ty, tz)
    if attached == 'link':
        return force, torque
    if attached == 'world':
        if base_pose is None:
            return None
        sensor_pose = base_pose.inverse() @ sensor_pose
    return move_wrench(sensor_pose, force, torque)


NO_WRENCH: tuple[Vector, Vector] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class InstrumentReading:
    """All wrenches and channels at one stamp."""

    wrenches: list[tuple[Vector, Vector]]
    wrench_valid: list[bool]
    channels: Array
    channel_valid: list[bool]


class Instruments:
    """Everything that is reported but does not move the estimate."""

    def __init__(
        self,
        wrenches: Mapping[str, WrenchOptions],
        channels: Mapping[str, ChannelOptions],
        smoothing: FilterOptions,
        make_track: Callable[[int, float], Track],
        base_frame: str = '',
    ) -> None:
        self._options = dict(wrenches)
        self._smoothing, self._make_track = smoothing, make_track
        self._base_frame = base_frame
        self._poses: dict[str, Transform | None] = {}
        self.wrenches = {name: make_track(6, o.timeout) for name, o in wrenches.items()}
        self.channels = {name: make_track(1, o.timeout) for name, o in channels.items()}
        self.tracks = {**self.wrenches, **self.channels}
        self.channel_names = list(self.channels)
        #: Lists that stay the same object while nothing in them changes.
        self.wrench_names: list[str] = []
        self.wrench_frames: list[str] = []
        self._heard = False
        self.show(list(self.wrenches))

    def add_wrench(self, name: str, options: WrenchOptions) -> None:
        """One more wrench, or another way to understand one; `show` makes it appear."""
        self._options[name] = options
        if name not in self.wrenches:
            track = self._make_track(6, options.timeout)
            self.wrenches[name] = self.tracks[name] = track

    def show(self, names: list[str]) -> None:
        """The wrenches that are told, in this order."""
        self.wrench_names = list(names)
        self.wrench_frames = [self._base_frame] * len(names)
        self._silence = self._read(0.0, None)

    def resolve(self, mounts: MountTable) -> None:
        """Look the sensors' poses up again."""
        self._poses = {name: mounts.resolve(name) for name in self._options}
        frames = [
            mounts.frame_id(name) if self._options[name].attached == 'link' else self._base_frame
            for name in self.wrench_names
        ]
        if frames != self.wrench_frames:
            self.wrench_frames = frames

    def reset(self) -> None:
        """Forget all samples."""
        for track in self.tracks.values():
            track.reset()
        self._heard = False

    def add(self, name: str, time: float, values: tuple[float, ...]) -> None:
        """Take one sample of a sensor."""
        self._heard = True
        self.tracks[name].add(time, values)

    def at(self, time: float, base: BaseState) -> InstrumentReading:
        """Values at `time`; `base` tells where the base link is then."""
        if not self._heard:
            return self._silence
        base_pose = Transform(base.position, base.orientation) if base.pose_valid else None
        return self._read(time, base_pose)

    def _read(self, time: float, base_pose: Transform | None) -> InstrumentReading:
        wrenches, valid = [], []
        for name in self.wrench_names:
            values = _value(self.wrenches[name], time, self._smoothing.wrenches)
            pose = self._poses.get(name)
            moved = None
            if values is not None and pose is not None:
                moved = wrench_in_base(values, self._options[name].attached, pose, base_pose)
            if moved is not None and not math.isfinite(sum(moved[0]) + sum(moved[1])):
                moved = None
            wrenches.append(moved or NO_WRENCH)
            valid.append(moved is not None)
        channels = np.full(len(self.channels), np.nan)
        for index, track in enumerate(self.channels.values()):
            values = _value(track, time, self._smoothing.channels)
            if values is not None:
                channels[index] = values[0]
        return InstrumentReading(
            wrenches, valid, channels, [bool(ok) for ok in np.isfinite(channels)]
        )


def _value(track: Track, time: float, smooth: bool) -> Array | None:
    if not smooth:
        return track.value_at(time)
    found = track.at(time)
    return None if found is None else found[0]
