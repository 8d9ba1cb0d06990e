"""The sensor signals of a car as plain time series, from a bag in the format of the contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.orientations import rpy_of_matrix
from veh_identification.runtime.bags import BagReader, Columns, columns_of, named_joints
from veh_identification.runtime.transforms import StaticFrames, read_static_frames
from veh_identification.runtime.transforms import clean as clean_frame
from veh_identification.signals import SampleReport, TimeSeries, clean
from veh_identification.signals.hygiene import Signal
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Progress

IMU_PATHS = [
    f'{field}.{axis}' for field in ('angular_velocity', 'linear_acceleration') for axis in 'xyz'
]
WRENCH_PATHS = [f'wrench.{field}.{axis}' for field in ('force', 'torque') for axis in 'xyz']
WRENCH_CHANNELS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
BASE = 'base_link'
JOINT_KINDS = (
    'suspension',
    'steering',
    'wheel',
    'half_track',
    'wheelbase',
    'camber',
    'kingpin',
    'tyre',
)


#: Joints of the whole car beside those of the corners.
SINGLE_JOINTS = ('steering_wheel', 'steering_rack')
_LENGTHS = ('susp', 'half', 'wheelbase', 'tyre', 'steering_rack')
_FIX = ('deg', 'deg', 'm', '')
FIX_PATHS = ['latitude', 'longitude', 'altitude', 'status.status']
IMU_CHANNELS = ('wx', 'wy', 'wz', 'fx', 'fy', 'fz')
#: What they show on a car that stands level.
LEVEL = (0.0, 0.0, 0.0, 0.0, 0.0, 9.80665)


class CarRecordingError(InputError):
    """A recording lacks what the identification of a car needs."""


@dataclass(frozen=True)
class CarRecording:
    """One recording; what is missing is None or not in the mapping."""

    label: str
    imu: TimeSeries | None  # angular velocity and specific force in sensor axes
    speed: TimeSeries | None  # vx, vy at the sensor's position in base axes
    joints: Mapping[str, TimeSeries]  # one channel each
    wrenches: Mapping[str, TimeSeries]  # by corner, in hub axes
    ride_heights: Mapping[str, TimeSeries] = field(default_factory=dict)
    reports: tuple[SampleReport, ...] = ()
    frames: StaticFrames = field(default_factory=StaticFrames)
    findings: tuple[Finding, ...] = ()
    source: str = ''  # the bag it was read from
    #: What only the identification without wheel forces reads.
    wheel_speeds: Mapping[str, TimeSeries] = field(default_factory=dict)  # by corner, as told
    torques: Mapping[str, TimeSeries] = field(default_factory=dict)  # of the drive, by corner
    velocity: TimeSeries | None = None  # of satellites: east, north
    fix: TimeSeries | None = None  # latitude, longitude, altitude
    pressure: TimeSeries | None = None  # of the brakes
    further_reports: tuple[SampleReport, ...] = ()
    #: Channels of `imu` that hold what a car shows that stands level: nobody measures them.
    unmeasured: tuple[str, ...] = ()

    @property
    def measured_axes(self) -> list[int]:
        """Columns of `imu` that somebody measures."""
        return [k for k, name in enumerate(IMU_CHANNELS) if name not in self.unmeasured]

    def joint(self, kind: str, corner: str) -> TimeSeries | None:
        """Series of one joint, None if the recording does not hold it."""
        return self.joints.get(f'{kind}_{corner}')


def has_wheel_forces(bag: str | Path, configuration: CarDescription) -> bool:
    """Whether a bag holds the force of any wheel."""
    wanted = {configuration.topics[f'wrench_{corner}'].lstrip('/') for corner in CORNERS}
    with BagReader(bag) as reader:
        return any(
            name.lstrip('/') in wanted and info.count for name, info in reader.topics.items()
        )


def read_recording(
    bag: str | Path,
    configuration: CarDescription,
    progress: Progress | None = None,
) -> CarRecording:
    """Read the car's topics of one bag (with or without a leading slash) and clean them."""
    topics = configuration.topics
    with BagReader(bag, progress=progress) as reader:
        present = {name.lstrip('/') for name, info in reader.topics.items() if info.count}

        def there(key: str) -> bool:
            return topics[key].lstrip('/') in present

        wanted: dict[str, Sequence[str] | None] = {}
        if there('imu'):
            wanted[topics['imu']] = IMU_PATHS
        if there('speed'):
            wanted[topics['speed']] = ['twist.linear.x', 'twist.linear.y']
        if there('joints'):
            wanted[topics['joints']] = ['position', 'velocity', 'effort']
        for key, paths in (
            ('gps_velocity', _velocity_paths(reader, topics['gps_velocity'])),
            ('gps_fix', FIX_PATHS),
            ('brake_pressure', ['fluid_pressure']),
        ):
            if there(key):
                wanted[topics[key]] = paths
        for corner in CORNERS:
            if there(f'wrench_{corner}'):
                wanted[topics[f'wrench_{corner}']] = WRENCH_PATHS
            if there(f'ride_height_{corner}'):
                wanted[topics[f'ride_height_{corner}']] = ['range']
        if not wanted:
            raise CarRecordingError(
                f'{bag}: it holds none of the topics of a car ({topics["imu"]}, '
                f'{topics["joints"]}, {topics["wrench_fl"]} ...), only '
                f'{", ".join(sorted(present)) or "nothing"}'
            )
        _refuse_other_joints(reader, topics['joints'])
        columns = columns_of(reader, wanted)
        static = [topics['tf_static']] if there('tf_static') else []
        frames, wrong = read_static_frames(reader, static)
    return replace(
        _build(str(bag), columns, topics),
        frames=frames,
        findings=tuple(
            Finding('note', 'transform_ignored', text, topics['tf_static']) for text in wrong
        ),
        source=str(bag),
    )


