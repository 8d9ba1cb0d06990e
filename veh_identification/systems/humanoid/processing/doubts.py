"""What an error that is suspected, but not taken off, does to an estimate.

Such an error changes the right side of equation (4) by e, which the estimate takes for parameters:
they are off by C W' P^2 e, the first-order bias, and their deviations allow for as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Doubt:
    """Some samples of a recording, which stand for all of its rows."""

    rows: Array  # (n, 6, base parameters) W
    change: Array  # (n, 6) of the wrench, were the error put right

    def normal(self, sigma: Array, count: float) -> Array:
        """W' P^2 e (base parameters,) of `count` rows with the noise `sigma` (6,)."""
        if not len(self.rows):
            return np.zeros(self.rows.shape[2])
        weighted = self.change / np.square(sigma)
        total = np.einsum('nip,ni->p', self.rows, weighted)
        return np.asarray(count / len(self.rows) * total)
