from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from bag_samples import START, STEP, estimates, imu, storage_file, write_sample

from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, QoS

KINDS = [
    ('mcap', 'none'),
    ('mcap', 'chunk'),
    ('mcap', 'file'),
    ('mcap', 'message'),
    ('sqlite3', 'none'),
    ('sqlite3', 'file'),
    ('sqlite3', 'message'),
]


@pytest.mark.parametrize(('storage', 'compression'), KINDS)
def test_round_trip(tmp_path: Path, storage: str, compression: str):
    path = write_sample(tmp_path / 'bag', storage=storage, compression=compression)
    with BagReader(path) as reader:
        (info,) = reader.info()
        assert (info.storage, info.message_count) == (storage, 251)
        assert info.counts == {'/imu/data': 200, '/joint_states': 50, '/parameters': 1}
        assert info.start_ns == START and info.end_ns == START + 199 * STEP
        assert info.duration == pytest.approx(199 * STEP * 1e-9)
        assert not info.truncated
        found = list(reader.messages())
        assert reader.problems.sentences == []
    imus = [entry for entry in found if entry.topic == '/imu/data']
    for index, entry in enumerate(imus):
        assert entry.typename == 'sensor_msgs/msg/Imu'
        assert entry.time_ns == START + index * STEP
        assert messages.serialize(entry.message) == messages.serialize(imu(index))
    (latched,) = [entry for entry in found if entry.topic == '/parameters']
    assert messages.serialize(latched.message) == messages.serialize(estimates())


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_single_file(tmp_path: Path, storage: str):
    path = write_sample(tmp_path / 'bag', storage=storage)
    with BagReader(storage_file(path)) as reader:
        assert sum(1 for _ in reader.messages()) == 251


