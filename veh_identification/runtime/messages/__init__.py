"""Message classes and everything done with messages, the same under every engine.

Two backends give the classes: `rosbags` (dataclasses made from message definitions, no ROS needed)
and `ros` (the classes that rosidl generated, imported only when asked for). Type names are those
of ROS 2, `sensor_msgs/msg/Imu`; the short form `sensor_msgs/Imu` is accepted as well.

Differences that remain visible to a reader of messages: numeric sequences are numpy arrays under
`rosbags` and `array.array` under `ros` (`numpy.asarray` serves both), and a `byte` field is an int
under `rosbags` and a `bytes` of length 1 under `ros` (`byte_value` serves both).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from veh_identification.errors import MessageError, UsageError

NANOSECONDS = 1_000_000_000
#: Times that a message can hold: 32 bits of seconds.
FIRST_NS, LAST_NS = -(2**31) * NANOSECONDS, 2**31 * NANOSECONDS - 1
BACKENDS = {
    'rosbags': 'veh_identification.runtime.messages.without_ros',
    'ros': 'veh_identification.runtime.messages.ros',
}


class Backend(Protocol):
    """What a source of message classes has to offer; type names are already normalised."""

    def message_class(self, type_name: str) -> type:
        """Class of a message type."""

    def service_class(self, type_name: str) -> Any:
        """Object with the classes Request and Response."""

    def new(self, type_name: str, fields: Mapping[str, Any]) -> Any:
        """Message with the given fields and defaults elsewhere."""

    def serialize(self, message: Any, type_name: str) -> bytes:
        """CDR bytes of a message."""

    def deserialize(self, data: bytes | memoryview, type_name: str) -> Any:
        """Message of CDR bytes."""

    def type_hash(self, type_name: str) -> str:
        """RIHS01 hash of a message or service type."""

    def field_types(self, type_name: str) -> dict[str, str]:
        """Field names and types as in a .msg file."""


_backend: Backend | None = None
_backend_name = 'rosbags'
_rosbags: Backend | None = None


def select_backend(name: str) -> None:
    """Choose where message classes come from: `rosbags` (the default) or `ros`."""
    global _backend, _backend_name, _rosbags
    if name not in BACKENDS:
        raise UsageError(f'Unknown message backend {name!r}: expected one of {list(BACKENDS)}.')
    try:
        backend: Backend
        if name == 'rosbags' and _rosbags is not None:
            backend = _rosbags  # the types registered so far stay known
        else:
            backend = importlib.import_module(BACKENDS[name]).create()
    except ImportError as error:
        raise UsageError(
            f'The message backend {name!r} cannot be used here, {error.name or error} is missing.'
        ) from error
    _backend, _backend_name = backend, name
    if name == 'rosbags':
        _rosbags = backend


def backend_name() -> str:
    """Name of the backend in use."""
    return _backend_name


def active_backend() -> Backend:
    """Backend in use, made on first need."""
    if _backend is None:
        select_backend(_backend_name)
    assert _backend is not None
    return _backend


def rosbags_backend() -> Any:
    """The rosbags backend, which recordings are read and written with under every engine."""
    global _rosbags
    if _rosbags is None:
        if _backend_name == 'rosbags':
            _rosbags = active_backend()
        else:
            _rosbags = importlib.import_module(BACKENDS['rosbags']).create()
    return _rosbags


def normalize_type_name(type_name: str) -> str:
    """Full ROS 2 name of a type: `pkg/Name` becomes `pkg/msg/Name`."""
    if type_name.count('/') == 1:
        package, name = type_name.split('/')
        return f'{package}/msg/{name}'
    return type_name


def message_class(type_name: str) -> type:
    """Class of a message type; an unknown type is a MessageError."""
    return active_backend().message_class(normalize_type_name(type_name))


def service_class(type_name: str) -> Any:
    """Service type with the classes `.Request` and `.Response`, callable without arguments."""
    return active_backend().service_class(type_name)


def new(type_name: str, /, **fields: Any) -> Any:
    """Message of a type with the given fields, every other field at its default.

    Nested messages may be given as message, mapping, or sequence of all their fields in order
    (`orientation=(0, 0, 0, 1)`); times also as integer nanoseconds; numeric sequences as anything
    that numpy understands; `byte` as int or bytes.
    """
    if type_name.count('/') == 1:
        type_name = normalize_type_name(type_name)
    return (_backend or active_backend()).new(type_name, fields)


def type_name(message: Any) -> str:
    """ROS 2 type name of a message (or message class) of either backend."""
    cls = message if isinstance(message, type) else type(message)
    name = getattr(cls, '__msgtype__', None)
    if name is not None:
        return str(name)
    parts = cls.__module__.split('.')  # sensor_msgs.msg._imu
    if len(parts) >= 3 and hasattr(cls, 'get_fields_and_field_types'):
        return f'{parts[-3]}/{parts[-2]}/{cls.__name__}'
    raise MessageError(f'{cls.__module__}.{cls.__qualname__} is not a ROS message class.')


def serialize(message: Any) -> bytes:
    """CDR bytes of a message, with the four bytes of the encapsulation header."""
    return (_backend or active_backend()).serialize(message, type_name(message))


def deserialize(data: bytes | memoryview, type_name: str) -> Any:
    """Message that CDR bytes hold."""
    return (_backend or active_backend()).deserialize(data, normalize_type_name(type_name))


def type_hash(type_name: str) -> str:
    """RIHS01 hash of a message type (`pkg/msg/Name`) or service type (`pkg/srv/Name`)."""
    return active_backend().type_hash(normalize_type_name(type_name))


def field_types(type_name: str) -> dict[str, str]:
    """Fields of a message type in order, with their types as a .msg file spells them."""
    return active_backend().field_types(normalize_type_name(type_name))


def describe_type(type_name: str, types: Backend | None = None) -> dict[str, str]:
    """Paths of all scalar, string and sequence fields of a type, nested ones written with dots.

    `types` looks the type up elsewhere than in the active backend (a recording's own types).
    """
    types = active_backend() if types is None else types
    described: dict[str, str] = {}
    for name, spelled in types.field_types(normalize_type_name(type_name)).items():
        if '/' in spelled and not spelled.endswith(']'):
            inner = describe_type(spelled, types)
            described.update({f'{name}.{path}': leaf for path, leaf in inner.items()})
        else:
            described[name] = spelled
    return described


def time_from_ns(nanoseconds: int) -> Any:
    """Message builtin_interfaces/msg/Time of integer nanoseconds.

    What is beyond the times that it can hold becomes the nearest that it can: nanoseconds of a
    damaged stamp may be more than a second.
    """
    sec, nanosec = divmod(min(max(int(nanoseconds), FIRST_NS), LAST_NS), NANOSECONDS)
    return new('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)


def header(stamp_ns: int, frame_id: str = '') -> Any:
    """Message std_msgs/msg/Header."""
    return new('std_msgs/msg/Header', stamp=time_from_ns(stamp_ns), frame_id=frame_id)


def stamp_ns(message_or_stamp: Any) -> int:
    """Integer nanoseconds of a message's header stamp, of a header, or of a time itself."""
    stamp = getattr(message_or_stamp, 'header', message_or_stamp)
    stamp = getattr(stamp, 'stamp', stamp)
    try:
        return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
    except AttributeError:
        raise MessageError(f'{type(message_or_stamp).__name__} has no header stamp.') from None


def byte_value(value: int | bytes) -> int:
    """Integer of a `byte` field, which is a bytes object in rclpy and an int elsewhere."""
    return value[0] if isinstance(value, bytes) else int(value)


def register_definitions(definitions: Mapping[str, str]) -> None:
    """Make further types known from their .msg texts (type name to text) for rosbags.

    A text may hold the types it depends on, separated as in bags (`=====` and `MSG: pkg/Name`).
    """
    rosbags_backend().register_definitions(
        {normalize_type_name(name): text for name, text in definitions.items()}
    )
