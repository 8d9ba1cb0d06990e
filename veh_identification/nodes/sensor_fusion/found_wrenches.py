"""Wrench topics that nobody named: found by their type, told apart by their names and frames.

The rule is that of the offline identification (`systems.humanoid.wrench_topics`). What a topic is
can be told when its first message names its frame; which topics are needed, when those that are
there have spoken, or have had the time to. Until then their samples wait here, so that none that
counts is lost. Topics and transforms that come later change the choice, which is then said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.sensor_options import WrenchOptions
from veh_identification.nodes.sensor_fusion.steady_frames import SteadyFrames
from veh_identification.runtime.transforms import clean
from veh_identification.systems.humanoid.wrench_topics import (
    WRENCH_TYPE,
    by_frame_text,
    chosen,
    is_usual,
    of_interest,
    root_of,
)

#: Topics that are listened to, samples of each that wait for the choice.
MOST_TOPICS, MOST_WAITING = 32, 2000
#: Sensors that are made at most, those of frames that were wrong included.
MOST_SENSORS = 64
#: Reports that topics without a message get before the choice is made without them.
PATIENCE = 2
Receive = Callable[[tuple[Any, ...]], None]


class FoundWrenches:
    """Listens to wrench topics and hands those that are needed to the fusion."""

    def __init__(
        self,
        core: FusionCore,
        topics: Callable[[], list[tuple[str, list[str]]]],
        listen: Callable[[str, Receive], None],
        receiver: Callable[[str, str], Receive],
        posed: bool,
    ) -> None:
        """`listen` subscribes to a topic, `receiver` takes samples of a sensor with its frame."""
        self._core, self._topics, self._listen = core, topics, listen
        self._receiver, self._posed = receiver, posed
        self._frames, self._numbers = SteadyFrames(), dict[str, int]()
        self._heard = self._frames.of  # topic without leading slash: frame
        self._waiting: dict[str, deque[tuple[Any, ...]]] = {}
        self._names: dict[str, str] = {}  # topic: name of the sensor that was made of it
        self._receivers: dict[str, Receive] = {}
        self._chosen: dict[str, bool] = {}  # topic: whether it is a plate
        self._reports = 0  # since the first message
        self._news = False  # a topic has spoken since the last choice
        self._roots: dict[str, str | None] = {}

    def look(self, namespace: str) -> None:
        """Listen to wrench topics of a namespace that are new."""
        begin = namespace.rstrip('/') + '/'
        for full, types in self._topics():
            topic = full.lstrip('/')
            known = topic in self._waiting or len(self._waiting) >= MOST_TOPICS
            if not known and WRENCH_TYPE in types and full.startswith(begin):
                self._waiting[topic] = deque(maxlen=MOST_WAITING)
                self._listen(full, lambda fields, topic=topic: self._hear(topic, fields))  # type: ignore[misc]

    def report(self, world: str) -> None:
        """About a second has passed: who is silent is not waited for any longer."""
        self._reports += bool(self._heard)
        if self._reports >= PATIENCE:
            self.choose(world)

    def choose(self, world: str) -> bool:
        """Decide anew with what is known by now; whether anything changed."""
        if not self._ready():
            return False
        self._news = False
        found = chosen(self._heard, self._core.frames, world, self._posed)
        roots = {
            topic: root_of(self._core.frames, self._heard[topic], world) if plate else None
            for topic, plate in found.items()
        }
        if found == self._chosen and roots == self._roots:
            return False
        for topic, plate in found.items():
            self._take(topic, plate, roots[topic] or world)
        for topic in self._chosen.keys() - found.keys():
            self._core.records[self._names[topic]].topic = ''  # told no more
        self._chosen, self._roots = found, roots
        self._core.show_wrenches([self._names[topic] for topic in found])
        for topic in found:
            while self._waiting[topic]:
                self._receivers[topic](self._waiting[topic].popleft())
        return True

    def _take(self, topic: str, plate: bool, target: str) -> None:
        """Make a sensor of a topic, or understand it in another way."""
        name = self._names.get(topic) or self._new_name(topic)
        options = WrenchOptions(
            topic=topic, attached='world' if plate else 'link', mount='tf' if plate else 'auto'
        )
        self._core.add_wrench(name, options, target)
        self._core.set_frame_id(name, self._heard[topic])
        self._core.records[name].topic = topic
        if topic not in self._names:
            self._names[topic] = name
            self._receivers[topic] = self._receiver(name, self._heard[topic])

    def _new_name(self, topic: str) -> str:
        """A name as its frame has, under which others find its place; else that of the topic."""
        stem = topic.removesuffix('/wrench')
        frame = clean(self._heard[topic])
        alone = list(self._heard.values()).count(self._heard[topic]) == 1
        candidates = [frame, stem, topic] if alone else [stem, topic]
        taken = self._core.records
        free = (one for one in candidates if one and one not in taken and ':' not in one)
        return next(free, f'wrench {len(self._names)}')

    def _ready(self) -> bool:
        """Whether all topics have spoken, or have had the time to."""
        patient = self._reports < PATIENCE
        waited_for = of_interest(self._waiting) if patient else []
        return bool(self._heard) and all(topic in self._heard for topic in waited_for)

    def _hear(self, topic: str, fields: tuple[Any, ...]) -> None:
        self._numbers[topic] = number = self._numbers.get(topic, 0) + 1
        frame = clean(fields[2])
        if frame != self._heard.get(topic) and self._frames.believed(topic, frame, number):
            self._news = True
            if topic in self._names and len(self._core.records) < MOST_SENSORS:
                # The name was that of a frame that was wrong.
                self._core.records[self._names.pop(topic)].topic = ''
                self._chosen.pop(topic, None)
        if topic in self._chosen:
            self._receivers[topic](fields)
        elif self._news:
            self._waiting[topic].append(fields)

    @property
    def undecided(self) -> bool:
        """Whether a topic has spoken about which something can be decided now."""
        return self._news and self._ready()

    def findings(self) -> list[Finding]:
        """What every topic was taken for, and why."""
        return [
            Finding('note', 'wrench_found', self._words(topic), f'topic {topic}')
            for topic in of_interest(self._heard)
        ]

    def _words(self, topic: str) -> str:
        frame = self._heard[topic] or '(none)'
        if topic not in self._chosen:
            return f'{topic} (frame {frame}) is not used: other wrenches make up the total'
        plate = self._chosen[topic]
        if not is_usual(topic):
            text = by_frame_text(topic, plate)
        else:
            text = f'{topic} is taken for {"a force plate" if plate else "a sensor on the robot"}'
            text += ', by its name'
        root = self._roots[topic]
        where = f'pose of {frame} in {root} from /tf_static' if root else f'frame {frame}'
        return f'{text} ({where})'