def test_single_compressed_file(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', compression='file')
    with BagReader(storage_file(path)) as reader:
        assert sum(1 for _ in reader.messages()) == 251


def test_paths_with_special_characters(tmp_path: Path):
    for storage in ('mcap', 'sqlite3'):
        path = write_sample(tmp_path / f'50% #1? {storage}', storage=storage)
        with BagReader(str(path)) as reader:
            assert sum(1 for _ in reader.raw()) == 251
    assert len(list(tmp_path.iterdir())) == 2


def test_same_content_same_bytes(tmp_path: Path):
    first = write_sample(tmp_path / 'a' / 'bag')
    second = write_sample(tmp_path / 'b' / 'bag')
    assert storage_file(first).read_bytes() == storage_file(second).read_bytes()


def test_selection_with_and_without_slash(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    for name in ('imu/data', '/imu/data'):
        with BagReader(path) as reader:
            assert {raw.topic for raw in reader.raw([name])} == {'/imu/data'}
            assert reader.topic_info(name).count == 200


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_time_window(tmp_path: Path, storage: str):
    path = write_sample(tmp_path / 'bag', storage=storage)
    window = {'start_ns': START + 10 * STEP, 'stop_ns': START + 20 * STEP}
    with BagReader(path) as reader:
        times = [raw.time_ns for raw in reader.raw(['imu/data'], **window)]
    assert times == [START + index * STEP for index in range(10, 20)]


def test_quality_of_service(tmp_path: Path):
    path = tmp_path / 'bag'
    with BagWriter(path) as bag:
        bag.write_message('imu/data', imu(0), qos=SENSOR_DATA)
        bag.write_message('tf_static', messages.new('tf2_msgs/msg/TFMessage'), START)
        bag.add_topic('parameters', 'veh_identification/msg/ParameterEstimates', qos=LATCHED)
    for given in (path, storage_file(path)):
        with BagReader(given) as reader:
            topics = reader.topics
            assert topics['/imu/data'].qos == SENSOR_DATA
            assert topics['/tf_static'].qos.transient_local
            assert topics['/parameters'].qos == LATCHED
            assert topics['/parameters'].count == 0


def test_metadata_is_of_version_8_and_complete(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', custom_data={'scenario': 'test'})
    information = yaml.safe_load((path / 'metadata.yaml').read_text())
    metadata = information['rosbag2_bagfile_information']
    assert metadata['version'] == 8
    assert metadata['storage_identifier'] == 'mcap'
    assert metadata['relative_file_paths'] == ['bag.mcap']
    assert metadata['message_count'] == 251
    assert metadata['custom_data'] == {'scenario': 'test'}
    topics = [entry['topic_metadata'] for entry in metadata['topics_with_message_count']]
    assert all(isinstance(topic['offered_qos_profiles'], str) for topic in topics)
    assert all(topic['type_description_hash'].startswith('RIHS01_') for topic in topics)
    with BagReader(path) as reader:
        assert reader.info()[0].custom_data == {'scenario': 'test'}


def test_further_files(tmp_path: Path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_message('imu/data', imu(0))
        bag.add_file('truth.json', '{"mass": 1}')
        with pytest.raises(BagError, match='not a name'):
            bag.add_file('../truth.json', '')
    assert (tmp_path / 'bag' / 'truth.json').read_text() == '{"mass": 1}'


def test_raw_bytes_pass_through(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with BagReader(path) as reader, BagWriter(tmp_path / 'copy', storage='sqlite3') as bag:
        for raw in reader.raw():
            bag.write(raw.topic, raw.typename, raw.payload, raw.time_ns, qos=raw.channel.qos)
        assert bag.counts == {'/parameters': 1, '/imu/data': 200, '/joint_states': 50}
    with BagReader(path) as first, BagReader(tmp_path / 'copy') as second:
        for one, other in zip(first.raw(), second.raw(), strict=True):
            assert (one.time_ns, one.topic, one.data) == (other.time_ns, other.topic, other.data)


def test_log_time_is_given_or_the_stamp(tmp_path: Path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_message('imu/data', imu(0))
        bag.write_message('imu/data', imu(1), START + 77)
        with pytest.raises(BagError, match='no header stamp'):
            bag.write_message('v', messages.new('geometry_msgs/msg/Vector3'))
        with pytest.raises(BagError, match='not a possible log time'):
            bag.write_message('imu/data', imu(1), -5)
    with BagReader(tmp_path / 'bag') as reader:
        assert [raw.time_ns for raw in reader.raw()] == [START, START + 77]


def test_one_topic_one_type(tmp_path: Path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_message('imu/data', imu(0))
        with pytest.raises(BagError, match='it holds sensor_msgs/msg/Imu'):
            bag.write_message('/imu/data', messages.new('geometry_msgs/msg/Vector3'), START)


def test_empty_recording(tmp_path: Path):
    for storage in ('mcap', 'sqlite3'):
        with BagWriter(tmp_path / storage, storage=storage):
            pass
        with BagReader(tmp_path / storage) as reader:
            assert list(reader.messages()) == []
            assert reader.info()[0].duration == 0.0


def test_existing_target(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', count=3)
    with pytest.raises(BagError, match='exists already'), BagWriter(path):
        pass
    with BagWriter(path, overwrite=True) as bag:
        bag.write_message('imu/data', imu(0))
    with BagReader(path) as reader:
        assert reader.message_count == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ['bag']


def test_progress_is_reported(tmp_path: Path):
    calls: list[tuple[int, int]] = []
    path = write_sample(tmp_path / 'bag')
    with BagReader(path, progress=lambda done, total: calls.append((done, total))) as reader:
        for _ in reader.raw():
            pass
    assert calls[-1] == (251, 251)


def test_wrong_options(tmp_path: Path):
    with pytest.raises(BagError, match='Unknown storage'):
        BagWriter(tmp_path / 'bag', storage='paper')
    with pytest.raises(BagError, match='cannot be written with compression'):
        BagWriter(tmp_path / 'bag', storage='sqlite3', compression='chunk')
    with pytest.raises(BagError, match='on_error'):
        BagReader(tmp_path, on_error='ignore')
    with pytest.raises(BagError, match='No recording'):
        BagReader([])


def test_default_qos_is_reliable_and_volatile(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with BagReader(path) as reader:
        assert reader.topics['/imu/data'].qos == QoS()
