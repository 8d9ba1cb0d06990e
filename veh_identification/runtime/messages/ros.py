"""Message classes of a ROS 2 installation, imported only when the `ros` backend is chosen."""

from __future__ import annotations

import importlib
import json
import re
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import MessageError

Converter = Callable[[Any], Any]

# Names of rosidl's Python generator, the name in a .msg file and numpy's; boolean and octet
# sequences are plain lists in rosidl's classes.
PRIMITIVES = {
    'boolean': 'bool',
    'octet': 'byte',
    'char': 'uint8',
    'float': 'float32',
    'double': 'float64',
    **{name: name for name in ('int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32')},
    **{name: name for name in ('int64', 'uint64', 'string')},
}
TYPECODES = {
    **{'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I'},
    **{'int64': 'q', 'uint64': 'Q', 'float32': 'f', 'float64': 'd'},
}
SEQUENCE = re.compile(r'sequence<(?P<inner>[^,]+?)(?:,\s*(?P<bound>\d+))?>$')
ARRAY = re.compile(r'(?P<inner>.+)\[(?P<length>\d+)\]$')
STRING = re.compile(r'string<(?P<bound>\d+)>$')


def to_octet(value: Any) -> bytes:
    """Accept an int as well: rosbags' classes hold `byte` fields as int."""
    return value if isinstance(value, bytes) else bytes([int(value)])


def to_text(value: Any) -> str:
    """Check what rosidl's setter checks only in debug mode; serialising would crash later."""
    if not isinstance(value, str):
        raise TypeError(f'expected a string, found {type(value).__name__}')
    return value


SCALARS: dict[str, Converter] = {
    'bool': bool,
    'byte': to_octet,
    'float32': float,
    'float64': float,
    'string': to_text,
}


def spell_type(rosidl_type: str) -> str:
    """Type as a .msg file spells it, from the spelling of rosidl's Python classes."""
    if match := SEQUENCE.match(rosidl_type):
        bound = f'<={match["bound"]}' if match['bound'] else ''
        return f'{spell_type(match["inner"])}[{bound}]'
    if match := ARRAY.match(rosidl_type):
        return f'{spell_type(match["inner"])}[{match["length"]}]'
    if match := STRING.match(rosidl_type):
        return f'string<={match["bound"]}'
    if rosidl_type.count('/') == 1:
        return rosidl_type.replace('/', '/msg/')
    return PRIMITIVES.get(rosidl_type, rosidl_type)


def _numbers(kind: str, *, fixed: bool) -> Converter:
    dtype = np.dtype(kind)

    def convert(value: Any) -> Any:
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = np.frombuffer(value, np.uint8)
        values = np.ascontiguousarray(value, dtype).reshape(-1)
        return values if fixed else array(TYPECODES[kind], values.tobytes())

    return convert


