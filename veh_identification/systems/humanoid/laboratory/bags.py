"""A recording from the files of a motion laboratory: skeleton, coordinates, ground forces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import InputError
from veh_identification.orientations import quaternion_of_matrix
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.table_time import EPOCH
from veh_identification.systems.humanoid.laboratory.skeleton import UPRIGHT, Skeleton
from veh_identification.systems.humanoid.laboratory.storage import Table
from veh_identification.systems.humanoid.laboratory.wrenches import PlateWrench
from veh_identification.types import Array

#: Stamps begin here, for files that know no date.
EPOCH_NS = EPOCH * NANOSECONDS


def plate_wrenches(table: Table) -> list[PlateWrench]:
    """Every force of the table (columns NAMEvx .. vz, NAMEpx .. pz, NAMEmx .. mz)."""
    found: list[PlateWrench] = []
    for name in table.columns:
        if not name.endswith('vx') or f'{name[:-2]}px' not in table.columns:
            continue
        stem = name[:-2]
        torque = 'm'
        if f'{stem}mx' not in table.columns:  # NAME_moment_x, or 1_ground_torque_x
            torque = 't'
        force = _triple(table, f'{stem}v')
        point = _triple(table, f'{stem}p')
        moment = _moments(table, stem, torque)
        if not np.any(np.abs(force) > 0.0):
            continue
        weights = np.abs(force[:, 2])
        place = weights @ point / weights.sum()
        about = np.cross(point - place, force) + moment
        found.append(
            PlateWrench(f'force_plate_{len(found) + 1}', place, np.hstack([force, about]))
        )
    if not found:
        raise InputError(
            f'{table.path}: no ground forces, expected columns like ground_force_1_vx, '
            f'ground_force_1_px, ground_force_1_mx; found {", ".join(table.columns)}'
        )
    return found


def _moments(table: Table, stem: str, torque: str) -> Array:
    if f'{stem}{torque}x' in table.columns:
        return _triple(table, f'{stem}{torque}')
    other = re.sub(r'force_?$', 'torque_', stem)
    if f'{other}x' in table.columns:
        return _triple(table, other)
    raise InputError(f'{table.path}: no moments beside {stem}vx, expected {stem}mx or {other}x')


def _triple(table: Table, stem: str) -> Array:
    return np.column_stack([table.column(f'{stem}{axis}') for axis in 'xyz']) @ UPRIGHT.T


def has_forces(table: Table) -> bool:
    """Whether the table holds ground forces."""
    return any(name.endswith('vx') and f'{name[:-2]}px' in table.columns for name in table.columns)


Stamped = tuple[int, str, Any]


def write_recording(
    path: str | Path,
    motion: Iterable[Stamped],
    plates: Sequence[tuple[Array, PlateWrench]],
    *,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> dict[str, int]:
    """Write motion, wrenches (with their stamps in s) and the plates' places.

    Returns the messages by topic.
    """
    found = [*motion, *(one for time, plate in plates for one in _pressing(plate, time))]
    if plates:
        first = min((stamp for stamp, _, _ in found), default=EPOCH_NS)
        found.append((first, '/tf_static', _places([plate for _, plate in plates])))
    counts = Counter(topic for _, topic, _ in found)
    with BagWriter(path, storage=storage, overwrite=overwrite) as writer:
        for stamp, topic, message in sorted(found, key=lambda one: one[0]):
            writer.write_message(topic, message, stamp)
    return dict(counts)


def skeleton_motion(skeleton: Skeleton, motion: Table) -> Iterator[Stamped]:
    """Base pose and joints of a model of OpenSim."""
    yield from base_poses(motion.time, *skeleton.base_pose(motion))
    joints = skeleton.values(motion)
    yield from joint_states(motion.time, list(joints), np.column_stack(list(joints.values())))


def base_poses(time: Array, position: Array, rotation: Array) -> Iterator[Stamped]:
    """Poses of the base link."""
    for k, stamp in enumerate(_stamps(time)):
        pose = {'position': position[k], 'orientation': quaternion_of_matrix(rotation[k])}
        header = messages.header(stamp, 'world')
        message = messages.new('geometry_msgs/msg/PoseStamped', header=header, pose=pose)
        yield stamp, '/base/pose', message


def joint_states(time: Array, names: list[str], values: Array) -> Iterator[Stamped]:
    """Positions of joints; those that are not known are not named."""
    for stamp, row in zip(_stamps(time), values, strict=True):
        known = np.isfinite(row)
        if not known.any():
            continue
        message = messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp),
            name=[name for name, one in zip(names, known, strict=True) if one],
            position=row[known],
        )
        yield stamp, '/joint_states', message


def _pressing(plate: PlateWrench, time: Array) -> Iterator[tuple[int, str, Any]]:
    for stamp, row in zip(_stamps(time), plate.values, strict=True):
        message = messages.new(
            'geometry_msgs/msg/WrenchStamped',
            header=messages.header(stamp, plate.name),
            wrench={'force': row[:3], 'torque': row[3:]},
        )
        yield stamp, f'/{plate.name}/wrench', message


def _stamps(time: Array) -> list[int]:
    return [EPOCH_NS + round(1e9 * one) for one in time.tolist()]


def _places(plates: list[PlateWrench]) -> Any:
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'world'),
                'child_frame_id': plate.name,
                'transform': {'translation': plate.place, 'rotation': [0.0, 0.0, 0.0, 1.0]},
            }
            for plate in plates
        ],
    )
