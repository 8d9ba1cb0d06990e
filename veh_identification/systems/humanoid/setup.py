"""From recordings to a problem: units and frames, sensors, joints that rest or lack, clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.checks.delays import corrected
from veh_identification.systems.humanoid.checks.described import check_described
from veh_identification.systems.humanoid.checks.explanations import FITS, Search
from veh_identification.systems.humanoid.checks.held_joints import held_findings
from veh_identification.systems.humanoid.checks.limits import limit_findings
from veh_identification.systems.humanoid.checks.sensors import channel_findings
from veh_identification.systems.humanoid.checks.standing import leg_errors, with_leg_errors
from veh_identification.systems.humanoid.checks.tare import tared
from veh_identification.systems.humanoid.checks.turned_over import turned_over
from veh_identification.systems.humanoid.checks.units import unit_findings
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.problem import Problem, make_problem
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.processing.odometry import gridded
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.recording.joint_rest import resting_joints
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench
from veh_identification.systems.humanoid.robot import Robot

# A joint that no message names is taken as resting at zero if it moves less than this share of
# the mass (fingers, eyes); any other one would spoil the estimate unseen.
MISSING_MASS_SHARE = 0.03
NO_MOMENT = 1e-6  # m: moments over forces of a sensor that has no moments


class JointFindingError(InputError):
    """The joints of a recording do not fit the URDF."""


class ImplausibleError(InputError):
    """A recording contradicts itself, the robot or the world."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the estimation needs."""

    problem: Problem
    recordings: tuple[Recording, ...]
    raws: tuple[Raw, ...]
    validation: Raw | None
    locked: dict[str, float]
    findings: list[Finding] = field(default_factory=list)


def set_up(
    robot: Robot,
    recordings: Sequence[Recording],
    validation: Recording | None,
    configuration: Configuration,
) -> Setup:
    """Check the recordings, cut the tree at sensors, lock what rests, bring all to grids."""
    every = [*recordings, *([validation] if validation is not None else [])]
    findings = [finding for one in every for finding in one.findings]
    findings += check_described(robot, configuration)
    if configuration.check_frames:
        _refuse(finding for one in every for finding in unit_findings(one, robot))
    made = _assembled(robot, every, len(recordings), configuration)
    found, raws = list(made.recordings), list(made.raws)
    if configuration.check_frames:
        for k, one in enumerate(every):
            told, doubt = plausibility(made.problem, one, raws[k], made.locked)
            _refuse(told)
            findings += told
            raws[k] = replace(raws[k], doubt=doubt)
    findings += made.findings
    if configuration.estimate_delays:
        found, raws, late = corrected(made.problem, found, raws)
        findings += late
    count = len(recordings)
    return replace(
        made,
        recordings=tuple(found[:count]),
        raws=tuple(raws[:count]),
        validation=raws[-1] if validation is not None else None,
        findings=findings,
    )


def check(robot: Robot, recording: Recording, configuration: Configuration) -> list[Finding]:
    """What can be said of one recording before anything is identified from it."""
    findings = [*recording.findings, *check_described(robot, configuration)]
    if configuration.check_frames:
        findings += unit_findings(recording, robot)
    if any(one.level == 'bad' for one in findings):
        return findings  # in other units nothing else makes sense
    made = _assembled(robot, [recording], 1, configuration)
    findings += made.findings
    if configuration.check_frames:
        findings += plausibility(made.problem, recording, made.raws[0], made.locked)[0]
    if configuration.estimate_delays and not any(one.level == 'bad' for one in findings):
        findings += corrected(made.problem, made.recordings, made.raws)[2]
    return findings


