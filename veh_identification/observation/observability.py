"""Observability of the error state (equations 44 and 68-78)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.types import Array


@dataclass(frozen=True)
class Observability:
    """Rank of the observability matrix and, column by column, what cannot be seen."""

    rank: int
    size: int
    singular_values: Array
    unobservable: Array  # (size, size - rank) basis of the non-observability subspace

    @property
    def observable(self) -> bool:
        """Whether the whole state can be estimated."""
        return self.rank == self.size


def observability_matrix(F: ArrayLike, H: ArrayLike) -> Array:
    """[H; H F; ...; H F^(n-1)] of equation (44)."""
    transition, rows = np.asarray(F, dtype=float), np.atleast_2d(np.asarray(H, dtype=float))
    blocks = [rows]
    for _ in range(transition.shape[0] - 1):
        blocks.append(blocks[-1] @ transition)
    return np.vstack(blocks)


def integrator_pair(
    size: int, dt: float, position_rows: ArrayLike, rate_rows: ArrayLike
) -> tuple[Array, Array]:
    """F of (69) and H from rows on positions and rows on rates of `size` coordinates."""
    F = np.block([[np.eye(size), dt * np.eye(size)], [np.zeros((size, size)), np.eye(size)]])
    position = np.asarray(position_rows, dtype=float).reshape(-1, size)
    rate = np.asarray(rate_rows, dtype=float).reshape(-1, size)
    H = np.vstack(
        [np.hstack([position, np.zeros_like(position)]), np.hstack([np.zeros_like(rate), rate])]
    )
    return F, H


def observability(F: ArrayLike, H: ArrayLike, dt: float | None = None) -> Observability:
    """Rank of (F, H); with `dt` the rates count per step, so short steps do not look singular.

    Without scaling the columns of the rates are dt times smaller than those of the positions
    and a fixed tolerance would take them for zero.
    """
    transition = np.asarray(F, dtype=float)
    rows = np.atleast_2d(np.asarray(H, dtype=float))
    n = transition.shape[0]
    scale = np.ones(n)
    if dt is not None:
        scale[n // 2 :] = 1.0 / dt
    S, inverse = np.diag(scale), np.diag(1.0 / scale)
    scaled = rows @ S
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(norms > 0.0, norms, 1.0)
    _, values, vectors = np.linalg.svd(observability_matrix(inverse @ transition @ S, scaled))
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
    return Observability(rank, n, values, S @ vectors[rank:].T)
