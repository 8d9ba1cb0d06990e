"""What one process does of the study of cars of another formulation, and of the model of 2002."""

from __future__ import annotations

import numpy as np

import veh_identification as vid
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.car.scenarios import (
    car_recording,
    default_configuration,
    ramp_steer,
)
from veh_identification.simulation.car.vehicle import random_vehicle
from veh_identification.simulation.road_car.car import EXTENSION, NOMINAL, RoadCar
from veh_identification.simulation.road_car.handling import tyre_drive
from veh_identification.simulation.road_car.recording import recording_of
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.model_2002.identify import (
    Method2002,
    identify_car_2002,
    names_of_2006,
)
from veh_identification.types import Array

#: Of each ramp of the model of 2002 [s].
RAMP_SECONDS = 24.0


def truths(car: RoadCar) -> dict[str, float]:
    """The 33 parameters and the pitching moment of the air of a two-track car.

    `h` is the mean of both slopes of its dampers, which do not stick.
    """
    m, (x, y, z), (xx, yy, zz, xz) = car.mass, car.centre, car.inertia
    found = {
        'Mc': m,
        'MXc': m * x,
        'MYc': m * y,
        'MZc': m * z,
        'XXc': xx + m * (y**2 + z**2),
        'YYc': yy + m * (x**2 + z**2),
        'ZZc': zz + m * (x**2 + y**2),
        'XZc': xz - m * x * z,
        'XYc': -m * x * y,
        'YZc': -m * y * z,
        'karf': car.front.antiroll,
        'karr': car.rear.antiroll,
        'Cx': car.drag,
        'Cm': car.drag * car.pressure_point[2],
    }
    preload = NOMINAL.static_loads()  # springs of the drawn cars are those of the nominal one
    for j, axle in enumerate((car.front, car.front, car.rear, car.rear), start=1):
        found |= {
            f'M{j}': car.unsprung - car.wheel_mass,
            f'k{j}': axle.stiffness,
            f'h{j}': 0.5 * (1.0 + EXTENSION) * axle.damping,
            f'fs{j}': 0.0,
            f'off{j}': float(preload[j - 1]),
        }
    return found


def one_other(job: tuple[int, float]) -> dict[str, tuple[float, float]]:
    """Error [%] and error over deviation of every parameter of one drawn car."""
    seed, seconds = job
    drive = tyre_drive(seed, duration=seconds)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    outcome = vid.identify('car', [recording_of(drive)], config=config, aerodynamics=['Cm'])
    errors = {}
    for name, truth in truths(drive.car).items():
        away = outcome[name].value - truth
        percent = 100.0 * away / abs(truth) if truth else float('nan')
        errors[name] = percent, away / outcome[name].std
    return errors


def one_2002(seed: int) -> tuple[tuple[str, ...], Array]:
    """Errors over deviations of the model of 2002, from a ramp to each side."""
    configuration = default_configuration()
    vehicle = random_vehicle(seed, configuration.geometry)
    runs = [
        car_recording(
            configuration, ramp_steer(side), RAMP_SECONDS, 7000 + 2 * seed + side, vehicle=vehicle
        )
        for side in (0, 1)
    ]
    recordings, truth = [one for one, _ in runs], runs[0][1]
    found = identify_car_2002(recordings, configuration, Method2002(check=False)).result
    table = names_of_2006()
    exact = np.array([table[name][1] * truth[table[name][0]] for name in found.names])
    return tuple(found.names), (found.value - exact) / found.std
