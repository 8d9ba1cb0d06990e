"""A humanoid's recording as plain time series: joints, base pose, wrenches and their frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.fusion.frames import FrameError, StaticFrames, Transform
from veh_identification.runtime.bags import BagReader, Columns, columns_of
from veh_identification.signals import TimeSeries, clean
from veh_identification.systems.humanoid.checks.outliers import (
    SMALLEST_ANGLE,
    excursions,
    unwrapped,
)
from veh_identification.systems.humanoid.configuration import Configuration, Pose
from veh_identification.systems.humanoid.recording.base_signals import (
    IMU_NAMES,
    IMU_PATHS,
    IMU_UNITS,
    POSE_PATHS,
    Mount,
    RecordingError,
    read_mount,
    read_poses,
    read_series,
)
from veh_identification.types import Array, Progress

PLATE_TOPIC = re.compile(r'^(.*/)?force_plate[^/]*/wrench$')
FOOT_TOPIC = re.compile(r'^(.*/)?(l|r)_foot/wrench$')
WRENCH_PATHS = [f'wrench.{part}.{axis}' for part in ('force', 'torque') for axis in 'xyz']
WRENCH_NAMES = ('FX', 'FY', 'FZ', 'NX', 'NY', 'NZ')
WRENCH_UNITS = ('N',) * 3 + ('N m',) * 3


@dataclass(frozen=True, eq=False)
class Wrench:
    """One wrench topic: a plate with its pose in the world, or a sensor on a link."""

    topic: str
    frame: str
    series: TimeSeries
    pose: Pose | None = None  # of a plate
    tared: bool = False  # its offset was read off while nobody stood on it

    @property
    def is_plate(self) -> bool:
        """True for a force plate, false for a sensor on the robot."""
        return self.pose is not None


@dataclass(frozen=True, eq=False)
class Recording:
    """What one bag holds for the identification, cleaned, all of one epoch."""

    label: str
    joints: tuple[TimeSeries, ...]  # each with one or several joints as channels
    base: TimeSeries  # position and unwrapped quaternion, or angular velocity and specific force
    wrenches: tuple[Wrench, ...]
    unknown_joints: tuple[str, ...]
    missing_joints: tuple[str, ...]
    notes: tuple[str, ...]
    epoch_ns: int
    mount: Mount | None = None  # of the IMU, when it gives the base's motion

    def joint(self, name: str) -> Array | None:
        """All samples of one joint."""
        for series in self.joints:
            if name in series.names:
                return series.values[:, series.names.index(name)]
        return None


def read_recording(
    bag: str | Path,
    joints: Sequence[str],
    configuration: Configuration,
    progress: Progress | None = None,
) -> Recording:
    """Read joints, base pose, wrenches and static transforms of a bag."""
    c = configuration
    notes: list[str] = []
    with BagReader(bag, progress=progress) as reader:
        present = {name.lstrip('/'): name for name, info in reader.topics.items() if info.count}
        c = _in_namespace(c, present, str(bag), notes)
        inertial = c.base == 'imu' or (
            c.base == 'auto' and c.base_pose not in present and c.imu in present
        )
        base = (
            (c.imu, 'the IMU (sensor_msgs/Imu)')
            if inertial
            else (c.base_pose, 'the base pose (geometry_msgs/PoseStamped)')
        )
        for topic, what in ((c.joint_states, 'joint positions (sensor_msgs/JointState)'), base):
            if topic not in present:
                raise RecordingError(
                    f'{bag}: there is no topic {topic} with {what}, only '
                    f'{", ".join(sorted(present)) or "nothing"}'
                )
        reader.expect_type(present[c.joint_states], 'sensor_msgs/msg/JointState')
        reader.expect_type(
            present[base[0]],
            'sensor_msgs/msg/Imu' if inertial else 'geometry_msgs/msg/PoseStamped',
        )
        topics = _wrench_topics(present, c, str(bag), inertial)
        for topic in topics:
            reader.expect_type(present[topic], 'geometry_msgs/msg/WrenchStamped')
        wanted: dict[str, Sequence[str] | None] = {
            present[c.joint_states]: ['position'],
            present[base[0]]: IMU_PATHS if inertial else POSE_PATHS,
            **{present[topic]: WRENCH_PATHS for topic in topics},
        }
        columns = columns_of(reader, wanted)
        frames = _static_frames(reader, present, notes)
    by_topic = {name.lstrip('/'): one for name, one in columns.items()}
    stamps = [one.stamps_ns[one.stamps_ns > 0] for one in by_topic.values()]
    epoch = min((int(s.min()) for s in stamps if len(s)), default=0)
    return _build(str(bag), by_topic, topics, frames, joints, c, epoch, inertial, notes)


def _in_namespace(
    c: Configuration, present: Mapping[str, str], bag: str, notes: list[str]
) -> Configuration:
    """The configuration with topics that are there under one namespace only."""
    found: dict[str, str] = {}
    for field in ('joint_states', 'base_pose', 'imu'):
        name = getattr(c, field)
        under = [one for one in present if one.endswith(f'/{name}')]
        if name in present or not under:
            continue
        if len(under) > 1:
            raise RecordingError(
                f'{bag}: there is no topic {name}, but {", ".join(under)}: name '
                f'the right one as {field} in the configuration'
            )
        found[field] = under[0]
        notes.append(f'{under[0]} is taken for {name}')
    names = [found.get(field, getattr(c, field)) for field in ('joint_states', 'base_pose', 'imu')]
    delays = {
        found[field]: c.delays[name] for field in found if (name := getattr(c, field)) in c.delays
    }
    return replace(
        c, joint_states=names[0], base_pose=names[1], imu=names[2], delays={**c.delays, **delays}
    )


def _wrench_topics(
    present: Mapping[str, str], c: Configuration, bag: str, inertial: bool
) -> list[str]:
    plates = sorted(name for name in present if PLATE_TOPIC.match(name))
    sensors = sorted({name for name in present if FOOT_TOPIC.match(name) or name in c.sensors})
    for name in c.sensors:
        if name not in present:
            raise RecordingError(
                f'{bag}: the configuration names the sensor {name}, which the '
                'recording does not hold'
            )
    if inertial and c.contacts == 'both' and plates and sensors:
        raise RecordingError(
            f'{bag}: plates and sensors on the robot together need the base pose '
            f'({c.base_pose}); with an IMU choose contacts: plates or sensors'
        )
    # Without a pose the robot's place on plates is known less well than where its sensors are.
    preferred = (sensors or plates) if inertial else (plates or sensors)
    chosen = {'auto': preferred, 'plates': plates, 'sensors': sensors, 'both': plates + sensors}[
        c.contacts
    ]
    if not chosen:
        raise RecordingError(
            f'{bag}: there is no wrench (force_plate*/wrench, l_foot/wrench or r_foot/wrench'
            f'{"" if c.contacts == "auto" else f"; asked for: {c.contacts}"}), only '
            f'{", ".join(sorted(present))}'
        )
    return chosen


def _static_frames(
    reader: BagReader, present: Mapping[str, str], notes: list[str]
) -> StaticFrames:
    """All static transforms; one that contradicts the others is reported, not fatal."""
    frames = StaticFrames()
    names = [present[name] for name in present if name.split('/')[-1] == 'tf_static']
    for decoded in reader.messages(names) if names else ():
        for one in decoded.message.transforms:
            t, r = one.transform.translation, one.transform.rotation
            try:
                frames.set(
                    one.header.frame_id,
                    one.child_frame_id,
                    Transform((t.x, t.y, t.z), (r.x, r.y, r.z, r.w)),
                )
            except FrameError as error:
                notes.append(f'{decoded.topic}: {error}; it is ignored')
    return frames


def _build(
    label: str,
    columns: Mapping[str, Columns],
    topics: Sequence[str],
    frames: StaticFrames,
    joints: Sequence[str],
    c: Configuration,
    epoch: int,
    inertial: bool,
    notes: list[str],
) -> Recording:
    base_columns = columns[c.imu if inertial else c.base_pose]
    if inertial:
        base = read_series(base_columns, IMU_PATHS, IMU_NAMES, IMU_UNITS, epoch, notes)
        mount = read_mount(base_columns, frames, notes)
    else:
        base, mount = read_poses(base_columns, epoch, notes), None
    frame_ids = [] if inertial else base_columns.frame_ids
    world = c.world_frame or next((f for f in frame_ids if f), 'world')
    wrenches = []
    for topic in topics:
        found = columns[topic]
        series = read_series(found, WRENCH_PATHS, WRENCH_NAMES, WRENCH_UNITS, epoch, notes)
        frame = next((f.strip('/') for f in found.frame_ids if f), '')
        sensor = c.sensors.get(topic)
        plate = PLATE_TOPIC.match(topic) and sensor is None
        if len(found.frame_ids) > 1:
            notes.append(
                f'{topic}: messages name the frames {", ".join(found.frame_ids)}; {frame} is used'
            )
        pose = plate_pose(topic, frame, frames, world, c) if plate else None
        wrenches.append(Wrench(topic, (sensor.frame if sensor else '') or frame, series, pose))
    groups, unknown, missing = _joints(columns[c.joint_states], joints, epoch, notes)
    if not groups:
        raise RecordingError(
            f'{label}, topic {c.joint_states}: none of its joints ('
            f'{", ".join(unknown[:6]) or "no names at all"}) is a moving joint of the URDF ('
            f'{", ".join(list(joints)[:6])} ...)'
        )
    moved = [_delayed(one, c.delays.get(c.joint_states, 0.0)) for one in groups]
    return Recording(
        label,
        tuple(moved),
        _delayed(base, c.delays.get(base.label, 0.0)),
        tuple(replace(w, series=_delayed(w.series, c.delays.get(w.topic, 0.0))) for w in wrenches),
        tuple(unknown),
        tuple(missing),
        tuple(notes),
        epoch,
        mount,
    )


def _delayed(series: TimeSeries, delay: float) -> TimeSeries:
    return series.delayed(delay) if delay else series


def plate_pose(topic: str, frame: str, frames: StaticFrames, world: str, c: Configuration) -> Pose:
    """Pose of a plate in the world: configuration by topic or frame, then static transforms."""
    for name in (topic, topic.removesuffix('/wrench'), frame):
        if name in c.plates:
            return c.plates[name]
    for root in dict.fromkeys((world, 'world')):
        if frame and frames.connected(root, frame):
            found = frames.lookup(root, frame)
            return Pose(
                np.array(found.translation), Rotation.from_quat(found.rotation).as_matrix()
            )
    raise FrameError(
        f'{topic}: the pose of its frame {frame or "(no frame_id)"!r} in {world!r} is unknown; '
        f'give it as plates.{topic.removesuffix("/wrench")} in the configuration or in '
        f'/tf_static (which knows {", ".join(frames.frames()) or "nothing"})'
    )


def _joints(
    columns: Columns, wanted: Sequence[str], epoch: int, notes: list[str]
) -> tuple[list[TimeSeries], list[str], list[str]]:
    """One series per group of joints that come in the same messages."""
    given = {path.split('[', 1)[1].rstrip(']'): path for path in columns.values if '[' in path}
    unknown = [name for name in given if name not in wanted]
    groups: dict[bytes, list[str]] = {}
    missing = []
    for name in wanted:
        values = columns.values.get(given.get(name, ''))
        known = np.isfinite(values) if values is not None else np.zeros(0, dtype=bool)
        if known.sum() < 16:
            missing.append(name)
        else:
            groups.setdefault(known.tobytes(), []).append(name)
    series = []
    for names in groups.values():
        block = columns.matrix(*(given[name] for name in names))
        rows = np.isfinite(block).any(axis=1)
        raw = TimeSeries.from_nanoseconds(
            columns.stamps_ns[rows],
            block[rows],
            names,
            ['rad or m'] * len(names),
            epoch_ns=epoch,
            label=f'{columns.topic.lstrip("/")} ({names[0]} ...)',
        )
        tidy, report = clean(raw)
        notes.extend(report.sentences())
        series.append(_plausible(tidy, notes))
    return series, unknown, missing


def _plausible(series: TimeSeries, notes: list[str]) -> TimeSeries:
    """Joint positions without jumps by whole turns and without excursions of a few frames."""
    values, turns = unwrapped(series.values)
    wrong = excursions(series.stamps, values, np.full(values.shape[1], SMALLEST_ANGLE))
    if turns:
        notes.append(f'{series.label}: {turns} jumps by a whole turn taken out')
    if wrong.any():
        notes.append(
            f'{series.label}: {int(wrong.sum())} samples taken out that leave the motion '
            'for a few frames (markers taken for each other?)'
        )
    return replace(series, values=values).take(np.flatnonzero(~wrong))
