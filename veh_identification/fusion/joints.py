"""Encoders: any subset of joints a message, positions with or without velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.fusion.track import Track
from veh_identification.types import Array

TURN = 2.0 * math.pi


@njit(cache=True, nogil=True)
def _finite_columns(values: Array, flags: NDArray[np.bool_]) -> None:
    for column in range(values.shape[1]):
        finite = True
        for row in range(values.shape[0]):
            finite = finite and np.isfinite(values[row, column])
        flags[column] = finite


class JointReading:
    """All joints at one stamp; `values` holds positions, velocities, accelerations in rows."""

    __slots__ = ('flags', 'names', 'values')

    def __init__(self, names: list[str], values: Array) -> None:
        """Joints whose three values are all finite are valid."""
        self.names = names
        self.values = values
        self.flags = np.empty(len(names), np.bool_)
        _finite_columns(values, self.flags)

    @property
    def positions(self) -> Array:
        """Angles or lengths."""
        return self.values[0]

    @property
    def velocities(self) -> Array:
        """First derivatives."""
        return self.values[1]

    @property
    def accelerations(self) -> Array:
        """Second derivatives."""
        return self.values[2]

    @property
    def valid(self) -> list[bool]:
        """Which joints can be used."""
        return [bool(flag) for flag in self.flags]


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

    def unwrapped(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """The channels of the next message without jumps by full turns."""
        if self._unwrapped:
            changed = list(values)
            for i in self._unwrapped:
                last = self._last.get(i)
                if last is not None:
                    changed[i] += TURN * round((last - changed[i]) / TURN)
                self._last[i] = changed[i]
            values = tuple(changed)
        return values

    def at(self, time: float) -> Array | None:
        """Positions, velocities, accelerations of this group in rows."""
        found = self.track.at(time)
        if found is None or (self.has_position and not self.has_velocity):
            return found
        n = len(self.names)
        result = np.full((3, n), np.nan)
        if self.has_position:
            result[0], result[1], result[2] = found[0, :n], found[0, n:], found[1, n:]
        else:
            result[1], result[2] = found[0], found[1]
        return result

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
        # Compiled now, not when the first sample waits for it.
        JointReading([], np.zeros((3, 0)))

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
        # Keys sort by joint names: the choice does not depend on which message came first.
        if len(self.groups) == 1:
            (group,) = self.groups.values()
            found = group.at(time)
            if found is not None and group.names == self._names:
                return JointReading(self._names, found)
        result = np.full((3, len(self._names)), np.nan)
        index = {name: i for i, name in enumerate(self._names)}
        for key in sorted(self.groups):
            group = self.groups[key]
            found = group.at(time)
            if found is None:
                continue
            for j, name in enumerate(group.names):
                i = index.get(name)
                if i is not None and not math.isfinite(result[0, i]):
                    result[:, i] = found[:, j]
        return JointReading(self._names, result)

    def reset(self) -> None:
        """Forget all samples."""
        for group in self.groups.values():
            group.reset()
