"""From a bag to the samples of a mechanism: its sensors, forces and, if known, the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError
from veh_identification.observation.streaming import Item
from veh_identification.runtime.bags import BagReader, Columns, columns_of
from veh_identification.systems.mechanism.configuration import Description
from veh_identification.systems.mechanism.streams import (
    JOINT_STATE,
    JOINTS,
    LARGEST,
    delays_ns,
    joint_streams,
    topic_streams,
)
from veh_identification.types import Array, Progress

TRUTH = 'truth/joint_states'
Arrived = list[tuple[int, Item]]


@dataclass(frozen=True, eq=False)
class MechanismRecording:
    """Samples in the order of arrival."""

    source: Path
    items: tuple[Item, ...]
    counts: Mapping[str, int]  # usable samples of every stream
    unusable: Mapping[str, tuple[int, int]]  # by topic: messages, and of how many
    #: Columns of the truth under the names of their fields, and `stamps`; empty: none.
    truth: Mapping[str, Array] = field(default_factory=dict)


def read(
    bag: Path, description: Description, progress: Progress | None = None
) -> MechanismRecording:
    """Read a recording; messages that hold nothing usable are counted."""
    by_joint, by_topic = joint_streams(description), topic_streams(description)
    with BagReader(bag, on_error='skip', progress=progress) as reader:
        there = {topic.lstrip('/') for topic, info in reader.topics.items() if info.count}
        wanted: dict[str, list[str] | None] = {}
        if JOINTS in there and by_joint:
            reader.expect_type(JOINTS, JOINT_STATE)
            wanted[JOINTS] = [one.path for one in by_joint]
        for one in by_topic:
            if one.topic in there:
                reader.expect_type(one.topic, one.typename)
                wanted[one.topic] = [*(wanted.get(one.topic) or []), *one.fields]
        if not wanted:
            topics = dict.fromkeys([JOINTS] * bool(by_joint) + [one.topic for one in by_topic])
            raise BagError(f'{bag}: there is no topic {", ".join(topics)} of {description.name}')
        if TRUTH in there:
            wanted[TRUTH] = None
        columns = columns_of(reader, wanted)
    arrived: Arrived = []
    unusable = {}
    if JOINTS in columns:
        lost = _take_joints(columns[JOINTS], description, arrived)
        unusable[JOINTS] = lost, len(columns[JOINTS]) + columns[JOINTS].undecodable
    for one in by_topic:
        if one.topic in columns:
            table = columns[one.topic]
            rows = zip(
                table.stamps_ns.tolist(),
                table.log_times_ns.tolist(),
                table.matrix(*one.fields).tolist(),
                strict=True,
            )
            lost = table.undecodable
            for stamp, log, row in rows:
                values = one.values(row)
                if values is None or stamp <= 0:
                    lost += 1
                else:
                    arrived.append((log, Item(stamp, one.name, values)))
            unusable[one.topic] = lost, len(table) + table.undecodable
    sensors = [one.name for one in by_joint if not one.drives] + [one.name for one in by_topic]
    counts = dict.fromkeys([*sensors, *description.drives], 0)
    for _, item in arrived:
        counts[item.key] += 1
    if not any(counts[name] for name in sensors):
        raise BagError(
            f'{bag}: no message of {", ".join(name for name in wanted if name != TRUTH)} holds '
            f'anything of the sensors {", ".join(sensors)}'
        )
    delays = delays_ns(description)
    arrived.sort(key=lambda pair: pair[0])  # stable: a stream stays in its own order
    items = tuple(
        Item(item.time_ns - delays[item.key], item.key, item.payload) for _, item in arrived
    )
    return MechanismRecording(bag, items, counts, unusable, _truth(columns.get(TRUTH)))


def _take_joints(table: Columns, description: Description, arrived: Arrived) -> int:
    """Samples of joint_states; returns how many messages hold none."""
    streams = joint_streams(description)
    nothing = np.full(len(table), np.nan)
    values = np.stack([table.values.get(one.path, nothing) for one in streams], axis=1)
    good = np.isfinite(values) & (np.abs(values) <= LARGEST) & (table.stamps_ns > 0)[:, None]
    empty = ~good.any(axis=1)
    for stamp, log, row, fine in zip(
        table.stamps_ns.tolist(),
        table.log_times_ns.tolist(),
        values.tolist(),
        good.tolist(),
        strict=True,
    ):
        for one, value, there in zip(streams, row, fine, strict=True):
            if there:
                arrived.append((log, Item(stamp, one.name, (value,))))
    return int(np.sum(empty)) + table.undecodable


def _truth(table: Columns | None) -> dict[str, Array]:
    if table is None:
        return {}
    known = {
        path: values
        for path, values in table.values.items()
        if path.startswith(('position[', 'velocity[')) and np.isfinite(values).all()
    }
    return {'stamps': table.stamps_ns, **known} if known else {}
