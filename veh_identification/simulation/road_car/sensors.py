"""What the sensors of the road car show: own rates, noise, places, delays, stamps and faults."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.orientations import matrix_of_rpy
from veh_identification.simulation.road_car.car import GRAVITY
from veh_identification.simulation.road_car.faults import Faults
from veh_identification.simulation.road_car.run import RATE, Record
from veh_identification.simulation.road_car.wheel_sensors import WheelSensors, wheel_signals
from veh_identification.types import Array

Place = tuple[float, float, float]


@dataclass(frozen=True)
class Sensors:
    """Rates, noise and places as the configuration believes them; deviations of what is drawn."""

    imu_rate: float = 100.0
    joint_rate: float = 100.0
    gnss_rate: float = 10.0
    gyro_noise: float = 0.002  # [rad/s]
    accelerometer_noise: float = 0.06  # [m/s^2]
    gyro_bias: float = 0.0005
    accelerometer_bias: float = 0.02
    mounting: float = 0.004  # error of the angles of the IMU [rad]
    place_error: float = 0.005  # of IMU and antenna [m]
    imu_position: Place = (1.2, 0.0, 0.5)
    antenna_position: Place = (1.2, 0.0, 1.2)
    fix_noise: Place = (0.02, 0.02, 0.04)
    fix_drift: float = 0.0  # slow error of fixes [m], over `drift_time`; twice as much in height
    drift_time: float = 60.0
    velocity_noise: float = 0.05
    ticks: int = 2048  # of a wheel encoder per turn
    wheel_speed_noise: float = 0.05  # [rad/s], where speeds are told instead of angles
    steering_noise: float = 0.005  # of the steering wheel [rad]
    torque_noise: float = 5.0  # of the drive torque of a wheel [N m]
    latency: float = 0.0012  # longest way to the recorder [s]
    wheels: WheelSensors = WheelSensors()  # of a test car
    scale: float = 1.0  # of all errors against the data sheet

    def scaled(self, noise: float) -> Sensors:
        """All errors multiplied by `noise`; without any the encoders count without steps."""
        x, y, z = self.fix_noise
        return replace(
            self,
            gyro_noise=noise * self.gyro_noise,
            accelerometer_noise=noise * self.accelerometer_noise,
            gyro_bias=noise * self.gyro_bias,
            accelerometer_bias=noise * self.accelerometer_bias,
            mounting=noise * self.mounting,
            place_error=noise * self.place_error,
            fix_noise=(noise * x, noise * y, noise * z),
            fix_drift=noise * self.fix_drift,
            velocity_noise=noise * self.velocity_noise,
            ticks=self.ticks if noise > 0.0 else 0,
            wheel_speed_noise=noise * self.wheel_speed_noise,
            steering_noise=noise * self.steering_noise,
            torque_noise=noise * self.torque_noise,
            scale=noise * self.scale,
        )


#: A receiver without corrections: metres of slow error, five fixes a second.
PLAIN_GNSS = {
    'gnss_rate': 5.0,
    'fix_noise': (0.3, 0.3, 0.6),
    'fix_drift': 0.8,
    'velocity_noise': 0.1,
}


@dataclass(frozen=True, eq=False)
class Stream:
    """Samples of one topic: stamps and times of arrival since the start [s], values (N, C)."""

    topic: str
    stamps: Array
    arrived: Array
    values: Array
    measured: Array  # when the values were true [s]
    kind: str = ''  # of the messages, where the topic does not tell it

    def part(self, keep: NDArray[np.bool_]) -> Stream:
        """Some of the samples."""
        return Stream(
            self.topic,
            self.stamps[keep],
            self.arrived[keep],
            self.values[keep],
            self.measured[keep],
            self.kind,
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Errors that last for the whole drive."""

    gyro_bias: Array
    accelerometer_bias: Array
    mounting: Array  # roll, pitch, yaw
    imu_position: Array
    antenna_position: Array


def draw_errors(sensors: Sensors, faults: Faults, seed: int) -> Drawn:
    """Biases, angles and places as they really are."""
    random = np.random.default_rng([seed, 105])
    values = random.standard_normal((5, 3))
    return Drawn(
        sensors.gyro_bias * values[0] + faults.gyro_bias,
        sensors.accelerometer_bias * values[1] + faults.accelerometer_bias,
        sensors.mounting * values[2] + faults.mounting,
        sensors.imu_position + sensors.place_error * values[3] + faults.imu_place,
        sensors.antenna_position + sensors.place_error * values[4] + faults.antenna_place,
    )


