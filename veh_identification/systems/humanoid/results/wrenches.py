"""Measured and predicted wrenches of a recording (Figs. 4 and 5 of Ayusawa 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from veh_identification.identification import Validation
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.estimation.estimate import Estimate
from veh_identification.systems.humanoid.estimation.offsets import OFFSET_SCALES
from veh_identification.systems.humanoid.estimation.problem import (
    Prepared,
    choose_samples,
    prepare,
)
from veh_identification.systems.humanoid.processing.equations import MOTION_SCALE
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.types import Array, IntArray

# Times the usual size (0.3 % of the load): smaller ones may as well be errors of the model.
LARGE = 5.0
Offsets = Literal['identified', 'none', 'own']
IDENTIFIED: Offsets = 'identified'
NONE: Offsets = 'none'
OWN: Offsets = 'own'


@dataclass(frozen=True, eq=False)
class Wrenches:
    """Both sides of the equations after their filter, predicted by three sets of parameters."""

    label: str
    stamps_ns: IntArray
    measured: Array  # (N, 6)
    identified: Array  # by the base parameters
    urdf: Array  # by identified.urdf
    a_priori: Array  # by the URDF as it was given
    offsets: Offsets = 'identified'  # which ones of the wrench sensors were taken
    weight: float = 1.0  # that it shows over the identified one, before that

    def validation(self, predicted: Array) -> Validation:
        """Residuals of one prediction beside those of the a-priori values."""
        rms = _rms(self.measured - predicted)
        size = _rms(self.measured)
        with np.errstate(divide='ignore', invalid='ignore'):
            relative = np.where(size > 0.0, rms / size, np.nan)
        return Validation(
            list(BASE_ROWS),
            rms,
            relative,
            _rms(self.measured - self.a_priori),
            len(self.measured),
            0,
        )


def joined(parts: Sequence[Wrenches]) -> Wrenches:
    """Several recordings one after the other."""
    return Wrenches(
        ', '.join(one.label for one in parts),
        np.concatenate([one.stamps_ns for one in parts]),
        np.concatenate([one.measured for one in parts]),
        np.concatenate([one.identified for one in parts]),
        np.concatenate([one.urdf for one in parts]),
        np.concatenate([one.a_priori for one in parts]),
    )


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def validation_rows(estimate: Estimate, raw: Raw) -> Prepared:
    """A recording that was not used, with samples chosen by the identified parameters."""
    problem = estimate.problem
    selection = choose_samples(problem, raw, problem.body_parameters(estimate.as_measured))
    return prepare(problem, raw, estimate.cutoff.cutoff_hz, selection)


def reconstruct(estimate: Estimate, prepared: Prepared, urdf_value: Array) -> Wrenches:
    """Wrenches of one recording by identified, consistent and a-priori parameters.

    Offsets belong to the day they were found on. In another recording they are used only if the
    identified parameters fit better with them; where offsets must be large there, those of that
    recording are taken off, by each parameter set as it sees them. `urdf_value` is that of a file.
    """
    names = estimate.problem.names
    # No file holds the scale of the motion.
    urdf_value = np.where([name == MOTION_SCALE for name in names], 0.0, urdf_value)
    offset = np.array(['.offset' in name for name in names])
    as_found = (estimate.value, urdf_value, estimate.problem.a_priori)
    without = tuple(np.where(offset, 0.0, value) for value in as_found)
    stamps, measured, predicted = _predicted(prepared, [*as_found, *without])
    chosen, offsets = predicted[:3], IDENTIFIED
    if not any(prepared.raw.label == one.raw.label for one in estimate.prepared) and len(stamps):
        sigma = estimate.evidence.sigma
        costs = [float(np.sum(np.square((measured - predicted[k]) / sigma))) for k in (0, 3)]
        own = _own_offsets(estimate, prepared, measured, predicted[3:])
        if own is not None:
            chosen, offsets = own, OWN
        elif costs[1] < costs[0]:
            chosen, offsets = predicted[3:], NONE
    return Wrenches(
        prepared.raw.label,
        stamps,
        measured,
        chosen[0],
        chosen[1],
        chosen[2],
        offsets,
        _weight_shown(measured, predicted[1]),
    )


def _weight_shown(measured: Array, predicted: Array) -> float:
    """Measured over predicted force; the accelerations are in both."""
    if not len(measured):
        return 1.0
    along = np.sum(measured[:, :3] * predicted[:, :3], axis=1)
    # The median leaves moments alone at which something else carries a part.
    return float(np.median(along / np.sum(predicted[:, :3] ** 2, axis=1)))


def _own_offsets(
    estimate: Estimate, prepared: Prepared, measured: Array, predicted: list[Array]
) -> list[Array] | None:
    """Predictions with offsets fitted to each, if those of the first one are large."""
    problem, sigma = estimate.problem, estimate.evidence.sigma
    which = [k for k, name in enumerate(problem.names) if '.offset.' in name]
    if not which:
        return None
    sources = tuple(replace(source, tared=False) for source in problem.unknowns.sources)
    unknowns = replace(problem.unknowns, sources=sources, offset_scale=1.0, weighed=False)
    weight = problem.prior.load * float(problem.prior.mass.sum()) * problem.configuration.gravity
    usual = np.sqrt(np.diag(unknowns.covariance(weight)))[np.array(which) - problem.base.rank]
    blocks = [W[np.isfinite(Y).all(axis=1)][:, :, which] for W, Y in prepared.equations.blocks()]
    columns = np.concatenate(blocks)
    rows = (columns / sigma[:, None]).reshape(-1, len(which))
    information = rows.T @ rows + np.diag(1.0 / np.square(OFFSET_SCALES[1] * usual))
    found = [
        np.linalg.solve(information, rows.T @ ((measured - one) / sigma).ravel())
        for one in predicted
    ]
    if not np.any(np.abs(found[0]) > LARGE * usual):
        return None
    return [one + columns @ offsets for one, offsets in zip(predicted, found, strict=True)]


def _predicted(prepared: Prepared, values: list[Array]) -> tuple[IntArray, Array, list[Array]]:
    """Stamps, measured wrenches, and those of every set of values."""
    parts: list[list[Array]] = [[] for _ in range(1 + len(values))]
    stamps: list[IntArray] = []
    for W, Y, when in prepared.equations.stamped_blocks():
        good = np.isfinite(Y).all(axis=1)
        flat = W[good]
        stamps.append(when[good])
        for part, rows in zip(parts, (Y[good], *(flat @ x for x in values)), strict=True):
            part.append(rows)
    joined = [np.concatenate(part) if part else np.zeros((0, 6)) for part in parts]
    return (
        np.concatenate(stamps) if stamps else np.zeros(0, dtype=np.int64),
        joined[0],
        joined[1:],
    )
