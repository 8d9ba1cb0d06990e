"""Is it the wrench below the base? Units, sign and frame, by what the URDF's masses ask for.

A wrench that contradicts the motion never joins the equations: one that was found by its frame may
be a sensor elsewhere (a wrist whose driver writes the base's frame), and a wrong one would spoil
masses and gains without a sign in the joints' own equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

import numpy as np

from veh_identification.checks.explanation import Hypothesis, best_of, judged
from veh_identification.checks.health import check_saturated, check_stuck
from veh_identification.errors import VehIdError
from veh_identification.findings import Finding, Level, doubt
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.signals.synchronise import resample
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.base_wrench import BaseWrench
from veh_identification.systems.robot.checks.prior import urdf_values
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.model import ArmModel, fixed_tree
from veh_identification.systems.robot.processing import cutoff_of, on_grid, segments_of
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.systems.robot.setup import locked_joints
from veh_identification.types import Array

#: Share of the wrench's changes that parameters off by their own size cost: those of a URDF are
#: off by a tenth or three, those of another sensor are anything.
PRICE = 0.3
#: ... and that a wrench costs which is as a whole smaller or larger than the URDF's, by its size.
TOGETHER = 0.5
#: Misfit above which it is not the wrench of this arm as described.
FITS = 0.3
#: How many times better a cause must make the fit.
CLEAR = 1.5
SAMPLES = 400
UNITS = (
    (1e3, 1e3, 'is in kN and kN m'),
    (1.0, 1e-3, 'has moments in N mm'),
    (1.0, 1e-2, 'has moments in N cm'),
    (9.80665, 9.80665, 'is in kgf and kgf m'),
)


@dataclass(frozen=True, eq=False)
class Look:
    """A short look: columns of the base's equations, and what the sensors show."""

    columns: Array  # (N, 6, parameters) less their means
    known: Array  # parameters of the URDF
    size: Array  # of their doubt; 0: nothing is known
    sensors: tuple[BaseWrench, ...]
    values: tuple[Array, ...]  # (N, 6) of each sensor, in its frame

    def misfit(self) -> float:
        """rms of what parameters near the URDF's leave of the changes of the wrench."""
        pairs = zip(self.sensors, self.values, strict=True)
        Y = sum((one.at_root(values) for one, values in pairs), np.zeros(self.columns.shape[:2]))
        Y = Y - Y.mean(axis=0)
        expected = self.columns @ self.known
        scale = np.repeat(
            [max(_rms(Y[:, part]), _rms(expected[:, part])) for part in (_FORCE, _MOMENT)], 3
        )
        A = (self.columns / scale[:, None]).reshape(-1, self.columns.shape[2])
        y = (Y / scale).ravel()
        used = self.size > 0.0
        weight = np.zeros(len(self.size))
        weight[used] = np.sqrt(PRICE * len(y) / used.sum()) / self.size[used]
        A, known, weight = A[:, used], self.known[used], weight[used]
        # In steps from the URDF's values, each counted in the size of its doubt.
        rows, left = A / weight, y - A @ known
        whole = A @ known
        common = np.sqrt(TOGETHER * len(y)) / max(float(whole @ whole), 1e-300) * (whole @ rows)
        normal = rows.T @ rows + np.eye(len(weight)) + np.outer(common, common)
        step = np.linalg.solve(normal, rows.T @ left)
        rest = left - rows @ step
        cost = rest @ rest + step @ step + (common @ step) ** 2
        return float(np.sqrt(cost / len(y)))


_FORCE, _MOMENT = slice(0, 3), slice(3, 6)


def _rms(values: Array) -> float:
    return max(float(np.sqrt(np.mean(np.square(values)))), 1e-12)


def judged_wrenches(
    robot: Robot, recordings: Sequence[ArmRecording], c: Configuration
) -> tuple[list[ArmRecording], list[Finding]]:
    """The recordings without wrenches that contradict the motion, and what is said of these."""
    kept, findings = [], []
    for one in recordings:
        if not one.wrenches:
            kept.append(one)
            continue
        findings += [finding for sensor in one.wrenches for finding in _health(one, sensor)]
        try:
            look = look_at(robot, one, recordings, c)
        except VehIdError as error:
            text = f'{one.source}: the wrench below the base is left out: {error}'
            findings.append(Finding('warn', 'wrench_not_used', text, one.source))
            kept.append(replace(one, wrenches=()))
            continue
        used, told = _judged(one, look)
        kept.append(one if used else replace(one, wrenches=()))
        findings += told
    return kept, findings


def _health(recording: ArmRecording, sensor: BaseWrench) -> list[Finding]:
    """Stuck and saturated channels."""
    time, found = sensor.series.stamps, []
    moving = np.ones(len(time), bool)
    for k, name in enumerate(sensor.series.names):
        values = sensor.series.values[:, k]
        if np.ptp(values) > 0.0:
            place = f'{sensor.topic}.{name}'
            found += check_stuck(time, values, place, moving=moving)
            found += check_saturated(values, place)
    return [replace(one, text=f'{recording.source}: {one.text}') for one in found]


