"""Measured and predicted wrenches (Figs. 4 and 5 of document 004), for tables and bags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.identification import Validation
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.estimation import Estimate
from veh_identification.systems.humanoid.problem import Prepared, choose_samples, prepare
from veh_identification.systems.humanoid.processing import Raw

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Wrenches of one recording after the equations' filter, one column set per parameter set."""

    label: str
    stamps_ns: NDArray[np.int64]
    measured: Array  # (N, 6)
    identified: Array  # by the base parameters
    urdf: Array  # by identified.urdf
    a_priori: Array  # by the URDF as it was given

    def validation(self, predicted: Array) -> Validation:
        """Residuals of one prediction beside those of the a-priori values."""
        rms = _rms(self.measured - predicted)
        size = _rms(self.measured)
        with np.errstate(divide='ignore', invalid='ignore'):
            relative = np.where(size > 0.0, rms / size, np.nan)
        return Validation(list(BASE_ROWS), rms, relative, _rms(self.measured - self.a_priori),
                          len(self.measured), 0)


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def validation_rows(estimate: Estimate, raw: Raw) -> Prepared:
    """A recording that was not used, with samples chosen by the identified parameters."""
    problem = estimate.problem
    selection = choose_samples(problem, raw, problem.body_parameters(estimate.value))
    return prepare(problem, raw, estimate.cutoff.cutoff_hz, selection)


def reconstruct(estimate: Estimate, prepared: Prepared, urdf_value: Array) -> Reconstruction:
    """Wrenches of one recording by identified, consistent and a-priori parameters."""
    a_priori = estimate.problem.a_priori
    parts: list[list[Array]] = [[] for _ in range(4)]
    stamps: list[NDArray[np.int64]] = []
    for W, Y, when in prepared.equations.stamped_blocks():
        good = np.isfinite(Y).all(axis=1)
        flat = W[good]
        stamps.append(when[good])
        for part, values in zip(parts, (
                Y[good], *(flat @ x for x in (estimate.value, urdf_value, a_priori))),
                strict=True):
            part.append(values)
    joined = [np.concatenate(part) if part else np.zeros((0, 6)) for part in parts]
    return Reconstruction(prepared.raw.label,
                          np.concatenate(stamps) if stamps else np.zeros(0, dtype=np.int64),
                          *joined)
