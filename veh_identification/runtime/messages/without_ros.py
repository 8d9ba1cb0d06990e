"""Message classes without ROS: rosbags' dataclasses for ROS 2 Jazzy and for our own `msg/`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from veh_identification.errors import MessageError
from veh_identification.runtime.cdr.diagnostics import DIAGNOSTICS, DiagnosticTemplates
from veh_identification.runtime.cdr.templates import TypeTemplates
from veh_identification.runtime.messages.builders import BuilderCache
from veh_identification.runtime.messages.definition_limits import check_types
from veh_identification.runtime.share import PACKAGE, share_directory

# std_srvs is not part of rosbags' stores.
SERVICES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    'std_srvs/srv/Empty': ({}, {}),
    'std_srvs/srv/Trigger': ({}, {'success': 'bool', 'message': 'string'}),
    'std_srvs/srv/SetBool': ({'data': 'bool'}, {'success': 'bool', 'message': 'string'}),
}


def service_types(services: Mapping[str, tuple[dict[str, str], dict[str, str]]]) -> dict[str, Any]:
    """Field tables of services as rosidl describes them: request, response, event, service."""

    def named(name: str) -> tuple[Nodetype, str]:
        return (Nodetype.NAME, name)

    def at_most_one(name: str) -> tuple[Nodetype, Any]:
        return (Nodetype.SEQUENCE, (named(name), 1))

    types: dict[str, Any] = {}
    for service, parts in services.items():
        request, response, event = (f'{service}_{x}' for x in ('Request', 'Response', 'Event'))
        for name, fields in zip((request, response), parts, strict=True):
            # rosidl gives a message without fields this one, also on the wire and in the hash.
            fields = fields or {'structure_needs_at_least_one_member': 'uint8'}
            types[name] = ([], [(f, (Nodetype.BASE, (kind, 0))) for f, kind in fields.items()])
        types[event] = (
            [],
            [
                ('info', named('service_msgs/msg/ServiceEventInfo')),
                ('request', at_most_one(request)),
                ('response', at_most_one(response)),
            ],
        )
        types[service] = (
            [],
            [
                ('request_message', named(request)),
                ('response_message', named(response)),
                ('event_message', named(event)),
            ],
        )
    return types


def spell_type(description: Any) -> str:
    """Type of a field as a .msg file spells it."""
    kind, rest = description
    if kind == Nodetype.BASE:
        name, bound = rest
        return f'{name}<={bound}' if bound else str(name)
    if kind == Nodetype.NAME:
        return str(rest)
    inner, length = rest
    count = '' if not length else str(length) if kind == Nodetype.ARRAY else f'<={length}'
    return f'{spell_type(inner)}[{count}]'


def parse_definitions(definitions: Mapping[str, str]) -> dict[str, Any]:
    """Field tables of .msg texts; a text that cannot be parsed is a MessageError."""
    types: dict[str, Any] = {}
    for name, text in definitions.items():
        try:
            types.update(get_types_from_msg(text, name))
        except (TypesysError, ValueError, AssertionError, KeyError, RecursionError) as error:
            reason = str(error).splitlines()[-1] if str(error) else type(error).__name__
            shown = name if name.isprintable() and len(name) <= 100 else repr(name[:100])
            raise MessageError(
                f'The definition of message type {shown} cannot be parsed, near: {reason[:80]}.'
            ) from error
    return types


def own_definitions() -> dict[str, str]:
    """Texts of the .msg files of this package, by type name."""
    files = sorted((share_directory() / 'msg').glob('*.msg'))
    return {f'{PACKAGE}/msg/{file.stem}': file.read_text('utf-8') for file in files}


class RosbagsBackend:
    """Message classes, CDR and type hashes from one rosbags type store."""

    def __init__(self, store: Typestore):
        """Serve the types of `store`; further ones can be registered."""
        self.store = store
        self.builders = BuilderCache(store)
        self._templates: dict[str, TypeTemplates] = {}
        self._hashes: dict[str, str] = {}
        self._services: dict[str, Any] = {}

    def register_types(self, types: Mapping[str, Any]) -> None:
        """Add types given as rosbags' field tables; a conflicting definition is an error."""
        missing = sorted(
            inner
            for _, fields in types.values()
            for inner in (_named_type(description) for _, description in fields)
            if inner is not None and inner not in types and inner not in self.store.fielddefs
        )
        if missing:
            raise MessageError(f'Message type {missing[0]} is used but not defined.')
        check_types(types, self.store.fielddefs)
        try:
            self.store.register(dict(types))
        except TypesysError as error:
            raise MessageError(str(error)) from error

    def register_definitions(self, definitions: Mapping[str, str]) -> None:
        """Add types given as .msg texts."""
        self.register_types(parse_definitions(definitions))

    def message_class(self, type_name: str) -> type:
        """Class of a message type."""
        try:
            return self.store.types[type_name]
        except KeyError:
            raise self._unknown(type_name) from None

    def service_class(self, type_name: str) -> Any:
        """Object with Request and Response, which are callable without or with fields."""
        if type_name not in SERVICES:
            raise MessageError(f'Unknown service type {type_name}: known are {list(SERVICES)}.')
        if type_name not in self._services:  # one object a type, comparable by identity
            self._services[type_name] = _make_service(self, type_name)
        return self._services[type_name]

    def new(self, type_name: str, fields: Mapping[str, Any]) -> Any:
        """Message with the given fields and defaults elsewhere."""
        builder = self.builders.builders.get(type_name)
        if builder is None:
            try:
                builder = self.builders.get(type_name)
            except KeyError:
                raise self._unknown(type_name) from None
        return builder.build(fields)

    def templates(self, type_name: str) -> TypeTemplates:
        """What has been learnt about the messages of a type; KeyError for an unknown type."""
        if type_name not in self._templates:
            kind = DiagnosticTemplates if type_name == DIAGNOSTICS else TypeTemplates
            self._templates[type_name] = kind(self.store, type_name)
        return self._templates[type_name]

    def serialize(self, message: Any, type_name: str) -> bytes:
        """CDR bytes of a message."""
        try:
            return (self._templates.get(type_name) or self.templates(type_name)).encode(message)
        except KeyError:
            raise self._unknown(type_name) from None
        except (SerdeError, struct.error, AttributeError, TypeError, ValueError) as error:
            raise MessageError(f'{type_name} cannot be serialized: {error}.') from error

    def deserialize(self, data: bytes | memoryview, type_name: str) -> Any:
        """Message of CDR bytes."""
        try:
            return (self._templates.get(type_name) or self.templates(type_name)).decode(data)
        except KeyError:
            raise self._unknown(type_name) from None
        except (
            SerdeError,
            struct.error,
            IndexError,  # an empty message, rosbags 0.11.0
            ValueError,
            OverflowError,
            MemoryError,
        ) as error:
            raise MessageError(f'{type_name} cannot be decoded: {error}.') from error

    def type_hash(self, type_name: str) -> str:
        """RIHS01 hash of a message or service type."""
        if type_name not in self._hashes:
            self._hashes[type_name] = self._hash(type_name)
        return self._hashes[type_name]

    def _hash(self, type_name: str) -> str:
        """RIHS01, with `char` taken as uint8 as rosidl does for .msg files (rosbags does not)."""
        tables: dict[str, Any] = {}
        pending = [type_name]
        while pending:
            name = pending.pop()
            if name in tables:
                continue
            if name not in self.store.fielddefs:
                raise self._unknown(name)
            constants, fields = self.store.fielddefs[name]
            tables[name] = (constants, [(field, _char_as_uint8(kind)) for field, kind in fields])
            inner = (_named_type(description) for _, description in fields)
            pending += [name for name in inner if name is not None]
        store = Typestore()
        store.fielddefs.update(tables)
        return store.hash_rihs01(type_name)

    def field_types(self, type_name: str) -> dict[str, str]:
        """Field names and types as in a .msg file."""
        try:
            fields = self.store.fielddefs[type_name][1]
        except KeyError:
            raise self._unknown(type_name) from None
        return {name: spell_type(description) for name, description in fields}

    def definition(self, type_name: str) -> str:
        """Text of the .msg definition with all types it depends on, as bags embed it."""
        self.message_class(type_name)
        return self.store.generate_msgdef(type_name, ros_version=2)[0]

    def _unknown(self, type_name: str) -> MessageError:
        name = type_name.rsplit('/', 1)[-1]
        similar = sorted(known for known in self.store.types if known.rsplit('/', 1)[-1] == name)
        hint = f'; did you mean {" or ".join(similar)}?' if similar else '.'
        return MessageError(f'Unknown message type {type_name}{hint}')


