"""The `ros` backend against stand-ins that check as strictly as rosidl's Python classes.

The stand-ins follow what rosidl's generator makes: floats must be float, integers int, a byte a
bytes object of length 1, fixed numeric arrays numpy arrays of the exact type, numeric sequences
array.array of the exact type code, everything else lists. With ROS installed the same calls run
on the real classes.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from array import array
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.messages.ros import TYPECODES, spell_type

ROS = importlib.util.find_spec('rclpy') is not None
ROSIDL_NAMES = {'bool': 'boolean', 'byte': 'octet', 'float32': 'float', 'float64': 'double'}
TYPES = [
    *('builtin_interfaces/msg/Time', 'std_msgs/msg/Header', 'sensor_msgs/msg/JointState'),
    *('geometry_msgs/msg/Vector3', 'geometry_msgs/msg/Quaternion', 'sensor_msgs/msg/Imu'),
    *('diagnostic_msgs/msg/KeyValue', 'diagnostic_msgs/msg/DiagnosticStatus'),
    *('geometry_msgs/msg/Wrench', 'geometry_msgs/msg/Point', 'geometry_msgs/msg/Pose'),
    *('geometry_msgs/msg/Twist', 'geometry_msgs/msg/Accel', 'veh_identification/msg/FusedState'),
]


def rosidl_name(spelled: str) -> str:
    if spelled.endswith(']'):
        inner, _, count = spelled[:-1].rpartition('[')
        base = rosidl_name(inner)
        if count.startswith('<='):
            return f'sequence<{base}, {count[2:]}>'
        return f'{base}[{count}]' if count else f'sequence<{base}>'
    return ROSIDL_NAMES.get(spelled, spelled.replace('/msg/', '/'))


def check(spelled: str, value: Any, classes: dict[str, type]) -> bool:
    """Whether rosidl's setter would take a value."""
    if spelled.endswith(']'):
        inner, _, count = spelled[:-1].rpartition('[')
        if inner in TYPECODES and count:
            good = isinstance(value, np.ndarray) and value.dtype == np.dtype(inner)
            return good and value.shape == (int(count),)
        if inner in TYPECODES:
            return isinstance(value, array) and value.typecode == TYPECODES[inner]
        return isinstance(value, list) and all(check(inner, item, classes) for item in value)
    if '/' in spelled:
        return type(value) is classes[spelled]
    if spelled == 'byte':
        return isinstance(value, bytes) and len(value) == 1
    expected = {'bool': bool, 'string': str, 'float32': float, 'float64': float}.get(spelled, int)
    return type(value) is expected


def default(spelled: str, classes: dict[str, type]) -> Any:
    if spelled.endswith(']'):
        inner, _, count = spelled[:-1].rpartition('[')
        if inner in TYPECODES:
            return np.zeros(int(count), inner) if count else array(TYPECODES[inner])
        return []
    if '/' in spelled:
        return classes[spelled]()
    return {'byte': b'\x00', 'bool': False, 'string': '', 'float64': 0.0}.get(spelled, 0)


def stand_in(name: str, classes: dict[str, type]) -> type:
    types = messages.rosbags_backend().field_types(name)
    package, kind, short = name.split('/')

    def init(self: Any) -> None:
        for field, spelled in types.items():
            object.__setattr__(self, field, default(spelled, classes))

    def assign(self: Any, field: str, value: Any) -> None:
        assert field in types, field
        assert check(types[field], value, classes), f'{field} does not take {value!r}'
        object.__setattr__(self, field, value)

    members = {
        '__init__': init,
        '__setattr__': assign,
        '__module__': f'{package}.{kind}._{short.lower()}',
        'get_fields_and_field_types': classmethod(
            lambda cls: {field: rosidl_name(spelled) for field, spelled in types.items()}
        ),
    }
    return type(short, (), members)


@pytest.fixture
def ros(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    if not ROS:
        install_stand_ins(monkeypatch, tmp_path)
    messages.select_backend('ros')
    yield
    messages.select_backend('rosbags')


def install_stand_ins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    classes: dict[str, type] = {}
    for name in TYPES:
        classes[name] = stand_in(name, classes)
        package, kind, short = name.split('/')
        module = sys.modules.get(f'{package}.{kind}') or ModuleType(f'{package}.{kind}')
        monkeypatch.setattr(module, short, classes[name], raising=False)
        monkeypatch.setitem(sys.modules, f'{package}.{kind}', module)
        if package not in sys.modules:
            monkeypatch.setitem(sys.modules, package, ModuleType(package))
    folder = tmp_path / 'share' / 'sensor_msgs' / 'msg'
    folder.mkdir(parents=True)
    hashes = [{'type_name': 'sensor_msgs/msg/Imu', 'hash_string': 'RIHS01_test'}]
    (folder / 'Imu.json').write_text(json.dumps({'type_hashes': hashes}))

    def share(package: str) -> str:
        if not (tmp_path / 'share' / package).exists():
            raise LookupError(package)
        return str(tmp_path / 'share' / package)

    for name, content in {
        'rclpy': {},
        'rclpy.serialization': {'serialize_message': lambda m: b'bytes'},
        'ament_index_python': {},
        'ament_index_python.packages': {'get_package_share_directory': share},
    }.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**content))