def _at(values: Array, time: Array) -> Array:
    """Columns between the rows of the record."""
    place = np.clip(time * RATE, 0.0, len(values) - 1.000001)
    k = place.astype(np.int64)
    share = (place - k)[:, None]
    return np.asarray((1.0 - share) * values[k] + share * values[k + 1])


def _mean(values: Array, time: Array, width: float) -> Array:
    """Columns averaged over `width` about each time, as a sensor does that samples faster."""
    total = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    last = (len(values) - 1.0) / RATE
    low, high = np.clip(time - width / 2, 0.0, last), np.clip(time + width / 2, 0.0, last)
    return np.asarray((_at(total, high) - _at(total, low)) / ((high - low)[:, None] * RATE))


def _clock(
    rate: float,
    delay: float,
    phase: float,
    duration: float,
    sensors: Sensors,
    faults: Faults,
    random: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Times of measuring, stamps, and times of arrival."""
    stamps = np.arange(phase + delay, duration, 1.0 / rate)
    measured = stamps - delay
    arrived = stamps + random.uniform(0.2e-3, sensors.latency, stamps.size)
    stamps = stamps + faults.jitter * random.standard_normal(stamps.size)
    return measured, stamps, np.maximum.accumulate(arrived)


def _imu(
    record: Record,
    drawn: Drawn,
    sensors: Sensors,
    faults: Faults,
    duration: float,
    random: np.random.Generator,
) -> Stream:
    clock = _clock(sensors.imu_rate, faults.imu_delay, 0.0053, duration, sensors, faults, random)
    measured, stamps, arrived = clock
    arm, omega = drawn.imu_position, record.rates
    force = (
        record.acceleration
        + np.cross(record.angular_acceleration, arm)
        + np.cross(omega, np.cross(omega, arm))
        + GRAVITY * record.rotation[:, 2, :]
    )
    mounting = matrix_of_rpy(tuple(drawn.mounting.tolist()))
    values = _mean(np.hstack([omega @ mounting, force @ mounting]), measured, 1 / sensors.imu_rate)
    noise = random.standard_normal(values.shape)
    values[:, :3] += drawn.gyro_bias + sensors.gyro_noise * noise[:, :3]
    values[:, 3:] += drawn.accelerometer_bias + sensors.accelerometer_noise * noise[:, 3:]
    return Stream('imu/data', stamps, arrived, values, measured)


def _slow(time: Array, deviation: float, lasting: float, random: np.random.Generator) -> Array:
    """First-order Gauss-Markov errors (N, 3)."""
    result = np.zeros((time.size, 3))
    now = random.standard_normal(3)
    for k in range(time.size):
        gap = time[k] - time[k - 1] if k else 0.0
        keep = np.exp(-gap / lasting)
        now = keep * now + np.sqrt(1 - keep**2) * random.standard_normal(3)
        result[k] = now
    return deviation * result * [1.0, 1.0, 2.0]


def _multipath(time: Array, rate: float, random: np.random.Generator) -> Array:
    """Jumps (N, 3) of 2 to 30 m that last for 0.2 to 2 s."""
    jumps = np.zeros((time.size, 3))
    if rate <= 0.0 or not time.size:
        return jumps
    begin = 5.0
    while (begin := begin + random.exponential(1.0 / rate)) < time[-1]:
        size, direction = random.uniform(2.0, 30.0), random.uniform(0.0, 2 * np.pi)
        inside = (time >= begin) & (time < begin + random.uniform(0.2, 2.0))
        jumps[inside] = size * np.array([np.cos(direction), np.sin(direction), 0.5])
    return jumps


def _satellites(
    record: Record,
    drawn: Drawn,
    sensors: Sensors,
    faults: Faults,
    duration: float,
    random: np.random.Generator,
) -> list[Stream]:
    arm = drawn.antenna_position
    rate = faults.gnss_rate or sensors.gnss_rate
    position = record.position + record.rotation @ arm
    carried = np.einsum('nij,nj->ni', record.rotation, np.cross(record.rates, arm))
    streams = []
    for topic, values, delay in (
        ('gps/fix', position, faults.fix_delay),
        ('gps/vel', record.velocity + carried, faults.velocity_delay),
    ):
        measured, stamps, arrived = _clock(rate, delay, 0.0211, duration, sensors, faults, random)
        seen = _at(values, measured)
        noise = random.standard_normal(seen.shape)
        if topic == 'gps/fix':
            seen = seen + noise * sensors.fix_noise
            seen = seen + _slow(measured, sensors.fix_drift, sensors.drift_time, random)
            seen = seen + _multipath(measured, faults.outliers, random)
        else:
            seen = seen + sensors.velocity_noise * noise * [1.0, 1.0, 1.5]
        stream = Stream(topic, stamps, arrived, seen, measured)
        lost = (measured >= faults.outage_time) & (measured < faults.outage_time + faults.outage)
        if not (topic == 'gps/vel' and faults.no_velocity):
            streams.append(stream.part(~lost))
    return streams


def fault_windows(record: Record, faults: Faults, length: float) -> list[tuple[float, float]]:
    """When sensors of moving wheels are wrong: again and again, at more than 8 m/s."""
    windows: list[tuple[float, float]] = []
    begin = faults.fault_time
    time, fast = record.time, record.speed > 8.0
    while True:
        later = np.flatnonzero(fast & (time >= begin))
        if not later.size:
            return windows
        start = float(time[later[0]])
        windows.append((start, start + length))
        begin = start + faults.fault_period


def _false_angles(record: Record, faults: Faults) -> Array:
    """Angles (N, 4) at the record's times as faulty sensors count them."""
    angles = record.wheel.copy()
    if faults.false_wheels:
        rates = np.diff(angles, axis=0, prepend=angles[:1])
        for begin, end in fault_windows(record, faults, faults.false_duration):
            inside = (record.time >= begin) & (record.time < end)
            for wheel in faults.false_wheels:
                rates[inside, wheel] *= faults.false_factor
        angles = angles[0] + np.cumsum(rates, axis=0)
    since = int(faults.fault_time * RATE)
    for wheel in faults.stuck:
        angles[since:, wheel] = angles[min(since, len(angles) - 1), wheel]
    return np.asarray(angles + faults.wheel_start)


def _joints(
    record: Record,
    sensors: Sensors,
    faults: Faults,
    duration: float,
    random: np.random.Generator,
) -> Stream:
    measured, stamps, arrived = _clock(
        sensors.joint_rate, faults.wheel_delay, 0.0021, duration, sensors, faults, random
    )
    counted = _false_angles(record, faults)
    wheels = _at(counted, measured)
    ticks = faults.ticks or sensors.ticks
    if faults.speeds:
        period = 1.0 / sensors.joint_rate
        wheels = (wheels - _at(counted, measured - period)) / period
        wheels = wheels + sensors.wheel_speed_noise * random.standard_normal(wheels.shape)
    elif ticks > 0:
        tooth = 2 * np.pi / ticks
        zero = random.uniform(0.0, tooth, 4)  # where the teeth sit
        wheels = np.floor((wheels + zero) / tooth) * tooth
    car = record.car
    steering = car.steering_ratio * _at(record.steer[:, None], measured) + car.steering_offset
    steering = steering + sensors.steering_noise * random.standard_normal(steering.shape)
    columns = [wheels, steering]
    if faults.torque:
        # apart from the other random numbers, so that nothing else changes by it
        own = np.random.default_rng([len(stamps), 109])
        front = car.front_drive
        share = 0.5 * np.array([front, front, 1.0 - front, 1.0 - front])
        torque = _at(record.drive[:, None], measured) * share
        columns.append(torque + sensors.torque_noise * own.standard_normal(torque.shape))
    return Stream('joint_states', stamps, arrived, np.hstack(columns), measured)


def _wheel_streams(
    record: Record, sensors: Sensors, faults: Faults, duration: float, seed: int
) -> list[Stream]:
    random = np.random.default_rng([seed, 111])
    streams = []
    for place, (topic, rate, values, noise, offset) in enumerate(
        wheel_signals(record, sensors.wheels, sensors.scale, random)
    ):
        measured, stamps, arrived = _clock(
            rate, 0.0, 0.0007 + 0.0004 * place, duration, sensors, faults, random
        )
        seen = _mean(values, measured, 1.0 / rate)
        seen = seen + offset + noise * random.standard_normal(seen.shape)
        kind = 'wrench' if topic.endswith('wrench') else 'corners' * (topic == 'joint_states')
        streams.append(Stream(topic, stamps, arrived, seen, measured, kind))
    return streams


def sensor_streams(
    record: Record,
    sensors: Sensors,
    faults: Faults,
    drawn: Drawn,
    duration: float,
    seed: int,
) -> list[Stream]:
    """IMU (rates, specific force), fix, velocity (x, y, z), joints (wheels, steering)."""
    imu, gnss, joints, loss = np.random.default_rng([seed, 106]).spawn(4)
    streams = [
        _imu(record, drawn, sensors, faults, duration, imu),
        *_satellites(record, drawn, sensors, faults, duration, gnss),
        _joints(record, sensors, faults, duration, joints),
    ]
    if faults.wheel_forces:
        streams += _wheel_streams(record, sensors, faults, duration, seed)
    return [
        one.part((one.measured >= faults.skip) & (loss.random(one.stamps.size) >= faults.dropped))
        for one in streams
    ]
