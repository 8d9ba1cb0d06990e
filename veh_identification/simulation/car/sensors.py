"""Sensors of Venture 2006, section V.A, on the simulated car: bandwidth, rate, noise, offset.

Every sensor passes the true signal through a low-pass at its cut-off, samples it at its own
instants and adds noise and a constant offset. Unless the configuration gives the sensor a
`bandwidth_hz` (then: a causal Butterworth low-pass with its phase), the low-pass is a linear-phase
filter whose delay the instrument takes off its stamps, flat up to about 0.8 of the cut-off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import signal
from scipy.optimize import brentq

from veh_identification.simulation.car.road import road_heights
from veh_identification.simulation.car.run import STEPS_PER_SECOND, CarRecord
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Width of the linear-phase low-pass' edge over its cut-off.
EDGE = 0.4
#: Shape of its window: the gain of the passed band is true to 2e-4.
WINDOW = ('kaiser', 7.5)


@dataclass(frozen=True)
class Instrument:
    """One kind of sensor; noise and offset are standard deviations, of each group of channels."""

    rate: float  # Hz
    cutoff: float  # Hz
    noise: tuple[float, ...]
    offset: tuple[float, ...]
    shaking: tuple[float, ...] = ()  # each mode of the driveline, on the mounting of the sensor

    def scaled(self, factor: float) -> Instrument:
        """Noise, offsets and shaking multiplied by `factor`."""
        return replace(
            self,
            noise=tuple(factor * one for one in self.noise),
            offset=tuple(factor * one for one in self.offset),
            shaking=tuple(factor * one for one in self.shaking),
        )


@dataclass(frozen=True)
class CarSensors:
    """The instruments; the cut-offs are those of section V.A."""

    #: Angular velocity [rad/s], specific force [m/s^2].
    imu: Instrument = Instrument(100.0, 10.0, (8e-4, 0.02), (1e-4, 3e-3), (5e-4, 0.02))
    speed: Instrument = Instrument(100.0, 15.0, (0.02,), (5e-3,))
    suspension: Instrument = Instrument(200.0, 20.0, (1e-4,), (1e-4,))
    #: Steering and camber lasers on the wheels.
    steering: Instrument = Instrument(100.0, 10.0, (2e-4,), (1e-4,), (1.5e-4,))
    #: Force [N], moment [N m].
    wheel_force: Instrument = Instrument(200.0, 100.0, (12.0, 3.0), (4.0, 1.5))
    wheel_angle: Instrument = Instrument(100.0, 100.0, (1e-3,), (0.0,))
    ride_height: Instrument = Instrument(100.0, 20.0, (3e-4,), (3e-4,))
    #: Half track, wheelbase and tyre deflection [m], kingpin [rad]: from tables of the axles.
    axle: Instrument = Instrument(100.0, 20.0, (1e-4,), (1e-4,))

    def scaled(self, factor: float) -> CarSensors:
        """All noise, offsets and shaking multiplied by `factor`."""
        return CarSensors(
            *(getattr(self, name).scaled(factor) for name in self.__dataclass_fields__)
        )


@dataclass(frozen=True, eq=False)
class Stream:
    """Samples of one sensor: seconds since the start, log times, values (N, C)."""

    topic: str
    kind: str  # field of CarSensors
    names: tuple[str, ...]
    stamps: Array
    logged: Array  # when a recorder receives them, never out of order
    values: Array
    offset: Array  # the constant errors that were drawn


def sensor_streams(
    record: CarRecord,
    configuration: CarDescription,
    duration: float,
    seed: int,
    sensors: CarSensors | None = None,
) -> list[Stream]:
    """What all sensors show during a record."""
    instruments = sensors or CarSensors()
    generator = np.random.default_rng((seed, 5))
    streams = []
    for topic, kind, names, values, groups in true_signals(record, configuration):
        instrument = getattr(instruments, kind)
        described = getattr(configuration.sensors, kind, Sensor())
        own = generator.spawn(1)[0]
        shaken = values + _shaking(instrument, record.modes, groups, own)
        seen = band_limit(shaken, instrument.cutoff, described)
        stamps, logged = clock(instrument.rate, duration, own)
        offset = own.standard_normal(len(names)) * np.array(instrument.offset)[groups]
        noise = own.standard_normal((len(stamps), len(names))) * np.array(instrument.noise)[groups]
        sampled = interpolate(record.t[0], seen, stamps - described.delay)
        streams.append(
            Stream(topic, kind, names, stamps, logged, sampled + offset + noise, offset)
        )
    return streams


Signal = tuple[str, str, tuple[str, ...], Array, NDArray[np.int64]]


def true_signals(record: CarRecord, configuration: CarDescription) -> list[Signal]:
    """Topic, instrument, channel names, values at 1 kHz and group of each channel."""
    zeros = np.zeros(4, dtype=np.int64)
    axles = record.axles
    side = np.array([1.0, -1.0, 1.0, -1.0])

    def joints(*kinds: str) -> tuple[str, ...]:
        return tuple(f'{kind}_{corner}' for kind in kinds for corner in CORNERS)

    zero = np.array(configuration.geometry.suspension_zero)
    signals: list[Signal] = [
        (
            'imu/data',
            'imu',
            ('wx', 'wy', 'wz', 'fx', 'fy', 'fz'),
            _imu(record, configuration),
            np.repeat([0, 1], 3),
        ),
        ('correvit/velocity', 'speed', ('vx', 'vy'), _speed(record, configuration), zeros[:2]),
        ('joint_states', 'suspension', joints('suspension'), record.travel - zero, zeros),
        (
            'joint_states',
            'steering',
            joints('steering', 'camber'),
            np.hstack([axles[:, :, 2], axles[:, :, 3]]),
            np.repeat([0, 0], 4),
        ),
        ('joint_states', 'wheel_angle', joints('wheel'), record.wheel_angle, zeros),
        (
            'joint_states',
            'axle',
            joints('half_track', 'wheelbase', 'kingpin', 'tyre'),
            np.hstack(
                [side * axles[:, :, 1], axles[:, :, 0], axles[:, :, 4], record.tyre[:, :, 0]]
            ),
            np.repeat([0, 0, 0, 0], 4),
        ),
    ]
    for i, corner in enumerate(CORNERS):
        signals.append(
            (
                f'wheel_{corner}/wrench',
                'wheel_force',
                ('fx', 'fy', 'fz', 'mx', 'my', 'mz'),
                record.wrench[:, i],
                np.repeat([0, 1], 3),
            )
        )
    heights = ride_heights(record)
    for i, corner in enumerate(CORNERS):
        signals.append(
            (f'ride_height_{corner}', 'ride_height', ('range',), heights[:, [i]], zeros[:1])
        )
    return signals


def _imu(record: CarRecord, configuration: CarDescription) -> Array:
    sensor = configuration.sensors.imu
    arm, turn = np.array(sensor.position), sensor.matrix
    omega = record.omega
    specific = (
        record.specific_force
        + np.cross(record.omega_dot, arm)
        + np.cross(omega, np.cross(omega, arm))
    )
    return np.hstack([omega @ turn, specific @ turn])  # R^T v for every row v


def _speed(record: CarRecord, configuration: CarDescription) -> Array:
    arm = np.array(configuration.sensors.speed.position)
    return (record.velocity + np.cross(record.omega, arm))[:, :2]


def ride_heights(record: CarRecord) -> Array:
    """World height (N, 4) of the body over each wheel's place above the road under it."""
    geometry, up = record.vehicle.geometry, record.rotation[:, 2, :]
    heights = np.empty((len(record.t), 4))
    for i in range(4):
        x, y = geometry.wheel_x[i], geometry.wheel_y[i]
        road = road_heights(record.road.coefficients, record.road.start, i % 2, record.station + x)
        heights[:, i] = record.position[:, 2] + up[:, 0] * x + up[:, 1] * y - road
    return heights


