"""Checked values from YAML mappings, with errors that name the entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.systems.car.parameters import CORNERS

Rows = tuple[tuple[float, float, float], ...]


class FieldError(InputError):
    """An entry of a YAML file is missing, unknown or of the wrong kind."""


def unwrap(content: Any, where: str) -> Mapping[str, Any]:
    """The mapping itself, below `car:` or below a ROS parameter file's `ros__parameters:`."""
    table = mapping(content, where)
    for _ in range(3):
        for key in ('/**', 'car_identification', 'ros__parameters', 'car'):
            if set(table) == {key}:
                table = mapping(table[key], f'{where}: {key}')
    return table


def mapping(content: Any, where: str) -> Mapping[str, Any]:
    """A mapping; nothing counts as an empty one."""
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise FieldError(f'{where} must be a mapping of names to values, found {content!r}')
    return {str(key): value for key, value in content.items()}


def only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse entries that nobody reads: most of them are misspelt."""
    unknown = sorted(set(table) - known)
    if unknown:
        raise FieldError(
            f'{where} has the unknown entry {unknown[0]!r}, expected some of '
            f'{", ".join(sorted(known))}'
        )


def number(value: Any, where: str, positive: bool = False) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise FieldError(f'{where} must be a number, found {value!r}')
    if positive and not value > 0.0:
        raise FieldError(f'{where} must be positive, found {value!r}')
    return float(value)


def numbers(value: Any, where: str) -> tuple[float, ...]:
    """One number or a list of them; nothing is an empty tuple."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(number(one, where) for one in value)
    return (number(value, where),)


def vector(value: Any, where: str) -> tuple[float, float, float]:
    """Three numbers, as a list or with the keys x, y, z."""
    if isinstance(value, Mapping):
        only(mapping(value, where), {'x', 'y', 'z'}, where)
        value = [value.get(axis, 0.0) for axis in 'xyz']
    if not isinstance(value, list) or len(value) != 3:
        raise FieldError(f'{where} must be three numbers [x, y, z], found {value!r}')
    x, y, z = (number(one, where) for one in value)
    return (x, y, z)


def corners(value: Any, where: str) -> tuple[float, float, float, float]:
    """One number for all wheels, a list fl, fr, rl, rr, or a mapping with those four keys."""
    if isinstance(value, Mapping):
        table = mapping(value, where)
        only(table, set(CORNERS), where)
        missing = [corner for corner in CORNERS if corner not in table]
        if missing:
            raise FieldError(f'{where} has no entry {missing[0]!r}, expected fl, fr, rl and rr')
        value = [table[corner] for corner in CORNERS]
    if not isinstance(value, list):
        value = [value] * 4
    if len(value) != 4:
        raise FieldError(f'{where} must hold four numbers (fl, fr, rl, rr), found {value!r}')
    fl, fr, rl, rr = (
        number(one, f'{where}.{corner}') for one, corner in zip(value, CORNERS, strict=True)
    )
    return (fl, fr, rl, rr)


def band(value: Any, where: str) -> tuple[float, float]:
    """A frequency band [low, high] in Hz."""
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError(f'{where}: expected [low, high] in Hz, found {value!r}')
    low, high = (number(one, where, positive=True) for one in value)
    if not low < high:
        raise FieldError(f'{where}: expected low < high, found {value!r}')
    return low, high


def rotation_rpy(value: Any, where: str) -> Rows:
    """Rotation matrix of roll, pitch, yaw (REP-103: about fixed x, then y, then z)."""
    return _rows(Rotation.from_euler('xyz', vector(value, where)))


def rotation_quaternion(value: Any, where: str) -> Rows:
    """Rotation matrix of a quaternion [x, y, z, w]."""
    if not isinstance(value, list) or len(value) != 4:
        raise FieldError(f'{where} must be a quaternion [x, y, z, w], found {value!r}')
    parts = [number(one, where) for one in value]
    if not abs(np.linalg.norm(parts) - 1.0) < 1e-2:
        raise FieldError(f'{where} must have the length 1, found {np.linalg.norm(parts):.4g}')
    return _rows(Rotation.from_quat(parts))


def _rows(rotation: Rotation) -> Rows:
    matrix = rotation.as_matrix()
    return tuple((float(row[0]), float(row[1]), float(row[2])) for row in matrix)
