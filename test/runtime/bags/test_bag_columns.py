from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_samples import START, STEP, estimates, imu, joints, write_sample
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import BagError, MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.bags import reader as reader_module
from veh_identification.runtime.bags.paths import expand_paths
from veh_identification.runtime.cdr.layout import find_layout


def write_messages(path: Path, topic: str, found: list[Any]) -> Path:
    with BagWriter(path) as bag:
        for index, message in enumerate(found):
            bag.write_message(topic, message, START + index)
    return path


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_numbers_stamps_and_frames(tmp_path: Path, storage: str):
    path = write_sample(tmp_path / 'bag', storage=storage)
    columns = read_columns(path, {'imu/data': ['angular_velocity.y', 'linear_acceleration']})
    (imus,) = columns.values()
    assert imus.typename == 'sensor_msgs/msg/Imu' and imus.has_header
    assert imus.stamps_ns.dtype == np.int64
    assert imus.stamps_ns.tolist() == [START + index * STEP for index in range(200)]
    assert imus.frame_ids == ('imu_link',)
    assert imus['angular_velocity.y'].tolist() == [index + 0.25 for index in range(200)]
    matrix = imus.matrix('linear_acceleration.y', 'linear_acceleration.z')
    assert matrix.tolist() == [[-index, 9.81] for index in range(200)]
    assert len(imus) == 200


def test_header_stamp_and_log_time_are_both_kept(tmp_path: Path):
    with BagWriter(tmp_path / 'bag') as bag:
        for index in range(5):
            bag.write_message('imu/data', imu(index), START + 10**9 + index)
    columns = read_columns(tmp_path / 'bag', {'imu/data': []})['imu/data']
    assert columns.stamps_ns.tolist() == [START + index * STEP for index in range(5)]
    assert columns.log_times_ns.tolist() == [START + 10**9 + index for index in range(5)]


def test_all_numbers_of_a_message(tmp_path: Path):
    path = write_messages(tmp_path / 'bag', 'imu', [imu(3)])
    columns = read_columns(path, {'imu': None})['imu']
    assert columns['orientation.w'].tolist() == [1.0]
    assert columns['orientation_covariance'].shape == (1, 9)
    assert 'header.stamp.sec' not in columns.values


def test_array_elements(tmp_path: Path):
    found = [imu(0, orientation_covariance=np.arange(9)), imu(1)]
    path = write_messages(tmp_path / 'bag', 'imu', found)
    wanted = ['orientation_covariance[4]', 'orientation_covariance']
    columns = read_columns(path, {'imu': wanted})['imu']
    assert columns['orientation_covariance[4]'].tolist() == [4.0, 0.0]
    assert columns['orientation_covariance'][0].tolist() == list(range(9))


def test_joints_by_name_in_any_subset_and_order(tmp_path: Path):
    found = [
        joints(0, ['a', 'b'], [1.0, 2.0]),
        joints(1, ['b', 'a'], [3.0, 4.0]),
        joints(2, ['b'], [5.0]),
        joints(3, ['c.d', 'a'], [6.0, 7.0]),
        joints(4, ['a', 'b'], []),  # names without positions
        joints(5, [], []),
    ]
    path = write_messages(tmp_path / 'bag', 'joint_states', found)
    columns = read_columns(path, {'joint_states': ['position[a]', 'position[nobody]']})
    nan = np.nan
    one = columns['joint_states']
    np.testing.assert_array_equal(one['position[a]'], [1, 4, nan, 7, nan, nan])
    assert np.isnan(one['position[nobody]']).all()
    every = read_columns(path, {'joint_states': ['position', 'velocity']})['joint_states']
    assert every.names['position'] == ('a', 'b', 'c.d')
    np.testing.assert_array_equal(every['position[b]'], [2, 3, 5, nan, nan, nan])
    np.testing.assert_array_equal(every['position[c.d]'], [nan, nan, nan, 6, nan, nan])
    assert 'velocity[a]' not in every.values


