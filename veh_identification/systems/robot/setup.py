"""From recordings to rows: which joints move, which have efforts, loads, cut-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veh_identification.checks.standing import stands_left_out
from veh_identification.errors import EstimationError, UsageError
from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import listed
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.base_wrench import BaseWrench
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.unknowns import Load, State
from veh_identification.systems.robot.model import ArmModel, Dry, fixed_tree
from veh_identification.systems.robot.processing import (
    Rows,
    Signals,
    cutoff_of,
    excited_bands,
    on_grid,
    rows_of,
)
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.types import Array, BoolArray


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the estimate needs, and what was found on the way."""

    model: ArmModel
    signals: tuple[Signals, ...]
    rows: tuple[Rows, ...]
    masks: tuple[BoolArray, ...]  # of each recording: equations that count
    loads: tuple[Load, ...]
    state: State  # where the search begins
    cutoff_hz: float
    cutoff_reason: str
    locked: Mapping[str, float]
    validation: Rows | None
    validation_mask: BoolArray | None
    findings: tuple[Finding, ...]
    sensors: tuple[tuple[BaseWrench, ...], ...] = ()  # of each recording, below the base


def set_up(
    robot: Robot,
    recordings: Sequence[ArmRecording],
    unseen: ArmRecording | None,
    c: Configuration,
) -> Setup:
    """Joints, loads and rows of all recordings."""
    every = [*recordings, *([unseen] if unseen is not None else [])]
    findings = [one for recording in every for one in recording.findings]
    locked, told = locked_joints(robot, recordings, c)
    tree = fixed_tree(robot, locked)
    findings += [*told, *(Finding('note', 'urdf', text, robot.path) for text in tree.warnings)]
    masks, told = effort_masks(tree, recordings, c)
    findings += told
    measured = np.any(masks, axis=0)
    wrench = any(one.wrenches for one in recordings)
    if not measured.any() and not wrench:
        raise EstimationError(
            f'{listed([one.source for one in recordings])}: no joint that moves has efforts '
            '(sensor_msgs/JointState.effort): there is nothing to identify from'
        )
    model = ArmModel(robot, tree, np.array(c.gravity), measured, c, wrench)
    masks = [_with_base(mask, one, model) for mask, one in zip(masks, recordings, strict=True)]
    grids = [on_grid(one, model.joints, c.rate_hz, c.fundamental_hz, wrench) for one in recordings]
    for one, grid in zip(recordings, grids, strict=True):
        findings += stands_left_out(one.source, grid.stood, float(np.ptp(grid.stamps)))
    cutoff, reason = (c.cutoff_hz, 'as given') if c.cutoff_hz > 0.0 else cutoff_of(grids)
    loads = loads_of(model, recordings, c)
    links = {one.recording: one.link for one in loads}
    bands = excited_bands(grids)
    rows = [rows_of(model, one, cutoff, bands, links.get(one.name)) for one in grids]
    held_out, mask = None, None
    if unseen is not None:
        grid = on_grid(unseen, model.joints, c.rate_hz, base_wrench=wrench)
        held_out = rows_of(model, grid, cutoff, bands)
        mask = _with_base(effort_masks(tree, [unseen], c)[0][0], unseen, model)
    return Setup(
        model,
        tuple(grids),
        tuple(rows),
        tuple(masks),
        loads,
        first_state(model, loads, c),
        cutoff,
        reason,
        locked,
        held_out,
        mask,
        tuple(findings),
        tuple(one.wrenches for one in recordings),
    )


def _with_base(mask: BoolArray, recording: ArmRecording, model: ArmModel) -> BoolArray:
    """Which equations of a recording count, those of the base among them."""
    further = len(model.equations) - len(model.joints)
    return np.append(mask, np.full(further, bool(recording.wrenches)))


def locked_joints(
    robot: Robot, recordings: Sequence[ArmRecording], c: Configuration
) -> tuple[dict[str, float], list[Finding]]:
    """Joints that are not there or never move, with the position they are held at."""
    findings, locked = [], dict(c.locked_joints)
    moving = robot.moving_joints()
    for name in locked:
        if name not in moving:
            raise UsageError(f'locked_joints: {robot.path} has no moving joint "{name}"')
    missing = [
        name
        for name in moving
        if name not in locked and any(name in one.missing for one in recordings)
    ]
    if missing:
        locked |= dict.fromkeys(missing, 0.0)
        text = (
            f'{listed(missing)}: in the URDF but not in every recording, taken as held at 0; '
            'locked_joints may give other positions'
        )
        findings.append(Finding('warn', 'joints_missing', text, 'locked_joints'))
    resting = {}
    angles = {joint.name: joint.type != 'prismatic' for joint in robot.joints}
    for name in moving:
        if name in locked:
            continue
        values = [one.position[:, one.joints.index(name)] for one in recordings]
        span = max(float(np.ptp(np.quantile(v, [0.005, 0.995]))) for v in values)
        if span < c.lock_below * (1.0 if angles[name] else 0.1):
            resting[name] = float(np.median(np.concatenate(values)))
    if resting:
        text = f'{listed(list(resting))}: never moves, left out of the equations and held still'
        findings.append(Finding('note', 'joints_resting', text, 'lock_below'))
    return locked | resting, findings


