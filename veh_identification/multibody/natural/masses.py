"""Constant mass matrices of rigid bodies in natural coordinates (equations 23-27).

A body's material point with local coordinates x is `r(x) = sum_i c_i(x) f_i`, with the body's
basis elements f_i (points have homogeneous local coordinates [x_i, 1], vectors [v_i, 0]) and
`c(x) = B^-1 [x, 1]`. The kinetic energy `1/2 int |r'|^2 dm` is then quadratic in the f_i' with the
constant matrix `B^-1 S B^-T`, S = int [x,1][x,1]^T dm being the pseudo-inertia: no velocity
dependent inertia forces ever appear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import pseudo_inertia
from veh_identification.types import Array


def basis_matrix(name: str, locals_: Sequence[Sequence[float]], kinds: Sequence[str]) -> Array:
    """Homogeneous basis B (4, 4) of a spatial body; columns are its points and vectors."""
    if len(locals_) != 4 or len(kinds) != 4:
        raise ModelError(
            f'body {name!r}: a spatial body needs 4 basis elements, found {len(locals_)}'
        )
    B = np.zeros((4, 4))
    for column, (local, kind) in enumerate(zip(locals_, kinds, strict=True)):
        if kind not in ('point', 'vector'):
            raise ModelError(
                f'body {name!r}: element {column} must be a point or a vector, found {kind!r}'
            )
        B[:3, column] = local
        B[3, column] = 1.0 if kind == 'point' else 0.0
    scale = max(1e-300, float(np.max(np.abs(B[:3]))))
    singular = np.linalg.svd(np.diag([1 / scale] * 3 + [1.0]) @ B, compute_uv=False)
    if singular[-1] < 1e-6:
        raise ModelError(
            f'body {name!r}: its basis elements lie in one plane or hold no point, '
            'so they do not fix the body'
        )
    return B


def spatial_mass(name: str, inertial_parameters: ArrayLike, B: Array) -> Array:
    """Mass matrix (4, 4) over the basis elements from the ten inertial parameters."""
    S = pseudo_inertia(np.asarray(inertial_parameters, dtype=float))
    if np.linalg.eigvalsh(S)[0] < -1e-9 * max(1.0, float(np.max(np.abs(S)))):
        raise ModelError(
            f'body {name!r}: mass and inertia belong to no possible body (the '
            'pseudo-inertia matrix is not positive semi-definite)'
        )
    inverse = np.linalg.inv(B)
    return inverse @ S @ inverse.T


def planar_mass(name: str, mass: float, centre: Sequence[float], inertia: float) -> Array:
    """Mass matrix (3, 3) over [origin, e1, e2] of a planar body; inertia about its ORIGIN.

    Only the polar moment matters in the plane: it is split evenly between the axes after the
    first moments are honoured, which gives equation (27) when e1, e2 come from two points.
    """
    x, y = (float(v) for v in centre)
    if not mass >= 0.0 or inertia - mass * (x * x + y * y) < -1e-9 * max(1.0, abs(inertia)):
        raise ModelError(
            f'body {name!r}: mass {mass} kg and inertia {inertia} kg m^2 about its '
            f'first point are impossible for a centre of mass at ({x}, {y})'
        )
    half = 0.5 * inertia
    return np.array([[mass, mass * x, mass * y], [mass * x, half, 0.0], [mass * y, 0.0, half]])


def rod_mass(name: str, mass: float, centre: float, inertia: float, length: float) -> Array:
    """Mass matrix (2, 2) over the two end points of a thin rod; inertia about the first point."""
    if not mass >= 0.0 or inertia < mass * centre * centre * (1 - 1e-9):
        raise ModelError(
            f'rod {name!r}: mass {mass} kg with inertia {inertia} kg m^2 about its '
            f'first point is impossible for a centre of mass at {centre} m'
        )
    a, b = mass * centre / length, inertia / length**2
    return np.array([[mass - 2 * a + b, a - b], [a - b, b]])


def lamina_mass(mass: float, corners: ArrayLike, centre: ArrayLike, inertia: ArrayLike) -> Array:
    """Mass matrix (3, 3) over three points of a thin plate.

    `corners` (3, 2) in the plate's plane, `centre` (2,), `inertia` = [int x x, int x y, int y y]
    about the centre of mass.
    """
    B = np.vstack([np.asarray(corners, dtype=float).T, np.ones(3)])
    c = np.asarray(centre, dtype=float)
    xx, xy, yy = np.asarray(inertia, dtype=float)
    second = np.array([[xx, xy], [xy, yy]]) + mass * np.outer(c, c)
    S = np.block([[second, (mass * c)[:, None]], [(mass * c)[None, :], np.array([[mass]])]])
    inverse = np.linalg.inv(B)
    return inverse @ S @ inverse.T
