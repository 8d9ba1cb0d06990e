"""Index-3 augmented Lagrangian with projections and the trapezoidal rule (equations 39-42, 67)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraint_rates import velocity_products
from veh_identification.multibody.natural.constraints import (
    add_normal,
    add_transposed,
    evaluate_forms,
    jacobian_times,
)
from veh_identification.multibody.natural.forces import (
    assemble_dynamic_part,
    dynamic_part_times,
    generalised_forces,
    mass_times,
)
from veh_identification.multibody.natural.kinematics import evaluate, factorise, rounding, solve
from veh_identification.multibody.natural.packing import reals_of
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
DYNAMIC_PIVOT = 1e-14
PROJECTION_PASSES = 8
PROJECTED = 1e-11  # change that a further pass would make, over the size of what is projected


@njit(cache=True, nogil=True)
def begin_step(memory: Memory, q: Array, qd: Array, qdd: Array, dt: float) -> None:
    """Keep the constant parts of the difference equations (40) and predict (18)."""
    _, _, _, scratch, places, _ = memory
    rate_hat = reals_of(scratch, places, pk.FIRST_HAT)
    second_hat = reals_of(scratch, places, pk.SECOND_HAT)
    for i in range(q.size):
        rate_hat[i] = -(2.0 / dt * q[i] + qd[i])
        second_hat[i] = -(4.0 / (dt * dt) * q[i] + 4.0 / dt * qd[i] + qdd[i])
        q[i] += dt * qd[i] + 0.5 * dt * dt * qdd[i]
        qd[i] = 2.0 / dt * q[i] + rate_hat[i]
        qdd[i] = 4.0 / (dt * dt) * q[i] + second_hat[i]


@njit(cache=True, nogil=True)
def newton_iteration(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    multipliers: Array,
    external: Array,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
    dt: float,
    penalty: float,
    renew: bool,
) -> float:
    """One Newton step of (41); returns the largest change of q, or -1 - k for a bad pivot k."""
    _, _, _, scratch, places, _ = memory
    phi = reals_of(scratch, places, pk.RESIDUAL)
    force = reals_of(scratch, places, pk.FORCE)
    right = reals_of(scratch, places, pk.RIGHT)
    step = reals_of(scratch, places, pk.INCREMENT)
    rows = reals_of(scratch, places, pk.ROWS)
    share = reals_of(scratch, places, pk.ROW_SHARE)
    rate_hat = reals_of(scratch, places, pk.FIRST_HAT)
    second_hat = reals_of(scratch, places, pk.SECOND_HAT)
    evaluate(memory, drive, q)
    evaluate_forms(memory, qd, False, pk.RATE)
    generalised_forces(memory, q, qd, external, loads, load_body)
    scale = 0.25 * dt * dt
    if renew:
        assemble_dynamic_part(memory, 0.5 * dt, scale, tangents, loads, load_body)
        add_normal(memory, scale * penalty, True)
        bad = factorise(memory, DYNAMIC_PIVOT, 0.0)
        if bad >= 0:
            return -1.0 - bad
    for row in range(phi.size):
        rows[row] = multipliers[row] + penalty * share[row] * phi[row]
    mass_times(memory, qdd, right)
    for i in range(q.size):
        right[i] = force[i] - right[i]
    add_transposed(memory, rows, -1.0, right, pk.JACOBIAN)
    for i in range(q.size):
        right[i] *= scale
    solve(memory, right, step)
    # The update of (39) with the residual that the linear solution leaves: adding the curvature
    # of the constraints to the multipliers would only have to be taken out again.
    jacobian_times(memory, step, rows)
    for row in range(phi.size):
        multipliers[row] += penalty * share[row] * (phi[row] + rows[row])
    largest, total = 0.0, 0.0
    for i in range(q.size):
        q[i] += step[i]
        total += step[i]
        qd[i] = 2.0 / dt * q[i] + rate_hat[i]
        qdd[i] = 4.0 / (dt * dt) * q[i] + second_hat[i]
        largest = max(largest, abs(step[i]))
    return largest if np.isfinite(total) else np.inf  # max() overlooks NaN


@njit(cache=True, nogil=True)
def _project(
    memory: Memory,
    load_body: IntArray,
    x: Array,
    target: Array,
    weight: float,
    projected: float,
) -> None:
    """Projection (42) of rates or accelerations onto Phi_q x = target.

    Ends at D (x - x*) + Phi_q0^T sigma = 0, D = M + dt/2 C + dt^2/4 K, by the same augmented
    iteration as the positions. Phi_q0 is that of the factor, of an earlier Newton iterate: the
    constraints hold as they are at the present pose, along directions that are older by one
    change of Newton. With the present directions the penalty would multiply the difference of the
    two, which the factor does not know of: passes more, and energy in the motion. It ends when the
    next pass would change less than `projected` times the size of x, judged by how much less the
    last one did than the one before.
    """
    _, _, _, scratch, places, _ = memory
    rows = reals_of(scratch, places, pk.ROWS)
    change = reals_of(scratch, places, pk.RESIDUAL)
    sigma = reals_of(scratch, places, pk.SIGMA)
    right = reals_of(scratch, places, pk.RIGHT)
    step = reals_of(scratch, places, pk.INCREMENT)
    gap = reals_of(scratch, places, pk.KEEP)
    share = reals_of(scratch, places, pk.ROW_SHARE)
    gap[:] = 0.0
    sigma[:] = 0.0
    right[:] = 0.0
    previous = 0.0
    jacobian_times(memory, x, rows)
    for row in range(rows.size):
        rows[row] = target[row] - rows[row]
    for _ in range(PROJECTION_PASSES):
        for row in range(rows.size):
            change[row] = weight * share[row] * rows[row] - sigma[row]
        add_transposed(memory, change, 1.0, right, pk.FACTOR_JACOBIAN)
        solve(memory, right, step)
        size, largest = 0.0, 0.0
        for i in range(x.size):
            x[i] += step[i]
            gap[i] -= step[i]
            size = max(size, abs(x[i]))
            largest = max(largest, abs(step[i]))
        limit = projected * (1.0 + size)
        if largest <= limit or largest * largest <= limit * previous:
            break
        previous = largest
        jacobian_times(memory, step, change)
        for row in range(rows.size):
            rows[row] -= change[row]
            sigma[row] -= weight * share[row] * rows[row]
        dynamic_part_times(memory, load_body, gap, right)


@njit(cache=True, nogil=True)
def finish_step(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    load_body: IntArray,
    dt: float,
    penalty: float,
    projected: float,
) -> float:
    """Velocity and acceleration projections of (42); returns the largest position residual.

    `projected` as in `_project`.
    """
    _, _, _, scratch, places, _ = memory
    worst = evaluate(memory, drive, q)
    weight = 0.25 * dt * dt * penalty
    _project(memory, load_body, qd, drive[1], weight, projected)
    target = reals_of(scratch, places, pk.ROWS_2)
    evaluate_forms(memory, qd, False, pk.RATE)
    velocity_products(memory, q, qd, target)
    for row in range(target.size):
        target[row] = drive[2, row] - target[row]
    _project(memory, load_body, qdd, target, weight, projected)
    return worst


@njit(cache=True, nogil=True)
def advance(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    multipliers: Array,
    external: Array,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
    dt: float,
    penalty: float,
    tolerance: float,
    maximum: int,
) -> int:
    """One whole step with loads that do not depend on the motion; see `NaturalModel._newton`."""
    begin_step(memory, q, qd, qdd, dt)
    previous = np.inf
    renew = maximum > 0  # no literal: Numba would compile the iteration for that as well
    for iteration in range(maximum):
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
        if change < 0.0 or not np.isfinite(change):
            return int(change) if change < 0.0 else 0
        limit = tolerance + rounding(q)
        if change <= limit:
            worst = finish_step(memory, drive, q, qd, qdd, load_body, dt, penalty, PROJECTED)
            if worst <= limit:
                return iteration + 1
        renew = change > 0.1 * previous
        previous = change
    return 0


@njit(cache=True, nogil=True)
def reduced_mass(memory: Memory, R: Array, mass: Array) -> None:
    """R^T M R."""
    _, _, _, scratch, places, _ = memory
    product = reals_of(scratch, places, pk.RIGHT)
    column = np.empty(R.shape[0])
    for k in range(R.shape[1]):
        column[:] = R[:, k]
        mass_times(memory, column, product)
        mass[:, k] = R.T @ product


@njit(cache=True, nogil=True)
def reduced_force(
    memory: Memory,
    q: Array,
    qd: Array,
    bias: Array,
    R: Array,
    external: Array,
    loads: Array,
    load_body: IntArray,
    force: Array,
) -> None:
    """R^T (Q - M bias) of equations (67) and (126), bias being q'' at z'' = 0."""
    _, _, _, scratch, places, _ = memory
    Q = reals_of(scratch, places, pk.FORCE)
    product = reals_of(scratch, places, pk.RIGHT)
    evaluate_forms(memory, q, True, pk.POSITION)
    evaluate_forms(memory, qd, False, pk.RATE)
    generalised_forces(memory, q, qd, external, loads, load_body)
    mass_times(memory, bias, product)
    for i in range(q.size):
        product[i] = Q[i] - product[i]
    force[:] = R.T @ product