def look_at(
    robot: Robot, recording: ArmRecording, recordings: Sequence[ArmRecording], c: Configuration
) -> Look:
    """Samples of a recording; columns of the bodies alone, for nothing else reaches the base."""
    tree = fixed_tree(robot, locked_joints(robot, recordings, c)[0])
    nobody = np.zeros(len(tree.coordinate_names), bool)
    model = ArmModel(robot, tree, np.array(c.gravity), nobody, c, base_wrench=True)
    grid = on_grid(recording, model.joints, c.rate_hz)
    cutoff = cutoff_of([grid])[0]
    part = max(segments_of(grid, cutoff), key=lambda s: len(s.q))
    stamps = np.asarray(1e-9 * (part.stamps_ns - grid.epoch_ns), float)
    smooth = ZeroPhaseFilter(grid.rate, min(2.0 * cutoff, 0.4 * grid.rate))
    values, there = [], np.ones(len(stamps), bool)
    for one in recording.wrenches:
        series = one.series.with_epoch(grid.epoch_ns)
        even, known = resample(series, stamps, keep_ends=True)
        values.append(smooth.derivatives(np.where(known[:, None], even, 0.0)).position)
        there &= known
    chosen = np.flatnonzero(there)[:: max(1, int(there.sum()) // SAMPLES)]
    if len(chosen) < 20:
        raise VehIdError('it is not there while the joints move')
    W = model.full_rows(part.q[chosen], part.qd[chosen], part.qdd[chosen])
    W = W[:, len(model.joints) :]
    columns = W - W.mean(axis=0)
    return Look(columns, *urdf_values(model), recording.wrenches, tuple(v[chosen] for v in values))


def _judged(recording: ArmRecording, look: Look) -> tuple[bool, list[Finding]]:
    """Whether the wrench may be used, and what is wrong with it otherwise."""
    plain = look.misfit()
    if plain < FITS:
        return True, []
    tried = [(one, judged(look, one, Look.misfit, float('inf'))) for one in _hypotheses(look)]
    found = best_of(tried, plain)
    topics = ' and '.join(one.topic for one in look.sensors)
    named = all(one.named for one in look.sensors)
    level: Level = 'bad' if named else 'warn'
    if found.best is not None and found.factor > CLEAR and found.misfit < FITS:
        text = (
            f'{recording.source}: {found.best.text} (it then follows the motion '
            f'{found.factor:.3g} times better{doubt(found.factor)}); it is left out'
        )
        return False, [Finding(level, found.best.code, text, found.best.where, found.factor)]
    text = (
        f'{recording.source}: {topics} misses by {100.0 * plain:.0f} % of its changes what the '
        'masses of the URDF ask of a sensor below the base, and no unit, sign or turn of its '
        'frame explains that'
    )
    if named:
        return True, [Finding('warn', 'wrench_misfit', text, topics, size=plain)]
    text += '; it is left out: base_sensors uses it all the same'
    return False, [Finding('warn', 'wrench_not_used', text, topics, size=plain)]


def _hypotheses(look: Look) -> Iterator[Hypothesis[Look]]:
    for k, one in enumerate(look.sensors):

        def changed(change: Callable[[Array], Array], k: int = k) -> Callable[[Look], Look]:
            return partial(_changed, k, change)

        place = f'topic {one.topic}'
        text = f'{one.topic} has the opposite sign: what presses on the sensor, not what it exerts'
        yield Hypothesis('wrench_sign', text, changed(np.negative), place)
        for force, moment, words in UNITS:
            factors = np.repeat([force, moment], 3)
            text = f'{one.topic} {words}, expected N and N m'
            yield Hypothesis('unit', text, changed(factors.__mul__), place)
        for turn in _right_angles():
            for sign in (1.0, -1.0):
                text = f'the frame {one.frame!r} of {one.topic} seems to be turned: its x, y, z '
                text += f'seem to be {_axes(turn)} of what its pose says'
                if sign < 0.0:
                    text += ', and the sign is opposite (what presses on the sensor)'
                yield Hypothesis(
                    'wrench_frame', text, changed(partial(_turned, sign * turn)), place
                )


def _changed(k: int, change: Callable[[Array], Array], look: Look) -> Look:
    values = [change(one) if i == k else one for i, one in enumerate(look.values)]
    return replace(look, values=tuple(values))


def _turned(matrix: Array, values: Array) -> Array:
    return np.concatenate([values[:, part] @ matrix.T for part in (_FORCE, _MOMENT)], axis=1)


def _right_angles() -> list[Array]:
    """The 23 turns by right angles."""
    made = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            turn = np.eye(3)[:, list(order)] * np.array(signs)
            if np.linalg.det(turn) > 0.0 and not np.allclose(turn, np.eye(3)):
                made.append(turn)
    return made


def _axes(turn: Array) -> str:
    """Where x, y and z point."""
    words = []
    for column in turn.T:
        axis = int(np.argmax(np.abs(column)))
        words.append(f'{"-" if column[axis] < 0.0 else ""}{"xyz"[axis]}')
    return ', '.join(words)
