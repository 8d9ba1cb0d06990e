"""Recordings made to harm: bombs, views, pipes, names that lead elsewhere: one sentence each."""

from __future__ import annotations

import bz2
import os
import shutil
import sqlite3
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lz4.frame
import pytest
from bag_samples import START, storage_file, write_sample
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.typesys import Stores, get_typestore

from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, read_columns, sqlite_source
from veh_identification.runtime.bags import reader as reader_module
from veh_identification.runtime.bags.mcap import format as mcap
from veh_identification.runtime.bags.mcap import writer as mcap_writer
from veh_identification.runtime.bags.unpacking import UnpackError, unpack, zstd

LARGE = 50 * 2**20  # what the bombs unpack to
NORMAL = 40 * 2**20  # what reading may take


@pytest.fixture(scope='module')
def bombs() -> dict[str, bytes]:
    zeros = bytes(LARGE)
    return {
        'zstd': zstd.compress(zeros),
        'lz4': lz4.frame.compress(zeros),
        'bz2': bz2.compress(zeros),
    }


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < NORMAL
    finally:
        tracemalloc.stop()


def sentence(path: Path, **options: str) -> str:
    with pytest.raises(BagError) as caught, BagReader(path, **options) as reader:
        for _ in reader.messages():
            pass
    text = str(caught.value)
    assert '\n' not in text and text.endswith('.') and len(text) < 600
    return text


def count(path: Path) -> tuple[int, list[str]]:
    with BagReader(path, on_error='skip') as reader:
        return sum(1 for _ in reader.messages()), reader.problems.sentences


# Bombs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize('method', ['zstd', 'lz4', 'bz2'])
def test_unpacking_stops_at_what_is_stated(bombs: dict[str, bytes], method: str) -> None:
    bomb = bombs[method]
    good = {'zstd': zstd.compress, 'lz4': lz4.frame.compress, 'bz2': bz2.compress}[method]
    packed = good(b'abc' * 1000)
    assert unpack(method, packed) == unpack(method, packed, 3000) == b'abc' * 1000
    assert unpack(method, packed + good(b'd')) == b'abc' * 1000 + b'd'
    assert unpack(method, b'') == b''
    with little_memory():
        with pytest.raises(UnpackError, match='unpack to more than 1000'):
            unpack(method, bomb, 1000)
        if method != 'lz4':  # which cannot pack to less than a 255th
            with pytest.raises(UnpackError, match='unpack to more than'):
                unpack(method, bomb)
        with pytest.raises(UnpackError, match='more than is believed'):
            unpack(method, packed, 2**40)
        for broken in (packed[:-3], packed[:5], b'nothing', packed + b'x'):
            with pytest.raises(UnpackError):
                unpack(method, broken, 3000)
    with pytest.raises(UnpackError, match='instead of 4000'):
        unpack(method, packed, 4000)


@pytest.mark.parametrize('method', ['zstd', 'lz4'])
def test_chunk_bomb(tmp_path: Path, bombs: dict[str, bytes], method: str) -> None:
    """A chunk that states little, and one that states what it really unpacks to."""
    # The format of lz4 cannot pack to less than a 255th: there the true size is believed.
    for stated in (1000, 2**63) if method == 'lz4' else (1000, LARGE, 2**63):
        body = mcap.CHUNK_HEAD.pack(START, START + 1, stated, 0)
        body += mcap.pack_string(method) + mcap.U64.pack(len(bombs[method])) + bombs[method]
        head = mcap.pack_record(mcap.HEADER, mcap.pack_string('ros2'), mcap.pack_string('x'))
        end = mcap.pack_record(mcap.DATA_END, mcap.U32.pack(0))
        path = tmp_path / 'a.mcap'
        path.write_bytes(mcap.MAGIC + head + mcap.pack_record(mcap.CHUNK, body) + end)
        with little_memory():
            text = sentence_of_raw(path)
        assert ('is damaged' in text and 'unpack to' in text) or 'believed' in text


def sentence_of_raw(path: Path) -> str:
    """A chunk without topics is met only by whoever reads its bytes."""
    with BagReader(path, on_error='skip') as reader:
        (source,) = reader.recordings[0].sources
        list(source.items([1], None, None, reader.problems))
        return reader.problems.sentences[-1]


def test_chunk_that_nobody_can_read_is_not_silence(
    tmp_path: Path, bombs: dict[str, bytes]
) -> None:
    """The recording of the table: a bomb, no topic, "0 messages" and status 0."""
    test_chunk_bomb(tmp_path, bombs, 'zstd')
    assert 'no topic is known, 1 chunks cannot be read' in sentence(tmp_path / 'a.mcap')


