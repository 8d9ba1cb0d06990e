"""One time step of the car in a single compiled call (equations 39-42 with the car's forces).

It is the loop of `NaturalModel.step` with one addition: a wheel turns by several degrees in a
step, which the polynomial predictor (18) misses by far more than anything else in the car, so the
spokes are predicted by the rotation that the trapezoidal rule itself makes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.dynamics import (
    begin_step,
    finish_step,
    newton_iteration,
)
from veh_identification.multibody.natural.kinematics import rounding
from veh_identification.multibody.natural.packing import reals_of
from veh_identification.systems.vehicle.model.forces import all_forces
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
# Columns of the spoke table: first coordinate of axis, forward, spoke 1, spoke 2, and the angle.
AXIS, FORWARD, SPOKE_1, SPOKE_2, ANGLE = range(5)
# After a change above this the factor is renewed: the penalty, scaled by the whole car, times the
# constraints' curvature along the old factor would throw the light spokes away (factor Delta^3).
RENEW = 1e-4
# Newton ends when its next change would be below this part of the tolerance; a change so many
# times larger than the tolerance tells nothing of the next one.
NEXT, NEAR = 0.01, 100.0
# Rates and accelerations need not fit the constraints as well as those of a model that is left to
# itself for minutes (`dynamics.PROJECTED`): sensors correct this one. It saves a pass of each.
PROJECTED = 1e-8


@njit(cache=True, nogil=True)
def place_spokes(row: IntArray, q: Array) -> None:
    """Spokes of a wheel from its angle and the hub's axis and forward vectors."""
    a, f = row[AXIS], row[FORWARD]
    co, si = np.cos(q[row[ANGLE]]), np.sin(q[row[ANGLE]])
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        down = q[a + i] * q[f + j] - q[a + j] * q[f + i]  # axis x forward
        q[row[SPOKE_1] + k] = co * q[f + k] + si * down
        q[row[SPOKE_2] + k] = si * q[f + k] - co * down


@njit(cache=True, nogil=True)
def predict_spokes(
    memory: Memory, spokes: IntArray, turn: Array, q: Array, qd: Array, qdd: Array, dt: float
) -> None:
    """Wheel angles and spokes at the end of the step; `turn` (4): angles they turn by."""
    _, _, _, scratch, places, _ = memory
    rate_hat = reals_of(scratch, places, pk.FIRST_HAT)
    second_hat = reals_of(scratch, places, pk.SECOND_HAT)
    for i in range(spokes.shape[0]):
        row = spokes[i]
        q[row[ANGLE]] = turn[i]
        place_spokes(row, q)
        for column in range(7):
            c = (
                row[ANGLE]
                if column == 6
                else (row[SPOKE_1] + column if column < 3 else row[SPOKE_2] + column - 3)
            )
            qd[c] = 2.0 / dt * q[c] + rate_hat[c]
            qdd[c] = 4.0 / (dt * dt) * q[c] + second_hat[c]


@njit(inline='always')  # a part of `advance` alone: compiled by itself, all would be made twice
def _advance(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    multipliers: Array,
    spokes: IntArray,
    bodies: IntArray,
    spins: IntArray,
    strokes: IntArray,
    tyres: Array,
    suspension: Array,
    scalars: Array,
    road: Array,
    inputs: Array,
    tread: Array,
    trial: Array,
    force: Array,
    force_error: Array,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
    report: Array,
    dt: float,
    penalty: float,
    tolerance: float,
    maximum: int,
) -> int:
    """Newton iterations of the step, 0 without convergence, -1 - k for a bad pivot k."""
    frame = np.empty((3, 12))
    external = np.empty(q.size)
    turn = np.empty(4)
    for i in range(4):
        c = spokes[i, ANGLE]
        turn[i] = q[c] + 2.0 * np.arctan(0.5 * dt * (qd[c] + 0.5 * dt * qdd[c]))
    begin_step(memory, q, qd, qdd, dt)
    predict_spokes(memory, spokes, turn, q, qd, qdd, dt)
    previous = np.inf
    renew = maximum > 0  # no literal: Numba would compile the iteration for that as well
    for iteration in range(maximum):
        all_forces(
            memory,
            q,
            qd,
            bodies,
            spins,
            strokes,
            tyres,
            suspension,
            scalars,
            road,
            inputs,
            tread,
            trial,
            dt,
            force,
            tangents,
            loads,
            report,
            frame,
        )
        for i in range(q.size):
            external[i] = force[i] + force_error[i]
        change = newton_iteration(
            memory,
            drive,
            q,
            qd,
            qdd,
            multipliers,
            external,
            tangents,
            loads,
            load_body,
            dt,
            penalty,
            renew,
        )
        if change < 0.0:
            return int(change)
        if not np.isfinite(change):
            return 0
        # the next change would be less than this one by as much as this is less than the last
        close = (
            iteration > 0
            and change <= NEAR * tolerance
            and change * change <= NEXT * tolerance * previous
        )
        if close or change <= tolerance + rounding(q):
            finish_step(memory, drive, q, qd, qdd, load_body, dt, penalty, PROJECTED)
            return iteration + 1
        renew, previous = change > RENEW or change > 0.1 * previous, change
    return 0


@njit(cache=True, nogil=True)
def advance(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    multipliers: Array,
    spokes: IntArray,
    bodies: IntArray,
    spins: IntArray,
    strokes: IntArray,
    tyres: Array,
    suspension: Array,
    scalars: Array,
    road: Array,
    inputs: Array,
    tread: Array,
    trial: Array,
    force: Array,
    force_error: Array,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
    report: Array,
    dt: float,
    penalty: float,
    tolerance: float,
    maximum: int,
) -> int:
    """Newton iterations of a step that was made; else 0 or less, and the car is as it was."""
    before = q.copy(), qd.copy(), qdd.copy(), multipliers.copy()
    count = _advance(
        memory,
        drive,
        q,
        qd,
        qdd,
        multipliers,
        spokes,
        bodies,
        spins,
        strokes,
        tyres,
        suspension,
        scalars,
        road,
        inputs,
        tread,
        trial,
        force,
        force_error,
        tangents,
        loads,
        load_body,
        report,
        dt,
        penalty,
        tolerance,
        maximum,
    )
    if count > 0 and np.isfinite(np.sum(qdd)):
        tread[:] = trial
        return count
    q[:], qd[:], qdd[:], multipliers[:] = before[0], before[1], before[2], before[3]
    return min(count, 0)
