"""Configuration of the humanoid identification: everything has a default, see humanoid.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError, UsageError
from veh_identification.types import Array

ESTIMATORS = ('prior', 'weighted', 'robust')
BASES = ('auto', 'pose', 'imu')
OFFSETS = ('auto', 'on', 'off')
CONTACTS = ('auto', 'plates', 'sensors', 'both')


EstimatorName = Literal['prior', 'weighted', 'robust']


class ConfigurationError(InputError):
    """The configuration of a humanoid identification cannot be used."""


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in its parent."""

    position: Array
    rotation: Array


@dataclass(frozen=True)
class Sensor:
    """A 6-axis sensor: its link, and the links beyond it if not simply the link's subtree."""

    frame: str = ''
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """Options of `identify humanoid`; times in seconds, frequencies in Hz."""

    gravity: float = 9.80665
    joint_states: str = 'joint_states'
    base_pose: str = 'base/pose'
    imu: str = 'imu/data'
    base: str = 'auto'  # pose, imu, or the pose if the recording holds it
    feet: tuple[str, ...] = ()  # soles for leg odometry; empty: by their usual names
    ground: float = 0.0  # height of the floor in the world
    world_frame: str = ''  # '' takes the frame of base/pose
    contacts: str = 'auto'  # plates before sensors when a recording holds both
    plates: Mapping[str, Pose] = field(default_factory=dict)  # by topic or frame
    sensors: Mapping[str, Sensor] = field(default_factory=dict)  # by topic
    delays: Mapping[str, float] = field(default_factory=dict)  # by topic
    estimate_delays: bool = True  # of base and joints against the wrenches
    cutoff_hz: float = 0.0  # 0: chosen from the data
    rate_hz: float = 0.0  # 0: that of the fastest of joints and base, at most 500
    estimator: EstimatorName = 'prior'
    sigma: tuple[float, ...] = ()  # per axis FX FY FZ NX NY NZ, for the weights
    prior_percent: float = 40.0  # how far from the truth a-priori values may be
    wrench_offset: str = 'auto'  # on, off, or on unless they turn out implausible
    tare: bool = True  # plates, while nobody stands on them
    plate_pose: bool = False
    locked_joints: Mapping[str, float] = field(default_factory=dict)
    lock_below: float = 0.01  # rad (or a tenth of it in m) of travel that counts as rest
    exclude_support: bool = True
    support_tolerance: float = 0.2  # share of the weight
    exclude_impacts: bool = True
    check_frames: bool = True

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.estimator, ESTIMATORS, 'estimator'),
            (self.contacts, CONTACTS, 'contacts'),
            (self.wrench_offset, OFFSETS, 'wrench_offset'),
            (self.base, BASES, 'base'),
        ):
            if value not in known:
                raise UsageError(f'{what} must be one of {", ".join(known)}, found {value!r}')
        if self.sigma and len(self.sigma) != 6:
            raise UsageError(
                f'sigma needs six numbers (FX FY FZ NX NY NZ), found {len(self.sigma)}'
            )
        for name in ('gravity', 'prior_percent', 'lock_below', 'support_tolerance'):
            if not getattr(self, name) > 0.0:
                raise UsageError(f'{name} must be positive, found {getattr(self, name)}')


def load_configuration(path: str | Path | None, **overrides: Any) -> Configuration:
    """From a YAML file (or defaults); keyword arguments win over the file."""
    table: dict[str, Any] = {}
    if path is not None:
        try:
            content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
        except OSError as error:
            raise ConfigurationError(f'{path} cannot be read: {error.strerror}') from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            reason = ' '.join(str(error).split())
            raise ConfigurationError(f'{path} is no YAML file: {reason}') from None
        if isinstance(content, Mapping) and set(content) == {'humanoid'}:
            content = content['humanoid']
        if content is not None and not isinstance(content, Mapping):
            raise ConfigurationError(f'{path}: expected a mapping of names to values')
        table = {str(key): value for key, value in (content or {}).items()}
    table.update(overrides)
    where = str(path) if path is not None else 'the options'
    known = {f.name: f for f in fields(Configuration)}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise ConfigurationError(
                f'{where} has the unknown entry {name!r}, expected some of {", ".join(known)}'
            )
        values[name] = _checked(name, value, getattr(Configuration(), name), where)
    return Configuration(**values)


def _checked(name: str, value: Any, default: Any, where: str) -> Any:
    if name == 'plates':
        return {
            str(k): _pose(v, f'{where}: plates.{k}')
            for k, v in _mapping(value, f'{where}: {name}').items()
        }
    if name == 'sensors':
        return {
            str(k).lstrip('/'): _sensor(v, f'{where}: sensors.{k}')
            for k, v in _mapping(value, f'{where}: {name}').items()
        }
    if name in ('delays', 'locked_joints'):
        return {
            str(k).lstrip('/'): _number(v, f'{where}: {name}.{k}')
            for k, v in _mapping(value, f'{where}: {name}').items()
        }
    if name == 'feet':
        return tuple(str(one) for one in (value or ()))
    if name == 'sigma':
        return tuple(_number(one, f'{where}: sigma') for one in (value or ()))
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ConfigurationError(f'{where}: {name} must be true or false, found {value!r}')
        return value
    if isinstance(default, float):
        return _number(value, f'{where}: {name}')
    if name == 'wrench_offset' and isinstance(value, bool):
        return 'on' if value else 'off'  # YAML reads on and off as booleans
    if not isinstance(value, str):
        raise ConfigurationError(f'{where}: {name} must be a text, found {value!r}')
    return value.lstrip('/')


def _mapping(value: Any, where: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f'{where} must be a mapping of names to values, found {value!r}')
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ConfigurationError(f'{where} must be a number, found {value!r}')
    return float(value)


def _vector(value: Any, count: int, where: str) -> Array:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ConfigurationError(f'{where} must be a list of {count} numbers, found {value!r}')
    return np.array([_number(one, where) for one in value])


def _pose(value: Any, where: str) -> Pose:
    if isinstance(value, Pose):
        return value
    table = _mapping(value, where)
    unknown = set(table) - {'position', 'rpy', 'quaternion'}
    if unknown:
        raise ConfigurationError(f'{where} has the unknown entry {sorted(unknown)[0]!r}')
    position = _vector(table.get('position', [0.0, 0.0, 0.0]), 3, f'{where}.position')
    if 'quaternion' in table:
        quaternion = _vector(table['quaternion'], 4, f'{where}.quaternion')
        if abs(np.linalg.norm(quaternion) - 1.0) > 1e-2:
            raise ConfigurationError(f'{where}.quaternion must have the length 1')
        return Pose(position, Rotation.from_quat(quaternion).as_matrix())
    rpy = _vector(table.get('rpy', [0.0, 0.0, 0.0]), 3, f'{where}.rpy')
    return Pose(position, Rotation.from_euler('xyz', rpy).as_matrix())


def _sensor(value: Any, where: str) -> Sensor:
    if isinstance(value, Sensor):
        return value
    if isinstance(value, str):
        return Sensor(value)
    table = _mapping(value, where)
    unknown = set(table) - {'frame', 'beyond'}
    if unknown:
        raise ConfigurationError(f'{where} has the unknown entry {sorted(unknown)[0]!r}')
    return Sensor(str(table.get('frame', '')), tuple(str(n) for n in table.get('beyond', ())))
