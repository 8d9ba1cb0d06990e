"""A stretch of a recording as a recording of its own."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from veh_identification.errors import BagError
from veh_identification.runtime.bags.definitions import Decoder
from veh_identification.runtime.bags.reader import BagReader
from veh_identification.runtime.bags.records import Channel, RawMessage
from veh_identification.runtime.bags.writer import BagWriter

#: Publishers of recordings whose profiles are not kept.
LATCHED_NAMES = ('/tf_static', '/robot_description')
#: Latched messages of one topic that a stretch takes over from before it began.
MOST_LATCHED = 1000


def write_stretch(reader: BagReader, out: Path, start_ns: int, stop_ns: int) -> int:
    """Write the messages with start <= log time < stop; how many.

    A subscriber that came at `start_ns` would have got the latched messages of before: they are
    written with that time. Memory does not depend on the length of either.
    """
    with BagWriter(out) as writer:
        for raw in _latched(reader, start_ns):
            _write(writer, raw, start_ns)
        for raw in reader.raw(start_ns=start_ns, stop_ns=stop_ns):
            _write(writer, raw, raw.time_ns)
        return sum(writer.counts.values())


def _latched(reader: BagReader, start_ns: int) -> list[RawMessage]:
    topics = [
        topic
        for topic, info in reader.topics.items()
        if info.qos.transient_local or topic.endswith(LATCHED_NAMES)
    ]
    if not topics:
        return []
    kept: dict[str, deque[RawMessage]] = {}
    for raw in reader.raw(topics, stop_ns=start_ns):
        kept.setdefault(raw.topic, deque(maxlen=MOST_LATCHED)).append(raw)
    return [raw for group in kept.values() for raw in group]


def _write(writer: BagWriter, raw: RawMessage, time_ns: int) -> None:
    """As it is; what nobody can decode here nobody could decode there, and is left out."""
    if raw.topic not in writer.counts and not _announced(writer, raw.channel):
        return
    try:
        payload = raw.payload
    except BagError:  # whoever reads the stretch counts it there
        payload = raw.data
    writer.write(raw.topic, raw.typename, payload, time_ns)


def _announced(writer: BagWriter, channel: Channel) -> bool:
    decoder = channel.decoder
    if not isinstance(decoder, Decoder):
        return False
    writer.add_topic(
        channel.topic,
        channel.typename,
        qos=channel.qos,
        definition=decoder.types.definition(channel.typename),
        type_hash=decoder.types.type_hash(channel.typename),
    )
    return True
