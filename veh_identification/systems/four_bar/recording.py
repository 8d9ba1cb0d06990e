"""From a bag to the samples of a linkage: crank angle, torque and, if known, the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError
from veh_identification.observation.streaming import Item
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.systems.four_bar.model import COORDINATES
from veh_identification.types import Array, Progress

TRUTH = tuple(f'{kind}[{name}]' for kind in ('position', 'velocity') for name in COORDINATES)
ANGLE, TORQUE = 'position[crank]', 'effort[crank]'


@dataclass(frozen=True, eq=False)
class LinkageRecording:
    """Samples in the order of arrival."""

    source: Path
    items: tuple[Item, ...]
    messages: int  # on joint_states
    unusable: int  # of them
    #: Columns of the truth under the names of their fields, and `stamps`; empty: none.
    truth: Mapping[str, Array] = field(default_factory=dict)


def read(bag: Path, progress: Progress | None = None) -> LinkageRecording:
    """Read a recording; messages without an angle of the crank are counted."""
    with BagReader(bag, on_error='skip', progress=progress) as reader:
        wanted: dict[str, list[str] | None] = {'joint_states': [ANGLE, TORQUE]}
        if '/truth/joint_states' in reader.topics:
            wanted['truth/joint_states'] = list(TRUTH)
        if '/joint_states' not in reader.topics:
            raise BagError(f'{bag}: there is no topic joint_states with the joint crank')
        columns = columns_of(reader, wanted)
    joint = columns['joint_states']
    nothing = np.full(len(joint), np.nan)
    angle = joint.values.get(ANGLE, nothing)
    good = np.isfinite(angle) & (joint.stamps_ns > 0)
    if not good.any():
        raise BagError(f'{bag}, topic joint_states: no message gives the position of crank')
    items = []
    for stamp, value, torque in zip(
        joint.stamps_ns[good].tolist(),
        angle[good].tolist(),
        joint.values.get(TORQUE, nothing)[good].tolist(),
        strict=True,
    ):
        items.append(Item(stamp, 'crank', (value,)))
        if math.isfinite(torque):
            items.append(Item(stamp, 'torque', (torque,)))
    truth: dict[str, Array] = {}
    if 'truth/joint_states' in columns:
        source = columns['truth/joint_states']
        known = {path: source.values[path] for path in TRUTH if path in source.values}
        if len(known) == len(TRUTH):
            truth = {'stamps': source.stamps_ns, **known}
    return LinkageRecording(
        bag,
        tuple(items),
        len(joint) + joint.undecodable,
        int(np.sum(~good)) + joint.undecodable,
        truth,
    )
