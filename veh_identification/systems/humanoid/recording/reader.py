"""A humanoid's recording as plain time series: joints, base pose, wrenches and their frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veh_identification.checks.bursts import check_bursts
from veh_identification.findings import Finding
from veh_identification.runtime.bags import BagReader, Columns, columns_of
from veh_identification.runtime.transforms import FrameError, StaticFrames, read_static_frames
from veh_identification.signals import TimeSeries, clean
from veh_identification.systems.humanoid.configuration import Configuration, Pose
from veh_identification.systems.humanoid.recording.base_signals import (
    EXCURSION,
    FEWEST_SAMPLES,
    IMU_NAMES,
    IMU_PATHS,
    IMU_UNITS,
    POSE_PATHS,
    Mount,
    RecordingError,
    on_even_stamps,
    read_mount,
    read_poses,
    read_series,
    said_of,
    taken_out,
)
from veh_identification.systems.humanoid.recording.outliers import (
    SMALLEST_ANGLE,
    excursions,
    unwrapped,
)
from veh_identification.systems.humanoid.wrench_topics import (
    FOOT_TOPIC,
    PLATE_TOPIC,
    WRENCH_TYPE,
    by_frame_text,
    is_usual,
    preferred,
    root_of,
)
from veh_identification.types import Array, Progress

POSE_TYPE = 'geometry_msgs/msg/PoseStamped'
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
    origin: str = ''  # where the pose of a plate, or the frame of a sensor, comes from
    tared: bool = False  # its offset was read off while nobody stood on it

    @property
    def is_plate(self) -> bool:
        """True for a force plate, false for a sensor on the robot."""
        return self.pose is not None


@dataclass(frozen=True, eq=False)
class Recording:
    """What one bag holds for the identification, cleaned, all of one epoch."""

    label: str  # its path
    joints: tuple[TimeSeries, ...]  # each with one or several joints as channels
    base: TimeSeries  # position and unwrapped quaternion, or angular velocity and specific force
    wrenches: tuple[Wrench, ...]
    unknown_joints: tuple[str, ...]
    missing_joints: tuple[str, ...]
    findings: tuple[Finding, ...]
    epoch_ns: int
    mount: Mount | None = None  # of the IMU, when it gives the base's motion

    @property
    def source(self) -> str:
        """Where it was read from."""
        return self.label

    def joint(self, name: str) -> Array | None:
        """All samples of one joint."""
        for series in self.joints:
            if name in series.names:
                return series.values[:, series.names.index(name)]
        return None


@dataclass(frozen=True, eq=False)
class _Topics:
    """The topics of a recording that are read, without leading slashes."""

    configuration: Configuration  # with the names that the recording has
    inertial: bool  # the base's motion comes from an IMU
    wrenches: list[str]
    plates: frozenset[str]  # those of them that stand in the world
    findings: list[Finding]

    @property
    def base(self) -> str:
        c = self.configuration
        return c.imu if self.inertial else c.base_pose


def read_recording(
    bag: str | Path,
    joints: Sequence[str],
    configuration: Configuration,
    progress: Progress | None = None,
) -> Recording:
    """Read joints, base pose, wrenches and static transforms of a bag."""
    with BagReader(bag, progress=progress) as reader:
        present = {name.lstrip('/'): name for name, info in reader.topics.items() if info.count}
        # A transform that contradicts the others is reported, not fatal.
        frames, refused = read_static_frames(reader)
        others = _other_wrenches(reader, present, frames, configuration)
        topics = _choose_topics(configuration, present, others, str(bag))
        joint_states = present[topics.configuration.joint_states]
        motion = 'sensor_msgs/msg/Imu' if topics.inertial else POSE_TYPE
        reader.expect_type(joint_states, 'sensor_msgs/msg/JointState')
        reader.expect_type(present[topics.base], motion)
        for topic in topics.wrenches:
            reader.expect_type(present[topic], WRENCH_TYPE)
        wanted: dict[str, Sequence[str] | None] = {
            joint_states: ['position'],
            present[topics.base]: IMU_PATHS if topics.inertial else POSE_PATHS,
            **{present[topic]: WRENCH_PATHS for topic in topics.wrenches},
        }
        columns = columns_of(reader, wanted)
    by_topic = {name.lstrip('/'): one for name, one in columns.items()}
    return _build(str(bag), by_topic, topics, frames, refused, joints)


def _other_wrenches(
    reader: BagReader, present: Mapping[str, str], frames: StaticFrames, c: Configuration
) -> dict[str, bool]:
    """Wrenches under names of their own: whether each stands in the world, by its frame.

    Looked for only where none has one of the usual names.
    """
    if any(is_usual(name) for name in present) or c.sensors:
        return {}
    pose = present.get(c.base_pose)
    posed = pose is not None and reader.topics[pose].typename == POSE_TYPE
    world = c.world_frame or (_first_frame(reader, pose) if pose is not None and posed else '')
    found: dict[str, bool] = {}
    for name, full in sorted(present.items()):
        if reader.topics[full].typename != WRENCH_TYPE:
            continue
        frame = _first_frame(reader, full)
        given = (name, name.removesuffix('/wrench'), frame)
        stands = root_of(frames, frame, world) is not None
        found[name] = stands or any(c.plate(one) is not None for one in given)
    return found


def _first_frame(reader: BagReader, topic: str) -> str:
    """The frame that the first message of a topic names."""
    first = next(iter(reader.messages([topic])), None)
    return '' if first is None else str(first.message.header.frame_id).strip('/')


def _choose_topics(
    c: Configuration, present: Mapping[str, str], others: Mapping[str, bool], bag: str
) -> _Topics:
    """Which topics are read; what is needed and is not there is refused."""
    c, findings = _in_namespace(c, present, bag)
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
    plates = frozenset(n for n in present if PLATE_TOPIC.match(n) and n not in c.sensors)
    plates |= {name for name, world in others.items() if world}
    wrenches = _wrench_topics(present, plates, others, c, bag, inertial)
    for name in (one for one in wrenches if one in others):
        text = by_frame_text(name, others[name])
        findings.append(Finding('note', 'wrench_by_frame', text, f'topic {name}'))
    return _Topics(c, inertial, wrenches, plates, findings)


def _in_namespace(
    c: Configuration, present: Mapping[str, str], bag: str
) -> tuple[Configuration, list[Finding]]:
    """The configuration with topics that are there under one namespace only."""
    found: dict[str, str] = {}
    findings: list[Finding] = []
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
        text = f'{under[0]} is taken for {name}'
        findings.append(Finding('note', 'topic_in_namespace', text, f'topic {under[0]}'))
    names = [found.get(field, getattr(c, field)) for field in ('joint_states', 'base_pose', 'imu')]
    delays = {
        found[field]: c.delays[name] for field in found if (name := getattr(c, field)) in c.delays
    }
    named = replace(
        c, joint_states=names[0], base_pose=names[1], imu=names[2], delays={**c.delays, **delays}
    )
    return named, findings


def _wrench_topics(
    present: Mapping[str, str],
    in_world: frozenset[str],
    others: Mapping[str, bool],
    c: Configuration,
    bag: str,
    inertial: bool,
) -> list[str]:
    plates = sorted(in_world)
    usual = {name for name in present if FOOT_TOPIC.match(name) or name in c.sensors}
    sensors = sorted(usual | {name for name, world in others.items() if not world})
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
    best = preferred(plates, sensors, posed=not inertial)
    chosen = {'auto': best, 'plates': plates, 'sensors': sensors, 'both': plates + sensors}[
        c.contacts
    ]
    if not chosen:
        raise RecordingError(
            f'{bag}: there is no wrench (force_plate*/wrench, l_foot/wrench or r_foot/wrench'
            f'{"" if c.contacts == "auto" else f"; asked for: {c.contacts}"}), only '
            f'{", ".join(sorted(present))}'
        )
    return chosen


def _build(
    label: str,
    columns: Mapping[str, Columns],
    topics: _Topics,
    frames: StaticFrames,
    refused: Sequence[str],
    joints: Sequence[str],
) -> Recording:
    c, findings = topics.configuration, list(topics.findings)
    stamps = [one.stamps_ns[one.stamps_ns > 0] for one in columns.values()]
    epoch = min((int(s.min()) for s in stamps if len(s)), default=0)
    base, mount = _base(columns[topics.base], topics.inertial, frames, epoch, findings)
    frame_ids = () if topics.inertial else columns[topics.base].frame_ids
    world = c.world_frame or next((f for f in frame_ids if f), 'world')
    wrenches = [
        _wrench(topic, columns[topic], topic in topics.plates, frames, world, c, epoch, findings)
        for topic in topics.wrenches
    ]
    # Poses may rest on what is left of the transforms.
    rests = any('/tf_static' in one.origin for one in wrenches) or mount is not None
    findings += [
        Finding('warn' if rests else 'note', 'transform_refused', text, 'topic /tf_static')
        for text in refused
    ]
    groups, unknown, missing = _joints(columns[c.joint_states], joints, epoch, findings)
    if not groups:
        raise RecordingError(
            f'{label}, topic {c.joint_states}: none of its joints ('
            f'{", ".join(unknown[:6]) or "no names at all"}) is a moving joint of the URDF ('
            f'{", ".join(list(joints)[:6])} ...)'
        )
    return Recording(
        label,
        tuple(_delayed(one, c.delays.get(c.joint_states, 0.0)) for one in groups),
        _delayed(base, c.delays.get(base.label, 0.0)),
        tuple(replace(w, series=_delayed(w.series, c.delays.get(w.topic, 0.0))) for w in wrenches),
        tuple(unknown),
        tuple(missing),
        tuple(said_of(label, findings)),
        epoch,
        mount,
    )


def _base(
    columns: Columns, inertial: bool, frames: StaticFrames, epoch: int, findings: list[Finding]
) -> tuple[TimeSeries, Mount | None]:
    """Motion of the base link, and where the IMU sits that gives it."""
    if not inertial:
        poses, found = read_poses(columns, epoch)
        findings += found
        return poses, None
    series, found = read_series(columns, IMU_PATHS, IMU_NAMES, IMU_UNITS, epoch)
    mount = read_mount(columns, frames)
    text = f'the motion of the base comes from {series.label} in {mount.frame!r}'
    findings += [*found, Finding('note', 'base_from_imu', text, f'topic {series.label}')]
    return series, mount


def _wrench(
    topic: str,
    columns: Columns,
    in_world: bool,
    frames: StaticFrames,
    world: str,
    c: Configuration,
    epoch: int,
    findings: list[Finding],
) -> Wrench:
    series, found = read_series(columns, WRENCH_PATHS, WRENCH_NAMES, WRENCH_UNITS, epoch)
    bursts = check_bursts(series.stamps, f'topic {topic}')
    series, jitter = on_even_stamps(series)
    findings += [*found, *(bursts or jitter)]
    frame = next((f.strip('/') for f in columns.frame_ids if f), '')
    if len(columns.frame_ids) > 1:
        names = ', '.join(columns.frame_ids)
        text = f'{topic}: messages name the frames {names}; {frame} is used'
        findings.append(Finding('warn', 'frames_mixed', text, f'topic {topic}'))
    sensor = c.sensors.get(topic)
    if in_world:
        pose, origin = plate_pose(topic, frame, frames, world, c)
        return Wrench(topic, frame, series, pose, origin)
    if sensor is not None and sensor.frame:
        return Wrench(topic, sensor.frame, series, origin=f'configuration, sensors.{topic}')
    return Wrench(topic, frame, series, origin=f'frame_id of {topic}')


def _delayed(series: TimeSeries, delay: float) -> TimeSeries:
    return series.delayed(delay) if delay else series


def plate_pose(
    topic: str, frame: str, frames: StaticFrames, world: str, c: Configuration
) -> tuple[Pose, str]:
    """Pose of a plate in the world, and where it comes from.

    The configuration by topic or frame wins over static transforms.
    """
    for name in (topic, topic.removesuffix('/wrench'), frame):
        if (given := c.plate(name)) is not None:
            return given, f'configuration, plates.{name}'
    root = root_of(frames, frame, world)
    if root is not None:
        found = frames.lookup(root, frame)
        return Pose(np.array(found.translation), found.matrix), '/tf_static'
    why = frames.refused.get(frame, '')
    raise FrameError(
        f'{topic}: the pose of its frame {frame or "(no frame_id)"!r} in {world!r} is unknown; '
        f'give it as plates.{topic.removesuffix("/wrench")} in the configuration or in '
        f'/tf_static (which knows {", ".join(frames.frames()) or "nothing"})'
        f'{"; " + why if why else ""}'
    )


def _joints(
    columns: Columns, wanted: Sequence[str], epoch: int, findings: list[Finding]
) -> tuple[list[TimeSeries], list[str], list[str]]:
    """One series per group of joints that come in the same messages."""
    given = {path.split('[', 1)[1].rstrip(']'): path for path in columns.values if '[' in path}
    unknown = [name for name in given if name not in wanted]
    groups: dict[bytes, list[str]] = {}
    missing = []
    for name in wanted:
        values = columns.values.get(given.get(name, ''))
        known = np.isfinite(values) if values is not None else np.zeros(0, dtype=bool)
        if known.sum() < FEWEST_SAMPLES:
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
        even, jitter = on_even_stamps(tidy)
        plausible, found = _plausible(even)
        findings += [*report.findings(), *jitter, *found]
        series.append(plausible)
    return series, unknown, missing


def _plausible(series: TimeSeries) -> tuple[TimeSeries, list[Finding]]:
    """Joint positions without jumps by whole turns and without excursions of a few frames."""
    values, turns = unwrapped(series.values)
    wrong = excursions(series.stamps, values, np.full(values.shape[1], SMALLEST_ANGLE))
    found = taken_out(
        'joint_turns', series.label, turns, len(values), 'jumps by a whole turn taken out'
    ) + taken_out(
        'joint_excursions',
        series.label,
        int(wrong.sum()),
        len(values),
        f'samples {EXCURSION}',
    )
    return replace(series, values=values).take(np.flatnonzero(~wrong)), found
