"""Where a wheel stands and how it is turned, as functions of suspension travel and steering.

Five quantities of a corner (place along x, place along y, and the angles beta, gamma, zeta of
Table I of Venture 2006) are quadratic forms of the travel q and of the mean front steering angle
s. The hub frame is turned by Rz(beta) Rx(gamma) Ry(zeta) against the chassis, which is what the
Denavit-Hartenberg rows 5 to 8 of Table I give. The wheel centre is at (x, y, q).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array

#: Order of the quantities of a corner, rows of its coefficient matrix.
X, Y, BETA, GAMMA, ZETA = range(5)
QUANTITIES = ('wheelbase', 'half_track', 'steering', 'camber', 'kingpin')
#: Columns of the coefficient matrix: factors of 1, q, q^2, s, s^2 and q s.
TERMS = ('1', 'q', 'q2', 's', 's2', 'qs')
#: Columns of `axle_motion`: value, slope over q, rate, and acceleration that needs no qdd.
VALUE, SLOPE, RATE, BIAS = range(4)


@njit(cache=True, nogil=True)
def axle_motion(
    coefficients: Array, q: float, qd: float, s: float, sd: float, sdd: float, out: Array
) -> None:
    """Value, d/dq, time derivative, and second derivative without the part SLOPE * qdd."""
    for k in range(5):
        one, cq, cqq = coefficients[k, 0], coefficients[k, 1], coefficients[k, 2]
        cs, css, cqs = coefficients[k, 3], coefficients[k, 4], coefficients[k, 5]
        slope = cq + 2.0 * cqq * q + cqs * s
        steer = cs + 2.0 * css * s + cqs * q
        out[k, VALUE] = one + cq * q + cqq * q * q + cs * s + css * s * s + cqs * q * s
        out[k, SLOPE] = slope
        out[k, RATE] = slope * qd + steer * sd
        out[k, BIAS] = (
            steer * sdd + 2.0 * cqq * qd * qd + 2.0 * css * sd * sd + 2.0 * cqs * qd * sd
        )


def axle_values(coefficients: Array, q: Array, s: Array) -> Array:
    """The five quantities (N, 5) of one corner for travels and steering angles (N,)."""
    terms = np.stack([np.ones_like(q), q, q * q, s, s * s, q * s], axis=-1)
    return terms @ coefficients.T


def axle_rates(coefficients: Array, q: Array, qd: Array, s: Array, sd: Array) -> Array:
    """First derivatives (N, 5) of `axle_values`."""
    zero = np.zeros_like(q)
    over_q = np.stack([zero, zero + 1.0, 2.0 * q, zero, zero, s], axis=-1)
    over_s = np.stack([zero, zero, zero, zero + 1.0, 2.0 * s, q], axis=-1)
    return (over_q * qd[:, None] + over_s * sd[:, None]) @ coefficients.T
