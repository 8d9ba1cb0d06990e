"""A handling test on an uneven road in the wind: steering steps at several speeds, a coast-down.

The drive torque is recorded as a test car's bus tells it; the brakes are not.
"""

from __future__ import annotations

from collections.abc import Sequence
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

COASTING = 14.0  # seconds at the end


def manoeuvres(car: RoadCar, seed: int, duration: float) -> tuple[tuple[float, float, float], ...]:
    """Rows of (until, road wheel angle, speed): bursts of steps of 1 to 4 m/s^2 to both sides."""
    random = np.random.default_rng([seed, 107])
    rows = [(4.0, 0.0, 15.0)]
    time, side = 4.0, 1.0
    while time < duration - COASTING - 6.0:
        speed = random.uniform(13.0, 26.0)
        time += random.uniform(2.0, 4.0)
        rows.append((time, 0.0, speed))
        for _ in range(int(random.integers(4, 9))):
            lateral = random.uniform(1.0, 4.0)
            angle = side * lateral * (car.wheelbase / speed**2 + car.understeer())
            time += random.uniform(0.3, 1.8)
            rows.append((time, angle, speed))
            side = -side
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
) -> RoadDrive:
    """The test with a car drawn by the seed."""
    wrong = replace(faults_of(faults), torque=True)
    mine = draw_car(seed, min(noise, 1.0)) if car is None else car
    heading = float(np.random.default_rng([seed, 108]).uniform(-np.pi, np.pi))
    record = simulate(
        mine,
        Task(manoeuvres=manoeuvres(mine, seed, duration), start=(5.0, 5.0, heading)),
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
