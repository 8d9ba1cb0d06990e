"""Noise of the normal equations of an estimate that leans on CAD values, correlated over time.

The noise is read off the residuals, after giving back what the fit has taken up. With a prior that
is less than one row per unknown: in E(r r') = Gamma - s0 A, A = W C W' with C the covariance of
data and prior together, and tr(A) = unknowns - tr(C C0^-1). A walk of four steps determines 30 of
100 unknowns; to count all of them would make the deviation of the mass more than twice too large.
"""

from __future__ import annotations

import numpy as np

from veh_identification.identification import BlockSource
from veh_identification.identification.noise import describe_noise
from veh_identification.identification.residuals import MAXIMUM_LAG, residual_statistics
from veh_identification.identification.sandwich import coloured_covariance
from veh_identification.systems.humanoid.estimation.noise_and_trust import Evidence
from veh_identification.types import Array

PROBES = 8


def normal_noise(rows: BlockSource, evidence: Evidence, samples: int) -> Array:
    """Covariance of W' P^2 e, with the noise e as coloured as the residuals show."""
    weights = 1.0 / evidence.sigma
    whole = evidence.measured.extended(*evidence.prior.rows())
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(whole.z), PROBES))
    lags = int(min(MAXIMUM_LAG, max(samples // 4, 1)))
    statistics = residual_statistics(rows, evidence.value, lags, probes=whole.inverse() @ signs)
    used = round(float(np.sum(evidence.response * (evidence.measured.R.T @ evidence.measured.R))))
    colour = describe_noise(statistics, weights, used)  # tr(A)
    information = whole.R.T @ whole.R
    return np.asarray(
        information @ coloured_covariance(rows, whole, weights, colour) @ information
    )
