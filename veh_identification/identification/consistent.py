"""Physically consistent fit: every body's pseudo-inertia positive definite (semidefinite program).

minimise |R X - z|^2 + prior  subject to  S_b(X) >= margin for every body b, bounds on the rest.
The cost enters through the triangular factor, so the conditioning is that of W, not of W'W.
The solver is Clarabel (interior point); each body is one 4 x 4 semidefinite cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from veh_identification.errors import EstimationError
from veh_identification.identification.factor import Factor, deficient_columns, triangular_factor
from veh_identification.multibody.inertia import (
    consistency_violation,
    from_pseudo_inertia,
    pseudo_inertia,
)
from veh_identification.types import Array

Indices = NDArray[np.intp]
#: A stated mass or inertia that is off by more than this factor gives way to what the fit shows:
#: a body of 2 kg must not be held to the margin of one of a tonne.
SIZE_FACTOR = 10.0
#: How far sizes may move from the stated ones: a body without mass or extent has no size.
SIZE_RANGE = 1e4
#: The same for lengths: a point mass must not become so small that its cone seems empty.
LENGTH_RANGE = 100.0
SIZE_ITERATIONS = 4


@dataclass(frozen=True)
class Body:
    """The ten columns [M, MSx, MSy, MSz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz] of one body, and its size.

    `mass` and `length` (typical values) make the constraint's margin relative to the body; where
    they are far off, the fit takes the size that it finds.
    """

    name: str
    columns: Indices
    mass: float = 1.0
    length: float = 0.1

    def scale(self) -> Array:
        """Typical sizes of the ten parameters."""
        m, ml, mll = self.mass, self.mass * self.length, self.mass * self.length**2
        return np.array([m, ml, ml, ml, mll, mll, mll, mll, mll, mll])


@dataclass(frozen=True)
class ConsistentFit:
    """Consistent parameters and what consistency cost."""

    value: Array
    cost: float  # weighted sum of squared residuals
    unconstrained_cost: float
    margin: float
    status: str
    active: list[str] = field(default_factory=list)  # bodies that lie on their margin

    @property
    def relative_cost(self) -> float:
        """Cost over the unconstrained fit (1: consistency came for free)."""
        return self.cost / self.unconstrained_cost if self.unconstrained_cost > 0 else float('nan')


def consistent_fit(
    factor: Factor,
    bodies: Sequence[Body],
    prior: Array | None = None,
    prior_std: Array | None = None,
    prior_weight: float = 1.0,
    lower: Array | None = None,
    upper: Array | None = None,
    margin: float = 1e-4,
) -> ConsistentFit:
    """Solve the semidefinite program; the factor may be rank deficient when a prior is given.

    `factor` is the weighted problem (rows of unit noise). `prior_std` defaults to the body's
    typical sizes; a small `prior_weight` lets the prior decide only what the data leave open.
    `margin` is the smallest eigenvalue of each pseudo-inertia in units of its typical size.
    """
    scale = _checked_scale(factor, bodies)
    R, z = _with_prior(factor, scale, prior, prior_std, prior_weight)
    free = solve_triangular(R, z) * scale
    sized = [_sized(body, free) for body in bodies]
    for _ in range(SIZE_ITERATIONS):
        solution, status = _solve_sized(R, z, scale, sized, lower, upper, margin)
        value = _inside(solution, sized, margin)
        found = [_sized(body, value) for body in bodies]
        if all(_alike(a, b) for a, b in zip(sized, found, strict=True)):
            break
        sized = found
    unconstrained = factor.rss + _least_cost(factor)
    active = [
        body.name
        for body in sized
        if np.linalg.eigvalsh(_scaled_pseudo_inertia(value, body))[0] < 3.0 * margin
    ]
    return ConsistentFit(value, factor.cost(value), unconstrained, margin, status, active)


def _checked_scale(factor: Factor, bodies: Sequence[Body]) -> Array:
    """Stated sizes of all unknowns (1 for those of no body)."""
    scale = np.ones(len(factor.z))
    for body in bodies:
        if len(body.columns) != 10 or not (body.mass > 0.0 and body.length > 0.0):
            raise EstimationError(
                f'body {body.name} needs ten columns and a positive typical mass and length'
            )
        scale[body.columns] = body.scale()
    return scale


def _sized(body: Body, value: Array) -> Body:
    """The body with the size that parameters show, where the stated one is far from it."""
    # Noise may make the unconstrained values negative; their magnitude still tells the size.
    mass = abs(float(value[body.columns[0]]))
    moment = 0.5 * abs(float(value[body.columns[[4, 7, 9]]].sum()))  # integral of r^2 dm
    if mass == 0.0:
        return body
    return replace(
        body,
        mass=_settled(body.mass, mass, SIZE_FACTOR, SIZE_RANGE),
        # Too long is worse than too short: the margin of the inertia goes with the square.
        length=_settled(body.length, np.sqrt(moment / mass), np.sqrt(SIZE_FACTOR), LENGTH_RANGE),
    )


def _settled(stated: float, found: float, too_large: float, furthest: float) -> float:
    if stated / too_large <= found <= stated * SIZE_FACTOR:
        return stated
    return float(np.clip(found, stated / furthest, stated * furthest))


def _alike(a: Body, b: Body) -> bool:
    """Whether two sizes of a body differ by less than a factor of two."""
    ratios = np.array([a.mass / b.mass, a.length / b.length])
    return bool(np.all((ratios > 0.5) & (ratios < 2.0)))


def _solve_sized(
    R: Array,
    z: Array,
    scale: Array,
    bodies: Sequence[Body],
    lower: Array | None,
    upper: Array | None,
    margin: float,
) -> tuple[Array, str]:
    """Solve with the bodies' sizes; returns the unscaled solution."""
    size = scale.copy()
    for body in bodies:
        size[body.columns] = body.scale()
    R = R * (size / scale)
    cones, A, b = _constraints(len(z), bodies, size, lower, upper, margin)
    free = solve_triangular(R, z)
    solution, status = _solve(R, free, A, b, cones)
    if solution is None:
        named = ', '.join(violations(free * size, bodies) or [body.name for body in bodies])
        raise EstimationError(
            f'no masses and inertias that can exist were found for {named} (the solver says '
            f'{status}): motion and forces do not belong together; look at names and order of the '
            'joints, signs, units and frames'
        )
    return solution * size, status


