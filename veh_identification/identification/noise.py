"""Colour of the noise: how residuals depend on their past and on each other.

Filtering makes neighbouring samples alike, so N samples hold fewer than N independent facts. The
residuals' autocovariance is described by an autoregressive model per equation, after averaging
over `stride` neighbours where the noise is much slower than the sampling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from veh_identification.identification.factor import Factor
from veh_identification.identification.residuals import ResidualStatistics, positive
from veh_identification.types import Array

MAXIMUM_ORDER = 32


@dataclass(frozen=True)
class NoiseColour:
    """Autoregressive description of the noise of all equations on a grid of `stride` samples."""

    stride: int
    coefficients: Array  # (equations, order): e_k = r_k + sum_i a_i r_{k-i}
    innovation: Array  # (equations, equations): covariance of e, mixing the equations


def integrated_correlation(autocovariance: Array, samples: int) -> float:
    """Return 1 + 2 sum rho(l), summed until a pair of neighbours turns negative (Geyer)."""
    if autocovariance[0] <= 0.0:
        return 1.0
    rho = autocovariance / autocovariance[0]
    total, lag = 1.0, 1
    # Beyond a quarter of the recording too few pairs remain to say anything.
    while lag + 1 < min(len(rho), max(samples // 4, 2)):
        pair = rho[lag] + rho[lag + 1]
        if pair <= 0.0:
            break
        total += 2.0 * pair
        lag += 2
    return float(max(total, 1e-3))


def effective_samples(statistics: ResidualStatistics) -> Array:
    """Number of independent samples that would say as much about a constant, per equation."""
    auto, rows = statistics.autocovariance, statistics.rows
    correlation = [integrated_correlation(a, n) for a, n in zip(auto, rows, strict=True)]
    return rows / np.array(correlation)


def levinson(autocovariance: Array, order: int) -> tuple[Array, Array]:
    """Autoregressive coefficients for the largest order and prediction errors of all orders."""
    a = np.zeros(order)
    errors = np.empty(order + 1)
    errors[0] = autocovariance[0]
    for k in range(order):
        reflection = -(autocovariance[k + 1] + a[:k] @ autocovariance[k:0:-1]) / errors[k]
        a[:k] += reflection * a[:k][::-1].copy()
        a[k] = reflection
        errors[k + 1] = errors[k] * (1.0 - reflection**2)
    return a, errors


def autoregression(autocovariance: Array, samples: int) -> Array:
    """Coefficients of the order that Akaike's criterion chooses (MAXIMUM_ORDER of them)."""
    result = np.zeros(MAXIMUM_ORDER)
    largest = min(MAXIMUM_ORDER, len(autocovariance) - 1, max(samples // 10, 0))
    if autocovariance[0] <= 0.0 or largest == 0:
        return result
    regular = autocovariance[: largest + 1].copy()
    # A floor of white noise 30 dB down: no short recursion can match the stop band of a filter.
    regular[0] *= 1.0 + 1e-3
    _, errors = levinson(regular, largest)
    criterion = samples * np.log(errors) + 2.0 * np.arange(largest + 1)
    order = int(np.argmin(criterion))
    result[:order] = levinson(regular, order)[0]
    return result


def averaged(autocovariance: Array, stride: int) -> Array:
    """Autocovariance of means over `stride` samples, at multiples of the stride."""
    if stride == 1:
        return autocovariance
    lags = np.arange(-stride + 1, stride)
    weights = (stride - np.abs(lags)) / stride**2
    count = (autocovariance.shape[1] - stride) // stride
    centres = stride * np.arange(count + 1)
    return autocovariance[:, np.abs(centres[:, None] + lags[None, :])] @ weights


def restored(
    statistics: ResidualStatistics, inflation: Array, weights: Array, unknowns: int
) -> Array:
    """Autocovariance of the noise from that of the residuals: gives back what the fit took up.

    E(r r') = Gamma - s0 H where the regressors see noise of spectral density s0 and H is the
    projection onto them. Its sums along the diagonals come from random probes (Hutchinson).
    """
    auto = statistics.autocovariance
    if statistics.leverage is None:
        rows = int(statistics.rows.sum())
        return auto * rows / (rows - unknowns)
    leverage = statistics.leverage * np.square(weights)[:, None]
    leverage *= unknowns / max(leverage[:, 0].sum(), 1e-300)  # trace of a projection
    lags = np.arange(auto.shape[1])
    result = auto.copy()
    for j, (row, count) in enumerate(zip(auto, statistics.rows, strict=True)):
        if leverage[j, 0] <= 0.0:
            continue
        window = np.clip(1.0 - lags / max(20.0, 6.0 * inflation[j]), 0.0, None)
        window[1:] *= 2.0  # both sides
        shape = window * leverage[j] / leverage[j, 0]
        share = float(shape @ leverage[j]) / count
        level = float(shape @ row) / max(1.0 - share, 0.2)
        result[j] += max(level, 0.0) / count * leverage[j]
    return result


def describe_noise(statistics: ResidualStatistics, weights: Array, unknowns: int) -> NoiseColour:
    """Fit the colour of the noise to the residuals of an estimate with given weights."""
    auto = statistics.autocovariance
    inflation = statistics.rows / effective_samples(statistics)
    # A quarter of the correlation length resolves the pass band of the fastest equation well.
    stride = int(max(1, min(inflation.min() / 4.0, (auto.shape[1] - 1) / (2.0 * MAXIMUM_ORDER))))
    grid = averaged(restored(statistics, inflation, weights, unknowns), stride)
    # Sums over incomplete pairs need not be positive definite.
    grid = np.stack(
        [
            positive(row) if lacking else row
            for row, lacking in zip(grid, statistics.lacking, strict=True)
        ]
    )
    coefficients = np.array(
        [
            autoregression(row, int(count) // stride)
            for row, count in zip(grid, statistics.rows, strict=True)
        ]
    )
    order = max(1, int(np.flatnonzero(np.any(coefficients != 0.0, axis=0)).max(initial=0)) + 1)
    coefficients = coefficients[:, :order]
    innovation = _innovations(coefficients, grid[:, 0], statistics.covariance)
    return NoiseColour(stride, coefficients, innovation)


def taken_up(factor: Factor, prior_rows: Array | None) -> int:
    """Rows of the data that the fit takes up: tr(W C W'), less than the unknowns with a prior."""
    unknowns = len(factor.z)
    if prior_rows is None:
        return unknowns
    return round(unknowns - float(np.square(prior_rows @ factor.inverse()).sum()))


def impulse_response(coefficients: Array, length: int) -> Array:
    """Responses (equations, length) of r = e / A to a single innovation."""
    impulse = np.zeros(length)
    impulse[0] = 1.0
    return np.array([lfilter([1.0], np.append(1.0, row), impulse) for row in coefficients])


def _innovations(coefficients: Array, variance: Array, covariance: Array) -> Array:
    """Covariance of the innovations that gives the observed variances and correlations."""
    response = impulse_response(coefficients, 2000)
    gain = response @ response.T
    power = np.sqrt(np.maximum(variance, 0.0) / np.diag(gain))
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    rho = covariance / np.outer(std, std)
    # Unequally coloured equations correlate less than their innovations do.
    alike = gain / np.sqrt(np.outer(np.diag(gain), np.diag(gain)))
    mixed = np.clip(rho / np.where(np.abs(alike) > 0.1, alike, 1.0), -1.0, 1.0)
    np.fill_diagonal(mixed, 1.0)
    values, vectors = np.linalg.eigh(mixed)
    mixed = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return mixed * np.outer(power, power)


def is_white(statistics: ResidualStatistics) -> bool:
    """Whether neither colour nor coupling of the equations matters: both surely and by over 3 %.

    Sums of autocorrelations over 1, 4, 16 ... lags see fast and slow colour alike; for white
    noise the sum over M lags has the deviation sqrt(M / N).
    """
    std = np.where(statistics.rms > 0.0, statistics.rms, 1.0)  # a dead equation couples to none
    coupling = statistics.covariance / np.outer(std, std)
    np.fill_diagonal(coupling, 0.0)
    if np.any(np.abs(coupling) > np.maximum(0.03, 4.0 / np.sqrt(np.maximum(statistics.pairs, 1)))):
        return False
    root = np.sqrt(np.maximum(statistics.neighbours, 1))
    auto = statistics.autocovariance
    sums = np.cumsum(auto[:, 1:] / np.maximum(auto[:, :1], 1e-300), axis=1)
    count = 1
    while count <= sums.shape[1]:
        if np.any(np.abs(sums[:, count - 1]) > np.maximum(0.03, 4.0 * np.sqrt(count) / root)):
            return False
        count *= 4
    return True
