"""Recordings of a fleet of simulated arms and cars, for the benchmark and the tests of batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.car.manoeuvres import KMH, Manoeuvre
from veh_identification.simulation.car.messages import readings, static_transforms
from veh_identification.simulation.car.scenarios import default_configuration, run_sensors
from veh_identification.simulation.car.vehicle import Vehicle, random_vehicle
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.scenarios import (
    Arm,
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
)
from veh_identification.simulation.sensors import EPOCH_NS

WEEK_NS = 7 * 24 * 3600 * 1_000_000_000
FIRST_NS = 1_700_000_000_000_000_000
URDF = 'arm_6_axis.urdf'
#: Factor on the viscous friction of the third joint of a worn arm.
WEAR = 1.2


def worn(arm: Arm, factor: float = WEAR) -> Arm:
    """The same arm whose third joint rubs more."""
    viscous = arm.friction.viscous.copy()
    viscous[2] *= factor
    return replace(arm, friction=replace(arm.friction, viscous=viscous))


def write_arm(out: Path, arm: Arm, week: int, seed: int, seconds: float = 6.0) -> None:
    """One recording of an arm, dated by its week."""
    times = np.arange(round(seconds * arm.drive.control_rate)) / arm.drive.control_rate
    wanted = exciting_motion(arm.nominal, times, seed, 1.0 / seconds)
    made = run(arm.plant, arm.nominal, arm.friction, arm.drive, wanted)
    stamps, position, effort = measured(made, ArmSensors(), arm.nominal.effort, seed)
    start = FIRST_NS + week * WEEK_NS
    out.parent.mkdir(parents=True, exist_ok=True)
    with BagWriter(out, custom_data={'serial': out.parent.name}) as writer:
        for k, moment in enumerate(stamps):
            stamp = start + round(1e9 * moment)
            message = messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, 'base_link'),
                name=list(arm.plant.joints),
                position=position[k],
                velocity=[],
                effort=effort[k],
            )
            writer.write_message('joint_states', message, stamp)
    truth = {'parameters': arm.truth()}
    (out / 'truth.json').write_text(json.dumps(truth), encoding='utf-8')


def write_arms(
    folder: Path,
    machines: int,
    weeks: int,
    *,
    seconds: float = 6.0,
    worn_machine: int = -1,
    worn_from: int = 0,
    only: Sequence[int] = (),
) -> int:
    """A recording a week of each arm; one arm may wear from a week on. Known ones are kept."""
    written = 0
    for machine in range(machines):
        arm = random_arm(URDF, machine)
        for week in only or range(weeks):
            out = folder / f'arm_{machine:02d}' / f'week_{week:03d}'
            if not out.exists():
                is_worn = machine == worn_machine and week >= worn_from
                seed = 1000 * machine + week
                write_arm(out, worn(arm) if is_worn else arm, week, seed, seconds)
                written += 1
    return written


# Cars -------------------------------------------------------------------------------------------


def softer(car: Vehicle, share: float) -> Vehicle:
    """The same car whose spring front left lost a share of its stiffness."""
    first, *others = car.corners
    first = replace(first, stiffness=(1.0 - share) * first.stiffness)
    return replace(car, corners=(first, *others))  # type: ignore[arg-type]


def write_car(out: Path, car: Vehicle, week: int, seed: int, seconds: float) -> None:
    """One recording of sine steering, dated by its week."""
    description = default_configuration()
    speed = (90.0, 105.0, 120.0)[seed % 3]
    manoeuvre = Manoeuvre('sine', speed * KMH, frequency=0.5, lateral=4.0)
    _, streams, _ = run_sensors(description, manoeuvre, seconds, seed, vehicle=car)
    later = FIRST_NS + week * WEEK_NS - EPOCH_NS
    out.parent.mkdir(parents=True, exist_ok=True)
    with BagWriter(out, custom_data={'serial': out.parent.name}) as writer:
        writer.write_message('/tf_static', static_transforms(description), EPOCH_NS + later)
        for reading in readings(streams):
            stamp = reading.message.header.stamp
            nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec + later
            stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)
            writer.write_message(reading.topic, reading.message, reading.log_ns + later)
    truth = {'parameters': car.parameters()}
    (out / 'truth.json').write_text(json.dumps(truth), encoding='utf-8')


def write_cars(
    folder: Path,
    machines: int,
    weeks: int,
    *,
    seconds: float,
    soft_machine: int = -1,
    soft_from: int = 0,
    share: float = 0.02,
) -> int:
    """A recording a week of each car; a spring of one may lose its share. Known ones are kept."""
    written = 0
    geometry = default_configuration().geometry
    for machine in range(machines):
        car = random_vehicle(machine, geometry)
        for week in range(weeks):
            out = folder / f'car_{machine:02d}' / f'week_{week:03d}'
            if not out.exists():
                is_soft = machine == soft_machine and week >= soft_from
                seed = 1000 * machine + week
                write_car(out, softer(car, share) if is_soft else car, week, seed, seconds)
                written += 1
    return written
