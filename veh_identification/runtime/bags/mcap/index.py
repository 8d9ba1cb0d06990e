"""Finding out what an MCAP file holds: from its summary or, without one, by going through it."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO

from veh_identification.runtime.bags.mcap import format as mcap

#: Runs of messages outside chunks are read in pieces of about this size.
RUN_BYTES = 4 * 2**20


@dataclass
class McapIndex:
    """Content of a file: definitions, topics, where the messages are and how many."""

    schemas: dict[int, mcap.Schema] = field(default_factory=dict)
    channels: dict[int, mcap.Channel] = field(default_factory=dict)
    chunks: list[mcap.ChunkEntry] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    message_count: int = 0
    start_ns: int = 2**63 - 1
    end_ns: int = 0
    end_of_data: int = 0
    complaint: str = ''  # why the file is not whole
    checked: bool = False  # the summary's checksum was there and right
    damaged_chunks: int = 0
    damage: str = ''  # of the first of them

    def add_definition(self, opcode: int, body: bytes) -> None:
        """Take a schema or channel record."""
        if opcode == mcap.SCHEMA:
            key, schema = mcap.read_schema(body)
            self.schemas[key] = schema
        elif opcode == mcap.CHANNEL:
            channel = mcap.read_channel(body)
            self.channels[channel.id] = channel

    def add_message(self, channel: int, time_ns: int) -> None:
        """Count a message."""
        self.counts[channel] = self.counts.get(channel, 0) + 1
        self.message_count += 1
        self.start_ns = min(self.start_ns, time_ns)
        self.end_ns = max(self.end_ns, time_ns)


def read_head(file: BinaryIO) -> int:
    """Check magic and header record; the position behind them."""
    file.seek(0)
    magic = file.read(len(mcap.MAGIC))
    if not magic:
        raise mcap.FormatError('the file is empty')
    if magic != mcap.MAGIC:
        raise mcap.FormatError('it does not start like an mcap file')
    head = file.read(mcap.RECORD.size)
    if len(head) < mcap.RECORD.size:
        raise mcap.FormatError('it ends within its header')
    opcode, length = mcap.RECORD.unpack(head)
    if opcode != mcap.HEADER or length > 2**20:
        raise mcap.FormatError('its header record is damaged')
    body = file.read(length)
    if len(body) < length:
        raise mcap.FormatError('it ends within its header')
    return file.tell()


def read_summary(file: BinaryIO, size: int, data_start: int) -> McapIndex | None:
    """Index from the summary section; None when it is missing, incomplete or damaged."""
    if size < data_start + mcap.FOOTER_SIZE + len(mcap.MAGIC):
        return None
    file.seek(size - mcap.FOOTER_SIZE - len(mcap.MAGIC))
    footer = file.read()
    opcode, length = mcap.RECORD.unpack_from(footer)
    if footer[-8:] != mcap.MAGIC or opcode != mcap.FOOTER or length != mcap.FOOTER_BODY.size:
        return None
    start, _, crc = mcap.FOOTER_BODY.unpack_from(footer, mcap.RECORD.size)
    footer_start = size - len(footer)
    if not data_start <= start < footer_start:
        return None
    file.seek(start)
    section = file.read(footer_start - start)
    if crc and zlib.crc32(section + footer[: mcap.FOOTER_SIZE - mcap.U32.size]) != crc:
        return None
    try:
        return _parse_summary(section, start, checked=crc != 0)
    except (mcap.FormatError, struct.error, UnicodeDecodeError):
        return None


def _parse_summary(section: bytes, start: int, *, checked: bool) -> McapIndex | None:
    index = McapIndex(end_of_data=start, checked=checked)
    found_statistics = False
    for record in mcap.records(section):
        body = section[record.start : record.end]
        if record.opcode in (mcap.SCHEMA, mcap.CHANNEL):
            index.add_definition(record.opcode, body)
        elif record.opcode == mcap.CHUNK_INDEX:
            index.chunks.append(mcap.read_chunk_index(body))
        elif record.opcode == mcap.STATISTICS:
            found_statistics = True
            count, first, last, counts = mcap.read_statistics(body)
            index.message_count, index.start_ns, index.end_ns = count, first, last
            index.counts = counts
    usable = found_statistics and set(index.counts) <= set(index.channels)
    # Messages outside chunks have no index: such a file must be gone through.
    usable = usable and (index.message_count == 0 or bool(index.chunks))
    usable = usable and all(c.schema_id in index.schemas for c in index.channels.values())
    if not usable:
        return None
    index.chunks.sort(key=lambda chunk: chunk.offset)
    return index


def scan(file: BinaryIO, size: int, data_start: int) -> McapIndex:
    """Index made by going through the file up to its end or to the first broken record."""
    index = McapIndex(end_of_data=data_start)
    run = _Run(index)
    position = data_start
    finished = False
    while not finished:
        file.seek(position)
        head = file.read(mcap.RECORD.size)
        if len(head) < mcap.RECORD.size:
            index.complaint = 'it ends without an index, as after a power cut'
            break
        opcode, length = mcap.RECORD.unpack(head)
        end = position + mcap.RECORD.size + length
        if opcode in (mcap.DATA_END, mcap.FOOTER):
            finished = True
        elif end > size or not 0 < opcode < 0x80:
            index.complaint = f'the record at byte {position} is cut off or damaged'
            break
        else:
            body = file.read(length) if opcode <= mcap.CHUNK else b''
            _scan_record(index, run, position, end, opcode, body)
        position = end
        index.end_of_data = position
    run.close()
    return index


def _scan_record(
    index: McapIndex, run: _Run, position: int, end: int, opcode: int, body: bytes
) -> None:
    """Take one record of the data section into the index."""
    if opcode == mcap.MESSAGE and len(body) >= mcap.MESSAGE_HEAD.size:
        channel, _, time_ns, _ = mcap.MESSAGE_HEAD.unpack_from(body)
        index.add_message(channel, time_ns)
        run.add(position, end, time_ns)
        return
    run.close()
    if opcode in (mcap.SCHEMA, mcap.CHANNEL):
        try:
            index.add_definition(opcode, body)
        except (mcap.FormatError, struct.error, UnicodeDecodeError) as error:
            index.complaint = f'the definition at byte {position} is damaged ({error})'
    elif opcode == mcap.CHUNK:
        try:
            content = mcap.unpack_chunk(body)
            found = _scan_chunk(index, content)
        except (mcap.FormatError, struct.error, UnicodeDecodeError) as error:
            index.damage = index.damage or str(error)
            # Kept in the list, so that reading meets the damage and reports or counts it.
            found = mcap.chunk_times(body)
            index.damaged_chunks += 1
        index.chunks.append(mcap.ChunkEntry(*found, position, end - position))


def _scan_chunk(index: McapIndex, content: bytes) -> tuple[int, int]:
    """Definitions and message counts of a chunk; its first and last log time."""
    messages: list[tuple[int, int]] = []
    for record in mcap.records(content):
        if record.opcode == mcap.MESSAGE:
            channel, _, time_ns, _ = mcap.MESSAGE_HEAD.unpack_from(content, record.start)
            messages.append((channel, time_ns))
        elif record.opcode in (mcap.SCHEMA, mcap.CHANNEL):
            index.add_definition(record.opcode, content[record.start : record.end])
    for channel, time_ns in messages:
        index.add_message(channel, time_ns)
    times = [time_ns for _, time_ns in messages]
    return (min(times), max(times)) if times else (0, 0)


class _Run:
    """Collects neighbouring messages outside chunks into pieces that are read at once."""

    def __init__(self, index: McapIndex):
        self.index = index
        self.begin = -1
        self.end = -1
        self.times: list[int] = []

    def add(self, begin: int, end: int, time_ns: int) -> None:
        if self.times and end - self.begin > RUN_BYTES:
            self.close()
        if not self.times:
            self.begin = begin
        self.end = end
        self.times.append(time_ns)

    def close(self) -> None:
        if self.times:
            self.index.chunks.append(
                mcap.ChunkEntry(
                    min(self.times), max(self.times), self.begin, self.end - self.begin, bare=True
                )
            )
            self.times = []
