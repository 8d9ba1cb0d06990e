"""Do motion and efforts belong together? Units, signs, names, direction of gravity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veh_identification.checks.explanation import Hypothesis, best_of, judged
from veh_identification.checks.slices import Slices, finished
from veh_identification.errors import VehIdError
from veh_identification.findings import Finding, Level, doubt
from veh_identification.findings.numbers import listed
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.checks.prior import urdf_values
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.model import ArmModel
from veh_identification.systems.robot.processing import Segment, cutoff_of, on_grid, segments_of
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.systems.robot.setup import effort_masks, fixed_tree, locked_joints
from veh_identification.types import Array, BoolArray, IntArray

#: Share of the efforts that a fit may leave before causes are looked for.
POOR_FIT = 0.03
#: ... and from which on that is told although no cause was found.
VERY_POOR = 0.25
#: Share of the efforts' power that parameters off by their own size cost.
PRICE = 1e-3
#: How many times better a cause must make the fit.
CLEAR, CERTAIN = 1.5, 2.5
SAMPLES = 600
#: Hypotheses that are tried at a time: each takes some thousandths of a second.
SLICE = 4
#: Zeros of joints that are another one's by mistake.
TURNS = (np.pi / 2.0, -np.pi / 2.0, np.pi)
#: Deviations of independent rows below zero at which friction surely pushes.
PUSHED = 10.0
#: Efforts over those that the URDF asks for: beyond these the unit is doubted.
LEAST_SCALE, LARGEST_SCALE = 0.2, 5.0
#: No two units are so far apart: the URDF asks for next to nothing in such a motion.
NO_UNIT = 1e4
#: A load is nearer to its link than that (m), and leaves this share of what was left without it.
LOAD_REACH, LOAD_LEAVES = 1.0, 0.6
#: Logarithms of these within which all joints share one unit, and beyond which they do not.
ALIKE, APART = np.log(3.0), np.log(15.0)
#: The same within which several joints tell one unit and no load.
SAME, SEVERAL = np.log(1.5), 3


@dataclass(frozen=True, eq=False)
class Look:
    """A short look at a recording: samples at full rate without filtering of the equations."""

    model: ArmModel
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    gravity: Array

    def _rows(self) -> tuple[Array, Array]:
        model = replace(self.model, gravity=self.gravity)
        W = model.full_rows(self.q, self.qd, self.qdd)
        friction = np.zeros((*self.effort.shape, self.effort.shape[1]))
        for j in range(self.effort.shape[1]):
            friction[:, j, j] = np.tanh(
                20.0 * self.qd[:, j] / max(float(np.std(self.qd[:, j])), 1e-9)
            )
        return np.concatenate([W, friction], axis=2), self.effort

    def misfit(self) -> float:
        """rms of what the URDF's structure leaves of the efforts, over their rms.

        Masses may differ from the URDF, at a price: a wrong model must not be saved by masses
        that no such arm has.
        """
        return self._fit()[2]

    def _fit(self) -> tuple[Array, Array, float]:
        """Values of the columns, their covariance for rows that are independent, the misfit."""
        W, Y = self._rows()
        scale = np.sqrt(np.nanmean(Y**2, axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)
        there = np.isfinite(Y)
        A, y = (W / scale[:, None])[there], (Y / scale)[there]
        known, size = self._prior(A.shape[1])
        used = size > 0.0
        weight = np.zeros(len(size))
        weight[used] = np.sqrt(PRICE * len(y) / used.sum()) / size[used]
        normal, right = A.T @ A + np.diag(weight**2), A.T @ y + weight**2 * known
        norms = np.sqrt(np.diag(normal))
        norms[norms == 0.0] = 1.0
        # Columns that the motion does not show stay near zero; the others feel nothing of it.
        normal = normal / np.outer(norms, norms) + 1e-11 * np.eye(len(norms))
        inverse = np.linalg.inv(normal)
        x = inverse @ (right / norms) / norms
        left = np.sum((y - A @ x) ** 2) + np.sum((weight * (known - x)) ** 2)
        covariance = inverse / np.outer(norms, norms) * left / len(y)
        return x, covariance, float(np.sqrt(left / len(y)))

    def friction_power(self) -> tuple[Array, Array]:
        """Mean power that friction takes in each joint, and its deviation; nan: not told."""
        x, covariance, _ = self._fit()
        columns, count = self.model.base.columns, len(self.model.joints)
        place = {column.name: k for k, column in enumerate(columns)}
        power, std = np.full(count, np.nan), np.full(count, np.nan)
        steep = 20.0 / np.maximum(np.std(self.qd, axis=0), 1e-9)
        for j, name in enumerate(self.model.joints):
            share = np.zeros(len(x))
            share[len(columns) + j] = np.mean(self.qd[:, j] * np.tanh(steep[j] * self.qd[:, j]))
            if f'{name}.h' in place:
                share[place[f'{name}.h']] = np.mean(self.qd[:, j] ** 2)
            if np.isfinite(self.effort[:, j]).any():
                power[j] = share @ x
                std[j] = np.sqrt(share @ covariance @ share)
        return power, std

    def _prior(self, columns: int) -> tuple[Array, Array]:
        """Values of the URDF and sizes of their doubt; size 0: nothing is known."""
        known, size = urdf_values(self.model)
        further = (0, columns - len(known))
        return np.pad(known, further), np.pad(size, further)

    @property
    def last_link(self) -> str:
        """That at the end of the chain, which holds a load."""
        return [column.body for column in self.model.base.columns if column.body][-1]

    def load(self, joints: BoolArray, gains: Array) -> float | None:
        """Mass at the last link beside the URDF that explains the efforts of some joints (they
        are few times what they were then); None where none does. `gains`: of currents, else ones.
        """
        W, Y = self._rows()
        Y, columns = gains * Y, self.model.base.columns
        count, names = len(columns), [column.name for column in columns]
        last = self.last_link
        held = [f'{last}.{name}' for name in ('M', 'MSx', 'MSy', 'MSz')]
        if not set(held) <= set(names):
            return None
        own = [k for k, column in enumerate(columns) if column.body == '']
        free = [*(names.index(name) for name in held), *own, *range(count, W.shape[2])]
        scale = np.sqrt(np.nanmean(Y**2, axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)
        values = columns.values(self.model.tree)
        beyond = (Y - W[:, :, :count] @ values) / scale
        A, there = W[:, :, free] / scale[:, None], np.isfinite(beyond)
        left = []
        for first in (len(held), 0):  # without a load, and with one
            x = np.linalg.lstsq(A[:, :, first:][there], beyond[there], rcond=1e-8)[0]
            left.append(np.nanstd(beyond - A[:, :, first:] @ x, axis=0)[joints])
        mass = float(x[0])
        reach = float(np.linalg.norm(x[1:4])) / mass if mass > 0.0 else np.inf
        arm = sum(values[k] for k, name in enumerate(names) if name.endswith('.M'))
        known = mass < arm and reach < LOAD_REACH
        return mass if known and (left[1] < LOAD_LEAVES * left[0]).all() else None

    def scales(self) -> Array:
        """Efforts over those of the URDF's masses (joints,); nan where those are small."""
        W, Y = self._rows()
        columns = self.model.base.columns
        count = len(columns)
        urdf = W[:, :, :count] @ columns.values(self.model.tree)
        found = np.full(Y.shape[1], np.nan)
        extras = [k for k, column in enumerate(columns) if column.body == '']
        for j in range(Y.shape[1]):
            there = np.isfinite(Y[:, j])
            if not there.any():
                continue
            others = [W[there, j, k] for k in extras] + [W[there, j, count + j]]
            A = np.column_stack([urdf[there, j], *others])
            norms = np.linalg.norm(A, axis=0)
            if norms[0] <= 0.0:
                continue
            used = norms > 0.0
            x, *_ = np.linalg.lstsq(A[:, used] / norms[used], Y[there, j], rcond=1e-8)
            part = np.std(urdf[there, j]) * abs(x[0] / norms[0])
            if part > 0.2 * np.std(Y[there, j]):
                found[j] = x[0] / norms[0]
        return found


