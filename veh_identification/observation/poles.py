"""Poles of the observer (equations 64-67)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from veh_identification.multibody.natural.model import NaturalModel
from veh_identification.types import Array

#: Share of a mode below which the mechanism has no part in it.
ALONE = 1e-9


def linearised(model: NaturalModel, step: float = 1e-6) -> Array:
    """Continuous state matrix of equation (66) at the present state, by central differences."""
    nz = len(model.independent)
    state, z0, zd0 = model.state(), model.z, model.zd
    A = np.zeros((2 * nz, 2 * nz))
    A[:nz, nz:] = np.eye(nz)

    def column(change: Callable[[float], tuple[Array, Array]]) -> Array:
        values = []
        for sign in (1.0, -1.0):
            model.restore(state)
            z, zd = change(sign * step)
            model.set_positions(z)
            model.set_rates(zd)
            values.append(model.independent_acceleration())
        return (values[0] - values[1]) / (2.0 * step)

    for k in range(nz):
        unit = np.eye(nz)[k]
        A[nz:, k] = column(lambda h, u=unit: (z0 + h * u, zd0))  # type: ignore[misc]
        A[nz:, nz + k] = column(lambda h, u=unit: (z0, zd0 + h * u))  # type: ignore[misc]
    model.restore(state)
    return A


def closed_loop(A: Array, columns: NDArray[np.int64], orders: int) -> tuple[Array, Array, Array]:
    """Model with estimated acceleration errors: its state matrix, and two ways to its states.

    The errors e = [z, z'] of all independent coordinates move with A (66); with three orders the
    acceleration errors of the observed ones (`columns`) stay as they are and drive them. The
    first matrix after A tells how the error state of the filter, which knows the observed
    coordinates only, goes into e; the second what of e its sensors see, where an acceleration is
    one of the model and its estimated error.
    """
    nz, count = A.shape[0] // 2, columns.size
    size = 2 * nz + (count if orders == 3 else 0)
    whole = np.zeros((size, size))
    whole[: 2 * nz, : 2 * nz] = A
    into = np.zeros((size, orders * count))
    into[columns, np.arange(count)] = 1.0
    into[nz + columns, count + np.arange(count)] = 1.0
    seen = into.T.copy()
    if orders == 3:
        whole[nz + columns, 2 * nz + np.arange(count)] = 1.0
        into[2 * nz :, 2 * count :] = np.eye(count)
        seen[2 * count :] = whole[nz + columns]
    return whole, into, seen


def discrete(A: Array, dt: float) -> Array:
    """Transition matrix of a linear system over one step."""
    return expm(A * dt)


def observer_poles(F_model: Array, L: Array, H: Array, mechanical: int | None = None) -> Array:
    """Magnitudes of the poles of the corrected model: F_model (1 - L H), largest first.

    States behind the `mechanical` ones are parameters; modes of these alone (a delay while the
    car stands) are none of the mechanism and left out.

    After a correction the estimation error is (1 - L H) e, and the model carries it on with its
    own transition F_model. (Equation (65) puts mechanism, free model and observer error into one
    matrix; the feedback of the correction, which makes the observer stable, is not in it.)
    """
    n = F_model.shape[0]
    values, vectors = np.linalg.eig(F_model @ (np.eye(n) - L @ H))
    share = np.linalg.norm(vectors[:mechanical], axis=0)
    return np.sort(np.abs(values[share > ALONE]))[::-1]


def gain(P: Array, H: Array, variance: Array) -> Array:
    """Kalman gain (48) from the predicted covariance."""
    return P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(variance))
