"""Fields straight from the bytes: the same as from the decoded message, in every case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import BagError, UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.cdr.fields import (
    FieldCallback,
    FieldReader,
    message_reader,
    parse_path,
)
from veh_identification.runtime.qos import SENSOR_DATA, SYSTEM_DEFAULT
from veh_identification.runtime.replay.engine import ReplayEngine

JOINTS = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
PATHS = {
    JOINTS: ['header.stamp.sec', 'header.frame_id', 'name', 'position[]', 'velocity[]'],
    IMU: [
        'header.stamp.nanosec',
        'orientation_covariance[0]',
        'angular_velocity.z',
        'linear_acceleration_covariance[8]',
        'orientation_covariance[0]',
    ],
    'sensor_msgs/msg/NavSatFix': ['status.status', 'latitude', 'position_covariance_type'],
    'sensor_msgs/msg/Range': ['range', 'min_range', 'radiation_type'],
    'veh_identification/msg/FusedState': [
        'pose_valid',
        'joint_valid[]',
        'wrench_names',
        'wrenches[].force.x',
        'wrenches[].torque.z',
    ],
}


def reader_of(type_name: str) -> FieldReader:
    backend = messages.rosbags_backend()
    fields = [parse_path(path) for path in PATHS[type_name]]
    return FieldReader(
        backend.templates(type_name), fields, lambda data: backend.deserialize(data, type_name)
    )


def plain(values: tuple[Any, ...]) -> str:
    return repr(tuple(v.item() if isinstance(v, np.generic) else v for v in values))


def joint_state(names: list[str], positions: list[float], velocities: list[float], sec: int):
    return messages.new(
        JOINTS,
        header=messages.header(sec * 10**9, 'base'),
        name=names,
        position=positions,
        velocity=velocities,
    )


numbers = st.floats(width=64)
names = st.lists(st.sampled_from(['a', 'joint_b', 'äö']), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(names, st.booleans(), st.booleans(), numbers), max_size=40))
def test_messages_of_changing_structure(items: list[tuple[list[str], bool, bool, float]]) -> None:
    reader = reader_of(JOINTS)
    expected = message_reader([parse_path(path) for path in PATHS[JOINTS]])
    for k, (chosen, moved, turned, value) in enumerate(items):
        row = [value + i for i in range(len(chosen))]
        message = joint_state(chosen, row if moved else [], row if turned else [], k)
        assert plain(reader(messages.serialize(message))) == plain(expected(message))


@pytest.mark.parametrize('type_name', list(PATHS))
def test_every_kind_of_field(type_name: str) -> None:
    reader = reader_of(type_name)
    expected = message_reader([parse_path(path) for path in PATHS[type_name]])
    message = messages.new(type_name)
    payload = messages.serialize(message)
    for _ in range(3):  # decoded, then by what was learnt
        assert plain(reader(payload)) == plain(expected(message))
    big = messages.rosbags_backend().store.serialize_cdr(message, type_name, little_endian=False)
    assert plain(reader(bytes(big))) == plain(expected(message))


def test_texts_are_shared_between_messages_of_one_structure() -> None:
    reader = reader_of(JOINTS)
    payloads = [messages.serialize(joint_state(['a'], [float(k)], [], k)) for k in range(3)]
    found = [reader(payload) for payload in payloads]
    assert found[1][2] is found[2][2] == ['a']
    assert [row[3] for row in found] == [(0.0,), (1.0,), (2.0,)]


def test_one_number_of_each_message_of_a_sequence() -> None:
    kind = 'veh_identification/msg/FusedState'
    reader = reader_of(kind)
    for count in (2, 2, 0, 1, 2):  # what was learnt of two does not serve for one
        wrenches = [{'force': (k + 1.0, 0, 0), 'torque': (0, 0, k - 1.0)} for k in range(count)]
        state = messages.new(kind, wrenches=wrenches, joint_valid=[True] * count)
        found = reader(messages.serialize(state))
        assert found[1] == (True,) * count
        assert found[3] == (1.0, 2.0)[:count] and found[4] == (-1.0, 0.0)[:count]


@pytest.mark.parametrize('path', ['', 'a.', 'a[].', 'a[]b', 'a[x]', 'a[0].b', '1a', 'a b'])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(UsageError, match='not the path'):
        parse_path(path)


class Listener:
    def __init__(self, node: Any) -> None:
        self.heard: list[Any] = []
        callback = FieldCallback(['header.stamp.sec', 'position[]'], self.heard.append)
        node.create_subscription(messages.message_class(JOINTS), 'joints', callback, SENSOR_DATA)


def write(path: Any, count: int) -> None:
    with BagWriter(path) as writer:
        for k in range(count):
            message = joint_state(['a', 'b'], [float(k), math.pi], [], k)
            writer.write_message('/joints', message, k + 1)


def test_engine_gives_fields_of_a_recording(tmp_path: Any) -> None:
    write(tmp_path / 'bag', 5)
    engine = ReplayEngine()
    listener = Listener(engine.create_node('listener'))
    with BagReader(tmp_path / 'bag') as reader:
        engine.play(reader.items(['/joints']))
    assert listener.heard == [(k, (float(k), math.pi)) for k in range(5)]
    assert engine.delivered == {'/joints': 5}


def test_beside_a_callback_of_messages_both_are_served(tmp_path: Any) -> None:
    write(tmp_path / 'bag', 3)
    engine = ReplayEngine()
    node = engine.create_node('listener')
    listener = Listener(node)
    whole: list[Any] = []
    node.create_subscription(
        messages.message_class(JOINTS), 'joints', whole.append, SYSTEM_DEFAULT
    )
    with BagReader(tmp_path / 'bag') as reader:
        engine.play(reader.items())
    assert listener.heard == [(k, (float(k), math.pi)) for k in range(3)]
    assert [message.header.stamp.sec for message in whole] == [0, 1, 2]


def test_bytes_that_do_not_fit_are_located(tmp_path: Any) -> None:
    with BagWriter(tmp_path / 'bag') as writer:
        for k in range(4):
            payload = messages.serialize(joint_state(['a'], [1.0], [], k))
            writer.write('/joints', JOINTS, payload[:-20] if k == 2 else payload, k + 1)
    engine = ReplayEngine()
    Listener(engine.create_node('listener'))
    with (
        BagReader(tmp_path / 'bag') as reader,
        pytest.raises(BagError, match=r'topic /joints, message 2 at log time 3 ns: .*JointState'),
    ):
        engine.play(reader.items())


def test_serialised_messages_can_be_published() -> None:
    engine = ReplayEngine()
    node = engine.create_node('both')
    listener = Listener(node)
    publisher = node.create_publisher(messages.message_class(JOINTS), 'joints', SYSTEM_DEFAULT)
    publisher.publish(messages.serialize(joint_state(['a'], [2.0], [], 7)))
    engine.run([])
    assert listener.heard == [(7, (2.0,))]
