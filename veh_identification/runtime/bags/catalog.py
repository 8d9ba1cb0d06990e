"""The topics of all opened recordings together."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags.definitions import Decoder, UnknownType
from veh_identification.runtime.bags.info import TopicInfo
from veh_identification.runtime.bags.records import Channel


def full_topic(topic: str) -> str:
    """Topic name with exactly one leading slash; recordings and users write it both ways."""
    return '/' + topic.strip('/')


class Catalog:
    """Looks topics up and checks them; `named` stands for the recordings in sentences."""

    def __init__(self, named: str, channels: Iterable[Channel]):
        """Group the channels of all files by topic."""
        self.named = named
        self.channels: dict[str, list[Channel]] = {}
        for channel in channels:
            self.channels.setdefault(channel.topic, []).append(channel)
        self.topics = {
            topic: _topic_info(topic, self.channels[topic]) for topic in sorted(self.channels)
        }

    def topic_info(self, topic: str) -> TopicInfo:
        """One topic, named with or without leading slash; BagError when there is none."""
        topics = self.topics
        found = topics.get(full_topic(topic))
        if found is None:
            close = get_close_matches(full_topic(topic), topics, n=3, cutoff=0.5)
            known = (
                f'did you mean {" or ".join(close)}?'
                if close
                else f'it has {", ".join(topics) or "none"}.'
            )
            raise BagError(f'{self.named} has no topic {full_topic(topic)}; {known}')
        return found

    def expect_type(self, topic: str, *typenames: str) -> TopicInfo:
        """Check that a topic exists, is not empty and holds one of the given types."""
        info = self.topic_info(topic)
        wanted = [messages.normalize_type_name(name) for name in typenames]
        strange = [name for name in info.typenames if name not in wanted]
        if strange:
            raise BagError(
                f'{self.named}, topic {info.topic}: it holds {strange[0]}, expected '
                f'{" or ".join(wanted)}.'
            )
        if info.count == 0:
            raise BagError(f'{self.named}, topic {info.topic}: it holds no messages.')
        return info

    def describe_type(self, topic: str) -> dict[str, str]:
        """Paths and types of all fields of a topic's messages, by the recording's definition."""
        info = self.topic_info(topic)
        for channel in self.channels[info.topic]:
            if isinstance(channel.decoder, Decoder):
                return messages.describe_type(channel.typename, channel.decoder.types)
        raise BagError(f'{self.named}, topic {info.topic}: {info.problem}')


def _topic_info(topic: str, channels: list[Channel]) -> TopicInfo:
    decoder = channels[0].decoder
    problem = decoder.reason if isinstance(decoder, UnknownType) else ''
    fields = (
        {} if isinstance(decoder, UnknownType) else decoder.types.field_types(decoder.typename)
    )
    return TopicInfo(
        topic=topic,
        typename=channels[0].typename,
        count=sum(channel.count for channel in channels),
        qos=channels[0].qos,
        typenames=tuple(sorted({channel.typename for channel in channels})),
        has_header=fields.get('header') == 'std_msgs/msg/Header',
        problem=problem,
    )
