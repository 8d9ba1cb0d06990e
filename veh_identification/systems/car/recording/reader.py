"""The sensor signals of a car as plain time series, from a bag in the format of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.errors import BagError, InputError
from veh_identification.runtime.bags import BagReader, Columns, columns_of
from veh_identification.signals import SampleReport, TimeSeries, clean
from veh_identification.systems.car.configuration import CarConfiguration, Sensor
from veh_identification.systems.car.parameters import CORNERS

IMU_PATHS = [
    f'{field}.{axis}' for field in ('angular_velocity', 'linear_acceleration') for axis in 'xyz'
]
WRENCH_PATHS = [f'wrench.{field}.{axis}' for field in ('force', 'torque') for axis in 'xyz']
WRENCH_CHANNELS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
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
    poses: Mapping[str, tuple[tuple[float, float, float], Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def joint(self, kind: str, corner: str) -> TimeSeries | None:
        """Series of one joint, None if the recording does not hold it."""
        return self.joints.get(f'{kind}_{corner}')


def read_recording(
    bag: str | Path,
    configuration: CarConfiguration,
    progress: Callable[[int, int], None] | None = None,
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
            wanted[topics['joints']] = ['position']
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
        columns = columns_of(reader, wanted)
        poses = _static_poses(reader, topics['tf_static']) if there('tf_static') else {}
    return _build(str(bag), columns, topics, poses)


def _build(
    label: str, columns: Mapping[str, Columns], topics: Mapping[str, str], poses: Mapping[str, Any]
) -> CarRecording:
    stamps = [one.stamps_ns[one.stamps_ns > 0] for one in columns.values()]
    epoch = int(min((s.min() for s in stamps if len(s)), default=0))
    reports: list[SampleReport] = []

    def series(
        key: str, paths: Sequence[str], names: Sequence[str], units: Sequence[str]
    ) -> TimeSeries | None:
        found = columns.get(topics[key])
        if found is None:
            return None
        raw = TimeSeries.from_nanoseconds(
            found.stamps_ns, found.matrix(*paths), names, units, epoch_ns=epoch, label=found.topic
        )
        tidy, report = clean(raw)
        reports.append(report)
        return tidy if len(tidy) > 8 else None

    imu = series(
        'imu', IMU_PATHS, ('wx', 'wy', 'wz', 'fx', 'fy', 'fz'), ('rad/s',) * 3 + ('m/s^2',) * 3
    )
    speed = series('speed', ['twist.linear.x', 'twist.linear.y'], ('vx', 'vy'), ('m/s',) * 2)
    wrenches, heights = {}, {}
    for corner in CORNERS:
        one = series(f'wrench_{corner}', WRENCH_PATHS, WRENCH_CHANNELS, ('N',) * 3 + ('N m',) * 3)
        if one is not None:
            wrenches[corner] = one
        height = series(f'ride_height_{corner}', ['range'], ('height',), ('m',))
        if height is not None:
            heights[corner] = height
    joints = columns.get(topics['joints'])
    return CarRecording(
        label,
        imu,
        speed,
        {} if joints is None else _joints(joints, epoch, reports),
        wrenches,
        heights,
        tuple(reports),
        poses,
    )


def _joints(columns: Columns, epoch: int, reports: list[SampleReport]) -> dict[str, TimeSeries]:
    """One clean series for each joint of the car that the messages name."""
    result: dict[str, TimeSeries] = {}
    known = {f'{kind}_{corner}' for kind in JOINT_KINDS for corner in CORNERS}
    for path, values in columns.values.items():
        name = path.partition('[')[2].rstrip(']')
        if name not in known:
            continue
        # A message may name any subset of the joints: NaN only says that it did not name this one.
        named = ~np.isnan(values)
        if np.count_nonzero(named) < 9:
            continue
        raw = TimeSeries.from_nanoseconds(
            columns.stamps_ns[named],
            values[named],
            (name,),
            ('m' if name.startswith(('susp', 'half', 'wheelbase', 'tyre')) else 'rad',),
            epoch_ns=epoch,
            label=f'{columns.topic} {name}',
        )
        result[name], report = clean(raw)
        reports.append(report)
    return result


def _static_poses(reader: BagReader, topic: str) -> dict[str, Any]:
    """Pose in base_link of every frame that /tf_static joins to it, by frame name."""
    edges: dict[str, tuple[str, NDArray[np.float64], Rotation]] = {}
    for message in reader.messages([topic]):
        for one in message.message.transforms:
            t, r = one.transform.translation, one.transform.rotation
            quaternion = np.array([r.x, r.y, r.z, r.w])
            if not np.linalg.norm(quaternion) > 0.0:
                raise BagError(
                    f'{reader.named}, topic {topic}: the transform to '
                    f'{one.child_frame_id} has a zero quaternion'
                )
            edges[one.child_frame_id.lstrip('/')] = (
                one.header.frame_id.lstrip('/'),
                np.array([t.x, t.y, t.z]),
                Rotation.from_quat(quaternion),
            )
    poses: dict[str, Any] = {}
    for frame in edges:
        position, rotation, current = np.zeros(3), Rotation.identity(), frame
        for _ in range(len(edges) + 1):
            if current == 'base_link':
                matrix = rotation.as_matrix()
                poses[frame] = (
                    (float(position[0]), float(position[1]), float(position[2])),
                    tuple(tuple(float(v) for v in row) for row in matrix),
                )
                break
            if current not in edges:
                break
            current, translation, turn = edges[current]
            position, rotation = translation + turn.apply(position), turn * rotation
    return poses


def sensor_pose(sensor: Sensor, recording: CarRecording) -> tuple[Sensor, str]:
    """The sensor with its pose: the configuration wins, then /tf_static, then zero."""
    if sensor.pose_given:
        return sensor, 'configuration'
    if sensor.frame in recording.poses:
        position, rotation = recording.poses[sensor.frame]
        return replace(sensor, position=position, rotation=rotation), '/tf_static'
    return sensor, 'default (base_link origin)'


class Recordings:
    """Bags read one after the other, so that only one is in memory; `last` stays."""

    def __init__(
        self,
        bags: Sequence[str | Path],
        configuration: CarConfiguration,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.bags, self.configuration, self.progress = bags, configuration, progress
        self.last: CarRecording | None = None

    def __iter__(self) -> Iterator[CarRecording]:
        for bag in self.bags:
            self.last = None
            self.last = read_recording(bag, self.configuration, self.progress)
            yield self.last
