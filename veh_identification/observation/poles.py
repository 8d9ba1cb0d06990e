"""Poles of the observer (equations 64-67)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import expm

from veh_identification.multibody.natural.model import NaturalModel
from veh_identification.types import Array


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


def discrete(A: Array, dt: float) -> Array:
    """Transition matrix of a linear system over one step."""
    return expm(A * dt)


def combined_matrix(F: Array, F_model: Array, L: Array, H: Array) -> Array:
    """Equation (65): mechanism, multibody model and observer error in one matrix.

    Its poles are those of the mechanism, of the free model and zeros: the feedback of the
    correction into the model, which is what makes the observer stable, is not in it.
    """
    n = F.shape[0]
    zero = np.zeros((n, n))
    return np.block([[F, zero, zero], [zero, F_model, zero], [F @ L @ H, -F_model @ L @ H, zero]])


def observer_poles(F_model: Array, L: Array, H: Array) -> Array:
    """Magnitudes of the poles of the corrected model: F_model (1 - L H), largest first.

    After a correction the estimation error is (1 - L H) e, and the model carries it on with its
    own transition F_model.
    """
    n = F_model.shape[0]
    return np.sort(np.abs(np.linalg.eigvals(F_model @ (np.eye(n) - L @ H))))[::-1]


def gain(P: Array, H: Array, variance: Array) -> Array:
    """Kalman gain (48) from the predicted covariance."""
    return P @ H.T @ np.linalg.inv(H @ P @ H.T + np.diag(variance))
