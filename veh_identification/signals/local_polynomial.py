"""Local polynomial kernels: the one smoother that takes irregular stamps as they come.

A polynomial is fitted by weighted least squares to the samples within `half_width` seconds of the
time of interest; its Taylor coefficients there are position, velocity and acceleration. On a
symmetric window the response is real (no phase), so a live user who evaluates it `half_width`
behind the newest sample sees one known, constant delay for all three outputs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit
from scipy.optimize import brentq

from veh_identification.errors import SignalError
from veh_identification.types import Array

MAXIMUM_ORDER = 6


@njit(cache=True, nogil=True)
def _solve_moments(moments: Array, coefficients: Array) -> bool:
    """Solve the normal equations in place; False when the stamps leave them singular."""
    size = coefficients.shape[0]
    # Cholesky of the Hankel moment matrix, done in place: at most 7 x 7, no LAPACK call needed.
    factor = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            total = moments[i + j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 1e-13 * moments[2 * i] or total <= 0.0:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    # Channels innermost: the compiler does several at once.
    channels = coefficients.shape[1]
    for i in range(size):
        for k in range(i):
            for c in range(channels):
                coefficients[i, c] -= factor[i, k] * coefficients[k, c]
        for c in range(channels):
            coefficients[i, c] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            for c in range(channels):
                coefficients[i, c] -= factor[k, i] * coefficients[k, c]
        for c in range(channels):
            coefficients[i, c] /= factor[i, i]
    return True


@njit(cache=True, nogil=True)
def fit_local_polynomial(
    times: Array,
    values: Array,
    first: int,
    count: int,
    centre: float,
    half_width: float,
    order: int,
    coefficients: Array,
) -> int:
    """Weighted polynomial fit on a ring buffer; returns how many samples took part.

    `coefficients` (order + 1, channels) receives those of u = (t - centre) / half_width.
    Fewer samples than coefficients, or a singular set of stamps, leave it NaN.
    """
    capacity = times.shape[0]
    channels = values.shape[1]
    size = order + 1
    moments = np.zeros(2 * order + 1)
    coefficients[:, :] = 0.0
    used = 0
    for offset in range(count):
        index = first + offset
        if index >= capacity:
            index -= capacity
        u = (times[index] - centre) / half_width
        if u <= -1.0 or u >= 1.0:
            continue
        used += 1
        # Triweight: two continuous derivatives at the rim, so samples enter and leave softly.
        weight = (1.0 - u * u) ** 3
        power = weight
        for k in range(2 * order + 1):
            moments[k] += power
            if k < size:
                for c in range(channels):
                    coefficients[k, c] += power * values[index, c]
            power *= u
    if used < size:
        coefficients[:, :] = np.nan
        return used
    if not _solve_moments(moments, coefficients):
        coefficients[:, :] = np.nan
    return used


@lru_cache(maxsize=32)
def _equivalent_kernels(order: int) -> tuple[Array, Array]:
    """Nodes u and the kernels (3, nodes) that give the 0th, 1st, 2nd Taylor coefficient."""
    nodes, node_weights = np.polynomial.legendre.leggauss(200)
    weight = (1.0 - nodes**2) ** 3 * node_weights
    vandermonde = np.vander(nodes, order + 1, increasing=True)
    gram = vandermonde.T @ (weight[:, None] * vandermonde)
    kernels = np.linalg.solve(gram, vandermonde.T * weight)
    padded = np.zeros((3, len(nodes)))
    padded[: min(3, order + 1)] = kernels[:3]
    return nodes, padded


def local_polynomial_response(frequency_hz: Array | float, half_width: float, order: int) -> Array:
    """Real gains (F, 3) of position, velocity and acceleration against the ideal 1, j w, -w^2.

    The response is that of dense sampling. Gains of derivatives that the order does not reach are
    zero.
    """
    _check_order(order)
    frequency = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
    nodes, kernels = _equivalent_kernels(order)
    x = 2.0 * np.pi * np.maximum(frequency, 1e-9) * half_width
    cosine = np.cos(np.outer(x, nodes))
    sine = np.sin(np.outer(x, nodes))
    position = cosine @ kernels[0]
    velocity = sine @ kernels[1] / x
    acceleration = -2.0 * cosine @ kernels[2] / x**2
    # The quotient loses its digits towards zero frequency, where every gain is one by exactness
    # on polynomials (the acceleration needs order 2, the velocity order 1).
    small = x < 1e-2
    position[small] = 1.0
    velocity[small] = 1.0 if order >= 1 else 0.0
    acceleration[small] = 1.0 if order >= 2 else 0.0
    return np.stack([position, velocity, acceleration], axis=1)


@lru_cache(maxsize=128)
def half_width_for_cutoff(cutoff_hz: float, order: int, derivative: int = 2) -> float:
    """Half window in seconds whose gain for `derivative` falls to 1/sqrt(2) at `cutoff_hz`."""
    _check_order(order)
    if not cutoff_hz > 0.0 or not np.isfinite(cutoff_hz):
        raise SignalError(f'the cut-off must be a positive frequency, found {cutoff_hz} Hz')
    if not 0 <= derivative <= min(2, order):
        raise SignalError(f'a local polynomial of order {order} gives no derivative {derivative}')

    def excess(half_width: float) -> float:
        gain = local_polynomial_response(cutoff_hz, half_width, order)
        return float(gain[0, derivative] - np.sqrt(0.5))

    return float(brentq(excess, 0.02 / cutoff_hz, 1.5 * (order + 1) / cutoff_hz / 2.0))


def _check_order(order: int) -> None:
    if not 0 <= order <= MAXIMUM_ORDER:
        raise SignalError(
            f'the polynomial order must lie between 0 and {MAXIMUM_ORDER}, found {order}'
        )
