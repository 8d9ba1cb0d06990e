"""Recordings of the exact car that several tests share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH, ExactCar
from veh_identification.simulation.car.exact.sensors import ExactSensors, exact_recording
from veh_identification.simulation.car.scenarios import car_recording, sine_steer
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.recording.reader import CarRecording

CONFIG = Path(__file__).resolve().parents[3] / 'config' / 'car_peugeot_406.yaml'
TRUTH = np.array([EXACT_TRUTH[name] for name in NAMES])


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """Without one: nobody has weighed the exact car."""
    return [one for one in findings if one.code != 'not_weighed']


@lru_cache
def configuration() -> CarDescription:
    return load_configuration(CONFIG)


@lru_cache
def recording(
    duration: float = 40.0, noise: float = 0.0, seed: int = 0, wrench_rate: float = 200.0
) -> CarRecording:
    sensors = replace(ExactSensors.noisy(noise), wrench_rate=wrench_rate)
    return exact_recording(
        ExactCar(configuration(), seed=seed), duration, sensors, noise_seed=seed + 100
    )


@lru_cache
def driven(seed: int, duration: float = 40.0) -> tuple[CarRecording, Mapping[str, float]]:
    """The realistic car on a steering sine, and its true parameters."""
    return car_recording(configuration(), sine_steer(seed), duration, seed)


def with_noise(clean: CarRecording, seed: int, factor: float = 1.0) -> CarRecording:
    """Another draw of the sensor noise on one motion."""
    generator = np.random.default_rng(seed)
    sensors = ExactSensors.noisy(factor)

    def add(series: TimeSeries, *sigma: float) -> TimeSeries:
        spread = np.repeat(sigma, series.values.shape[1] // len(sigma))
        drawn = generator.standard_normal(series.values.shape) * spread
        return replace(series, values=series.values + drawn)

    by_kind = {'suspension': sensors.travel_noise, 'steering': sensors.steering_noise}
    assert clean.imu is not None and clean.speed is not None
    return replace(
        clean,
        imu=add(clean.imu, sensors.gyro_noise, sensors.accelerometer_noise),
        speed=add(clean.speed, sensors.speed_noise),
        joints={
            name: add(series, by_kind.get(name.rpartition('_')[0], 0.0))
            for name, series in clean.joints.items()
        },
        wrenches={
            corner: add(series, sensors.force_noise, sensors.moment_noise)
            for corner, series in clean.wrenches.items()
        },
    )
