"""Results as messages, and as an mcap recording that Foxglove and PlotJuggler open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import header, new
from veh_identification.runtime.qos import LATCHED
from veh_identification.systems.parallel.estimation.likelihood import Equations
from veh_identification.systems.parallel.estimation.validation import HeldOut
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.processing import PeriodicRecord
from veh_identification.types import Array

PARAMETERS = 'parallel_identification/parameters'
RECONSTRUCTION = 'parallel_identification/reconstruction'
VALIDATION = 'parallel_identification/validation'


def parameters_message(
    result: IdentificationResult,
    stamp_ns: int,
    *,
    rejected: int = 0,
    converged: bool = True,
    advice: str = '',
) -> Any:
    """veh_identification/msg/ParameterEstimates."""
    spread = result.deviations
    a_priori = result.a_priori if result.a_priori is not None else np.full(len(spread.std), np.nan)
    return new(
        'veh_identification/msg/ParameterEstimates',
        header=header(stamp_ns),
        system='parallel',
        estimator=result.estimator,
        parameters=[
            {
                'name': name,
                'unit': result.units[i],
                'value': float(result.value[i]),
                'std': float(spread.std[i]),
                'rel_std_percent': float(spread.rel_std_percent[i]),
                'well_identified': bool(spread.well_identified[i]),
                'excited': name not in result.unexcited,
                'a_priori': float(a_priori[i]),
            }
            for i, name in enumerate(result.names)
        ],
        condition_number=float(result.condition_number),
        sample_count=result.samples,
        rejected_count=rejected,
        converged=converged,
        advice=advice,
    )


def reconstruction_message(stamp_ns: int, measured: Array, predicted: Array, sigma: Array) -> Any:
    """veh_identification/msg/Reconstruction of the six actuators."""
    return new(
        'veh_identification/msg/Reconstruction',
        header=header(int(stamp_ns)),
        equations=list(LEGS),
        units=['N'] * 6,
        measured=measured,
        predicted=predicted,
        sigma=sigma,
    )


def write_result_bag(
    path: Path,
    result: IdentificationResult,
    records: Sequence[PeriodicRecord],
    system: Equations,
    validation: HeldOut | None,
    validation_regressor: Array | None = None,
) -> None:
    """Parameters once, measured and predicted forces of each mean period, then validation."""
    p = result.value[:-1]  # without the cut-off
    with BagWriter(path) as writer:
        first = min(int(r.start_ns) for r in records)
        message = parameters_message(result, first)
        writer.write_message(PARAMETERS, message, first, qos=LATCHED)
        for record, W, Y in zip(records, system.W, system.Y, strict=True):
            _series(writer, RECONSTRUCTION, record.stamps_ns(), Y, W @ p, result.sigma)
        if validation is not None and validation_regressor is not None:
            unknown = np.full(6, np.nan)
            _series(
                writer,
                VALIDATION,
                validation.stamps_ns,
                validation.forces,
                validation_regressor @ p,
                unknown,
            )


def _series(
    writer: BagWriter,
    topic: str,
    stamps: Any,
    measured: Array,
    predicted: Array,
    sigma: Array,
) -> None:
    known = np.isfinite(measured).all(axis=1)
    rows = zip(stamps[known], measured[known], predicted[known], strict=True)
    for stamp, one, other in rows:
        message = reconstruction_message(int(stamp), one, other, sigma)
        writer.write_message(topic, message, int(stamp))
