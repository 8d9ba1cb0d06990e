"""Results as an mcap recording that Foxglove and PlotJuggler open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import header, new
from veh_identification.runtime.qos import LATCHED
from veh_identification.systems.humanoid.results.reconstruction import Reconstruction
from veh_identification.types import Array

PARAMETERS = 'contact_identification/parameters'
RECONSTRUCTION = 'contact_identification/reconstruction'
URDF_RECONSTRUCTION = 'contact_identification/reconstruction_urdf'
A_PRIORI_RECONSTRUCTION = 'contact_identification/reconstruction_a_priori'
UNITS = ('N',) * 3 + ('N m',) * 3


def parameters_message(result: IdentificationResult, stamp_ns: int) -> Any:
    """veh_identification/msg/ParameterEstimates."""
    spread = result.deviations
    a_priori = result.a_priori if result.a_priori is not None else np.full(len(spread.std), np.nan)
    return new(
        'veh_identification/msg/ParameterEstimates',
        header=header(stamp_ns),
        system='humanoid',
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
        rejected_count=result.excluded_samples,
        converged=True,
        advice='',
    )


def write_result_bag(
    path: Path,
    result: IdentificationResult,
    recordings: Sequence[Reconstruction],
    validation: Reconstruction | None,
) -> None:
    """Parameters once; measured and predicted wrenches of every recording, then validation."""
    with BagWriter(path) as writer:
        first = min((int(one.stamps_ns[0]) for one in recordings if len(one.stamps_ns)), default=0)
        writer.write_message(PARAMETERS, parameters_message(result, first), first, qos=LATCHED)
        for one in recordings:
            _series(writer, '', one, result.sigma)
        if validation is not None:
            _series(writer, 'validation/', validation, np.full(6, np.nan))


def _series(writer: BagWriter, prefix: str, one: Reconstruction, sigma: Array) -> None:
    for topic, predicted in (
        (RECONSTRUCTION, one.identified),
        (URDF_RECONSTRUCTION, one.urdf),
        (A_PRIORI_RECONSTRUCTION, one.a_priori),
    ):
        for stamp, measured, other in zip(one.stamps_ns, one.measured, predicted, strict=True):
            writer.write_message(
                f'{prefix}{topic}',
                new(
                    'veh_identification/msg/Reconstruction',
                    header=header(int(stamp), 'base_link'),
                    equations=list(BASE_ROWS),
                    units=list(UNITS),
                    measured=measured,
                    predicted=other,
                    sigma=sigma,
                ),
                int(stamp),
            )
