"""Scenarios `humanoid-walk` and `humanoid-bend`: bags of a small humanoid with their truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.multibody.inertia import PARAMETER_NAMES
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.humanoid.gait import Gait, References, bending, walking
from veh_identification.simulation.humanoid.motion import HumanoidMotion
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.types import Progress


def robot_path(cad: bool = False) -> Path:
    """The URDF of the simulated humanoid, or its CAD variant."""
    name = 'ut_mu2_like_cad.urdf' if cad else 'ut_mu2_like.urdf'
    return share_directory() / 'config' / 'models' / name


def write_walk(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Walking: `duration` seconds with a step every half second, arms held still."""
    return write_motion(
        writer,
        walking(duration, seed=seed),
        HumanoidSensors().scaled(noise),
        duration,
        seed,
        progress,
    )


def write_bend(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Slow bending of the trunk about x, y and z over both feet."""
    return write_motion(
        writer,
        bending(duration, seed=seed),
        HumanoidSensors().scaled(noise),
        duration,
        seed,
        progress,
    )


def write_walk_with_arms(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Walking with swinging arms: all 26 degrees of freedom move."""
    return write_motion(
        writer,
        walking(duration, Gait(arms=0.5), seed),
        HumanoidSensors().scaled(noise),
        duration,
        seed,
        progress,
    )


def write_motion(
    writer: BagWriter,
    references: References,
    sensors: HumanoidSensors,
    duration: float,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Simulate any references with any sensors; returns the truth."""
    robot = load_robot(robot_path())
    motion = HumanoidMotion(robot.model(), references)
    spoken = -1
    for reading in readings(motion, robot, sensors, min(duration, references.t[-1]), seed):
        writer.write_message(reading.topic, reading.message, reading.log_ns)
        second = (reading.log_ns - EPOCH_NS) // 1_000_000_000
        if second > spoken:
            spoken = second
            progress(second, round(duration))
    return truth(robot, motion, sensors)


def truth(robot: Robot, motion: HumanoidMotion, sensors: HumanoidSensors) -> dict[str, Any]:
    """Parameters per link, plate pose, gait and sensor errors."""
    forces = motion.at(np.linspace(0.0, motion.references.t[-1], 2000)).feet
    loaded = [part[part[:, 2] > 1.0] for part in forces.values()]
    friction = max(float(np.max(np.hypot(f[:, 0], f[:, 1]) / f[:, 2])) for f in loaded)
    return {
        'urdf': Path(robot.path).name,
        'total_mass': robot.total_mass,
        'parameters': {
            f'{link}.{name}': float(value)
            for link, values in robot.parameters.items()
            for name, value in zip(PARAMETER_NAMES, values, strict=True)
        },
        'steps': motion.references.steps,
        'phases': [[float(a), float(b), what] for a, b, what in motion.references.phases],
        'friction_needed': friction,
        'smallest_foot_load': float(min(part[:, 2].min() for part in forces.values())),
        'sensors': asdict(sensors),
    }
