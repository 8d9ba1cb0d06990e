"""A whole drive: a car, a road, a driver, sensors and faults by a seed; and its bag."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import UsageError
from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.road_car.car import CORNERS, RoadCar, draw_car
from veh_identification.simulation.road_car.faults import Faults, faults_of
from veh_identification.simulation.road_car.road import draw_path, draw_waves, draw_wind
from veh_identification.simulation.road_car.run import Record, Task, WheelEvent, simulate
from veh_identification.simulation.road_car.sensors import (
    Drawn,
    Sensors,
    Stream,
    draw_errors,
    sensor_streams,
)
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.types import Array, Progress

#: Origin of odom; `config/road_drive.yaml` gives the same.
DATUM = Datum(48.1, 11.5, 520.0)
TRUTH_RATE = 100.0
FASTEST = 28.0  # [m/s], for the length of the path
Message = tuple[int, int, str, Any]


@dataclass(frozen=True, eq=False)
class RoadDrive:
    """What happened and what the sensors showed of it."""

    seed: int
    duration: float
    faults: Faults
    sensors: Sensors  # as configured
    drawn: Drawn  # as they really are
    record: Record
    streams: tuple[Stream, ...]

    @property
    def car(self) -> RoadCar:
        """The car as it really is."""
        return self.record.car

    def sensed_again(self, faults: Sequence[str] | Faults, duration: float) -> RoadDrive:
        """The same motion through other faults of sensors and recording, up to a time."""
        wrong, old = faults_of(faults), self.faults
        for name in ('slipping', 'heading', 'distance'):
            if getattr(wrong, name) != getattr(old, name):
                raise UsageError(f'{name} changes the motion: it needs a drive of its own')
        if duration > self.record.time[-1] + 1e-6:
            raise UsageError(f'the drive lasts {self.record.time[-1]:g} s, not {duration:g} s')
        drawn = draw_errors(self.sensors, wrong, self.seed)
        streams = sensor_streams(self.record, self.sensors, wrong, drawn, duration, self.seed)
        return replace(self, duration=duration, faults=wrong, drawn=drawn, streams=tuple(streams))

    def truth(self) -> dict[str, Array]:
        """Columns at 100 Hz: time, x, y, z, vx, vy, vz (odom), roll, pitch, yaw, yaw_rate."""
        record, chosen = self.record, self.truth_rows()
        yaw, pitch, roll = Rotation.from_matrix(record.rotation[chosen]).as_euler('ZYX').T
        columns = {'time': record.time[chosen], 'roll': roll, 'pitch': pitch}
        columns['yaw'] = np.unwrap(yaw)
        columns['yaw_rate'] = record.rates[chosen, 2]
        for k, axis in enumerate('xyz'):
            columns[axis] = record.position[chosen, k]
            columns[f'v{axis}'] = record.velocity[chosen, k]
        return columns

    def truth_rows(self) -> slice:
        """Rows of the record at which the truth is written."""
        step = round((self.record.time[1] * TRUTH_RATE) ** -1)
        last = round(self.duration * TRUTH_RATE) * step + 1
        return slice(round(self.faults.skip * TRUTH_RATE) * step, last, step)

    def summary(self) -> dict[str, Any]:
        """For truth.json."""
        return {
            'car': asdict(self.car),
            'parameters': self.car.handling(),
            'tyres': self.car.tyres(),
            'faults': asdict(self.faults),
            'sensors': asdict(self.sensors),
            'drawn': {name: np.asarray(v).tolist() for name, v in asdict(self.drawn).items()},
            'wheel_events': [None if np.isnan(t) else t for t in self.record.events],
            'datum': [DATUM.latitude, DATUM.longitude, DATUM.altitude],
            'way': float(
                np.sum(np.linalg.norm(np.diff(self.record.position[::10], axis=0), axis=1))
            ),
        }

    def write(
        self,
        writer: BagWriter,
        progress: Progress = lambda done, total: None,
        truth: bool = True,
    ) -> dict[str, Any]:
        """All messages into a bag in order of arrival; returns what goes to truth.json.

        Without `truth` nothing in the bag tells an estimator how wrong it is.
        """
        begin = EPOCH_NS + round(self.faults.skip * 1e9)
        writer.write_message('/tf_static', _static(self.sensors, begin), begin)
        spoken = -1
        makers = [_messages(k, one, self) for k, one in enumerate(self.streams)]
        if truth:
            makers.append(_truth(self))
        for logged, _, topic, message in heapq.merge(*makers, key=lambda item: item[:2]):
            writer.write_message(topic, message, logged)
            second = (logged - EPOCH_NS) // 1_000_000_000
            if second > spoken:
                spoken = second
                progress(min(second, round(self.duration)), round(self.duration))
        return self.summary()


def _events(faults: Faults, duration: float) -> tuple[WheelEvent, ...]:
    if not faults.slipping:
        return ()
    times = np.arange(faults.fault_time, duration, faults.fault_period).tolist()
    return tuple(
        WheelEvent(
            time, faults.slip_duration, faults.slipping, faults.slip_factor, faults.slip_grip
        )
        for time in times
    )


def drive(
    seed: int,
    faults: Sequence[str] | Faults = (),
    *,
    duration: float = 120.0,
    noise: float = 1.0,
    sensors: Sensors | None = None,
    car: RoadCar | None = None,
) -> RoadDrive:
    """Town and country with a car that differs from the configured one; all by the seed.

    `faults` are names of the catalogue (`faults.CATALOGUE`) or a `Faults`; they change nothing of
    the random numbers of what they leave alone.
    """
    wrong = faults_of(faults)
    random = np.random.default_rng([seed, 100])
    away, direction = random.uniform(3.0, 30.0), random.uniform(0.0, 2 * np.pi)
    heading = random.uniform(-np.pi, np.pi)
    away = away if wrong.distance is None else wrong.distance
    heading = heading if wrong.heading is None else wrong.heading
    start = (away * np.cos(direction), away * np.sin(direction), heading)
    record = simulate(
        draw_car(seed, min(noise, 1.0)) if car is None else car,
        Task(
            draw_path(seed, FASTEST * duration + 200.0, start),
            start=start,
            events=_events(wrong, duration),
        ),
        duration,
        draw_waves(seed, roughness=min(noise, 1.0)),
        draw_wind(seed, duration, min(noise, 1.0)),
    )
    installed = (sensors or Sensors()).scaled(noise)
    drawn = draw_errors(installed, wrong, seed)
    streams = sensor_streams(record, installed, wrong, drawn, duration, seed)
    return RoadDrive(seed, duration, wrong, installed, drawn, record, tuple(streams))


def write(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """`road-drive`."""
    return drive(seed, faults, duration=duration, noise=noise).write(writer, progress)


def _static(sensors: Sensors, stamp: int) -> Any:
    places = {'imu_link': sensors.imu_position, 'gps_link': sensors.antenna_position}
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(stamp, 'base_link'),
                'child_frame_id': name,
                'transform': {'translation': place, 'rotation': (0.0, 0.0, 0.0, 1.0)},
            }
            for name, place in places.items()
        ],
    )


def _messages(order: int, stream: Stream, drive: RoadDrive) -> Iterator[Message]:
    make = {
        'imu/data': _imu,
        'gps/fix': _fix,
        'gps/vel': _velocity,
        'wrench': _wrench,
        'corners': _corners,
        'correvit/velocity': _speed,
        'joint_states': _wheel_speeds if drive.faults.speeds else _joints,
    }[stream.kind or stream.topic]
    stamps = EPOCH_NS + np.round(stream.stamps * 1e9).astype(np.int64)
    arrived = EPOCH_NS + np.round(stream.arrived * 1e9).astype(np.int64)
    made = make(stamps.tolist(), stream.values, drive.sensors)
    for logged, message in zip(arrived.tolist(), made, strict=True):
        yield logged, order, stream.topic, message


def _imu(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    deviations = (sensors.gyro_noise, sensors.accelerometer_noise)
    covariances = [np.eye(3).ravel() * max(d, 1e-6) ** 2 for d in deviations]
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'sensor_msgs/msg/Imu',
            header=messages.header(stamp, 'imu_link'),
            orientation_covariance=[-1.0] + [0.0] * 8,
            angular_velocity=row[:3],
            angular_velocity_covariance=covariances[0],
            linear_acceleration=row[3:],
            linear_acceleration_covariance=covariances[1],
        )


def _fix(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    frame = LocalFrame(DATUM)
    slow = sensors.fix_drift * np.array([1.0, 1.0, 2.0])
    covariance = np.diag(np.maximum(np.square(sensors.fix_noise) + slow**2, 1e-8)).ravel()
    for stamp, place in zip(stamps, values, strict=True):
        latitude, longitude, altitude = frame.to_geodetic(*place)
        yield messages.new(
            'sensor_msgs/msg/NavSatFix',
            header=messages.header(stamp, 'gps_link'),
            status={'status': 2 if sensors.fix_drift == 0.0 else 0, 'service': 1},
            latitude=latitude,
            longitude=longitude,
            altitude=altitude,
            position_covariance=covariance,
            position_covariance_type=2,
        )


def _velocity(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    for stamp, vector in zip(stamps, values, strict=True):
        yield messages.new(
            'geometry_msgs/msg/TwistStamped',
            header=messages.header(stamp, 'odom'),
            twist={'linear': vector},
        )


def _joints(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    names = [*(f'wheel_{corner}' for corner in CORNERS), 'steering_wheel']
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, ''),
            name=names,
            position=row[:5],
            effort=[*row[5:], *([float('nan')] if len(row) > 5 else [])],
        )


def _corners(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    names = [*(f'suspension_{corner}' for corner in CORNERS), 'steering_fl', 'steering_fr']
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, ''),
            name=names,
            position=row,
        )


def _wrench(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'geometry_msgs/msg/WrenchStamped',
            header=messages.header(stamp, 'hub'),
            wrench={'force': row[:3], 'torque': row[3:]},
        )


def _speed(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'geometry_msgs/msg/TwistStamped',
            header=messages.header(stamp, 'base_link'),
            twist={'linear': (row[0], row[1], 0.0)},
        )


def _wheel_speeds(stamps: list[int], values: Array, sensors: Sensors) -> Iterator[Any]:
    """Wheels without angles, the steering wheel without a speed: what is not known is NaN."""
    names = [f'wheel_{corner}' for corner in CORNERS]
    nan = float('nan')
    for stamp, row in zip(stamps, values, strict=True):
        yield messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, ''),
            name=[*names, 'steering_wheel'],
            position=[nan, nan, nan, nan, row[4]],
            velocity=[*row[:4], nan],
            effort=[*row[5:], *([nan] if len(row) > 5 else [])],
        )


def _truth(one: RoadDrive) -> Iterator[Message]:
    """truth/odom and truth/joint_states; wheel angles as a sensor without faults counts them."""
    record, chosen = one.record, one.truth_rows()
    rotations = record.rotation[chosen]
    quaternions = Rotation.from_matrix(rotations).as_quat()
    velocity = np.einsum('nji,nj->ni', rotations, record.velocity[chosen])
    names = [
        *(f'wheel_{corner}' for corner in CORNERS),
        *(f'suspension_{corner}' for corner in CORNERS),
        'steering',
    ]
    positions = np.hstack(
        [
            record.wheel[chosen] + one.faults.wheel_start,
            record.travel[chosen],
            record.steer[chosen, None],
        ]
    )
    rates = np.pad(record.wheel_rate[chosen], ((0, 0), (0, 5)))
    stamps = EPOCH_NS + np.round(record.time[chosen] * 1e9).astype(np.int64)
    for k, stamp in enumerate(stamps.tolist()):
        yield (
            stamp,
            90,
            'truth/odom',
            messages.new(
                'nav_msgs/msg/Odometry',
                header=messages.header(stamp, 'odom'),
                child_frame_id='base_link',
                pose={
                    'pose': {
                        'position': record.position[chosen][k],
                        'orientation': quaternions[k],
                    }
                },
                twist={'twist': {'linear': velocity[k], 'angular': record.rates[chosen][k]}},
            ),
        )
        yield (
            stamp,
            91,
            'truth/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                position=positions[k],
                velocity=rates[k],
            ),
        )