def test_named_elements_of_our_own_messages(tmp_path: Path):
    path = write_messages(tmp_path / 'bag', 'p', [estimates()])
    columns = read_columns(path, {'p': ['parameters[Mc].value', 'condition_number']})['p']
    assert columns['parameters[Mc].value'].tolist() == [1500.0]
    every = read_columns(path, {'p': ['parameters.value']})['p']
    assert every['parameters[k1].value'].tolist() == [np.inf]
    fused = messages.new(
        'veh_identification/msg/FusedState',
        header=(1, 'odom'),
        joint_names=['q'],
        joint_positions=[2.0],
        wrench_names=['plate'],
        wrenches=[{'force': (1, 2, 3)}],
        wrench_valid=[True],
    )
    path = write_messages(tmp_path / 'fused', 'fused', [fused])
    wanted = ['wrenches[plate].force.z', 'wrench_valid[plate]', 'joint_positions', 'pose_valid']
    columns = read_columns(path, {'fused': wanted})['fused']
    assert columns['wrenches[plate].force.z'].tolist() == [3.0]
    assert columns['wrench_valid[plate]'].tolist() == [1.0]
    assert columns['joint_positions[q]'].tolist() == [2.0]
    assert columns['pose_valid'].tolist() == [0.0]


def test_frames_may_change(tmp_path: Path):
    found = []
    for index in range(6):
        message = imu(index)
        message.header.frame_id = 'one' if index % 3 else 'another'
        found.append(message)
    columns = read_columns(write_messages(tmp_path / 'bag', 'imu', found), {'imu': None})['imu']
    assert set(columns.frame_ids) == {'one', 'another'}
    assert columns['angular_velocity.x'].tolist() == list(range(6))


def test_several_recordings(tmp_path: Path):
    first = write_messages(tmp_path / 'a', 'imu', [imu(0), imu(1)])
    second = write_messages(tmp_path / 'b', 'imu', [imu(2), imu(3)])
    columns = read_columns([first, second], {'imu': ['angular_velocity.x']})['imu']
    assert columns.log_times_ns.tolist() == sorted(columns.log_times_ns.tolist())
    assert columns['angular_velocity.x'].tolist() == [0, 2, 1, 3]


def test_blocks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_sample(tmp_path / 'bag')
    topics: dict[str, Any] = {'imu/data': None, 'joint_states': ['position']}
    whole = read_columns(path, topics)
    monkeypatch.setattr(reader_module, 'BLOCK', 7)
    pieces = read_columns(path, topics)
    for topic in topics:
        assert list(whole[topic].values) == list(pieces[topic].values)
        for name, values in whole[topic].values.items():
            np.testing.assert_array_equal(values, pieces[topic].values[name])


