"""Where the poses and the geometry of an identification came from: (what, value, from)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.orientations import rpy_of_matrix
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.extra_joints import AXLE_JOINTS

#: What it is, its value, and where that stood.
Origin = tuple[str, str, str]


def recording_origins(
    label: str,
    poses: Mapping[str, tuple[Sensor, str]],
    measured: Iterable[str],
    configuration: CarDescription,
    dof: int,
) -> tuple[Origin, ...]:
    """Sensor poses as one recording was read with them, and measured axle joints that count.

    The 20-dof model of 2006 is not shown any of them; that of 2002 has its wheel forces turned
    by camber and kingpin.
    """
    found: list[Origin] = []
    for name, (sensor, source) in poses.items():
        what = f'pose of {configuration.topics[name]} in base_link'
        found.append((what, _pose(sensor), pose_origin(configuration, name, source, label)))
    known = set(measured)
    joints = configuration.topics['joints']
    for kind in AXLE_JOINTS if dof == 38 else ('camber', 'kingpin'):
        corners = [corner for corner in CORNERS if f'{kind}_{corner}' in known]
        if corners:
            found.append((f'{kind} {" ".join(corners)}', 'measured', f'{joints} of {label}'))
    return tuple(found)


def pose_origin(configuration: CarDescription, name: str, source: str, label: str) -> str:
    """Where the pose of a sensor stood: the file or the recording, not only of which kind."""
    where = {
        'configuration': _entry(configuration, 'sensors', name),
        '/tf_static': f'/tf_static of {label}',
    }
    return where.get(source, source)


def configuration_origins(configuration: CarDescription) -> tuple[Origin, ...]:
    """Geometry, axle tables and what the file says about the sensors."""
    geometry = configuration.geometry
    found: list[Origin] = [
        (what, f'{_numbers(value)} {unit}', _entry(configuration, *path))
        for what, value, unit, path in (
            ('wheelbase', geometry.wheelbase, 'm', ('geometry', 'wheelbase')),
            ('half tracks fl fr rl rr', geometry.half_track, 'm', ('geometry', 'half_track')),
            (
                'zero of the travel sensors',
                geometry.suspension_zero,
                'm',
                ('geometry', 'suspension_zero'),
            ),
            ('gravity', configuration.gravity, 'm/s^2', ('gravity',)),
        )
    ]
    tables = configuration.axle_tables
    for kind in dict.fromkeys(kind for kind, _ in tables):
        corners = ' '.join(corner for corner in CORNERS if (kind, corner) in tables)
        where = _entry(configuration, 'axle_kinematics', kind)
        found.append((f'{kind} over travel {corners}', 'table', where))
    for name, sensor in configuration.sensors.of_identification().items():
        told = _dynamics(sensor)
        if told:
            where = _entry(configuration, 'sensors', name)
            found.append((f'sensor {name.replace("_", " ")}', told, where))
    return tuple(found)


def assumed_geometry(configuration: CarDescription) -> list[str]:
    """What of the geometry a description leaves out, with the values that are assumed for it."""
    geometry = configuration.geometry
    if configuration == CarDescription():
        return []  # that there is no description is told as a whole
    return [
        f'{what} {_numbers(value)} m'
        for what, key, value in (
            ('wheelbase', 'wheelbase', geometry.wheelbase),
            ('half tracks fl fr rl rr', 'half_track', geometry.half_track),
            ('wheel radius', 'wheel_radius', geometry.wheel_radius),
        )
        if _entry(configuration, 'geometry', key) == 'default'
    ]


def _entry(configuration: CarDescription, *path: str) -> str:
    """The file that gives an entry."""
    document = configuration.document
    if document is None:  # made in Python
        return 'default' if configuration == CarDescription() else 'configuration'
    entry = document.find(path)
    return (
        'default'
        if entry is None or entry.content is None
        else f'configuration {entry.file or document.source}'
    )


def _dynamics(sensor: Sensor) -> str:
    """What is taken out of a sensor's signal; empty: nothing."""
    parts = []
    if sensor.delay:
        parts.append(f'delay {1e3 * sensor.delay:g} ms')
    if sensor.bandwidth_hz > 0.0:
        parts.append(f'low-pass {sensor.bandwidth_hz:g} Hz of order {sensor.order}')
    return ', '.join(parts)


def _pose(sensor: Sensor) -> str:
    turned = np.degrees(rpy_of_matrix(sensor.matrix))
    place = f'x y z {_numbers(sensor.position)} m'
    return f'{place}, roll pitch yaw {_numbers(np.round(turned, 4))} deg'


def _numbers(value: float | Sequence[float] | Any) -> str:
    return ' '.join(f'{one + 0.0:g}' for one in np.atleast_1d(value))
