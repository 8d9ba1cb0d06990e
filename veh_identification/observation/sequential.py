"""Scalar Kalman updates in sequence with availability flags and a chi-square gate (124)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.types import Array


@njit(cache=True, nogil=True)
def wrap_angle(angle: float) -> float:
    """Angle in (-pi, pi]."""
    return angle - 2.0 * np.pi * np.ceil((angle - np.pi) / (2.0 * np.pi))


@njit(cache=True, nogil=True)
def predict_covariance(F: Array, P: Array, W: Array) -> Array:
    """F P F^T + W, kept exactly symmetric."""
    result = F @ P @ F.T + W
    return 0.5 * (result + result.T)


@njit(cache=True, nogil=True)
def _normalised_square(
    P: Array, H: Array, innovation: Array, variance: Array, rows: NDArray[np.int64]
) -> float:
    """nu^T (H P H^T + N)^-1 nu over the given rows, by a small Cholesky factor."""
    m = rows.size
    S = np.empty((m, m))
    y = np.empty(m)
    for i in range(m):
        PH = P @ H[rows[i]]
        for j in range(i + 1):
            S[i, j] = np.dot(H[rows[j]], PH)
        S[i, i] += variance[rows[i]]
    total = 0.0
    for i in range(m):
        value = innovation[rows[i]]
        for j in range(i):
            s = S[i, j]
            for k in range(j):
                s -= S[i, k] * S[j, k]
            S[i, j] = s / S[j, j]
            value -= S[i, j] * y[j]
        pivot = S[i, i]
        for k in range(i):
            pivot -= S[i, k] * S[i, k]
        if pivot <= 0.0:
            return np.inf
        S[i, i] = np.sqrt(pivot)
        y[i] = value / S[i, i]
        total += y[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def update_group(
    P: Array,
    x: Array,
    H: Array,
    predicted: Array,
    measured: Array,
    variance: Array,
    available: NDArray[np.bool_],
    wrap: bool,
    thresholds: Array,
    innovation: Array,
    total_variance: Array,
) -> tuple[float, int, bool]:
    """Use one sensor's components; returns (NIS, components, accepted), P and x in place.

    The whole group passes or fails the gate together; `thresholds[m]` is the limit for m
    components (infinity: no gate). Then every component is one scalar update, each starting
    from the state and covariance that the last one left.
    """
    count = 0
    rows = np.empty(measured.size, dtype=np.int64)
    for i in range(measured.size):
        innovation[i] = np.nan
        total_variance[i] = np.nan
        if available[i] and np.isfinite(measured[i]) and np.isfinite(predicted[i]):
            gap = measured[i] - predicted[i]
            if wrap:
                gap = wrap_angle(gap)
            innovation[i] = gap - np.dot(H[i], x)
            rows[count] = i
            count += 1
    if count == 0:
        return 0.0, 0, False
    if count == 1:
        i = rows[0]
        nis = innovation[i] ** 2 / (np.dot(H[i], P @ H[i]) + variance[i])
    else:
        nis = _normalised_square(P, H, innovation, variance, rows[:count])
    accepted = nis <= thresholds[count]
    base = x.copy()
    for r in range(count):
        i = rows[r]
        PH = P @ H[i]
        S = np.dot(H[i], PH) + variance[i]
        total_variance[i] = S
        if not accepted:
            continue
        nu = innovation[i] - (np.dot(H[i], x) - np.dot(H[i], base))
        innovation[i] = nu  # whitened within the group: what this scalar update really saw
        for a in range(x.size):
            x[a] += PH[a] * nu / S
            for b in range(x.size):
                P[a, b] -= PH[a] * PH[b] / S
    return nis, count, accepted


@njit(cache=True, nogil=True)
def update_groups(
    P: Array,
    x: Array,
    H: Array,
    predicted: Array,
    measured: Array,
    variance: Array,
    available: NDArray[np.bool_],
    groups: NDArray[np.int64],
    thresholds: Array,
    innovation: Array,
    total_variance: Array,
    result: Array,
) -> None:
    """`update_group` for several sensors in turn; all arrays are stacked over the sensors.

    `groups` (k, 4): first row, number of rows, wrap, and whether the sensor has been rejected so
    often that the covariance must give way: P is then inflated until the group just passes.
    `result` (k, 4): NIS, components, accepted, inflated.
    """
    never = np.full(thresholds.size, np.inf)
    for g in range(groups.shape[0]):
        a, b = groups[g, 0], groups[g, 0] + groups[g, 1]
        wrap = groups[g, 2] == 1
        nis, count, accepted = update_group(
            P,
            x,
            H[a:b],
            predicted[a:b],
            measured[a:b],
            variance[a:b],
            available[a:b],
            wrap,
            thresholds,
            innovation[a:b],
            total_variance[a:b],
        )
        inflated = groups[g, 3] == 1 and count > 0 and not accepted
        if inflated:
            P *= nis / thresholds[count]
            nis, count, accepted = update_group(
                P,
                x,
                H[a:b],
                predicted[a:b],
                measured[a:b],
                variance[a:b],
                available[a:b],
                wrap,
                never,
                innovation[a:b],
                total_variance[a:b],
            )
        result[g, 0], result[g, 1] = nis, count
        result[g, 2], result[g, 3] = (1.0 if accepted else 0.0), (1.0 if inflated else 0.0)
