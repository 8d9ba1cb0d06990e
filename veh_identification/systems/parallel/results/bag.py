"""Results as messages of the live node."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.runtime.messages import header, new
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.types import Array


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
