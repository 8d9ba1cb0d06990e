"""A road car that owes nothing to the observed model: it rolls without slip, planar, on a hill."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter

EPOCH = 1_700_000_000_000_000_000
DATUM = (37.6, -122.4, 80.0)
WHEELBASE, HALF_TRACK, RADIUS, RATIO = 2.70, 0.77, 0.33, 15.0
IMU, ANTENNA = np.array([1.2, 0.0, 0.5]), np.array([1.2, 0.0, 1.2])
GYRO_BIAS = np.array([-0.02, 0.03, 0.07])
# the wheels of this car do not slip when it speeds up
CONFIG = f"""base: road_car.yaml
datum: {list(DATUM)}
tyre: {{longitudinal: 1000.0}}
sensors:
  gps: {{velocity_delay: 0.14, velocity_delay_deviation: 0.0}}
"""


@dataclass(frozen=True)
class Drive:
    """Speed and steering over time at the rear axle, at 1 kHz, and where it goes."""

    time: np.ndarray
    speed: np.ndarray
    steer: np.ndarray
    yaw: np.ndarray
    place: np.ndarray  # (N, 3) of base_link

    @property
    def yaw_rate(self) -> np.ndarray:
        return self.speed * np.tan(self.steer) / WHEELBASE


def drive(seconds: float, speed, steer, yaw: float) -> Drive:
    """`speed(t)` and `steer(t)` may be any functions of an array of times."""
    time = np.arange(0.0, seconds, 1e-3)
    v, d = speed(time) + 0.0 * time, steer(time) + 0.0 * time
    heading = yaw + np.concatenate([[0.0], np.cumsum(v * np.tan(d) / WHEELBASE)[:-1] * 1e-3])
    slope = 0.03 * np.sin(time / 5.0)
    rates = np.stack([v * np.cos(heading), v * np.sin(heading), v * slope], axis=1)
    place = np.vstack([np.zeros(3), np.cumsum(rates, axis=0)[:-1] * 1e-3])
    return Drive(time, v, d, heading, place + [0.0, 0.0, RADIUS])


def _antenna(d: Drive, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity (n, 3), (n, 2) of the antenna."""
    co, si = np.cos(d.yaw[k]), np.sin(d.yaw[k])
    place = d.place[k] + np.stack([ANTENNA[0] * co, ANTENNA[0] * si, 0.0 * co + ANTENNA[2]], 1)
    v, swing = d.speed[k], d.yaw_rate[k] * ANTENNA[0]
    return place, np.stack([v * co - swing * si, v * si + swing * co], axis=1)


def _imu(d: Drive, rng: np.random.Generator):
    k = np.arange(3, d.time.size, 10)
    acceleration = np.gradient(d.speed, 1e-3)[k]
    slope = 0.03 * np.sin(d.time[k] / 5.0)
    force = np.stack(
        [
            acceleration + 9.80665 * slope - d.yaw_rate[k] ** 2 * IMU[0],
            d.speed[k] * d.yaw_rate[k] + np.gradient(d.yaw_rate, 1e-3)[k] * IMU[0],
            np.full(k.size, 9.80665),
        ],
        axis=1,
    ) + 0.2 * rng.standard_normal((k.size, 3))
    rates = np.zeros((k.size, 3))
    rates[:, 2] = d.yaw_rate[k]
    rates += GYRO_BIAS + 0.005 * rng.standard_normal(rates.shape)
    for i, index in enumerate(k):
        stamp = EPOCH + round(d.time[index] * 1e9)
        yield (
            stamp,
            'imu/data',
            messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(stamp, 'imu_link'),
                orientation_covariance=[-1.0] + [0.0] * 8,
                angular_velocity=rates[i],
                linear_acceleration=force[i],
            ),
        )