def test_time_window(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    window = {'start_ns': START + 10 * STEP, 'stop_ns': START + 12 * STEP}
    columns = read_columns(path, {'imu/data': ['angular_velocity.x']}, **window)['imu/data']
    assert columns['angular_velocity.x'].tolist() == [10.0, 11.0]
    nothing = read_columns(path, {'imu/data': ['angular_velocity.x']}, stop_ns=5)['imu/data']
    assert len(nothing) == 0 and nothing['angular_velocity.x'].shape == (0,)


@pytest.mark.parametrize(
    ('typename', 'path', 'word'),
    [
        ('sensor_msgs/msg/Imu', 'speed', "no field 'speed'"),
        ('sensor_msgs/msg/Imu', 'angular_velocity.w', "no field 'w'"),
        ('sensor_msgs/msg/Imu', 'header.frame_id', 'is text'),
        ('sensor_msgs/msg/Imu', 'angular_velocity[0]', 'not a sequence'),
        ('sensor_msgs/msg/Imu', 'angular_velocity.x.y', 'no fields of its own'),
        ('sensor_msgs/msg/Imu', '1x', 'not a path'),
        ('sensor_msgs/msg/JointState', 'name', 'is text'),
        ('sensor_msgs/msg/LaserScan', 'ranges', r'ranges\[0\]'),
        ('sensor_msgs/msg/LaserScan', 'ranges[left]', 'have no names'),
    ],
)
def test_wrong_paths_are_named(typename: str, path: str, word: str):
    with pytest.raises(MessageError, match=word):
        expand_paths([path], typename, messages.field_types)


def test_wrong_path_names_recording_and_topic(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with pytest.raises(BagError, match=r'bag, topic /imu/data: .* no field .speed'):
        read_columns(path, {'imu/data': ['speed']})
    columns = read_columns(path, {'imu/data': ['orientation']})['imu/data']
    with pytest.raises(BagError, match="no column 'speed'"):
        columns['speed']


NUMERIC_TYPES = [
    *('sensor_msgs/msg/Imu', 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/WrenchStamped'),
    *('geometry_msgs/msg/TwistStamped', 'geometry_msgs/msg/PoseStamped', 'nav_msgs/msg/Odometry'),
    *('sensor_msgs/msg/NavSatFix', 'sensor_msgs/msg/Range', 'sensor_msgs/msg/BatteryState'),
    *('veh_identification/msg/FusedState', 'veh_identification/msg/ObserverStatus'),
    *('diagnostic_msgs/msg/DiagnosticArray', 'sensor_msgs/msg/PointCloud2'),
    *('sensor_msgs/msg/LaserScan', 'tf2_msgs/msg/TFMessage', 'std_msgs/msg/Float64MultiArray'),
]


def random_value(generator: random.Random, spelled: str) -> Any:
    if spelled.endswith(']'):
        inner, _, count = spelled[:-1].rpartition('[')
        length = int(count) if count.isdigit() else generator.randrange(4)
        return [random_value(generator, inner) for _ in range(length)]
    if '/' in spelled:
        fields = messages.field_types(spelled)
        return {name: random_value(generator, kind) for name, kind in fields.items()}
    if spelled == 'string':
        return ''.join(generator.choices('ab/_ü', k=generator.randrange(6)))
    if spelled.startswith('float'):
        return float(np.float32(generator.gauss(0, 1e3)))
    return generator.randrange(2 if spelled == 'bool' else 100)


def leaves(message: Any, prefix: str = '') -> dict[str, list[float]]:
    """Numbers of a decoded message, by the names that the layout uses."""
    found: dict[str, list[float]] = {}
    for name, spelled in messages.field_types(messages.type_name(message)).items():
        value = getattr(message, name)
        inner = spelled.partition('[')[0]
        if inner == 'string':
            continue
        if '/' not in inner:
            found[prefix + name] = np.atleast_1d(np.asarray(value, float)).tolist()
        elif spelled.endswith(']'):
            for index, item in enumerate(value):
                found |= leaves(item, f'{prefix}{name}[{index}].')
        else:
            found |= leaves(value, f'{prefix}{name}.')
    return found


@pytest.mark.parametrize('typename', NUMERIC_TYPES)
def test_layout_finds_what_rosbags_decodes(typename: str):
    """The generic walk against rosbags' generated decoder and, for ROS 1, its converter."""
    store = messages.rosbags_backend().store
    types = messages.field_types(typename)
    for seed in range(12):
        generator = random.Random(seed)
        fields = {name: random_value(generator, spelled) for name, spelled in types.items()}
        message = messages.new(typename, **fields)
        expected = leaves(message)
        cdr = messages.serialize(message)
        ros1 = bytes(store.cdr_to_ros1(cdr, typename))
        for payload, is_ros1 in ((cdr, False), (ros1, True)):
            layout = find_layout(store, typename, payload, ros1=is_ros1)
            block = np.frombuffer(payload, np.uint8).reshape(1, -1)
            assert layout.matches(block).all()
            found = {
                name: layout.numbers(block, leaf)[0].tolist()
                for name, leaf in layout.leaves.items()
            }
            assert found == expected


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_layout_of_noise_is_an_error_or_a_layout(noise: bytes):
    store = messages.rosbags_backend().store
    for typename in ('sensor_msgs/msg/JointState', 'veh_identification/msg/FusedState'):
        try:
            layout = find_layout(store, typename, b'\x00\x01\x00\x00' + noise, ros1=False)
        except MessageError:
            continue
        assert layout.size == len(noise) + 4


def test_columns_equal_the_decoded_messages(tmp_path: Path):
    """The fast path against the slow one on a whole recording."""
    path = write_sample(tmp_path / 'bag')
    columns = read_columns(path, {'imu/data': None})['imu/data']
    with BagReader(path) as reader:
        decoded = [leaves(entry.message) for entry in reader.messages(['imu/data'])]
    for name, values in columns.values.items():
        slow = np.array([entry[name] for entry in decoded])
        np.testing.assert_array_equal(values.reshape(slow.shape), slow)


@pytest.mark.parametrize(
    ('stamp', 'said'), [(0, 'no stamp \\(zero\\)'), (7, 'the same stamp 7 s')]
)
def test_messages_that_bear_one_stamp_are_refused(tmp_path: Path, stamp: int, said: str) -> None:
    found = [imu(0) for _ in range(12)]
    for one in found:
        one.header.stamp.sec, one.header.stamp.nanosec = stamp, 0
    path = write_messages(tmp_path / 'bag', 'imu/data', found)
    with pytest.raises(BagError, match=f'topic /imu/data: all 12 messages bear {said}'):
        read_columns(path, {'imu/data': ['angular_velocity.y']})
    few = write_messages(tmp_path / 'few', 'imu/data', found[:5])
    assert len(read_columns(few, {'imu/data': ['angular_velocity.y']})['imu/data']) == 5
