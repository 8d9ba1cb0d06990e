"""A whole step of the car in one compiled call: advance, read sensors, gate, update, correct.

It is `ErrorEKF.step` for a step in which no sensor speaks twice; `use_and_correct` is its second
half, `ErrorEKF._use` and `ErrorEKF._correct`. What is rare stays in Python: a step that does not
converge, sensors that are read by themselves, and when one gives cause for doubt the correction
waits until it has been judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.held_arrays import (
    HeldArrays,
    flags_1,
    flat,
    reals_1,
    reals_2,
    reals_3,
    wholes_1,
    wholes_2,
)
from veh_identification.observation.channels import Channel
from veh_identification.observation.sensors.kernels import (
    BY_THEMSELVES,
    MOST_INTEGERS,
    MOST_REALS,
    read_sensor,
)
from veh_identification.observation.sequential import (
    BandedTransition,
    predict_banded,
    update_groups,
)
from veh_identification.observation.trust import judge_groups
from veh_identification.systems.vehicle.model.chassis_frame import YAW_PLACE
from veh_identification.systems.vehicle.model.ground import carry, turn_tilts
from veh_identification.systems.vehicle.model.stepper import advance
from veh_identification.systems.vehicle.observer.observed import (
    apply_errors,
    chassis_view,
    turn_forces,
)
from veh_identification.systems.vehicle.observer.pseudo_sensors import ROAD, read_constraint
from veh_identification.systems.vehicle.observer.rolling_wheel import ROLLING, SHARED, read_rolling
from veh_identification.types import Array, IntArray

#: What `use_and_correct` did; `step_and_use` may also find that the model cannot make the step.
NOTHING, CORRECTED, TO_JUDGE, FAILED, NOT_MADE = range(5)
#: Where `advance` takes its driven rows, coordinates, inputs and force errors.
DRIVE, Q, QD, QDD, INPUTS, FORCE_ERROR = 1, 2, 3, 4, 14, 18
#: Where `use_and_correct` takes the view of the chassis, parameters, covariance, errors, room for
#: as many, and the ground, after its first two arguments.
VALUES, DERIVATIVES, PARAMETERS, COVARIANCE, ERRORS = 9, 10, 11, 13, 14
ROOM, CARRIED, GROUND = 33, 34, 35
#: Coordinates of which `swing` is told: yaw and the heights of e1 and e2.
TURNS = (3, 4, 5)


class SensorTable:
    """Sensors of a filter as numbers, by their places in it."""

    def __init__(self, channels: Mapping[str, Channel], columns: Mapping[int, int]) -> None:
        count, self._columns = len(channels), columns
        self.kind = np.full(count, BY_THEMSELVES, dtype=np.int64)
        self.integers = np.zeros((count, MOST_INTEGERS), dtype=np.int64)
        self.reals = np.zeros((count, MOST_REALS))
        self.own = np.zeros((count, 2), dtype=np.int64)
        self.common = np.zeros((count, SHARED), dtype=np.int64)  # places of what it shares
        self.judged = np.zeros(count, dtype=bool)
        for channel in channels.values():
            number = channel.number
            self.own[number] = channel.own.start, channel.own.stop
            self.common[number, : len(channel.common)] = channel.common
            self.judged[number] = channel.trust is not None
            self.fill(channel)
        rows = sum(channel.size for channel in channels.values())
        self.stated = np.full(rows, np.nan)  # variances that messages bring
        self.by_itself = (self.kind == BY_THEMSELVES).tolist()
        # of the messages of an update: sensor, time, and what came of them
        self.numbers = np.zeros(count, dtype=np.int64)
        self.times = np.zeros(count)
        self.outcome = np.zeros((count, 4))
        self.given = np.zeros(8)  # inputs of a step, see `step_and_use`

    def fill(self, channel: Channel) -> None:
        """Take the numbers of a sensor, if it has any."""
        packed = getattr(channel.sensor, 'packed', None)
        if packed is not None:
            number = channel.number
            self.kind[number], integers, reals = packed(self._columns)
            self.integers[number, : len(integers)] = integers
            self.reals[number, : len(reals)] = reals


@njit(cache=True, nogil=True)
def fade_side_forces(
    P: Array, first: int, q: Array, qd: Array, leak: tuple[float, float], force_error: Array
) -> None:
    """Let side forces and yaw moments that were estimated for a slow car fade.

    `first`: place of the acceleration errors, which begin with x, y, z, yaw; `leak`: what a step
    takes of those of a car that stands, as a rate times its length, and the speed from which on
    it takes nothing.
    """
    co, si = np.cos(q[YAW_PLACE]), np.sin(q[YAW_PLACE])
    speed = (qd[0] * co + qd[1] * si) / leak[1]
    if abs(speed) >= 1.0:
        return
    lost = 1.0 - np.exp(-leak[0] * (1.0 - speed * speed))
    for _ in range(2):  # rows, then columns of the transpose: A P A^T
        for j in range(P.shape[0]):
            along = lost * (co * P[first + 1, j] - si * P[first, j])
            P[first, j] += along * si
            P[first + 1, j] -= along * co
            P[first + 3, j] *= 1.0 - lost
        P = P.T
    along = lost * (co * force_error[1] - si * force_error[0])
    force_error[0] += along * si
    force_error[1] -= along * co
    force_error[YAW_PLACE] *= 1.0 - lost


@njit(cache=True, nogil=True)
def swing(P: Array, yaw: float, arm: Array, size: int, turns: Array, dt: float) -> None:
    """Unknown turns of the body are turns about its accelerometer.

    What is felt there counts as a force on the car, whatever turns the body: a body that dives at
    the onset of braking would hold back the force that is felt, and with it the speed, and all
    other sensors would seem to be early. Upwards it is hardly believed at all.

    `arm`: its place; `size`: of the coordinates; `turns`: densities of the unknown part of the
    accelerations of yaw, e1z and e2z, of which the step `dt` has been added already.
    """
    co, si = np.cos(yaw), np.sin(yaw)
    # what a rate of yaw, e1z, e2z takes from the speed of the origin along and across the car
    along, across = (arm[1], arm[2], 0.0), (-arm[0], 0.0, arm[2])
    # of errors, of both and of rates, by white noise on the rates as in `integrator_noise`
    added = (dt**3 / 3.0, dt**2 / 2.0, dt)
    for k in range(3):
        if turns[k] == 0.0:
            continue
        moved = (co * along[k] - si * across[k], si * along[k] + co * across[k])
        for a in range(2):
            for b in range(2):
                turn = a * size + TURNS[k]
                for i in range(2):
                    change = turns[k] * added[a + b] * moved[i]
                    P[turn, b * size + i] += change
                    P[b * size + i, turn] += change
                    for j in range(2):
                        P[a * size + j, b * size + i] += change * moved[j]


@njit(cache=True, nogil=True)
def predict_errors(
    F: BandedTransition,
    W: Array,
    P: Array,
    spare: Array,
    keep: Array,
    initial: Array,
    parameters: Array,
    turn: float,
    leak: tuple[float, float],
    carried: bool,
    ground: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    force_error: Array,
    places: tuple[int, int],
    arm: Array,
    turns: Array,
    dt: float,
    values: Array,
    derivatives: Array,
) -> None:
    """Covariance, parameters and side forces after a step of the model, and the chassis' view.

    `keep`: what is left of the parameters' distance to `initial`; `leak`: what a step takes of
    the side forces of a car that stands, as a rate times its length, and the speed at which it
    takes nothing; `places` of the tilts and of the accelerations among the errors; `arm` and
    `turns` as in `swing`.
    """
    predict_banded(F, P, W, spare)
    swing(P, q[YAW_PLACE], arm, places[1] // 2, turns, dt)
    for i in range(parameters.size):
        if keep[i] != 1.0:
            parameters[i] = initial[i] + keep[i] * (parameters[i] - initial[i])
    if turn != 0.0:
        turn_tilts(P, places[0], turn)
    if leak[0] > 0.0:
        fade_side_forces(P, places[1], q, qd, leak, force_error)
    chassis_view(q, qd, qdd, 2, carried, ground, values, derivatives)


@njit(cache=True, nogil=True)
def _read(
    number: int,
    age: float,
    rows: tuple[int, int],
    kind: IntArray,
    integers: IntArray,
    reals: Array,
    own: IntArray,
    common: IntArray,
    stated: Array,
    parameters: Array,
    values: Array,
    derivatives: Array,
    q: Array,
    qd: Array,
    H: Array,
    predicted: Array,
    variance: Array,
    available: NDArray[np.bool_],
    ground: Array,
    spare: Array,
) -> None:
    """`Sensor.linearise` into the rows of a sensor, and the variance that its message brings."""
    n, states = derivatives.shape[2], H.shape[1]
    first = states - parameters.size
    a, b = rows
    zdd = H[a:b, 2 * n : 3 * n] if first == 3 * n else spare[a:b, :n]
    mine = parameters[own[number, 0] : own[number, 1]]
    columns = H[a:b, first + own[number, 0] : first + own[number, 1]]
    if kind[number] == ROLLING:
        shared, by_shared = np.empty(SHARED), np.empty(SHARED)
        for i in range(SHARED):
            shared[i] = parameters[common[number, i]]
        read_rolling(
            integers[number],
            reals[number],
            values,
            derivatives,
            q,
            mine,
            shared,
            age,
            predicted[a:b],
            H[a:b, :n],
            H[a:b, n : 2 * n],
            zdd,
            columns,
            by_shared,
            variance[a:b],
        )
        for i in range(SHARED):
            H[a, first + common[number, i]] = by_shared[i]
    elif kind[number] >= ROAD:
        read_constraint(
            kind[number],
            reals[number],
            values,
            derivatives,
            ground,
            mine,
            predicted[a:b],
            H[a:b, :n],
            H[a:b, n : 2 * n],
            columns,
            variance[a:b],
            available[a:b],
        )
    else:
        read_sensor(
            kind[number],
            integers[number],
            reals[number],
            values,
            derivatives,
            q,
            qd,
            mine,
            age,
            predicted[a:b],
            H[a:b, :n],
            H[a:b, n : 2 * n],
            zdd,
            columns,
            variance[a:b],
        )
    for row in range(a, b):
        if stated[row] == stated[row]:
            shaken = variance[row] - reals[number, 0] if kind[number] == ROLLING else 0.0
            variance[row], stated[row] = stated[row] + shaken, np.nan


@njit(cache=True, nogil=True)
def _count(outcome: Array, time: float, measured: Array, tally: Array) -> None:
    """`ErrorEKF._count` into the row of a sensor; see `channels.TALLY`."""
    if outcome[1] == 0.0:
        finite = False
        for i in range(measured.size):
            finite = finite or np.isfinite(measured[i])
        tally[3 if finite else 4] += 1.0
        return
    if outcome[2] == 0.0:
        tally[1] += 1.0
        return
    if tally[0] == 0.0 or time > tally[5]:
        tally[5] = time
    tally[0] += 1.0
    if outcome[2] < 1.0:
        tally[2] += 1.0


@njit(cache=True, nogil=True)
def use_and_correct(
    count: int,
    now: float,
    numbers: IntArray,
    times: Array,
    kind: IntArray,
    integers: IntArray,
    reals: Array,
    own: IntArray,
    common: IntArray,
    to_judge: NDArray[np.bool_],
    stated: Array,
    values: Array,
    derivatives: Array,
    parameters: Array,
    bounds: Array,
    P: Array,
    x: Array,
    H: Array,
    predicted: Array,
    measured: Array,
    variance: Array,
    available: NDArray[np.bool_],
    groups: IntArray,
    scatter: Array,
    gates: Array,
    noise: Array,
    innovation: Array,
    total: Array,
    whitened: Array,
    judged: NDArray[np.bool_],
    hot: Array,
    medians: Array,
    quiet: tuple[float, float, float],
    tally: Array,
    outcome: Array,
    spare: Array,
    carried: bool,
    ground: Array,
    mass: Array,
    columns: IntArray,
    force_error: Array,
    points: IntArray,
    vectors: IntArray,
    spokes: IntArray,
    q: Array,
    qd: Array,
    qdd: Array,
) -> int:
    """Use the messages of `count` sensors; `outcome` (count, 4) as `judge_groups` leaves it."""
    for g in range(count):
        number = numbers[g]
        if kind[number] != BY_THEMSELVES:
            first = groups[number, 0]
            _read(
                number,
                now - times[g],
                (first, first + groups[number, 1]),
                kind,
                integers,
                reals,
                own,
                common,
                stated,
                parameters,
                values,
                derivatives,
                q,
                qd,
                H,
                predicted,
                variance,
                available,
                ground,
                spare,
            )
    update_groups(
        P,
        x,
        H,
        predicted,
        measured,
        variance,
        available,
        numbers[:count],
        groups,
        scatter,
        gates,
        noise,
        innovation,
        total,
        whitened,
        outcome,
    )
    judge_groups(
        numbers[:count],
        groups,
        times,
        measured,
        innovation,
        whitened,
        judged,
        hot,
        scatter,
        medians,
        quiet,
        outcome,
    )
    accepted, doubtful = False, False
    for g in range(count):
        number = numbers[g]
        first = groups[number, 0]
        _count(outcome[g], times[g], measured[first : first + groups[number, 1]], tally[number])
        if outcome[g, 1] > 0.0 and outcome[g, 3] == 0.0 and to_judge[number]:
            doubtful = True
        accepted = accepted or (outcome[g, 1] > 0.0 and outcome[g, 2] > 0.0)
    if doubtful:
        return TO_JUDGE
    if not accepted:
        return NOTHING
    own_errors = x.size - parameters.size
    if not apply_errors(
        x,
        own_errors // columns.size,
        carried,
        ground,
        mass,
        columns,
        force_error,
        points,
        vectors,
        spokes,
        q,
        qd,
        qdd,
    ):
        return FAILED
    for i in range(parameters.size):
        value = parameters[i] + x[own_errors + i]
        parameters[i] = min(max(value, bounds[0, i]), bounds[1, i])
    return CORRECTED


@njit(inline='always')
def step_and_use(
    dt: float,
    given: Array,
    rack: int,
    moving: tuple[Any, ...],
    solver: tuple[float, float, int],
    F: BandedTransition,
    W: Array,
    keep: Array,
    initial: Array,
    leak: tuple[float, float],
    places: tuple[int, int],
    arm: Array,
    turns: Array,
    count: int,
    now: float,
    used: tuple[Any, ...],
) -> int:
    """A step of the car and the update after it; with NOT_MADE all is as it was but the inputs.

    A part of `step_at_once` alone: compiled by itself, all that it calls would be made twice.

    `given`: torques (4), pressure, travel of the rack with its rate and acceleration; `rack`: the
    row that drives it; `moving`: what `advance` takes, `solver`: its last three arguments; F to
    `places` as in `predict_errors`; `used`: what `use_and_correct` takes.
    """
    drive, q, inputs = moving[DRIVE], moving[Q], moving[INPUTS]
    for i in range(4):
        inputs[i] = given[i]
    inputs[4] = max(0.0, given[4])  # a sensor's zero error is no driving torque
    for k in range(3):
        drive[k, rack] = given[5 + k]
    yaw = q[YAW_PLACE]
    if advance(*moving, dt, solver[0], solver[1], solver[2]) <= 0:  # type: ignore[call-arg]
        return NOT_MADE
    turn = q[YAW_PLACE] - yaw
    carried, ground = used[CARRIED], used[GROUND]
    if carried:
        carry(ground, turn, dt)
    turn_forces(moving[FORCE_ERROR], turn)
    predict_errors(
        F,
        W,
        used[COVARIANCE],
        used[ROOM],
        keep,
        initial,
        used[PARAMETERS],
        turn if carried else 0.0,
        leak,
        carried,
        ground,
        q,
        moving[QD],
        moving[QDD],
        moving[FORCE_ERROR],
        places,
        arm,
        turns,
        dt,
        used[VALUES],
        used[DERIVATIVES],
    )
    used[ERRORS][:] = 0.0
    return use_and_correct(count, now, *used)


#: Where `step_at_once` finds what `advance` takes, what `use_and_correct` takes, and the rest.
MOVING, USED, OTHERS = 0, 28, 75


def held_step(
    moving: tuple[Any, ...], used: tuple[Any, ...], others: tuple[Any, ...]
) -> HeldArrays:
    """What `step_at_once` takes; `others`: what `step_and_use` takes beside the two, in order."""
    assert (len(flat(moving)), len(flat(used))) == (USED, OTHERS - USED)
    return HeldArrays((moving, used, others))


@njit(cache=True, nogil=True)
def _moving(table: IntArray) -> Any:
    """What `advance` takes."""
    return (
        (
            wholes_1(table, MOVING),
            reals_1(table, MOVING + 1),
            wholes_1(table, MOVING + 2),
            reals_1(table, MOVING + 3),
            wholes_1(table, MOVING + 4),
            reals_1(table, MOVING + 5),
        ),
        reals_2(table, MOVING + 6),
        reals_1(table, MOVING + 7),
        reals_1(table, MOVING + 8),
        reals_1(table, MOVING + 9),
        reals_1(table, MOVING + 10),
        wholes_2(table, MOVING + 11),
        wholes_1(table, MOVING + 12),
        wholes_1(table, MOVING + 13),
        wholes_1(table, MOVING + 14),
        reals_2(table, MOVING + 15),
        reals_2(table, MOVING + 16),
        reals_1(table, MOVING + 17),
        reals_2(table, MOVING + 18),
        reals_1(table, MOVING + 19),
        reals_2(table, MOVING + 20),
        reals_2(table, MOVING + 21),
        reals_1(table, MOVING + 22),
        reals_1(table, MOVING + 23),
        reals_2(table, MOVING + 24),
        reals_2(table, MOVING + 25),
        wholes_1(table, MOVING + 26),
        reals_2(table, MOVING + 27),
    )


@njit(cache=True, nogil=True)
def _used(table: IntArray) -> Any:
    """What `use_and_correct` takes after its first two arguments."""
    return (
        wholes_1(table, USED),
        reals_1(table, USED + 1),
        wholes_1(table, USED + 2),
        wholes_2(table, USED + 3),
        reals_2(table, USED + 4),
        wholes_2(table, USED + 5),
        wholes_2(table, USED + 6),
        flags_1(table, USED + 7),
        reals_1(table, USED + 8),
        reals_2(table, USED + 9),
        reals_3(table, USED + 10),
        reals_1(table, USED + 11),
        reals_2(table, USED + 12),
        reals_2(table, USED + 13),
        reals_1(table, USED + 14),
        reals_2(table, USED + 15),
        reals_1(table, USED + 16),
        reals_1(table, USED + 17),
        reals_1(table, USED + 18),
        flags_1(table, USED + 19),
        wholes_2(table, USED + 20),
        reals_1(table, USED + 21),
        reals_2(table, USED + 22),
        reals_2(table, USED + 23),
        reals_1(table, USED + 24),
        reals_1(table, USED + 25),
        reals_1(table, USED + 26),
        flags_1(table, USED + 27),
        reals_2(table, USED + 28),
        reals_1(table, USED + 29),
        (
            reals_1(table, USED + 30)[0],
            reals_1(table, USED + 31)[0],
            reals_1(table, USED + 32)[0],
        ),
        reals_2(table, USED + 33),
        reals_2(table, USED + 34),
        reals_2(table, USED + 35),
        flags_1(table, USED + 36)[0],
        reals_2(table, USED + 37),
        reals_2(table, USED + 38),
        wholes_1(table, USED + 39),
        reals_1(table, USED + 40),
        wholes_1(table, USED + 41),
        wholes_1(table, USED + 42),
        wholes_2(table, USED + 43),
        reals_1(table, USED + 44),
        reals_1(table, USED + 45),
        reals_1(table, USED + 46),
    )


@njit(cache=True, nogil=True)
def step_at_once(table: IntArray, count: int, now: float) -> int:
    """`step_and_use` with what `held_step` holds: a call costs little."""
    k = OTHERS
    return step_and_use(
        reals_1(table, k)[0],
        reals_1(table, k + 1),
        wholes_1(table, k + 2)[0],
        _moving(table),
        (
            reals_1(table, k + 3)[0],
            reals_1(table, k + 4)[0],
            wholes_1(table, k + 5)[0],
        ),
        BandedTransition(reals_1(table, k + 6), wholes_1(table, k + 7), reals_2(table, k + 8)),
        reals_2(table, k + 9),
        reals_1(table, k + 10),
        reals_1(table, k + 11),
        (reals_1(table, k + 12)[0], reals_1(table, k + 13)[0]),
        (wholes_1(table, k + 14)[0], wholes_1(table, k + 15)[0]),
        reals_1(table, k + 16),
        reals_1(table, k + 17),
        count,
        now,
        _used(table),
    )
