"""Weights of the equations: what hardly moves must not tell the mass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veh_identification.systems.car.estimation.weighted import CarProblem, Selection, estimate
from veh_identification.systems.car.model import EQUATIONS, Entry
from veh_identification.systems.car.processing.spectral import SpectralInformation

MASS = 1600.0
FY, FZ = EQUATIONS.index('FY'), EQUATIONS.index('FZ')


def test_a_straight_run_weighs_the_car_by_gravity_and_not_by_sideways_noise() -> None:
    """FY is 25 N and the accelerometer shakes by 0.1 m/s^2: alone it would tell no mass at all."""
    rng = np.random.default_rng(5)
    lines = 400
    signals = np.zeros((lines, 3 + len(EQUATIONS)))  # the third one is idle
    signals[:, 0] = 0.1 * rng.standard_normal(lines)
    signals[:, 1] = 9.81 + 0.3 * rng.standard_normal(lines)
    signals[:, 3 + FY] = 25.0 * rng.standard_normal(lines)
    signals[:, 3 + FZ] = MASS * signals[:, 1] + 100.0 * rng.standard_normal(lines)
    columns = {FY: 0, FZ: 1}
    entries = tuple(Entry(j, 0, columns.get(j, 2)) for j in range(len(EQUATIONS)))
    model: Any = SimpleNamespace(names=('Mc',), entries=entries, signal_count=signals.shape[1])
    information = SpectralInformation(
        (signals.T @ signals)[None], np.array([float(lines)]), lines, 10.0
    )
    used = np.isin(np.arange(len(EQUATIONS)), (FY, FZ))[:, None]
    fit = estimate(CarProblem(model, information), Selection(used, np.array([True])))
    assert fit.value[0] == pytest.approx(MASS, rel=0.02)
