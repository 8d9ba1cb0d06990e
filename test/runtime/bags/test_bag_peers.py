"""Other people's readers, writers and recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_samples import SHARED_DATA, START, STEP, cut, imu, storage_file, write_sample
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from mcap_ros2.reader import read_ros2_messages
from rosbags.highlevel import AnyReader

from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, read_columns


@pytest.mark.parametrize('compression', ['none', 'chunk'])
def test_mcap_ros2_support_reads_ours(tmp_path: Path, compression: str):
    file = storage_file(write_sample(tmp_path / 'bag', compression=compression))
    found = list(read_ros2_messages(str(file)))
    assert len(found) == 251
    imus = [entry for entry in found if entry.channel.topic == '/imu/data']
    assert imus[7].ros_msg.angular_velocity.y == 7.25
    assert imus[7].ros_msg.header.frame_id == 'imu_link'
    assert imus[7].log_time_ns == START + 7 * STEP
    (latched,) = [entry.ros_msg for entry in found if entry.channel.topic == '/parameters']
    assert latched.parameters[0].name == 'Mc' and latched.parameters[0].value == 1500.0
    channels = {entry.channel.topic: entry.channel for entry in found}
    (profile,) = yaml.safe_load(channels['/parameters'].metadata['offered_qos_profiles'])
    assert profile['durability'] == 1  # transient local


def test_mcap_verifies_our_checksums_and_summary(tmp_path: Path):
    file = storage_file(write_sample(tmp_path / 'bag', compression='chunk'))
    with file.open('rb') as stream:
        records = list(StreamReader(stream, validate_crcs=True, record_size_limit=None).records)
        chunks = [record for record in records if type(record).__name__ == 'Chunk']
        footer = next(record for record in records if type(record).__name__ == 'Footer')
    with file.open('rb') as stream:
        summary = make_reader(stream, validate_crcs=True).get_summary()
    assert footer.summary_crc != 0
    assert len(records) > 250
    assert not chunks  # the stream reader unpacks them
    assert summary is not None and summary.statistics is not None
    assert summary.statistics.message_count == 251
    assert all(index.message_index_offsets for index in summary.chunk_indexes)
    with file.open('rb') as stream:
        window = make_reader(stream).iter_messages(
            topics=['/imu/data'], start_time=START + 5 * STEP, end_time=START + 8 * STEP
        )
        assert len(list(window)) == 3


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('compression', ['none', 'file', 'message'])
def test_rosbags_reads_ours(tmp_path: Path, storage: str, compression: str):
    path = write_sample(tmp_path / 'bag', storage=storage, compression=compression)
    with AnyReader([path]) as reader:
        found = [
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.topic == '/imu/data'
        ]
    assert [message.angular_velocity.x for message in found] == list(range(200))


@pytest.mark.parametrize('compression', list(CompressionType))
@pytest.mark.parametrize('chunking', [True, False])
@pytest.mark.parametrize('summary', [True, False])
def test_files_of_the_mcap_library(
    tmp_path: Path, compression: CompressionType, chunking: bool, summary: bool
):
    """With and without chunks, index and summary; messages in any order."""
    file = tmp_path / 'foreign.mcap'
    definition = messages.rosbags_backend().definition('sensor_msgs/msg/Imu')
    order = np.random.default_rng(3).permutation(60)
    with file.open('wb') as stream:
        writer = McapWriter(
            stream,
            chunk_size=3000,
            compression=compression,
            use_chunking=chunking,
            use_statistics=summary,
            repeat_schemas=summary,
            repeat_channels=summary,
        )
        writer.start(profile='ros2')
        schema = writer.register_schema('sensor_msgs/msg/Imu', 'ros2msg', definition.encode())
        channel = writer.register_channel('/imu/data', 'cdr', schema)
        for index in order.tolist():
            time = START + index * STEP
            writer.add_message(channel, time, messages.serialize(imu(index)), time)
        writer.finish()
    with BagReader(file) as reader:
        assert reader.topic_info('imu/data').count == 60
        found = [entry.message.angular_velocity.x for entry in reader.messages()]
    assert found == list(range(60))
    cut(file, file.stat().st_size * 2 // 5)
    with BagReader(file, on_error='skip') as reader:
        assert reader.info()[0].truncated
        rest = [entry.message.angular_velocity.x for entry in reader.messages()]
    assert 5 < len(rest) < 60 and rest == sorted(rest)


def test_other_encodings_are_named(tmp_path: Path):
    file = tmp_path / 'foreign.mcap'
    with file.open('wb') as stream:
        writer = McapWriter(stream)
        writer.start()
        schema = writer.register_schema('foxglove.Pose', 'jsonschema', b'{}')
        channel = writer.register_channel('/pose', 'json', schema)
        writer.add_message(channel, START, b'{}', START)
        writer.finish()
    with BagReader(file) as reader, pytest.raises(BagError, match=r"encoded as 'json'"):
        list(reader.messages())


def shared(name: str) -> Path:
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f'{path} is not here')
    return path


@pytest.mark.shared_data
def test_husky():
    path = shared('husky_imu_odom_gps.bag')
    with BagReader(path) as reader:
        assert reader.info()[0].counts == {
            '/fix': 989,
            '/husky_velocity_controller/odom': 3952,
            '/imu/data': 11865,
        }
        reader.expect_type('fix', 'sensor_msgs/NavSatFix')
        found = [entry.message for entry in reader.messages(['fix', 'imu/data'])]
    assert {messages.type_name(message) for message in found} == {
        'sensor_msgs/msg/NavSatFix',
        'sensor_msgs/msg/Imu',
    }
    imus = [m for m in found if messages.type_name(m) == 'sensor_msgs/msg/Imu']
    columns = read_columns(path, {'imu/data': ['linear_acceleration'], 'fix': ['latitude']})
    fast = columns['imu/data']
    slow = [[m.linear_acceleration.x, m.linear_acceleration.z] for m in imus]
    matrix = fast.matrix('linear_acceleration.x', 'linear_acceleration.z')
    np.testing.assert_array_equal(matrix, slow)
    assert fast.stamps_ns.tolist() == [messages.stamp_ns(message) for message in imus]
    assert 42 < columns['fix']['latitude'].mean() < 43


@pytest.mark.shared_data
def test_jackal():
    path = shared('jackal_imu_odom.bag')
    columns = read_columns(
        path, {'imu/data': ['linear_acceleration.z'], 'jackal_velocity_controller/odom': None}
    )
    assert len(columns['imu/data']) == 3061
    assert columns['imu/data']['linear_acceleration.z'].mean() == pytest.approx(9.81, abs=0.3)
    odometry = columns['jackal_velocity_controller/odom']
    assert odometry['pose.covariance'].shape == (3060, 36)


@pytest.mark.shared_data
def test_force_plate_with_its_own_types():
    path = shared('force_plate_markers.bag')
    with BagReader(path) as reader:
        info = reader.topic_info('Force_plate_data')
        assert info.typename == 'vicon_data_publisher/msg/Force_plate_data'
        assert info.count == 17600 and not info.has_header
        described = reader.describe_type('Force_plate_data')
    assert described['fz_N'] == 'float64' and described['frameNumber'] == 'uint32'
    columns = read_columns(path, {'Force_plate_data': ['fz_N', 'frameNumber']})
    plate = columns['Force_plate_data']
    assert not plate.has_header
    assert np.all(np.diff(plate.stamps_ns) >= 0)
    assert np.all(np.diff(plate['frameNumber']) >= 0)
    assert np.isfinite(plate['fz_N']).all()


@pytest.mark.shared_data
@pytest.mark.parametrize('part', [0.3, 0.9, 0.999])
def test_truncated_ros1_bag(tmp_path: Path, part: float):
    data = shared('jackal_imu_odom.bag').read_bytes()
    file = tmp_path / 'cut.bag'
    file.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(BagError, match='truncated or damaged') as caught, BagReader(file):
        pass
    assert str(file) in str(caught.value) and '\n' not in str(caught.value)
