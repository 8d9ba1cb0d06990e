"""Joints of the legs that the model holds still although the soles say that they move.

A joint that is never recorded, locked by the configuration, or whose encoder shows one value, is
no coordinate of the model any more: no change of the signals can put it right, and the search for
causes would blame its neighbours. So it is asked first: a foot that stands still and flat for most
of the time does so only with the joint's true angle, and one angle makes it both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.checks.explanation import OVERWHELMING
from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.checks.smooth import at_rows
from veh_identification.systems.humanoid.checks.soles import SOLE_SPEED, SOLE_TILT, Soles, Stance
from veh_identification.systems.humanoid.processing.odometry import foot_frames
from veh_identification.types import Array, IntArray

#: Feet stand for more than half of the time, so this share of the samples shows them standing.
STANDING = 0.4
#: Units of a foot that stands as it should.
STANDS = 0.15
#: Share of the mass that a joint must move to be worth a refusal.
LIGHT = 0.01
#: Radians by which a joint must be elsewhere.
SMALLEST = 0.05


def held_findings(
    comparison: Comparison, locked: Mapping[str, float], label: str
) -> list[Finding]:
    """The joint that explains best why a foot does not stand, if one that is held does."""
    raw, problem = comparison.raw, comparison.problem
    if not locked or raw.imu is not None or not len(comparison.rows):
        return []
    model = problem.robot.model()
    soles = Soles(model, foot_frames(model, problem.configuration.feet))
    around = np.unique(np.concatenate([comparison.rows + k for k in (-1, 0, 1)]))
    here = at_rows(raw, around)
    q = np.empty((len(around), model.dof))
    for k, name in enumerate(model.coordinate_names):
        q[:, k] = (
            locked[name]
            if name in locked
            else here.joints[:, problem.model.coordinate_index(name)]
        )
    free = replace(here, joints=q)
    inside: IntArray = np.searchsorted(around, comparison.rows).astype(np.int64)
    plain = _standing(soles, soles.stance(free, inside))
    best: tuple[float, str, Array] | None = None
    for name in locked:
        if name not in model.coordinate_names or _is_light(comparison, name):
            continue
        column = model.coordinate_index(name)
        angles = soles.flat_angles(free, column)
        for foot in np.flatnonzero(plain > STANDS):
            moved = q.copy()
            moved[:, column] += angles[foot]
            left = _standing(soles, soles.stance(replace(here, joints=moved), inside))[foot]
            factor = float(plain[foot] / max(left, 1e-9))
            size = float(np.percentile(np.abs(angles[foot]), 90.0))
            if size > SMALLEST and factor > (OVERWHELMING if best is None else best[0]):
                best = factor, name, moved[:, column]
    return [] if best is None else [_finding(label, locked, *best)]


def _is_light(comparison: Comparison, joint: str) -> bool:
    """Whether the joint moves so little (toes) that plates do not show where it is."""
    robot = comparison.problem.robot
    plates = all(one.is_plate for one in comparison.raw.sources)
    return plates and robot.mass_moved_by(joint) < LIGHT * robot.total_mass


def _finding(
    label: str, locked: Mapping[str, float], factor: float, name: str, angle: Array
) -> Finding:
    low, high = np.percentile(angle, [10.0, 90.0])
    text = (
        f'{label}: {name} is held at {locked[name]:.3g} rad, but a foot stands still and flat '
        f'only where it is between {low:.3g} and {high:.3g} rad, and then {factor:.3g} times '
        'better: its encoder is stuck, it is not recorded, or locked_joints holds it at the '
        'wrong place'
    )
    return Finding('bad', 'stuck', text, f'{label}, topic joint_states, joint {name}', factor)


def _standing(soles: Soles, stance: Stance) -> Array:
    """How badly each foot stands while it stands best (feet,), in units."""
    error = np.hypot(stance.speed / (SOLE_SPEED * soles.legs), stance.tilt / SOLE_TILT)
    return np.asarray(np.percentile(error, 100.0 * STANDING, axis=1))
