"""Zeros and gains of the legs' joints and lengths of their links, by soles that stand.

A sole that stands stays where it is, as level and as high as all that stand. Where joints and base
say otherwise, one cause is looked for that makes them stand still: the zero of a joint, its gain,
a zero that wanders, a link of another length than in the URDF, one gain of all joints, a base
that is turned about its vertical axis against its link, a world that is not level, or clocks of
base and joints that differ.
The wrench shows such errors only as parameters that follow them, several of their deviations off,
in a fit that looks good.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.checks.explanation import (
    CLEARLY_LESS,
    MAYBE,
    Hypothesis,
    best_of,
    explanation_findings,
)
from veh_identification.findings import Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.checks.comparison import Comparison, weight_over
from veh_identification.systems.humanoid.checks.hypotheses import ANGLES, mirrored_pairs
from veh_identification.systems.humanoid.checks.smooth import at_rows
from veh_identification.systems.humanoid.checks.soles import SOLE_SPEED, Soles
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.types import Array, IntArray

#: Seconds that a sole must stand to count, and samples of all that are looked at.
SHORTEST, MOST_SAMPLES = 0.15, 300
#: A wrong leg makes its sole slide: the slowest fifth stands in any case, give or take a half.
SLOWEST, SLOWER = 20.0, 1.5
#: Radians (rms) by which soles turn while they stand from which on they are points or roll, and
#: only their places count.
ROLLS = 0.2
#: A link counts from this share of the legs' length on.
SHORTEST_LINK = 0.1
#: Steps of the differences, and how often the best causes are fitted again: errors may be large.
STEP, FITTED_AGAIN, BEST = 1e-4, 4, 8
#: What is worth a word and what can be an error, of each kind: radians (metres), shares, seconds.
SMALLEST, LARGEST = (
    {'zero': 0.01, 'gain': 0.02, 'drift': 0.02, 'length': 0.02}
    | {'gains': 0.02, 'turn': 0.02, 'tilt': 0.03, 'late': 0.005},
    {'zero': 1.2, 'gain': 8.0, 'drift': 1.2, 'length': 0.5}
    | {'gains': 0.5, 'turn': 0.6, 'tilt': 0.6, 'late': 0.2},
)
#: Share by which a gain may miss that of another unit, or of the opposite sign, to be called so.
SAME_GAIN = 0.05
#: Radians by which plates may stand askew that soles on them should be level.
LEVEL = 0.03
#: What must be left once the cause is put right (rms of radians and of the legs' length), and for
#: how many seconds feet must stand in all. Feet of people roll and slide in their shoes, and on a
#: treadmill none stands: there nothing is told.
STANDS, ENOUGH = 0.01, 2.0
#: Places of x, y and heading, free for each stance, and of height and level, common to all.
FREE, COMMON = [0, 1, 5], [2, 3, 4]


@dataclass(frozen=True)
class LegError:
    """One thing that may be wrong by some amount; what is added to put it right."""

    kind: str
    places: tuple[int, ...]  # of the coordinate, or of the bodies whose links are longer
    names: tuple[str, ...]  # of the joints
    unit: str = ''
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)  # of the world, about which that is tilted

    def joints(self, raw: Raw, rows: IntArray | slice, size: float) -> Array:
        """Positions (n, dof) at some samples as they would be."""
        q = raw.joints[rows]
        if self.kind in ('length', 'turn', 'tilt'):
            return q
        if self.kind == 'late':
            return later(raw, size)[rows]
        when = (raw.stamps[rows] - raw.stamps[0]) / np.ptp(raw.stamps)
        moved = q.copy()
        if self.kind == 'gains':
            moved[:, list(self.places)] *= 1.0 + size
        else:
            moved[:, self.places[0]] += size * self.share(q, when)
        return moved

    def pose(self, pose: Array, size: float) -> Array:
        """Poses of the base (n, 7) as they would be."""
        if self.kind not in ('turn', 'tilt'):
            return pose
        now = Rotation.from_quat(pose[:, 3:])
        turn = Rotation.from_rotvec(size * np.array(self.axis))
        if self.kind == 'turn':
            return np.hstack([pose[:, :3], (now * turn).as_quat()])
        return np.hstack([turn.apply(pose[:, :3]), (turn * now).as_quat()])

    def share(self, q: Array, when: Array) -> Array:
        """By how much the joint moves (n,) for a size of one."""
        return {'zero': np.ones_like(when), 'gain': q[:, self.places[0]], 'drift': when}[self.kind]

    def model(self, model: TreeModel, size: float) -> TreeModel:
        """The model as it would be."""
        if self.kind != 'length':
            return model
        translation = model.translation.copy()
        translation[list(self.places)] *= 1.0 + size
        return replace(model, translation=translation)

    def told(self, size: float) -> tuple[str, str, str]:
        """Code, sentence and place."""
        name = ', '.join(self.names)
        where = f'topic joint_states, joint {name}'
        if self.kind == 'zero':
            text = f'the zero of {name} seems to be {-size:.3g} {self.unit} off in joint_states'
            return 'joint_zero', text, where
        if self.kind == 'drift':
            text = (
                f'the zero of {name} seems to wander by {-size:.3g} {self.unit} over the '
                'recording in joint_states'
            )
            return 'joint_drift', text, where
        if self.kind == 'turn':
            text = (
                f'the base pose seems to be turned by {np.degrees(-size):.2g} degrees about the '
                'vertical axis of its link (markers that are mounted askew)'
            )
            return 'base_turned', text, 'topic base/pose, orientation'
        if self.kind == 'tilt':
            text = (
                f'the world of the base pose seems to be {np.degrees(abs(size)):.2g} degrees '
                'askew, as the soles that stand are'
            )
            return 'base_tilted', text, 'topic base/pose'
        if self.kind == 'late':
            late, early = 'joint_states', 'base/pose'
            if size < 0.0:
                late, early = early, late
            text = (
                f'the stamps of {late} are {1e3 * abs(size):.2g} ms late against those of {early}'
            )
            return 'stamps_delayed', text, f'stamps of {late} and {early}'
        if self.kind == 'gains':
            shown = 1.0 / (1.0 + size)
            text = f'all joints of the legs seem to show {shown:.3g} times their angles'
            return 'joint_scale', f'{text} in joint_states', 'topic joint_states, position'
        if self.kind == 'gain':
            return *self._gain(name, 1.0 + size), where
        share = f'{100.0 * abs(1.0 / (1.0 + size) - 1.0):.2g} % too {_long(size)}'
        text = f'the link up to {name} seems to be {share} in the URDF (its origin)'
        return 'link_length', text, f'URDF, origin of {name}'

    def _gain(self, name: str, gain: float) -> tuple[str, str]:
        """Code and words of a joint that must be multiplied by a gain."""
        if abs(gain + 1.0) < SAME_GAIN:
            return 'joint_sign', f'{name} seems to have the opposite sign in joint_states'
        for unit, angle in ANGLES.items() if self.unit == 'rad' else ():
            if abs(gain / angle - 1.0) < SAME_GAIN:
                text = f'{name} seems to be in {unit} in joint_states, it must be in rad'
                return 'unit', text
        text = f'{name} seems to show {1.0 / gain:.3g} times its angle in joint_states'
        return 'joint_scale', text


def _long(size: float) -> str:
    return 'long' if size < 0.0 else 'short'


class Standing:
    """Soles of one recording while they stand."""

    def __init__(self, comparison: Comparison, clocks: bool = True) -> None:
        """`clocks`: whether those of base and joints may differ."""
        self.comparison, self.soles, self.clocks = comparison, comparison.soles, clocks
        raw = comparison.raw
        valid: IntArray = np.flatnonzero(raw.valid).astype(np.int64)
        inside = valid[(valid > 0) & (valid < len(raw.stamps) - 1)]
        self.stances = [*_stances(self.soles, raw, inside)] if len(inside) else []
        count = sum(len(rows) for _, rows in self.stances)
        self.seconds = count / raw.rate  # of all feet together
        every = max(1, -(-count // MOST_SAMPLES))
        self.stances = [(foot, rows[::every]) for foot, rows in self.stances]
        rows = [rows for _, rows in self.stances]
        self.rows = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self.raw = at_rows(raw, self.rows)
        self.when = (self.raw.stamps - raw.stamps[0]) / np.ptp(raw.stamps)

    @cached_property
    def _feet(self) -> Array:
        return np.repeat([foot for foot, _ in self.stances], self._lengths)

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(rows) for _, rows in self.stances]

    @cached_property
    def _base(self) -> Array:
        return rotation_matrix(self.raw.pose[:, 3:])

    def _poses(self, q: Array, model: TreeModel, pose: Array | None = None) -> Array:
        """Of the sole that stands (n, 6): place over the legs' length, level, heading."""
        soles, each = self.soles, np.arange(len(q))
        base = self._base if pose is None else rotation_matrix(pose[:, 3:])
        pose = self.raw.pose if pose is None else pose
        places, turns = soles.with_model(model).in_base(np.ascontiguousarray(q))
        arm = np.einsum('nij,nj->ni', base, places[self._feet, each])
        place = pose[:, :3] + arm
        turn = base @ turns[self._feet, each]
        level = np.einsum('nij,nj->ni', turn, soles.flat[self._feet])
        ahead = np.einsum('nij,nj->ni', turn, _ahead(soles.flat)[self._feet])
        heading = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
        return np.column_stack([place / soles.legs, level[:, :2], heading])

    def _about_means(self, poses: Array) -> Array:
        """What differs within each stance (x, y, heading) and between all (height, level)."""
        made = poses - poses.mean(axis=0)
        start = 0
        for length in self._lengths:
            part = made[start : start + length]
            part[:, FREE] -= part[:, FREE].mean(axis=0)
            start += length
        return made

    @cached_property
    def _counted(self) -> list[int]:
        """Places of what counts: points turn while they stand."""
        made = self._about_means(self._poses(self.raw.joints, self.soles.model))
        rolls = float(np.sqrt(np.square(made[:, 3:]).mean()))
        return [0, 1, 2] if rolls > ROLLS else [*range(6)]

    def errors(self, error: LegError | None = None, size: float = 0.0) -> Array:
        """How far from standing still the soles are, with one thing put right."""
        if error is None:
            return self._told(self._poses(self.raw.joints, self.soles.model))
        return self._told(self._poses_without(error, size))

    def with_pose(self, pose: Array) -> Array:
        """The same with other poses (n, 7) of the base."""
        return self._told(self._poses(self.raw.joints, self.soles.model, pose))

    def _poses_without(self, error: LegError, size: float) -> Array:
        """`_poses` with one thing put right."""
        changed = error.pose(self.raw.pose, size)
        pose = None if changed is self.raw.pose else changed
        q = error.joints(self.comparison.raw, self.rows, size)
        return self._poses(q, error.model(self.soles.model, size), pose)

    def _told(self, poses: Array) -> Array:
        return self._about_means(poses)[:, self._counted].ravel()

    def _columns(self) -> Iterator[tuple[LegError, Array]]:
        """Every cause with what a small one does to the errors."""
        q, model = self.raw.joints, self.soles.model
        by_joint: dict[int, Array] = {}  # zero, gain and drift all turn the same joint
        for error in self.causes():
            if error.kind in ('length', 'gains', 'turn', 'tilt', 'late'):
                more, less = (self._poses_without(error, size) for size in (STEP, -STEP))
                yield error, self._told((more - less) / (2.0 * STEP))
                continue
            place = error.places[0]
            if place not in by_joint:
                step = STEP * (np.arange(q.shape[1]) == place)
                by_joint[place] = self._poses(q + step, model) - self._poses(q - step, model)
            share = error.share(q, self.when)[:, None]
            yield error, self._told(share * by_joint[place] / (2.0 * STEP))

    def causes(self) -> list[LegError]:
        """What may be wrong with the legs, the simplest first."""
        model = self.soles.model
        names = model.coordinate_names
        chain = self.soles.chain()
        joints = sorted({int(model.coordinate[body]) for body in chain} - {-1})
        found = [
            LegError(kind, (k,), (names[k],), 'rad' if model.coordinate_is_angle(k) else 'm')
            for kind in ('zero', 'gain', 'drift')
            for k in joints
        ]
        size = np.linalg.norm(model.translation, axis=1)
        links = {
            int(model.coordinate[body]): body
            for body in sorted(chain)
            if model.coordinate[body] >= 0 and size[body] > SHORTEST_LINK * self.soles.legs
        }
        pairs = [pair for pair in mirrored_pairs(names) if set(pair) <= set(links)]
        for group in [*pairs, *((k,) for k in links)]:
            places = tuple(links[k] for k in group)
            found.append(LegError('length', places, tuple(names[k] for k in group)))
        found += [LegError('gains', tuple(joints), ()), LegError('turn', (), ())]
        found += self._tilts()
        return [*found, LegError('late', (), ())] if self.clocks else found

    def _tilts(self) -> list[LegError]:
        """A world that is askew as soles that stand lean, where plates say that they are level."""
        poses = [one.pose for one in self.comparison.raw.sources if one.pose is not None]
        upright = min((abs(pose.rotation[2, 2]) for pose in poses), default=0.0)
        axis = np.cross(self.comparison.level(), [0.0, 0.0, 1.0])
        size = float(np.linalg.norm(axis))
        if not upright > np.cos(LEVEL) or not size > SMALLEST['tilt']:
            return []
        return [LegError('tilt', (), (), axis=tuple(axis / size))]

    def likely(self) -> list[tuple[LegError, float]]:
        """The best causes to first order with their sizes, the simplest first."""
        plain, found = self.errors(), []
        for k, (error, column) in enumerate(self._columns()):
            square = float(column @ column)
            if square > 0.0:
                size = -float(column @ plain) / square
                found.append((_rms(plain + size * column), k, error, size))
        best = sorted(found, key=lambda one: one[0])[:BEST]
        return [(error, size) for _, _, error, size in sorted(best, key=lambda one: one[1])]

    def fitted(self, error: LegError, size: float) -> tuple[float, float]:
        """The size by a few more steps, since angles may be large, and what it leaves (rms)."""
        left = self.errors(error, size)
        for _ in range(FITTED_AGAIN):
            column = (self.errors(error, size + STEP) - left) / STEP
            step = -float(column @ left) / max(float(column @ column), 1e-30)
            new = self.errors(error, size + step)
            if not _rms(new) < CLEARLY_LESS * _rms(left):
                break
            size, left = size + step, new
        return size, _rms(left)