def _shaking(
    instrument: Instrument, modes: Array, groups: NDArray[np.int64], generator: np.random.Generator
) -> Array:
    """What the driveline does to the mounting: each channel its own mixture of the modes."""
    mixture = generator.standard_normal((modes.shape[1], len(groups)))
    if not instrument.shaking:
        return np.zeros((len(modes), len(groups)))
    mixture /= np.sqrt(np.mean(mixture**2, axis=1, keepdims=True))
    result: Array = modes @ (mixture * np.array(instrument.shaking)[groups])
    return result


def band_limit(values: Array, cutoff: float, described: Sensor) -> Array:
    """The signal behind the sensor's low-pass, at the same instants."""
    if described.bandwidth_hz > 0.0:
        sos = signal.butter(
            described.order, described.bandwidth_hz, fs=STEPS_PER_SECOND, output='sos'
        )
        start = values[0]
        filtered = signal.sosfilt(sos, values - start, axis=0)
        return np.asarray(filtered + start)
    taps = linear_phase_taps(cutoff)
    half = len(taps) // 2
    # The ends repeat a straight line, so that angles that grow for ever pass as well.
    line = np.linspace(values[0], values[-1], len(values))
    padded = np.pad(values - line, ((half, half), (0, 0)))
    return np.asarray(signal.oaconvolve(padded, taps[:, None], mode='valid', axes=0) + line)


def linear_phase_taps(cutoff: float, rate: float = STEPS_PER_SECOND) -> Array:
    """Symmetric low-pass with half the power at `cutoff`."""
    count = 2 * round(2.33 * rate / (EDGE * cutoff)) + 1

    def excess(middle: float) -> float:
        taps = signal.firwin(count, middle, fs=rate, window=WINDOW)
        phase = 2.0 * np.pi * cutoff / rate * (np.arange(count) - count // 2)
        return float(taps @ np.cos(phase)) - np.sqrt(0.5)

    middle = brentq(excess, cutoff * (1.0 - EDGE), cutoff * (1.0 + EDGE), xtol=1e-6 * cutoff)
    return np.asarray(signal.firwin(count, middle, fs=rate, window=WINDOW))


def clock(rate: float, duration: float, generator: np.random.Generator) -> tuple[Array, Array]:
    """Sampling instants of a free-running clock, and when the recorder gets the messages."""
    true_rate = rate * (1.0 + 2e-4 * generator.uniform(-1.0, 1.0))
    stamps = np.arange(generator.uniform(0.0, 1.0 / rate), duration, 1.0 / true_rate)
    stamps = stamps + generator.uniform(0.0, 5e-5, len(stamps))
    stamps = np.round(stamps * 1e9) / 1e9
    delay = generator.uniform(1e-3, 4e-3) + generator.exponential(1e-3, len(stamps))
    return stamps, np.maximum.accumulate(stamps + delay)


def interpolate(start: float, values: Array, times: Array) -> Array:
    """Values (N, C) at 1 kHz from `start`, read at any times by cubics through four points."""
    u = (times - start) * STEPS_PER_SECOND
    k = np.clip(np.floor(u).astype(np.int64), 1, len(values) - 3)
    f = (u - k)[:, None]
    return np.asarray(
        -f * (f - 1.0) * (f - 2.0) / 6.0 * values[k - 1]
        + (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0 * values[k]
        - (f + 1.0) * f * (f - 2.0) / 2.0 * values[k + 1]
        + (f + 1.0) * f * (f - 1.0) / 6.0 * values[k + 2]
    )
