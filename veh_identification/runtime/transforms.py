"""Static transforms: a graph of frames, as /tf_static and configurations give them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from veh_identification.errors import InputError
from veh_identification.fusion.rotation import (
    IDENTITY,
    Quaternion,
    conjugate,
    from_rpy,
    is_unit,
    multiply,
    normalise,
    rotate,
)
from veh_identification.types import Vector


class FrameError(InputError):
    """Two frames are not connected, or a transform contradicts the tree."""


@dataclass(frozen=True)
class Transform:
    """Pose of a child frame in its parent: x_parent = rotation x_child + translation."""

    translation: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = IDENTITY

    @classmethod
    def from_rpy(cls, position: Vector | list[float], rpy: Vector | list[float]) -> Transform:
        """Pose from position and fixed-axis roll, pitch, yaw."""
        x, y, z = position
        return cls((float(x), float(y), float(z)), from_rpy(rpy[0], rpy[1], rpy[2]))

    def __matmul__(self, inner: Transform) -> Transform:
        """Composition: first `inner`, then this one."""
        moved = rotate(self.rotation, inner.translation)
        t = self.translation
        return Transform(
            (moved[0] + t[0], moved[1] + t[1], moved[2] + t[2]),
            normalise(multiply(self.rotation, inner.rotation)),
        )

    def inverse(self) -> Transform:
        """Pose of the parent in the child."""
        back = conjugate(self.rotation)
        x, y, z = rotate(back, self.translation)
        return Transform((-x, -y, -z), back)

    def apply(self, point: Vector) -> Vector:
        """A point given in the child frame, in the parent frame."""
        moved = rotate(self.rotation, point)
        t = self.translation
        return (moved[0] + t[0], moved[1] + t[1], moved[2] + t[2])


def clean(frame: str) -> str:
    """Frame names match with or without tf1's leading slash."""
    return frame.strip('/')


class StaticFrames:
    """Static transforms by child frame; looks up any chain between two frames."""

    def __init__(self) -> None:
        self._parent: dict[str, tuple[str, Transform]] = {}
        self.version = 0

    def set(self, parent: str, child: str, transform: Transform) -> bool:
        """Add or replace the pose of `child`; returns whether anything changed."""
        parent, child = clean(parent), clean(child)
        if not parent or not child:
            raise FrameError(
                f'a static transform needs two frame names, got {parent!r} and {child!r}'
            )
        if not is_unit(transform.rotation):
            raise FrameError(
                f'the static transform {parent} -> {child} has the quaternion '
                f'{transform.rotation}, which is no rotation'
            )
        if child in self._chain(parent):
            raise FrameError(
                f'the static transform {parent} -> {child} would close a cycle: '
                f'{" -> ".join(self._chain(parent))}'
            )
        entry = (parent, Transform(transform.translation, normalise(transform.rotation)))
        if self._parent.get(child) == entry:
            return False
        self._parent[child] = entry
        self.version += 1
        return True

    def _chain(self, frame: str) -> list[str]:
        """The frame and its ancestors up to its root."""
        chain = [frame]
        while chain[-1] in self._parent:
            chain.append(self._parent[chain[-1]][0])
        return chain

    def frames(self) -> list[str]:
        """All known frames."""
        names = set(self._parent)
        names.update(parent for parent, _ in self._parent.values())
        return sorted(names)

    def connected(self, target: str, source: str) -> bool:
        """Whether `lookup` will succeed."""
        target, source = clean(target), clean(source)
        return target == source or self._chain(target)[-1] == self._chain(source)[-1]

    def lookup(self, target: str, source: str) -> Transform:
        """Pose of `source` in `target` along the tree."""
        target, source = clean(target), clean(source)
        if target == source:
            return Transform()
        target_chain, source_chain = self._chain(target), self._chain(source)
        if target_chain[-1] != source_chain[-1]:
            raise FrameError(
                f'no static transform connects {source!r} with {target!r}; known frames: '
                f'{", ".join(self.frames()) or "none"}'
            )
        return self._to_root(target_chain).inverse() @ self._to_root(source_chain)

    def _to_root(self, chain: list[str]) -> Transform:
        total = Transform()
        steps = deque(self._parent[frame][1] for frame in chain[:-1])
        while steps:
            total = steps.popleft() @ total
        return total