def plausibility(
    problem: Problem, recording: Recording, raw: Raw, locked: Mapping[str, float]
) -> tuple[list[Finding], Doubt | None]:
    """Units, signs, sides and frames by what they explain; stuck and saturated channels.

    Also errors of the legs, which are not put right: what they do to the equations.
    """
    search = Search(Comparison(problem, raw), raw.label)
    first = before_search(search, recording, locked)
    if any(one.level == 'bad' for one in first):
        return first, None
    search.step()
    findings = [*first, *search.findings()]
    if any(one.level == 'bad' for one in findings):
        return findings, None
    # Clocks that differ are put right afterwards, where that is wanted.
    clocks = not problem.configuration.estimate_delays
    told, doubt = leg_errors(search.comparison, search.label, clocks)
    return with_leg_errors(findings, told), doubt


def before_search(
    search: Search, recording: Recording, locked: Mapping[str, float], *, filtered: bool = False
) -> list[Finding]:
    """What stands before any other cause: channels and joints that are stuck or saturated."""
    comparison = search.comparison
    doubtful = comparison.as_it_is.all > FITS
    found = channel_findings(recording, doubtful, comparison.weight, filtered=filtered)
    if any(one.level == 'bad' for one in found):
        return found
    told = {one.where for one in found}  # of a joint that jumps, its limits say no more
    beyond = limit_findings(recording, comparison.problem.robot)
    found += [one for one in beyond if one.where not in told]
    found += turned_over(recording, comparison.problem.robot)
    return [*found, *held_findings(comparison, locked, search.label)]


def _refuse(findings: Iterable[Finding]) -> None:
    for one in findings:
        if one.level == 'bad':
            raise ImplausibleError(one.text)


def _assembled(robot: Robot, every: Sequence[Recording], count: int, c: Configuration) -> Setup:
    """All recordings on grids; the first `count` of them make the problem."""
    findings: list[Finding] = []
    recordings = list(every)
    if c.tare:
        for k, one in enumerate(every):
            recordings[k], found = tared(one, _soles(robot, one))
            findings += found
    cuts, left_out = _cuts(robot, recordings, c)
    robot = robot.cut_at(cuts)
    locked, joints = _locked(robot, recordings, c)
    model = robot.model(locked)
    raws = [gridded(one, model, c) for one in recordings]
    findings += [
        *left_out,
        *joints,
        *(Finding('warn', 'link_inertia_odd', text, robot.path) for text in model.warnings),
        *(_from_legs(raw.label) for raw in raws if raw.inertial is not None),
    ]
    problem = make_problem(robot, model, c, raws[:count])
    return Setup(problem, tuple(recordings), tuple(raws), None, locked, findings)


def _from_legs(label: str) -> Finding:
    """Deviations allow for it."""
    return Finding(
        'note',
        'place_from_legs',
        f"{label}: the robot's place on the plates comes from its IMU and legs; "
        "its drift and the plates' vertical offset are left open",
        label,
    )


def _cuts(
    robot: Robot, recordings: Sequence[Recording], c: Configuration
) -> tuple[list[str], list[Finding]]:
    """Links at which sensors on the robot cut the tree."""
    found: dict[str, Wrench] = {}
    for recording in recordings:
        for wrench in recording.wrenches:
            if not wrench.is_plate:
                found.setdefault(wrench.topic, wrench)
    cuts: list[str] = []
    touching: list[str] = []
    for topic, wrench in found.items():
        if wrench.frame not in robot.links:
            raise InputError(
                f'{topic}: its frame {wrench.frame or "(no frame_id)"!r} is no link of '
                f"{robot.path}; name the sensor's link as sensors.{topic} in the configuration"
            )
        given = c.sensors.get(topic)
        named = given is not None and bool(given.beyond)
        if not named and _touches_ground(wrench) and robot.subtree(wrench.frame) == [wrench.frame]:
            touching.append(wrench.frame)
            continue
        cuts.extend(given.beyond if given is not None and named else [wrench.frame])
    findings = []
    if any(name in robot.parameters for name in touching):
        text = (
            f'{", ".join(touching)}: forces without any moment, so these links touch the ground '
            'there and belong to what is identified'
        )
        findings.append(Finding('note', 'point_contacts', text, f'{robot.path}'))
    beyond = robot.cut_at(cuts)
    if not cuts or not beyond.mass_beyond > 0.0:
        return cuts, findings
    text = (
        f'left out beyond the sensors ({", ".join(cuts)}): {beyond.mass_beyond:.4g} kg of CAD mass'
    )
    where = f'{robot.path}, {", ".join(cuts)}'
    return cuts, [*findings, Finding('note', 'mass_beyond_sensors', text, where)]