def test_file_and_message_bombs(tmp_path: Path, bombs: dict[str, bytes]) -> None:
    path = write_sample(tmp_path / 'a', storage='sqlite3', compression='file')
    storage_file(path).write_bytes(bombs['zstd'])
    with little_memory():
        assert 'unpack to more than' in sentence(path)
        shutil.copy(storage_file(path), tmp_path / 'alone.db3')
        assert 'unpack to more than' in sentence(tmp_path / 'alone.db3')
    path = write_sample(tmp_path / 'b', storage='sqlite3', compression='message')
    with sqlite3.connect(storage_file(path)) as database:
        database.execute('UPDATE messages SET data = ? WHERE id = 7', (bombs['zstd'],))
    database.close()
    with little_memory():
        assert 'unpack to more than' in sentence(path)
    assert count(path)[0] == 250


def test_ros1_bomb(tmp_path: Path, bombs: dict[str, bytes]) -> None:
    path = tmp_path / 'a.bag'
    store = get_typestore(Stores.ROS1_NOETIC)
    packed = Ros1Writer(path)
    packed.set_compression(packed.CompressionFormat.BZ2)
    with packed as writer:
        topic = writer.add_connection('/a', 'std_msgs/msg/String', typestore=store)
        text = store.types['std_msgs/msg/String'](data='x' * 300)
        for k in range(200):
            data = store.serialize_ros1(text, 'std_msgs/msg/String')
            writer.write(topic, START + k, data)
    assert count(path) == (200, [])
    data = path.read_bytes()
    place = data.index(b'BZh')
    (length,) = struct.unpack_from('<I', data, place - 4)
    bomb = bombs['bz2']
    assert len(bomb) < length
    path.write_bytes(data[:place] + bomb + bytes(length - len(bomb)) + data[place + length :])
    with little_memory():
        assert 'unpack' in sentence(path)


# SQLite -----------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = write_sample(tmp_path / 'bag', storage='sqlite3')
    shutil.copy(storage_file(path), tmp_path / 'a.db3')
    opened = sqlite3.connect(tmp_path / 'a.db3', isolation_level=None)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    'change',
    [
        'UPDATE messages SET timestamp = NULL WHERE id = 5',
        "UPDATE messages SET timestamp = 'noon' WHERE id = 5",
        'UPDATE messages SET timestamp = 1.5e18 + 0.5 WHERE id = 5',
        'UPDATE messages SET timestamp = -5 WHERE id = 5',
        "UPDATE messages SET data = 'text' WHERE id = 5",
        'UPDATE messages SET data = NULL WHERE id = 5',
        "UPDATE messages SET topic_id = 'one' WHERE id = 5",
        'UPDATE messages SET topic_id = 77 WHERE id = 5',
    ],
)
def test_values_of_another_type(tmp_path: Path, database: sqlite3.Connection, change: str) -> None:
    database.execute('CREATE TABLE m2 (id, topic_id, timestamp, data)')
    database.execute('INSERT INTO m2 SELECT id, topic_id, timestamp, data FROM messages')
    database.execute('DROP TABLE messages')
    database.execute('ALTER TABLE m2 RENAME TO messages')
    assert count(tmp_path / 'a.db3') == (251, [])
    database.execute(change)
    assert '1 of 251 messages have no topic, no time or no bytes' in sentence(tmp_path / 'a.db3')
    assert count(tmp_path / 'a.db3')[0] == 250


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ("UPDATE topics SET name = x'00ff' WHERE id = 2", 'name or type that is none'),
        ('UPDATE topics SET type = 5.5 WHERE id = 2', ''),
        ('UPDATE topics SET serialization_format = NULL WHERE id = 2', 'name or type'),
        ("UPDATE topics SET name = CAST(x'ff' AS TEXT) WHERE id = 2", 'decode'),
        ('UPDATE message_definitions SET encoded_message_definition = x"00"', 'no text'),
        ('UPDATE topics SET offered_qos_profiles = 7', None),
        ("UPDATE topics SET offered_qos_profiles = x'00'", None),
    ],
)
def test_topics_of_another_type(
    tmp_path: Path, database: sqlite3.Connection, change: str, words: str | None
) -> None:
    database.execute('PRAGMA ignore_check_constraints = ON')
    try:
        database.execute(change.replace('x"00"', "x'00'"))
    except sqlite3.IntegrityError:
        pytest.skip('this table does not let it happen')
    if words is None:
        assert count(tmp_path / 'a.db3') == (251, [])
    else:
        assert words in sentence(tmp_path / 'a.db3')


