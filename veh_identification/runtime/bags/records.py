"""Messages as the reader hands them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from veh_identification.errors import BagError, MessageError
from veh_identification.runtime.bags.definitions import Decoder, UnknownType
from veh_identification.runtime.cdr.fields import Field
from veh_identification.runtime.qos import QoS


class Channel:
    """One topic of one recording."""

    __slots__ = ('bag', 'count', 'decoder', 'qos', 'rank', 'topic', 'typename')

    def __init__(self, bag: Path, topic: str, decoder: Decoder | UnknownType, qos: QoS):
        """Start without messages."""
        self.bag = bag
        self.topic = topic
        self.typename = decoder.typename
        self.decoder = decoder
        self.qos = qos
        self.count = 0
        self.rank = 0

    def reader(self) -> Callable[[bytes], Any]:
        """Function from recorded bytes to the message."""
        return self.decoder.decode

    def field_reader(self, fields: Sequence[Field]) -> Callable[[bytes], tuple[Any, ...]]:
        """Function from recorded bytes to some fields of the message."""
        return self.decoder.field_reader(fields)

    def located(self, error: MessageError, index: int, time_ns: int) -> BagError:
        """The error with recording, topic, number and log time of the message before it."""
        return BagError(
            f'{self.bag}, topic {self.topic}, message {index} at log time {time_ns} ns: {error}'
        )


class RawMessage:
    """One recorded message, decoded only when asked."""

    __slots__ = ('channel', 'data', 'index', 'time_ns', 'topic', 'typename')

    def __init__(self, time_ns: int, channel: Channel, data: bytes, index: int):
        """Keep log time, channel, recorded bytes and number within the topic."""
        self.time_ns = time_ns
        self.channel = channel
        self.topic = channel.topic
        self.typename = channel.typename
        self.data = data
        self.index = index

    @property
    def payload(self) -> bytes:
        """CDR bytes, converted when the recording is of ROS 1."""
        try:
            return self.channel.decoder.to_cdr(self.data)
        except MessageError as error:
            raise self.located(error) from error

    def decode(self) -> Any:
        """Message; BagError naming recording, topic and number when the bytes do not fit."""
        try:
            return self.channel.decoder.decode(self.data)
        except MessageError as error:
            raise self.located(error) from error

    def located(self, error: MessageError) -> BagError:
        """The error with recording, topic, number and log time before it."""
        return self.channel.located(error, self.index, self.time_ns)


class DecodedMessage(NamedTuple):
    """One message with its log time."""

    time_ns: int
    topic: str
    typename: str
    message: Any


Item = tuple[int, Channel, bytes]
Stream = Iterator[Item]


def sort_ties(stream: Stream) -> Stream:
    """Sort messages of equal log time by topic; those of one topic stay as recorded."""
    last = next(stream, None)
    if last is None:
        return
    group: list[Item] = []  # ties before `last`
    for item in stream:
        if item[0] == last[0]:
            group.append(last)
        elif group:
            group.append(last)
            group.sort(key=_rank)
            yield from group
            group = []
        else:
            yield last
        last = item
    group.append(last)
    group.sort(key=_rank)
    yield from group


def _rank(item: Item) -> int:
    return item[1].rank