def look_at(
    robot: Robot, recordings: Sequence[ArmRecording], c: Configuration
) -> list[tuple[ArmRecording, Look]]:
    """Samples of each recording for the checks of the whole."""
    locked, _ = locked_joints(robot, recordings, c)
    tree = fixed_tree(robot, locked)
    masks, _ = effort_masks(tree, recordings, c)
    made = []
    for one, mask in zip(recordings, masks, strict=True):
        if not mask.any():
            continue
        model = ArmModel(robot, tree, np.array(c.gravity), np.asarray(mask), c)
        grid = on_grid(one, model.joints, c.rate_hz)
        cutoff = cutoff_of([grid])[0]
        part: Segment = max(segments_of(grid, cutoff), key=lambda s: len(s.q))
        step = max(1, len(part.q) // SAMPLES)
        slow = np.abs(part.qd) < 0.1 * np.std(part.qd, axis=0)
        smooth = ZeroPhaseFilter(grid.rate, min(4.0 * cutoff, 0.4 * grid.rate))
        known = np.isfinite(part.effort).all(axis=0)
        calm = smooth.derivatives(np.where(known, part.effort, 0.0)).position
        effort = np.where(mask & known & ~slow, calm, np.nan)[::step]
        q, qd, qdd = (x[::step] for x in (part.q, part.qd, part.qdd))
        made.append((one, Look(model, q, qd, qdd, effort, model.gravity)))
    return made


def whole_findings(
    robot: Robot, recordings: Sequence[ArmRecording], c: Configuration
) -> list[Finding]:
    """Do efforts and motion belong together, and in which units?"""
    return finished(whole_slices(robot, recordings, c))


def whole_slices(
    robot: Robot, recordings: Sequence[ArmRecording], c: Configuration
) -> Slices[list[Finding]]:
    """The same in slices."""
    findings: list[Finding] = []
    try:
        looks = look_at(robot, recordings, c)
    except VehIdError:
        return []
    for recording, look in looks:
        yield
        scaled, all_of_them = _scaled(recording, look, c)
        plain = 0.0 if all_of_them else look.misfit()
        told = (yield from _explained(recording, look, plain)) if plain > POOR_FIT else []
        told = told if any(one.code != 'poor_fit' for one in told) else scaled or told
        findings += told or _pushed(recording, look)
    return findings


def _pushed(recording: ArmRecording, look: Look) -> list[Finding]:
    """Joints whose friction would push: a light last joint shows a wrong sign in nothing else."""
    power, std = look.friction_power()
    findings = []
    for j, name in enumerate(look.model.joints):
        if power[j] < -PUSHED * std[j]:
            place = f'{recording.topic}.effort[{name}]'
            text = (
                f'{recording.source}: the friction of {name} would push it: '
                f'{place} or position[{name}] has the wrong sign'
            )
            findings.append(
                Finding('bad', 'effort_sign', text, place, size=float(-power[j] / std[j]))
            )
    return findings


def _explained(recording: ArmRecording, look: Look, plain: float) -> Slices[list[Finding]]:
    tried: list[tuple[Hypothesis[Look], float]] = []
    for one in _hypotheses(recording, look):
        tried.append((one, judged(look, one, Look.misfit, float('inf'))))
        if len(tried) % SLICE == 0:
            yield
    best = best_of(tried, plain)
    if best.best is None or best.factor < CLEAR:
        if plain < VERY_POOR:
            return []
        text = (
            f'{recording.source}: the URDF explains the efforts but for {100.0 * plain:.0f} %; no '
            'exchanged joints, signs or direction of gravity explains that'
        )
        return [Finding('warn', 'poor_fit', text, f'{recording.topic}.effort')]
    level: Level = 'bad' if best.factor > CERTAIN else 'warn'
    text = (
        f'{recording.source}: {best.best.text} (the efforts then fit {best.factor:.3g} times '
        f'better{doubt(best.factor)})'
    )
    return [Finding(level, best.best.code, text, best.best.where, best.factor)]


def _hypotheses(recording: ArmRecording, look: Look) -> Iterator[Hypothesis[Look]]:
    joints, count, topic = look.model.joints, len(look.model.joints), recording.topic
    for j in range(count):
        sign = np.ones(count)
        sign[j] = -1.0

        def turned(one: Look, sign: Array = sign) -> Look:
            return replace(
                one, q=one.q * sign, qd=one.qd * sign, qdd=one.qdd * sign, effort=one.effort * sign
            )

        def effort(one: Look, sign: Array = sign) -> Look:
            return replace(one, effort=one.effort * sign)

        def position(one: Look, sign: Array = sign) -> Look:
            return replace(one, q=one.q * sign, qd=one.qd * sign, qdd=one.qdd * sign)

        where = f'{topic}[{joints[j]}]'
        yield Hypothesis(
            'joint_sign',
            f'{joints[j]} has the wrong sign, of position and effort: turn its axis in the URDF',
            turned,
            where,
        )
        yield Hypothesis(
            'effort_sign',
            f'{topic}.effort[{joints[j]}] has the wrong sign',
            effort,
            f'{topic}.effort[{joints[j]}]',
        )
        yield Hypothesis(
            'position_sign',
            f'{topic}.position[{joints[j]}] has the wrong sign',
            position,
            f'{topic}.position[{joints[j]}]',
        )
        for turn in TURNS if look.model.tree.coordinate_is_angle(j) else ():
            zero = np.zeros(count)
            zero[j] = turn

            def shifted(one: Look, zero: Array = zero) -> Look:
                return replace(one, q=one.q - zero)

            place = f'{topic}.position[{joints[j]}]'
            told = f'{place} seems to be {np.degrees(turn):.0f} degrees off its zero'
            yield Hypothesis('position_offset', told, shifted, place)
        for i in range(j):
            order = np.arange(count)
            order[[i, j]] = j, i

            def swapped(one: Look, order: IntArray = order) -> Look:
                return replace(
                    one,
                    q=one.q[:, order],
                    qd=one.qd[:, order],
                    qdd=one.qdd[:, order],
                    effort=one.effort[:, order],
                )

            def efforts(one: Look, order: IntArray = order) -> Look:
                return replace(one, effort=one.effort[:, order])

            pair = f'{joints[i]} and {joints[j]}'
            yield Hypothesis('joints_swapped', f'{pair} are exchanged', swapped, topic)
            yield Hypothesis(
                'efforts_swapped', f'the efforts of {pair} are exchanged', efforts, topic
            )

    def backwards(one: Look) -> Look:
        sides = {name: getattr(one, name)[:, ::-1] for name in ('q', 'qd', 'qdd', 'effort')}
        return replace(one, **sides)

    text = 'the joints are named in the reverse order'
    yield Hypothesis('joints_reversed', text, backwards, topic)
    for turn in range(1, count):

        def rolled(one: Look, turn: int = turn) -> Look:
            names = ('q', 'qd', 'qdd', 'effort')
            return replace(
                one, **{name: np.roll(getattr(one, name), -turn, axis=1) for name in names}
            )

        text = f'the names of the joints begin with that of {joints[-turn]}'
        yield Hypothesis('joints_swapped', text, rolled, topic)
    size = float(np.linalg.norm(look.gravity)) or 9.80665
    for axis in range(3):
        for side in (-1.0, 1.0):
            gravity = np.zeros(3)
            gravity[axis] = side * size
            if np.allclose(gravity, look.gravity):
                continue

            def other(one: Look, gravity: Array = gravity) -> Look:
                return replace(one, gravity=gravity)

            told = ', '.join(f'{v:g}' for v in gravity)
            yield Hypothesis(
                'gravity_direction',
                f'gravity seems to be [{told}] m/s^2 in the axes of the root link: set gravity',
                other,
                'gravity',
            )


def _scaled(recording: ArmRecording, look: Look, c: Configuration) -> tuple[list[Finding], bool]:
    """Efforts far from what the URDF's masses ask for: another unit, currents, signs.

    Also whether that concerns all joints, not single ones.
    """
    if c.effort == 'current' and not c.gains:
        return [], False
    scales = look.scales()
    gains = np.array([c.gains.get(n, 1.0) for n in look.model.joints])
    gains = gains if c.effort == 'current' else np.ones(len(gains))
    scales = scales * gains
    told = np.abs(scales) < NO_UNIT
    if told.sum() < 1:
        return [], False
    topic = f'{recording.topic}.effort'
    middle = float(np.median(scales[told]))
    if (scales[told] < 0.0).all() and np.nansum(look.friction_power()[0]) < 0.0:
        text = f'{recording.source}: {topic} has the wrong sign: it pushes along the motion'
        return [Finding('bad', 'effort_sign', text, topic)], True
    alike = bool((np.abs(np.log(np.abs(scales[told] / middle))) < ALIKE).all())
    if alike and 300.0 < middle < 3000.0:
        text = (
            f'{recording.source}: {topic} is {middle:.4g} times what the masses of the URDF ask '
            'for: N mm? It must be in N m'
        )
        return [Finding('bad', 'unit', text, topic)], True
    # A payload asks for more than the masses of the URDF do.
    loaded = any(Path(one.recording).name == recording.name for one in c.payloads)
    wrong = told & ((scales < LEAST_SCALE) | ((scales > LARGEST_SCALE) & (not loaded)))
    if not wrong.any():
        return [], False
    names = [n for n, w in zip(look.model.joints, wrong, strict=True) if w]
    # A load asks joints for different factors, a unit all of them for one.
    one_unit = wrong.sum() >= SEVERAL and (wrong == told).all()
    one_unit &= float(np.ptp(np.log(np.abs(scales[told])))) < SAME
    loads = (scales[wrong] > LARGEST_SCALE).all() and not one_unit
    load = look.load(wrong, gains) if loads else None
    listing = ', '.join(f'{s:.3g}' for s in scales[wrong])
    hint = 'another unit, or masses in the URDF that are far off'
    if alike and 3e-4 < middle < 3e-3:
        hint = 'kN m, or masses of the URDF in g?'
    elif middle < LEAST_SCALE and c.effort == 'torque':
        hint = 'currents? set effort: current and gains'
    if load is not None:
        text = (
            f'{recording.source}: {topic} of {listed(names)} is {listing} times what the masses '
            f'of the URDF ask for, as a load of about {load:.2g} kg at {look.last_link} does: '
            'what is found of that link holds the load; name the recording under payloads to tell '
            'it from the arm'
        )
        return [Finding('warn', 'load_unknown', text, topic)], False
    everywhere = bool((wrong == told).all()) and bool((scales[told] > 0.0).all())
    # Masses of one URDF are not off by so different factors.
    apart = float(np.ptp(np.log(np.abs(scales[told])))) > APART
    level: Level = 'bad' if everywhere or apart else 'warn'
    text = (
        f'{recording.source}: {topic} of {listed(names)} is {listing} times what the masses of '
        f'the URDF ask for: {hint}'
    )
    return [Finding(level, 'effort_scale', text, topic)], everywhere
