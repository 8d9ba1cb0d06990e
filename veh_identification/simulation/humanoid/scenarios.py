"""Scenarios `humanoid-...`: bags of a small humanoid with their truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.multibody.inertia import PARAMETER_NAMES
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.humanoid.gait import Gait, References, bending, walking
from veh_identification.simulation.humanoid.hopping import JUMPS, RUN, HoppingMotion, Hops
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


#: Those who jump are filmed at some distance and lose markers; nobody has tared the plate.
JUMPING_SENSORS = HumanoidSensors(
    position_noise=0.0003,
    orientation_noise=0.001,
    lost_share=0.03,
    plate_rate=1000.0,
    plate_offset=(0.5, -0.3, 0.9, 0.03, -0.02, 0.01),
    mocap_gap=(2.0, 2.06),
)


def write_jump(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Jumps on both legs: flights, impacts on a compliant ground, markers that get lost."""
    return _write_hops(writer, JUMPS, duration, seed, noise, progress)


def write_run(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Running on the spot, from one leg to the other, with flights between."""
    return _write_hops(writer, RUN, duration, seed, noise, progress)


def _write_hops(
    writer: BagWriter, hops: Hops, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    robot = load_robot(robot_path())
    motion = HoppingMotion(robot, hops, duration, seed)
    sensors = JUMPING_SENSORS.scaled(noise)
    _write(writer, motion, robot, sensors, duration, seed, progress)
    flights = [[begin, end] for begin, end in motion.flights() if end - begin > 0.03]
    return {**truth(robot, motion, sensors), 'flights': flights}


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
    seconds = min(duration, float(references.t[-1]))
    _write(writer, motion, robot, sensors, seconds, seed, progress)
    return truth(robot, motion, sensors)


def _write(
    writer: BagWriter,
    motion: HumanoidMotion | HoppingMotion,
    robot: Robot,
    sensors: HumanoidSensors,
    duration: float,
    seed: int,
    progress: Progress,
) -> None:
    spoken = -1
    for reading in readings(motion, robot, sensors, duration, seed):
        writer.write_message(reading.topic, reading.message, reading.log_ns)
        second = (reading.log_ns - EPOCH_NS) // 1_000_000_000
        if second > spoken:
            spoken = second
            progress(second, round(duration))


def truth(
    robot: Robot, motion: HumanoidMotion | HoppingMotion, sensors: HumanoidSensors
) -> dict[str, Any]:
    """Parameters per link, plate pose, gait and sensor errors."""
    forces = motion.at(np.linspace(0.0, motion.references.t[-1], 2000)).feet
    loaded = [part[part[:, 2] > 1.0] for part in forces.values()]
    friction = max(float(np.max(np.hypot(f[:, 0], f[:, 1]) / f[:, 2])) for f in loaded)
    return {
        'urdf': Path(robot.path).name,
        'urdf_cad': robot_path(cad=True).name,
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