Found = tuple[list[Finding], Doubt | None]


def leg_errors(comparison: Comparison, label: str, clocks: bool = True) -> Found:
    """The one error that makes the soles stand still, and what it does to the equations.

    `clocks`: whether those of base and joints may differ; else somebody else puts them right.
    """
    parts = leg_errors_in_parts(comparison, label, clocks)
    while True:
        try:
            next(parts)
        except StopIteration as end:
            found: Found = end.value
            return found


def leg_errors_in_parts(
    comparison: Comparison, label: str, clocks: bool = True
) -> Generator[None, None, Found]:
    """The same, stopping after each slice."""
    if comparison.raw.imu is not None:
        return [], None  # then the legs are what says where the robot is
    standing = Standing(comparison, clocks)
    if standing.seconds < ENOUGH:
        return [], None
    yield
    judged: list[tuple[LegError, float, Hypothesis[Raw], float]] = []
    for error, start in standing.likely():
        yield
        size, left = standing.fitted(error, start)
        if SMALLEST[error.kind] <= abs(size) <= LARGEST[error.kind] and left <= STANDS:
            code, text, where = error.told(size)
            one = Hypothesis[Raw](code, text, lambda raw: raw, where)
            judged.append((error, size, one, left))
    best = best_of([(one, left) for _, _, one, left in judged], _rms(standing.errors()))
    if best.best is None or best.factor < MAYBE:
        return [], None
    found = explanation_findings(
        best, label=label, better='the soles stand still', misfit_text='', good=np.inf
    )
    error, size = next((error, size) for error, size, one, _ in judged if one is best.best)
    return [_warned(one) for one in found], _doubt(comparison, error, size)


