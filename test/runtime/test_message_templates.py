"""Templates against rosbags: same messages, same bytes, same errors, whatever the structure."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.cdr.templates import MAXIMUM_MISSES, TypeTemplates
from veh_identification.runtime.messages.without_ros import create

BACKEND = create()
STORE = BACKEND.store
TYPES = [
    *('builtin_interfaces/msg/Time', 'std_msgs/msg/String', 'std_msgs/msg/Empty'),
    *('sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'nav_msgs/msg/Odometry'),
    *('sensor_msgs/msg/NavSatFix', 'sensor_msgs/msg/Range', 'sensor_msgs/msg/PointCloud2'),
    *('geometry_msgs/msg/WrenchStamped', 'tf2_msgs/msg/TFMessage', 'sensor_msgs/msg/BatteryState'),
    *('diagnostic_msgs/msg/DiagnosticArray', 'std_msgs/msg/Float32MultiArray'),
    *('veh_identification/msg/FusedState', 'veh_identification/msg/ObserverStatus'),
    *('rcl_interfaces/msg/ParameterValue', 'shape_msgs/msg/SolidPrimitive'),
]
INTEGERS = {
    **{'byte': (-128, 127), 'char': (0, 255), 'int8': (-128, 127), 'uint8': (0, 255)},
    **{'int16': (-(2**15), 2**15 - 1), 'uint16': (0, 2**16 - 1)},
    **{'int32': (-(2**31), 2**31 - 1), 'uint32': (0, 2**32 - 1)},
    **{'int64': (-(2**63), 2**63 - 1), 'uint64': (0, 2**64 - 1)},
}
DTYPES = {'bool': 'bool', 'byte': 'int8', 'char': 'uint8'}
TEXTS = ['', 'a', 'base_link', 'wheel_fl', 'wheel_fr', 'ü€😀', 'x' * 40]


class Maker:
    """Random messages; the structure (texts, lengths) from one generator, numbers from another."""

    def __init__(self, structure: int, numbers: int) -> None:
        self.structure = np.random.default_rng(structure)
        self.numbers = np.random.default_rng(numbers)

    def message(self, type_name: str) -> Any:
        fields = STORE.get_msgdef(type_name).fields
        return STORE.types[type_name](*[self.field(kind) for _, kind in fields])

    def field(self, description: Any) -> Any:
        kind, rest = description
        if kind == Nodetype.BASE:
            return self.text() if rest[0] == 'string' else self.array(rest[0], 1)[0].item()
        if kind == Nodetype.NAME:
            return self.message(rest)
        (inner_kind, inner), count = rest
        if kind == Nodetype.SEQUENCE:
            count = int(self.structure.integers(0, 4))
        if inner_kind == Nodetype.NAME:
            return [self.message(inner) for _ in range(count)]
        if inner[0] == 'string':
            return [self.text() for _ in range(count)]
        return self.array(inner[0], count)

    def text(self) -> str:
        return TEXTS[int(self.structure.integers(len(TEXTS)))]

    def array(self, kind: str, count: int) -> np.ndarray:
        if kind == 'bool':
            return self.numbers.integers(0, 2, count).astype(bool)
        if kind.startswith('float'):
            values = self.numbers.normal(size=count) * 10.0 ** self.numbers.integers(-9, 9, count)
            values[self.numbers.random(count) < 0.1] = np.nan
            return values.astype(kind)
        low, high = INTEGERS[kind]
        dtype = np.dtype(DTYPES.get(kind, kind))
        return self.numbers.integers(low, high, count, dtype=dtype, endpoint=True)


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit, types included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
            and one.flags.writeable == other.flags.writeable
            and one.flags.aligned == other.flags.aligned
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return struct.pack('<d', one) == struct.pack('<d', other)
    if dataclasses.is_dataclass(one):
        return list(vars(one)) == list(vars(other)) and all(
            same(value, getattr(other, name)) for name, value in vars(one).items()
        )
    return bool(one == other)


@pytest.mark.parametrize('type_name', TYPES)
@settings(max_examples=25, deadline=None)
@given(structures=st.lists(st.integers(0, 5), min_size=4, max_size=12), seed=st.integers(0, 10**6))
def test_same_as_rosbags(type_name: str, structures: list[int], seed: int) -> None:
    """Any order of structures, some repeated: decoded and encoded as rosbags does."""
    templates = TypeTemplates(STORE, type_name)
    for number, structure in enumerate([*structures, structures[-1], structures[-1]]):
        message = Maker(structure, seed + number).message(type_name)
        payload = bytes(STORE.serialize_cdr(message, type_name))
        assert templates.encode(message) == payload
        decoded = templates.decode(payload)
        assert same(decoded, STORE.deserialize_cdr(payload, type_name))
        view = memoryview(payload)
        assert same(templates.decode(view), STORE.deserialize_cdr(view, type_name))
        assert templates.encode(decoded) == payload


@pytest.mark.parametrize('type_name', TYPES)
def test_repeated_structure_takes_the_template(type_name: str) -> None:
    """What the other tests compare is really the fast way, not rosbags with itself."""
    templates = TypeTemplates(STORE, type_name)
    for number in range(6):
        message = Maker(3, number).message(type_name)
        templates.decode(templates.encode(message))
    assert templates._decode_hits == templates._encode_hits == 4


def joint_state(names: list[str], frame: str = 'base', value: float = 1.0) -> Any:
    return messages.rosbags_backend().new(
        'sensor_msgs/msg/JointState',
        {
            'header': {'stamp': 5, 'frame_id': frame},
            'name': names,
            'position': [value] * len(names),
        },
    )


def taught() -> tuple[TypeTemplates, bytes]:
    """Templates that know one JointState structure, and a message of it."""
    templates = TypeTemplates(messages.rosbags_backend().store, 'sensor_msgs/msg/JointState')
    payload = b''
    for value in (1.0, 2.0, 3.0):
        payload = templates.encode(joint_state(['left', 'right'], value=value))
        templates.decode(payload)
    assert templates._decode_hits == templates._encode_hits == 1
    return templates, payload


def test_other_texts_of_equal_length_are_seen() -> None:
    templates, _ = taught()
    payload = templates.encode(joint_state(['lift', 'reght'], 'bose'))
    message = templates.decode(payload)
    assert (message.name, message.header.frame_id) == (['lift', 'reght'], 'bose')


def test_messages_do_not_share_anything_mutable() -> None:
    templates, payload = taught()
    first, second = templates.decode(payload), templates.decode(payload)
    first.name.append('third')
    first.header.stamp.sec = 99
    assert second.name == ['left', 'right'] and second.header.stamp.sec == 0
    assert templates.decode(payload).name == ['left', 'right']
    assert not first.position.flags.writeable  # as rosbags' own


def test_padding_and_header_options_do_not_matter() -> None:
    """Bytes between fields may hold anything; so may the options of the encapsulation."""
    templates, payload = taught()
    changed = bytearray(payload)
    changed[2:4] = b'\x07\x07'
    assert templates.decode(bytes(changed)).name == ['left', 'right']
    padding = payload.index(b'left\x00') + 5
    assert changed[padding : padding + 3] == b'\x00\x00\x00'
    changed[padding : padding + 3] = b'\x01\x02\x03'
    assert templates.decode(bytes(changed)).name == ['left', 'right']


def test_big_endian_goes_through_rosbags() -> None:
    templates, _ = taught()
    message = joint_state(['left', 'right'], value=7.0)
    store, kind = templates.store, templates.type_name
    payload = bytes(store.serialize_cdr(message, kind, little_endian=False))
    for _ in range(3):
        assert templates.decode(payload).position.tolist() == [7.0, 7.0]


def test_fields_named_by_words_of_python() -> None:
    """Found by the campaign of bench/fuzz.py: `or` made a template that is no Python."""
    backend = create()
    kind = 'named_by_words/msg/Relay'
    text = 'float64 or\nstring from\ngeometry_msgs/Point in\nfloat64[] lambda\nint32 x\n'
    backend.register_definitions({kind: text})
    templates = TypeTemplates(backend.store, kind)
    point = messages.new('geometry_msgs/msg/Point', x=1.0, y=2.0, z=3.0)
    relay = backend.store.types[kind]
    for k in range(4):
        sent = relay(0.5 * k, 'base', point, np.array([1.0, k]), k)
        payload = templates.encode(sent)
        assert payload == bytes(backend.store.serialize_cdr(sent, kind))
        assert same(templates.decode(payload), backend.store.deserialize_cdr(payload, kind))
    assert templates._decode_hits and templates._encode_hits


@pytest.mark.parametrize('length', [0, 3, 4, 20, 60])
def test_truncated_messages_are_refused(length: int) -> None:
    _, payload = taught()
    with pytest.raises(MessageError, match='cannot be decoded'):
        messages.deserialize(payload[:length], 'sensor_msgs/msg/JointState')


def test_damaged_length_is_refused() -> None:
    backend = messages.rosbags_backend()
    payload = b''
    for value in (1.0, 2.0, 3.0):
        payload = backend.serialize(
            joint_state(['left', 'right'], value=value), 'sensor_msgs/msg/JointState'
        )
        backend.deserialize(payload, 'sensor_msgs/msg/JointState')
    place = payload.index(b'left\x00') - 4
    damaged = payload[:place] + struct.pack('<I', 10**6) + payload[place + 4 :]
    with pytest.raises(MessageError, match='cannot be decoded'):
        backend.deserialize(damaged, 'sensor_msgs/msg/JointState')


@pytest.mark.parametrize(
    'change',
    [
        {'position': np.ones(3)},
        {'position': np.ones(2, np.int64)},
        {'position': np.ones(0)},
        {'name': ['left']},
        {'name': ['left', 'right', 'third']},
        {'velocity': np.ones(2)},
    ],
)
def test_changed_fields_encode_as_rosbags_does(change: dict[str, Any]) -> None:
    templates, _ = taught()
    message = joint_state(['left', 'right'])
    for name, value in change.items():
        setattr(message, name, value)
    expected = bytes(templates.store.serialize_cdr(message, templates.type_name))
    assert templates.encode(message) == expected


@pytest.mark.parametrize(
    'change',
    [
        {'position': [1.0, 2.0]},
        {'name': 5},
        {'header': None},
        {'position': np.ones(4)[::2]},
        {'position': np.array([object(), object()])},
        {'position': np.ones(2, np.float32)},
    ],
)
def test_wrong_fields_are_refused_as_by_rosbags(change: dict[str, Any]) -> None:
    backend = messages.rosbags_backend()
    kind = 'sensor_msgs/msg/JointState'
    for value in (1.0, 2.0, 3.0):
        backend.serialize(joint_state(['left', 'right'], value=value), kind)
    message = joint_state(['left', 'right'])
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(MessageError, match='cannot be serialized'):
        backend.serialize(message, kind)


def test_types_whose_texts_always_change_give_up() -> None:
    templates = TypeTemplates(STORE, 'std_msgs/msg/String')
    String = STORE.types['std_msgs/msg/String']
    for number in range(10 * MAXIMUM_MISSES):
        message = String(f'{number:06d}')
        assert templates.decode(templates.encode(message)) == message
    assert not templates._decoders and not templates._encoders