def effort_masks(
    tree: TreeModel, recordings: Sequence[ArmRecording], c: Configuration
) -> tuple[list[BoolArray], list[Finding]]:
    """Joints of each recording whose efforts count: known, not told otherwise, not at rest."""
    joints, masks, findings = tree.coordinate_names, [], []
    for name in c.without_effort:
        if name not in joints:
            raise UsageError(f'without_effort: there is no moving joint "{name}"')
    for one in recordings:
        places = [one.joints.index(name) for name in joints]
        effort = one.effort[:, places]
        known = np.isfinite(effort).any(axis=0)
        constant = known & (
            np.nanmax(np.where(known, effort, 0.0), 0)
            == np.nanmin(np.where(known, effort, 0.0), 0)
        )
        span = np.ptp(np.quantile(one.position[:, places], [0.005, 0.995], axis=0), axis=0)
        still = known & (span < c.lock_below)
        named = np.array([name in c.without_effort for name in joints], dtype=bool)
        for mask, why in (
            (~known, 'has no effort'),
            (constant, 'has the same effort in every message'),
            (still & ~constant, 'does not move'),
        ):
            if (mask & ~named).any():
                who = listed([n for n, m in zip(joints, mask & ~named, strict=True) if m])
                text = f'{one.source}: {who} {why}: its equation is left out'
                level: Level = 'warn' if why.startswith('has the same') else 'note'
                findings.append(Finding(level, 'equation_left_out', text, f'{one.topic}.effort'))
        masks.append(known & ~constant & ~still & ~named)
    return masks, findings


def loads_of(
    model: ArmModel, recordings: Sequence[ArmRecording], c: Configuration
) -> tuple[Load, ...]:
    """Loads by recording; each must be there, and one recording must be without."""
    names = [one.name for one in recordings]
    loads = []
    for one in c.payloads:
        name = Path(one.recording).name
        if name not in names:
            raise UsageError(
                f'payloads: there is no recording {one.recording!r} among {", ".join(names)}'
            )
        loads.append(Load(name, model.load_link(one.link), one.known))
    unknown = {one.recording for one in loads if one.sought}
    if unknown and unknown >= set(names):
        raise EstimationError(
            f'{listed(sorted(unknown))}: every recording carries an unknown payload; at least one '
            'without it (or with a known one) is needed, for a payload cannot be told from the '
            'link that it is fixed to'
        )
    return tuple(loads)


def first_state(model: ArmModel, loads: Sequence[Load], c: Configuration) -> State:
    """Where the search for delay, widths and gains begins."""
    count = len(model.joints)
    gains, free = np.ones(count), np.zeros(count, bool)
    if c.effort == 'current':
        for j, name in enumerate(model.joints):
            gains[j] = c.gains.get(name, 1.0)
            free[j] = name not in c.gains and bool(model.measured[j])
        if free.any() and all(one.sought for one in loads) and not model.base_wrench:
            who = listed([n for n, f in zip(model.joints, free, strict=True) if f])
            raise EstimationError(
                f'effort is current and the gains of {who} are not known: gain and mass cannot be '
                'told apart from motion alone; give gains (N m/A at the joint), a recording '
                'with a load of known mass under payloads, or one with the wrench below the base'
            )
    shape = Dry(c.friction.width if c.friction.width > 0.0 else 0.02)
    seek_width = bool(c.friction.coulomb) and not c.friction.width > 0.0
    return State(
        c.effort_delay or 0.0,
        (shape,) * count,
        gains,
        c.effort_delay is None,
        model.measured & seek_width,
        free,
        base_delay_free=model.base_wrench,
    )


def a_priori_torque(model: ArmModel, rows: Rows) -> Array:
    """What the URDF's masses ask of the joints, without friction and drives (M, joints)."""
    columns = model.base.columns
    inertial = columns.values(model.tree)
    return np.asarray(rows.linear @ (model.base.full_to_base @ inertial))
