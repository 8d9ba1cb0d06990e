"""What a fit leaves: which single error of a sensor or of the description would explain it.

Parameters follow many an error (a joint off its zero, a torque that is half as large again, one
late channel, a URDF of another size) so well that hardly more than the noise is left, and are then
off by many deviations. But the error itself is an unknown like the others: its derivative stands
as one more column beside the parameters, and what the parameters cannot imitate of it tells its
value and deviation (a score test). One at a time: two errors may imitate each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veh_identification.checks.slices import Slices, finished
from veh_identification.findings import Finding, Level, doubt
from veh_identification.findings.numbers import listed
from veh_identification.identification.repetition import LEAST_CLUSTERS, clusters_of
from veh_identification.systems.robot.estimation.estimate import Estimate
from veh_identification.systems.robot.estimation.unknowns import orthonormal, slope_of
from veh_identification.systems.robot.model import ArmModel
from veh_identification.types import Array, BoolArray, IntArray

#: Deviations from zero at which an error is told: friction and ripple, which no model quite
#: tells, lean on the errors too (clean arms reach 5).
SURE = 8.0
#: Clusters that are tried as one: friction of a drive is alike for seconds.
JOINED = (1, 2, 4, 8)
#: A zero of a joint that may be farther off than this (degrees) without being told is named.
UNSEEN = 5.0
#: The same of a scale of all angles (per cent).
UNSEEN_SCALE = 3.0
#: The same of the length of a link (per cent).
UNSEEN_LENGTH = 5.0
#: Errors that are told at a time, each beside those before it.
MOST = 2
#: Errors whose columns are made at a time.
SLICE = 4
#: Another error that explains nearly as much is named beside the best one.
NEARLY = 0.8
#: Part of a column that the parameters must leave over: below it nothing can be told.
LEAST_PART = 1e-6
#: Rows that are looked at, evenly thinned.
ROWS = 3000
#: Splits of a recording (shares of its rows) about which both parts are fitted for themselves.
SPLITS = (0.2, 0.35, 0.5, 0.65, 0.8)
#: Rows for each parameter that a part must have.
ROWS_EACH = 6.0
#: How much worse than the other part, or both than parts of their own parameters, rows may fit.
UNEVEN, APART = 3.0, 2.0
#: ... of a joint with at least so many rows in each part, where what is left is more than this
#: share of the joint's efforts: friction at a few reversals is uneven too.
FEWEST_ROWS, MATTERS = 20, 0.02
#: Least share of the freedom of its rows that is left to a part, and the largest correlation of
#: neighbouring rows: what is ten times worse is told whatever else is alike.
LEAST_FREEDOM, MOST_ALIKE = 0.03, 0.98
STEP = 1e-3
#: Links shorter than that (m) are not asked.
SHORTEST_LINK = 0.03
#: Of gravity, that are tried.
FACTORS = np.geomspace(0.04, 25.0, 15)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Rows of a fit and the motion at their moments."""

    model: ArmModel
    times: Array  # (M,) s
    q: Array  # (M, joints)
    qd: Array
    qdd: Array
    W: Array  # (M, joints, unknowns), base parameters first
    Y: Array  # (M, joints); nan: not used
    value: Array  # of the unknowns
    slope: Array  # (M, joints) time derivative of the predicted efforts
    clusters: IntArray  # (M,) rows whose errors are alike

    def part(self, which: slice) -> Fitted:
        """Some of the rows."""
        names = ('times', 'q', 'qd', 'qdd', 'W', 'Y', 'slope', 'clusters')
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def thinned(self, rows: int) -> Fitted:
        """At most so many rows, evenly."""
        return self.part(slice(None, None, max(1, -(-len(self.Y) // rows))))

    @property
    def predicted(self) -> Array:
        """Efforts (M, joints)."""
        return np.asarray(self.W @ self.value)


@dataclass(frozen=True, eq=False)
class Error:
    """One thing that may be wrong."""

    code: str
    where: str
    column: Array  # (M, joints) what one unit of it adds to the efforts
    unit: str
    told_from: float  # size in that unit
    bad_from: float
    words: str  # with {size}: value and deviation
    joint: int = -1


@dataclass(frozen=True, eq=False)
class Told:
    """What the rows say of an error."""

    error: Error
    value: float
    std: float
    factor: float  # how many times less (rms) is left with it

    @property
    def sure(self) -> bool:
        """Away from zero, and large enough to matter."""
        return abs(self.value) > max(SURE * self.std, self.error.told_from)

    def finding(self, source: str, others: Sequence[Told]) -> Finding:
        """In words; `others` explain nearly as much."""
        size = f'{self.value:.3g} +- {self.std:.2g} {self.error.unit}'
        level: Level = 'bad' if abs(self.value) > self.error.bad_from else 'warn'
        text = f'{source}: ' if source else ''
        text += self.error.words.format(size=size)
        text += (
            f' ({abs(self.value) / self.std:.0f} deviations from zero; the efforts then fit '
            f'{self.factor:.3g} times better{doubt(self.factor)})'
        )
        if others:
            text += f'; {listed([one.error.where for one in others])} would explain nearly as much'
        return Finding(level, self.error.code, text, self.error.where, self.factor)


def _linear(fitted: Fitted, q: Array, qd: Array, qdd: Array, gravity: Array) -> Array:
    """Efforts (M, joints) of the bodies and drives for another motion or gravity."""
    # The model makes its layout anew for another gravity.
    same = gravity is fitted.model.gravity
    model = fitted.model if same else replace(fitted.model, gravity=gravity)
    W = model.full_rows(q, qd, qdd)[:, :, fitted.model.base.base]
    return np.asarray(W @ fitted.value[: fitted.model.base.rank])


def errors_of(fitted: Fitted, topic: str) -> Iterator[Error]:
    """Zeros of the joints, drives' scales, late channels, gravity against inertia."""
    model, predicted = fitted.model, fitted.predicted
    q, qd, qdd, g = fitted.q, fitted.qd, fitted.qdd, model.gravity
    for j, name in enumerate(model.joints):
        if model.tree.coordinate_is_angle(j):
            yield from _encoder(fitted, j, f'{topic}.position[{name}]')
        if not np.isfinite(fitted.Y[:, j]).any():
            continue
        place, alone = f'{topic}.effort[{name}]', np.zeros(predicted.shape)
        alone[:, j] = predicted[:, j]
        words = f'{place} seems to be off by {{size}} against the other joints: look at its unit, '
        words += 'gain or gear ratio'
        yield Error('effort_scale', place, 0.01 * alone, '%', 5.0, 15.0, words, j)
        late = np.zeros(predicted.shape)
        late[:, j] = -1e-3 * fitted.slope[:, j]
        words = f'{place} seems to come {{size}} later than the other channels: look at its stamps'
        yield Error('effort_delay', place, late, 'ms', 3.0, 10.0, words, j)
    yield common_delay(fitted, topic)
    yield from _all_encoders(fitted, topic)
    yield from _lengths(fitted)
    if model.base_wrench:
        yield from _base_errors(fitted)
    size = float(np.linalg.norm(g))
    if not size:
        return
    for axis in range(3):
        d = np.zeros(3)
        d[axis] = STEP * size
        tilt = (_linear(fitted, q, qd, qdd, g + d) - _linear(fitted, q, qd, qdd, g - d)) / 2e-3
        along = abs(g[axis]) > 0.9 * size
        if along:
            words = 'weight and inertia do not agree: gravity would have to be larger by {size}'
            column = 0.01 * tilt * float(np.sign(g[axis]))
            yield Error('weight_against_inertia', 'gravity', column, '%', 4.0, 10.0, words)
        else:
            words = f'gravity seems to lean along {"xyz"[axis]} of the root link by {{size}}: '
            words += 'the robot does not stand as `gravity` says, or joint zeros are off'
            column = tilt * np.pi / 180.0
            yield Error('gravity_direction', 'gravity', column, 'degrees', 1.0, 4.0, words)


def _base_errors(fitted: Fitted) -> Iterator[Error]:
    """Scale, turn and shift of the sensor below the base."""
    first, predicted = len(fitted.model.joints), fitted.predicted
    force, moment = predicted[:, first : first + 3], predicted[:, first + 3 :]
    look = 'look at its calibration, frame and pose'
    place = 'the wrench below the base'
    column = np.zeros(predicted.shape)
    column[:, first:] = 0.01 * predicted[:, first:]
    words = f'{place} seems to be off by {{size}} against the efforts of the joints: {look}'
    yield Error('wrench_scale', place, column, '%', 3.0, 10.0, words)
    for axis in range(3):
        unit = np.eye(3)[axis]
        turned, moved = np.zeros(predicted.shape), np.zeros(predicted.shape)
        turned[:, first : first + 3] = np.pi / 180.0 * np.cross(unit, force)
        turned[:, first + 3 :] = np.pi / 180.0 * np.cross(unit, moment)
        words = f'{place} seems to be turned about {"xyz"[axis]} of the root link by {{size}}: '
        yield Error('wrench_frame', place, turned, 'degrees', 1.0, 4.0, words + look)
        moved[:, first + 3 :] = 1e-3 * np.cross(unit, force)
        words = f'{place} seems to be taken {{size}} off along {"xyz"[axis]} of the root link: '
        yield Error('wrench_frame', place, moved, 'mm', 5.0, 30.0, words + look)


def common_delay(fitted: Fitted, topic: str) -> Error:
    """All efforts later than the positions."""
    words = (
        f'{topic}.effort seems to come {{size}} later than {topic}.position: look at its stamps'
    )
    column = -1e-3 * fitted.slope
    column[:, len(fitted.model.joints) :] = 0.0
    return Error('effort_delay', f'{topic}.effort', column, 'ms', 1.0, 10.0, words)


def told_of(fitted: Fitted, error: Error) -> Told | None:
    """What the rows say of one error alone."""
    return _Left(fitted).told(error) if np.isfinite(fitted.Y).any() else None


def _encoder(fitted: Fitted, joint: int, place: str) -> Iterator[Error]:
    """One encoder off its zero, drifting, or of another scale."""
    d = np.zeros(fitted.q.shape[1])
    d[joint] = STEP
    g = fitted.model.gravity
    more, less = (_linear(fitted, fitted.q + s * d, fitted.qd, fitted.qdd, g) for s in (1.0, -1.0))
    column = -(more - less) / (2.0 * STEP) * np.pi / 180.0
    words = f'{place} seems to be {{size}} off its zero: look at its homing and the URDF'
    yield Error('position_offset', place, column, 'degrees', 1.0, 3.0, words, joint)
    seconds = float(np.ptp(fitted.times))
    if seconds > 0.0:
        ramp = (fitted.times - fitted.times.min()) / seconds - 0.5
        words = f'{place} seems to drift by {{size}} over the recording: an encoder that loses '
        words += 'steps, or a joint that slips behind it'
        drift = column * ramp[:, None]
        yield Error('position_drift', place, drift, 'degrees', 1.0, 3.0, words, joint)
    column = _scaled_angles(fitted, d)
    words = f'{place} seems to be off by {{size}} of its value: look at its gear ratio, its ticks '
    words += 'for a turn and its unit'
    yield Error('position_scale', place, column, '%', 1.0, 5.0, words, joint)


def _all_encoders(fitted: Fitted, topic: str) -> Iterator[Error]:
    """All angles of another scale: a gear ratio or ticks for a turn that all joints share."""
    model = fitted.model
    turning = np.array([model.tree.coordinate_is_angle(j) for j in range(len(model.joints))])
    if turning.sum() < 2:
        return
    words = f'{topic}.position seems to be off by {{size}} of its values, all joints alike: look '
    words += 'at the gear ratio, the ticks for a turn and the unit'
    column = _scaled_angles(fitted, STEP * turning)
    yield Error('position_scale', f'{topic}.position', column, '%', 1.0, 5.0, words)


def _lengths(fitted: Fitted) -> Iterator[Error]:
    """Links of another length than the URDF says: the place of one joint on the link before."""
    model, tree = fitted.model, fitted.model.tree
    motion = fitted.q, fitted.qd, fitted.qdd
    for j, name in enumerate(model.joints):
        (body,) = np.flatnonzero(np.asarray(tree.coordinate) == j)
        if np.linalg.norm(tree.translation[body]) < SHORTEST_LINK:
            continue
        sides = []
        for factor in (1.0 + STEP, 1.0 - STEP):
            translation = tree.translation.copy()
            translation[body] *= factor
            other = replace(model, tree=replace(tree, translation=translation))
            rows = other.full_rows(*motion)[:, :, model.base.base]
            sides.append(np.asarray(rows @ fitted.value[: model.base.rank]))
        column = 0.01 * (sides[0] - sides[1]) / (2.0 * STEP)
        words = (
            f'the link up to {name} seems to be longer by {{size}} than in the URDF (its origin)'
        )
        yield Error('link_length', f'URDF, origin of {name}', column, '%', 1.0, 3.0, words)


def _scaled_angles(fitted: Fitted, share: Array) -> Array:
    """What angles that show a per cent too much (of joints with a share) add to the efforts."""
    g = fitted.model.gravity
    more, less = (
        _linear(fitted, fitted.q * s, fitted.qd * s, fitted.qdd * s, g)
        for s in (1.0 + share, 1.0 - share)
    )
    return np.asarray(-0.01 * (more - less) / (2.0 * STEP))


class _Left:
    """Weighted residuals beside the parameters (and errors that are taken as found)."""

    def __init__(self, fitted: Fitted) -> None:
        self.there = np.isfinite(fitted.Y)
        self.sigma = _noise(fitted.Y - fitted.predicted)
        self.clusters = np.broadcast_to(fitted.clusters[:, None], fitted.Y.shape)[self.there]
        self.clusters = self.clusters - self.clusters.min(initial=0)
        self.basis = orthonormal((fitted.W / self.sigma[:, None])[self.there])
        self.left = self._beside((fitted.Y / self.sigma)[self.there])
        # What was fitted leaves less than the errors were, far less where few rows differ.
        rows = float(_different(self.there, self.left).sum())
        self.freedom = float(np.sqrt(max(1.0 - self.basis.shape[1] / max(rows, 1.0), 1e-9)))

    def _beside(self, values: Array) -> Array:
        return np.asarray(values - self.basis @ (self.basis.T @ values))

    def told(self, error: Error) -> Told | None:
        """Value and deviation (of clusters) of an error; None where the rows cannot say."""
        whole = (error.column / self.sigma)[self.there]
        column = self._beside(whole)
        power = float(column @ column)
        if not power > LEAST_PART * float(whole @ whole):
            return None
        value = float(column @ self.left) / power
        after = self.left - value * column
        std = self._spread(column * after) / power
        rms = float(self.left @ self.left), float(after @ after)
        return Told(error, value, max(std, 1e-300), float(np.sqrt(rms[0] / max(rms[1], 1e-300))))

    def _spread(self, products: Array) -> float:
        """Deviation of a sum over rows by that over clusters; longer ones where errors last."""
        sums, sizes = np.bincount(self.clusters, products), []
        for joined in JOINED:
            parts = np.add.reduceat(sums, np.arange(0, len(sums), joined))
            if joined == 1 or len(parts) >= LEAST_CLUSTERS:
                sizes.append(float(np.sqrt(parts @ parts)))
        return max(sizes) / self.freedom

    def take(self, error: Error) -> None:
        """From now on the error is an unknown like the others."""
        column = self._beside((error.column / self.sigma)[self.there])
        self.basis = np.column_stack([self.basis, column / np.linalg.norm(column)])
        self.left = self._beside(self.left)


def _noise(residual: Array) -> Array:
    with np.errstate(invalid='ignore'):
        rms = np.sqrt(np.nanmean(np.where(np.isfinite(residual), residual**2, np.nan), axis=0))
    return np.where(rms > 0.0, rms, 1.0)


def estimate_findings(found: Estimate) -> list[Finding]:
    """Of an estimate from recordings: changes within each, then errors that all of them show."""
    rows, topic = found.setup.rows, found.setup.model.configuration.joint_states
    every = fitted_of(found)
    ends = [*found.system.begins[1:], len(every.Y)]
    changed = [
        finding
        for one, begin, end in zip(rows, found.system.begins, ends, strict=True)
        for finding in change_findings(every.part(slice(begin, end)), topic, one.label)
    ]
    return changed or error_findings(every, topic, rows[0].label if len(rows) == 1 else '')


def fitted_of(found: Estimate) -> Fitted:
    """The rows of an estimate."""
    rows, system = found.setup.rows, found.system
    q, qd, qdd = (
        np.concatenate(side) for side in zip(*(one.motion() for one in rows), strict=True)
    )
    return Fitted(
        found.setup.model,
        np.concatenate([1e-9 * (one.stamps_ns - one.stamps_ns[0]) for one in rows]),
        q,
        qd,
        qdd,
        system.W,
        system.Y - system.known,
        found.value,
        slope_of(rows, system.begins, system.W @ found.value),
        clusters_of([one.phases() for one in rows]),
    )


def gravity_factor(fitted: Fitted) -> float:
    """By which gravity would have to be multiplied for weight and inertia to agree."""
    there = np.isfinite(fitted.Y)
    sigma, model = _noise(fitted.Y - fitted.predicted), fitted.model
    others = fitted.W[:, :, model.base.rank :]

    def left(factor: float) -> float:
        other = replace(model, gravity=factor * model.gravity)
        linear = other.full_rows(fitted.q, fitted.qd, fitted.qdd)[:, :, model.base.base]
        rows = np.concatenate([linear, others], axis=2) / sigma[:, None]
        basis, y = orthonormal(rows[there]), (fitted.Y / sigma)[there]
        rest = y - basis @ (basis.T @ y)
        return float(rest @ rest)

    best = float(min(FACTORS, key=left))
    return float(best * min(np.linspace(0.75, 1.35, 25), key=lambda f: left(float(best * f))))


def error_findings(fitted: Fitted, topic: str, source: str = '') -> list[Finding]:
    """One sensor or entry that is wrong; the best cause first."""
    return finished(error_slices(fitted, topic, source))


def error_slices(fitted: Fitted, topic: str, source: str = '') -> Slices[list[Finding]]:
    """The same in slices."""
    fitted = fitted.thinned(ROWS)
    if np.isfinite(fitted.Y).sum() < 2 * ROWS_EACH * len(fitted.value):
        return []
    left, errors, findings = _Left(fitted), [], []
    for error in errors_of(fitted, topic):
        errors.append(error)
        if len(errors) % SLICE == 0:
            yield
    unseen = [
        *_unseen_zeros(left, errors, source),
        *_unseen_lengths(left, errors, source),
        *_unseen_scale(left, errors, topic, source),
    ]
    for _ in range(MOST):
        told = [one for one in map(left.told, errors) if one is not None and one.sure]
        if not told:
            break
        best = max(told, key=lambda one: one.factor)
        others = [
            one
            for one in told
            if one is not best and one.factor - 1.0 > NEARLY * (best.factor - 1.0)
        ]
        findings.append(best.finding(source, others))
        if best.error.code == 'weight_against_inertia':
            yield
            findings[-1] = _weight_words(findings[-1], gravity_factor(fitted), source)
        left.take(best.error)
        errors = [one for one in errors if one is not best.error]
    return [*findings, *unseen]


def _unseen_zeros(left: _Left, errors: Sequence[Error], source: str) -> list[Finding]:
    """Joints whose zeros the rows do not tell: links behind them would be other ones."""
    joints = []
    for error in errors:
        if error.code != 'position_offset':
            continue
        told = left.told(error)
        size = np.inf if told is None else SURE * told.std
        if size > UNSEEN:
            much = 'at all' if size > 180.0 else f'to {size:.2g} degrees'
            joints.append(f'{error.where} ({much})')
    if not joints:
        return []
    text = (
        f'{source + ": " if source else ""}the recordings do not tell whether these are off their '
        f'zero: {listed(joints)}; other centres of mass and inertias would explain it: look at '
        'their homing, or let the joints before them move more'
    )
    return [Finding('note', 'zero_not_checked', text)]


def _unseen_lengths(left: _Left, errors: Sequence[Error], source: str) -> list[Finding]:
    """Links whose lengths the rows do not tell, though they are as good as in the URDF alone."""
    links = []
    for error in errors:
        if error.code != 'link_length':
            continue
        told = left.told(error)
        size = np.inf if told is None else SURE * told.std
        if size > UNSEEN_LENGTH:
            links.append(f'{error.where} ({"at all" if size > 100.0 else f"to {size:.2g} %"})')
    if not links:
        return []
    text = (
        f'{source + ": " if source else ""}the recordings do not tell whether these lengths of '
        f'the URDF are right: {listed(links)}; other centres of mass would explain it: is it the '
        'URDF of this very robot?'
    )
    return [Finding('note', 'link_length_not_checked', text)]


def _unseen_scale(left: _Left, errors: Sequence[Error], topic: str, source: str) -> list[Finding]:
    """A scale that all angles share, where the rows do not tell it."""
    for error in errors:
        if error.code != 'position_scale' or error.where != f'{topic}.position':
            continue
        told = left.told(error)
        size = np.inf if told is None else SURE * told.std
        if size > UNSEEN_SCALE:
            much = 'at all' if size > 100.0 else f'to {size:.2g} %'
            text = (
                f'{source + ": " if source else ""}the recordings do not tell whether all angles '
                f'are of another scale ({much}): constant efforts, centres of mass and inertias '
                'would then be others: look at gear ratios and ticks, or turn each joint by an '
                'angle that is measured otherwise'
            )
            return [Finding('note', 'angle_scale_not_checked', text, error.where)]
    return []


def _weight_words(finding: Finding, factor: float, source: str) -> Finding:
    """With the factor that a search gives, and what may be behind it."""
    text = (
        f'{source + ": " if source else ""}weight and inertia do not agree: gravity would have to '
        f'be {factor:.3g} times what it is: stamps at {np.sqrt(factor):.3g} times the true rate, '
        f'lengths of the URDF {factor:.3g} times the true ones, or another `gravity` (the efforts '
        f'then fit {finding.evidence:.3g} times better{doubt(finding.evidence)})'
    )
    return replace(finding, text=text)


def change_findings(fitted: Fitted, topic: str, source: str = '') -> list[Finding]:
    """A recording whose parts contradict each other, or of which one part fits badly."""
    return finished(change_slices(fitted, topic, source))


def change_slices(fitted: Fitted, topic: str, source: str = '') -> Slices[list[Finding]]:
    """The same in slices."""
    fitted = fitted.thinned(ROWS)
    sigma = _noise(fitted.Y - fitted.predicted)
    whole = _rest(fitted, slice(None), sigma).rms()
    with np.errstate(invalid='ignore'):
        least = MATTERS * np.sqrt(np.nanmean(fitted.Y**2, axis=0)) / sigma
    best: tuple[float, float, str, float] = (1.0, 1.0, '', 0.0)
    for share in SPLITS:
        k = round(share * len(fitted.Y))
        parts = slice(None, k), slice(k, None)
        if any(np.isfinite(fitted.Y[p]).sum() < ROWS_EACH * len(fitted.value) for p in parts):
            continue
        yield
        rests = [_rest(fitted, p, sigma) for p in parts]
        alike = np.maximum(rests[0].alike, rests[1].alike)
        (before, after), (early, late) = zip(
            *((r.rms(), r.rms(alike)) for r in rests), strict=True
        )
        together = np.sqrt(share * early**2 + (1 - share) * late**2)
        for worse, better, limit, how in (
            (after, early, UNEVEN, 'fits {:.3g} times worse after it'),
            (before, late, UNEVEN, 'fits {:.3g} times worse before it'),
            (whole, together, APART, 'fits {:.3g} times better with parameters of each side'),
        ):
            sizes = np.where(worse > least, worse / better, np.nan)
            if not np.isfinite(sizes).any():
                continue
            j = int(np.nanargmax(sizes))
            if sizes[j] / limit > best[0]:
                words = f'{fitted.model.equations[j]} {how.format(sizes[j])}'
                moment = _moment(fitted, sigma, j)
                best = (float(sizes[j] / limit), float(sizes[j]), words, moment)
    _, times, words, moment = best
    if not words:
        return []
    text = f'{source}: ' if source else ''
    text += (
        f'something changed on the way, about {moment:.1f} s: the equation of {words} (a load '
        'picked up or put down, a sensor that failed, another sign, unit or zero): cut the '
        'recording there and look at both parts'
    )
    return [Finding('bad', 'changes', text, topic, times)]


def _moment(fitted: Fitted, sigma: Array, joint: int) -> float:
    """The time at which two fits that meet there leave least in the rows of a joint."""

    def left(k: int) -> float:
        rest = [
            _rest(fitted, part, sigma).rms()[joint] for part in (slice(None, k), slice(k, None))
        ]
        known = [one if np.isfinite(one) else np.inf for one in rest]
        return float(k * known[0] ** 2 + (len(fitted.Y) - k) * known[1] ** 2)

    places = np.unique(np.round(np.linspace(0.1, 0.9, 17) * len(fitted.Y)).astype(int))
    return float(fitted.times[min(places, key=left)])


class _Rest(NamedTuple):
    """What parameters of their own leave of some rows, joint by joint."""

    squares: Array  # their sum
    counts: Array  # rows
    taken: Array  # of the freedom of these rows: more near the base, since all links hang on it
    alike: Array  # correlation of neighbouring rows

    def rms(self, alike: Array | float = 0.0) -> Array:
        """rms (joints,); nan: too few rows.

        `alike`: where neighbours are alike, as by friction that no model quite tells, there are
        fewer rows than it seems, and a short part fits far better than a long one.
        """
        rows = self.counts * (1.0 - alike) / (1.0 + alike)
        freedom = np.maximum(1.0 - self.taken / np.maximum(rows, 1e-9), LEAST_FREEDOM)
        rms = np.sqrt(self.squares / np.maximum(self.counts * freedom, 1.0))
        enough = self.counts - self.taken >= FEWEST_ROWS
        return np.where(enough, np.maximum(rms, 1e-9), np.nan)


def _rest(fitted: Fitted, part: slice, sigma: Array) -> _Rest:
    Y = fitted.Y[part]
    there = np.isfinite(Y)
    basis = orthonormal((fitted.W[part] / sigma[:, None])[there])
    y = (Y / sigma)[there]
    left, taken = np.zeros(Y.shape), np.zeros(Y.shape)
    left[there] = y - basis @ (basis.T @ y)
    taken[there] = np.square(basis).sum(axis=1)
    squares = np.square(left).sum(axis=0)
    return _Rest(squares, there.sum(axis=0), taken.sum(axis=0), _alike(left))


def _alike(left: Array) -> Array:
    """Correlation of what is left of neighbouring rows (M, joints), zero where there are none."""
    products, squares = (left[1:] * left[:-1]).sum(axis=0), np.square(left).sum(axis=0)
    return np.clip(products / np.maximum(squares, 1e-30), 0.0, MOST_ALIKE)


def _different(there: BoolArray, left: Array) -> Array:
    """As how many rows that have nothing in common those of each joint count."""
    table = np.zeros(there.shape)
    table[there] = left
    alike = _alike(table)
    return np.asarray(there.sum(axis=0) * (1.0 - alike) / (1.0 + alike))
