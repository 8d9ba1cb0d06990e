"""Reading recordings: one or several, of any kind, merged in a defined order.

Messages come in the order of (log time, recording as given, topic name, place in the recording),
which depends neither on the storage nor on what else is selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from veh_identification.errors import BagError, MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags.catalog import Catalog, full_topic
from veh_identification.runtime.bags.definitions import Decoder, UnknownType, make_decoder
from veh_identification.runtime.bags.folder import Recording, open_recording
from veh_identification.runtime.bags.info import BagInfo, TopicInfo
from veh_identification.runtime.bags.records import (
    Channel,
    DecodedMessage,
    Item,
    RawMessage,
    Stream,
    sort_ties,
)
from veh_identification.runtime.bags.source import Problems, Selection, Source, merge_in_time

#: Messages in a block; progress is reported as often.
BLOCK = 8192
#: No robot has as many topics; each costs time for its definition.
MOST_TOPICS = 5000


class BagReader:
    """Recordings opened for reading; use it as a context manager."""

    def __init__(
        self,
        paths: Path | str | Sequence[Path | str],
        *,
        on_error: str = 'stop',
        progress: Callable[[int, int], None] | None = None,
    ):
        """Prepare to read.

        Args:
            paths: rosbag2 folders, .mcap or .db3 files, ROS 1 bags, in any mixture.
            on_error: `stop` at damage, or `skip` it and count (see `problems`).
            progress: Called now and then with messages done and messages in all.
        """
        if isinstance(paths, (str, Path)):
            paths = [paths]
        if not paths:
            raise BagError('No recording was given.')
        if on_error not in ('stop', 'skip'):
            raise BagError(f'on_error must be "stop" or "skip", not {on_error!r}.')
        self.paths = [Path(path) for path in paths]
        self.problems = Problems(on_error)
        self.progress = progress
        self.recordings: list[Recording] = []
        self.catalog = Catalog('', [])
        self._decoders: dict[tuple[Any, ...], Decoder | UnknownType] = {}
        self._channels: dict[int, dict[int, Channel]] = {}  # of each source by its id

    def __enter__(self) -> BagReader:
        """Open all recordings."""
        try:
            for path in self.paths:
                recording = open_recording(path, self.problems)
                self.recordings.append(recording)
                self._add_channels(recording)
            everything = (c for group in self._channels.values() for c in group.values())
            self.catalog = Catalog(self.named, everything)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all recordings."""
        self.close()

    def close(self) -> None:
        """Close all recordings."""
        for recording in self.recordings:
            recording.close()
        self.recordings = []

    def _add_channels(self, recording: Recording) -> None:
        backend = messages.rosbags_backend()
        added: list[Channel] = []
        for source in recording.sources:
            if len(source.connections) > MOST_TOPICS:
                raise BagError(
                    f'{source.path} has {len(source.connections)} topics, at most {MOST_TOPICS} '
                    f'are read.'
                )
            channels = {}
            for connection in source.connections:
                key = (connection.typename, connection.definition, connection.serialization)
                decoder = self._decoders.get((*key, recording.distribution))
                if decoder is None:
                    decoder = make_decoder(connection, backend, recording.distribution)
                    self._decoders[(*key, recording.distribution)] = decoder
                topic = full_topic(connection.topic)
                channel = Channel(recording.path, topic, decoder, connection.qos)
                channel.count = connection.count
                channels[connection.id] = channel
            self._channels[id(source)] = channels
            added += channels.values()
        order = sorted({(channel.topic, channel.typename) for channel in added})
        ranks = {key: rank for rank, key in enumerate(order)}
        for channel in added:
            channel.rank = ranks[(channel.topic, channel.typename)]

    @property
    def topics(self) -> dict[str, TopicInfo]:
        """Topics of all recordings together, by full name."""
        return self.catalog.topics

    def info(self) -> list[BagInfo]:
        """What each recording holds."""
        return [self._bag_info(recording) for recording in self.recordings]

    def _bag_info(self, recording: Recording) -> BagInfo:
        counts: dict[str, int] = {}
        for source in recording.sources:
            for channel in self._channels[id(source)].values():
                counts[channel.topic] = counts.get(channel.topic, 0) + channel.count
        filled = [source for source in recording.sources if source.message_count]
        return BagInfo(
            path=recording.path,
            storage=recording.storage,
            compression=recording.compression,
            files=len(recording.sources),
            message_count=sum(source.message_count for source in recording.sources),
            start_ns=min((source.start_ns for source in filled), default=0),
            end_ns=max((source.end_ns for source in filled), default=0),
            truncated=any(source.truncated for source in recording.sources),
            distribution=recording.distribution,
            custom_data=recording.custom_data,
            counts=dict(sorted(counts.items())),
        )

    @property
    def message_count(self) -> int:
        """Messages of all recordings."""
        return sum(info.message_count for info in self.info())

    @property
    def named(self) -> str:
        """The recordings' names for sentences."""
        return ', '.join(str(path) for path in self.paths)

    def topic_info(self, topic: str) -> TopicInfo:
        """One topic, named with or without leading slash; BagError when there is none."""
        return self.catalog.topic_info(topic)

    def expect_type(self, topic: str, *typenames: str) -> TopicInfo:
        """Check that a topic exists, is not empty and holds one of the given types."""
        return self.catalog.expect_type(topic, *typenames)

    def describe_type(self, topic: str) -> dict[str, str]:
        """Paths and types of all fields of a topic's messages, by the recording's definition."""
        return self.catalog.describe_type(topic)

    def raw(
        self,
        topics: Iterable[str] | None = None,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Iterator[RawMessage]:
        """Messages of the given topics (or all) with start <= log time < stop, not decoded."""
        seen: dict[str, int] = {}
        for time_ns, channel, data in self.items(topics, start_ns=start_ns, stop_ns=stop_ns):
            topic = channel.topic
            seen[topic] = index = seen.get(topic, -1) + 1
            yield RawMessage(time_ns, channel, data, index)

    def items(
        self,
        topics: Iterable[str] | None = None,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Iterator[Item]:
        """The same as (log time, channel, data), with nothing made for each message."""
        selection = self._select(topics, start_ns, stop_ns)
        stream = self._merged(selection, in_order=True)
        return stream if self.progress is None else self._counted(stream, self._total(selection))

    def _counted(self, stream: Stream, total: int) -> Iterator[Item]:
        assert self.progress is not None
        done = 0
        for item in stream:
            done += 1
            if done % BLOCK == 0:
                self.progress(done, max(total, done))
            yield item
        self.progress(done, done)  # a time window may have left some out

    def blocks(
        self,
        topics: Iterable[str] | None = None,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Iterator[list[Item]]:
        """The same as (log time, channel, data) in lists, faster; ties of topics in any order."""
        selection = self._select(topics, start_ns, stop_ns)
        total, done = self._total(selection), 0
        stream = self._merged(selection, in_order=False)
        while block := list(islice(stream, BLOCK)):
            done += len(block)
            if self.progress is not None:
                self.progress(done, max(total, done))
            yield block

    def messages(
        self,
        topics: Iterable[str] | None = None,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Iterator[DecodedMessage]:
        """Decoded messages; under on_error `skip` those that cannot be decoded are counted."""
        for raw in self.raw(topics, start_ns=start_ns, stop_ns=stop_ns):
            try:
                message = raw.decode()
            except BagError as error:
                self._count_undecodable(raw, error)
                continue
            yield DecodedMessage(raw.time_ns, raw.topic, raw.typename, message)

    def note_undecodable(self, raw: RawMessage, error: MessageError) -> None:
        """Raise or count a message whose bytes do not fit its type."""
        self._count_undecodable(raw, raw.located(error))

    def _count_undecodable(self, raw: RawMessage, error: BagError) -> None:
        counts = self.problems.undecodable
        counts[raw.topic] = counts.get(raw.topic, 0) + 1
        if self.problems.on_error == 'stop':
            raise error
        if counts[raw.topic] == 1:  # one sentence a topic is enough
            self.problems.meet(str(error))

    def _select(
        self, topics: Iterable[str] | None, start_ns: int | None, stop_ns: int | None
    ) -> Selection:
        names = None
        if topics is not None:
            names = frozenset(self.topic_info(topic).topic for topic in topics)
        return Selection(names, start_ns, stop_ns)

    def _total(self, selection: Selection) -> int:
        return sum(info.count for info in self.topics.values() if selection.takes(info.topic))

    def _merged(self, selection: Selection, *, in_order: bool) -> Stream:
        """Messages of all recordings; `in_order` sorts ties within a recording by topic name."""

        def opened(recording: Recording) -> Stream:
            streams = [
                (source.start_ns, partial(self._source_stream, source, selection))
                for source in recording.sources
            ]
            merged = streams[0][1]() if len(streams) == 1 else merge_in_time(streams)
            return sort_ties(merged) if in_order else merged

        def first(recording: Recording) -> int:
            return min((source.start_ns for source in recording.sources), default=0)

        if len(self.recordings) == 1:
            return opened(self.recordings[0])
        return merge_in_time([(first(r), partial(opened, r)) for r in self.recordings])

    def _source_stream(self, source: Source, selection: Selection) -> Stream:
        """Messages of one file; whether all that its index promises came is checked."""
        channels = self._channels[id(source)]
        ids = [key for key, channel in channels.items() if selection.takes(channel.topic)]
        if not ids:
            return
        start_ns, stop_ns = selection.start_ns, selection.stop_ns
        found = 0
        for time_ns, key, data in source.items(ids, start_ns, stop_ns, self.problems):
            found += 1
            yield time_ns, channels[key], data
        expected = sum(channels[key].count for key in ids)
        if start_ns is None and stop_ns is None and found != expected:
            self.problems.meet(
                f'{source.path} is damaged: it holds {found} messages of the selected topics, '
                f'its index promises {expected}.'
            )