def violations(value: Array, bodies: Sequence[Body]) -> dict[str, str]:
    """Say why each inconsistent body cannot exist; empty when all can."""
    result = {body.name: consistency_violation(value[body.columns]) for body in bodies}
    return {name: reason for name, reason in result.items() if reason}


def _least_cost(factor: Factor) -> float:
    solution = np.linalg.lstsq(factor.R, factor.z, rcond=1e-12)[0]
    return float(np.square(factor.R @ solution - factor.z).sum())


def _with_prior(
    factor: Factor, scale: Array, prior: Array | None, std: Array | None, weight: float
) -> tuple[Array, Array]:
    """Rows of data and prior in scaled unknowns, reduced to one triangle."""
    rows = np.column_stack([factor.R * scale, factor.z])
    if prior is not None:
        deviation = scale if std is None else np.asarray(std, float)
        if np.shape(prior) != scale.shape or deviation.shape != scale.shape:
            raise EstimationError(
                f'the prior must hold {len(scale)} values, found {np.shape(prior)}'
            )
        root = np.sqrt(weight) / deviation
        rows = np.vstack([rows, np.column_stack([np.diag(root * scale), root * prior])])
    triangle = triangular_factor(rows)
    rank, _ = deficient_columns(triangle[:-1, :-1], 1e-13)
    if rank < len(scale):
        raise EstimationError(
            f'the data determine {rank} of {len(scale)} standard parameters: a consistent fit '
            'needs a prior (with more weight, if one was given) for the others'
        )
    return triangle[:-1, :-1], triangle[:-1, -1]


def _pseudo_inertia_rows() -> Array:
    """Map ten parameters to the stacked upper triangle, off-diagonals times sqrt 2."""
    matrices = pseudo_inertia(np.eye(10))
    rows = []
    for column in range(4):
        for row in range(column + 1):
            factor = 1.0 if row == column else np.sqrt(2.0)
            rows.append(factor * matrices[:, row, column])
    return np.array(rows)


def _constraints(
    p: int,
    bodies: Sequence[Body],
    scale: Array,
    lower: Array | None,
    upper: Array | None,
    margin: float,
) -> tuple[list[object], Array, Array]:
    """Clarabel's form: A X + s = b with s in the cones."""
    blocks: list[Array] = []
    right: list[Array] = []
    cones: list[object] = []
    identity = np.eye(p)
    bounds: list[tuple[Array, Array]] = []
    if lower is not None:
        finite = np.flatnonzero(np.isfinite(lower))
        bounds.append((-identity[finite], -(np.asarray(lower)[finite] / scale[finite])))
    if upper is not None:
        finite = np.flatnonzero(np.isfinite(upper))
        bounds.append((identity[finite], np.asarray(upper)[finite] / scale[finite]))
    for matrix, limit in bounds:
        if len(limit):
            blocks.append(matrix)
            right.append(limit)
            cones.append(clarabel.NonnegativeConeT(len(limit)))
    diagonal = np.array([1, 0, 1, 0, 0, 1, 0, 0, 0, 1.0])
    triangle = _pseudo_inertia_rows()
    for body in bodies:
        matrix = np.zeros((10, p))
        # In units of mass and length the pseudo-inertia of scaled parameters is the same map.
        matrix[:, body.columns] = -triangle
        blocks.append(matrix)
        right.append(-margin * diagonal)
        cones.append(clarabel.PSDTriangleConeT(4))
    if not blocks:
        raise EstimationError('a consistent fit needs at least one body or bound')
    return cones, np.vstack(blocks), np.concatenate(right)


def _solve(
    R: Array, free: Array, A: Array, b: Array, cones: list[object]
) -> tuple[Array | None, str]:
    """Minimise |R (X - free)|^2 over A X + s = b, s in the cones; None without success.

    The unknown handed to the solver is u = R (X - free), whose cost is |u|^2: the weak directions
    that only the prior decides then count as much as those that the data fix to many digits. Its
    unit is such that the largest entry of A R^-1 is one: with nearly no noise the entries would
    be tiny, and the solver would take a border body for an infeasible one.
    """
    p = len(free)
    A_u = solve_triangular(R, A.T, trans='T').T  # A R^-1
    unit = float(np.abs(A_u).max())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.eye(p)),
        np.zeros(p),
        sparse.csc_matrix(A_u / unit),
        b - A @ free,
        cones,
        settings,
    )
    result = solver.solve()
    status = str(result.status)
    if status not in {'Solved', 'AlmostSolved'}:
        return None, status
    return free + solve_triangular(R, np.array(result.x) / unit), status


def _scaled_pseudo_inertia(value: Array, body: Body) -> Array:
    return pseudo_inertia(value[body.columns] / body.scale())


def _inside(value: Array, bodies: Sequence[Body], margin: float) -> Array:
    """Lift bodies that the solver's tolerance left below the margin back onto it."""
    result = value.copy()
    for body in bodies:
        matrix = _scaled_pseudo_inertia(result, body)
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest < 0.5 * margin:
            matrix = matrix + (margin - smallest) * np.eye(4)
            result[body.columns] = from_pseudo_inertia(matrix) * body.scale()
    return result
