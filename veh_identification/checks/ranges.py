"""What values a quantity of a machine can have, and in which unit one that cannot may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.checks.relations import Suspect
from veh_identification.findings import Finding
from veh_identification.types import Array

#: Share of the samples whose size counts: single spikes are no units.
QUANTILE = 0.99


@dataclass(frozen=True)
class Quantity:
    """Unit, the largest size that occurs, and units that people record in instead."""

    name: str
    unit: str
    largest: float  # 99 % of all samples of any machine of this kind lie below
    others: Mapping[str, float]  # value in the other unit over the value in SI

    def units(self) -> tuple[Suspect, ...]:
        """Units that it is recorded in by mistake."""
        return tuple(
            Suspect(
                factor, f'the {self.name} seems to be in {unit}, it must be in {self.unit}', 'unit'
            )
            for unit, factor in self.others.items()
        )

    def suspects(self) -> tuple[Suspect, ...]:
        """The mistakes that are made with it: units, and the sign."""
        return (*self.units(), Suspect(-1.0, f'the {self.name} has the wrong sign', 'sign'))


DEGREES = float(np.degrees(1.0))
GRAVITY = 9.80665
SPEED = Quantity(
    'speed', 'm/s', 100.0, {'km/h': 3.6, 'mph': 2.2369, 'knots': 1.9438, 'mm/s': 1000.0}
)
ACCELERATION = Quantity('acceleration', 'm/s^2', 80.0, {'g': 1.0 / GRAVITY, 'mm/s^2': 1000.0})
ANGULAR_VELOCITY = Quantity('angular velocity', 'rad/s', 20.0, {'deg/s': DEGREES})
ANGLE = Quantity('angle', 'rad', 2.0 * np.pi, {'degrees': DEGREES})
FORCE = Quantity('force', 'N', 1e5, {'kN': 1e-3, 'kgf': 1.0 / GRAVITY, 'lbf': 0.2248})
MOMENT = Quantity('moment', 'N m', 1e5, {'N mm': 1000.0, 'kN m': 1e-3})
TRAVEL = Quantity('suspension travel', 'm', 0.5, {'mm': 1000.0, 'cm': 100.0})
LENGTH = Quantity('length', 'm', 100.0, {'mm': 1000.0, 'cm': 100.0})
MASS = Quantity('mass', 'kg', 1e5, {'g': 1000.0, 't': 1e-3})
STIFFNESS = Quantity('stiffness', 'N/m', 1e8, {'N/mm': 1e-3, 'kN/m': 1e-3})


def size_of(value: Array) -> float:
    """The size that 99 % of the finite samples stay below; nan where there are none."""
    good = np.abs(value[np.isfinite(value)])
    return float(np.quantile(good, QUANTILE)) if good.size else float('nan')


def check_entry(
    value: float, quantity: Quantity, where: str, least: float, most: float
) -> list[Finding]:
    """One finding where an entry of a description is what no machine of its kind has."""
    if not np.isfinite(value) or least <= value <= most:
        return []
    near = [unit for unit, factor in quantity.others.items() if least <= value / factor <= most]
    hint = f': is it in {" or ".join(near)}?' if near else ''
    text = (
        f'{where} is {value:.4g} {quantity.unit}, such machines have {least:g} to '
        f'{most:g}{hint or ":"} It must be in {quantity.unit}'
    )
    return [Finding('bad', 'unit' if near else 'out_of_range', text, where)]


def check_range(
    value: Array, quantity: Quantity, where: str, largest: float | None = None
) -> list[Finding]:
    """One finding where values are larger than the quantity can be; it names the likely unit."""
    size, limit = size_of(value), quantity.largest if largest is None else largest
    if not size > limit:
        return []
    near = [
        unit for unit, factor in quantity.others.items() if factor > 1.0 and size / factor <= limit
    ]
    hint = f': in {" or ".join(near)}?' if near else ''
    text = (
        f'{where}: the {quantity.name} reaches {size:.4g}, more than the {limit:.4g} '
        f'{quantity.unit} that can be{hint} It must be in {quantity.unit}'
    )
    return [Finding('bad', 'unit' if near else 'out_of_range', text, where)]
