"""Position, velocity and acceleration problems (section 2.1.3).

With Phi_q the constraint Jacobian and B the rows that pick the independent coordinates z = B q,
all three (and R, see `r_matrix`) are the stacked system [Phi_q; B] x = [b; c]. It is solved
through its normal matrix Phi_q^T Phi_q + B^T B, which has the same sparse pattern as the matrix
of the dynamics, and refined with the unsquared rows until it is as exact as a direct solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import cholesky
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraint_rates import velocity_products
from veh_identification.multibody.natural.constraints import (
    add_normal,
    add_transposed,
    evaluate_forms,
    jacobian,
    jacobian_times,
    residuals,
)
from veh_identification.multibody.natural.packing import indices_of, integers_of, reals_of
from veh_identification.types import Array

Memory = tuple[Any, ...]
# Pivot below this fraction of the largest diagonal entry: a coordinate hangs on the others by less
# than 1e-5.
SINGULAR_PIVOT = 1e-10
REFINEMENTS = 6


@njit(cache=True, nogil=True)
def factorise(memory: Memory, floor: float, lowest: float) -> int:
    """Cholesky factor of MATRIX in its place; -1, or the coordinate with the bad pivot."""
    integers, _, _, scratch, places, _ = memory
    permutation = integers_of(integers, pk.PERMUTATION)
    slot = integers_of(integers, pk.DIAGONAL_SLOT)
    matrix = reals_of(scratch, places, pk.MATRIX)
    diagonal = reals_of(scratch, places, pk.WORK)
    for k in range(permutation.size):
        diagonal[k] = matrix[slot[permutation[k]]]
    bad = cholesky.factorise(
        integers_of(integers, pk.FRONTS),
        integers_of(integers, pk.FRONT_HANDED),
        matrix,
        diagonal,
        floor,
        lowest,
    )
    return permutation[bad] if bad >= 0 else -1


@njit(cache=True, nogil=True)
def solve(memory: Memory, right: Array, result: Array) -> None:
    """Solve with the factor in MATRIX."""
    integers, _, _, scratch, places, buffer = memory
    cholesky.solve(
        integers_of(integers, pk.FRONTS),
        indices_of(integers, pk.FRONT_BORDER),
        reals_of(scratch, places, pk.MATRIX),
        indices_of(integers, pk.PERMUTATION),
        right,
        reals_of(scratch, places, pk.WORK),
        buffer,
        result,
    )


@njit(cache=True, nogil=True)
def factorise_kinematics(memory: Memory) -> int:
    """Factor of Phi_q^T Phi_q + B^T B from JACOBIAN; -1, or the undetermined coordinate."""
    integers, _, _, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.MATRIX)
    A[:] = 0.0
    add_normal(memory, 1.0, False)
    diagonal = integers_of(integers, pk.DIAGONAL_SLOT)
    independent = integers_of(integers, pk.INDEPENDENT)
    for i in range(independent.size):
        A[diagonal[independent[i]]] += 1.0
    largest = 0.0
    for i in range(diagonal.size):
        largest = max(largest, A[diagonal[i]])
    return factorise(memory, 0.0, SINGULAR_PIVOT * largest)


@njit(cache=True, nogil=True)
def stacked_solve(memory: Memory, rows: Array, z: Array, x: Array) -> float:
    """Refine x towards [Phi_q; B] x = [rows; z]; returns the largest remaining residual.

    The factor may belong to a slightly different pose: it then converges a little slower.
    """
    integers, _, _, scratch, places, _ = memory
    independent = integers_of(integers, pk.INDEPENDENT)
    right = reals_of(scratch, places, pk.RIGHT)
    step = reals_of(scratch, places, pk.INCREMENT)
    defect = reals_of(scratch, places, pk.ROWS)
    size = 1.0
    for i in range(z.size):
        size = max(size, abs(z[i]))
    worst = np.inf
    for _ in range(REFINEMENTS + 1):
        jacobian_times(memory, x, defect)
        previous = worst
        worst = 0.0
        for row in range(rows.size):
            defect[row] = rows[row] - defect[row]
            worst = max(worst, abs(defect[row]))
        right[:] = 0.0
        for i in range(z.size):
            gap = z[i] - x[independent[i]]
            right[independent[i]] = gap
            worst = max(worst, abs(gap))
        if worst <= 1e-14 * size or worst > 0.5 * previous:
            break
        add_transposed(memory, defect, 1.0, right, pk.JACOBIAN)
        solve(memory, right, step)
        for i in range(x.size):
            x[i] += step[i]
    return worst


@njit(cache=True, nogil=True)
def evaluate(memory: Memory, drive: Array, q: Array) -> float:
    """Forms, residuals and Jacobian at q; returns the largest residual."""
    _, _, _, scratch, places, _ = memory
    evaluate_forms(memory, q, True, pk.POSITION)
    residuals(memory, drive, q)
    jacobian(memory, q)
    phi = reals_of(scratch, places, pk.RESIDUAL)
    worst, total = 0.0, 0.0
    for row in range(phi.size):
        worst = max(worst, abs(phi[row]))
        total += phi[row]
    return worst if np.isfinite(total) else np.inf  # max() overlooks NaN


@njit(cache=True, nogil=True)
def rounding(q: Array) -> float:
    """What rounding alone may leave in a constraint when coordinates are large."""
    largest = 0.0
    for i in range(q.size):
        largest = max(largest, abs(q[i]))
    return 1e-14 * largest


@njit(cache=True, nogil=True)
def position_problem(
    memory: Memory, drive: Array, q: Array, z: Array, tolerance: float, maximum: int, reuse: bool
) -> int:
    """Newton-Raphson of equation (9) with B q = z; JACOBIAN is left at the solution.

    Returns the number of iterations, -1 without convergence, or -2 - k when coordinate k is not
    determined. With `reuse` MATRIX holds a kinematic factor of a nearby pose; it is renewed only
    when the iteration converges slowly.
    """
    integers, _, _, scratch, places, _ = memory
    independent = integers_of(integers, pk.INDEPENDENT)
    phi = reals_of(scratch, places, pk.RESIDUAL)
    right = reals_of(scratch, places, pk.RIGHT)
    step = reals_of(scratch, places, pk.INCREMENT)
    previous = np.inf
    for iteration in range(maximum):
        worst = evaluate(memory, drive, q)
        for i in range(z.size):
            worst = max(worst, abs(z[i] - q[independent[i]]))
        if not np.isfinite(worst):
            return -1
        if worst <= tolerance + rounding(q):
            return iteration
        if (iteration == 0 and not reuse) or worst > 0.05 * previous:
            bad = factorise_kinematics(memory)
            if bad >= 0:
                return -2 - bad
        previous = worst
        right[:] = 0.0
        for i in range(z.size):
            right[independent[i]] = z[i] - q[independent[i]]
        add_transposed(memory, phi, -1.0, right, pk.JACOBIAN)
        solve(memory, right, step)
        for i in range(q.size):
            q[i] += step[i]
    return -1


@njit(cache=True, nogil=True)
def velocity_problem(memory: Memory, drive: Array, zd: Array, qd: Array) -> float:
    """Equation (10) with B qd = zd at the pose of JACOBIAN and of the factor."""
    return stacked_solve(memory, drive[1], zd, qd)


@njit(cache=True, nogil=True)
def acceleration_problem(
    memory: Memory, drive: Array, q: Array, qd: Array, zdd: Array, qdd: Array
) -> float:
    """Equation (11) with B qdd = zdd at the pose of JACOBIAN and of the factor."""
    _, _, _, scratch, places, _ = memory
    rows = reals_of(scratch, places, pk.ROWS_2)
    evaluate_forms(memory, qd, False, pk.RATE)
    velocity_products(memory, q, qd, rows)
    for row in range(rows.size):
        rows[row] = drive[2, row] - rows[row]
    return stacked_solve(memory, rows, zdd, qdd)


@njit(cache=True, nogil=True)
def set_independent(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    tolerance: float,
    maximum: int,
    reuse: bool,
) -> int:
    """Position, velocity and acceleration problems in one call; status of `position_problem`."""
    if not np.isfinite(np.sum(z) + np.sum(zd) + np.sum(zdd)):
        return -1
    status = position_problem(memory, drive, q, z, tolerance, maximum, reuse)
    if status < 0:
        return status
    if status == 0 and not reuse:
        bad = factorise_kinematics(memory)
        if bad >= 0:
            return -2 - bad
    worst = velocity_problem(memory, drive, zd, qd)
    worst = max(worst, acceleration_problem(memory, drive, q, qd, zdd, qdd))
    size = 1.0
    for i in range(zd.size):
        size = max(size, abs(zd[i]), abs(zdd[i]))
    if worst > 1e-12 * size:
        # the reused factor is too old for this pose
        bad = factorise_kinematics(memory)
        if bad >= 0:
            return -2 - bad
        velocity_problem(memory, drive, zd, qd)
        acceleration_problem(memory, drive, q, qd, zdd, qdd)
    return status
