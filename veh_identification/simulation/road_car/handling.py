"""Tests on an uneven road in the wind: steps or sines of the steering at several speeds, braking.

They end with a coast-down.

The drive torque is recorded as a test car's bus tells it; the brakes are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.road_car.car import RoadCar, draw_car
from veh_identification.simulation.road_car.drive import RoadDrive
from veh_identification.simulation.road_car.faults import Faults, faults_of
from veh_identification.simulation.road_car.road import draw_waves, draw_wind
from veh_identification.simulation.road_car.run import Task, simulate
from veh_identification.simulation.road_car.sensors import Sensors, draw_errors, sensor_streams
from veh_identification.types import Progress

Steering = Callable[[RoadCar, int, float, float], tuple[tuple[float, float, float], ...]]
COASTING = 14.0  # seconds at the end
SINE_STEP = 0.05  # of the wanted angle [s]; the driver smooths it
MILD, HARD = 4.0, 8.0  # largest lateral acceleration that a step aims at [m/s^2]


def manoeuvres(
    car: RoadCar, seed: int, duration: float, lateral_most: float = MILD
) -> tuple[tuple[float, float, float], ...]:
    """Rows of (until, road wheel angle, speed): bursts of steps from 1 m/s^2 on to both sides."""
    random = np.random.default_rng([seed, 107])
    rows = [(4.0, 0.0, 15.0)]
    time, side = 4.0, 1.0
    while time < duration - COASTING - 6.0:
        speed = random.uniform(13.0, 26.0)
        time += random.uniform(2.0, 4.0)
        rows.append((time, 0.0, speed))
        for _ in range(int(random.integers(4, 9))):
            lateral = random.uniform(1.0, lateral_most)
            angle = side * lateral * (car.wheelbase / speed**2 + car.understeer())
            time += random.uniform(0.3, 1.8)
            rows.append((time, angle, speed))
            side = -side
        if lateral_most > MILD:  # brakes, straight and at the end of a bend
            rows[-1] = (time, rows[-1][1], speed - 5.0)
            time += random.uniform(0.8, 1.5)
            rows.append((time, 0.0, max(speed - 12.0, 8.0)))
    rows.append((duration - COASTING, 0.0, 26.0))
    rows.append((duration + 1.0, 0.0, float('nan')))
    return tuple(rows)


def sines(
    car: RoadCar, seed: int, duration: float, lateral_most: float = MILD
) -> tuple[tuple[float, float, float], ...]:
    """The same with bursts of sines of 0.2 to 1.4 Hz instead of steps."""
    random = np.random.default_rng([seed, 109])
    rows = [(4.0, 0.0, 15.0)]
    time = 4.0
    while time < duration - COASTING - 8.0:
        speed = random.uniform(13.0, 26.0)
        time += random.uniform(2.0, 4.0)
        rows.append((time, 0.0, speed))
        lateral = random.uniform(1.5, lateral_most)
        angle = lateral * (car.wheelbase / speed**2 + car.understeer())
        frequency = random.uniform(0.2, 1.4)
        count = max(1, round(random.uniform(4.0, 7.0) * frequency))
        steps = round(count / frequency / SINE_STEP)
        for k in range(1, steps + 1):
            phase = 2.0 * np.pi * count * (k - 0.5) / steps
            rows.append((time + k * SINE_STEP, angle * float(np.sin(phase)), speed))
        time += steps * SINE_STEP
    rows.append((duration - COASTING, 0.0, 26.0))
    rows.append((duration + 1.0, 0.0, float('nan')))
    return tuple(rows)


def handling_drive(
    seed: int,
    faults: Sequence[str] | Faults = (),
    *,
    duration: float = 100.0,
    noise: float = 1.0,
    car: RoadCar | None = None,
    lateral_most: float = MILD,
    steering: Steering = manoeuvres,
) -> RoadDrive:
    """The test with a car drawn by the seed; `steering` is `manoeuvres` or `sines`."""
    wrong = replace(faults_of(faults), torque=True)
    mine = draw_car(seed, min(noise, 1.0)) if car is None else car
    heading = float(np.random.default_rng([seed, 108]).uniform(-np.pi, np.pi))
    record = simulate(
        mine,
        Task(manoeuvres=steering(mine, seed, duration, lateral_most), start=(5.0, 5.0, heading)),
        duration,
        draw_waves(seed, roughness=min(noise, 1.0)),
        draw_wind(seed, duration, min(noise, 1.0)),
    )
    installed = Sensors().scaled(noise)
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
    """`road-handling`."""
    return handling_drive(seed, faults, duration=duration, noise=noise).write(writer, progress)


def tyre_drive(
    seed: int,
    faults: Sequence[str] | Faults = (),
    *,
    duration: float = 100.0,
    noise: float = 1.0,
    car: RoadCar | None = None,
    lateral_most: float = HARD,
) -> RoadDrive:
    """The test of a car with wheel force sensors, driven up to the limit of its tyres."""
    wrong = replace(faults_of(faults), wheel_forces=True)
    return handling_drive(
        seed, wrong, duration=duration, noise=noise, car=car, lateral_most=lateral_most
    )


def write_tyres(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    faults: Sequence[str] = (),
) -> dict[str, Any]:
    """`road-tyres`."""
    return tyre_drive(seed, faults, duration=duration, noise=noise).write(writer, progress)
