"""The tyres as terminal, report and result folder show them."""

from __future__ import annotations

import csv
import io

from veh_identification.findings.numbers import number
from veh_identification.reporting.content import ExtraTable
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.tyres.identify import Tyres
from veh_identification.systems.car.tyres.tir import tir_file

CSV = 'tyres.csv'
HOLDS = 'One tyre of an axle, its two wheels taken as alike; forces in the axes of the contact.'


def text(tyres: Tyres) -> str:
    """For the terminal."""
    rows = [f'tyres:\n{"quantity":<26} {"value":>11} {"sigma":>9}  unit']
    rows += [
        f'{one.name:<26} {number(one.value, 5):>11} {number(one.std, 2):>9}  {one.unit:<6} '
        f'{one.description}{"" if one.told else " (not told by the recording)"}'
        for one in tyres.quantities
    ]
    for axle in tyres.axles:
        rows += [f'note: {axle.name}: {note}' for note in axle.notes]
        if axle.judged:
            rows.append(
                f'validation: {axle.name}: '
                f'{100 * axle.judged["lateral_rms_relative"]:.1f} % of the lateral force is left, '
                f'{100 * axle.judged["lateral_rms_relative_linear"]:.1f} % by stiffness alone'
            )
    return '\n'.join(rows)


def table(tyres: Tyres) -> ExtraTable:
    """For the report."""
    notes = [f'{axle.name}: {note}.' for axle in tyres.axles for note in axle.notes]
    return ExtraTable(
        'Tyres',
        ' '.join([HOLDS, *notes]),
        ('quantity', 'value', 'sigma', 'unit', 'told', 'what it is'),
        tuple(
            (
                one.name,
                one.value,
                one.std,
                one.unit,
                'yes' if one.told else 'no',
                one.description,
            )
            for one in tyres.quantities
        ),
    )


def files(tyres: Tyres, configuration: CarDescription) -> dict[str, bytes]:
    """`tyres.csv` and a `.tir` file of each axle."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    writer.writerow(['quantity', 'value', 'std', 'unit', 'told', 'description'])
    for one in tyres.quantities:
        told = 'yes' if one.told else 'no'
        numbers = [f'{one.value:.9g}', f'{one.std:.4g}']
        writer.writerow([one.name, *numbers, one.unit, told, one.description])
    radius = configuration.geometry.wheel_radius
    return {
        CSV: out.getvalue().encode(),
        **{
            f'tyre_{axle.name}.tir': tir_file(axle, tyres.wheels, radius).encode()
            for axle in tyres.axles
        },
    }