class RosBackend:
    """Message classes by import, CDR by rclpy, type hashes from the installed descriptions."""

    def __init__(self) -> None:
        """Import what serialization needs now, so that a missing ROS is noticed at once."""
        self.serialization = importlib.import_module('rclpy.serialization')
        self.classes: dict[str, type] = {}
        self.plans: dict[str, dict[str, Converter]] = {}
        self.hashes: dict[str, str] = {}

    def message_class(self, type_name: str) -> type:
        """Class of a message type."""
        if type_name not in self.classes:
            self.classes[type_name] = self._import(type_name, 'message')
        return self.classes[type_name]

    def service_class(self, type_name: str) -> Any:
        """Service class with Request and Response."""
        return self._import(type_name, 'service')

    def _import(self, type_name: str, what: str) -> Any:
        package, _, rest = type_name.partition('/')
        kind, _, name = rest.partition('/')
        try:
            module = importlib.import_module(f'{package}.{kind}')
            if kind == 'srv' and (match := re.match(r'(.+)_(Request|Response)$', name)):
                return getattr(getattr(module, match[1]), match[2])
            return getattr(module, name)
        except (ImportError, AttributeError, ValueError) as error:
            raise MessageError(
                f'Unknown {what} type {type_name}: ROS package {package!r} is not installed or '
                f'has no such type.'
            ) from error

    def new(self, type_name: str, fields: Mapping[str, Any]) -> Any:
        """Message with the given fields and defaults elsewhere."""
        message = self.message_class(type_name)()
        plan = self.plans.get(type_name)
        if plan is None:
            plan = self._plan(type_name)
        for name, value in fields.items():
            if name not in plan:
                raise MessageError(f'{type_name} has no field {name!r}; it has {sorted(plan)}.')
            try:
                setattr(message, name, plan[name](value))
            except (AssertionError, TypeError, ValueError, OverflowError) as error:
                raise MessageError(f'{type_name}, field {name!r}: {error}.') from error
        return message

    def _plan(self, type_name: str) -> dict[str, Converter]:
        types = self.field_types(type_name)
        plan = {name: self._converter(spelled) for name, spelled in types.items()}
        self.plans[type_name] = plan
        return plan

    def _converter(self, spelled: str) -> Converter:
        if spelled.endswith(']'):
            inner, _, count = spelled[:-1].rpartition('[')
            if inner in TYPECODES:
                return _numbers(inner, fixed=count.isdigit())
            convert = self._converter(inner)
            return lambda value: [convert(item) for item in value]
        if '/' in spelled:
            return lambda value: self._nested(spelled, value)
        return SCALARS.get(spelled.partition('<')[0], int)

    def _nested(self, type_name: str, value: Any) -> Any:
        if isinstance(value, self.message_class(type_name)):
            return value
        if isinstance(value, Mapping):
            return self.new(type_name, value)
        names = list(self.field_types(type_name))
        if names == ['sec', 'nanosec'] and isinstance(value, (int, np.integer)):
            value = divmod(int(value), 1_000_000_000)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            raise TypeError(f'expected {type_name}, found {type(value).__name__}')
        if len(value) != len(names):
            raise ValueError(f'{type_name} has {len(names)} fields, found {len(value)} values')
        return self.new(type_name, dict(zip(names, value, strict=True)))

    def serialize(self, message: Any, type_name: str) -> bytes:
        """CDR bytes of a message."""
        return bytes(self.serialization.serialize_message(message))

    def deserialize(self, data: bytes | memoryview, type_name: str) -> Any:
        """Message of CDR bytes."""
        try:
            cls = self.message_class(type_name)
            return self.serialization.deserialize_message(bytes(data), cls)
        except RuntimeError as error:  # what rmw raises for bytes that do not fit the type
            raise MessageError(f'{type_name} cannot be decoded: {error}.') from error

    def field_types(self, type_name: str) -> dict[str, str]:
        """Field names and types as in a .msg file."""
        fields = self.message_class(type_name).get_fields_and_field_types()  # type: ignore[attr-defined]
        return {name: spell_type(kind) for name, kind in fields.items()}

    def type_hash(self, type_name: str) -> str:
        """RIHS01 hash from the type description that rosidl installs beside the package."""
        if type_name not in self.hashes:
            package = type_name.partition('/')[0]
            index = importlib.import_module('ament_index_python.packages')
            try:
                share = Path(index.get_package_share_directory(package))
                # pkg/srv/Name_Request is described inside the file of pkg/srv/Name.
                stem = re.sub(r'_(Request|Response|Event)$', '', type_name.partition('/')[2])
                description = json.loads((share / f'{stem}.json').read_text('utf-8'))
                entries = description['type_hashes']
                found = {entry['type_name']: entry['hash_string'] for entry in entries}
                self.hashes[type_name] = found[type_name]
            except (LookupError, OSError, ValueError) as error:
                raise MessageError(
                    f'The type hash of {type_name} cannot be found in the ROS installation: '
                    f'{error}.'
                ) from error
        return self.hashes[type_name]


def create() -> RosBackend:
    """Backend of the sourced ROS installation; ImportError without rclpy."""
    return RosBackend()
