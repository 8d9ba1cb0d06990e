"""Inertial parameters of one rigid body: pseudo-inertia, consistency, transport, log-Cholesky.

The ten parameters of a body stand in the order
`[M, MSx, MSy, MSz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz]`: mass, first moments and the entries of the
inertia MATRIX about the body-frame origin (so `Jxy = -integral x y dm`). All functions take
stacks of bodies: the leading axes are free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veh_identification.types import Array

PARAMETERS_PER_BODY = 10
PARAMETER_NAMES = ('M', 'MSx', 'MSy', 'MSz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')
PARAMETER_UNITS = ('kg',) + ('kg m',) * 3 + ('kg m^2',) * 6


def inertia_matrix(parameters: ArrayLike) -> Array:
    """Inertia matrices (..., 3, 3) about the body-frame origin from parameters (..., 10)."""
    p = np.asarray(parameters, dtype=float)
    rows = p[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]]
    return rows.reshape(p.shape[:-1] + (3, 3))


def from_mass_moments(mass: ArrayLike, first_moment: ArrayLike, inertia: ArrayLike) -> Array:
    """Parameters (..., 10) from mass, first moments and inertia matrix about the origin."""
    m = np.asarray(mass, dtype=float)[..., None]
    J = np.asarray(inertia, dtype=float)
    entries = np.stack(
        [J[..., 0, 0], J[..., 0, 1], J[..., 0, 2], J[..., 1, 1], J[..., 1, 2], J[..., 2, 2]],
        axis=-1,
    )
    return np.concatenate([m, np.asarray(first_moment, dtype=float), entries], axis=-1)


def from_centre_of_mass(mass: ArrayLike, centre: ArrayLike, inertia: ArrayLike) -> Array:
    """Parameters (..., 10) from mass, centre of mass and the inertia ABOUT the centre of mass.

    Axes are those of the body frame (Huygens-Steiner moves the inertia to the origin).
    """
    m = np.asarray(mass, dtype=float)
    c = np.asarray(centre, dtype=float)
    squared = np.sum(c * c, axis=-1)[..., None, None] * np.eye(3)
    steiner = m[..., None, None] * (squared - c[..., :, None] * c[..., None, :])
    return from_mass_moments(m, m[..., None] * c, np.asarray(inertia, dtype=float) + steiner)


def centre_of_mass(parameters: ArrayLike) -> tuple[Array, Array, Array]:
    """Mass, centre of mass (NaN if M = 0) and inertia matrix about it, for a stack (..., 10)."""
    p = np.asarray(parameters, dtype=float)
    m = p[..., 0]
    with np.errstate(divide='ignore', invalid='ignore'):
        c = p[..., 1:4] / m[..., None]
    squared = np.sum(c * c, axis=-1)[..., None, None] * np.eye(3)
    steiner = m[..., None, None] * (squared - c[..., :, None] * c[..., None, :])
    return m, c, inertia_matrix(p) - steiner


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """Pseudo-inertia matrices (..., 4, 4): [[tr(J)/2 1 - J, MS], [MS^T, M]].

    Positive definite exactly when the body can exist (a positive density somewhere in space).
    """
    p = np.asarray(parameters, dtype=float)
    J = inertia_matrix(p)
    half_trace = 0.5 * np.trace(J, axis1=-2, axis2=-1)
    result = np.empty(p.shape[:-1] + (4, 4))
    result[..., :3, :3] = half_trace[..., None, None] * np.eye(3) - J
    result[..., :3, 3] = p[..., 1:4]
    result[..., 3, :3] = p[..., 1:4]
    result[..., 3, 3] = p[..., 0]
    return result


def from_pseudo_inertia(matrix: ArrayLike) -> Array:
    """Inverse of `pseudo_inertia`: parameters (..., 10) from matrices (..., 4, 4)."""
    S = np.asarray(matrix, dtype=float)
    second = S[..., :3, :3]
    trace = np.trace(second, axis1=-2, axis2=-1)
    return from_mass_moments(
        S[..., 3, 3], S[..., :3, 3], trace[..., None, None] * np.eye(3) - second
    )


def nearest_inertia(inertia: ArrayLike) -> Array:
    """The inertia (3, 3) at a centre of mass that a body can have, nearest to the given one.

    Its second moments tr(J)/2 1 - J are made positive semidefinite: principal moments are then
    not negative and keep the triangle inequality.
    """
    J = np.asarray(inertia, dtype=float)
    size, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    second = (axes * np.maximum(size, 0.0)) @ axes.T
    return np.asarray(np.trace(second) * np.eye(3) - second)


def consistency_violation(parameters: ArrayLike, relative_margin: float = 0.0) -> str:
    """Why one body (10,) cannot exist, in one phrase; empty when it is consistent.

    Tested in this order: finite values, positive mass, positive definite inertia at the centre
    of mass, triangle inequalities of the principal moments. `relative_margin` asks for that much
    distance from the border, as a share of the largest principal moment.
    """
    p = np.asarray(parameters, dtype=float)
    if not np.all(np.isfinite(p)):
        return 'a parameter is not finite'
    if p[0] <= 0.0:
        return f'mass {p[0]:.6g} kg is not positive'
    moments = np.linalg.eigvalsh(centre_of_mass(p)[2])
    margin = relative_margin * abs(moments[2])
    if moments[0] <= margin:
        return (
            f'smallest principal moment at the centre of mass {moments[0]:.6g} kg m^2 is not '
            'positive'
        )
    if moments[0] + moments[1] - moments[2] <= margin:
        return (
            f'triangle inequality broken: principal moments {moments[0]:.6g} + '
            f'{moments[1]:.6g} do not exceed {moments[2]:.6g} kg m^2'
        )
    return ''


def is_consistent(parameters: ArrayLike, relative_margin: float = 0.0) -> NDArray[np.bool_]:
    """True for every body of the stack (..., 10) that `consistency_violation` accepts."""
    p = np.asarray(parameters, dtype=float)
    flat = p.reshape(-1, PARAMETERS_PER_BODY)
    verdicts = [not consistency_violation(body, relative_margin) for body in flat]
    return np.array(verdicts, dtype=bool).reshape(p.shape[:-1])


def transport(parameters: ArrayLike, rotation: ArrayLike, translation: ArrayLike) -> Array:
    """The same bodies described in another frame.

    `rotation` (..., 3, 3) turns vectors of the present frame into the new axes, `translation`
    (..., 3) is the present origin seen from the new frame.
    """
    R = np.asarray(rotation, dtype=float)
    t = np.asarray(translation, dtype=float)
    pose = np.zeros(np.broadcast_shapes(R.shape[:-2], t.shape[:-1]) + (4, 4))
    pose[..., :3, :3] = R
    pose[..., :3, 3] = t
    pose[..., 3, 3] = 1.0
    # The pseudo-inertia is a second moment of homogeneous points, so it transforms as T S T^T.
    return from_pseudo_inertia(pose @ pseudo_inertia(parameters) @ np.swapaxes(pose, -1, -2))


def transport_matrix(rotation: ArrayLike, translation: ArrayLike) -> Array:
    """The 10 x 10 matrix of `transport`, for regrouping and for mapping constraints."""
    return transport(np.eye(PARAMETERS_PER_BODY), rotation, translation).T


def merge(parameters: ArrayLike, rotations: ArrayLike, translations: ArrayLike) -> Array:
    """One body (10,) made of rigidly joined bodies (B, 10), each given in its own frame."""
    return transport(parameters, rotations, translations).sum(axis=0)


def from_log_cholesky(theta: ArrayLike) -> Array:
    """Parameters (..., 10) from the unconstrained ones of Rucker and Wensing (2022).

    theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3]; every theta gives a consistent body.
    """
    x = np.asarray(theta, dtype=float)
    U = np.zeros(x.shape[:-1] + (4, 4))
    U[..., 0, 0], U[..., 1, 1], U[..., 2, 2] = np.moveaxis(np.exp(x[..., 1:4]), -1, 0)
    U[..., 3, 3] = 1.0
    U[..., 0, 1], U[..., 1, 2], U[..., 0, 2] = np.moveaxis(x[..., 4:7], -1, 0)
    U[..., :3, 3] = x[..., 7:10]
    U = U * np.exp(x[..., 0])[..., None, None]
    return from_pseudo_inertia(U @ np.swapaxes(U, -1, -2))


def log_cholesky(parameters: ArrayLike) -> Array:
    """Inverse of `from_log_cholesky`; raises LinAlgError for a body that cannot exist."""
    S = pseudo_inertia(parameters)
    # numpy factors S = L L^T with L lower; reversing rows and columns gives the upper factor.
    reversed_factor = np.linalg.cholesky(S[..., ::-1, ::-1])
    U = reversed_factor[..., ::-1, ::-1]
    scale = U[..., 3, 3]
    U = U / scale[..., None, None]
    diagonal = np.log(np.stack([U[..., 0, 0], U[..., 1, 1], U[..., 2, 2]], axis=-1))
    shear = np.stack([U[..., 0, 1], U[..., 1, 2], U[..., 0, 2]], axis=-1)
    return np.concatenate([np.log(scale)[..., None], diagonal, shear, U[..., :3, 3]], axis=-1)
