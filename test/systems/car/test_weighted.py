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
        signals=lambda piece: piece.signals,
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
    piece: Any = SimpleNamespace(signals=signals, rate=50.0)
    sideways, upwards = residuals(model, USED, 25.0, piece)
    assert upwards == pytest.approx(100.0, rel=0.2)
    assert sideways == pytest.approx(0.1 * MASS, rel=0.2)
