"""Which joints the messages of a recording name."""

from __future__ import annotations

from itertools import islice

from veh_identification.runtime.bags.reader import BagReader

JOINT_STATE = 'sensor_msgs/msg/JointState'
#: Each message may name other joints: so many are looked at.
MESSAGES = 50


def named_joints(reader: BagReader, topic: str) -> list[str]:
    """Joints that the first messages of a topic name; none where it holds something else."""
    info = reader.topics.get('/' + topic.strip('/'))
    if info is None or info.typename != JOINT_STATE or not info.count:
        return []
    found: dict[str, None] = {}
    for item in islice(reader.messages([topic]), MESSAGES):
        found.update(dict.fromkeys(str(name) for name in item.message.name))
    return list(found)