def wheel_speeds(d: Drive, radius: float) -> np.ndarray:
    """Speeds (N, 4) [rad/s] of wheels that roll without slip."""
    rate, columns = d.yaw_rate, []
    for x, y in (
        (WHEELBASE, HALF_TRACK),
        (WHEELBASE, -HALF_TRACK),
        (0.0, HALF_TRACK),
        (0.0, -HALF_TRACK),
    ):
        along, across = d.speed - rate * y, rate * x
        steer = d.steer if x > 0.0 else 0.0
        columns.append((along * np.cos(steer) + across * np.sin(steer)) / radius)
    return np.stack(columns, axis=1)


def _joints(d: Drive, radius: float, angles: bool):
    speeds = wheel_speeds(d, radius)
    turned = np.cumsum(speeds, axis=0) * 1e-3 + 100.0
    names = [f'wheel_{c}' for c in ('fl', 'fr', 'rl', 'rr')]
    for k in range(7, d.time.size, 12):
        stamp = EPOCH + round(d.time[k] * 1e9)
        values = {'position': turned[k]} if angles else {'velocity': speeds[k]}
        yield (
            stamp,
            'joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                **values,
            ),
        )
        yield (
            stamp,
            'joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=['steering_wheel'],
                position=[d.steer[k] * RATIO],
            ),
        )


def _gps(d: Drive, rng: np.random.Generator, silent: list[tuple[float, float]], late: float):
    frame = LocalFrame(Datum(*DATUM))
    k = np.arange(50, d.time.size, 100)
    place = _antenna(d, k)[0] + [0.4, -0.3, 1.0] + 0.3 * rng.standard_normal((k.size, 3))
    velocity = _antenna(d, np.maximum(k - round(late * 1000), 0))[1]
    velocity = velocity + 0.1 * rng.standard_normal(velocity.shape)
    for i, index in enumerate(k):
        t = d.time[index]
        if any(a <= t < b for a, b in silent):
            continue
        stamp = EPOCH + round(t * 1e9)
        latitude, longitude, altitude = frame.to_geodetic(*place[i])
        yield (
            stamp,
            'gps/fix',
            messages.new(
                'sensor_msgs/msg/NavSatFix',
                header=messages.header(stamp, 'gps_link'),
                status={'status': 0, 'service': 1},
                latitude=latitude,
                longitude=longitude,
                altitude=altitude,
                position_covariance=np.eye(3).ravel(),
                position_covariance_type=2,
            ),
        )
        yield (
            stamp,
            'gps/vel',
            messages.new(
                'geometry_msgs/msg/TwistStamped',
                header=messages.header(stamp, 'gps_link'),
                twist={'linear': (*velocity[i], 0.0)},
            ),
        )


def _truth(d: Drive):
    for k in range(0, d.time.size, 20):
        stamp = EPOCH + round(d.time[k] * 1e9)
        yield (
            stamp,
            'truth/odom',
            messages.new(
                'nav_msgs/msg/Odometry',
                header=messages.header(stamp, 'odom'),
                child_frame_id='base_link',
                pose={
                    'pose': {
                        'position': d.place[k],
                        'orientation': (0.0, 0.0, np.sin(d.yaw[k] / 2), np.cos(d.yaw[k] / 2)),
                    }
                },
                twist={
                    'twist': {
                        'linear': (d.speed[k], 0.0, 0.0),
                        'angular': (0.0, 0.0, d.yaw_rate[k]),
                    }
                },
            ),
        )


def write(
    bag: Path,
    d: Drive,
    *,
    seed: int = 0,
    silent: list[tuple[float, float]] | None = None,
    radius: float = 1.009 * RADIUS,
    late: float = 0.14,
    angles: bool = False,
) -> Path:
    """A recording of the drive; `silent`: spans without satellites [s]."""
    rng = np.random.default_rng(seed)
    items = [
        *_imu(d, rng),
        *_joints(d, radius, angles),
        *_gps(d, rng, silent or [], late),
        *_truth(d),
    ]
    items.sort(key=lambda item: item[:2])
    with BagWriter(bag) as writer:
        for stamp, topic, message in items:
            writer.write_message(topic, message, stamp)
    return bag
