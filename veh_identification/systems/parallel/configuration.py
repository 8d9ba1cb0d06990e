"""Hexapods from YAML (config/hexapod_palida.yaml documents the fields)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from veh_identification.errors import InputError, ModelError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.systems.parallel.model.geometry import (
    Hexapod,
    LegInertia,
    Limits,
    PlatformInertia,
)
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.types import Array

DEFAULT = 'hexapod_palida.yaml'
_T = TypeVar('_T')
_SECTIONS = {
    'name',
    'gravity',
    'home',
    'base',
    'platform',
    'leg',
    'limits',
    'sensor',
    'model',
    'excitation',
    'identify',
}


@dataclass(frozen=True)
class Configuration:
    """A robot, the structure of its model and, where one is stored, its excitation."""

    robot: Hexapod
    structure: Structure
    excitation: FourierTrajectory | None = None
    source: str = ''
    identify: Mapping[str, Any] = field(default_factory=dict)  # options of `veh-id identify`

    def model(self) -> HexapodModel:
        """The model that the file describes."""
        return HexapodModel(self.robot, self.structure)


def load_configuration(path: str | Path | None = None) -> Configuration:
    """Read a file, or the name of one in config/; PaLiDA without one."""
    from veh_identification.runtime.graph import find_config

    source = find_config(path or DEFAULT)
    try:
        data = yaml.safe_load(source.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'{source}: cannot be read ({error})') from error
    except yaml.YAMLError as error:
        raise InputError(f'{source}: not a YAML file: {error}') from error
    return parse_configuration(data, str(source))


def parse_configuration(data: Any, source: str = 'hexapod') -> Configuration:
    """From plain data; `source` names the file in errors."""
    if not isinstance(data, Mapping):
        raise ModelError(f'{source}: expected a mapping that describes a hexapod')
    unknown = sorted(set(data) - _SECTIONS)
    if unknown:
        raise ModelError(f'{source}: unknown field {unknown[0]!r}; known: {sorted(_SECTIONS)}')
    for wanted in ('base', 'platform', 'home'):
        if wanted not in data:
            raise ModelError(f'{source}: the field {wanted!r} is missing')
    base, platform = _mapping(data, 'base', source), dict(_mapping(data, 'platform', source))
    sensor = _mapping(data, 'sensor', source)
    base_joints = _joints(base, f'{source}, base')
    platform_joints = _joints(platform, f'{source}, platform')
    for key in ('ring', 'joints'):
        platform.pop(key, None)
    robot = Hexapod(
        name=str(data.get('name', 'hexapod')),
        base_joints=base_joints,
        platform_joints=platform_joints,
        alpha_axes=_axes(base.get('alpha_axes', 'tangential'), base_joints, source),
        home=_numbers(data['home'], (6,), f'{source}, home'),
        leg=_filled(LegInertia, _mapping(data, 'leg', source), f'{source}, leg'),
        platform=_filled(PlatformInertia, platform, f'{source}, platform'),
        limits=_limits(_mapping(data, 'limits', source), f'{source}, limits'),
        gravity=_numbers(data.get('gravity', (0.0, 0.0, -9.80665)), (3,), f'{source}, gravity'),
        resolution=float(sensor.get('resolution', 1e-6)),
        tolerance=float(sensor.get('tolerance', 1e-9)),
    )
    structure = _filled(Structure, _mapping(data, 'model', source), f'{source}, model')
    excitation = None
    stored = data.get('excitation')
    if isinstance(stored, str):  # a file that `veh-id design parallel` wrote
        excitation = FourierTrajectory.load(Path(source).parent / stored)
    elif stored:
        excitation = FourierTrajectory.from_dict(stored, f'{source}, excitation')
    options = dict(_mapping(data, 'identify', source))
    return Configuration(robot, structure, excitation, source, options)


def _mapping(data: Mapping[str, Any], key: str, source: str) -> Mapping[str, Any]:
    value = data.get(key) or {}
    if not isinstance(value, Mapping):
        raise ModelError(f'{source}: {key} must be a mapping, found {value!r}')
    return value


def _numbers(value: Any, shape: tuple[int, ...], where: str) -> Array:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != shape or not np.isfinite(array).all():
        raise ModelError(
            f'{where}: expected {" x ".join(map(str, shape))} numbers, found {value!r}'
        )
    return array


def _joints(section: Mapping[str, Any], where: str) -> Array:
    if 'joints' in section:
        return _numbers(section['joints'], (6, 3), f'{where}.joints')
    ring = section.get('ring')
    if not isinstance(ring, Mapping) or 'radius' not in ring or 'angles_deg' not in ring:
        raise ModelError(f'{where}: six joints, or a ring with radius and angles_deg, are needed')
    angles = np.radians(_numbers(ring['angles_deg'], (6,), f'{where}.ring.angles_deg'))
    radius = float(ring['radius'])
    height = np.full(6, float(ring.get('height', 0.0)))
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), height], axis=1)


def _axes(value: Any, joints: Array, source: str) -> Array:
    if not isinstance(value, str):
        return _numbers(value, (6, 3), f'{source}, base.alpha_axes')
    x, y, zero = joints[:, 0], joints[:, 1], np.zeros(6)
    if value == 'tangential':
        return np.stack([-y, x, zero], axis=1)
    if value == 'radial':
        return np.stack([x, y, zero], axis=1)
    raise ModelError(
        f'{source}: base.alpha_axes must be tangential, radial or six vectors, found {value!r}'
    )


def _filled(kind: type[_T], section: Mapping[str, Any], where: str) -> _T:
    """A data class of numbers (and texts) from a section, refusing names it does not have."""
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in section.items():
        if name not in known:
            raise ModelError(f'{where}: unknown field {name!r}; known: {", ".join(known)}')
        try:
            values[name] = value if known[name].type == 'str' else float(value)
        except (TypeError, ValueError):
            raise ModelError(f'{where}: {name} must be a number, found {value!r}') from None
    return kind(**values)


def _limits(section: Mapping[str, Any], where: str) -> Limits:
    rest = {key: value for key, value in section.items() if key != 'pose_range'}
    plain = _filled(Limits, rest, where)
    if 'pose_range' not in section:
        return plain
    ranges = _numbers(section['pose_range'], (6,), f'{where}.pose_range')
    return Limits(
        plain.length_min,
        plain.length_max,
        plain.velocity,
        plain.acceleration,
        ranges,
        plain.condition,
    )
