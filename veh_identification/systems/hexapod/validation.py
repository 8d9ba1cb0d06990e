"""A recording that was not used: regressor and forces, whatever its motion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import SignalError
from veh_identification.identification import ArrayBlocks, Validation, validate
from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import TimeSeries, ZeroPhaseFilter, clean, uniform
from veh_identification.systems.hexapod.estimation import maximum_likelihood
from veh_identification.systems.hexapod.geometry import LEGS, FloatArray, Hexapod
from veh_identification.systems.hexapod.kinematics import direct_kinematics
from veh_identification.systems.hexapod.model import HexapodModel
from veh_identification.systems.hexapod.processing import PlatformMotion, platform_motion
from veh_identification.systems.hexapod.recording import TOPIC, periodic_record, read_legs

#: Cut-off for motions that do not repeat.
FREE_CUTOFF_HZ = 10.0
HARMONICS = 5


@dataclass(frozen=True)
class HeldOut:
    """Motion and mean forces of a validation recording."""

    source: str
    motion: PlatformMotion
    forces: FloatArray
    stamps_ns: np.ndarray
    periods: int  # zero: the motion does not repeat

    def description(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'bag': self.source,
            'periods': self.periods,
            'samples': len(self.forces),
            'processing': self.motion.method,
            'cutoff_hz': self.motion.cutoff_hz,
        }


def held_out(robot: Hexapod, bag: str | Path, topic: str = TOPIC) -> HeldOut:
    """Read a validation recording: periods are averaged where the motion repeats."""
    series = read_legs(bag, topic)
    try:
        record = periodic_record(series, None, HARMONICS)
    except SignalError:
        return _free(robot, series)
    # The cut-off follows from this recording alone, not from the parameters to be judged.
    likelihood = maximum_likelihood(HexapodModel(robot), [record], HARMONICS)
    motion = platform_motion(robot, record, HARMONICS, 'frequency', likelihood.cutoff_hz)
    return HeldOut(
        series.label, motion, record.forces.mean, record.stamps_ns(), record.periods
    )


def _free(robot: Hexapod, series: TimeSeries) -> HeldOut:
    """Zero-phase filtering of the pose; forces stay as measured."""
    cleaned, _ = clean(series)
    grid = uniform(cleaned)
    values, valid = grid.values[0], grid.valid[:, 0]
    pose = np.full((len(values), 6), np.nan)
    pose[valid] = direct_kinematics(robot, values[valid, :6])
    low_pass = ZeroPhaseFilter(grid.rate, FREE_CUTOFF_HZ, label=f'{series.label}, pose')
    d = low_pass.derivatives(pose, valid)
    use = d.valid & valid
    velocity, acceleration = pose_rates(d.position[use], d.velocity[use], d.acceleration[use])
    motion = PlatformMotion(
        d.position[use], velocity, acceleration, 'zero-phase', FREE_CUTOFF_HZ
    )
    stamps = grid.epoch_ns + np.rint(grid.stamps[use] * 1e9).astype(np.int64)
    return HeldOut(series.label, motion, values[use, 6:], stamps, 0)


def validate_model(model: HexapodModel, data: HeldOut, parameters: FloatArray) -> Validation:
    """Measured against predicted forces, beside the a-priori model."""
    blocks = ArrayBlocks(predicting_regressor(model, data), data.forces)
    return validate(blocks, parameters, LEGS, model.a_priori())


def predicting_regressor(model: HexapodModel, data: HeldOut) -> FloatArray:
    """A(x, v, a) of the validation motion."""
    motion = data.motion
    return model.regressor(motion.pose, motion.velocity, motion.acceleration)