def _refuse_other_joints(reader: BagReader, topic: str) -> None:
    """Joints of other names would pass for a car without travel and steering."""
    named = named_joints(reader, topic)
    known = {f'{kind}_{corner}' for kind in JOINT_KINDS for corner in CORNERS}
    if named and not known.union(SINGLE_JOINTS).intersection(named):
        raise CarRecordingError(
            f'{reader.info()[0].path}, topic {topic}: none of its joints ({listed(named)}) is '
            'one of a car (suspension_fl, steering_fl, wheel_fl ... or steering_wheel); veh-id '
            'convert --map gives joints other names and units'
        )


def _velocity_paths(reader: BagReader, topic: str) -> list[str]:
    """East and north of TwistStamped or TwistWithCovarianceStamped."""
    kinds = [
        info.typename
        for name, info in reader.topics.items()
        if name.strip('/') == topic.strip('/')
    ]
    inner = 'twist.twist' if any('WithCovariance' in kind for kind in kinds) else 'twist'
    return [f'{inner}.linear.x', f'{inner}.linear.y']


def _build(label: str, columns: Mapping[str, Columns], topics: Mapping[str, str]) -> CarRecording:
    stamps = [one.stamps_ns[one.stamps_ns > 0] for one in columns.values()]
    epoch = int(min((s.min() for s in stamps if len(s)), default=0))
    reports: list[SampleReport] = []
    further: list[SampleReport] = []

    def series(
        key: str,
        paths: Sequence[str],
        names: Sequence[str],
        units: Sequence[str],
        into: list[SampleReport] = reports,
        signal: Signal = 'impacts',
    ) -> TimeSeries | None:
        found = columns.get(topics[key])
        if found is None:
            return None
        raw = TimeSeries.from_nanoseconds(
            found.stamps_ns, found.matrix(*paths), names, units, epoch_ns=epoch, label=found.topic
        )
        tidy, report = clean(raw, signal=signal)
        into.append(report)
        return tidy if len(tidy) > 8 else None

    columns, unmeasured = _axes_filled(columns, topics['imu'])
    imu = series('imu', IMU_PATHS, IMU_CHANNELS, ('rad/s',) * 3 + ('m/s^2',) * 3)
    speed = series(
        'speed',
        ['twist.linear.x', 'twist.linear.y'],
        ('vx', 'vy'),
        ('m/s',) * 2,
        signal='smooth',
    )
    wrenches, heights = {}, {}
    for corner in CORNERS:
        one = series(f'wrench_{corner}', WRENCH_PATHS, WRENCH_CHANNELS, ('N',) * 3 + ('N m',) * 3)
        if one is not None:
            wrenches[corner] = one
        height = series(f'ride_height_{corner}', ['range'], ('height',), ('m',), signal='smooth')
        if height is not None:
            heights[corner] = height
    joints = columns.get(topics['joints'])
    known = {f'{kind}_{corner}' for kind in JOINT_KINDS for corner in CORNERS}

    def of_joints(
        name: str, named: set[str], into: list[SampleReport], unit: str = ''
    ) -> dict[str, TimeSeries]:
        return {} if joints is None else _joints(joints, name, named, unit, epoch, into)

    def of_wheels(name: str, unit: str) -> dict[str, TimeSeries]:
        wheels = {f'wheel_{corner}' for corner in CORNERS}
        return {key[-2:]: one for key, one in of_joints(name, wheels, further, unit).items()}

    fix = series(
        'gps_fix', FIX_PATHS, ('latitude', 'longitude', 'altitude', 'status'), _FIX, further
    )
    return CarRecording(
        label,
        imu,
        speed,
        {
            **of_joints('position', known, reports),
            **of_joints('position', set(SINGLE_JOINTS), further),
        },
        wrenches,
        heights,
        tuple(reports),
        wheel_speeds=of_wheels('velocity', 'rad/s'),
        torques=of_wheels('effort', 'N m'),
        velocity=series(
            'gps_velocity',
            list(columns[topics['gps_velocity']].values)
            if topics['gps_velocity'] in columns
            else (),
            ('east', 'north'),
            ('m/s',) * 2,
            further,
        ),
        fix=None if fix is None else _usable_fixes(fix),
        pressure=series('brake_pressure', ['fluid_pressure'], ('pressure',), ('Pa',), further),
        further_reports=tuple(further),
        unmeasured=unmeasured,
    )