VIEWS = [
    'CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) '
    "SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data FROM n",
    'CREATE TABLE messages (id, topic_id, timestamp, data AS (zeroblob(1000000000)))',
    'CREATE VIRTUAL TABLE messages USING fts5(id, topic_id, timestamp, data)',
    'CREATE TABLE messages (id, topic_id)',
]


@pytest.mark.parametrize('made', VIEWS)
def test_messages_that_are_no_table(
    tmp_path: Path, database: sqlite3.Connection, made: str
) -> None:
    database.execute('ALTER TABLE messages RENAME TO others')
    database.execute('DROP INDEX IF EXISTS timestamp_idx')
    try:
        database.execute(made)
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    assert 'not a recording: no messages table' in sentence(tmp_path / 'a.db3')


def test_a_query_has_a_limit_of_time(
    tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_source, 'STEPS', 1)
    monkeypatch.setattr(sqlite_source, 'SECONDS', -1.0)
    assert 'a query takes longer than' in sentence(tmp_path / 'a.db3')


def test_left_open_while_it_is_read(
    tmp_path: Path, database: sqlite3.Connection, recwarn: pytest.WarningsRecorder
) -> None:
    """Closing in the middle of reading says nothing."""
    with BagReader(tmp_path / 'a.db3') as reader:
        stream = reader.messages()
        next(stream)
    del stream
    assert not [one for one in recwarn if 'ignored' in str(one.message)]


