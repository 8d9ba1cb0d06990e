"""Scalar Kalman updates in sequence with availability flags, gate and robust weights (124)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.held_arrays import reals_1, reals_2, wholes_1
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


class BandedTransition(NamedTuple):
    """An upper triangular transition: its diagonal, and few bands above it.

    `band` (k, n): entry (i, i + offset[k]) of row i, zero where there is none.
    """

    diagonal: Array
    offset: NDArray[np.int64]
    band: Array


def banded_transition(F: Array) -> BandedTransition | None:
    """The integrator (54) has one or two bands beside the diagonal; None for other matrices."""
    n = F.shape[0]
    row, column = np.nonzero(F - np.diag(np.diag(F)))
    offset = np.unique(column - row)
    if offset.size > 3 or np.any(offset < 0):
        return None
    band = np.zeros((offset.size, n))
    for k, step in enumerate(offset):
        band[k, : n - step] = np.diagonal(F, step)
    return BandedTransition(np.diag(F).copy(), offset, band)


@njit(cache=True, nogil=True)
def predict_banded(F: BandedTransition, P: Array, W: Array, spare: Array) -> None:
    """`predict_covariance` in O(n^2), in place; `spare` is as large as P."""
    diagonal, offset, band = F
    n = P.shape[0]
    # by rows of their own: what is indexed by two numbers is not computed in pairs
    for i in range(n):
        row, own, scale = spare[i], P[i], diagonal[i]
        for k in range(n):
            row[k] = scale * own[k]
        for p in range(offset.size):
            value = band[p, i]
            if value != 0.0:
                other = P[i + offset[p]]
                for k in range(n):
                    row[k] += value * other[k]
    for i in range(n):
        row, own, noise = spare[i], P[i], W[i]
        for k in range(n):
            own[k] = row[k] * diagonal[k] + noise[k]
        for p in range(offset.size):
            ahead, factor = row[offset[p] :], band[p]
            for k in range(ahead.size):
                own[k] += factor[k] * ahead[k]
    for i in range(n):
        for k in range(i):
            P[i, k] = P[k, i] = 0.5 * (P[i, k] + P[k, i])


@njit(cache=True, nogil=True)
def predict_held(held: NDArray[np.int64]) -> None:
    """`predict_banded` of held arrays: those of the transition, P, W and the spare one."""
    F = BandedTransition(reals_1(held, 0), wholes_1(held, 1), reals_2(held, 2))
    predict_banded(F, reals_2(held, 3), reals_2(held, 4), reals_2(held, 5))


@njit(cache=True, nogil=True)
def _spread(P: Array, row: Array, PH: Array) -> float:
    """P h into `PH` for a row h that is mostly zero; returns h P h^T. P is symmetric."""
    n = row.size
    for a in range(n):
        PH[a] = 0.0
    for j in range(n):
        h = row[j]
        if h != 0.0:
            for a in range(n):
                PH[a] += h * P[j, a]
    total = 0.0
    for a in range(n):
        total += row[a] * PH[a]
    return total


@njit(cache=True, nogil=True)
def _normalised_square(
    P: Array,
    H: Array,
    innovation: Array,
    variance: Array,
    rows: NDArray[np.int64],
    y: Array,
    PH: Array,
) -> float:
    """nu^T (H P H^T + N)^-1 nu over the given rows, by a small Cholesky factor.

    `y` receives the innovation as independent numbers of variance one, `PH` (rows, states) the
    products P h.
    """
    m = rows.size
    S = np.empty((m, m))
    for i in range(m):
        S[i, i] = _spread(P, H[rows[i]], PH[i]) + variance[rows[i]]
        for j in range(i):
            S[i, j] = np.dot(H[rows[j]], PH[i])
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
def _take_out(P: Array, V: Array) -> None:
    """P -= V^T V for few rows of V, three at once: P is read less often and stays symmetric."""
    n, k = P.shape[0], 0
    while k + 3 <= V.shape[0]:
        u, v, w = V[k], V[k + 1], V[k + 2]
        for a in range(n):
            row, p, q, r = P[a], u[a], v[a], w[a]
            for b in range(n):
                row[b] -= p * u[b] + q * v[b] + r * w[b]
        k += 3
    while k < V.shape[0]:
        u = V[k]
        for a in range(n):
            row, p = P[a], u[a]
            for b in range(n):
                row[b] -= p * u[b]
        k += 1


@njit(cache=True, nogil=True)
def robust_weight(nis: float, count: int, gates: Array, scatter: float) -> float:
    """Weight of a group: 1 within the first gate, Huber's beyond it, 0 beyond the second.

    `gates` (2, m + 1): the two limits for m components; `scatter` is how many times as large as
    stated the noise of the sensor is known to be.
    """
    nis /= scatter * scatter
    if not nis <= gates[1, count]:
        return 0.0
    if nis <= gates[0, count]:
        return 1.0 / (scatter * scatter)
    # the pull of a sample grows no more
    return np.sqrt(gates[0, count] / nis) / (scatter * scatter)


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
    gates: Array,
    scatter: float,
    innovation: Array,
    total_variance: Array,
    whitened: Array,
) -> tuple[float, int, float]:
    """Use one sensor's components; returns (NIS, components, weight), P and x in place.

    The whole group is weighted together (`robust_weight`); the weight divides its variances. A
    `scatter` of infinity looks at the innovation and uses nothing. Then every component is one
    scalar update, each starting from the state and covariance that the last one left.
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
        return 0.0, 0, 0.0
    PH = np.empty((count, x.size))
    nis = _normalised_square(P, H, innovation, variance, rows[:count], whitened, PH)
    weight = 0.0 if np.isinf(scatter) else robust_weight(nis, count, gates, scatter)
    base = x.copy()
    for r in range(count):
        i = rows[r]
        own = PH[r]
        if weight > 0.0:
            # what the updates before this one took out of P h
            for s in range(r):
                share = np.dot(PH[s], H[i])
                for a in range(x.size):
                    own[a] -= share * PH[s, a]
        S = np.dot(H[i], own) + variance[i]
        total_variance[i] = S
        if weight == 0.0:
            continue
        S += variance[i] * (1.0 / weight - 1.0)  # exactly zero for a full weight
        nu = innovation[i] - (np.dot(H[i], x) - np.dot(H[i], base))
        innovation[i] = nu  # whitened within the group: what this scalar update really saw
        share, root = nu / S, np.sqrt(1.0 / S)
        for a in range(x.size):
            x[a] += own[a] * share
            own[a] *= root
    if weight > 0.0:
        _take_out(P, PH)
    return nis, count, weight


