"""What exactly right deviations would show: the scatter of few trials is itself uncertain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 2000


@dataclass(frozen=True)
class Chance:
    """Worst |sigma / scatter - 1| over all parameters when every sigma is exact."""

    worst: NDArray[np.float64]  # one per draw

    def median(self) -> float:
        """Half of all batches show more."""
        return float(np.median(self.worst))

    def within(self, bar: float) -> float:
        """Probability that a batch stays within the bar."""
        return float((self.worst <= bar).mean())

    def beyond(self, found: float) -> float:
        """Probability that a batch shows more than what was found."""
        return float((self.worst > found).mean())


def exact_sigma(covariance: NDArray[np.float64], trials: int, seed: int = 0) -> Chance:
    """Normal estimates with this covariance, in batches of `trials`."""
    std = np.sqrt(np.diag(covariance))
    factor = np.linalg.cholesky(covariance / np.outer(std, std))
    rng = np.random.default_rng(seed)
    worst = np.empty(DRAWS)
    for k in range(DRAWS):
        estimates = rng.standard_normal((trials, len(std))) @ factor.T
        worst[k] = np.abs(1.0 / np.std(estimates, axis=0, ddof=1) - 1.0).max()
    return Chance(worst)
