"""The checks of `veh-id identify car` on one chunk of a drive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from veh_identification.errors import EstimationError, VehIdError
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.plausibility import check_plausibility
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import (
    CarMethod,
    Gathered,
    all_findings,
    fit_gathered,
    select,
)
from veh_identification.systems.car.recording.reader import CarRecording, sensor_pose


def check_unusable(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Units, signs, axes and geometry of a chunk that could not be prepared."""
    try:
        imu, _ = sensor_pose(configuration.sensors.imu, recording)
    except VehIdError:
        return []  # the preparation of the chunk says so
    return _unlabelled(check_plausibility(recording, configuration, imu), recording.label)


def check_gathered(
    chunk: Gathered, method: CarMethod, configuration: CarDescription, label: str
) -> list[Finding]:
    """Units, missing, swapped, turned, late and wrongly signed sensors, by the chunk alone."""
    alone = replace(chunk, mirrored=[], details=dict(chunk.details))
    try:
        selection, _ = select(alone)
        fit, _ = fit_gathered(alone, method, selection, configuration)
    except EstimationError as error:
        text = f'the sensors cannot be checked against each other: {error}'
        return [Finding('warn', 'not_checked', text)]
    return _unlabelled(all_findings(alone, fit, selection), label)


def _unlabelled(findings: Iterable[Finding], label: str) -> list[Finding]:
    """The same in every chunk, so that it is told once."""
    return [replace(one, where=one.where.removeprefix(label).lstrip()) for one in findings]
