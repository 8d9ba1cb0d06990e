"""Deviations of rows whose errors are alike: near in time, or at the same phase of a motion.

Torque ripple, and friction that no model quite tells, depend on position and speed: a motion that
repeats repeats them, and ten periods say no more about them than one. Rows of the same phase
therefore count as one cluster, and the deviations are those of clusters (Bell and McCaffrey's CR2,
which also corrects for what the fit has taken out of the residuals).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve_triangular

from veh_identification.types import Array, IntArray

#: Rows of one cluster lie within this time [s]; a period has at least so many clusters.
CLUSTER_SECONDS, LEAST_CLUSTERS = 0.4, 20
#: Shortest period that is looked for [s].
SHORTEST = 1.0
#: Mean square difference of a motion and itself a period later, over twice its variance.
REPEATS = 0.01
#: The fit may take at most this share of a cluster's errors away: more is not corrected.
LARGEST_SHARE = 0.95


@dataclass(frozen=True, eq=False)
class Phases:
    """Rows of one recording in time."""

    times: Array  # (M,) s, from zero on
    period: float  # s; 0: the motion does not repeat
    step: float  # s between rows


def period_of(position: Array, step: float) -> float:
    """Time [s] after which a motion (N, joints) in steps of `step` repeats; 0: it does not."""
    spread = np.var(position, axis=0)
    moving = spread > 0.0
    q = (position[:, moving] - position[:, moving].mean(axis=0)) / np.sqrt(spread[moving])
    first, last = round(SHORTEST / step), (2 * len(q)) // 3
    if last - first < 3 or not moving.any():
        return 0.0
    lags = np.arange(first, last)
    apart = np.array([0.5 * float(np.mean((q[lag:] - q[:-lag]) ** 2)) for lag in lags])
    dips = (apart[1:-1] <= apart[:-2]) & (apart[1:-1] <= apart[2:]) & (apart[1:-1] < REPEATS)
    if not dips.any():
        return 0.0
    k = int(np.argmax(dips)) + 1
    bend = apart[k - 1] - 2.0 * apart[k] + apart[k + 1]
    shift = 0.5 * (apart[k - 1] - apart[k + 1]) / bend if bend > 0.0 else 0.0
    return float(step * (lags[k] + shift))


def clusters_of(recordings: list[Phases]) -> IntArray:
    """Of each row (M,) of all recordings: a number that rows share whose errors are alike."""
    made, used = [], 0
    for one in recordings:
        times = one.times % one.period if one.period else one.times
        length = min(CLUSTER_SECONDS, max(float(times[-1]), one.period) / LEAST_CLUSTERS)
        made.append(used + np.floor(times / max(length, one.step)).astype(np.int64))
        used = int(made[-1].max()) + 1
    return np.concatenate(made)


def widened(covariance: Array, V: Array, residual: Array, clusters: IntArray) -> Array:
    """A covariance that holds for errors that rows of a cluster share.

    Rows (M, equations, unknowns) and residuals have weight one; rows that are missing hold zeros.
    """
    known = np.diag(covariance)
    kept = np.flatnonzero(known > 0.0)
    variance = clustered_variance(V[:, :, kept], residual, clusters)
    ratio = np.ones(len(known))
    ratio[kept] = np.sqrt(np.maximum(variance / known[kept], 1.0))
    return np.asarray(covariance * np.outer(ratio, ratio))


def clustered_variance(V: Array, residual: Array, clusters: IntArray) -> Array:
    """Of each unknown: CR2 for rows (M, equations, unknowns) of weight one."""
    norms = np.linalg.norm(V, axis=(0, 1))
    norms[norms == 0.0] = 1.0
    V = V / norms
    count = V.shape[2]
    rows = V.reshape(-1, count)
    normal = rows.T @ rows + 1e-13 * np.eye(count)
    lower = np.linalg.cholesky(normal)
    total = np.zeros((count, count))
    for one in np.unique(clusters):
        place = clusters == one
        U = solve_triangular(lower, V[place].reshape(-1, count).T, lower=True)
        share, Q = eigh(U @ U.T)
        score = Q.T @ (U @ residual[place].ravel())
        score = Q @ (score / np.sqrt(1.0 - np.clip(share, 0.0, LARGEST_SHARE)))
        total += np.outer(score, score)
    half = solve_triangular(lower, np.eye(count), lower=True)
    return np.asarray(np.einsum('ji,jk,ki->i', half, total, half) / norms**2)
