"""Series of a recording's topics; the base link's motion from motion capture, or from an IMU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import InputError
from veh_identification.findings import Finding, Level
from veh_identification.runtime.bags import Columns
from veh_identification.runtime.transforms import StaticFrames
from veh_identification.signals import SampleReport, TimeSeries, clean, unwrap_quaternions
from veh_identification.signals.hygiene import MANY_SHARE, Signal
from veh_identification.signals.jitter import evened
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.recording.outliers import (
    SMALLEST_ANGLE,
    SMALLEST_LENGTH,
    excursions,
)
from veh_identification.types import Array, BoolArray

POSE_PATHS = [f'pose.position.{a}' for a in 'xyz'] + [f'pose.orientation.{a}' for a in 'xyzw']
IMU_PATHS = [f'{part}.{a}' for part in ('angular_velocity', 'linear_acceleration') for a in 'xyz']
IMU_NAMES = ('wx', 'wy', 'wz', 'fx', 'fy', 'fz')
IMU_UNITS = ('rad/s',) * 3 + ('m/s^2',) * 3
#: Share of the poses whose quaternions are none, from which on that is no loss of tracking.
NO_ROTATIONS = 0.9
FROZEN_SECONDS = 0.05
FEWEST_SAMPLES = 16
EXCURSION = 'taken out that leave the motion for a few frames (markers taken for each other?)'


class RecordingError(InputError):
    """A recording lacks what the identification of a humanoid needs."""


@dataclass(frozen=True, eq=False)
class Mount:
    """Frame of an IMU: its name, and its pose in the base link where /tf_static gives it."""

    frame: str
    pose: Pose | None = None


def said_of(recording: str, findings: Sequence[Finding]) -> list[Finding]:
    """The same findings, each naming its recording."""
    return [
        replace(
            one,
            text=f'{recording}: {one.text}',
            where=f'{recording}, {one.where}' if one.where else recording,
        )
        for one in findings
    ]


def taken_out(code: str, topic: str, count: int, total: int, what: str) -> list[Finding]:
    """A finding about samples that were taken out, if there were any; many are a reservation."""
    if not count:
        return []
    level: Level = 'warn' if count > MANY_SHARE * total else 'note'
    return [Finding(level, code, f'{topic}: {count} {what}', f'topic {topic}')]


def topic_name(columns: Columns) -> str:
    """The topic without its leading slash."""
    return columns.topic.lstrip('/')


def read_series(
    columns: Columns, paths: Sequence[str], names: Sequence[str], units: Sequence[str], epoch: int
) -> tuple[TimeSeries, list[Finding]]:
    """Some columns of a topic as a clean series, and what was wrong with it."""
    return _cleaned(columns, columns.matrix(*paths), names, units, epoch, 'samples', 'impacts')


def _cleaned(
    columns: Columns,
    values: Array,
    names: Sequence[str],
    units: Sequence[str],
    epoch: int,
    what: str,
    signal: Signal | None = None,
) -> tuple[TimeSeries, list[Finding]]:
    raw = TimeSeries.from_nanoseconds(
        columns.stamps_ns, values, names, units, epoch_ns=epoch, label=topic_name(columns)
    )
    tidy, report = clean(raw, signal=signal)
    if len(tidy) < FEWEST_SAMPLES:
        raise _too_few(columns, len(tidy), what, report)
    return tidy, report.findings()


def _too_few(columns: Columns, count: int, what: str, report: SampleReport) -> RecordingError:
    unset = int(np.count_nonzero(columns.stamps_ns <= 0))
    why = [f'{unset} messages have no header stamp'] if unset else report.sentences()
    return RecordingError(
        f'{columns.topic}: {count} usable {what} are not enough'
        f'{": " + "; ".join(why) if why else ""}'
    )


def read_poses(columns: Columns, epoch: int) -> tuple[TimeSeries, list[Finding]]:
    """Pose with unit quaternions; lost poses (no rotation, frozen values) are taken out."""
    topic, values = topic_name(columns), columns.matrix(*POSE_PATHS)
    norm = np.linalg.norm(values[:, 3:], axis=1)
    bad = np.isfinite(norm) & (np.abs(norm - 1.0) > 0.1)
    if len(norm) and bad.mean() > NO_ROTATIONS:
        raise RecordingError(
            f'{columns.topic}: pose.orientation has the length {np.median(norm[bad]):.3g} in '
            f'{int(bad.sum())} of {len(norm)} messages, that of a rotation has 1 (Euler angles, '
            'other units, or fields that nobody fills?)'
        )
    values[bad] = np.nan
    frozen = _frozen(columns.stamps_ns, values)
    values[frozen] = np.nan
    tidy, found = _cleaned(
        columns,
        values,
        ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'),
        ('m',) * 3 + ('',) * 4,
        epoch,
        'poses',
    )
    tidy.values[:, 3:] = unwrap_quaternions(tidy.values[:, 3:])
    tidy, jitter = on_even_stamps(tidy)
    found += jitter
    wrong = excursions(
        tidy.stamps, tidy.values, np.array([SMALLEST_LENGTH] * 3 + [0.5 * SMALLEST_ANGLE] * 4)
    )
    for code, which, what in (
        ('poses_no_rotation', bad, 'poses whose quaternion is no rotation taken out'),
        ('poses_frozen', frozen, 'poses taken out that repeat an old value (tracking lost)'),
        ('poses_excursion', wrong, f'poses {EXCURSION}'),
    ):
        found += taken_out(code, topic, int(which.sum()), len(which), what)
    return tidy.take(np.flatnonzero(~wrong)), found


def on_even_stamps(series: TimeSeries) -> tuple[TimeSeries, list[Finding]]:
    """Angles or poses on the even steps of their device, where stamps of arrival hide these."""
    if not np.isfinite(series.values).all():
        return series, []
    even = evened(series.stamps, series.values)
    return replace(series, stamps=even.stamps), even.findings(series.label, series.label)


def _frozen(stamps: NDArray[np.int64], values: Array) -> BoolArray:
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


def read_mount(columns: Columns, frames: StaticFrames) -> Mount:
    """Frame of the IMU, and where /tf_static puts it on the base."""
    frame = next((f.strip('/') for f in columns.frame_ids if f), '')
    for root in ('base_link', 'base', 'pelvis', 'torso'):
        if frame and frame in frames.frames() and frames.connected(root, frame):
            found = frames.lookup(root, frame)
            return Mount(frame, Pose(np.array(found.translation), found.matrix))
    return Mount(frame)
