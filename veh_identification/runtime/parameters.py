"""Node parameters: descriptors, checks, YAML files, and declaration from a frozen data class.

A node describes its parameters once, as a frozen data class whose fields carry `parameter(...)`
metadata. `declare` declares each with its descriptor, checks what came from outside, and returns
the filled data class, so that nothing reads a raw parameter later.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from veh_identification.configuration.faults import shown
from veh_identification.configuration.reading import read
from veh_identification.errors import ParameterError

Value = bool | int | float | str | list[bool] | list[int] | list[float] | list[str]
_T = TypeVar('_T')

#: Parameters that rclpy or the engine declares by itself.
IMPLICIT = frozenset({'use_sim_time', 'start_type_description_service', 'autostart'})


@dataclass(frozen=True)
class ParameterDescriptor:
    """What rcl_interfaces/ParameterDescriptor says, without needing ROS."""

    description: str = ''
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = True
    path: bool = False  # it names a file or folder: nothing from the network may choose it


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = '',
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] = (),
    read_only: bool = True,
    path: bool = False,
) -> Any:
    """A data class field that is a node parameter."""
    descriptor = ParameterDescriptor(
        description, unit, minimum, maximum, tuple(choices), read_only, path
    )
    metadata = {'descriptor': descriptor}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return 'bool'
    if isinstance(value, int):
        return 'integer'
    if isinstance(value, float):
        return 'number'
    if isinstance(value, str):
        return 'string'
    if isinstance(value, (list, tuple)):
        inner = {_kind(item) for item in value}
        if not inner:
            return 'list'
        if inner == {'integer', 'number'}:
            inner = {'number'}
        return 'list of ' + ' and '.join(sorted(inner))
    return type(value).__name__


def coerce(name: str, value: Any, default: Any) -> Any:
    """Bring `value` to the type of `default` or say what was expected.

    ROS refuses an integer where a double was declared; people write `rate: 100` all the same, so
    whole numbers are taken for doubles, and nothing else is converted.
    """
    expected, found = _kind(default), _kind(value)
    if expected == 'number' and found == 'integer':
        return float(value)
    if expected == 'list of number' and found in ('list of integer', 'list of number', 'list'):
        return [float(item) for item in value]
    if expected.startswith('list') and (found == 'list' or expected == 'list'):
        if found.startswith('list'):
            return list(value)
    elif expected == found:
        return list(value) if isinstance(value, tuple) else value
    raise ParameterError(f'parameter {name}: expected a {expected}, got {value!r} ({found})')


def check(name: str, value: Any, descriptor: ParameterDescriptor) -> None:
    """Raise where `value` leaves the descriptor's range or choices."""
    items = value if isinstance(value, list) else [value]
    unit = f' {descriptor.unit}' if descriptor.unit else ''
    for item in items:
        if descriptor.choices and item not in descriptor.choices:
            raise ParameterError(
                f'parameter {name}: {item!r} is not one of {", ".join(descriptor.choices)}'
            )
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            continue
        if math.isnan(item):
            raise ParameterError(f'parameter {name}: is not a number (NaN)')
        if descriptor.minimum is not None and item < descriptor.minimum:
            raise ParameterError(
                f'parameter {name}: {item:g}{unit} is below its minimum '
                f'{descriptor.minimum:g}{unit}'
            )
        if descriptor.maximum is not None and item > descriptor.maximum:
            raise ParameterError(
                f'parameter {name}: {item:g}{unit} is above its maximum '
                f'{descriptor.maximum:g}{unit}'
            )


def declare(node: Any, config_class: type[_T], prefix: str = '') -> _T:
    """Declare every field of `config_class` on `node` (names behind `prefix.`) and fill it.

    Nested data classes become nested names (`imu.delay`).
    """
    values: dict[str, Any] = {}
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        name = f'{prefix}.{field.name}' if prefix else field.name
        if dataclasses.is_dataclass(hints[field.name]):
            values[field.name] = declare(node, hints[field.name], name)  # type: ignore[arg-type]
            continue
        default = (
            field.default_factory()
            if field.default_factory is not dataclasses.MISSING
            else field.default
        )
        descriptor = field.metadata.get('descriptor', ParameterDescriptor())
        value = coerce(name, node.declare_parameter(name, default, descriptor).value, default)
        check(name, value, descriptor)
        values[field.name] = value
    return config_class(**values)


def refuse_unknown(node: Any) -> None:
    """Raise for overrides that no declaration took: a misspelt name must not pass unseen."""
    unknown = [name for name in node.undeclared_overrides() if name not in IMPLICIT]
    if unknown:
        raise ParameterError(
            f'node {node.get_name()}: unknown parameter{"s" if len(unknown) > 1 else ""} '
            f'{", ".join(sorted(unknown))}'
        )


def flatten(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """Nested mappings to dotted names, as ROS does with parameter files."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = f'{prefix}.{key}' if prefix else str(key)
        if isinstance(value, Mapping):
            flat.update(flatten(value, name))
        else:
            flat[name] = value
    return flat


def _matches(pattern: str, full_name: str) -> bool:
    """ROS wildcards: `/**` any node, `*` one token; a bare name matches in any namespace."""
    if pattern in ('/**', '**'):
        return True
    wanted = [token for token in pattern.split('/') if token]
    actual = [token for token in full_name.split('/') if token]
    if not pattern.startswith('/') and len(wanted) == 1:
        return wanted[0] in ('*', actual[-1])
    if wanted and wanted[0] == '**':
        tail = wanted[1:]
        actual = actual[len(actual) - len(tail) :]
        wanted = tail
    return len(wanted) == len(actual) and all(
        w in ('*', a) for w, a in zip(wanted, actual, strict=True)
    )


def read_parameter_file(path: str | Path, full_name: str) -> dict[str, Any]:
    """Parameters for the node `/namespace/name` from a ROS 2 parameter YAML file."""
    document = read(path)
    found: dict[str, Any] = {}
    for pattern, content in document.mapping.items():
        if not isinstance(content, Mapping) or 'ros__parameters' not in content:
            text = 'expected the key ros__parameters below it, as in every ROS 2 parameter file'
            raise document.error((pattern,), text)
        values = content['ros__parameters'] or {}
        if not isinstance(values, Mapping):
            text = f'expected a mapping of names to values, found {shown(values)}'
            raise document.error((pattern, 'ros__parameters'), text)
        if _matches(pattern, full_name):
            found.update(flatten(values))
    return found