# Paths ------------------------------------------------------------------------------------------


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'pipe')
    assert 'is not a plain file' in sentence(tmp_path / 'pipe')
    assert 'is not a plain file' in sentence(Path('/dev/zero'))
    assert 'File name too long' in sentence(tmp_path / ('x' * 5000))
    assert 'File name too long' in sentence(Path('/a' * 2500))
    assert 'null' in sentence(tmp_path / 'a\0b')
    loop = tmp_path / 'loop'
    loop.symlink_to(loop)
    assert 'cannot be read' in sentence(loop)
    folder = tmp_path / 'folder'
    folder.mkdir()
    os.mkfifo(folder / 'metadata.yaml')
    assert 'not a plain file' in sentence(folder)
    (folder / 'metadata.yaml').unlink()
    os.mkfifo(folder / 'a.mcap')
    assert 'holds no metadata.yaml' in sentence(folder)


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('- bag.mcap', "- '/'", 'no file name'),
        ('- bag.mcap', "- '..'", 'no file name'),
        ('- bag.mcap', "- '../other/..'", 'no file name'),
        ('- bag.mcap', '- ""', 'no file name'),
        ('- bag.mcap', '- ../../../etc/passwd', 'names the file passwd, which does not exist'),
        ('- bag.mcap', '- /etc/passwd', 'names the file passwd, which does not exist'),
        ('- bag.mcap', '- ' + 'x' * 300, 'which does not exist'),
        ('- bag.mcap', r'- "a\0b"', 'no file name'),
        ('- bag.mcap', '- sub', 'names the file sub, which does not exist'),
        ('- bag.mcap', '- pipe', 'names the file pipe, which does not exist'),
        ('custom_data: null', 'custom_data: text', 'custom_data: expected'),
        ('version: 8', 'version: 2020-13-45', 'version: expected'),
        ('version: 8', 'version: -3', 'version'),
        ('version: 8', 'version: ' + '9' * 6000, 'version'),
        ('storage_identifier: mcap', 'storage_identifier: [mcap]', 'storage_identifier'),
        ('- bag.mcap', '- bag.mcap\n  - bag.mcap', 'twice'),
    ],
)
def test_metadata_that_leads_elsewhere(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = write_sample(tmp_path / 'bag', count=8)
    (path / 'sub').mkdir()
    os.mkfifo(path / 'pipe')
    metadata = path / 'metadata.yaml'
    text = metadata.read_text()
    assert old in text
    metadata.write_text(text.replace(old, new, 1))
    assert words in sentence(path)


def test_index_that_points_beyond_the_file(tmp_path: Path) -> None:
    """A summary with a right checksum and wrong places."""
    path = write_sample(tmp_path / 'bag', count=8)
    file = storage_file(path)
    with BagReader(path) as reader:
        source = reader.recordings[0].sources[0]
        (chunk,) = source.index.chunks
        for place, length in [(2**63, 10), (10, 2**63), (2**64 - 1, 2**64 - 1), (0, 0)]:
            source.index.chunks = [mcap.ChunkEntry(0, 2**62, place, length)]
            with pytest.raises(BagError, match='is damaged'):
                list(reader.raw())
        source.index.chunks = [chunk]
    assert str(file)


def test_more_topics_than_anybody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_sample(tmp_path / 'bag', count=8)
    monkeypatch.setattr(reader_module, 'MOST_TOPICS', 2)
    assert 'has 3 topics, at most 2' in sentence(path)


# Definitions ------------------------------------------------------------------------------------

LINE = '=' * 80


def holding(path: Path, typename: str, text: str, encoding: str = 'ros2msg') -> Path:
    """A recording of one message whose type is defined by `text`."""
    texts = [mcap.pack_string(one) for one in (typename, encoding, text)]
    records = [
        mcap.pack_record(mcap.HEADER, mcap.pack_string('ros2'), mcap.pack_string('x')),
        mcap.pack_record(mcap.SCHEMA, mcap.U16.pack(1), *texts),
        mcap.pack_record(
            mcap.CHANNEL,
            struct.pack('<HH', 1, 1),
            mcap.pack_string('/a') + mcap.pack_string('cdr') + mcap.pack_bytes(b''),
        ),
        mcap.pack_record(mcap.MESSAGE, mcap.MESSAGE_HEAD.pack(1, 0, 5, 5), bytes(64)),
        mcap.pack_record(mcap.DATA_END, mcap.U32.pack(0)),
    ]
    path.write_bytes(mcap.MAGIC + b''.join(records))
    return path


def doubling(levels: int) -> str:
    """Types that hold the next one twice: 2^levels numbers."""
    parts = [f'{LINE}\nMSG: x/B{k}\nx/B{k + 1} a\nx/B{k + 1} b' for k in range(levels)]
    return '\n'.join(['x/B0 a', *parts, f'{LINE}\nMSG: x/B{levels}\nint32 a'])


@pytest.mark.parametrize(
    ('typename', 'text', 'words'),
    [
        ('x/msg/A', 'x/A a', 'contains itself'),
        ('x/msg/A', f'x/B a\n{LINE}\nMSG: x/B\nx/A a', 'contains itself'),
        ('x/msg/A', f'x/B[] a\n{LINE}\nMSG: x/B\nx/A[] a', 'contains itself'),
        ('x/msg/A', doubling(30), 'more than 100000 fields'),
        ('x/msg/A', f'x/B[99999] a\n{LINE}\nMSG: x/B\nint8 a\nint8 b', 'more than'),
        ('x/msg/A', 'int32 ' + 'a' * 500, 'is not a name'),
        ('x/msg/' + 'A' * 500, 'int32 a', 'is not a name'),
        ('x/msg/A:pass;open("PLACE","w")#', 'int32 a', ''),
        ('x/msg/A(open("PLACE","w")and(object))', 'int32 a', ''),
        ('x/msg/A:\n    pass\nopen("PLACE","w")\nclass B', 'int32 a', ''),
        ('x/msg/A', 'int32 a=open("PLACE","w")', ''),
        ('', '', ''),
    ],
)
def test_definitions_that_would_run_or_never_end(
    tmp_path: Path, typename: str, text: str, words: str
) -> None:
    place = tmp_path / 'made'
    hidden = str(place).replace('/', '\\x2f')
    path = holding(
        tmp_path / 'a.mcap', typename.replace('PLACE', hidden), text.replace('PLACE', hidden)
    )
    assert words in sentence(path)
    assert not place.exists()


def test_a_header_that_is_none(tmp_path: Path) -> None:
    """Found by bench/fuzz.py: a byte of the definition turned `stamp` into something else."""
    text = f'std_msgs/Header header\nint32 a\n{LINE}\nMSG: std_msgs/Header\n'
    path = holding(tmp_path / 'a.mcap', 'x/msg/A', text + 'int32 stbmp\nstring frame_id')
    with pytest.raises(BagError, match='is not that of ROS'):
        read_columns(path, {'a': None})


def test_log_times_beyond_those_of_ros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by bench/fuzz.py: the format has a bit more than the times of ROS (OverflowError)."""
    monkeypatch.setattr(mcap_writer.zlib, 'crc32', lambda _data: 0)
    path = write_sample(tmp_path / 'bag', count=8)
    good, _ = count(path)
    with BagReader(path) as reader:
        last = max(one.time_ns for one in reader.messages())
    file = storage_file(path)
    data = file.read_bytes()
    assert struct.pack('<Q', last) in data
    file.write_bytes(data.replace(struct.pack('<Q', last), struct.pack('<Q', 2**63 + 5)))
    assert 'beyond the year 2262' in sentence(path)
    left, told = count(path)
    assert 0 < left < good and 'beyond the year 2262' in told[0]
    with BagReader(path) as reader:
        topics = dict.fromkeys(reader.topics)
    for columns in read_columns(path, topics, on_error='skip').values():
        assert columns.log_times_ns.max(initial=0) < 2**63
