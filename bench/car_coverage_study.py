"""What one process does of the study of coverage; a module of its own, which others can load."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import veh_identification as vid
from veh_identification.simulation.car.manoeuvres import KMH, Manoeuvre
from veh_identification.simulation.car.run import Surroundings
from veh_identification.simulation.car.scenarios import car_recording, default_configuration
from veh_identification.simulation.car.vehicle import Stiction, random_vehicle
from veh_identification.types import Array

#: Speed [km/h], steering frequency [Hz], lateral acceleration [m/s^2]; the first three alone.
RUNS = (
    (90.0, 0.45, 4.0),
    (120.0, 0.50, 4.0),
    (150.0, 0.40, 3.5),
    (105.0, 0.55, 4.0),
    (135.0, 0.42, 3.7),
)
ALONE = 3
OURS: dict[str, bool] = {}
PLAIN = {'bias_correction': False, 'beyond_band': False, 'calibrate': False, 'check': False}
GROUPS = {
    'chassis': ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'YYc', 'ZZc', 'XZc', 'XYc', 'YZc'),
    'kar': ('karf', 'karr'),
    'Cx': ('Cx',),
    **{kind: tuple(f'{kind}{j}' for j in range(1, 5)) for kind in ('M', 'k', 'fs', 'h', 'off')},
}
NAMES = tuple(name for group in GROUPS.values() for name in group)


def drives(car: int, seconds: float, configuration: Any, count: int) -> tuple[list[Any], Array]:
    """Runs of one car and its true parameters."""
    vehicle = random_vehicle(car, configuration.geometry)
    recordings: list[Any] = []
    truth: dict[str, float] = {}
    for place, (speed, frequency, lateral) in enumerate(RUNS[:count]):
        manoeuvre = Manoeuvre('sine', speed * KMH, frequency=frequency, lateral=lateral)
        recording, truth = car_recording(
            configuration, manoeuvre, seconds, 100 * car + place, vehicle=vehicle
        )
        recordings.append(recording)
    return recordings, np.array([truth[name] for name in NAMES])


def normalised(
    recordings: list[Any], truth: Array, configuration: Any, options: dict[str, bool]
) -> Array:
    """Errors over their deviations."""
    outcome = vid.identify('car', recordings, config=configuration, **options)
    found = [outcome[name] for name in NAMES]
    return np.array([(one.value - true) / one.std for one, true in zip(found, truth, strict=True)])


def one_car(job: tuple[int, float, int]) -> dict[str, tuple[list[Array], Array]]:
    """Normalised errors of one car by both sides: of single runs and of all."""
    car, seconds, count = job
    configuration = default_configuration()
    recordings, truth = drives(car, seconds, configuration, count)
    return {
        side: (
            [normalised([one], truth, configuration, options) for one in recordings[:ALONE]],
            normalised(recordings, truth, configuration, options),
        )
        for side, options in (('ours', OURS), ('plain', PLAIN))
    }


#: What suspensions do near rest, in turn; None: the smoothed sign.
LAWS: dict[str, Stiction | None] = {
    'smooth': None,
    'presliding of 5 um': Stiction(presliding=5e-6),
    'presliding of 20 um': Stiction(),
    'presliding of 60 um': Stiction(presliding=6e-5),
    'breakaway': Stiction(breakaway=1.2),
    'Dahl': Stiction(gradual=True),
}
ROUGHEST, SMOOTHEST = 24e-6, 3e-6  # roads [m^3]


def sticking_drive(seed: int, law: str, seconds: float) -> tuple[Any, Array]:
    """A car, its friction, speed, steering and road drawn by the seed; its true parameters."""
    configuration, random = default_configuration(), np.random.default_rng((seed, 1616))
    vehicle = random_vehicle(seed, configuration.geometry)
    friction = random.uniform(5.0, 70.0, 4).tolist()
    speed, frequency = random.uniform(80.0, 160.0), random.uniform(0.4, 0.55)
    lateral = random.uniform(3.3, 4.2)
    roughness = ROUGHEST
    if LAWS[law] is not None:
        fl, fr, rl, rr = (
            replace(one, friction=fs) for one, fs in zip(vehicle.corners, friction, strict=True)
        )
        vehicle = replace(vehicle, stiction=LAWS[law], corners=(fl, fr, rl, rr))
        roughness = float(np.exp(random.uniform(np.log(SMOOTHEST), np.log(ROUGHEST))))
    recording, truth = car_recording(
        configuration,
        Manoeuvre('sine', speed * KMH, frequency=frequency, lateral=lateral),
        seconds,
        seed,
        vehicle=vehicle,
        surroundings=Surroundings(roughness=roughness),
    )
    return recording, np.array([truth[name] for name in NAMES])


def one_sticking(job: tuple[int, str, float]) -> tuple[Array, Array, Array]:
    """Errors over deviations: ours, the plain solution by its own deviations, and by ours."""
    recording, truth = sticking_drive(*job)
    configuration = default_configuration()
    found = []
    for options in (OURS, PLAIN):
        outcome = vid.identify('car', [recording], config=configuration, **options)
        found.append(np.array([(outcome[name].value, outcome[name].std) for name in NAMES]))
    ours, plain = found
    error, plain_error = ours[:, 0] - truth, plain[:, 0] - truth
    return error / ours[:, 1], plain_error / plain[:, 1], plain_error / ours[:, 1]
