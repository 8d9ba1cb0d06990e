"""Equation (8): regressors and mean forces of several recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.identification import ArrayBlocks
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import (
    measured_pose,
    motion_at,
    motion_of_efforts,
    platform_motion,
)
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.systems.parallel.recording.phases import PhasedForces, binned_sum
from veh_identification.types import Array

#: Raw samples whose regressors are held at once.
CHUNK = 4096
#: Regressor, forces, counts and scatter of one recording.
_Part = tuple[Array, Array, Array, 'Array | None']


def floored(covariance: Array, scale: Array | float) -> Array:
    """Keep noise-free (simulated) channels from getting infinite weight."""
    floor = np.square(1e-9 * np.broadcast_to(np.asarray(scale, float), len(covariance)))
    return covariance + np.diag(floor)


@dataclass(frozen=True)
class Equations:
    """Regressors and mean forces of several recordings, with what stands behind each row."""

    W: list[Array]
    Y: list[Array]
    periods: list[int]
    counts: list[Array]  # (N,) raw samples behind each row, the periods on a grid
    scatter: list[Array | None]  # of regressor and forces about the means, off the grid

    def blocks(self) -> ArrayBlocks:
        """As measured."""
        return ArrayBlocks(np.concatenate(self.W), np.concatenate(self.Y))

    def weighted_blocks(self) -> ArrayBlocks:
        """Rows times sqrt(n / N_m1): the noise of all is that of a mean over N_m1 samples."""
        factor = np.sqrt(np.concatenate(self.counts) / self.periods[0])
        W, Y = np.concatenate(self.W), np.concatenate(self.Y)
        return ArrayBlocks(W * factor[:, None, None], Y * factor[:, None])

    def chi_square(self, p: Array, white: Array) -> float:
        """Squared errors of the mean forces, weighted by their covariance."""
        total = 0.0
        for W, Y, count in zip(self.W, self.Y, self.counts, strict=True):
            error = np.nan_to_num(Y - W @ p) @ white.T
            total += float((count * np.square(error).sum(axis=1)).sum())
        return total

    def force_covariance(self, covariance: Array, p: Array) -> Array:
        """Noise of one raw sample, freed of what the model explains within a sample's width.

        Only recordings off the grid need it; `covariance` stays where none is.
        """
        total, freedom = np.zeros((6, 6)), 0.0
        whole = np.kron(np.eye(6), np.append(-np.asarray(p, float), 1.0))
        for scatter, count in zip(self.scatter, self.counts, strict=True):
            own = float(np.maximum(count - 1.0, 0.0).sum())
            total += own * covariance if scatter is None else whole @ scatter @ whole.T
            freedom += own
        scale = np.sqrt(np.mean([np.nanmean(np.square(Y), axis=0) for Y in self.Y], axis=0))
        return floored(total / freedom, scale)


def equations(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    method: str = 'frequency',
    cutoff_hz: float | None = None,
    poses: Sequence[Array] | None = None,
) -> Equations:
    """Equation (8) for every recording."""
    parts: list[_Part] = []
    for index, record in enumerate(records):
        pose = None if poses is None else poses[index]
        if record.phased is not None and method == 'frequency':
            cutoff = cutoff_hz or harmonics * record.fundamental_hz
            parts.append(_phased_equations(model, record, record.phased, cutoff, pose))
            continue
        motion = platform_motion(model.robot, record, harmonics, method, cutoff_hz, pose)
        motion = motion_of_efforts(record, motion)
        A = model.regressor(motion.pose, motion.velocity, motion.acceleration)
        counts: Array = np.full(record.samples, float(record.periods))
        if record.phased is not None:
            counts = record.phased.counts()
        parts.append((A, record.forces.mean, counts, None))
    return Equations(
        [W for W, *_ in parts],
        [Y for _, Y, *_ in parts],
        [r.periods for r in records],
        [counts for *_, counts, _ in parts],
        [scatter for *_, scatter in parts],
    )


def _phased_equations(
    model: HexapodModel,
    record: PeriodicRecord,
    phased: PhasedForces,
    cutoff: float,
    pose: Array | None,
) -> _Part:
    """Regressor and forces averaged over the same moments; their scatter about the averages."""
    pose = measured_pose(model.robot, record) if pose is None else pose

    def raw() -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Bins and rows [A, Q] (n, 6 (parameters + 1)) of a few thousand samples each."""
        for first in range(0, len(phased.times), CHUNK):
            part = slice(first, first + CHUNK)
            motion = motion_at(record, pose, cutoff, phased.times[part] - record.effort_delay)
            A = model.regressor(motion.pose, motion.velocity, motion.acceleration)
            rows = np.concatenate([A, phased.forces[part, :, None]], axis=2)
            yield phased.bins[part], rows.reshape(len(rows), -1)

    counts, width = phased.counts(), len(model.names) + 1
    total = sum(binned_sum(bins, rows, phased.samples) for bins, rows in raw())
    mean = np.asarray(total) / np.maximum(counts, 1.0)[:, None]
    scatter = np.zeros((6 * width, 6 * width))
    for bins, rows in raw():
        deviation = rows - mean[bins]
        scatter += deviation.T @ deviation
    mean[counts == 0.0] = np.nan
    rows = mean.reshape(-1, 6, width)
    return rows[:, :, :-1], rows[:, :, -1], counts, scatter