def test_fields_in_every_form(ros: None):
    message = messages.new(
        'sensor_msgs/msg/Imu',
        header=messages.header(1_000_000_002, 'imu_link'),
        orientation=(0, 0, 0, 1),
        angular_velocity=np.array([1, 2, 3]),
        linear_acceleration={'z': 9},
        orientation_covariance=np.eye(3),
    )
    assert messages.type_name(message) == 'sensor_msgs/msg/Imu'
    assert messages.stamp_ns(message) == 1_000_000_002
    assert message.linear_acceleration.z == 9.0
    assert list(message.orientation_covariance) == np.eye(3).ravel().tolist()


def test_sequences(ros: None):
    message = messages.new(
        'sensor_msgs/msg/JointState', header=(5, ''), name=('a',), position=np.array([1])
    )
    assert list(message.name) == ['a']
    assert np.asarray(message.position).tolist() == [1.0]
    if not ROS:
        fused = messages.new(
            'veh_identification/msg/FusedState',
            joint_valid=[1, 0],
            wrenches=[{'force': (1, 2, 3)}],
        )
        assert fused.joint_valid == [True, False]
        assert fused.wrenches[0].force.z == 3.0


def test_bytes(ros: None):
    for level in (1, b'\x01'):
        message = messages.new('diagnostic_msgs/msg/DiagnosticStatus', level=level)
        assert messages.byte_value(message.level) == 1


@pytest.mark.parametrize(
    ('fields', 'word'),
    [
        ({'speed': 1}, "'speed'"),
        ({'orientation': (1, 2)}, '4 fields'),
        ({'header': 'now'}, 'expected std_msgs/msg/Header'),
        ({'header': {'frame_id': 7}}, 'frame_id'),
    ],
)
def test_wrong_fields(ros: None, fields: dict[str, Any], word: str):
    with pytest.raises(MessageError, match=word):
        messages.new('sensor_msgs/msg/Imu', **fields)


def test_unknown_type(ros: None):
    with pytest.raises(MessageError, match='not installed'):
        messages.message_class('no_such_package/msg/Thing')


@pytest.mark.skipif(ROS, reason='the installed hash is another')
def test_hash_from_installed_description(ros: None):
    assert messages.type_hash('sensor_msgs/msg/Imu') == 'RIHS01_test'
    with pytest.raises(MessageError, match='type hash of std_msgs/msg/Header'):
        messages.type_hash('std_msgs/msg/Header')


@pytest.mark.skipif(not ROS, reason='needs ROS 2')
@pytest.mark.ros
def test_cdr_and_hash_agree_with_rosbags(ros: None):
    for name in ('sensor_msgs/msg/Imu', 'sensor_msgs/msg/JointState', 'nav_msgs/msg/Odometry'):
        rosbags = messages.rosbags_backend()
        assert messages.type_hash(name) == rosbags.type_hash(name)
        data = messages.serialize(messages.new(name))
        assert rosbags.serialize(rosbags.deserialize(data, name), name) == data


def test_recordings_use_rosbags_all_the_same(ros: None):
    backend = messages.rosbags_backend()
    assert type(backend).__name__ == 'RosbagsBackend'


@pytest.mark.skipif(ROS, reason='only without ROS')
def test_without_ros_the_sentence_is_clear():
    with pytest.raises(UsageError, match="'ros' cannot be used here, rclpy is missing"):
        messages.select_backend('ros')
    assert messages.backend_name() == 'rosbags'


@pytest.mark.parametrize(
    ('rosidl', 'spelled'),
    [
        ('double', 'float64'),
        ('sequence<double, 3>', 'float64[<=3]'),
        ('sequence<geometry_msgs/Point>', 'geometry_msgs/msg/Point[]'),
        ('double[9]', 'float64[9]'),
        ('string<10>', 'string<=10'),
        ('sequence<string>', 'string[]'),
        ('boolean', 'bool'),
        ('octet', 'byte'),
    ],
)
def test_spelling(rosidl: str, spelled: str):
    assert spell_type(rosidl) == spelled
