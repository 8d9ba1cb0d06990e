"""Deviations that an identification will have, from the Gram matrices of a short trial drive.

A drive of m times the length has m times the Gram matrices and lines of the trial: solving with
those is the identification of the longer run, weights, shared noise and constant sensor errors
included. So noise falls with the square root of the time, and what constant errors leave does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.gathering import (
    CarMethod,
    Gathered,
    gather_recordings,
)
from veh_identification.systems.car.estimation.identify import fit_gathered, select
from veh_identification.systems.car.estimation.offsets import offset_sizes
from veh_identification.systems.car.processing.cutoffs import widest
from veh_identification.systems.car.processing.spectral import BAND_HZ, SpectralInformation
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

#: Seconds after which only constant errors of the sensors are left.
FOR_EVER = 1e6


def trial_information(
    recording: CarRecording, configuration: CarDescription, method: CarMethod
) -> Gathered:
    """What a trial says, without the bands that no equation uses."""
    gathered = gather_recordings([recording], configuration, method)
    top = max(gathered.cutoffs.hertz.values())
    bands = int(np.ceil(top / BAND_HZ)) + 1
    return replace(
        gathered,
        information=_shortened(gathered.information, bands),
        mirrored=[_shortened(one, bands) for one in gathered.mirrored],
    )


def _shortened(information: SpectralInformation, bands: int) -> SpectralInformation:
    return replace(
        information, grams=information.grams[:bands].copy(), rows=information.rows[:bands]
    )


def repeated(information: SpectralInformation, times: float) -> SpectralInformation:
    """The same driving `times` as long."""
    return SpectralInformation(
        times * information.grams,
        times * information.rows,
        max(1, round(times * information.samples)),
        times * information.seconds,
    )


def deviations_after(
    trials: Sequence[Gathered],
    seconds: Sequence[float],
    configuration: CarDescription,
    method: CarMethod,
) -> Array:
    """Standard deviations of all parameters after the given seconds of each kind of driving."""
    total: Gathered | None = None
    for trial, length in zip(trials, seconds, strict=True):
        times = length / trial.information.seconds
        one = replace(
            trial,
            information=repeated(trial.information, times),
            mirrored=[repeated(two, times) for two in trial.mirrored],
            details=dict(trial.details),
        )
        total = one if total is None else _together(total, one)
    assert total is not None
    selection, _ = select(total)
    fit, _ = fit_gathered(total, method, selection, configuration)
    told = len(total.model.told)
    std = np.sqrt(np.diag(fit.first(told).covariance))
    return np.where(selection.parameters[:told], std, np.inf)


def _together(a: Gathered, b: Gathered) -> Gathered:
    pairs = zip(a.mirrored, b.mirrored, strict=True)
    return replace(
        a,
        information=a.information + b.information,
        mirrored=[one + two for one, two in pairs],
        cutoffs=widest([a.cutoffs, b.cutoffs]),
        usable=a.usable & b.usable,
    )


def judged_offsets(
    trials: Sequence[Gathered], configuration: CarDescription, method: CarMethod
) -> tuple[CarDescription, float | None]:
    """Constant errors of the sensors as the identification judges them from such recordings.

    One and the same size serves all candidates, so that chance does not rank them. Sensors whose
    offset the configuration gives are left as they are.
    """
    sensors = configuration.sensors
    stated, usual = offset_sizes(configuration)
    if not any(usual):
        return configuration, None
    scales = []
    for trial in trials:
        one = replace(trial, details=dict(trial.details))
        fit_gathered(one, method, select(one)[0], configuration)
        scales.append(float(one.details.get('offset_scale', 1.0)))
    scale = float(np.median(scales))
    accelerometer, force, moment, travel = (
        known + scale * size for known, size in zip(stated, usual, strict=True)
    )
    described = replace(
        sensors,
        imu=replace(sensors.imu, offset=(0.0, accelerometer)),
        wheel_force=replace(sensors.wheel_force, offset=(force, moment)),
        suspension=replace(sensors.suspension, offset=(travel,)),
    )
    return replace(configuration, sensors=described), scale