def _axes_filled(
    columns: Mapping[str, Columns], topic: str
) -> tuple[Mapping[str, Columns], tuple[str, ...]]:
    """Axes of an inertial unit that never hold a number, as level standing shows them.

    Stability controls have yaw rate, forward and sideways acceleration and nothing else.
    """
    found = columns.get(topic)
    if found is None or not len(found):
        return columns, ()
    missing = [k for k, path in enumerate(IMU_PATHS) if not np.isfinite(found[path]).any()]
    if not missing or len(missing) == len(IMU_PATHS):
        return columns, ()
    level = {IMU_PATHS[k]: np.full(len(found), LEVEL[k]) for k in missing}
    filled = replace(found, values={**found.values, **level})
    return {**columns, topic: filled}, tuple(IMU_CHANNELS[k] for k in missing)


def require_all_axes(recording: CarRecording, topic: str) -> None:
    """Refuse an inertial unit that does not measure everything."""
    if recording.unmeasured:
        raise CarRecordingError(
            f'{recording.label}: topic {topic}: {", ".join(recording.unmeasured)} hold no number; '
            'all three rates and all three accelerations are needed'
        )


def _usable_fixes(fix: TimeSeries) -> TimeSeries | None:
    """Fixes that the receiver itself calls one."""
    good = fix.values[:, 3] >= 0.0
    if np.count_nonzero(good) < 9:
        return None
    return TimeSeries(
        fix.stamps[good],
        fix.values[good, :3],
        fix.names[:3],
        fix.units[:3],
        fix.epoch_ns,
        fix.label,
    )


def _joints(
    columns: Columns,
    field_name: str,
    known: set[str],
    unit: str,
    epoch: int,
    reports: list[SampleReport],
) -> dict[str, TimeSeries]:
    """One clean series for each joint of the car that the messages name."""
    result: dict[str, TimeSeries] = {}
    for path, values in columns.values.items():
        kind, _, rest = path.partition('[')
        name = rest.rstrip(']')
        if name not in known or kind != field_name:
            continue
        # A message may name any subset of the joints: NaN only says that it did not name this one.
        named = ~np.isnan(values)
        if np.count_nonzero(named) < 9:
            continue
        raw = TimeSeries.from_nanoseconds(
            columns.stamps_ns[named],
            values[named],
            (name,),
            (unit or ('m' if name.startswith(_LENGTHS) else 'rad'),),
            epoch_ns=epoch,
            label=f'{columns.topic} {name}',
        )
        result[name], report = clean(raw, signal='smooth')
        reports.append(report)
    return result


def sensor_pose(sensor: Sensor, recording: CarRecording) -> tuple[Sensor, str]:
    """The sensor with its pose: the configuration wins, then /tf_static, then zero."""
    if sensor.pose_given:
        return sensor, 'configuration'
    frames, frame = recording.frames, clean_frame(sensor.frame)
    if frame != BASE and frames.connected(BASE, frame):
        pose = frames.lookup(BASE, frame)
        rpy = rpy_of_matrix(pose.matrix)
        return replace(sensor, position=pose.translation, rpy=rpy), '/tf_static'
    if frame in frames.refused:
        raise CarRecordingError(frames.refused[frame])
    return sensor, 'default (base_link origin)'


class Recordings:
    """Recordings one after the other, read when their turn comes: one bag is in memory."""

    def __init__(
        self,
        given: Sequence[str | Path | CarRecording],
        configuration: CarDescription,
        progress: Progress | None = None,
    ) -> None:
        self.given, self.configuration, self.progress = given, configuration, progress
        self._newest: CarRecording | None = None

    @property
    def newest(self) -> CarRecording:
        """The one that was handed out last."""
        assert self._newest is not None, 'nothing was read yet'
        return self._newest

    def __iter__(self) -> Iterator[CarRecording]:
        for one in self.given:
            self._newest = None  # the one before is forgotten first
            self._newest = (
                one
                if isinstance(one, CarRecording)
                else read_recording(one, self.configuration, self.progress)
            )
            yield self._newest
