"""Trial drives of the advisor: a sine of steering with the simulated car and its sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.design.car.simulated_car import drive_limit
from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.manoeuvres import UNDERSTEER, Manoeuvre
from veh_identification.simulation.car.run import (
    STEPS_PER_SECOND,
    CarRecord,
    Surroundings,
    simulate_car,
)
from veh_identification.simulation.car.sensors import CarSensors, Stream, sensor_streams
from veh_identification.simulation.car.truth import beyond_linear_range
from veh_identification.simulation.car.vehicle import Vehicle
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Seconds over which peaks are averaged: road roughness is not the driver's doing.
PEAK_WINDOW = 0.15
#: Joints that only a car with lasers or tables on every axle has.
EXTRA = ('half_track', 'wheelbase', 'camber', 'kingpin', 'tyre')


@dataclass(frozen=True)
class Sine:
    """One candidate: what the driver is told to do."""

    speed: float  # m/s
    frequency: float  # Hz
    lateral: float  # lateral acceleration that is aimed at [m/s^2]

    @property
    def manoeuvre(self) -> Manoeuvre:
        """For the simulation."""
        return Manoeuvre('sine', self.speed, frequency=self.frequency, lateral=self.lateral)

    def amplitude(self, wheelbase: float) -> float:
        """Steering angle of the front wheels [rad]."""
        return self.lateral * (wheelbase / self.speed**2 + UNDERSTEER)

    def steering_rate(self, wheelbase: float) -> float:
        """Largest rate of the steering angle [rad/s]."""
        return 2.0 * np.pi * self.frequency * self.amplitude(wheelbase)


@dataclass(frozen=True)
class TrialCar:
    """Everything that stays the same from drive to drive."""

    configuration: CarDescription
    vehicle: Vehicle
    sensors: CarSensors
    roughness: float
    noise: float
    dof: int | None  # 20: the car has no sensors or tables of its axle kinematics


@dataclass(frozen=True)
class Trial:
    """A recording and what happened in it."""

    recording: CarRecording
    lateral: float  # peak lateral acceleration of the centre of mass [m/s^2]
    steering: float  # peak steering angle [rad]
    steering_rate: float  # rad/s
    slowest: float  # m/s
    beyond_linear: float  # largest share of time beyond stops or damper knees


def drive(car: TrialCar, sine: Sine, duration: float, road_seed: int, sensor_seed: int) -> Trial:
    """Simulate one run of a candidate."""
    around = Surroundings(roughness=car.roughness)
    around = replace(
        around,
        shaking=around.shaking.scaled(car.noise),
        driver=around.driver._replace(drive_limit=drive_limit(car.vehicle)),
    )
    record = simulate_car(
        car.configuration,
        sine.manoeuvre,
        duration,
        road_seed,
        vehicle=car.vehicle,
        surroundings=around,
    )
    streams = sensor_streams(record, car.configuration, duration, sensor_seed, car.sensors)
    inside = (record.t >= 0.0) & (record.t <= duration)
    return Trial(
        _recording(streams, sine, car.dof),
        _peak(_lateral(record)[inside]),
        _peak(record.steer[inside, 0]),
        _peak(record.steer[inside, 1]),
        float(record.velocity[inside, 0].min()),
        max(beyond_linear_range(record).values()),
    )


def _lateral(record: CarRecord) -> Array:
    """Lateral acceleration of the centre of mass, what an accelerometer there would show."""
    arm = np.array(record.vehicle.inertia.centre)
    omega = record.omega
    at = (
        record.specific_force
        + np.cross(record.omega_dot, arm)
        + np.cross(omega, np.cross(omega, arm))
    )
    return np.asarray(at[:, 1])


def _peak(values: Array) -> float:
    width = max(1, round(PEAK_WINDOW * STEPS_PER_SECOND))
    return float(np.abs(np.convolve(values, np.full(width, 1.0 / width), mode='valid')).max())


def _recording(streams: list[Stream], sine: Sine, dof: int | None) -> CarRecording:
    series: dict[str, TimeSeries] = {}
    joints: dict[str, TimeSeries] = {}
    for one in streams:
        if one.topic != 'joint_states':
            series[one.topic] = _series(one, slice(None), one.names)
            continue
        for k, name in enumerate(one.names):
            if dof != 20 or not name.startswith(EXTRA):
                joints[name] = _series(one, slice(k, k + 1), (name,))
    return CarRecording(
        f'sine of {sine.frequency:g} Hz at {3.6 * sine.speed:.0f} km/h',
        series['imu/data'],
        series['correvit/velocity'],
        joints,
        _corners(series, 'wheel_{}/wrench'),
        _corners(series, 'ride_height_{}'),
    )


def _corners(series: Mapping[str, TimeSeries], topic: str) -> dict[str, TimeSeries]:
    return {corner: series[topic.format(corner)] for corner in CORNERS}


def _series(stream: Stream, columns: slice, names: tuple[str, ...]) -> TimeSeries:
    return TimeSeries(
        stream.stamps,
        stream.values[:, columns],
        names,
        ('',) * len(names),
        EPOCH_NS,
        f'/{stream.topic}',
    )
