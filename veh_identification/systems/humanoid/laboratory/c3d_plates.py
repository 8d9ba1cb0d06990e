"""Force plates of a C3D file: what they exert on the person, in a world whose z is up.

Plates measure in axes of their own that follow from their corners (x from the second corner to
the first one, y from the fourth to the first one, z down). Types 1, 2, 3 and
4 of the format are read: forces with a centre of pressure, forces and moments, the eight channels
of Kistler plates, and forces and moments behind a calibration matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.errors import InputError
from veh_identification.systems.humanoid.laboratory.c3d import C3d
from veh_identification.systems.humanoid.laboratory.wrenches import PlateWrench
from veh_identification.types import Array

KNOWN = (1, 2, 3, 4)
METRES = {'m': 1.0, 'cm': 0.01, 'mm': 0.001}
UNLOADED = 0.05  # share of the heaviest load of any plate
LEAST_UP = 0.9  # how much of a plate's normal must lie along one axis of the laboratory


def c3d_plates(file: C3d) -> list[PlateWrench]:
    """Every plate that carries something."""
    count = int(np.ravel(file.parameter('FORCE_PLATFORM:USED'))[0])
    if count < 1:
        raise InputError(f'{file.path}: FORCE_PLATFORM:USED is {count}, expected force plates')
    types = np.ravel(file.parameter('FORCE_PLATFORM:TYPE')).astype(int)
    unit = _metres(file)
    corners = unit * np.asarray(file.parameter('FORCE_PLATFORM:CORNERS'), float)
    origins = unit * np.asarray(file.parameter('FORCE_PLATFORM:ORIGIN'), float)
    upright = _upright(file, corners, count)
    found = []
    for k in range(count):
        if types[k] not in KNOWN:
            raise InputError(
                f'{file.path}: force plate {k + 1} has the type {types[k]}, expected 1, 2, 3 or 4'
            )
        axes = _axes(corners[:, :, k])
        force, moment = _in_plate(file, k, int(types[k]), origins[:, k], unit)
        turn = upright @ axes
        values = np.hstack([force @ turn.T, moment @ turn.T])
        if np.any(values):
            place = upright @ corners[:, :, k].mean(axis=1)
            found.append(PlateWrench(f'force_plate_{k + 1}', place, values))
    return _exerted(found)


def _exerted(plates: list[PlateWrench]) -> list[PlateWrench]:
    """What the plates exert: some files hold that, others what presses on the plate.

    Nobody pulls at a plate: where it carries most, the force is upward. Plates that carry nothing
    to speak of follow the one that carries most.
    """
    heaviest = [plate.values[np.argmax(np.abs(plate.values[:, 2])), 2] for plate in plates]
    most = max(heaviest, key=abs, default=1.0)
    sign = [np.sign(one if abs(one) > UNLOADED * abs(most) else most) for one in heaviest]
    return [replace(p, values=s * p.values) for p, s in zip(plates, sign, strict=True)]


def _metres(file: C3d) -> float:
    units = file.parameters.get('POINT:UNITS', 'mm')
    name = (units if isinstance(units, str) else units[0]).strip().lower() or 'mm'
    if name not in METRES:
        raise InputError(f'{file.path}: POINT:UNITS is {name!r}, expected m, cm or mm')
    return METRES[name]


def _axes(corners: Array) -> Array:
    """Columns: the plate's x, y and z in the laboratory, from its corners (3, 4)."""
    x, y = corners[:, 0] - corners[:, 1], corners[:, 0] - corners[:, 3]
    z = np.cross(x, y)
    return np.column_stack([x, np.cross(z, x), z]) / np.linalg.norm(
        np.column_stack([x, np.cross(z, x), z]), axis=0
    )


def _upright(file: C3d, corners: Array, count: int) -> Array:
    """Rotation from the laboratory to a world whose z is up: plates have their z down."""
    up = -np.mean([_axes(corners[:, :, k])[:, 2] for k in range(count)], axis=0)
    axis = int(np.argmax(np.abs(up)))
    if not np.isfinite(up).all() or abs(up[axis]) < LEAST_UP:
        raise InputError(
            f'{file.path}: FORCE_PLATFORM:CORNERS do not say which axis is up '
            f'(normal {np.round(up, 2).tolist()})'
        )
    target = np.zeros(3)
    target[axis] = np.sign(up[axis])
    if axis == 2:
        return np.eye(3) if target[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    # A quarter of a turn about a horizontal axis.
    side = np.cross(target, [0.0, 0.0, 1.0])
    return np.column_stack([side, np.cross([0.0, 0.0, 1.0], side), [0.0, 0.0, 1.0]]) @ (
        np.column_stack([side, np.cross(target, side), target]).T
    )


def _in_plate(file: C3d, k: int, kind: int, origin: Array, unit: float) -> tuple[Array, Array]:
    """Force and moment about the middle of the surface, in the plate's axes [N, N m]."""
    numbers = np.asarray(file.parameter('FORCE_PLATFORM:CHANNEL'), int)[:, k] - 1
    wanted = 8 if kind == 3 else 6
    numbers = numbers[:wanted]
    if len(numbers) < wanted or numbers.min() < 0 or numbers.max() >= file.analog.shape[1]:
        raise InputError(
            f'{file.path}: FORCE_PLATFORM:CHANNEL of plate {k + 1} names '
            f'{(numbers + 1).tolist()}, expected {wanted} of {file.analog.shape[1]} channels'
        )
    values = file.analog[:, numbers]
    if kind == 4:
        matrix = np.asarray(file.parameter('FORCE_PLATFORM:CAL_MATRIX'), float)
        values = values @ matrix[:6, :6, k].T
    if kind == 3:
        force, moment = _kistler(values, origin)
        return force, moment
    force = values[:, :3]
    lever = unit if _in_length_units(file, int(numbers[5])) else 1.0
    if kind == 1:
        point = unit * np.column_stack([values[:, 3:5], np.zeros(len(values))])
        moment = np.cross(point, force)
        moment[:, 2] += lever * values[:, 5]
        return force, moment
    # The sensor's origin lies below the surface: z is down there, whatever sign the file has.
    below = -origin if origin[2] > 0.0 else origin
    return force, lever * values[:, 3:6] + np.cross(force, below)


def _kistler(values: Array, origin: Array) -> tuple[Array, Array]:
    """Eight channels: fx12, fx34, fy14, fy23, fz1 .. fz4; the origin holds a, b and the depth."""
    a, b, depth = np.abs(origin)
    fx12, fx34, fy14, fy23, fz1, fz2, fz3, fz4 = values.T
    force = np.column_stack([fx12 + fx34, fy14 + fy23, fz1 + fz2 + fz3 + fz4])
    below = np.column_stack(
        [
            b * (fz1 + fz2 - fz3 - fz4),
            a * (-fz1 + fz2 + fz3 - fz4),
            b * (-fx12 + fx34) + a * (fy14 - fy23),
        ]
    )
    return force, below + np.cross(force, [0.0, 0.0, -depth])


def _in_length_units(file: C3d, channel: int) -> bool:
    """Whether moments are in N times the unit of the markers (N mm), and not in N m."""
    units = file.parameters.get('ANALOG:UNITS', [])
    name = units[channel] if isinstance(units, list) and channel < len(units) else ''
    plain = name.replace(' ', '').replace('*', '').replace('.', '').lower()
    return plain != 'nm'
