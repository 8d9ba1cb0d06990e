"""Motion of the base link as a recording gives it: poses of motion capture, or an IMU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.fusion.frames import StaticFrames
from veh_identification.runtime.bags import Columns
from veh_identification.signals import TimeSeries, clean, unwrap_quaternions
from veh_identification.systems.humanoid.checks.outliers import (
    SMALLEST_ANGLE,
    SMALLEST_LENGTH,
    excursions,
)
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.types import Array

POSE_PATHS = [f'pose.position.{a}' for a in 'xyz'] + [f'pose.orientation.{a}' for a in 'xyzw']
IMU_PATHS = [f'{part}.{a}' for part in ('angular_velocity', 'linear_acceleration') for a in 'xyz']
IMU_NAMES = ('wx', 'wy', 'wz', 'fx', 'fy', 'fz')
IMU_UNITS = ('rad/s',) * 3 + ('m/s^2',) * 3
FROZEN_SECONDS = 0.05


class RecordingError(InputError):
    """A recording lacks what the identification of a humanoid needs."""


@dataclass(frozen=True, eq=False)
class Mount:
    """Frame of an IMU: its name, and its pose in the base link where /tf_static gives it."""

    frame: str
    pose: Pose | None = None


def read_series(
    columns: Columns,
    paths: Sequence[str],
    names: Sequence[str],
    units: Sequence[str],
    epoch: int,
    notes: list[str],
) -> TimeSeries:
    """Some columns of a topic as a clean series; what was wrong goes into the notes."""
    raw = TimeSeries.from_nanoseconds(
        columns.stamps_ns,
        columns.matrix(*paths),
        names,
        units,
        epoch_ns=epoch,
        label=columns.topic.lstrip('/'),
    )
    tidy, report = clean(raw)
    notes.extend(report.sentences())
    if len(tidy) < 16:
        raise _too_few(columns, len(tidy), 'samples', report.sentences())
    return tidy


def _too_few(columns: Columns, count: int, what: str, reasons: Sequence[str]) -> RecordingError:
    unset = int(np.count_nonzero(columns.stamps_ns <= 0))
    why = [f'{unset} messages have no header stamp'] if unset else list(reasons)
    return RecordingError(
        f'{columns.topic}: {count} usable {what} are not enough'
        f'{": " + "; ".join(why) if why else ""}'
    )


def read_poses(columns: Columns, epoch: int, notes: list[str]) -> TimeSeries:
    """Pose with unit quaternions; lost poses (no rotation, frozen values) are taken out."""
    values = columns.matrix(*POSE_PATHS)
    norm = np.linalg.norm(values[:, 3:], axis=1)
    bad = np.isfinite(norm) & (np.abs(norm - 1.0) > 0.1)
    values[bad] = np.nan
    if bad.any():
        notes.append(
            f'{columns.topic.lstrip("/")}: {int(bad.sum())} poses whose quaternion is no '
            'rotation taken out'
        )
    frozen = _frozen(columns.stamps_ns, values)
    values[frozen] = np.nan
    if frozen.any():
        notes.append(
            f'{columns.topic.lstrip("/")}: {int(frozen.sum())} poses taken out that '
            'repeat an old value (tracking lost)'
        )
    raw = TimeSeries.from_nanoseconds(
        columns.stamps_ns,
        values,
        ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'),
        ('m',) * 3 + ('',) * 4,
        epoch_ns=epoch,
        label=columns.topic.lstrip('/'),
    )
    tidy, report = clean(raw)
    notes.extend(report.sentences())
    if len(tidy) < 16:
        raise _too_few(columns, len(tidy), 'poses', report.sentences())
    tidy.values[:, 3:] = unwrap_quaternions(tidy.values[:, 3:])
    wrong = excursions(
        tidy.stamps, tidy.values, np.array([SMALLEST_LENGTH] * 3 + [0.5 * SMALLEST_ANGLE] * 4)
    )
    if wrong.any():
        notes.append(
            f'{columns.topic.lstrip("/")}: {int(wrong.sum())} poses taken out that leave '
            'the motion for a few frames (markers taken for each other?)'
        )
    return tidy.take(np.flatnonzero(~wrong))


def _frozen(stamps: NDArray[np.int64], values: Array) -> NDArray[np.bool_]:
    """Runs of one repeated pose that end in a jump: the tracker held its last value."""
    lost = np.zeros(len(values), dtype=bool)
    step = np.linalg.norm(np.diff(values[:, :3], axis=0), axis=1)
    same = np.concatenate([[False], np.all(np.diff(values, axis=0) == 0.0, axis=1), [False]])
    moving = step[step > 0.0]
    if not len(moving):
        return lost
    jump = 5.0 * float(np.percentile(moving, 95))
    edges = np.flatnonzero(np.diff(same.astype(np.int8)))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        # Samples first .. last hold one value; the first of them may have been measured.
        long = (stamps[last] - stamps[first]) * 1e-9 > FROZEN_SECONDS
        if long and last < len(step) and step[last] > jump:
            lost[first + 1 : last + 1] = True
    return lost


def read_mount(columns: Columns, frames: StaticFrames, notes: list[str]) -> Mount:
    """Frame of the IMU, and where /tf_static puts it on the base."""
    frame = next((f.strip('/') for f in columns.frame_ids if f), '')
    notes.append(f'the motion of the base comes from {columns.topic.lstrip("/")} in {frame!r}')
    for root in ('base_link', 'base', 'pelvis', 'torso'):
        if frame and frame in frames.frames() and frames.connected(root, frame):
            found = frames.lookup(root, frame)
            return Mount(
                frame,
                Pose(np.array(found.translation), Rotation.from_quat(found.rotation).as_matrix()),
            )
    return Mount(frame)
