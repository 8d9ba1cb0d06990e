"""Types that the recording itself defines, and those that nobody defines."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest
import yaml
from bag_samples import START, storage_file, write_sample
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from veh_identification.errors import BagError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, read_columns

PLATE = 'vendor_plate/msg/Plate'
PLATE_TEXT = 'uint32 frame\nfloat64 fx_N\nfloat64 fz_N\nvendor_plate/Cell[2] cells\n'
CELL_TEXT = 'float32 volt\nstring label\n'


def custom_store(store: Stores = Stores.EMPTY):
    typestore = get_typestore(store)
    typestore.register(
        {
            **get_types_from_msg(PLATE_TEXT, PLATE),
            **get_types_from_msg(CELL_TEXT, 'vendor_plate/msg/Cell'),
        }
    )
    return typestore


def plate(typestore, index: int):
    cell = typestore.types['vendor_plate/msg/Cell']
    cells = [cell(0.5 * index, 'left'), cell(1.5, 'r')]
    return typestore.types[PLATE](index, 2.0 * index, -3.0, cells)


@pytest.mark.parametrize('plugin', [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
@pytest.mark.parametrize('version', [8, 9])
def test_custom_type_of_a_foreign_writer(tmp_path: Path, plugin: StoragePlugin, version: int):
    typestore = custom_store()
    with Writer(tmp_path / 'bag', version=version, storage_plugin=plugin) as bag:
        connection = bag.add_connection('/plate', PLATE, typestore=typestore)
        for index in range(10):
            data = typestore.serialize_cdr(plate(typestore, index), PLATE)
            bag.write(connection, START + index, data)
    check_plates(tmp_path / 'bag')


def check_plates(path: Path) -> None:
    with BagReader(path) as reader:
        info = reader.topic_info('plate')
        assert info.typename == PLATE and not info.has_header and info.problem == ''
        assert reader.describe_type('plate') == {
            'frame': 'uint32',
            'fx_N': 'float64',
            'fz_N': 'float64',
            'cells': 'vendor_plate/msg/Cell[2]',
        }
        found = [entry.message for entry in reader.messages()]
    assert [message.fx_N for message in found] == [2.0 * index for index in range(10)]
    assert found[3].cells[0].volt == 1.5 and found[3].cells[1].label == 'r'
    columns = read_columns(path, {'plate': ['fx_N', 'frame', 'cells[0].volt']})['plate']
    assert columns['fx_N'].tolist() == [2.0 * index for index in range(10)]
    assert columns['cells[0].volt'].tolist() == [0.5 * index for index in range(10)]
    assert not columns.has_header
    assert columns.stamps_ns.tolist() == columns.log_times_ns.tolist()


@pytest.mark.parametrize('compression', [None, Ros1Writer.CompressionFormat.LZ4])
def test_ros1_bag(tmp_path: Path, compression):
    typestore = custom_store(Stores.ROS1_NOETIC)
    path = tmp_path / 'plate.bag'
    with_header = typestore.types['sensor_msgs/msg/Imu']
    with ros1_writer(path, compression) as bag:
        plates = bag.add_connection('/plate', PLATE, typestore=typestore)
        imus = bag.add_connection('/imu/data', with_header.__msgtype__, typestore=typestore)
        for index in range(10):
            bag.write(
                plates, START + index, typestore.serialize_ros1(plate(typestore, index), PLATE)
            )
            imu = ros1_imu(typestore, index)
            raw = typestore.serialize_ros1(imu, with_header.__msgtype__)
            bag.write(imus, START + index, raw)
    with BagReader(path) as reader:
        found = [entry.message for entry in reader.messages(['plate'])]
        imu_messages = [entry.message for entry in reader.messages(['imu/data'])]
    assert [message.fx_N for message in found] == [2.0 * index for index in range(10)]
    # ROS 1 messages come in the ROS 2 class, their header without its sequence number.
    assert type(imu_messages[4]) is messages.message_class('sensor_msgs/msg/Imu')
    assert messages.stamp_ns(imu_messages[4]) == 4_000_000_007
    assert imu_messages[4].header.frame_id == 'imu'
    columns = read_columns(path, {'imu/data': ['angular_velocity.y'], 'plate': ['cells[1].volt']})
    assert columns['imu/data']['angular_velocity.y'].tolist() == list(range(10))
    assert columns['imu/data'].stamps_ns[4] == 4_000_000_007
    assert columns['plate']['cells[1].volt'].tolist() == [1.5] * 10


def ros1_writer(path: Path, compression):
    writer = Ros1Writer(path)
    if compression is not None:
        writer.set_compression(compression)
    return writer


def ros1_imu(typestore, index: int):
    types = typestore.types
    vector = types['geometry_msgs/msg/Vector3']
    stamp = types['builtin_interfaces/msg/Time'](index, 7)
    header = types['std_msgs/msg/Header'](seq=99, stamp=stamp, frame_id='imu')
    return types['sensor_msgs/msg/Imu'](
        header,
        types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        np.zeros(9),
        vector(0.0, float(index), 0.0),
        np.zeros(9),
        vector(0.0, 0.0, 9.81),
        np.zeros(9),
    )


def humble_range(path: Path, plugin: StoragePlugin) -> Path:
    """Range without the variance that Jazzy added."""
    typestore = get_typestore(Stores.ROS2_HUMBLE)
    types = typestore.types
    name = 'sensor_msgs/msg/Range'
    with Writer(path, version=8, storage_plugin=plugin) as bag:
        connection = bag.add_connection('/ride_height_fl', name, typestore=typestore)
        for index in range(5):
            stamp = types['builtin_interfaces/msg/Time'](index, 0)
            header = types['std_msgs/msg/Header'](stamp, 'corner')
            message = types[name](header, 1, 0.1, 0.0, 2.0, 0.25 * index)
            bag.write(connection, START + index, typestore.serialize_cdr(message, name))
    return path


def test_older_definition_of_a_known_type(tmp_path: Path):
    path = humble_range(tmp_path / 'bag', StoragePlugin.MCAP)
    with BagReader(path) as reader:
        found = [entry.message for entry in reader.messages()]
    assert type(found[0]) is messages.message_class('sensor_msgs/msg/Range')
    assert [message.range for message in found] == [0.25 * index for index in range(5)]
    assert found[0].variance == 0.0
    messages.serialize(found[0])
    columns = read_columns(path, {'ride_height_fl': ['range']})
    assert columns['ride_height_fl']['range'][4] == 1.0


def strip_definitions(path: Path) -> None:
    """Turn an sqlite3 recording into one of Humble, which stores no definitions."""
    with sqlite3.connect(storage_file(path)) as database:
        database.execute('DROP TABLE message_definitions')
        database.execute('DROP TABLE schema')
    database.close()
    metadata = yaml.safe_load((path / 'metadata.yaml').read_text())
    metadata['rosbag2_bagfile_information']['version'] = 5
    del metadata['rosbag2_bagfile_information']['ros_distro']
    (path / 'metadata.yaml').write_text(yaml.safe_dump(metadata))


def test_recording_of_humble_without_definitions(tmp_path: Path):
    path = humble_range(tmp_path / 'bag', StoragePlugin.SQLITE3)
    strip_definitions(path)
    with BagReader(path) as reader:
        assert reader.info()[0].distribution == 'humble'
        found = [entry.message.range for entry in reader.messages()]
    assert found == [0.25 * index for index in range(5)]


def test_known_types_without_definitions(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', storage='sqlite3')
    strip_definitions(path)
    with BagReader(path) as reader:
        assert sum(1 for _ in reader.messages()) == 251


def test_unknown_type(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', storage='sqlite3')
    strip_definitions(path)
    with sqlite3.connect(storage_file(path)) as database:
        database.execute("UPDATE topics SET type = 'lost/msg/Thing' WHERE name = '/imu/data'")
    database.close()
    with BagReader(path) as reader:
        assert 'lost/msg/Thing is not known' in reader.topics['/imu/data'].problem
        assert sum(1 for _ in reader.raw()) == 251
        assert sum(1 for _ in reader.messages(['joint_states'])) == 50
        for action in (
            lambda: list(reader.messages(['imu/data'])),
            lambda: reader.describe_type('imu/data'),
        ):
            with pytest.raises(BagError, match=r'/imu/data.*lost/msg/Thing is not known'):
                action()
    with pytest.raises(BagError, match=r'/imu/data: .*lost/msg/Thing is not known'):
        read_columns(path, {'imu/data': None})
    with BagReader(path, on_error='skip') as reader:
        assert sum(1 for _ in reader.messages()) == 51
        assert reader.problems.undecodable == {'/imu/data': 200}


def test_split_recording(tmp_path: Path):
    """A recorder that starts a new file now and then; the first file may lack a topic."""
    path = write_sample(tmp_path / 'bag')
    other = write_sample(tmp_path / 'other', count=300)
    shutil.copy(storage_file(other), path / 'bag_1.mcap')
    metadata = path / 'metadata.yaml'
    text = metadata.read_text()
    metadata.write_text(text.replace('- bag.mcap', '- bag.mcap\n  - some/bag_1.mcap'))
    with BagReader(path) as reader:
        assert reader.info()[0].files == 2
        times = [raw.time_ns for raw in reader.raw(['imu/data'])]
    assert len(times) == 500 and times == sorted(times)


def test_big_endian_messages(tmp_path: Path):
    typestore = get_typestore(Stores.ROS2_JAZZY)
    name = 'geometry_msgs/msg/Vector3Stamped'
    with Writer(tmp_path / 'bag', version=8, storage_plugin=StoragePlugin.MCAP) as bag:
        connection = bag.add_connection('/v', name, typestore=typestore)
        for index in range(4):
            message = messages.new(name, header=(index, 'f'), vector=(index, 1, 2))
            data = typestore.serialize_cdr(message, name, little_endian=index % 2 == 0)
            bag.write(connection, START + index, data)
    with BagReader(tmp_path / 'bag') as reader:
        assert [entry.message.vector.x for entry in reader.messages()] == [0, 1, 2, 3]
    columns = read_columns(tmp_path / 'bag', {'v': None})['v']
    assert columns['vector.x'].tolist() == [0, 1, 2, 3]
    assert columns.stamps_ns.tolist() == [0, 1, 2, 3]


def test_a_definition_that_cannot_be_parsed(tmp_path: Path):
    path = write_sample(tmp_path / 'bag', storage='sqlite3')
    with sqlite3.connect(storage_file(path)) as database:
        database.execute(
            "UPDATE message_definitions SET encoded_message_definition = 'float64 1x' "
            "WHERE topic_type = 'sensor_msgs/msg/Imu'"
        )
    database.close()
    with BagReader(path) as reader, pytest.raises(BagError, match='cannot be parsed'):
        list(reader.messages(['imu/data']))


def test_struct_sizes_agree_with_the_format():
    """The head of a message record, counted by hand from the specification."""
    from veh_identification.runtime.bags.mcap.source import SEQUENCE_HEAD

    assert SEQUENCE_HEAD.size == 1 + 8 + 2 + 4 + 8 + 8 == struct.calcsize('<BQHIQQ')
