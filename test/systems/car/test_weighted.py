"""Weights of the equations: what hardly moves must not tell the mass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veh_identification.systems.car.checks.explanations import residuals
from veh_identification.systems.car.estimation.weighted import CarProblem, Selection, estimate
from veh_identification.systems.car.model import EQUATIONS, Entry
from veh_identification.systems.car.processing.spectral import SpectralInformation

MASS = 1600.0
FY, FZ = EQUATIONS.index('FY'), EQUATIONS.index('FZ')


def straight_run() -> tuple[Any, np.ndarray]:
    """FY is 25 N and the accelerometer shakes by 0.1 m/s^2: alone it would tell no mass at all."""
    rng = np.random.default_rng(5)
    samples = 400
    signals = np.zeros((samples, 3 + len(EQUATIONS)))  # the third one is idle
    signals[:, 0] = 0.1 * rng.standard_normal(samples)
    signals[:, 1] = 9.81 + 0.3 * rng.standard_normal(samples)
    signals[:, 3 + FY] = 25.0 * rng.standard_normal(samples)
    signals[:, 3 + FZ] = MASS * signals[:, 1] + 100.0 * rng.standard_normal(samples)
    columns = {FY: 0, FZ: 1}
    entries = tuple(Entry(j, 0, columns.get(j, 2)) for j in range(len(EQUATIONS)))
    model = SimpleNamespace(
        names=('Mc',),
        entries=entries,
        signal_count=signals.shape[1],
        signals=lambda piece, like: piece.signals,
    )
    return model, signals


USED = Selection(np.isin(np.arange(len(EQUATIONS)), (FY, FZ))[:, None], np.array([True]))


def test_a_straight_run_weighs_the_car_by_gravity_and_not_by_sideways_noise() -> None:
    model, signals = straight_run()
    lines = len(signals)
    information = SpectralInformation(
        (signals.T @ signals)[None], np.array([float(lines)]), lines, 10.0
    )
    fit = estimate(CarProblem(model, information), USED)
    assert fit.value[0] == pytest.approx(MASS, rel=0.02)


def test_hypotheses_are_tried_on_the_fit_that_explains_gravity() -> None:
    """Else whatever happens to lead there seems to be the cause (a wheel of another scale)."""
    model, signals = straight_run()
    piece: Any = SimpleNamespace(signals=signals, rate=50.0, wrench=np.zeros((2, 4, 6)))
    sideways, upwards = residuals(model, USED, 25.0, piece)
    assert upwards == pytest.approx(100.0, rel=0.2)
    assert sideways == pytest.approx(0.1 * MASS, rel=0.2)


def test_sums_over_the_entries_are_those_of_the_dense_matrices() -> None:
    rng = np.random.default_rng(8)
    count, parameters, bands = len(EQUATIONS), 4, 3
    entries = tuple(
        Entry(j, int(p), int(rng.integers(7)))
        for j in range(count)
        for p in rng.choice(parameters, 2, replace=False)
    )
    lines = rng.standard_normal((bands, 30, 7 + count))
    model: Any = SimpleNamespace(
        names=tuple('abcd'), entries=entries, signal_count=7 + count, signals=None
    )
    grams = lines.transpose(0, 2, 1) @ lines
    problem = CarProblem(model, SpectralInformation(grams, np.full(bands, 30.0), 90, 1.0))
    W = np.zeros((bands, 30, count, parameters))
    for one in entries:
        W[:, :, one.equation, one.parameter] += lines[:, :, one.column]
    Y = lines[:, :, 7:]
    weights = rng.standard_normal((bands, count, count))
    weights[0, 2] = 0.0
    left, right = problem.normal(weights)
    np.testing.assert_allclose(left, np.einsum('bnjp,bjk,bnkq->pq', W, weights, W), atol=1e-9)
    np.testing.assert_allclose(right, np.einsum('bnjp,bjk,bnk->p', W, weights, Y), atol=1e-9)
    X = np.array([1.0, -2.0, 0.0, 0.5])
    rest = Y - W @ X
    np.testing.assert_allclose(problem.power(X), np.einsum('bnj,bnk->bjk', rest, rest), atol=1e-9)
    used = rng.random((count, bands)) > 0.3
    alone = problem.apart(used)
    np.testing.assert_allclose(alone[0], np.einsum('bnjp,jb,bnjq->jpq', W, used, W), atol=1e-9)
    np.testing.assert_allclose(alone[1], np.einsum('bnjp,jb,bnj->jp', W, used, Y), atol=1e-9)
    np.testing.assert_allclose(alone[2], np.einsum('bnj,jb->j', Y**2, used), atol=1e-9)
