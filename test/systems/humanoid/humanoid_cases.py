"""Recordings of the simulated humanoid for the tests, with optional damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.gait import Gait, bending, walking
from veh_identification.simulation.humanoid.motion import HumanoidMotion
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.simulation.sensors import Reading
from veh_identification.systems.humanoid.robot import Robot, load_robot

Change = Callable[[Reading], Reading | None]
CAD = robot_path(cad=True)
TRUE = robot_path()


@lru_cache(maxsize=1)
def true_robot() -> Robot:
    return load_robot(TRUE)


@lru_cache(maxsize=8)
def motion(kind: str, duration: float, seed: int = 0) -> HumanoidMotion:
    references = {
        'walk': lambda: walking(duration, seed=seed),
        'arms': lambda: walking(duration, Gait(arms=0.5), seed),
        'bend': lambda: bending(duration, seed=seed),
    }[kind]()
    return HumanoidMotion(true_robot().model(), references)


def record(
    path: Path,
    kind: str = 'walk',
    duration: float = 4.5,
    seed: int = 0,
    noise: float = 1.0,
    sensors: HumanoidSensors | None = None,
    change: Change | None = None,
    lean: bool = True,
) -> Path:
    """Write a bag; `change` may alter or drop each message.

    A lean one has hardly any messages of ankle sensors and IMU, which plates make needless.
    """
    used = (sensors or HumanoidSensors()).scaled(noise)
    if lean:
        used = replace(used, sensor_rate=1.0, imu_rate=1.0)
    moving = motion(kind, duration, seed)
    with BagWriter(path) as writer:
        for reading in readings(moving, true_robot(), used, moving.references.t[-1], seed):
            kept = reading if change is None else change(reading)
            if kept is not None:
                writer.write_message(kept.topic, kept.message, kept.log_ns)
    return path
