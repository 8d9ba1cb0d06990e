"""Builders that make rosbags' message dataclasses from loosely typed field values.

rosbags' classes have no default constructor and want numpy arrays of the exact type. One builder
a type is made on first use and kept: a plan of (name, default, converter) that the hot path only
walks through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from veh_identification.errors import MessageError

Converter = Callable[[Any], Any]
Factory = Callable[[], Any]

# rosbags' field tables do not hold default values; among the standard messages only the
# quaternion has one that is not zero.
DEFAULTS = {('geometry_msgs/msg/Quaternion', 'w'): 1.0}
TIME_TYPES = ('builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration')
BASE, NAME, ARRAY, SEQUENCE = 1, 2, 3, 4  # values of rosbags.interfaces.Nodetype
DTYPES = {'bool': 'bool', 'byte': 'uint8', 'char': 'uint8'}


def to_string(value: Any) -> str:
    """Accept strings only: a number written as text hides a mistake."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str(value)
    raise TypeError(f'expected a string, found {type(value).__name__}')


def to_byte(value: Any) -> int:
    """Accept an int or, as in rclpy, a bytes object of length 1."""
    return value[0] if isinstance(value, bytes) and len(value) == 1 else int(value)


SCALARS: dict[str, tuple[Any, Converter]] = {
    'bool': (False, bool),
    'byte': (0, to_byte),
    'char': (0, int),
    'string': ('', to_string),
    'float32': (0.0, float),
    'float64': (0.0, float),
}


# Converters whose results cannot be changed in place.
IMMUTABLE = frozenset({bool, int, float, to_string, to_byte})


def scalar(kind: str) -> tuple[Any, Converter]:
    """Default and converter of a primitive type."""
    return SCALARS.get(kind, (0, int))


def _numbers(kind: str, length: int, *, fixed: bool) -> tuple[Factory, Converter]:
    dtype = np.dtype(DTYPES.get(kind, kind))
    default = np.zeros(length if fixed else 0, dtype).copy

    def convert(value: Any) -> np.ndarray:
        if kind == 'byte' and isinstance(value, list) and value and isinstance(value[0], bytes):
            value = b''.join(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            array = np.frombuffer(value, np.uint8).astype(dtype)
        else:
            array = np.ascontiguousarray(value, dtype).reshape(-1)
        _check_length(len(array), length, fixed)
        return array

    return default, convert


def _check_length(found: int, length: int, fixed: bool) -> None:
    if length and (found != length if fixed else found > length):
        raise ValueError(f'expected {"" if fixed else "at most "}{length} elements, found {found}')


def _list(
    element_default: Factory, convert_element: Converter, length: int, *, fixed: bool
) -> tuple[Factory, Converter]:
    def default() -> list[Any]:
        return [element_default() for _ in range(length)] if fixed else []

    def convert(value: Any) -> list[Any]:
        if isinstance(value, (str, bytes)):
            raise TypeError(f'expected a list, found {type(value).__name__}')
        items = [convert_element(item) for item in value]
        _check_length(len(items), length, fixed)
        return items

    return default, convert


class Builder:
    """Makes messages of one type."""

    def __init__(self, type_name: str, cls: type, plan: list[tuple[str, Factory, Converter]]):
        """Keep the class and the plan (name, default, converter) of its fields in order."""
        self.type_name = type_name
        self.cls = cls
        self.plan = plan
        self.names = frozenset(name for name, _, _ in plan)
        self.is_time = type_name in TIME_TYPES
        converters = {convert for _, _, convert in plan}
        self.only_floats = converters == {float}
        if converters <= IMMUTABLE:
            # Nothing inside can be shared by mistake: the values are computed once.
            self.default: Factory = partial(cls, *[default() for _, default, _ in plan])
        else:
            factories = [default for _, default, _ in plan]
            self.default = lambda: cls(*[default() for default in factories])

    def build(self, fields: Mapping[str, Any]) -> Any:
        """Message with the given fields and defaults elsewhere."""
        if not fields.keys() <= self.names:
            unknown = sorted(fields.keys() - self.names)
            raise MessageError(
                f'{self.type_name} has no field {unknown[0]!r}; it has {sorted(self.names)}.'
            )
        try:
            return self.cls(
                *[
                    convert(fields[name]) if name in fields else default()
                    for name, default, convert in self.plan
                ]
            )
        except (TypeError, ValueError, OverflowError):
            self._name_culprit(fields)
            raise

    def _name_culprit(self, fields: Mapping[str, Any]) -> None:
        """Repeat the conversions one by one, so that the hot path need not keep track."""
        for name, _, convert in self.plan:
            if name in fields:
                try:
                    convert(fields[name])
                except (TypeError, ValueError, OverflowError) as error:
                    raise MessageError(f'{self.type_name}, field {name!r}: {error}.') from error

    def convert(self, value: Any) -> Any:
        """Message of this type from a message, mapping, sequence or, for times, nanoseconds."""
        kind = type(value)
        if kind is self.cls:
            return value
        if kind is np.ndarray:
            return self._from_sequence(value.tolist())
        if kind is tuple or kind is list:
            return self._from_sequence(value)
        if isinstance(value, Mapping):
            return self.build(value)
        if self.is_time and isinstance(value, (int, np.integer)):
            return self.cls(*divmod(int(value), 1_000_000_000))
        if isinstance(value, self.cls):
            return value
        if getattr(kind, '__msgtype__', None) == self.type_name:
            # The same type from another definition (an older bag): copy what both have.
            names = [name for name in self.names if hasattr(value, name)]
            return self.build({name: getattr(value, name) for name in names})
        raise TypeError(f'expected {self.type_name}, found {kind.__name__}')

    def _from_sequence(self, value: Any) -> Any:
        if len(value) != len(self.plan):
            raise ValueError(
                f'{self.type_name} has {len(self.plan)} fields, found {len(value)} values'
            )
        if self.only_floats:
            return self.cls(*map(float, value))
        return self.build(
            {name: item for (name, _, _), item in zip(self.plan, value, strict=True)}
        )


class BuilderCache:
    """Builders of all types of one type store, made when first needed."""

    def __init__(self, store: Any):
        """Use the classes and field tables of a rosbags type store."""
        self.store = store
        self.builders: dict[str, Builder] = {}

    def get(self, type_name: str) -> Builder:
        """Builder of a type; KeyError when the store does not know it."""
        builder = self.builders.get(type_name)
        if builder is None:
            cls = self.store.types[type_name]
            fields = self.store.get_msgdef(type_name).fields
            plan = [(name, *self._field(type_name, name, desc)) for name, desc in fields]
            builder = self.builders[type_name] = Builder(type_name, cls, plan)
        return builder

    def _field(self, type_name: str, name: str, description: Any) -> tuple[Factory, Converter]:
        kind, rest = description
        if kind == BASE:
            value, convert = scalar(rest[0])
            value = DEFAULTS.get((type_name, name), value)
            return (lambda: value), convert
        if kind == NAME:
            builder = self.get(rest)
            return builder.default, builder.convert
        (inner_kind, inner), length = rest
        fixed = kind == ARRAY
        if inner_kind == NAME:
            builder = self.get(inner)
            return _list(builder.default, builder.convert, length, fixed=fixed)
        if inner[0] == 'string':
            return _list(str, to_string, length, fixed=fixed)
        return _numbers(inner[0], length, fixed=fixed)
