"""From the definitions that a recording holds to decoders of its messages.

A type whose definition is the one we know decodes into the same class as everywhere else. A type
with another definition (a recording of an older ROS, a custom message) gets a class of its own;
when we know the type by name, such a message is copied into our class, so that nodes see one form.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_typestore

from veh_identification.errors import MessageError
from veh_identification.runtime.bags.source import Connection, Definition
from veh_identification.runtime.cdr.fields import Field, FieldReader, message_reader
from veh_identification.runtime.cdr.templates import TypeTemplates
from veh_identification.runtime.messages.without_ros import RosbagsBackend, parse_definitions

DECODING_ERRORS = (SerdeError, struct.error, ValueError, OverflowError, MemoryError)
HEADER = 'std_msgs/msg/Header'
IDL_SEPARATOR = '=' * 80 + '\n'
#: Definitions for recordings that hold none, by the distribution that metadata.yaml names.
DISTRIBUTIONS = {
    'foxy': Stores.ROS2_FOXY,
    'galactic': Stores.ROS2_GALACTIC,
    'humble': Stores.ROS2_HUMBLE,
    'iron': Stores.ROS2_IRON,
    'jazzy': Stores.ROS2_JAZZY,
    'kilted': Stores.ROS2_KILTED,
}


class Decoder:
    """Turns recorded bytes of one type into CDR and into messages."""

    def __init__(
        self, typename: str, types: RosbagsBackend, target: RosbagsBackend, *, ros1: bool = False
    ):
        """Decode with `types`; give classes of `target` where it knows the type by name."""
        self.typename = typename
        self.types = types
        self.ros1 = ros1
        self.builder = None
        if types is not target and typename in target.store.types:
            self.builder = target.builders.get(typename)
        self._templates: TypeTemplates | None = None
        if not ros1 and self.builder is None and typename in types.store.types:
            self._templates = types.templates(typename)

    def to_cdr(self, data: bytes) -> bytes:
        """CDR bytes, in the layout of the recording's own definition."""
        if not self.ros1:
            return data
        try:
            return bytes(self.types.store.ros1_to_cdr(data, self.typename))
        except (SerdeError, struct.error, ValueError, IndexError, OverflowError) as error:
            raise MessageError(f'{self.typename} cannot be decoded: {error}.') from error

    def decode(self, data: bytes) -> Any:
        """Message."""
        if self._templates is not None:
            try:
                return self._templates.decode(data)
            except DECODING_ERRORS:
                pass  # the longer way tells what is wrong
        message = self.types.deserialize(self.to_cdr(data), self.typename)
        return message if self.builder is None else self.builder.convert(message)

    def field_reader(self, fields: Sequence[Field]) -> Callable[[bytes], tuple[Any, ...]]:
        """Function from recorded bytes to some fields of the message."""
        if self._templates is not None:
            return FieldReader(self._templates, fields, self.decode)
        read = message_reader(fields)
        return lambda data: read(self.decode(data))


class UnknownType:
    """Stands for the decoder of a type that nobody defines; every use says so."""

    def __init__(self, typename: str, reason: str):
        """Keep the sentence."""
        self.typename = typename
        self.reason = reason

    def to_cdr(self, data: bytes) -> bytes:
        """Bytes as they are; their layout is unknown."""
        return data

    def decode(self, data: bytes) -> Any:
        """Always fails."""
        raise MessageError(self.reason)

    def field_reader(self, fields: Sequence[Field]) -> Callable[[bytes], Any]:
        """Function that always fails."""
        return self.decode


def make_decoder(
    connection: Connection, target: RosbagsBackend, distribution: str = ''
) -> Decoder | UnknownType:
    """Decoder of a connection's messages."""
    typename, definition = connection.typename, connection.definition
    if connection.serialization not in ('cdr', 'ros1'):
        return UnknownType(
            typename, f'{typename} is encoded as {connection.serialization!r}, not as cdr or ros1.'
        )
    ros1 = connection.serialization == 'ros1'
    if definition.format == 'none':
        return _without_definition(typename, target, distribution)
    if typename in target.store.types and definition.text == target.definition(typename):
        return Decoder(typename, target, target, ros1=ros1)
    try:
        types = definition_types(typename, definition, ros1=ros1)
        if typename not in types:
            raise MessageError(f'The definition of {typename} does not contain it.')
        return Decoder(typename, _register(types, target), target, ros1=ros1)
    except MessageError as error:
        return UnknownType(typename, str(error))


def _register(types: dict[str, Any], target: RosbagsBackend) -> RosbagsBackend:
    """Backend that holds `types`: the common one, or one apart when definitions differ."""
    try:
        target.register_types(types)
        return target
    except MessageError:
        apart = RosbagsBackend(get_typestore(Stores.EMPTY))
        apart.register_types(types)
        return apart


def _without_definition(
    typename: str, target: RosbagsBackend, distribution: str
) -> Decoder | UnknownType:
    store = DISTRIBUTIONS.get(distribution)
    types = target if store in (None, Stores.ROS2_JAZZY) else _distribution(distribution)
    for candidate in (types, target):
        if typename in candidate.store.types:
            return Decoder(typename, candidate, target)
    return UnknownType(
        typename,
        f'Message type {typename} is not known and the recording does not hold its definition.',
    )


@lru_cache(maxsize=8)
def _distribution(name: str) -> RosbagsBackend:
    return RosbagsBackend(get_typestore(DISTRIBUTIONS[name]))


@lru_cache(maxsize=256)
def definition_types(typename: str, definition: Definition, *, ros1: bool) -> dict[str, Any]:
    """Field tables of a definition and of everything it uses."""
    if definition.format == 'idl':
        types = _idl_types(typename, definition.text)
    else:
        types = parse_definitions({typename: definition.text})
    if ros1 and HEADER in types:
        # ROS 1 headers start with a sequence number, which rosbags' conversion leaves out.
        constants, fields = types[HEADER]
        types[HEADER] = (constants, [entry for entry in fields if entry[0] != 'seq'])
    for name, (constants, fields) in types.items():
        if not fields:
            member = ('structure_needs_at_least_one_member', (Nodetype.BASE, ('uint8', 0)))
            types[name] = (constants, [member])
    return types


def _idl_types(typename: str, text: str) -> dict[str, Any]:
    types: dict[str, Any] = {}
    parts = [text]
    if text.startswith(f'{IDL_SEPARATOR}IDL: '):
        parts = [part.partition('\n')[2] for part in text.split(IDL_SEPARATOR)[1:]]
    try:
        for part in parts:
            types.update(get_types_from_idl(part))
    except (TypesysError, ValueError, AssertionError, KeyError, RecursionError) as error:
        raise MessageError(f'The IDL definition of {typename} cannot be parsed.') from error
    return types
