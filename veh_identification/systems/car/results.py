"""The results of a car's identification as files and as a bag for Foxglove and PlotJuggler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import OutputError, atomic_folder
from veh_identification.identification import IdentificationResult, save, to_table
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.car.model import EQUATION_UNITS, EquationModel
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

RECONSTRUCTION_RATE = 50.0
#: The bag of measured and predicted sides in the folder of results.
BAG = 'result'
#: What a folder of results may hold to be replaced by new ones.
OURS = {'parameters.json', 'parameters.csv', 'report.html', BAG}


def write_results(
    folder: Path | str,
    result: IdentificationResult,
    model: EquationModel,
    pieces: tuple[CarSamples, ...],
    report: Callable[[Path], str],
) -> str:
    """parameters.json, parameters.csv, the bag `result` and the report: all of them or none.

    `report` writes into the folder it is given and returns the line to print.
    """
    folder = Path(folder)
    if folder.exists():
        if not folder.is_dir():
            raise OutputError(f'{folder} is a file, expected a folder for the results.')
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in OURS)
        if foreign:
            raise OutputError(
                f'{folder} holds {foreign[0]}, which is no result of an '
                'identification: give another folder.'
            )
    with atomic_folder(folder, overwrite=True) as partial:
        save(result, partial)
        with BagWriter(partial / BAG) as writer:
            stamp = pieces[0].epoch_ns + int(1e9 * pieces[0].stamps[0])
            writer.write_message(
                '/car_identification/parameters', parameters_message(result, stamp), stamp
            )
            for time_ns, message in reconstruction(result, model, pieces):
                writer.write_message('/car_identification/reconstruction', message, time_ns)
        return report(partial)


def parameters_message(result: IdentificationResult, stamp_ns: int) -> Any:
    """veh_identification/ParameterEstimates of a result."""
    spread = result.deviations
    prior = result.a_priori if result.a_priori is not None else np.full(len(result.names), np.nan)
    return messages.new(
        'veh_identification/msg/ParameterEstimates',
        header=messages.header(stamp_ns, 'base_link'),
        system='car',
        estimator=result.estimator,
        parameters=[
            {
                'name': name,
                'unit': result.units[k],
                'value': float(result.value[k]),
                'std': float(spread.std[k]),
                'rel_std_percent': float(spread.rel_std_percent[k]),
                'well_identified': bool(spread.well_identified[k]),
                'excited': bool(np.isfinite(result.value[k])),
                'a_priori': float(prior[k]),
            }
            for k, name in enumerate(result.names)
        ],
        condition_number=float(result.condition_number),
        sample_count=int(result.samples),
        rejected_count=int(result.excluded_samples),
        converged=True,
        advice='',
    )


def reconstruction(
    result: IdentificationResult, model: EquationModel, pieces: tuple[CarSamples, ...]
) -> Iterator[tuple[int, Any]]:
    """Measured and predicted sides of the ten equations, each equation filtered as identified.

    The filters' transients at both ends are left out. An equation that could not be identified
    from has no predicted side.
    """
    value = np.nan_to_num(result.value)
    cutoffs = result.input['cutoff_hz']
    sigma = np.nan_to_num(result.residual_rms, nan=np.nan)
    for piece in pieces:
        step = max(1, round(piece.rate / RECONSTRUCTION_RATE))
        sides = both_sides(model, piece, value)
        margin = 0
        for j, name in enumerate(result.equations):
            low = ZeroPhaseFilter(piece.rate, min(cutoffs[name], 0.45 * piece.rate), 4)
            if len(piece) >= low.minimum_length:
                sides[:, j] = low.apply(sides[:, j])[0]
                margin = max(margin, low.transient)
        sides[:, ~np.isfinite(result.residual_rms), 1] = np.nan
        for k in range(margin, len(piece) - margin, step):
            stamp = piece.epoch_ns + round(1e9 * piece.stamps[k])
            yield (
                stamp,
                messages.new(
                    'veh_identification/msg/Reconstruction',
                    header=messages.header(stamp, 'base_link'),
                    equations=list(result.equations),
                    units=list(EQUATION_UNITS),
                    measured=sides[k, :, 0],
                    predicted=sides[k, :, 1],
                    sigma=sigma,
                ),
            )


def both_sides(model: EquationModel, piece: CarSamples, value: Array) -> Array:
    """Measured and predicted sides (N, 10, 2) of the equations, unfiltered."""
    signals = model.signals(piece)
    sides = np.stack([signals[:, -10:], np.zeros((len(piece), 10))], axis=2)
    for entry in model.entries:
        sides[:, entry.equation, 1] += signals[:, entry.column] * value[entry.parameter]
    return sides


def result_text(result: IdentificationResult) -> str:
    """Findings first, then the table, validation and static mass."""
    parts = []
    for finding in result.extra.get('findings', []):
        mark = 'FOUND' if finding['serious'] else 'note'
        parts.append(f'{mark}: {finding["text"]}')
    parts.append(to_table(result).rstrip('\n'))
    if result.validation is not None:
        parts.append('validation on another recording:')
        parts.append(f'{"equation":<14} {"rms":>10} {"rms/rms(measured)":>18} {"a priori":>10}')
        for name, row in result.validation.as_dict().items():
            numbers = [
                f'{row[key]:.4g}' if row[key] is not None else ''
                for key in ('rms', 'rms_relative', 'a_priori_rms')
            ]
            parts.append(f'{name:<14} {numbers[0]:>10} {numbers[1]:>18} {numbers[2]:>10}')
    static = result.extra.get('static_mass')
    if static is not None:
        parts.append(
            f'static mass of the chassis from wheel loads {static["chassis_weighed"]:.1f}'
            f' kg, identified {static["chassis_identified"]:.1f} kg '
            f'({static["difference_percent"]:+.2f} %)'
        )
    return '\n'.join(parts) + '\n'