def _named_type(description: Any) -> str | None:
    kind, rest = description
    if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        kind, rest = rest[0]
    return rest if kind == Nodetype.NAME else None


def _char_as_uint8(description: Any) -> Any:
    kind, rest = description
    if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return kind, (_char_as_uint8(rest[0]), rest[1])
    return (kind, ('uint8', 0)) if kind == Nodetype.BASE and rest[0] == 'char' else description


def _make_service(backend: RosbagsBackend, type_name: str) -> Any:
    """Service class in the shape of rclpy's: Request and Response, callable without arguments."""

    def callable_class(part: str) -> type:
        name = f'{type_name}_{part}'
        base = backend.message_class(name)
        builder = backend.builders.get(name)

        def init(self: Any, **fields: Any) -> None:
            self.__dict__.update(builder.build(fields).__dict__)

        return type(base.__name__, (base,), {'__init__': init, '__module__': base.__module__})

    parts = {part: callable_class(part) for part in ('Request', 'Response')}
    return type(type_name.rsplit('/', 1)[-1], (), {**parts, '__srvtype__': type_name})


def create() -> RosbagsBackend:
    """Backend with the types of ROS 2 Jazzy, the std_srvs and our own messages."""
    backend = RosbagsBackend(get_typestore(Stores.ROS2_JAZZY))
    backend.register_types(service_types(SERVICES))
    backend.register_definitions(own_definitions())
    return backend
