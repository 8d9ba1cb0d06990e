"""What an identification hands on, whichever model of the car it used."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult, Removal
from veh_identification.identification.result import Solved
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.calibration import Calibration
from veh_identification.systems.car.estimation.weighted import Fit
from veh_identification.systems.car.model import EquationModel
from veh_identification.systems.car.origins import Origin
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array, BoolArray


@dataclass(frozen=True, eq=False)
class Identified:
    """Parameters, what was found on the way, and the equations to show them with."""

    result: IdentificationResult
    findings: tuple[Finding, ...]
    model: EquationModel
    origins: tuple[Origin, ...]  # poses that were used, of every recording
    calibrations: tuple[Calibration, ...] = ()  # what was applied to the recordings
    configuration: CarDescription | None = None  # with what was applied to the newest
    driven: tuple[CarSamples, ...] = ()  # a lively stretch of measured motion
    further: Array = field(default_factory=lambda: np.zeros(0))  # of `model`, beyond the result

    @property
    def value(self) -> Array:
        """Of all parameters of the model; those that are not identified are zero."""
        return np.concatenate([np.nan_to_num(self.result.value), self.further])


def solved(
    fit: Fit, samples: int, equations: BoolArray, parameters: BoolArray, removed: list[Removal]
) -> Solved:
    """A fit of the masked equations and parameters; the others are unknown."""
    covariance = fit.covariance.copy()
    covariance[~parameters, ~parameters] = np.nan
    rms = np.sqrt(fit.residual_squares / samples)
    measured = np.sqrt(fit.measured_squares / samples)
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(equations & (measured > 0.0), rms / measured, np.nan)
    sigma = np.sqrt(np.einsum('bjj->jb', fit.power).mean(axis=1))
    return Solved(
        np.where(parameters, fit.value, np.nan),
        covariance,
        np.where(equations, sigma, np.nan),
        np.where(equations, rms, np.nan),
        relative,
        'weighted',
        samples,
        0,
        fit.condition_number,
        {
            'model': 'power of the residuals per band and pair of equations',
            'lines': fit.lines.tolist(),
        },
        removed,
    )
