"""The engineer's sheet: every quantity with its unit, deviation and what it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.findings.numbers import number
from veh_identification.identification import IdentificationResult
from veh_identification.reporting.content import ExtraTable
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import NAMES, scales
from veh_identification.systems.car.sheet.handling import Handling
from veh_identification.systems.car.sheet.meaning import MEANING, TERMS
from veh_identification.systems.car.sheet.quantities import Car, quantities
from veh_identification.types import Array


@dataclass(frozen=True)
class Line:
    """One quantity of the sheet."""

    name: str
    value: float
    std: float
    unit: str
    description: str


@dataclass(frozen=True)
class Sheet:
    """The lines, and what the sheet lacks with the reason."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    holds: str = 'Level ground, tyres taken as rigid.'

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'quantities': [
                {
                    'name': one.name,
                    'unit': one.unit,
                    'value': one.value,
                    'std': one.std,
                    'description': one.description,
                }
                for one in self.lines
            ],
            'notes': list(self.notes),
        }

    def csv(self) -> str:
        """One line per quantity, with unit and the terms of simulation programs."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator='\n')
        writer.writerow(['quantity', 'value', 'std', 'unit', 'description', 'also called'])
        for one in self.lines:
            numbers = [f'{one.value:.9g}', f'{one.std:.4g}']
            writer.writerow([one.name, *numbers, one.unit, one.description, TERMS.get(one.name)])
        return text.getvalue()

    def text(self) -> str:
        """For the terminal."""
        rows = [f"engineer's sheet:\n{'quantity':<22} {'value':>11} {'sigma':>9}  unit"]
        rows += [
            f'{one.name:<22} {number(one.value, 5):>11} {number(one.std, 2):>9}  {one.unit:<11} '
            f'{one.description}'
            for one in self.lines
        ]
        return '\n'.join([*rows, *(f'note: {one}' for one in self.notes)])

    def table(self) -> ExtraTable:
        """For the report."""
        return ExtraTable(
            "Engineer's sheet",
            ' '.join((self.holds, *self.notes)),
            ('quantity', 'value', 'sigma', 'unit', 'what it is'),
            tuple((one.name, one.value, one.std, one.unit, one.description) for one in self.lines),
        )


def engineers_sheet(
    result: IdentificationResult, configuration: CarDescription, found: Handling | None = None
) -> Sheet | None:
    """The sheet of a result under the names of Venture 2006; None where parameters are missing."""
    wanted = [name for name in NAMES if name != 'Cx']
    if any(name not in result.names for name in wanted):
        return None
    places = [result.index(name) for name in wanted]
    value, covariance = result.value[places], result.covariance[np.ix_(places, places)]
    if not np.isfinite(value).all() or not np.isfinite(covariance).all():
        return None
    car, notes = known_car(configuration)

    def of(vector: Array) -> dict[str, float]:
        return quantities(dict(zip(wanted, vector.tolist(), strict=True)), car)

    try:
        middle, gradient = propagated(of, value, 1e-5 * scales(tuple(wanted)))
    except np.linalg.LinAlgError:
        return None
    spread = np.sqrt(np.maximum(np.einsum('qi,ij,qj->q', gradient, covariance, gradient), 0.0))
    lines = [
        Line(name, one, float(std), *MEANING[name])
        for (name, one), std in zip(middle.items(), spread, strict=True)
    ]
    if found is None:
        notes.append(
            'no understeer gradient: the recordings do not corner enough, or speed or steering '
            'is missing'
        )
    else:
        lines += _handling(found, middle, car.gravity)
    return Sheet(tuple(lines), tuple(notes))


def known_car(configuration: CarDescription) -> tuple[Car, list[str]]:
    """Geometry, and what the description gives of wheels and tyres; what it does not give."""
    document = configuration.document

    def given(*path: str) -> bool:
        return document is not None and document.find(path) is not None

    wheel = configuration.wheel.mass if given('wheel', 'mass') else None
    tyre = configuration.tyre.stiffness if given('tyre', 'stiffness') else None
    notes = []
    if wheel is None:
        notes.append(
            'wheels are not in the masses and loads: what is beyond the wheel sensors is not '
            'measured (give wheel.mass in the description)'
        )
    if wheel is None or tyre is None:
        notes.append('no wheel hop: give wheel.mass and tyre.stiffness in the description for it')
    return Car(configuration.geometry, configuration.gravity, wheel, tyre), notes


def propagated(function: Any, value: Array, steps: Array) -> tuple[dict[str, float], Array]:
    """A function's values and its derivatives (quantities, parameters), by central differences."""
    middle = function(value)
    gradient = np.empty((len(middle), len(value)))
    for k, step in enumerate(steps):
        move = np.zeros(len(value))
        move[k] = step
        above, below = function(value + move), function(value - move)
        gradient[:, k] = [(above[name] - below[name]) / (2.0 * step) for name in middle]
    return middle, gradient


def _handling(found: Handling, middle: dict[str, float], gravity: float) -> Sequence[Line]:
    """Axle cornering stiffnesses and the understeer gradient of the linear single-track car."""
    front, rear, toe = found.value
    masses = np.array([middle['load_front'], middle['load_rear']]) / gravity
    # Axle compliances, and the toe that the rear wheels take when the car rolls.
    gradient = masses[0] / front - masses[1] / rear + toe
    slope = np.array([-masses[0] / front**2, masses[1] / rear**2, 1.0])
    std = float(np.sqrt(slope @ found.covariance @ slope))
    degrees = float(np.degrees(1.0)) * 9.80665
    values = {
        'cornering_front': (front, np.sqrt(found.covariance[0, 0])),
        'cornering_rear': (rear, np.sqrt(found.covariance[1, 1])),
        'understeer_gradient': (degrees * gradient, degrees * std),
    }
    return [
        Line(name, float(one), float(sigma), *MEANING[name])
        for name, (one, sigma) in values.items()
    ]
