"""A recording that was not used: regressor and forces, whatever its motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from veh_identification.errors import SignalError
from veh_identification.identification import ArrayBlocks, Validation, validate
from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import TimeSeries, ZeroPhaseFilter, clean, uniform
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.systems.parallel.estimation.likelihood import maximum_likelihood
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.kinematics import direct_kinematics
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import PlatformMotion
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.systems.parallel.recording.reader import periodic_record
from veh_identification.types import Array

#: Cut-off for motions that do not repeat.
FREE_CUTOFF_HZ = 10.0
HARMONICS = 5


@dataclass(frozen=True)
class ValidationData:
    """Motion and forces of a validation recording."""

    source: str
    forces: Array
    stamps_ns: NDArray[np.int64]
    periods: int  # zero: the motion does not repeat
    processing: str
    cutoff_hz: float
    motion: PlatformMotion | None = None  # of a motion that does not repeat
    record: PeriodicRecord | None = None  # of one that does

    def noise(self, covariance: Array) -> Array:
        """rms of the noise in `forces` (6,); `covariance` is that of one sample, where unknown."""
        if self.record is not None:
            covariance = self.record.forces.covariance / self.record.periods
        return np.sqrt(np.diag(covariance))

    def description(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'bag': self.source,
            'periods': self.periods,
            'samples': len(self.forces),
            'processing': self.processing,
            'cutoff_hz': self.cutoff_hz,
        }


def validation_data(
    robot: Hexapod, series: TimeSeries, effort_delay: float = 0.0
) -> ValidationData:
    """A validation recording: periods are averaged where the motion repeats.

    Its efforts are as late [s] as those of the identification.
    """
    try:
        record = replace(periodic_record(series, None, HARMONICS), effort_delay=effort_delay)
    except SignalError:
        return _free(robot, series, effort_delay)
    # The cut-off follows from this recording alone, not from the parameters to be judged.
    likelihood = maximum_likelihood(HexapodModel(robot), [record], HARMONICS)
    return ValidationData(
        series.label,
        record.forces.mean,
        record.stamps_ns(),
        record.periods,
        'frequency',
        likelihood.cutoff_hz,
        record=record,
    )


def _free(robot: Hexapod, series: TimeSeries, effort_delay: float) -> ValidationData:
    """Zero-phase filtering of the pose; forces stay as measured, at their own stamps."""
    cleaned, _ = clean(series)
    grid = uniform(cleaned)
    lengths, valid = grid.values[0][:, :6], grid.valid[:, 0]
    pose = np.full((len(lengths), 6), np.nan)
    pose[valid] = direct_kinematics(robot, lengths[valid])
    low_pass = ZeroPhaseFilter(grid.rate, FREE_CUTOFF_HZ, label=f'{series.label}, pose')
    d = low_pass.derivatives(pose, valid)
    known = d.valid & valid
    stamps = cleaned.stamps + (cleaned.epoch_ns - grid.epoch_ns) * 1e-9
    filtered = np.concatenate([d.position, d.velocity, d.acceleration], axis=1)[known]
    if len(filtered) < 2:
        raise SignalError(f'{series.label}: too short for a validation')
    # The filtered motion is smooth: it may be interpolated, unlike the forces.
    moments = stamps - effort_delay
    use = _surrounded(moments, grid.stamps[known], 1.5 / grid.rate)
    if not use.any():
        raise SignalError(f'{series.label}: too short for a validation')
    x, x_dot, x_ddot = np.split(CubicSpline(grid.stamps[known], filtered)(moments[use]), 3, axis=1)
    motion = PlatformMotion(x, *pose_rates(x, x_dot, x_ddot), 'zero-phase', FREE_CUTOFF_HZ)
    return ValidationData(
        series.label,
        cleaned.values[use, 6:],
        cleaned.stamps_ns()[use],
        0,
        'zero-phase',
        FREE_CUTOFF_HZ,
        motion=motion,
    )


def _surrounded(stamps: Array, known: Array, width: float) -> NDArray[np.bool_]:
    """Stamps that lie between two neighbouring known ones, not in a gap."""
    after = np.clip(np.searchsorted(known, stamps), 1, len(known) - 1)
    inside = (stamps >= known[0]) & (stamps <= known[-1])
    return np.asarray(inside & (known[after] - known[after - 1] < width))


def validate_model(
    model: HexapodModel, data: ValidationData, regressor: Array, parameters: Array
) -> Validation:
    """Measured against predicted forces, beside the a-priori model."""
    return validate(ArrayBlocks(regressor, data.forces), parameters, LEGS, model.a_priori())


def validation_regressor(model: HexapodModel, data: ValidationData) -> Array:
    """A(x, v, a) of the validation motion."""
    if data.record is not None:
        return equations(model, [data.record], HARMONICS, cutoff_hz=data.cutoff_hz).W[0]
    motion = data.motion
    assert motion is not None
    return model.regressor(motion.pose, motion.velocity, motion.acceleration)
