"""The true buggy: manoeuvres of chapter 5 and the motion that its sensors see."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.systems.car.description.road import RoadMap, Waves
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.types import Array, Progress

SAMPLE_RATE = 500.0


@dataclass(frozen=True)
class Ramp:
    """Smooth change (quintic) of a value between two times."""

    start: float
    duration: float
    value: float
    initial: float = 0.0

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration."""
        s = (t - self.start) / self.duration
        if s <= 0.0:
            return self.initial, 0.0, 0.0
        if s >= 1.0:
            return self.value, 0.0, 0.0
        h, T = self.value - self.initial, self.duration
        return (
            self.initial + h * s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
            h / T * 30.0 * s * s * (1.0 - s) ** 2,
            h / T**2 * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
        )


@dataclass(frozen=True)
class Manoeuvre:
    """Drive torque of each rear wheel [N m] and rack travel [m]; or a speed to hold [m/s].

    With `cruise` the torque follows the speed wanted (`speed` ramps up, `stop` brings it to zero)
    and negative torque becomes brake pressure.
    """

    torque: Ramp
    rack: tuple[Ramp, ...]
    cruise: tuple[Ramp, Ramp] | None = None

    def inputs(self, t: float, speed: float, brake_gain: float) -> Inputs:
        """What the driver does."""
        parts = [ramp(t) for ramp in self.rack]
        rack, rate, second = (sum(column) for column in zip(*parts, strict=True))
        torque, pressure = self.torque(t)[0], 0.0
        if self.cruise is not None:
            wanted = self.cruise[0](t)[0] + self.cruise[1](t)[0]
            effort = 250.0 * (wanted - speed) + (15.0 if wanted > 0.05 else 0.0)
            torque = min(max(effort, 0.0), 160.0)
            pressure = min(max(-2.0 * effort - 30.0, 0.0), 800.0) / (2.0 * brake_gain)
            if wanted <= 0.05 and t > self.cruise[1].start:
                pressure = max(pressure, 1.0e6)
        return Inputs((0.0, 0.0, torque, torque), pressure, rack, rate, second)


def straight() -> Manoeuvre:
    """Table 4, first row: 100 N m on each rear wheel, no steering."""
    return Manoeuvre(Ramp(0.1, 0.4, 100.0), (Ramp(0.0, 1.0, 0.0),))


def circle() -> Manoeuvre:
    """Table 4, second row: 100 N m and the rack 10 mm to the left."""
    return Manoeuvre(Ramp(0.1, 0.4, 100.0), (Ramp(0.1, 0.5, 0.010),))


def parking(duration: float) -> Manoeuvre:
    """Three clockwise turns at walking to running speed on uneven ground, then a stop."""
    turn = Ramp(5.0, 1.5, -0.030)
    back = Ramp(max(7.0, duration - 8.0), 1.5, 0.030)
    stop = Ramp(max(8.0, duration - 6.0), 2.5, -4.2)
    return Manoeuvre(Ramp(0.0, 1.0, 0.0), (turn, back), (Ramp(0.5, 3.5, 4.2), stop))


@dataclass(frozen=True)
class Truth:
    """Samples of the true motion; the sample axis is first."""

    time: Array
    frame: Array  # (N, 3, 12) chassis [origin, e1, e2, e3], first and second derivative
    wheel: Array  # (N, 4) angles
    wheel_rate: Array
    stroke: Array  # (N, 4) damper compression
    rack: Array
    torque: Array  # (N, 4)
    pressure: Array
    tyre: Array  # (N, 4, 3) forward, lateral and vertical force
    yaw: Array


def true_car(car: CarDescription, errors: bool, seed: int = 0) -> CarDescription:
    """The car as it really is: what the model does not know is added (Table 4)."""
    if not errors:
        return replace(car, simulation=replace(car.simulation, wind=0.0))
    simulation = car.simulation
    tyre = replace(
        car.tyre,
        rolling_resistance=car.tyre.rolling_resistance + simulation.rolling_resistance_error,
        friction=car.tyre.friction + simulation.friction_error,
    )
    road = car.road
    if simulation.unevenness > 0.0:
        generator = np.random.default_rng([seed, 7])
        bumps = tuple(
            Waves(
                simulation.unevenness / 3.0,
                float(length),
                float(generator.uniform(0, math.pi)),
                float(generator.uniform(0, 2 * math.pi)),
            )
            for length in generator.uniform(1.2, 4.0, 9)
        )
        surveyed = road.waves if road.kind == 'waves' else ()
        road = RoadMap('waves', (*surveyed, *bumps))
    return replace(car, tyre=tyre, road=road)


def simulate_truth(
    car: CarDescription,
    manoeuvre: Manoeuvre,
    duration: float,
    progress: Progress = lambda done, total: None,
) -> Truth:
    """Drive the true car; samples at 500 Hz, the first one step after the start."""
    vehicle = Vehicle(car)
    vehicle.model.force_error[0] = -car.simulation.wind
    inside = max(1, round(1.0 / (SAMPLE_RATE * car.simulation.step)))
    dt = 1.0 / (SAMPLE_RATE * inside)
    count = max(1, round(duration * SAMPLE_RATE))
    result = Truth(
        np.arange(1, count + 1) / SAMPLE_RATE,
        np.empty((count, 3, 12)),
        np.empty((count, 4)),
        np.empty((count, 4)),
        np.empty((count, 4)),
        np.empty(count),
        np.empty((count, 4)),
        np.empty(count),
        np.empty((count, 4, 3)),
        np.empty(count),
    )
    model = vehicle.model
    yaw, rack = model.names.index('yaw'), model.names.index('rack')
    gain = car.brakes.front + car.brakes.rear
    frame = vehicle.frame()
    inputs = Inputs()
    for k in range(count):
        for s in range(inside):
            t = (k * inside + s + 1) * dt
            speed = float(frame[0, 3:6] @ frame[1, 0:3])
            inputs = manoeuvre.inputs(t, speed, gain)
            vehicle.step(dt, inputs)
            model.body_view(vehicle.chassis, frame)
        result.frame[k] = frame
        result.wheel[k], result.wheel_rate[k] = model.q[vehicle.spins], model.qd[vehicle.spins]
        result.stroke[k], result.rack[k] = vehicle.travel, model.q[rack]
        result.torque[k], result.pressure[k] = inputs.torques, inputs.pressure
        result.tyre[k], result.yaw[k] = vehicle.report[:, :3], model.q[yaw]
        if k % 500 == 0:
            progress(k // 500, round(duration))
    return result
