"""Trials with the hexapod of Abdellatif 2009: noisy periods, estimates, the circle that judges."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.simulation.parallel.scenarios import (
    HexapodSensors,
    PeriodicRun,
    circle,
    exact_run,
    true_parameters,
)
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.recording.mean_period import (
    PeriodicRecord,
    average_record,
)
from veh_identification.types import Array

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()
TRUTH = true_parameters(MODEL)
SENSORS = HexapodSensors()
RATE, PERIODS, HARMONICS = 500.0, 10, 5


def record(run: PeriodicRun, seed: int) -> PeriodicRecord:
    """Ten noisy periods, averaged."""
    count = len(run.times)
    q, Q = run.repeated(PERIODS * count, SENSORS, np.random.default_rng(seed))
    return average_record(q, Q, count, run.trajectory.fundamental_hz)


def fit(
    data: PeriodicRecord, method: str = 'frequency', cutoff: float | None = None
) -> IdentificationResult:
    """Gauss-Markov."""
    system = equations(MODEL, [data], HARMONICS, method, cutoff)
    return gauss_markov(MODEL, system, pooled_force_covariance([data]), noise='white')


class Circle:
    """The benchmark motion that no identification sees."""

    def __init__(self) -> None:
        exact = exact_run(MODEL, circle(CONFIGURATION), RATE)
        self.W = MODEL.regressor(exact.pose, exact.velocity, exact.acceleration)
        self.times, self.forces = exact.times, exact.forces

    def error(self, value: Any) -> Array:
        """Exact minus predicted forces (N, 6), N."""
        return np.asarray(self.forces - self.W @ value)

    def variance(self, value: Any) -> float:
        """Mean square of the prediction error against the exact forces, N^2."""
        return float(np.square(self.error(value)).mean())
