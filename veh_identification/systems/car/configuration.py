"""What the user tells about a car: geometry, sensor poses, a-priori values (YAML).

`config/car_template.yaml` explains every entry. Lengths in m, angles in rad, everything in the
axes of `base_link` (midpoint of the rear wheel centres at design height, x forward, y left, z up).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from veh_identification.errors import InputError
from veh_identification.systems.car import yaml_fields as fields
from veh_identification.systems.car.parameters import AERODYNAMIC, CORNERS, NAMES
from veh_identification.systems.car.recording.axle_tables import AxleTable, read_axle_tables
from veh_identification.types import Array


class CarConfigurationError(InputError):
    """The YAML description of a car is not usable."""


@dataclass(frozen=True)
class Geometry:
    """Where the wheel centres are; four numbers are in the order fl, fr, rl, rr."""

    wheelbase: float = 2.70
    half_track: tuple[float, float, float, float] = (0.75, 0.75, 0.74, 0.74)
    wheel_radius: float = 0.31
    #: z of the wheel centre in base_link when the travel sensor shows zero (contract: 0).
    suspension_zero: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def wheel_x(self) -> tuple[float, float, float, float]:
        """x of each wheel centre."""
        return (self.wheelbase, self.wheelbase, 0.0, 0.0)

    @property
    def wheel_y(self) -> tuple[float, float, float, float]:
        """y of each wheel centre: left positive, right negative."""
        fl, fr, rl, rr = self.half_track
        return (fl, -fr, rl, -rr)


@dataclass(frozen=True)
class Sensor:
    """Mounting and dynamics of one sensor (or of four equal ones).

    `bandwidth_hz` and `order` describe the low-pass (Butterworth) that the sensor itself is, with
    its phase; it is taken out again. `delay`: the value shows what was true that much before its
    stamp. `noise` is a standard deviation per sample (NaN: found from the spectrum); `offset` the
    standard deviation of an unknown constant error (0: none).
    """

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[tuple[float, float, float], ...] = (
        (1.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, 1.0),
    )  # sensor axes to base axes
    pose_given: bool = False
    frame: str = ''
    bandwidth_hz: float = 0.0  # 0: no limit
    order: int = 2
    delay: float = 0.0
    noise: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()

    @property
    def matrix(self) -> Array:
        """Rotation from sensor axes to base axes."""
        return np.array(self.rotation)


@dataclass(frozen=True)
class Sensors:
    """All sensors of section V.A."""

    imu: Sensor = field(default_factory=lambda: Sensor(frame='imu_link'))
    speed: Sensor = field(default_factory=lambda: Sensor(frame='correvit_link'))
    suspension: Sensor = field(default_factory=Sensor)
    steering: Sensor = field(default_factory=Sensor)
    wheel_force: Sensor = field(default_factory=Sensor)
    ride_height: Sensor = field(default_factory=Sensor)


@dataclass(frozen=True)
class Static:
    """For the check of the static mass: what the wheel sensors carry beside the chassis."""

    gravity: float = 9.80665


TOPICS: dict[str, str] = {
    'imu': 'imu/data',
    'speed': 'correvit/velocity',
    'joints': 'joint_states',
    **{f'wrench_{corner}': f'wheel_{corner}/wrench' for corner in CORNERS},
    **{f'ride_height_{corner}': f'ride_height_{corner}' for corner in CORNERS},
    'tf_static': '/tf_static',
}


@dataclass(frozen=True)
class CarConfiguration:
    """Everything that the recording does not say about the car."""

    name: str = 'car'
    geometry: Geometry = field(default_factory=Geometry)
    sensors: Sensors = field(default_factory=Sensors)
    static: Static = field(default_factory=Static)
    a_priori: Mapping[str, float] = field(default_factory=dict)
    #: Variations of the axle geometry by (quantity, corner), for the 38-dof model.
    axle_tables: Mapping[tuple[str, str], AxleTable] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=lambda: dict(TOPICS))
    #: Frequency bands (Hz) of known disturbances, e.g. the driveline.
    disturbances: tuple[tuple[float, float], ...] = ()
    source: str = ''

    def a_priori_array(self, names: tuple[str, ...] = NAMES) -> Array:
        """A-priori values in the order of `names`, NaN where unknown."""
        return np.array([self.a_priori.get(name, np.nan) for name in names])


def load_configuration(path: str | Path) -> CarConfiguration:
    """Read the YAML file of a car."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise CarConfigurationError(
            f'{path}: the configuration cannot be read ({reason})'
        ) from None
    except yaml.YAMLError as error:
        reason = ' '.join(str(error).split())
        raise CarConfigurationError(f'{path}: not YAML ({reason})') from None
    try:
        return parse_configuration(content, str(path))
    except fields.FieldError as error:
        raise CarConfigurationError(str(error)) from None


