"""Reads the configuration of a car from YAML; every mistake is one sentence with its place."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from veh_identification.errors import InputError
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.configuration import Configuration

T = TypeVar('T')
# Fields that may be zero, and fields of any sign; all other numbers must be positive.
NOT_NEGATIVE = {
    'antiroll',
    'drag',
    'rolling_resistance',
    'front',
    'rear',
    'deviation',
    'resolution',
    'delay',
    'velocity_delay',
    'gyroscope_bias',
    'accelerometer_bias',
    'rolling_resistance_error',
    'unevenness',
    'slow_damping',
    'damping',
    'radius_deviation',
    'height',
    'drift',
    'slip',
    'velocity_delay_deviation',
    'wind',
    'climb',
    'slope_walk',
    'tilt_rate',
    'shake',
}
SIGNED = {
    'friction_error',
    'initial_yaw',
    'direction',
    'phase',
    'wheel_ratio',
    'steering_ratio',
    'offset',
}


def _number(value: Any, where: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(f'{where} must be a number, found {value!r}')
    try:
        number = float(value)  # YAML reads 1e-4 without a point as text
    except ValueError:
        raise InputError(f'{where} must be a number, found {value!r}') from None
    if not math.isfinite(number):
        raise InputError(f'{where} must be finite, found {value!r}')
    if name in SIGNED:
        return number
    if number < 0.0 or (number == 0.0 and name not in NOT_NEGATIVE):
        raise InputError(f'{where} must be positive, found {value!r}')
    return number


def _value(kind: Any, data: Any, where: str, name: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _section(kind, data, where)  # type: ignore[arg-type]
    arguments = get_args(kind)
    if type(None) in arguments:
        kept = next(a for a in arguments if a is not type(None))
        return None if data is None else _value(kept, data, where, name)
    if get_origin(kind) is tuple:
        if not isinstance(data, (list, tuple)):
            raise InputError(f'{where} must be a list, found {data!r}')
        if arguments[-1] is Ellipsis:
            return tuple(
                _value(arguments[0], item, f'{where}[{k}]', name) for k, item in enumerate(data)
            )
        if len(data) != len(arguments):
            raise InputError(f'{where} must hold {len(arguments)} values, found {len(data)}')
        # components of vectors have any sign
        return tuple(
            _value(a, item, f'{where}[{k}]', 'phase')
            for k, (a, item) in enumerate(zip(arguments, data, strict=True))
        )
    if kind is bool:
        if not isinstance(data, bool):
            raise InputError(f'{where} must be true or false, found {data!r}')
        return data
    if kind is str:
        return str(data)
    return _number(data, where, name)


def _section(kind: type[T], data: Any, where: str) -> T:
    if not isinstance(data, dict):
        raise InputError(f'{where} must hold named fields, found {data!r}')
    hints = get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in data:
        if name not in known:
            raise InputError(f'{where}.{name} is not known; there are: {", ".join(sorted(known))}')
    return kind(
        **{
            name: _value(hints[name], value, f'{where}.{name}', name)
            for name, value in data.items()
        }
    )


def _merged(base: Any, change: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return {**base, **{k: _merged(base.get(k), v) for k, v in change.items()}}


def _read(file: Path, depth: int = 0) -> Any:
    """YAML of a file; `base` names a file beside it whose fields it changes."""
    try:
        data = yaml.safe_load(file.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise InputError(f'{file}: cannot be read as YAML ({reason})') from None
    if not isinstance(data, dict) or 'base' not in data:
        return data
    if depth > 5:
        raise InputError(f'{file}: its bases go in a circle')
    base = file.parent / str(data.pop('base'))
    if not base.exists():
        base = share_directory() / 'config' / base.name
    return _merged(_read(base, depth + 1), data)


def load(path: Path | str | None = None) -> Configuration:
    """Read a configuration; the packaged buggy when no path is given."""
    file = share_directory() / 'config' / 'buggy.yaml' if path is None else Path(path)
    return _section(Configuration, _read(file), str(file))
