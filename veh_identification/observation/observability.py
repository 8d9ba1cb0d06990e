"""Observability of the error state (equations 44 and 68-78)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.types import Array

#: A state is named when this much of what cannot be seen lies in it: less is rounding and tilt.
TAKES_PART = 0.05


@dataclass(frozen=True)
class Observability:
    """Rank of the observability matrix and, column by column, what cannot be seen."""

    rank: int
    size: int
    unobservable: Array  # (size, size - rank) basis of the non-observability subspace

    @property
    def observable(self) -> bool:
        """Whether the whole state can be estimated."""
        return self.rank == self.size

    @property
    def unseen(self) -> list[int]:
        """States of which the sensors do not tell everything."""
        taking_part = np.linalg.norm(self.unobservable, axis=1) > TAKES_PART
        return [int(k) for k in np.flatnonzero(taking_part)]


def _matrix(transition: Array, rows: Array) -> Array:
    """[H; H F; ...; H F^(n-1)] of equation (44)."""
    blocks = [rows]
    for _ in range(transition.shape[0] - 1):
        blocks.append(blocks[-1] @ transition)
    return np.vstack(blocks)


def observability(F: ArrayLike, H: ArrayLike, dt: float, orders: int = 2) -> Observability:
    """Rank of (F, H) of errors [z, z'] or, with three orders, [z, z', z''].

    Rates count per step, so short steps do not look singular: without scaling the columns of the
    rates are dt times smaller than those of the positions and a fixed tolerance would take them
    for zero.
    """
    transition = np.asarray(F, dtype=float)
    rows = np.atleast_2d(np.asarray(H, dtype=float))
    n = transition.shape[0]
    if not rows.size:
        return Observability(0, n, np.eye(n))
    scale = np.repeat(dt ** -np.arange(float(orders)), n // orders)
    scaled = rows * scale
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(norms > 0.0, norms, 1.0)
    within = transition * scale / scale[:, None]
    _, values, vectors = np.linalg.svd(_matrix(within, scaled), full_matrices=False)
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
    return Observability(rank, n, vectors[rank:].T)
