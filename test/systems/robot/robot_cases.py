"""Recordings of simulated arms as the reader would give them, and changes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.plant import equations_of_motion
from veh_identification.simulation.robot.scenarios import (
    Arm,
    ArmSensors,
    Payload,
    exciting_motion,
    measured,
)
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.estimate import Estimate, estimate
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.systems.robot.setup import set_up
from veh_identification.types import Array

URDF = share_directory() / 'config' / 'models' / 'arm_6_axis.urdf'
SECONDS = 24.0


def as_recording(
    name: str, joints: tuple[str, ...], stamps: Array, position: Array, effort: Array
) -> ArmRecording:
    """Columns as the reader names them."""
    names = [f'{what}[{joint}]' for what in ('position', 'effort') for joint in joints]
    series = TimeSeries(stamps, np.column_stack([position, effort]), names, [''] * len(names))
    return ArmRecording(name, 'joint_states', joints, series, (), ())


def recorded(
    arm: Arm,
    name: str,
    seed: int,
    payload: Payload | None = None,
    sensors: ArmSensors | None = None,
) -> ArmRecording:
    """The arm under its controller."""
    plant = arm.plant
    if payload is not None:
        plant = plant.loaded(payload.mass, payload.centre, payload.inertia)
    times = np.arange(round(SECONDS * arm.drive.control_rate)) / arm.drive.control_rate
    wanted = exciting_motion(arm.nominal, times, seed)
    made = run(plant, arm.nominal, arm.friction, arm.drive, wanted)
    sides = measured(made, sensors or ArmSensors(), arm.nominal.effort, seed)
    return as_recording(name, plant.joints, *sides)


def ideal(
    arm: Arm, name: str, seed: int, seconds: float = 16.0, noise: float = 0.003
) -> tuple[ArmRecording, Array, Array]:
    """The arm exactly on its path, efforts with white noise; also its speeds, accelerations."""
    times = np.arange(round(seconds * 200.0)) / 200.0
    q, qd, qdd = exciting_motion(arm.nominal, times, seed)
    friction, effort = arm.friction, np.empty_like(q)
    for k in range(len(q)):
        M, c = equations_of_motion(arm.plant, q[k], qd[k])
        effort[k] = M @ qdd[k] + c + arm.drive.motor_inertia * qdd[k]
    effort += friction.offset + friction.viscous * qd + friction.coulomb * np.sign(qd)
    rng = np.random.default_rng([seed, 11])
    effort += noise * arm.nominal.effort * rng.standard_normal(effort.shape)
    return as_recording(name, arm.plant.joints, times, q, effort), qd, qdd


def changed(
    recording: ArmRecording, position: Array | None = None, effort: Array | None = None
) -> ArmRecording:
    """The recording with other positions or efforts."""
    q = recording.position if position is None else position
    tau = recording.effort if effort is None else effort
    values = np.column_stack([q, tau])
    return replace(recording, series=replace(recording.series, values=values))


def found(recordings: list[ArmRecording], **entries: object) -> Estimate:
    """The estimate with these entries of the configuration."""
    configuration = Configuration(**entries)  # type: ignore[arg-type]
    return estimate(set_up(load_robot(URDF), recordings, None, configuration))


def scores(made: Estimate, arm: Arm, names: set[str] | None = None) -> Array:
    """Errors over deviations; nan where the truth is not told."""
    truth = made.setup.model.values_of(arm.truth())
    count = len(truth)
    z = (made.value[:count] - truth) / np.sqrt(np.diag(made.covariance)[:count])
    return z if names is None else z[[name in names for name in made.names[:count]]]
