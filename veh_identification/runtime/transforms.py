"""Static transforms: one tree of frames, fed by /tf_static live and from bags, and by files.

Frame names match with or without tf1's leading slash. A transform that cannot be is refused with
a sentence and remembered, so that whoever needs that frame can say why it is not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from veh_identification.errors import InputError
from veh_identification.orientations import (
    IDENTITY,
    Quaternion,
    conjugate,
    is_unit,
    matrix_of_quaternion,
    multiply,
    normalise,
    quaternion_of_rpy,
    rotate,
    rpy_of_quaternion,
)
from veh_identification.runtime.bags import BagReader
from veh_identification.types import Array, Vector

TOPIC = '/tf_static'
TYPE = 'tf2_msgs/msg/TFMessage'


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
        return cls((float(x), float(y), float(z)), quaternion_of_rpy(rpy))

    @classmethod
    def from_message(cls, message: Any) -> Transform:
        """Pose of a geometry_msgs/msg/Transform."""
        t, q = message.translation, message.rotation
        return cls((t.x, t.y, t.z), (q.x, q.y, q.z, q.w))

    @property
    def matrix(self) -> Array:
        """Rotation matrix (3, 3) from child to parent axes."""
        return matrix_of_quaternion(self.rotation)

    @property
    def rpy(self) -> Vector:
        """Roll, pitch, yaw about the fixed axes of the parent."""
        return rpy_of_quaternion(self.rotation)

    def __matmul__(self, inner: Transform) -> Transform:
        """Composition: first `inner`, then this one."""
        return Transform(
            self.apply(inner.translation), normalise(multiply(self.rotation, inner.rotation))
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


#: Poses of one sensor that differ by more contradict each other [m], [rad].
APART, TURNED = 0.05, 0.05


def apart(one: Transform, other: Transform, turns: bool = True) -> str:
    """How far two poses of the same thing differ, in words; empty where they agree.

    Without `turns` the orientation is of no matter (antennas).
    """
    away = math.dist(one.translation, other.translation)
    between = abs(multiply(conjugate(one.rotation), other.rotation)[3])
    angle = 2.0 * math.acos(min(1.0, between)) if turns else 0.0
    if away < APART and angle < TURNED:
        return ''
    shown = ['(' + ', '.join(f'{x:.3g}' for x in p.translation) + ')' for p in (one, other)]
    turned = f', turned by {math.degrees(angle):.0f} degrees' if angle >= TURNED else ''
    return f'{shown[0]} m against {shown[1]} m{turned}'


#: Senders choose frames and their names: what is kept of them is bounded.
MOST_FRAMES = 1000
MOST_LETTERS = 200
MOST_REFUSED = 100


def clean(frame: str) -> str:
    """Frame names match with or without tf1's leading slash."""
    return frame.strip('/')


@dataclass(frozen=True)
class _Edge:
    """The way from a frame to its parent."""

    parent: str
    transform: Transform
    source: str


class StaticFrames:
    """Static transforms by child frame; looks up any chain between two frames."""

    def __init__(self) -> None:
        self._edges: dict[str, _Edge] = {}
        #: Grows with every change.
        self.version = 0
        #: How often a later transform took the place of an earlier, other one.
        self.replaced = 0
        #: By child frame: why the transform was not taken.
        self.refused: dict[str, str] = {}

    def set(self, parent: str, child: str, transform: Transform, source: str = '') -> bool:
        """Add or replace the pose of `child`; returns whether anything changed."""
        parent, child = clean(parent), clean(child)
        self._check(parent, child, transform)
        pose = Transform(transform.translation, normalise(transform.rotation))
        before = self._edges.get(child)
        if before is not None and before.transform == pose:
            return False
        self.replaced += before is not None
        self._edges[child] = _Edge(parent, pose, source)
        self.refused.pop(child, None)
        self.version += 1
        return True

    def edges(self) -> dict[str, tuple[str, Transform]]:
        """Parent and pose of every frame that has one."""
        return {child: (edge.parent, edge.transform) for child, edge in self._edges.items()}

    def _check(self, parent: str, child: str, transform: Transform) -> None:
        name = f'the static transform {parent} -> {child}'
        if not parent or not child:
            raise FrameError(
                f'a static transform needs two frame names, got {parent!r} and {child!r}'
            )
        if not is_unit(transform.rotation):
            raise FrameError(
                f'{name} has the quaternion {transform.rotation}, which is no rotation'
            )
        if not all(abs(value) < float('inf') for value in transform.translation):
            raise FrameError(
                f'{name} has the translation {transform.translation}, which is no place'
            )
        if max(len(parent), len(child)) > MOST_LETTERS:
            raise FrameError('a static transform has a frame name longer than anybody reads')
        if child not in self._edges and len(self._edges) >= MOST_FRAMES:
            raise FrameError(f'{name} is one more than the {MOST_FRAMES} frames that are kept')
        chain = self._chain(parent)
        if child in chain:
            raise FrameError(f'{name} would close a cycle: {" -> ".join(chain)}')
        before = self._edges.get(child)
        if before is not None and before.parent != parent:
            known = f' ({before.source})' if before.source else ''
            raise FrameError(
                f'{name} contradicts {before.parent} -> {child}{known}: a frame has one parent'
            )

    def take(self, message: Any, source: str = TOPIC) -> list[str]:
        """Transforms of a tf2_msgs/msg/TFMessage; sentences about those that are refused."""
        wrong = []
        for one in message.transforms:
            child = one.child_frame_id
            try:
                self.set(one.header.frame_id, child, Transform.from_message(one.transform), source)
            except FrameError as error:
                sentence = f'{source}: {error}; it is ignored'
                # /tf_static may be repeated for ever: once is enough.
                known = clean(child)[:MOST_LETTERS]
                if self.refused.get(known) != sentence:
                    if len(self.refused) >= MOST_REFUSED:
                        continue  # said often enough; the names are the sender's choice
                    self.refused[known] = sentence
                    wrong.append(sentence)
        return wrong

    def _chain(self, frame: str) -> list[str]:
        """The frame and its ancestors up to its root."""
        chain = [frame]
        while chain[-1] in self._edges:
            chain.append(self._edges[chain[-1]].parent)
        return chain

    def frames(self) -> list[str]:
        """All known frames."""
        names = set(self._edges)
        names.update(edge.parent for edge in self._edges.values())
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
        for frame in chain[:-1]:
            total = self._edges[frame].transform @ total
        return total

    def sources(self, target: str, source: str) -> list[str]:
        """Where the transforms between two frames came from, each once."""
        ways = self._chain(clean(target)), self._chain(clean(source))
        # What both have in common above their first common frame plays no part.
        different = [f for one, other in (ways, ways[::-1]) for f in one if f not in other]
        found = (self._edges[frame].source for frame in different if frame in self._edges)
        return list(dict.fromkeys(found))


def read_static_frames(
    reader: BagReader, topics: Iterable[str] | None = None
) -> tuple[StaticFrames, list[str]]:
    """Static transforms of a recording, and sentences about those that are refused.

    Without `topics` those of every topic named tf_static in any namespace.
    """
    if topics is None:
        topics = [
            name
            for name, info in reader.topics.items()
            if info.count and name.rpartition('/')[2] == clean(TOPIC)
        ]
    names = [reader.expect_type(topic, TYPE).topic for topic in topics]
    frames, wrong = StaticFrames(), list[str]()
    for decoded in reader.messages(names) if names else ():
        wrong += frames.take(decoded.message, f'{reader.named}, topic {decoded.topic}')
    return frames, wrong
