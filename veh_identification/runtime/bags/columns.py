"""From topics to columns of numbers, for offline work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from veh_identification.errors import BagError, MessageError
from veh_identification.runtime.bags.definitions import HEADER, Decoder
from veh_identification.runtime.bags.paths import ALL, ColumnPath, FieldTypes, expand_paths
from veh_identification.runtime.bags.reader import BagReader, Item
from veh_identification.runtime.bags.records import Channel, RawMessage
from veh_identification.runtime.cdr.layout import Layout, find_layout

NANOSECONDS = 1_000_000_000
#: So many messages of one stamp are no accident.
UNSTAMPED = 10


@dataclass
class Columns:
    """One topic as arrays, one row a message in the order of the reader."""

    topic: str
    typename: str
    has_header: bool  # False: stamps_ns are log times, the messages have no stamp
    stamps_ns: np.ndarray
    log_times_ns: np.ndarray
    values: dict[str, np.ndarray]  # (N,), or (N, length) for arrays of fixed length
    frame_ids: tuple[str, ...] = ()
    undecodable: int = 0
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of named sequences

    def __len__(self) -> int:
        return len(self.stamps_ns)

    def __getitem__(self, path: str) -> np.ndarray:
        try:
            return self.values[path]
        except KeyError:
            raise BagError(
                f'Topic {self.topic} has no column {path!r}; it has {list(self.values)}.'
            ) from None

    def matrix(self, *paths: str) -> np.ndarray:
        """Several columns side by side, (N, number of paths)."""
        return np.column_stack([self[path] for path in paths])


def read_columns(
    bags: Path | str | Sequence[Path | str],
    topics: Mapping[str, Sequence[str] | None],
    *,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    on_error: str = 'stop',
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Columns]:
    """Columns of some topics of one or several recordings, by the topic names as given.

    Args:
        bags: Recordings as BagReader takes them.
        topics: For each topic the paths of its columns (see `paths`), None for all numbers.
        start_ns: First log time.
        stop_ns: Log time at which reading ends.
        on_error: `stop` or `skip`, as BagReader.
        progress: As BagReader.
    """
    with BagReader(bags, on_error=on_error, progress=progress) as reader:
        return columns_of(reader, topics, start_ns=start_ns, stop_ns=stop_ns)


def columns_of(
    reader: BagReader,
    topics: Mapping[str, Sequence[str] | None],
    *,
    start_ns: int | None = None,
    stop_ns: int | None = None,
) -> dict[str, Columns]:
    """Columns of some topics of an opened reader; see `read_columns`."""
    collectors = {}
    for name, paths in topics.items():
        info = reader.topic_info(name)
        if info.count == 0:
            raise BagError(f'{reader.named}, topic {info.topic}: it holds no messages.')
        if len(info.typenames) > 1:
            raise BagError(f'{reader.named}, topic {info.topic}: it holds {info.typenames}.')
        collector = _Collector(None if paths is None else list(paths))
        collector.use(reader.catalog.channels[info.topic][0])
        collectors[info.topic] = collector
    for block in reader.blocks(list(collectors), start_ns=start_ns, stop_ns=stop_ns):
        by_topic: dict[str, list[Item]] = defaultdict(list)
        for item in block:
            by_topic[item[1].topic].append(item)
        for topic, items in by_topic.items():
            # Several recordings hold a topic, perhaps with definitions that differ.
            for _, run in groupby(items, key=lambda item: item[1].decoder):
                collectors[topic].add(list(run), reader)
    found = {}
    for name in topics:
        info = reader.topic_info(name)
        found[name] = collectors[info.topic].finish(info.topic, info.typename)
        _refuse_unstamped(found[name], reader.named)
    return found


def _refuse_unstamped(columns: Columns, named: str) -> None:
    """Messages that all bear one stamp have no time at all, and nothing else tells it."""
    stamps = columns.stamps_ns
    if not columns.has_header or len(stamps) < UNSTAMPED or np.ptp(stamps) > 0:
        return
    what = (
        'no stamp (zero)' if stamps[0] == 0 else f'the same stamp {stamps[0] / NANOSECONDS:.9g} s'
    )
    raise BagError(
        f'{named}, topic {columns.topic}: all {len(stamps)} messages bear {what}: let the driver '
        'set header.stamp to when each sample was taken'
    )


class _Collector:
    """Gathers the messages of one topic in batches and turns them into arrays."""

    def __init__(self, paths: list[str] | None):
        self.paths = paths
        self.count = 0
        self.decoder: Decoder | None = None
        self.wanted: list[ColumnPath] = []
        self.layouts: dict[int, list[Layout]] = {}
        self.batches: list[_Batch] = []
        self.frames: dict[str, None] = {}
        self.names: dict[str, dict[str, None]] = {}
        self.undecodable = 0
        self.has_header = False

    def add(self, items: list[Item], reader: BagReader) -> None:
        """Take messages of one definition."""
        self.use(items[0][1])
        batch = _Batch(self.count, items)
        self.count += len(items)
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, (_, _, data) in enumerate(items):
            by_length[len(data)].append(row)
        for length, rows in by_length.items():
            joined = b''.join([items[row][2] for row in rows])
            block = np.frombuffer(joined, np.uint8).reshape(len(rows), length)
            for layout, matching in self._by_layout(np.array(rows), block, batch, reader):
                chosen = block if matching.all() else block[matching]
                self._extract(batch, layout, np.array(rows)[matching], chosen)
        batch.items = []  # the bytes are not needed any more
        self.batches.append(batch)

    def use(self, channel: Channel) -> None:
        """Take messages of a channel, whose definition may differ from that of the last."""
        decoder = channel.decoder
        if decoder is self.decoder:
            return
        if not isinstance(decoder, Decoder):
            raise BagError(f'{channel.bag}, topic {channel.topic}: {decoder.reason}')
        try:
            types = decoder.types.field_types
            self.wanted = expand_paths(self.paths, channel.typename, types)
        except MessageError as error:
            raise BagError(f'{channel.bag}, topic {channel.topic}: {error}') from error
        self.has_header = types(channel.typename).get('header') == HEADER
        if self.has_header and not _is_header(types):
            raise BagError(
                f'{channel.bag}, topic {channel.topic}: its definition of {HEADER} is not that of '
                'ROS, which has stamp.sec, stamp.nanosec and frame_id.'
            )
        self.decoder = decoder
        self.layouts = {}

    def _by_layout(
        self, rows: np.ndarray, block: np.ndarray, batch: _Batch, reader: BagReader
    ) -> Iterator[tuple[Layout, np.ndarray]]:
        """Layouts and which messages have them; those that fit none are problems."""
        known = self.layouts.setdefault(block.shape[1], [])
        left = np.ones(len(rows), bool)
        tried = 0
        while left.any():
            if tried == len(known):
                first = int(np.argmax(left))
                layout = self._layout_of(batch.raw(int(rows[first])), reader)
                if layout is None:
                    left[first] = False
                    continue
                known.append(layout)
            matching = left.copy()
            matching[left] = known[tried].matches(block if left.all() else block[left])
            if matching.any():
                yield known[tried], matching
            left &= ~matching
            tried += 1

    def _layout_of(self, raw: RawMessage, reader: BagReader) -> Layout | None:
        decoder = raw.channel.decoder
        assert isinstance(decoder, Decoder)
        try:
            return find_layout(decoder.types.store, raw.typename, raw.data, ros1=decoder.ros1)
        except MessageError as error:
            self.undecodable += 1
            reader.note_undecodable(raw, error)
            return None

    def _extract(self, batch: _Batch, layout: Layout, rows: np.ndarray, block: np.ndarray) -> None:
        batch.decoded[rows] = True
        if self.has_header:
            leaves = layout.leaves
            seconds = layout.numbers(block, leaves['header.stamp.sec'])[:, 0]
            nanoseconds = layout.numbers(block, leaves['header.stamp.nanosec'])[:, 0]
            stamps = seconds.astype(np.int64) * NANOSECONDS + nanoseconds.astype(np.int64)
            batch.stamps_ns[rows] = stamps
            self.frames.update(dict.fromkeys(layout.texts['header.frame_id']))
        for column in self.wanted:
            for text, leaf_name, index in self._resolve(column, layout):
                leaf = layout.leaves.get(leaf_name)
                if leaf is None or (index is not None and index >= leaf.length):
                    continue  # not in this message: stays NaN
                numbers = layout.numbers(block, leaf, index)
                single = index is not None or leaf.length == 1
                batch.put(text, rows, numbers[:, 0] if single else numbers)

    def _resolve(
        self, column: ColumnPath, layout: Layout
    ) -> Iterator[tuple[str, str, int | None]]:
        """Name of each column that a path gives, its leaf in the layout and the element."""
        if column.key is None:
            yield column.text, column.field, None
            return
        names: list[str] = []
        if column.names == '.name':
            texts = (layout.texts.get(f'{column.field}[{i}].name') for i in range(10**9))
            names = [text[0] for text in iter(lambda: next(texts), None)]
        elif column.names:
            names = layout.texts.get(column.names, [])
        wanted = list(dict.fromkeys(names)) if column.key == ALL else [column.key]
        for name in wanted:
            text = column.text.replace(f'[{ALL}]', f'[{name}]', 1)
            self.names.setdefault(column.field, {}).update({name: None})
            if name in names:
                index = names.index(name)
            elif name.isdigit():
                index = int(name)
            else:
                continue  # this message does not name it
            if column.rest:
                yield text, f'{column.field}[{index}]{column.rest}', None
            else:
                yield text, column.field, index

    def finish(self, topic: str, typename: str) -> Columns:
        """All batches put together."""
        fixed = [column.text for column in self.wanted if column.key != ALL]
        texts = dict.fromkeys([*fixed, *(text for batch in self.batches for text in batch.values)])
        log_times = _join([batch.log_times_ns[batch.decoded] for batch in self.batches], np.int64)
        stamps = _join([batch.stamps_ns[batch.decoded] for batch in self.batches], np.int64)
        return Columns(
            topic=topic,
            typename=typename,
            has_header=self.has_header,
            stamps_ns=stamps if self.has_header else log_times.copy(),
            log_times_ns=log_times,
            values={text: self._column(text) for text in texts},
            frame_ids=tuple(self.frames),
            undecodable=self.undecodable,
            names={path: tuple(names) for path, names in self.names.items()},
        )

    def _column(self, text: str) -> np.ndarray:
        shapes = {batch.values[text].shape[1:] for batch in self.batches if text in batch.values}
        shape = max(shapes, key=len, default=())
        parts = []
        for batch in self.batches:
            values = batch.values.get(text)
            if values is None:
                values = np.full((len(batch.decoded), *shape), np.nan)
            parts.append(values[batch.decoded])
        return _join(parts, np.float64)


class _Batch:
    """Arrays of one batch; rows that could not be decoded are left out in the end."""

    def __init__(self, first: int, items: list[Item]):
        self.first = first
        self.items = items
        self.log_times_ns = np.array([item[0] for item in items], np.int64)
        self.stamps_ns = np.zeros(len(items), np.int64)
        self.decoded = np.zeros(len(items), bool)
        self.values: dict[str, np.ndarray] = {}

    def raw(self, row: int) -> RawMessage:
        """One message, for its decoding and its problems."""
        time_ns, channel, data = self.items[row]
        return RawMessage(time_ns, channel, data, self.first + row)

    def put(self, text: str, rows: np.ndarray, numbers: np.ndarray) -> None:
        """Set the rows of a column, NaN elsewhere."""
        if text not in self.values:
            shape = (len(self.decoded), *numbers.shape[1:])
            self.values[text] = np.full(shape, np.nan)
        self.values[text][rows] = numbers


def _join(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _is_header(types: FieldTypes) -> bool:
    """Whether the header that a recording defines is the one that everybody knows."""
    fields = types(HEADER)
    if 'stamp' not in fields or fields.get('frame_id') != 'string':
        return False
    stamp = fields['stamp']
    return '/' in stamp and not stamp.endswith(']') and {'sec', 'nanosec'} <= set(types(stamp))
