"""Plant noise and integrator transition of the error state (equations 54, 121-123)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.linalg import expm

from veh_identification.types import Array


def van_loan(F: Array, noise: Array, dt: float) -> tuple[Array, Array]:
    """Discrete transition and noise covariance of x' = F x + w, w white with density `noise`.

    Equations (122) and (123): the exponential of [[-F, GWG^T], [0, F^T]] dt holds both.
    """
    n = F.shape[0]
    M = np.zeros((2 * n, 2 * n))
    M[:n, :n], M[:n, n:], M[n:, n:] = -F, noise, F.T
    E = expm(M * dt)
    transition = E[n:, n:].T
    covariance = transition @ E[:n, n:]
    return transition, 0.5 * (covariance + covariance.T)


@lru_cache(maxsize=64)
def _chain(dt: float, orders: int, driven: int) -> Array:
    """Noise covariance of a chain of integrators with unit white noise on one of its states."""
    F = np.diag(np.ones(orders - 1), 1)
    noise = np.zeros((orders, orders))
    noise[driven, driven] = 1.0
    return van_loan(F, noise, dt)[1]


def integrator_noise(dt: float, acceleration: Array, force: Array | None = None) -> Array:
    """Plant noise of errors [z, z'] or, with `force`, [z, z', z''].

    `acceleration` (nz) is the density of white acceleration noise [unit^2/s^3]; `force` (nz) the
    density of the random walk of the acceleration error [unit^2/s^5].
    """
    orders = 2 if force is None else 3
    W = np.kron(_chain(dt, orders, 1), np.diag(acceleration))
    if force is not None:
        W += np.kron(_chain(dt, orders, 2), np.diag(force))
    return np.asarray(W, dtype=float)


@lru_cache(maxsize=64)
def _transition(dt: float, size: int, orders: int) -> Array:
    base = np.zeros((orders, orders))
    for i in range(orders):
        for j in range(i, orders):
            base[i, j] = dt ** (j - i) / math.factorial(j - i)
    return np.asarray(np.kron(base, np.eye(size)), dtype=float)


def integrator_transition(dt: float, size: int, orders: int = 2) -> Array:
    """The integrator of equation (54), extended by the acceleration errors when orders = 3."""
    return _transition(dt, size, orders)
