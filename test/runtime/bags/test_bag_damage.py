"""Recordings that are missing, incomplete or damaged: one clear sentence, or counted losses."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bag_samples import START, cut, flip, imu, storage_file, write_sample

from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.bags.mcap import writer as writer_module


def read_all(path: Path, **options: str) -> tuple[int, BagReader]:
    with BagReader(path, **options) as reader:
        return sum(1 for _ in reader.messages()), reader


def sentence(path: Path) -> str:
    """The error of reading a recording: exactly one sentence that names it."""
    with pytest.raises(BagError) as caught:
        read_all(path)
    text = str(caught.value)
    assert '\n' not in text and text.endswith(('.', '?'))
    return text


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer_module, 'CHUNK_BYTES', 4000)


def test_missing_file(tmp_path: Path):
    assert sentence(tmp_path / 'none') == f'{tmp_path / "none"} does not exist.'


def test_folder_without_metadata(tmp_path: Path):
    (tmp_path / 'folder').mkdir()
    assert 'holds no metadata.yaml' in sentence(tmp_path / 'folder')
    path = write_sample(tmp_path / 'bag')
    (path / 'metadata.yaml').unlink()
    text = sentence(path)
    assert 'holds no metadata.yaml' in text and 'bag.mcap' in text
    count, reader = read_all(path, on_error='skip')
    assert count == 251
    assert len(reader.problems.sentences) == 1


def test_damaged_metadata(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    metadata = path / 'metadata.yaml'
    good = metadata.read_text()
    for text, word in [
        ('{', 'not YAML'),
        ('', 'rosbag2_bagfile_information is missing'),
        (good.replace('version: 8', 'version: 99'), 'version 99'),
        (good.replace('identifier: mcap', 'identifier: tape'), "storage 'tape'"),
        (good.replace('relative_file_paths', 'relative_paths'), 'relative_file_paths'),
        (good.replace('- bag.mcap', '- other.mcap'), 'names the file other.mcap'),
        (good.replace('custom_data: null', 'custom_data: [1]'), 'custom_data: expected'),
        (good.replace("compression_mode: ''", 'compression_mode: FILE'), 'only zstd'),
    ]:
        metadata.write_text(text)
        assert word in sentence(path)


def test_empty_file(tmp_path: Path):
    for name in ('a.mcap', 'a.db3', 'a.bag'):
        (tmp_path / name).touch()
        assert sentence(tmp_path / name).endswith('is empty.')


def test_unknown_storage(tmp_path: Path):
    (tmp_path / 'a.mcap').write_text('some text that is not a recording')
    assert 'is not a recording' in sentence(tmp_path / 'a.mcap')


def test_database_that_is_no_recording(tmp_path: Path):
    with sqlite3.connect(tmp_path / 'a.db3') as database:
        database.execute('CREATE TABLE t (x)')
    database.close()
    assert 'not a recording' in sentence(tmp_path / 'a.db3')


@pytest.mark.parametrize('compression', ['none', 'chunk'])
def test_truncated_mcap(tmp_path: Path, small_chunks: None, compression: str):
    path = write_sample(tmp_path / 'bag', compression=compression)
    file = storage_file(path)
    cut(file, file.stat().st_size * 6 // 10)
    text = sentence(path)
    assert 'is truncated or damaged' in text and str(file) in text
    with BagReader(path, on_error='skip') as reader:
        (info,) = reader.info()
        found = [entry for entry in reader.messages() if entry.topic == '/imu/data']
    assert info.truncated
    assert 10 < len(found) < 200
    assert [entry.message.angular_velocity.x for entry in found] == list(range(len(found)))
    assert reader.problems.lost_bytes > 0


def test_every_way_of_cutting_an_mcap(tmp_path: Path, small_chunks: None):
    """Whatever is left, reading gives a prefix of the messages or one sentence."""
    path = write_sample(tmp_path / 'bag', count=40)
    data = storage_file(path).read_bytes()
    part = tmp_path / 'part.mcap'
    counts = []
    for size in range(0, len(data), 173):
        part.write_bytes(data[:size])
        try:
            with BagReader(part, on_error='skip') as reader:
                counts.append(sum(1 for _ in reader.messages()))
        except BagError as error:
            assert '\n' not in str(error)
            counts.append(0)
    assert counts == sorted(counts)
    assert counts[-1] == 51


def test_cut_after_the_data_nothing_is_lost(tmp_path: Path):
    """A file whose index is missing but whose data are complete is read without complaint."""
    path = write_sample(tmp_path / 'bag')
    file = storage_file(path)
    cut(file, file.stat().st_size - 20)
    count, _ = read_all(path)
    assert count == 251


def test_flipped_bytes_in_an_mcap(tmp_path: Path, small_chunks: None):
    path = write_sample(tmp_path / 'bag')
    file = storage_file(path)
    flip(file, file.stat().st_size // 2, 3)
    text = sentence(path)
    assert 'is damaged' in text and str(file) in text
    with BagReader(path, on_error='skip') as reader:
        found = [entry for entry in reader.messages() if entry.topic == '/imu/data']
    assert 150 < len(found) < 200
    for entry in found:
        index = (entry.time_ns - START) // 2_000_000
        assert entry.message.angular_velocity.x == index
    assert reader.problems.lost_chunks == 1
    assert any('promises' in text for text in reader.problems.sentences)


def test_no_flipped_byte_goes_unnoticed(tmp_path: Path):
    """Any flipped byte: the same messages, or one sentence; never other messages."""
    path = write_sample(tmp_path / 'bag', count=12)
    data = storage_file(path).read_bytes()
    good = None
    part = tmp_path / 'part.mcap'
    silent = 0
    for position in [None, *range(8, len(data), 67)]:
        part.write_bytes(data)
        if position is not None:
            flip(part, position)
        try:
            with BagReader(part) as reader:
                found = [(raw.time_ns, raw.topic, raw.typename, raw.data) for raw in reader.raw()]
        except BagError as error:
            assert '\n' not in str(error)
            continue
        if good is None:
            good = found
        silent += 1
        assert found == good
    assert good is not None and len(good) == 16
    assert silent < len(data) // 67  # most of the file is messages, where damage is noticed


@pytest.mark.parametrize('compression', ['none', 'file'])
def test_truncated_sqlite(tmp_path: Path, compression: str):
    path = write_sample(tmp_path / 'bag', storage='sqlite3', compression=compression)
    file = storage_file(path)
    cut(file, file.stat().st_size // 2)
    text = sentence(path)
    assert 'truncated or damaged' in text and str(file) in text


def test_damaged_compressed_message(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', storage='sqlite3', compression='message')
    with sqlite3.connect(storage_file(path)) as database:
        database.execute("UPDATE messages SET data = x'28b52ffd00' WHERE id = 7")
    database.close()
    assert 'is damaged' in sentence(path)
    count, _ = read_all(path, on_error='skip')
    assert count == 250


def test_message_that_does_not_fit_its_type(tmp_path: Path):
    path = tmp_path / 'bag'
    with BagWriter(path) as bag:
        for index in range(3):
            bag.write_message('imu/data', imu(index))
        bag.write('imu/data', 'sensor_msgs/msg/Imu', b'\x00\x01\x00\x00\x01\x02', START + 1)
    text = sentence(path)
    for word in (str(path), '/imu/data', 'message 1 ', 'sensor_msgs/msg/Imu cannot be decoded'):
        assert word in text
    count, reader = read_all(path, on_error='skip')
    assert count == 3
    assert reader.problems.undecodable == {'/imu/data': 1}
    with pytest.raises(BagError, match='message 1 '):
        read_columns(path, {'imu/data': None})
    columns = read_columns(path, {'imu/data': None}, on_error='skip')['imu/data']
    assert len(columns) == 3 and columns.undecodable == 1


def test_missing_topic_suggests(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with BagReader(path) as reader:
        with pytest.raises(BagError, match=r'no topic /imu/dat; did you mean /imu/data\?'):
            reader.topic_info('imu/dat')
        with pytest.raises(BagError, match='it has'):
            list(reader.raw(['zzzzz']))


def test_empty_topic(tmp_path: Path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('imu/data', 'sensor_msgs/msg/Imu')
    empty = pytest.raises(BagError, match='topic /imu/data: it holds no messages')
    with BagReader(tmp_path / 'bag') as reader, empty:
        reader.expect_type('imu/data', 'sensor_msgs/Imu')
    with empty:
        read_columns(tmp_path / 'bag', {'imu/data': None})


def test_topic_of_the_wrong_type(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with BagReader(path) as reader:
        assert reader.expect_type('imu/data', 'sensor_msgs/Imu').count == 200
        with pytest.raises(BagError, match='it holds sensor_msgs/msg/Imu, expected geometry_msgs'):
            reader.expect_type('imu/data', 'geometry_msgs/msg/TwistStamped')