#: Share of a new sample in what is learnt of a noise, and the least part of a stated variance.
LEARNING, LEAST = 0.002, 0.25
#: Samples for which what is stated counts at the beginning.
BELIEVED = 50.0
#: Correlation of neighbouring innovations that is believed.
LARGEST_CORRELATION = 0.8
#: Whether the noise of a sensor is learnt: never, now, or not now, while what is stated counts.
NEVER, NOW, LATER = 0, 1, 2


@njit(cache=True, nogil=True)
def noise_factor(noise: Array) -> float:
    """What a stated variance is multiplied with, never more than one.

    `noise` (5): variance over what is stated; mean product and mean square of neighbouring
    innovations; the last one; how many there were. Noise that lasts from sample to sample tells
    less: n samples of correlation r are worth n (1 - r) / (1 + r).
    """
    r = 0.0
    if noise[2] > 0.0:
        r = min(max(noise[1] / noise[2], 0.0), LARGEST_CORRELATION)
    return min(noise[0] * (1.0 + r) / (1.0 - r), 1.0)


@njit(cache=True, nogil=True)
def learn_noise(noise: Array, innovation: float, stated: float) -> None:
    """Take in an innovation: its variance is that of the noise and of the estimate.

    So the noise is no larger, however wrong the estimate states its own variance: an estimate that
    is unsure for no reason would otherwise explain the innovations whatever the noise is.
    """
    square = innovation * innovation
    share = max(LEARNING, 1.0 / (BELIEVED + noise[4]))
    noise[0] = min(max(noise[0] + share * (square / stated - noise[0]), LEAST), 1.0)
    noise[1] += share * (innovation * noise[3] - noise[1])
    noise[2] += share * (square - noise[2])
    noise[3] = innovation
    noise[4] += 1.0


@njit(cache=True, nogil=True)
def update_groups(
    P: Array,
    x: Array,
    H: Array,
    predicted: Array,
    measured: Array,
    variance: Array,
    available: NDArray[np.bool_],
    numbers: NDArray[np.int64],
    groups: NDArray[np.int64],
    scatter: Array,
    gates: Array,
    noise: Array,
    innovation: Array,
    total_variance: Array,
    whitened: Array,
    result: Array,
) -> None:
    """`update_group` for several sensors in turn; all arrays are stacked over the sensors.

    `numbers` (k): which sensors. Of all sensors, `groups` (4): first row, number of rows, wrap,
    whether its noise is learnt (`NEVER`, ...); `scatter`: infinity for one that is set aside;
    `noise` (rows, 5). `result` (k, 3 or more): NIS, components, weight.
    """
    for g in range(numbers.size):
        sensor = numbers[g]
        a, b = groups[sensor, 0], groups[sensor, 0] + groups[sensor, 1]
        learns = groups[sensor, 3]
        stated = variance[a:b].copy()
        if learns == NOW:
            for i in range(a, b):
                variance[i] *= noise_factor(noise[i])
        result[g, 0], result[g, 1], result[g, 2] = update_group(
            P,
            x,
            H[a:b],
            predicted[a:b],
            measured[a:b],
            variance[a:b],
            available[a:b],
            groups[sensor, 2] == 1,
            gates,
            scatter[sensor],
            innovation[a:b],
            total_variance[a:b],
            whitened[a:b],
        )
        if learns == NOW and result[g, 2] >= 1.0:  # what stands out tells of something else
            for i in range(a, b):
                if np.isfinite(innovation[i]):
                    learn_noise(noise[i], innovation[i], stated[i - a])
