"""MCAP files as a source of messages."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from veh_identification.errors import BagError
from veh_identification.runtime.bags.mcap import format as mcap
from veh_identification.runtime.bags.mcap.index import read_head, read_summary, scan
from veh_identification.runtime.bags.qos_text import parse_qos
from veh_identification.runtime.bags.source import (
    Connection,
    Definition,
    Item,
    Problems,
    merge_in_time,
)

ENCODINGS = {'ros2msg': 'msg', 'ros2idl': 'idl', 'omgidl': 'idl', 'ros1msg': 'msg'}
SEQUENCE_HEAD = struct.Struct('<BQHIQQ')  # a whole message record up to its payload
#: Times of ROS are signed; the format has one more bit.
LAST_NS = 2**63 - 1


class McapSource:
    """One MCAP file; every chunk is checked against its checksum when it is read."""

    def __init__(self, path: Path, problems: Problems, shown: Path | None = None):
        """Open the file and find out what it holds; sentences name it as `shown`."""
        self.path = shown or path
        try:
            self.size = path.stat().st_size
            self.file = path.open('rb')
        except OSError as error:
            raise BagError(f'{self.path} cannot be opened: {error.strerror}.') from error
        try:
            self._open(problems)
        except (mcap.FormatError, struct.error, UnicodeDecodeError) as error:
            self.file.close()
            raise BagError(f'{self.path} cannot be read as an mcap recording: {error}.') from error
        except BaseException:
            self.file.close()
            raise

    def _open(self, problems: Problems) -> None:
        data_start = read_head(self.file)
        index = read_summary(self.file, self.size, data_start)
        self.has_summary = index is not None
        if index is None:
            index = scan(self.file, self.size, data_start)
        self.index = index
        self.truncated = bool(index.complaint)
        if index.complaint:
            problems.lost_bytes += self.size - index.end_of_data
            problems.meet(
                f'{self.path} is truncated or damaged: {index.complaint}; {index.message_count} '
                f'messages before that can be read when damaged parts are skipped.'
            )
        if index.damaged_chunks and not index.channels:
            # Without topics nobody would read the chunks and meet what is wrong with them.
            problems.meet(
                f'{self.path} is damaged: no topic is known, {index.damaged_chunks} chunks cannot '
                f'be read ({index.damage}).'
            )
        self.message_count = index.message_count
        self.start_ns, self.end_ns = index.start_ns, index.end_ns
        self.connections = [self._connection(channel) for channel in index.channels.values()]

    def _connection(self, channel: mcap.Channel) -> Connection:
        schema = self.index.schemas.get(channel.schema_id, mcap.Schema('', '', ''))
        return Connection(
            id=channel.id,
            topic=channel.topic,
            typename=schema.name,
            count=self.index.counts.get(channel.id, 0),
            definition=Definition(ENCODINGS.get(schema.encoding, 'none'), schema.text),
            qos=parse_qos(channel.metadata.get('offered_qos_profiles', '')),
            serialization=channel.encoding,
        )

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        """Messages of the channels `ids` in the order of log time, ties as recorded."""
        window = (-1 if start_ns is None else start_ns, 2**64 if stop_ns is None else stop_ns)
        wanted = frozenset(ids)
        return merge_in_time(
            (max(chunk.start_ns, 0), partial(self._chunk_items, chunk, wanted, window, problems))
            for chunk in self.index.chunks
            if chunk.end_ns >= window[0] and chunk.start_ns < window[1]
        )

    def _chunk_items(
        self,
        chunk: mcap.ChunkEntry,
        wanted: frozenset[int],
        window: tuple[int, int],
        problems: Problems,
    ) -> Iterator[Item]:
        try:
            content = self._content(chunk)
            found, beyond = _messages(content, wanted, window)
        except (mcap.FormatError, struct.error, UnicodeDecodeError) as error:
            problems.lost_chunks += 1
            problems.lost_bytes += chunk.length
            problems.meet(
                f'{self.path} is damaged: the messages in the {chunk.length} bytes from byte '
                f'{chunk.offset} on cannot be read, {error}.',
                error,
            )
            return iter(())
        if beyond:
            problems.meet(
                f'{self.path} is damaged: {beyond} messages in the {chunk.length} bytes from byte '
                f'{chunk.offset} on have log times beyond the year 2262.'
            )
        return iter(found)

    def _content(self, chunk: mcap.ChunkEntry) -> bytes:
        """Records of a chunk, or of a run of messages outside chunks."""
        if chunk.offset + chunk.length > self.size:
            raise mcap.FormatError('the file ends within them')
        self.file.seek(chunk.offset)
        data = self.file.read(chunk.length)
        if len(data) < chunk.length:
            raise mcap.FormatError('the file ends within them')
        if chunk.bare:
            return data
        opcode, length = mcap.RECORD.unpack_from(data)
        if opcode != mcap.CHUNK or mcap.RECORD.size + length != chunk.length:
            raise mcap.FormatError('the index points to something that is not a chunk')
        return mcap.unpack_chunk(data[mcap.RECORD.size :])

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def _messages(
    content: bytes, wanted: frozenset[int], window: tuple[int, int]
) -> tuple[list[Item], int]:
    """Messages of some channels within a time window, sorted by log time; those beyond any."""
    start_ns, stop_ns = window[0], min(window[1], LAST_NS + 1)
    beyond = 0
    found: list[Item] = []
    position, end = 0, len(content)
    in_order, previous = True, -1
    head, unpack, skip = SEQUENCE_HEAD.size, SEQUENCE_HEAD.unpack_from, mcap.RECORD.size
    while position < end:
        if content[position] == mcap.MESSAGE:
            _, length, channel, _, time_ns, _ = unpack(content, position)
            following = position + skip + length
            if following > end or length < head - skip:
                raise mcap.FormatError('a message exceeds its chunk')
            if channel in wanted and start_ns <= time_ns < stop_ns:
                found.append((time_ns, channel, content[position + head : following]))
                in_order = in_order and time_ns >= previous
                previous = time_ns
            elif LAST_NS < time_ns < window[1] and channel in wanted:
                beyond += 1
        else:
            _, length = mcap.RECORD.unpack_from(content, position)
            following = position + skip + length
            if following > end:
                raise mcap.FormatError('a record exceeds its chunk')
        position = following
    if not in_order:
        found.sort(key=lambda item: item[0])
    return found, beyond
