"""Ways in which the messages of sensors are spoilt: values, stamps, loss, order, clocks."""

from __future__ import annotations

import copy
import dataclasses
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

SECOND = 1_000_000_000
STATIC = '/tf_static'


@dataclass
class Item:
    """One message of a source."""

    time_ns: int
    topic: str
    typename: str
    message: Any

    def decode(self) -> Any:
        """The message."""
        return self.message


ODD = [
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e150, 1e30, -1e9, 1e6, 5e-324, 0.0, -0.0),
    *(-1.0, 1.0, 360.0),
]
NAMES = ['', 'x', '<script>alert(1)</script>', 'é' * 50, 'a\0b', 'wheel_fl', 'leg_1', 'y' * 3000]


def leaves(message: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[Any, str, Any]]:
    """Every field that holds no message itself: its owner, its name, its value."""
    for one in dataclasses.fields(message):
        if one.name.startswith('__'):
            continue
        value = getattr(message, one.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, (*path, one.name))
        elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
            for inner in value:
                yield from leaves(inner, (*path, one.name))
        elif not one.name.isupper():
            yield message, one.name, value


def set_stamp(message: Any, ns: int) -> None:
    """Give a message another stamp; those without a header stay."""
    if hasattr(message, 'header'):
        sec, nanosec = divmod(ns, SECOND)
        message.header.stamp.sec = max(-(2**31), min(2**31 - 1, sec))
        message.header.stamp.nanosec = nanosec


def stamp_of(message: Any) -> int:
    """Header stamp in nanoseconds."""
    return int(message.header.stamp.sec) * SECOND + int(message.header.stamp.nanosec)


def spoil_values(rng: random.Random, message: Any) -> None:
    """Numbers, arrays, names, frames, quaternions, covariances."""
    every = list(leaves(message))
    for _ in range(rng.choice([1, 1, 2, 6])):
        owner, name, value = rng.choice(every)
        if name in ('sec', 'nanosec'):
            continue
        if isinstance(value, np.ndarray):
            setattr(owner, name, _spoilt_array(rng, value, fixed='covariance' in name))
        elif isinstance(value, list):
            setattr(owner, name, _spoilt_names(rng, value))
        elif isinstance(value, float):
            setattr(owner, name, rng.choice(ODD))
        elif isinstance(value, str):
            setattr(owner, name, rng.choice(NAMES) + str(rng.randrange(10**6)))


def _spoilt_array(rng: random.Random, value: Any, fixed: bool) -> Any:
    made = np.array(value)
    kind = rng.randrange(5)
    if kind == 0 and not fixed:
        return made[: rng.randrange(len(made) + 1)]
    if kind == 1 and not fixed:
        return np.concatenate([made, made, made[:1]])
    if kind == 2:
        return -made
    if len(made):
        made[rng.randrange(len(made)) :] = rng.choice(ODD)
    return made


def _spoilt_names(rng: random.Random, names: list[Any]) -> list[Any]:
    made = list(names)
    kind = rng.randrange(5)
    if kind == 0:
        rng.shuffle(made)
    elif kind == 1 and made:
        del made[rng.randrange(len(made))]
    elif kind == 2 and made:
        made.append(rng.choice(made))
    elif kind == 3 and made:
        made[rng.randrange(len(made))] = rng.choice(NAMES)
    else:
        made = [f'{rng.randrange(10**9)}' for _ in range(rng.choice([0, 1, 40]))]
    return made


def spoil_stamp(rng: random.Random, message: Any) -> None:
    """Zero, backward, hours off, impossible."""
    if hasattr(message, 'header'):
        off = rng.choice([-1, 1, 100, 3600, -3600, 10**7, -(10**9)]) * SECOND
        ns = rng.choice([0, stamp_of(message) + off, -SECOND, 2**62])
        set_stamp(message, ns)
        if rng.random() < 0.1:
            message.header.stamp.nanosec = 2**32 - 1


@dataclass
class Spoiler:
    """One way of spoiling a stream while a fault lasts."""

    name: str
    share: float
    topics: frozenset[str]
    offset_ns: int

    def __str__(self) -> str:
        return f'{self.name} on {self.share:.0%} of {len(self.topics)} topics'


FAULTS = (
    *('values', 'stamps', 'loss', 'silence', 'double', 'burst', 'reorder', 'clock', 'mixed'),
    'repeat stamps',
)


def random_fault(rng: random.Random, topics: list[str]) -> Spoiler:
    """A fault on some of the topics."""
    chosen = frozenset(rng.sample(topics, rng.randint(1, len(topics))))
    name, share = rng.choice(FAULTS), rng.choice([0.01, 0.1, 0.5, 1.0, 1.0, 1.0])
    offset = rng.choice([-7200, -2, -0.5, 0.5, 2, 7200]) * SECOND if rng.random() < 0.9 else 0
    return Spoiler(name, 1.0 if name == 'silence' else share, chosen, round(offset))


def spoilt(
    rng: random.Random, source: list[Item], begin_ns: int, end_ns: int, counted: Counter[str]
) -> tuple[Spoiler, list[Item]]:
    """The source with a fault between two times; `counted`: spoilt messages by their kind."""
    fault = random_fault(rng, sorted({one.topic for one in source}))
    made: list[Item] = []
    last: dict[str, int] = {}
    for item in source:
        inside = begin_ns <= item.time_ns < end_ns and item.topic in fault.topics
        if inside and rng.random() < fault.share:
            kind = fault.name if fault.name != 'mixed' else rng.choice(FAULTS[:-2])
            counted[kind] += 1
            made += _spoilt_items(rng, kind, fault, item, last, end_ns)
            if item.topic == STATIC:  # sent once: when the fault ends, whoever sends it does again
                made.append(dataclasses.replace(item, time_ns=end_ns))
        else:
            made.append(item)
        if hasattr(item.message, 'header'):
            last[item.topic] = stamp_of(item.message)
    made.sort(key=lambda one: one.time_ns)
    return fault, made


def _spoilt_items(
    rng: random.Random, kind: str, fault: Spoiler, item: Item, last: dict[str, int], end_ns: int
) -> list[Item]:
    if kind in ('loss', 'silence'):
        return []
    if kind == 'double':
        return [item] * rng.choice([2, 3, 20])
    if kind == 'burst':
        return [dataclasses.replace(item, time_ns=end_ns)]
    if kind == 'reorder':
        late = round(rng.choice([0.01, 0.1, 1.0]) * SECOND)
        return [dataclasses.replace(item, time_ns=item.time_ns + late)]
    message = copy.deepcopy(item.message)
    if kind == 'values':
        spoil_values(rng, message)
    elif kind == 'stamps':
        spoil_stamp(rng, message)
    elif kind == 'clock':
        if hasattr(message, 'header'):
            set_stamp(message, stamp_of(message) + round(fault.offset_ns))
    elif item.topic in last:
        set_stamp(message, last[item.topic])
    return [dataclasses.replace(item, message=message)]
