"""Recordings of a fleet of simulated arms and cars, for the benchmark and the tests of batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.scenarios import (
    Arm,
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
)

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
