"""Encoders: any subset of joints a message, positions with or without velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion.track import Track

FloatArray = NDArray[np.float64]
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class JointReading:
    """All joints at one stamp."""

    names: list[str]
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray
    valid: list[bool]


class JointGroup:
    """Joints that come in the same messages: one track for all of them.

    Channels: positions, then (where the messages hold them and they are wanted) velocities.
    """

    def __init__(
        self,
        names: Sequence[str],
        has_position: bool,
        has_velocity: bool,
        track: Track,
        unwrap: frozenset[str],
    ) -> None:
        self.names = list(names)
        self.has_position = has_position
        self.has_velocity = has_velocity
        self.track = track
        self._unwrapped = [i for i, name in enumerate(names) if name in unwrap and has_position]
        self._last: dict[int, float] = {}

    def add(self, time: float, values: tuple[float, ...]) -> None:
        """Take the channels of one message."""
        if self._unwrapped:
            changed = list(values)
            for i in self._unwrapped:
                last = self._last.get(i)
                if last is not None:
                    changed[i] += TURN * round((last - changed[i]) / TURN)
                self._last[i] = changed[i]
            values = tuple(changed)
        self.track.add(time, values)

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Positions, velocities, accelerations of this group."""
        found = self.track.at(time)
        if found is None:
            return None
        value, first, second = found
        n = len(self.names)
        if not self.has_position:
            return np.full(n, np.nan), value, first
        if self.has_velocity:
            return value[:n], value[n:], first[n:]
        return value, first, second

    def reset(self) -> None:
        """Forget all samples."""
        self.track.reset()
        self._last.clear()


class JointTable:
    """All groups; a joint that several groups hold is taken from the first valid one."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = list(wanted)
        self._names: list[str] = list(wanted)
        self.groups: dict[str, JointGroup] = {}

    def add_group(self, key: str, group: JointGroup) -> None:
        """Make a group known."""
        self.groups[key] = group
        if not self._wanted:
            self._names = sorted({*self._names, *group.names})

    @property
    def names(self) -> list[str]:
        """Joints in the order of the output."""
        return self._names

    def at(self, time: float) -> JointReading:
        """All joints at one stamp, NaN where there is nothing."""
        n = len(self._names)
        result = np.full((3, n), np.nan)
        # Keys sort by joint names: the choice does not depend on which message came first.
        if len(self.groups) == 1:
            (group,) = self.groups.values()
            found = group.at(time)
            if found is not None and group.names == self._names:
                result[0], result[1], result[2] = found
                return self._reading(result)
        index = {name: i for i, name in enumerate(self._names)}
        for key in sorted(self.groups):
            group = self.groups[key]
            found = group.at(time)
            if found is None:
                continue
            for j, name in enumerate(group.names):
                i = index.get(name)
                if i is not None and not math.isfinite(result[0, i]):
                    result[:, i] = [column[j] for column in found]
        return self._reading(result)

    def _reading(self, result: FloatArray) -> JointReading:
        valid = [bool(ok) for ok in np.isfinite(result.sum(axis=0))]
        return JointReading(list(self._names), result[0], result[1], result[2], valid)

    def reset(self) -> None:
        """Forget all samples."""
        for group in self.groups.values():
            group.reset()
