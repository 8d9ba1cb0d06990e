"""Where each sensor is fixed: by parameters or by static transforms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veh_identification.runtime.transforms import StaticFrames, Transform, apart, clean


@dataclass(frozen=True)
class MountRule:
    """How the pose of one sensor is found; see the parameter `mount`."""

    source: str
    target: str
    given: Transform


class MountTable:
    """Poses of sensors in the base link or in the world; parameters win over /tf_static."""

    def __init__(self, frames: StaticFrames) -> None:
        self.frames = frames
        self._rules: dict[str, MountRule] = {}
        self._frame_ids: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self.contradictions: dict[str, str] = {}  # by sensor: parameters against /tf_static

    def add(
        self, name: str, source: str, target: str, position: list[float], rpy: list[float]
    ) -> None:
        """Make a sensor known."""
        self._rules[name] = MountRule(source, target, Transform.from_rpy(position, rpy))

    def set_frame_id(self, name: str, frame_id: str) -> None:
        """The frame that the sensor's messages name."""
        self._frame_ids[name] = clean(frame_id)

    def frame_id(self, name: str) -> str:
        """The frame that the sensor's messages name; empty before the first one."""
        return self._frame_ids.get(name, '')

    def retarget(self, before: str, after: str) -> None:
        """What stood in one frame stands in another one: the world has got its name."""
        for name, rule in self._rules.items():
            if rule.target == before:
                self._rules[name] = replace(rule, target=after)

    def resolve(self, name: str) -> Transform | None:
        """Pose of the sensor; None when only /tf_static may give it and does not."""
        rule = self._rules[name]
        frame = self._frame_ids.get(name, '')
        given = rule.given != Transform()
        self.notes.pop(name, None)
        self.contradictions.pop(name, None)
        if rule.source == 'parameters' or (rule.source == 'auto' and given):
            if given and frame and self.frames.connected(rule.target, frame):
                tree = self.frames.lookup(rule.target, frame)
                told = apart(rule.given, tree, turns=name != 'gnss')
                if told:
                    text = f'{name}: the parameters and /tf_static ({frame}) disagree, {told}'
                    self.contradictions[name] = f'{text}: the parameters are used'
            return rule.given
        if frame and self.frames.connected(rule.target, frame):
            return self.frames.lookup(rule.target, frame)
        if rule.source == 'tf':
            self.notes[name] = f'no static transform from {frame or "(no frame)"} to {rule.target}'
            return None
        self.notes[name] = (
            f'its frame {frame or "(none)"} is not in /tf_static and no pose is given: '
            f'taken as {rule.target}'
        )
        return rule.given
