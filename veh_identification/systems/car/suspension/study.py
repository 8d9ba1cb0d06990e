"""The curves of springs and dampers as terminal, report and result folder show them."""

from __future__ import annotations

import csv
import io

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import number
from veh_identification.reporting.content import CurveFigure, CurvePanel, ExtraTable
from veh_identification.systems.car.suspension.curves import Curve, Curves

CSV = 'suspension_curves.csv'
#: Places of a curve that the table of the report shows, from end to end.
SHOWN = 9
UNITS = {'damper': 'm/s', 'spring': 'm'}
ALONG = {'damper': 'speed', 'spring': 'travel'}
HOLDS = {'damper': 'with their dry friction', 'spring': 'without their offset'}


def text(found: Curves) -> str:
    """For the terminal."""
    if not found.bent:
        return (
            'suspension curves: springs and dampers are straight lines as far as the recording '
            'tells'
        )
    rows = ['suspension curves (mean slopes; the lines k and h stay in the table):']
    for one in found.bent:
        bump, rebound = one.slopes
        knots = ', '.join(number(hinge.knot, 2) for hinge in one.hinges)
        rows.append(
            f'{one.kind} {one.corner}: {number(bump, 4)} in compression, {number(rebound, 4)} in '
            f'extension, N per {UNITS[one.kind]}; slope changes at {knots} {UNITS[one.kind]}'
        )
    return '\n'.join(rows)


def table(found: Curves) -> ExtraTable:
    """For the report: the curves that bend, from end to end of what was driven."""
    rows: list[tuple[str | float, ...]] = []
    for one in found.bent:
        for k in np.linspace(0, len(one.along) - 1, SHOWN).astype(int).tolist():
            values = (one.along[k], one.force[k], one.std[k], one.linear[k])
            rows.append((f'{one.kind} {one.corner}', *(float(value) for value in values)))
    caption = (
        'Force over speed (dampers with their dry friction, m/s) or travel (springs without the '
        'offset, m), positive in compression, with its standard deviation; beside it the straight '
        'line. Only curves that the equations ask for are listed.'
    )
    return ExtraTable(
        'Suspension curves', caption, ('curve', 'along', 'force', 'sigma', 'straight'), tuple(rows)
    )


def figures(found: Curves) -> tuple[CurveFigure, ...]:
    """For the report: all dampers and all springs, over what was driven."""
    return tuple(
        CurveFigure(
            f'{kind.capitalize()}s, {HOLDS[kind]}',
            'Positive in compression. A curve that lies on its straight line is one that the '
            'equations ask no bends for.',
            f'{ALONG[kind]} [{UNITS[kind]}]',
            'force [N]',
            tuple(
                CurvePanel(one.corner, one.along, one.force, one.std, one.linear)
                for one in found.curves
                if one.kind == kind
            ),
        )
        for kind in UNITS
    )


def files(found: Curves) -> dict[str, bytes]:
    """All curves as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    writer.writerow(['corner', 'kind', 'along', 'unit', 'force_N', 'std_N', 'straight_N'])
    for one in found.curves:
        for row in zip(one.along, one.force, one.std, one.linear, strict=True):
            along, *forces = (f'{value:.6g}' for value in row)
            writer.writerow([one.corner, one.kind, along, UNITS[one.kind], *forces])
    return {CSV: out.getvalue().encode()}


def findings(found: Curves) -> tuple[Finding, ...]:
    """That k and h are lines through curves."""
    if not found.bent:
        return ()
    return (
        Finding(
            'note',
            'suspension_curved',
            f'{_listed(found.bent)}: no straight lines; k and h are those of the line through '
            f'what was driven, the curves stand in {CSV} and in the report',
            'suspension',
        ),
    )


def _listed(curves: list[Curve]) -> str:
    return ', '.join(f'{one.kind} {one.corner}' for one in curves)
