"""Which wrench topics belong to a humanoid, and what each is: the same offline and live.

Topics of the usual names (`force_plate*/wrench`, `l_foot/wrench`, `r_foot/wrench`) are taken alone
where there are any; else every geometry_msgs/WrenchStamped is, and its frame tells what it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from veh_identification.runtime.transforms import StaticFrames

PLATE_TOPIC = re.compile(r'^(.*/)?force_plate[^/]*/wrench$')
FOOT_TOPIC = re.compile(r'^(.*/)?(l|r)_foot/wrench$')
WRENCH_TYPE = 'geometry_msgs/msg/WrenchStamped'
WORLD = 'world'


def is_usual(topic: str) -> bool:
    """Whether the name of a topic says what it is."""
    return bool(PLATE_TOPIC.match(topic) or FOOT_TOPIC.match(topic))


def of_interest(topics: Iterable[str]) -> list[str]:
    """Those of all wrench topics that are looked at."""
    names = sorted(topics)
    return [name for name in names if is_usual(name)] or names


def root_of(frames: StaticFrames, frame: str, world: str) -> str | None:
    """The frame of the world in which a frame stands; None for one that does not."""
    roots = dict.fromkeys((world or WORLD, WORLD))
    return next((one for one in roots if frame and frames.connected(one, frame)), None)


def is_plate(topic: str, frame: str, frames: StaticFrames, world: str) -> bool:
    """Whether a wrench comes from the world: by the name of its topic, else by its frame."""
    if is_usual(topic):
        return PLATE_TOPIC.match(topic) is not None
    return root_of(frames, frame, world) is not None


def preferred(plates: Collection[str], sensors: Collection[str], posed: bool) -> list[str]:
    """What makes up the total wrench where nobody says it.

    Without a pose the robot's place on plates is known less well than where its sensors are.
    """
    return sorted((plates or sensors) if posed else (sensors or plates))


def by_frame_text(topic: str, plate: bool) -> str:
    """What is said of a topic whose name says nothing."""
    what = 'a force plate' if plate else 'a sensor on the robot'
    return f'{topic} is taken for {what}, by its type and its frame'


def chosen(
    heard: Mapping[str, str], frames: StaticFrames, world: str, posed: bool
) -> dict[str, bool]:
    """Of topics with their frames: those that make up the total wrench, and whether plates."""
    kinds = {name: is_plate(name, heard[name], frames, world) for name in of_interest(heard)}
    plates = [name for name, plate in kinds.items() if plate]
    sensors = [name for name, plate in kinds.items() if not plate]
    return {name: kinds[name] for name in preferred(plates, sensors, posed)}
