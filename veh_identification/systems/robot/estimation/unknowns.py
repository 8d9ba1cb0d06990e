"""Effort delay, width of dry friction and drive gains: unknowns in which the model is not linear.

Each is sought by its profile or by Gauss-Newton steps with the parameters eliminated; at the end
its derivative stands as one more column beside the parameters, so that deviations of all are those
of the joint fit.

The solutions here are those of instrumental variables: Z' P (Y - W x) = 0 with Z the regressor of
the motion within the band of the excitation. Torque ripple, friction and noise that a controller
turns into motion are in W but not in Z: they would bias a plain fit of a robot under control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from veh_identification.errors import EstimationError
from veh_identification.signals.resting import moving_rms, sliding_rows
from veh_identification.systems.robot.model import ArmModel, Dry
from veh_identification.systems.robot.processing import LONGEST_DELAY, Rows
from veh_identification.types import Array, BoolArray

#: Widths that are tried, as shares of the joint's usual speed and of its usual travel.
SPEEDS = np.geomspace(0.002, 0.6, 12)
WAYS = np.geomspace(1e-5, 0.1, 12)
ROUNDS = 4
#: A joint that is slower than this share of its usual speed may stick: rows with more than
#: SLOW_LIMIT of such moments are left out, as long as enough others are there.
SLOW_SHARE, SLOW_LIMIT = 0.15, 0.03
ENOUGH = 0.25
#: A delay moves less than this, in samples of the recording: it is found.
DELAY_FOUND = 0.002


@dataclass(frozen=True, eq=False)
class Load:
    """A load in one recording: its ten parameters, nan where they are sought."""

    recording: str
    link: str
    value: Array

    @property
    def free(self) -> BoolArray:
        """(10,) which parameters are sought."""
        return np.isnan(self.value)

    @property
    def sought(self) -> bool:
        """Whether its mass is sought: it is a payload to be found."""
        return bool(np.isnan(self.value[0]))


@dataclass(frozen=True, eq=False)
class State:
    """Values of the unknowns that are not linear."""

    delay: float
    shapes: tuple[Dry, ...]  # of each joint's dry friction
    gains: Array  # (joints,) torque over effort
    delay_free: bool
    widths_free: BoolArray
    gains_free: BoolArray
    base_delay: float = 0.0  # of the sensor below the base
    base_delay_free: bool = False

    @property
    def count(self) -> int:
        """Unknowns beside the parameters."""
        drives = int(self.widths_free.sum()) + int(self.gains_free.sum())
        return int(self.delay_free) + drives + int(self.base_delay_free)


@dataclass(frozen=True, eq=False)
class System:
    """Y = W x with the unknowns where they are, all recordings below each other."""

    W: Array  # (M, equations, parameters, unknown loads and zeros of the base's sensor)
    Z: Array  # the instruments of its columns
    Y: Array  # (M, equations); nan: not measured
    begins: tuple[int, ...]  # first row of each recording
    known: Array  # (M, equations) torque of known loads


def assemble(
    model: ArmModel,
    rows: Sequence[Rows],
    loads: Sequence[Load],
    masks: Sequence[BoolArray],
    state: State,
    slides: BoolArray | None = None,
) -> System:
    """Both sides; `masks` (equations,) of each recording say whose efforts count.

    `slides` (M, equations) marks the rows to use; None: all.
    """
    shifted, joints = shifted_zeros(model, masks), len(model.joints)
    ends = np.cumsum([0, *(int(one.free.sum()) for one in loads), *[6] * len(shifted)])
    W, Z, Y, known, begins, total = [], [], [], [], [], 0
    for number, (one, mask) in enumerate(zip(rows, masks, strict=True)):
        friction = one.friction(model, state.shapes)
        block = np.zeros((*friction.shape[:2], int(ends[-1])))
        smooth = np.zeros_like(block)
        torque = np.zeros(friction.shape[:2])
        for k, load in enumerate(loads):
            if load.recording != one.name or one.load is None or one.load_instrument is None:
                continue
            place = slice(int(ends[k]), int(ends[k + 1]))
            block[:, :, place] = one.load[:, :, load.free]
            smooth[:, :, place] = one.load_instrument[:, :, load.free]
            torque = one.load[:, :, ~load.free] @ load.value[~load.free]
        if number in shifted:
            first = int(ends[len(loads) + shifted.index(number)])
            for side in (block, smooth):
                side[:, joints:, first : first + 6] = np.eye(6)
        effort = one.effort(state.delay, state.base_delay)
        effort[:, :joints] *= state.gains
        W.append(np.concatenate([one.linear, friction, block], axis=2))
        Z.append(np.concatenate([one.instrument, friction, smooth], axis=2))
        Y.append(np.where(mask, effort, np.nan))
        known.append(torque)
        begins.append(total)
        total += len(effort)
    sides = np.concatenate(Y)
    if slides is not None:
        sides = np.where(slides, sides, np.nan)
    rows_of_all = np.concatenate(W), np.concatenate(Z)
    return System(*rows_of_all, sides, tuple(begins), np.concatenate(known))


def shifted_zeros(model: ArmModel, masks: Sequence[BoolArray]) -> list[int]:
    """Recordings with a base wrench beyond the first such one.

    Sensors are tared in between, and drift: each recording has constants of its own, so that the
    weight of a load shows in moments that change with the pose, never in a mere zero.
    """
    return [k for k, mask in enumerate(masks) if mask[len(model.joints) :].any()][1:]


def usual_speeds(rows: Sequence[Rows]) -> Array:
    """rms speed of each joint over all recordings, where it moves."""
    segments = [segment for one in rows for segment in one.segments]
    speeds = np.concatenate([one.qd for one in segments])
    return moving_rms(speeds, np.concatenate([one.rests for one in segments]))


def sliding(rows: Sequence[Rows]) -> BoolArray:
    """(M, equations): rows at which the joint surely slides; all that move, if those are too few.

    What sticks inside does not show below the base: of its equations all rows count.
    """
    limits = SLOW_SHARE * usual_speeds(rows)
    slow = np.concatenate([one.slow(limits) for one in rows])
    rest = np.concatenate([one.rest() for one in rows])
    clear = sliding_rows(slow, rest, SLOW_LIMIT, ENOUGH)
    further = rows[0].linear.shape[1] - clear.shape[1]
    return np.pad(clear, ((0, 0), (0, further)), constant_values=True)


def derivative_columns(
    model: ArmModel,
    rows: Sequence[Rows],
    system: System,
    state: State,
    value: Array,
    instruments: bool = False,
) -> Array:
    """Columns (M, joints, unknowns): what a change of delay, widths and gains does to Y - W x."""
    predicted = (system.Z if instruments else system.W) @ value + system.known
    columns = []
    joints = len(model.joints)
    slope = -slope_of(rows, system.begins, predicted)
    if state.delay_free:
        columns.append(np.where(np.arange(slope.shape[1]) < joints, slope, 0.0))
    friction = value[model.base.rank : model.base.rank + len(model.friction)]
    if state.widths_free.any():
        change = np.concatenate([one.widths(model, state.shapes, friction) for one in rows])
        for j in np.flatnonzero(state.widths_free):
            column = np.zeros(predicted.shape)
            column[:, j] = change[:, j]
            columns.append(column)
    for j in np.flatnonzero(state.gains_free):
        column = np.zeros(predicted.shape)
        column[:, j] = predicted[:, j]
        columns.append(column)
    if state.base_delay_free:
        columns.append(np.where(np.arange(slope.shape[1]) < joints, 0.0, slope))
    return np.stack(columns, axis=2) if columns else np.zeros((*predicted.shape, 0))


def slow_friction(rows: Sequence[Rows], system: System, joints: BoolArray) -> Array:
    """Columns (M, joints, joints that are asked for) of friction that fades with the speed.

    Joints stick near rest, and how much more friction there is then (Stribeck) still shows a
    little above the speed where rows begin to be used. It would pass for more dry and less
    viscous friction.
    """
    limits = SLOW_SHARE * usual_speeds(rows)
    fades = np.concatenate([one.fading(limits) for one in rows])
    there = np.isfinite(system.Y[:, : len(joints)]).any(axis=0)
    wanted = np.flatnonzero(joints & there)
    made = np.zeros((*system.Y.shape, len(wanted)))
    for k, j in enumerate(wanted):
        made[:, j, k] = fades[:, j]
    return made


def slope_of(rows: Sequence[Rows], begins: Sequence[int], predicted: Array) -> Array:
    """Time derivative of the predicted efforts, segment by segment."""
    made = np.zeros_like(predicted)
    for one, begin in zip(rows, begins, strict=True):
        step, start = one.filter.factor / one.filter.rate, begin
        for segment in one.segments:
            length = len(segment.q[segment.inner])
            count = (length - len(one.filter.taps)) // one.filter.factor + 1
            part = slice(start, start + count)
            if count > 4:
                made[part] = _derivative(predicted[part], step)
            start += count
    return made


def _derivative(values: Array, step: float) -> Array:
    """Fourth-order differences: rows have several samples in the fastest wave."""
    made = np.gradient(values, step, axis=0)
    made[2:-2] = (8.0 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / (12.0 * step)
    return made


def solve(
    system: System, columns: Array, instruments: Array, sigma: Array
) -> tuple[Array, Array, Array]:
    """Instrumental variables: parameters, further unknowns (`columns`), residuals (M, joints)."""
    W = np.concatenate([system.W, columns], axis=2) / sigma[:, None]
    Z = np.concatenate([system.Z, instruments], axis=2) / sigma[:, None]
    Y = (system.Y - system.known) / sigma
    there = np.isfinite(Y)
    A, B, y = W[there], Z[there], Y[there]
    norms = np.linalg.norm(B, axis=0)
    norms[norms == 0.0] = 1.0
    x = np.linalg.lstsq((B / norms).T @ (A / norms), (B / norms).T @ y, rcond=1e-14)[0] / norms
    residual = np.where(there, (Y - W @ x) * sigma, np.nan)
    split = system.W.shape[2]
    return x[:split], x[split:], residual


def instrumented(
    system: System, columns: Array, instruments: Array, sigma: Array
) -> tuple[Array, Array]:
    """Rows (V, Y') whose least squares are the instrumental variables' solution.

    V = Z A is the part of W that the instruments explain; what W holds beyond it, times the
    solution, is taken off Y, so that residuals and their colour are those of Y - W x.
    """
    W = np.concatenate([system.W, columns], axis=2)
    Z = np.concatenate([system.Z, instruments], axis=2)
    value = np.concatenate(solve(system, columns, instruments, sigma)[:2])
    there = np.isfinite(system.Y)
    weight = 1.0 / sigma[np.nonzero(there)[1], None]
    A, B = W[there] * weight, Z[there] * weight
    norms = np.linalg.norm(B, axis=0)
    norms[norms == 0.0] = 1.0
    share = np.linalg.lstsq(B / norms, A, rcond=1e-12)[0] / norms[:, None]
    V = Z @ share
    return V, system.Y - system.known - (W - V) @ value


def noise_of(residual: Array) -> Array:
    """rms of each equation; one without rows counts as one."""
    with np.errstate(invalid='ignore'):
        counts = np.isfinite(residual).sum(axis=0)
        rms = np.sqrt(np.nansum(residual**2, axis=0) / np.maximum(counts, 1))
    return np.where(rms > 0.0, rms, 1.0)


def seek(
    model: ArmModel,
    rows: Sequence[Rows],
    loads: Sequence[Load],
    masks: Sequence[BoolArray],
    state: State,
    cutoff_hz: float,
) -> State:
    """The unknowns that fit best; delay and gains where joints surely slide."""
    slides = sliding(rows)
    state = first_gains(model, rows, loads, masks, state)
    for _ in range(2):
        state = replace(state, shapes=best_shapes(model, rows, masks, state))
        state = _newton(model, rows, loads, masks, state, slides, LONGEST_DELAY / cutoff_hz)
    return state


def _newton(
    model: ArmModel,
    rows: Sequence[Rows],
    loads: Sequence[Load],
    masks: Sequence[BoolArray],
    state: State,
    slides: BoolArray,
    longest: float,
) -> State:
    """Gauss-Newton steps of delay and gains with the parameters eliminated."""
    fixed_widths = np.zeros_like(state.widths_free)
    for _ in range(2 * ROUNDS):
        system = assemble(model, rows, loads, masks, state, slides)
        value, sigma = weighted_solution(system)
        step_of = replace(state, widths_free=fixed_widths)
        columns, tools = (
            derivative_columns(model, rows, system, step_of, value, one) for one in (False, True)
        )
        if not columns.shape[2]:
            break
        _, step, _ = solve(system, columns, tools, sigma)
        state, moved = _stepped(state, step, longest)
        if moved < DELAY_FOUND / rows[0].filter.rate:
            break
    return state


def weighted_solution(system: System) -> tuple[Array, Array]:
    """Parameters with the noise of each equation, which their residuals show."""
    nothing = np.zeros((*system.Y.shape, 0))
    _, _, residual = solve(system, nothing, nothing, noise_of(system.Y))
    sigma = noise_of(residual)
    value, _, residual = solve(system, nothing, nothing, sigma)
    return value, noise_of(residual)


def _stepped(state: State, step: Array, longest: float) -> tuple[State, float]:
    """The state after a Gauss-Newton step, and how far it went (in seconds, gains alike)."""
    moved, place = 0.0, 0
    if state.delay_free:
        delay = float(np.clip(state.delay + step[0], -longest, longest))
        moved, place = abs(delay - state.delay), 1
        state = replace(state, delay=delay)
    free = np.flatnonzero(state.gains_free)
    if len(free):
        gains = state.gains.copy()
        change = np.clip(step[place : place + len(free)], -0.5, 1.0)
        gains[free] = gains[free] / (1.0 + change)
        moved = max(moved, 0.01 * float(np.abs(change).max()))
        state = replace(state, gains=gains)
    if state.base_delay_free:
        delay = float(np.clip(state.base_delay + step[-1], -longest, longest))
        moved = max(moved, abs(delay - state.base_delay))
        state = replace(state, base_delay=delay)
    return state, moved


def first_gains(
    model: ArmModel,
    rows: Sequence[Rows],
    loads: Sequence[Load],
    masks: Sequence[BoolArray],
    state: State,
) -> State:
    """Gains from what is known: W x - diag(effort) k = - torque of the load, linear in both.

    Equations of the base have no gain: their measured side is known as a load's torque is.
    """
    free = np.flatnonzero(state.gains_free)
    if not len(free):
        return state
    system = assemble(model, rows, loads, masks, state)
    columns = np.zeros((*system.Y.shape, len(free)))
    for k, j in enumerate(free):
        columns[:, j, k] = -np.nan_to_num(system.Y[:, j])
    fixed = system.Y.copy()
    fixed[:, free] = 0.0
    told = replace(system, Y=np.where(np.isfinite(system.Y), fixed, np.nan))
    _, gains, _ = solve(told, columns, columns, noise_of(system.Y))
    if not (gains > 0.0).all():
        names = [model.joints[j] for j, g in zip(free, gains, strict=True) if not g > 0.0]
        raise EstimationError(
            f'the gains of {", ".join(names)} cannot be found from the known load or the base '
            'wrench: the effort does not follow it (wrong sign of the current, wrong load, or a '
            'motion that hardly shows these joints); give them under gains'
        )
    found = state.gains.copy()
    found[free] *= gains
    return replace(state, gains=found)


def best_shapes(
    model: ArmModel, rows: Sequence[Rows], masks: Sequence[BoolArray], state: State
) -> tuple[Dry, ...]:
    """The shape of each joint's dry friction that leaves least in its own row."""
    shapes = list(state.shapes)
    pairs = zip(rows, masks, strict=True)
    Y = np.concatenate(
        [np.where(mask, one.effort(state.delay, state.base_delay), np.nan) for one, mask in pairs]
    )
    for j in np.flatnonzero(state.widths_free):
        there = np.isfinite(Y[:, j])
        A = np.concatenate([one.linear[:, j] for one in rows])
        if any(one.load is not None for one in rows):
            A = np.concatenate([A, _blocks(rows, int(j))], axis=1)
        Q = orthonormal(A[there])
        y = Y[there, j] - Q @ (Q.T @ Y[there, j])
        profile = _Profile(rows, int(j), Q, y, there)
        shapes[j] = min(
            (
                profile.best('speed', profile.speed * SPEEDS),
                profile.best('way', profile.way * WAYS),
            ),
            key=lambda one: one[0],
        )[1]
    return tuple(shapes)


class _Profile:
    """What is left in one joint's row with dry friction of some shape."""

    def __init__(self, rows: Sequence[Rows], joint: int, Q: Array, y: Array, there: Array) -> None:
        self.rows, self.joint, self.Q, self.y, self.there = rows, joint, Q, y, there
        segments = [segment for one in rows for segment in one.segments]
        self.speed = float(
            np.sqrt(np.mean(np.concatenate([s.qd[:, joint] for s in segments]) ** 2))
        )
        self.way = float(np.mean([np.std(s.q[:, joint]) for s in segments]))

    def left(self, shape: Dry) -> float:
        """Sum of squares."""
        c = np.concatenate([one.dry(self.joint, shape) for one in self.rows])[self.there]
        c = c - self.Q @ (self.Q.T @ c)
        return float(self.y @ self.y - (c @ self.y) ** 2 / max(float(c @ c), 1e-300))

    def best(self, kind: str, widths: Array) -> tuple[float, Dry]:
        """The width of the least, by a parabola over its logarithm."""
        costs = np.array([self.left(Dry(float(w), kind)) for w in widths])
        shape = Dry(_minimum(np.log(widths), costs), kind)
        return min((self.left(shape), 0.0), (float(costs.min()), 1.0))[0], shape


def _blocks(rows: Sequence[Rows], j: int) -> Array:
    """Columns of all loads in the row of one joint, each in its own recording."""
    count = sum(one.load is not None for one in rows)
    made, k = [], 0
    for one in rows:
        block = np.zeros((len(one.linear), 10 * count))
        if one.load is not None:
            block[:, 10 * k : 10 * k + 10] = one.load[:, j]
            k += 1
        made.append(block)
    return np.concatenate(made)


def orthonormal(A: Array) -> Array:
    """Orthonormal columns that span the range of A."""
    norms = np.linalg.norm(A, axis=0)
    used = norms > 1e-12 * max(float(norms.max(initial=0.0)), 1e-300)
    Q, R, _ = qr(A[:, used] / norms[used], mode='economic', pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.asarray(Q[:, diagonal > 1e-10 * diagonal.max(initial=0.0)])


def _minimum(places: Array, costs: Array) -> float:
    """The lowest place, by a parabola through its neighbours."""
    k = int(np.argmin(costs))
    if k in (0, len(costs) - 1):
        return float(np.exp(places[k]))
    left, middle, right = costs[k - 1 : k + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
    return float(np.exp(places[k] + shift * (places[1] - places[0])))