def _soles(robot: Robot, recording: Recording) -> list[str]:
    """Topics of sensors on the robot beyond which nothing has mass."""
    on_links = [w for w in recording.wrenches if not w.is_plate and w.frame in robot.links]
    return [
        one.topic
        for one in on_links
        if not any(name in robot.parameters for name in robot.subtree(one.frame))
    ]


def _touches_ground(wrench: Wrench) -> bool:
    """Whether it is a force at a point: no sensor within a leg is free of moments."""
    force, moment = wrench.series.values[:, :3], wrench.series.values[:, 3:]
    return float(np.abs(moment).max()) <= NO_MOMENT * float(np.abs(force).max())


def _locked(
    robot: Robot, recordings: Sequence[Recording], c: Configuration
) -> tuple[dict[str, float], list[Finding]]:
    """Joints that are held still: as configured, never recorded, or never moving."""
    moving = robot.moving_joints()
    for name in c.locked_joints:
        if name not in moving:
            raise JointFindingError(
                f'locked_joints names {name!r}, which is no moving joint of {robot.path}'
            )
    locked, findings = dict(c.locked_joints), list[Finding]()
    for one in recordings:
        findings += _unknown_joints(robot, one)
        absent = [name for name in one.missing_joints if name in moving and name not in locked]
        findings += [_held(robot, one.label, name) for name in absent]
        locked.update(dict.fromkeys(absent, 0.0))
    model: TreeModel = robot.model()
    angles = {name: model.coordinate_is_angle(k) for k, name in enumerate(model.coordinate_names)}
    rest = resting_joints(recordings, [n for n in moving if n not in locked], angles, c.lock_below)
    if rest:
        # Thousandths will do; adding zero turns -0.0 into 0.0.
        held = ', '.join(f'{name} {round(value, 3) + 0.0:.3f}' for name, value in rest.items())
        text = f'joints that never move, locked: {held}'
        findings.append(Finding('note', 'joints_locked', text, ', '.join(rest)))
    if rest and not [name for name in moving if name not in {**locked, **rest}]:
        findings.append(none_moves(len(rest)))
    return {**locked, **rest}, findings


def none_moves(count: int) -> Finding:
    """A robot that stands like a statue tells one body; more likely nobody fills its positions."""
    text = (
        f'none of the {count} joints that are recorded moves: positions that nobody fills, or a '
        'robot that is held rigid. A robot that is meant to be rigid has its joints under '
        'locked_joints'
    )
    return Finding('bad', 'stuck', text, 'topic joint_states, position')


def _unknown_joints(robot: Robot, recording: Recording) -> list[Finding]:
    """Parts that move and that the model does not have."""
    known = {joint.name for joint in robot.joints}
    unknown = [name for name in recording.unknown_joints if name not in known]
    if not unknown:
        return []
    text = (
        f'{recording.label}: joint_states names joints that {robot.path} does not '
        f'have, ignored: {", ".join(unknown)}'
    )
    where = f'{recording.label}, topic joint_states'
    return [Finding('warn', 'joints_unknown', text, where)]


def _held(robot: Robot, label: str, name: str) -> Finding:
    """A joint that no message gives: held at zero where it moves little, else refused."""
    mass = robot.mass_moved_by(name)
    if mass > MISSING_MASS_SHARE * robot.total_mass:
        raise JointFindingError(
            f'{label}: joint_states never gives the joint {name} of {robot.path}, '
            f'which moves {mass:.3g} kg; record it, or lock it with locked_joints in the '
            'configuration'
        )
    return Finding(
        'warn',
        'joint_held',
        f'{label}: joint_states never gives the joint {name}, which moves '
        f'only {mass:.2g} kg; it is held at 0',
        f'{label}, topic joint_states, joint {name}',
    )
