"""How markers are mounted on the base: a place and a turn against the base link, by the soles.

A base pose that is that of a cluster of markers moves as the base turns, and with it every sole
that stands. Zeros of joints, exchanged joints and longer links do so too, but none of them as a
frame does that is fixed to the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.checks.explanation import Hypothesis, best_of
from veh_identification.findings import CONVINCING, Finding
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.checks.standing import ENOUGH, STEP, Standing
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.types import Array

#: How far markers are usually off (m, rad), and what soles that stand move by all the same (rms,
#: over the length of the legs): what the soles do not tell stays near zero.
USUAL, NOISE = np.array([0.1, 0.1, 0.1, 0.2, 0.2, 0.2]), 0.01
#: Sizes that are worth a word (m, rad).
SMALLEST_SHIFT, SMALLEST_TURN = 0.01, 0.02
ROUNDS = 3
#: Units of misfit that soles which stand do not reach.
MOVING = 0.1
#: What may be off at once: the place, the heading as well, the level as well.
KINDS = ((0, 1, 2), (0, 1, 2, 5), (0, 1, 2, 3, 4, 5))


def markers(comparison: Comparison) -> Iterator[Hypothesis[Raw]]:
    """Frames of markers that make the soles stand still, the simplest first."""
    if comparison.raw.imu is not None:
        return
    standing = Standing(comparison, clocks=False)
    if standing.seconds < ENOUGH:
        return
    for kind in KINDS:
        found = _fitted(standing, list(kind))
        shift, turn = float(np.linalg.norm(found[:3])), float(np.linalg.norm(found[3:]))
        if shift < SMALLEST_SHIFT:  # a mere turn is for the legs, whose deviations allow for it
            continue
        code = 'base_turned' if turn >= SMALLEST_TURN else 'base_shifted'
        yield Hypothesis(code, _words(found), _dismounted(found), 'base pose')


def marker_findings(comparison: Comparison, label: str) -> list[Finding]:
    """Where all fits but for soles that move a little: the frame that makes them stand, if any."""
    plain = comparison.as_it_is.all
    if not plain > MOVING:
        return []
    judged_ones = [
        (one, comparison.misfit(one.change(comparison.raw)).all) for one in markers(comparison)
    ]
    found = best_of(judged_ones, plain)
    if found.best is None or found.factor < CONVINCING:
        return []
    text = f'{label}: {found.best.text}; with that the soles stand {found.factor:.3g} times better'
    return [Finding('warn', found.best.code, text, f'{label}, base pose', found.factor)]


def dismounted(pose: Array, mount: Array) -> Array:
    """Poses (n, 7) of the base where those of markers are recorded that are mounted so (6,)."""
    base = Rotation.from_quat(pose[:, 3:]) * Rotation.from_rotvec(mount[3:]).inv()
    return np.hstack([pose[:, :3] - base.apply(mount[:3]), base.as_quat()])


def _dismounted(mount: Array) -> Callable[[Raw], Raw]:
    def change(raw: Raw) -> Raw:
        good = np.isfinite(raw.pose).all(axis=1)
        pose = raw.pose.copy()
        pose[good] = dismounted(raw.pose[good], mount)
        return replace(raw, pose=pose)

    return change


def _fitted(standing: Standing, places: list[int]) -> Array:
    """The mount (6,) with which soles stand best, by Gauss and Newton."""
    mount = np.zeros(6)
    for _ in range(ROUNDS):
        left = standing.with_pose(dismounted(standing.raw.pose, mount))
        columns = []
        for k in places:
            step = STEP * np.eye(6)[k]
            more, less = (
                standing.with_pose(dismounted(standing.raw.pose, mount + s * step))
                for s in (1.0, -1.0)
            )
            columns.append((more - less) / (2.0 * STEP))
        A = np.column_stack(columns)
        weight = NOISE**2 * len(left) / 6.0 / USUAL[places] ** 2 / len(left)
        normal = A.T @ A / len(left) + np.diag(weight)
        right = -A.T @ left / len(left) - weight * mount[places]
        mount[places] += np.linalg.solve(normal, right)
    return mount


def _words(mount: Array) -> str:
    place = ', '.join(f'{100.0 * one:.2g}' for one in mount[:3])
    turn = ', '.join(f'{one:.2g}' for one in np.degrees(mount[3:]))
    parts = [f'lies ({place}) cm from the origin of the base link'] if mount[:3].any() else []
    parts += [f'is turned by ({turn}) degrees against its axes'] if mount[3:].any() else []
    return (
        f'the base pose seems to be that of a frame of markers which {" and ".join(parts)}: give '
        'the pose of the link itself'
    )
