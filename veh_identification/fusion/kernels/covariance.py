"""Compiled steps on the covariance of the inertial filter: propagation and measurement update.

Everything is written out in loops: at these sizes a call of BLAS or LAPACK costs more than its
work.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array


@njit(cache=True, nogil=True)
def sandwich(F: Array, P: Array) -> None:
    """P <- F P F^T, symmetric to the last bit; zeros of F are skipped.

    Both products run along rows, so that the compiler may do several columns at once.
    """
    n = P.shape[0]
    half = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            f = F[i, k]
            if f != 0.0:
                for j in range(n):
                    half[i, j] += f * P[k, j]
    turned = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            turned[j, i] = half[i, j]
    half[:, :] = 0.0
    for j in range(n):
        for k in range(n):
            f = F[j, k]
            if f != 0.0:
                for i in range(n):
                    half[j, i] += f * turned[k, i]
    for j in range(n):
        for i in range(j + 1):
            P[i, j] = half[j, i]
            P[j, i] = half[j, i]


@njit(cache=True, nogil=True)
def _factor(S: Array, L: Array) -> bool:
    """Lower Cholesky factor of a small matrix, of which the symmetric part is taken; False where
    there is none.
    """
    for i in range(S.shape[0]):
        for j in range(i + 1):
            total = 0.5 * (S[i, j] + S[j, i])
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not 0.0 < total < 1e300:
                    return False
                L[i, i] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@njit(cache=True, nogil=True)
def innovation(
    P: Array,
    residual: Array,
    H: Array,
    noise: Array,
    L: Array,
    V: Array,
    whitened: Array,
) -> float:
    """Normalised innovation squared; fills L (S = H P H^T + noise = L L^T), V = L^-1 H P and the
    residual in units of its own standard deviations. Infinite where S is no covariance.
    """
    m, n = H.shape
    HP = np.zeros((m, n))
    for i in range(m):
        for k in range(n):
            h = H[i, k]
            if h != 0.0:
                for j in range(n):
                    HP[i, j] += h * P[k, j]
    S = noise.copy()
    for i in range(m):
        for j in range(m):
            for k in range(n):
                S[i, j] += HP[i, k] * H[j, k]
    if not _factor(S, L):
        whitened[:] = np.inf
        return np.inf
    nis = 0.0
    for i in range(m):
        value = residual[i]
        for k in range(i):
            value -= L[i, k] * whitened[k]
        whitened[i] = value / L[i, i]
        nis += whitened[i] ** 2
        for j in range(n):
            entry = HP[i, j]
            for k in range(i):
                entry -= L[i, k] * V[k, j]
            V[i, j] = entry / L[i, i]
    return nis


@njit(cache=True, nogil=True)
def reduce_covariance(
    P: Array, H: Array, noise: Array, L: Array, V: Array, estimated: int, K: Array
) -> None:
    """P after the update with the gain P H^T S^-1 (its transpose is filled into K), in Joseph's
    form: it keeps the covariance positive for ill-scaled measurements.

    States from `estimated` on are only considered (Schmidt): their gain is zero, and what is not
    known about them stays in the covariance.
    """
    m, n = H.shape  # L^T K = V
    for i in range(m - 1, -1, -1):
        for j in range(n):
            entry = V[i, j]
            for k in range(i + 1, m):
                entry -= L[k, i] * K[k, j]
            K[i, j] = entry / L[i, i]
    K[:, estimated:] = 0.0
    A = np.eye(n)
    for k in range(m):
        for j in range(n):
            h = H[k, j]
            if h != 0.0:
                for i in range(n):
                    A[i, j] -= K[k, i] * h
    sandwich(A, P)
    for a in range(m):
        for b in range(m):
            r = noise[a, b]
            if r != 0.0:
                for i in range(n):
                    for j in range(n):
                        P[i, j] += K[a, i] * r * K[b, j]
    for i in range(n):  # symmetric to the last bit
        for j in range(i):
            P[j, i] = P[i, j]
