"""What a test car adds: wheel forces, travel, angles of the front wheels, an optical speed sensor.

The wrench is what a wheel exerts on its hub carrier at the wheel centre, in axes that turn with
the steering: the force of the road less the inertia of what is beyond the sensor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.simulation.road_car.car import CORNERS, GRAVITY
from veh_identification.simulation.road_car.run import Record, ackermann
from veh_identification.types import Array


@dataclass(frozen=True)
class WheelSensors:
    """Rates, noise, and deviations of errors that last for the whole drive."""

    force_rate: float = 200.0
    force_noise: float = 12.0  # [N]
    moment_noise: float = 3.0  # [N m]
    force_offset: float = 4.0
    moment_offset: float = 1.5
    joint_rate: float = 200.0
    travel_noise: float = 1e-4  # [m]
    travel_offset: float = 3e-4
    steering_noise: float = 3e-4  # of the lasers at the front wheels [rad]
    steering_offset: float = 1e-3
    speed_rate: float = 100.0
    speed_noise: float = 0.02  # [m/s]
    speed_yaw: float = 2e-3  # by which the optical sensor is turned [rad]


#: Topic, rate, exact columns at the rate of the record, noise and lasting error of each column.
Signal = tuple[str, float, Array, Array, Array]


def wheel_signals(
    record: Record, sensors: WheelSensors, noise: float, random: np.random.Generator
) -> list[Signal]:
    """The signals of all these sensors; `noise` scales every error."""
    groups = np.repeat([0, 1], 3)
    spread = noise * np.array([sensors.force_noise, sensors.moment_noise])[groups]
    lasting = noise * np.array([sensors.force_offset, sensors.moment_offset])[groups]
    wrench = hub_wrenches(record)
    found: list[Signal] = [
        (
            f'wheel_{corner}/wrench',
            sensors.force_rate,
            wrench[:, i],
            spread,
            lasting * random.standard_normal(6),
        )
        for i, corner in enumerate(CORNERS)
    ]
    kinds = np.repeat([0, 1], [4, 2])
    spread = noise * np.array([sensors.travel_noise, sensors.steering_noise])[kinds]
    lasting = noise * np.array([sensors.travel_offset, sensors.steering_offset])[kinds]
    joints = np.hstack([record.travel, front_angles(record)])
    found.append(
        (
            'joint_states',
            sensors.joint_rate,
            joints,
            spread,
            lasting * random.standard_normal(6),
        )
    )
    turned = noise * sensors.speed_yaw * random.standard_normal()
    velocity = np.einsum('nij,ni->nj', record.rotation, record.velocity)
    along = velocity[:, 0] + turned * velocity[:, 1]
    across = velocity[:, 1] - turned * velocity[:, 0]
    found.append(
        (
            'correvit/velocity',
            sensors.speed_rate,
            np.column_stack([along, across]),
            np.full(2, noise * sensors.speed_noise),
            np.zeros(2),
        )
    )
    return found


def front_angles(record: Record) -> Array:
    """Angles (N, 2) of the front wheels."""
    car, angles = record.car, np.empty((len(record.table), 2))
    par, four = np.array([car.wheelbase, car.half_track_front]), np.zeros(4)
    for n, mean in enumerate(record.steer.tolist()):
        ackermann(par, mean, four)
        angles[n] = four[:2]
    return angles


def hub_wrenches(record: Record) -> Array:
    """Exact wrenches (N, 4, 6) in hub axes at the wheel centres."""
    car, omega, alpha = record.car, record.rates, record.angular_acceleration
    up = np.array([0.0, 0.0, 1.0])
    gravity = GRAVITY * record.rotation[:, 2, :]
    front, result = front_angles(record), np.empty((len(record.table), 4, 6))
    for i in range(4):
        place = np.zeros((len(omega), 3))
        place[:, 0] = car.wheelbase if i < 2 else 0.0
        half = car.half_track_front if i < 2 else car.half_track_rear
        place[:, 1] = half if i % 2 == 0 else -half
        place[:, 2] = record.travel[:, i]
        sliding = record.travel_rate[:, [i]] * up
        felt = (
            record.acceleration
            + np.cross(alpha, place)
            + np.cross(omega, np.cross(omega, place) + 2.0 * sliding)
            + record.travel_acceleration[:, [i]] * up
            + gravity
        )
        angle = front[:, i] if i < 2 else np.zeros(len(omega))
        c, s = np.cos(angle), np.sin(angle)
        axis = np.column_stack([-s, c, np.zeros(len(c))])
        force = record.contact[:, i, :3] - car.wheel_mass * felt
        moment = record.contact[:, i, 3:] - car.spin_inertia * (
            record.spin_rate[:, [i]] * axis + record.wheel_rate[:, [i]] * np.cross(omega, axis)
        )
        for k, one in enumerate((force, moment)):
            result[:, i, 3 * k] = c * one[:, 0] + s * one[:, 1]
            result[:, i, 3 * k + 1] = -s * one[:, 0] + c * one[:, 1]
            result[:, i, 3 * k + 2] = one[:, 2]
    return result
