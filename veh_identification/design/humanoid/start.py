"""Where designed motions begin: a posture on bent legs over the middle of each support."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.design.humanoid.options import DesignOptions
from veh_identification.design.humanoid.stage import (
    JointLimits,
    Stage,
    StageLimits,
    sole_corners,
)
from veh_identification.design.humanoid.stance import BASE_NAMES, Stance, StanceMotion
from veh_identification.errors import UsageError
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.processing.odometry import foot_frames, foot_positions
from veh_identification.systems.humanoid.robot import Robot, parse_xml
from veh_identification.types import Array

BENT = 0.35  # rad from straight, with which legs begin
STRETCH = 0.94  # of the legs' length: straight legs cannot move the base
LIFT = 0.08  # of the legs' length
WANDERINGS = 12


def make_stages(robot: Robot, options: DesignOptions) -> list[Stage]:
    """The stages asked for."""
    model = robot.model(dict(options.locked_joints))
    feet = foot_frames(model, options.feet)
    if len(feet) != 2:
        raise UsageError(f'{robot.path}: two feet are needed, found {", ".join(feet)}')
    joints = joint_limits(robot, model, options)
    sole = options.sole or sole_size(robot, feet)
    start, places, height = _standing(model, feet, joints)
    limits = StageLimits(
        options.zmp_margin or 0.15 * min(sole),
        options.clearance or 0.02 * height,
        options.base_shift or 0.1 * height,
        options.base_turn,
    )
    stages = []
    for name in options.stages:
        supports = {'both': (0, 1), 'left': (0,), 'right': (1,)}[name]
        raised = places.copy()
        for k in range(2):
            raised[k, 2] += 0.0 if k in supports else LIFT * height
        home, posture = _balanced(model, feet, supports, raised, start, height)
        size = (float(sole[0]), float(sole[1]))
        stages.append(
            Stage(
                name,
                Stance(model, feet, supports, places),
                home,
                posture,
                sole_corners(places, size, supports),
                joints,
                limits,
            )
        )
    return stages


def joint_limits(robot: Robot, model: TreeModel, options: DesignOptions) -> JointLimits:
    """Shares of the URDF's limits; joints without limits get half a turn."""
    low, high = np.full(model.dof, -np.pi), np.full(model.dof, np.pi)
    velocity = np.full(model.dof, 10.0)
    for element in parse_xml(robot.text, robot.path).findall('joint'):
        limit: Any = element.find('limit')
        name = element.get('name', '')
        if limit is None or name not in model.coordinate_names:
            continue
        k = model.coordinate_index(name)
        a, b = float(limit.get('lower', 0.0)), float(limit.get('upper', 0.0))
        if b > a:
            low[k], high[k] = a, b
        velocity[k] = float(limit.get('velocity', 0.0)) or velocity[k]
    middle, half = 0.5 * (low + high), 0.5 * (high - low) * options.position_share
    return JointLimits(
        middle - half,
        middle + half,
        velocity * options.velocity_share,
        np.full(model.dof, options.acceleration),
    )


def sole_size(robot: Robot, feet: tuple[str, ...]) -> tuple[float, float]:
    """Length and width of the first box at or above the sole's link."""
    links = {e.get('name'): e for e in parse_xml(robot.text, robot.path).findall('link')}
    name = feet[0]
    for _ in range(4):
        for box in links[name].iter('box'):
            size = [float(one) for one in box.get('size', '').split()]
            if len(size) == 3:
                return size[0], size[1]
        parent = next(
            (j.parent for j in robot.joints if j.child == name and j.type == 'fixed'), None
        )
        if parent is None:
            break
        name = parent
    raise UsageError(
        f'{robot.path}: no box gives the size of the sole {feet[0]}; give sole: '
        '[length, width] in the configuration'
    )


def _standing(
    model: TreeModel, feet: tuple[str, ...], joints: JointLimits
) -> tuple[Array, Array, float]:
    """Bent joints to begin with, places of the soles under the hips, length of the legs."""
    straight = foot_positions(model, np.zeros((1, model.dof)), feet)[:, 0]
    height = float(-straight[:, 2].mean())
    if not height > 0.0:
        raise UsageError(f'{model.name}: the feet are not below the base link')
    legs = {
        k for name in feet for k in Stance(model, feet, (0, 1), straight).legs[feet.index(name)]
    }
    start = np.clip(
        0.0,
        joints.low + 0.15 * (joints.high - joints.low),
        joints.high - 0.15 * (joints.high - joints.low),
    )
    for k in legs:
        start[k] = np.clip(0.5 * (joints.low[k] + joints.high[k]), -BENT, BENT)
    places = straight.copy()
    places[:, 2] = 0.0
    places[:, 0] = places[:, 0].mean()
    return start, places, height


def _balanced(
    model: TreeModel,
    feet: tuple[str, ...],
    supports: tuple[int, ...],
    places: Array,
    start: Array,
    height: float,
) -> tuple[Array, Array]:
    """Home of the free coordinates and joints, with the weight over the middle of the support."""
    both = Stance(model, feet, (0, 1), places)
    free = np.concatenate([[0.0, 0.0, STRETCH * height, 0.0, 0.0, 0.0], start[both.free]])
    middle = places[list(supports), :2].mean(axis=0)
    posture = start
    for _ in range(WANDERINGS):
        # In small steps, so that the legs' angles stay on their branch.
        posture = both.joints(free[None], posture)[0]
        point = _static_point(both, free, posture)
        free[:2] += np.clip(middle - point, -0.25 * height, 0.25 * height)
    posture = both.joints(free[None], posture)[0]
    wanted = Stance(model, feet, supports, places)
    return np.concatenate([free[: len(BASE_NAMES)], posture[wanted.free]]), posture


def _static_point(stance: Stance, free: Array, posture: Array) -> Array:
    still = np.zeros((4, len(free)))
    made: StanceMotion = stance.motion(np.tile(free, (4, 1)), still, still, 1.0, posture)
    return made.zero_moment_point(stance.model)[0][0]
