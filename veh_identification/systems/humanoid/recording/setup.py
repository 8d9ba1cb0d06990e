"""From files to a problem: URDF, recordings, sensors, joints that rest or are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from veh_identification.errors import InputError
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.checks.delays import corrected
from veh_identification.systems.humanoid.checks.explanations import check_frames
from veh_identification.systems.humanoid.checks.tare import tared
from veh_identification.systems.humanoid.checks.units import check_units
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.problem import Problem, make_problem
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.recording.joint_rest import resting_joints
from veh_identification.systems.humanoid.recording.odometry import gridded
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench, read_recording
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.types import Progress

# A joint that no message names is taken as resting at zero if it moves less than this share of
# the mass (fingers, eyes); any other one would spoil the estimate unseen.
MISSING_MASS_SHARE = 0.03


class JointFindingError(InputError):
    """The joints of a recording do not fit the URDF."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the estimation needs."""

    problem: Problem
    recordings: tuple[Recording, ...]
    raws: tuple[Raw, ...]
    validation: Raw | None
    locked: dict[str, float]
    notes: list[str] = field(default_factory=list)


def set_up(
    urdf: str | Path,
    bags: Sequence[str | Path],
    validate: str | Path | None,
    configuration: Configuration,
    progress: Progress | None = None,
) -> Setup:
    """Read everything, cut the tree at its sensors, lock what rests, bring all to grids."""
    robot = load_robot(urdf)
    notes: list[str] = []
    paths = [*bags, *([validate] if validate is not None else [])]
    recordings = [
        read_recording(bag, robot.moving_joints(), configuration, progress) for bag in paths
    ]
    for k, one in enumerate(recordings):
        notes.extend(f'{one.label}: {note}' for note in one.notes)
        if configuration.check_frames:
            check_units(one, robot)
        if configuration.tare:
            recordings[k], found = tared(one)
            notes.extend(found)
    robot = robot.cut_at(_cuts(robot, recordings, configuration, notes))
    locked = _locked(robot, recordings, configuration, notes)
    model = robot.model(locked)
    raws = [gridded(one, model, configuration) for one in recordings]
    notes.extend(
        f"{raw.label}: the robot's place on the plates comes from its IMU and legs; "
        "its drift and the plates' vertical offset are left open"
        for raw in raws
        if raw.inertial is not None
    )
    problem = make_problem(robot, model, configuration, raws[: len(bags)])
    if configuration.check_frames:
        for raw in raws:
            check_frames(problem, raw)
    if configuration.estimate_delays:
        recordings, raws, found = corrected(problem, recordings, raws)
        notes.extend(found)
    return Setup(
        problem,
        tuple(recordings[: len(bags)]),
        tuple(raws[: len(bags)]),
        raws[-1] if validate is not None else None,
        locked,
        notes,
    )


def _cuts(
    robot: Robot, recordings: Sequence[Recording], c: Configuration, notes: list[str]
) -> list[str]:
    """Links at which sensors on the robot cut the tree."""
    found: dict[str, Wrench] = {}
    for recording in recordings:
        for wrench in recording.wrenches:
            if not wrench.is_plate:
                found.setdefault(wrench.topic, wrench)
    cuts: list[str] = []
    for topic, wrench in found.items():
        if wrench.frame not in robot.links:
            raise InputError(
                f'{topic}: its frame {wrench.frame or "(no frame_id)"!r} is no link of '
                f"{robot.path}; name the sensor's link as sensors.{topic} in the configuration"
            )
        given = c.sensors.get(topic)
        cuts.extend(given.beyond if given is not None and given.beyond else [wrench.frame])
    beyond = robot.cut_at(cuts)
    if cuts and beyond.mass_beyond > 0.0:
        notes.append(
            f'left out beyond the sensors ({", ".join(cuts)}): '
            f'{beyond.mass_beyond:.4g} kg of CAD mass'
        )
    return cuts


def _locked(
    robot: Robot, recordings: Sequence[Recording], c: Configuration, notes: list[str]
) -> dict[str, float]:
    moving = robot.moving_joints()
    model: TreeModel = robot.model()
    locked = {name: value for name, value in c.locked_joints.items() if name in moving}
    for name in c.locked_joints:
        if name not in moving:
            raise JointFindingError(
                f'locked_joints names {name!r}, which is no moving joint of {robot.path}'
            )
    for one in recordings:
        unknown = [
            name
            for name in one.unknown_joints
            if name not in {joint.name for joint in robot.joints}
        ]
        if unknown:
            notes.append(
                f'{one.label}: joint_states names joints that {robot.path} does not '
                f'have, ignored: {", ".join(unknown)}'
            )
        for name in one.missing_joints:
            if name in locked or name not in moving:
                continue
            mass = robot.mass_moved_by(name)
            if mass > MISSING_MASS_SHARE * robot.total_mass:
                raise JointFindingError(
                    f'{one.label}: joint_states never gives the joint {name} of {robot.path}, '
                    f'which moves {mass:.3g} kg; record it, or lock it with locked_joints in the '
                    'configuration'
                )
            locked[name] = 0.0
            notes.append(
                f'{one.label}: joint_states never gives the joint {name}, which moves '
                f'only {mass:.2g} kg; it is held at 0'
            )
    angles = {name: model.coordinate_is_angle(k) for k, name in enumerate(model.coordinate_names)}
    rest = resting_joints(recordings, [n for n in moving if n not in locked], angles, c.lock_below)
    if rest:
        # Thousandths will do; adding zero turns -0.0 into 0.0.
        held = ', '.join(f'{name} {round(value, 3) + 0.0:.3f}' for name, value in rest.items())
        notes.append(f'joints that never move, locked: {held}')
    return {**locked, **rest}
