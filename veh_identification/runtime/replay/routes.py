"""How recorded messages reach the subscriptions of their topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from veh_identification.errors import MessageError
from veh_identification.runtime.cdr.fields import Field, FieldCallback, message_reader
from veh_identification.runtime.replay.node import Subscription


class Recorded(Protocol):
    """One message of a source, decoded only when a node wants it."""

    time_ns: int
    topic: str
    typename: str

    def decode(self) -> Any:
        """The message object."""
        ...


class RecordedChannel(Protocol):
    """One topic of a source of (log time, channel, data)."""

    topic: str
    typename: str

    def reader(self) -> Callable[[Any], Any]:
        """Function from data to the message."""
        ...

    def field_reader(self, fields: Sequence[Field]) -> Callable[[Any], tuple[Any, ...]]:
        """Function from data to some fields of the message."""
        ...

    def located(self, error: MessageError, index: int, time_ns: int) -> Exception:
        """The error, naming the message."""
        ...


class LooseChannel:
    """A topic of messages that come as objects: those are the data."""

    def __init__(self, topic: str, typename: str) -> None:
        self.topic = topic
        self.typename = typename

    def reader(self) -> Callable[[Recorded], Any]:
        """Function from data to the message."""
        return lambda item: item.decode()

    def field_reader(self, fields: Sequence[Field]) -> Callable[[Recorded], tuple[Any, ...]]:
        """Function from data to some fields of the message."""
        read = message_reader(fields)
        return lambda item: read(item.decode())

    def located(self, error: MessageError, index: int, time_ns: int) -> Exception:
        """The error as it is: such messages say themselves where they come from."""
        return error


def as_items(source: Iterable[Recorded]) -> Iterator[tuple[int, RecordedChannel, Recorded]]:
    """Message objects as (log time, channel, data)."""
    channels: dict[tuple[str, str], LooseChannel] = {}
    for item in source:
        key = (item.topic, item.typename)
        channel = channels.get(key)
        if channel is None:
            channel = channels[key] = LooseChannel(*key)
        yield item.time_ns, channel, item


class Route(NamedTuple):
    """What is done with the data of a channel."""

    topic: str
    read: Callable[[Any], Any]
    receivers: tuple[Callable[[Any], None], ...]


def make_route(channel: RecordedChannel, subscriptions: Sequence[Subscription]) -> Route:
    """The way of a channel's messages to the subscriptions, of which there may be none."""
    for subscription in subscriptions:
        if subscription.typename != channel.typename:
            raise MessageError(
                f'topic {channel.topic}: the recording holds {channel.typename}, '
                f'node {subscription.node_name} expects {subscription.typename}'
            )
    callbacks = tuple(subscription.callback for subscription in subscriptions)
    if len(callbacks) == 1 and isinstance(callbacks[0], FieldCallback):
        only = callbacks[0]
        return Route(channel.topic, channel.field_reader(only.fields), (only.function,))
    return Route(channel.topic, channel.reader(), callbacks)