def with_leg_errors(findings: list[Finding], legs: list[Finding]) -> list[Finding]:
    """A cause that is found in the legs stands alone: no word of soles that lean, nor a maybe."""
    if not any(one.level == 'warn' for one in legs):
        return [*findings, *legs]
    same = ('joint_zero', 'base_tilted', 'misfit_unexplained')
    return [
        *(one for one in findings if one.code not in same and not one.code.startswith('maybe_')),
        *legs,
    ]


def _warned(finding: Finding) -> Finding:
    """Nothing is refused for it: deviations allow for it, also for a maybe."""
    text = f'{finding.text}; deviations allow for it'
    if finding.code.removeprefix('maybe_') in ('joint_zero', 'joint_scale', 'joint_drift'):
        text += ', --joint-errors estimates such errors'
    return replace(finding, level='warn' if finding.level == 'bad' else finding.level, text=text)


def _doubt(comparison: Comparison, error: LegError, size: float) -> Doubt:
    """The equations with and without the error, along the CAD values at the weight shown."""
    raw, model = comparison.raw, comparison.problem.model
    right = replace(
        raw,
        joints=error.joints(raw, slice(None), size),
        pose=error.pose(raw.pose, size),
    )
    as_is, put_right = comparison.samples(raw), comparison.samples(right)
    before = inverse_dynamics(model, as_is.motion)[:, :6]
    after = inverse_dynamics(error.model(model, size), put_right.motion)[:, :6]
    rows = comparison.regressor(raw)
    use = as_is.valid & np.isfinite(rows).all(axis=(1, 2)) & np.isfinite(after).all(axis=1)
    load = weight_over(as_is.wrench[use], before[use]) if use.any() else 1.0
    return Doubt(rows[use], load * (after - before)[use])


def _stances(soles: Soles, raw: Raw, inside: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Foot and samples of each stance."""
    speed = soles.stance(raw, inside).speed
    shortest = int(SHORTEST * raw.rate) + 2
    for foot, one in enumerate(speed):
        limit = max(SOLE_SPEED * soles.legs, SLOWER * float(np.percentile(one, SLOWEST)))
        slow = inside[one < limit]
        for rows in np.split(slow, np.flatnonzero(np.diff(slow) > 1) + 1):
            if len(rows) > shortest:
                yield foot, rows[1:-1]


def later(raw: Raw, seconds: float) -> Array:
    """Positions of the joints (N, dof) as they are recorded some seconds later."""
    at = raw.stamps + seconds
    return np.stack([np.interp(at, raw.stamps, one) for one in raw.joints.T], axis=1)


def _ahead(flat: Array) -> Array:
    """A direction (feet, 3) in each sole across its vertical."""
    helper = np.eye(3)[np.argmin(np.abs(flat), axis=1)]
    across = np.cross(flat, helper)
    return np.asarray(across / np.linalg.norm(across, axis=1, keepdims=True))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.square(values).mean()))
