"""Sensors on the exact car: own rates and stamps, mounting, and noise that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.exact.motion import ExactCar, ExactState
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import WRENCH_CHANNELS, CarRecording
from veh_identification.types import Array

EPOCH_NS = 1_700_000_000_000_000_000
JOINTS = tuple(
    f'{kind}_{corner}' for kind in ('suspension', 'steering', 'wheel') for corner in CORNERS
)


@dataclass(frozen=True)
class ExactSensors:
    """Rates in Hz, first stamps in s, and noise as standard deviation per sample."""

    imu_rate: float = 100.0
    joint_rate: float = 200.0
    wrench_rate: float = 200.0
    speed_rate: float = 100.0
    height_rate: float = 100.0
    gyro_noise: float = 0.0
    accelerometer_noise: float = 0.0
    travel_noise: float = 0.0
    steering_noise: float = 0.0
    force_noise: float = 0.0
    moment_noise: float = 0.0
    speed_noise: float = 0.0
    height_noise: float = 0.0

    @staticmethod
    def noisy(factor: float = 1.0) -> ExactSensors:
        """Noise of the class of instruments of Venture 2006, section V.A."""
        return ExactSensors(
            gyro_noise=0.0015 * factor,
            accelerometer_noise=0.03 * factor,
            travel_noise=2e-4 * factor,
            steering_noise=5e-4 * factor,
            force_noise=20.0 * factor,
            moment_noise=5.0 * factor,
            speed_noise=0.03 * factor,
            height_noise=5e-4 * factor,
        )


def exact_recording(
    car: ExactCar,
    duration: float,
    sensors: ExactSensors | None = None,
    noise_seed: int = 0,
    label: str = 'exact car',
) -> CarRecording:
    """All sensors of the contract's topics as time series."""
    sensors = sensors or ExactSensors()
    generator = np.random.default_rng([noise_seed, 99])
    configuration = car.configuration

    def sample(rate: float, phase: float) -> tuple[Array, ExactState]:
        t = np.arange(phase, duration, 1.0 / rate)
        # Stamps are nanoseconds; the car is evaluated at exactly those times.
        t = np.round(t * 1e9) / 1e9
        return t, car.at(t)

    def noise(shape: tuple[int, ...], sigma: float) -> Array:
        return sigma * generator.standard_normal(shape)

    def series(t: Array, values: Array, names: tuple[str, ...], label: str) -> TimeSeries:
        return TimeSeries(t, values, names, ('',) * len(names), EPOCH_NS, label)

    t, state = sample(sensors.imu_rate, 0.0003)
    gyro, accelerometer = _imu(state, configuration)
    imu = series(
        t,
        np.hstack(
            [
                gyro + noise(gyro.shape, sensors.gyro_noise),
                accelerometer + noise(gyro.shape, sensors.accelerometer_noise),
            ]
        ),
        ('wx', 'wy', 'wz', 'fx', 'fy', 'fz'),
        '/imu/data',
    )
    t, state = sample(sensors.speed_rate, 0.0047)
    carried = np.cross(state.body.angular_velocity, np.array(configuration.sensors.speed.position))
    seen = (state.body.velocity + carried)[:, :2]
    speed = series(
        t, seen + noise(seen.shape, sensors.speed_noise), ('vx', 'vy'), '/correvit/velocity'
    )
    t, state = sample(sensors.joint_rate, 0.0021)
    columns = np.hstack(
        [
            state.travel
            - np.array(configuration.geometry.suspension_zero)
            + noise(state.travel.shape, sensors.travel_noise),
            state.steering + noise(state.travel.shape, sensors.steering_noise),
            state.wheel_angle,
        ]
    )
    joints = {
        name: series(t, columns[:, k], (name,), f'/joint_states {name}')
        for k, name in enumerate(JOINTS)
    }
    wrenches = {}
    for j, corner in enumerate(CORNERS):
        t, state = sample(sensors.wrench_rate, 0.0011 + 0.0007 * j)
        wrench = state.wrench[:, j].copy()
        wrench[:, :3] += noise((len(t), 3), sensors.force_noise)
        wrench[:, 3:] += noise((len(t), 3), sensors.moment_noise)
        wrenches[corner] = series(t, wrench, WRENCH_CHANNELS, f'/wheel_{corner}/wrench')
    t, state = sample(sensors.height_rate, 0.0061)
    heights = {
        corner: series(
            t,
            _height(state, configuration, j) + noise((len(t),), sensors.height_noise),
            ('height',),
            f'/ride_height_{corner}',
        )
        for j, corner in enumerate(CORNERS)
    }
    return CarRecording(label, imu, speed, joints, wrenches, heights)


def _imu(state: ExactState, configuration: CarDescription) -> tuple[Array, Array]:
    sensor = configuration.sensors.imu
    arm, turn = np.array(sensor.position), sensor.matrix
    omega, alpha = state.body.angular_velocity, state.body.angular_acceleration
    specific = state.specific_force + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    return omega @ turn, specific @ turn  # R^T v for every row v


def _height(state: ExactState, configuration: CarDescription, j: int) -> Array:
    """Height of a body corner above the road along the world's vertical."""
    geometry = configuration.geometry
    corner = np.array([geometry.wheel_x[j], geometry.wheel_y[j], 0.0])
    return geometry.wheel_radius + (state.body.rotation @ corner)[:, 2]