def parse_configuration(content: Any, where: str = 'configuration') -> CarConfiguration:
    """Configuration from the mapping of a YAML file; `where` names the source in errors."""
    table = fields.unwrap(content, where)
    known = {
        'name',
        'geometry',
        'sensors',
        'static',
        'a_priori',
        'axle_kinematics',
        'topics',
        'disturbances',
        *_GEOMETRY_KEYS,
    }
    fields.only(table, known, where)
    loose = {key: table[key] for key in _GEOMETRY_KEYS if key in table}
    geometry = fields.mapping(table.get('geometry'), f'{where}: geometry')
    topics = fields.mapping(table.get('topics'), f'{where}: topics')
    fields.only(topics, set(TOPICS), f'{where}: topics')
    priors = fields.mapping(table.get('a_priori'), f'{where}: a_priori')
    fields.only(priors, {*NAMES, *AERODYNAMIC}, f'{where}: a_priori')
    static = fields.mapping(table.get('static'), f'{where}: static')
    fields.only(static, {'gravity'}, f'{where}: static')
    bands = table.get('disturbances') or []
    if not isinstance(bands, list):
        raise fields.FieldError(
            f'{where}: disturbances must be a list of [low, high] in Hz, found {bands!r}'
        )
    return CarConfiguration(
        name=str(table.get('name', 'car')),
        geometry=_geometry({**loose, **geometry}, f'{where}: geometry'),
        sensors=_sensors(table.get('sensors'), f'{where}: sensors'),
        static=Static(
            fields.number(
                static.get('gravity', 9.80665), f'{where}: static.gravity', positive=True
            )
        ),
        a_priori={
            name: fields.number(value, f'{where}: a_priori.{name}')
            for name, value in priors.items()
            if value is not None
        },
        axle_tables=read_axle_tables(table.get('axle_kinematics'), f'{where}: axle_kinematics'),
        topics={**TOPICS, **{key: str(value) for key, value in topics.items()}},
        disturbances=tuple(fields.band(one, f'{where}: disturbances') for one in bands),
        source=where,
    )


_GEOMETRY_KEYS = {
    'wheelbase',
    'half_track',
    'wheel_radius',
    'suspension_zero',
    'track',
    'track_front',
    'track_rear',
    *(f'half_track_{corner}' for corner in CORNERS),
}


def _geometry(table: Mapping[str, Any], where: str) -> Geometry:
    fields.only(table, _GEOMETRY_KEYS, where)
    wheelbase = fields.number(table.get('wheelbase', 2.70), f'{where}.wheelbase', positive=True)
    half_track = _half_track(table, where)
    return Geometry(
        wheelbase,
        half_track,
        fields.number(table.get('wheel_radius', 0.31), f'{where}.wheel_radius', positive=True),
        fields.corners(table.get('suspension_zero', 0.0), f'{where}.suspension_zero'),
    )


def _half_track(table: Mapping[str, Any], where: str) -> tuple[float, float, float, float]:
    """Half tracks from whichever form the file gives; single corners win."""
    values = list(Geometry().half_track)
    if table.get('track') is not None:
        values = [0.5 * fields.number(table['track'], f'{where}.track', positive=True)] * 4
    for key, places in (('track_front', (0, 1)), ('track_rear', (2, 3))):
        if table.get(key) is not None:
            for place in places:
                values[place] = 0.5 * fields.number(table[key], f'{where}.{key}', positive=True)
    if table.get('half_track') is not None:
        values = list(fields.corners(table['half_track'], f'{where}.half_track'))
    for place, corner in enumerate(CORNERS):
        if table.get(f'half_track_{corner}') is not None:
            values[place] = fields.number(
                table[f'half_track_{corner}'], f'{where}.half_track_{corner}'
            )
    for corner, value in zip(CORNERS, values, strict=True):
        if not value > 0.0:
            raise fields.FieldError(
                f'{where}.half_track: {corner} is {value:g} m, expected a '
                'positive distance on both sides'
            )
    return (values[0], values[1], values[2], values[3])


def _sensors(content: Any, where: str) -> Sensors:
    table = fields.mapping(content, where)
    default = Sensors()
    names = set(Sensors.__dataclass_fields__)
    fields.only(table, names, where)
    return Sensors(
        **{
            name: _sensor(table.get(name), getattr(default, name), f'{where}.{name}')
            for name in sorted(names)
        }
    )


def _sensor(content: Any, default: Sensor, where: str) -> Sensor:
    table = fields.mapping(content, where)
    fields.only(
        table,
        {
            'position',
            'rpy',
            'quaternion',
            'frame',
            'bandwidth_hz',
            'order',
            'delay',
            'noise',
            'offset',
        },
        where,
    )
    rotation = default.rotation
    if table.get('rpy') is not None and table.get('quaternion') is not None:
        raise fields.FieldError(f'{where}: give either rpy or quaternion, not both')
    if table.get('rpy') is not None:
        rotation = fields.rotation_rpy(table['rpy'], f'{where}.rpy')
    if table.get('quaternion') is not None:
        rotation = fields.rotation_quaternion(table['quaternion'], f'{where}.quaternion')
    order = fields.number(table.get('order', default.order), f'{where}.order', positive=True)
    if order not in (1, 2, 3, 4, 5, 6, 7, 8):
        raise fields.FieldError(f'{where}.order is {order:g}, expected a whole number 1 to 8')
    position = default.position
    if table.get('position') is not None:
        position = fields.vector(table['position'], f'{where}.position')
    bandwidth = fields.number(table.get('bandwidth_hz') or 0.0, f'{where}.bandwidth_hz')
    if bandwidth < 0.0:
        raise fields.FieldError(
            f'{where}.bandwidth_hz is {bandwidth:g}, expected 0 (no limit) or a frequency'
        )
    given = any(table.get(key) is not None for key in ('position', 'rpy', 'quaternion'))
    return Sensor(
        position,
        rotation,
        given,
        str(table.get('frame') or default.frame),
        bandwidth,
        int(order),
        fields.number(table.get('delay') or 0.0, f'{where}.delay'),
        fields.numbers(table.get('noise'), f'{where}.noise'),
        fields.numbers(table.get('offset'), f'{where}.offset'),
    )
