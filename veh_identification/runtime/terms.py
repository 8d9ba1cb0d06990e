"""Terms of a mapping file: a source, or factors and units times a source.

`fz_N`, `-1.0 * fz_N`, `deg/s * YawRate`, `3.2 * km/h * WhlSpd_FL`: the value in SI is the product.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from veh_identification.configuration.faults import shown
from veh_identification.configuration.units import Powers, Unit, parse_unit

_NUMBER = re.compile(r'^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$')
#: What fields of standard messages are measured in, by the beginning of their path.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    'time': ('s',),
    'angular_velocity': ('rad/s',),
    'linear_acceleration': ('m/s^2',),
    'wrench.force': ('N',),
    'wrench.torque': ('N m',),
    'twist.linear': ('m/s',),
    'twist.angular': ('rad/s',),
    'twist.twist.linear': ('m/s',),
    'twist.twist.angular': ('rad/s',),
    'pose.position': ('m',),
    'range': ('m',),
    'fluid_pressure': ('Pa',),
    'joint.position': ('rad', 'm'),
    'joint.velocity': ('rad/s', 'm/s'),
    'joint.effort': ('N m', 'N', 'A'),
}


@dataclass(frozen=True)
class Term:
    """A factor times a source: field of a message, joint, or column of a table."""

    factor: float
    source: str


def read_term(text: str, target: str) -> Term:
    """The term that fills a field; a unit that the field cannot have is refused."""
    *factors, source = (part.strip() for part in text.split('*'))
    if not source:
        raise ValueError(f'expected a source or "factor * source", found {shown(text)}')
    factor, numbers = 1.0, False
    for one in factors:
        if _NUMBER.match(one):
            factor, numbers = factor * float(one), True
            continue
        unit = _unit(one, target)
        if unit is None:
            raise ValueError(f'{shown(one)} is no number and no unit, in {shown(text)}')
        factor *= unit.factor
    if not numbers:  # a number may carry a unit of its own, such as one over a radius
        _refuse_other_dimensions(factors, target, text)
    return Term(factor, source)


def _wanted(target: str) -> list[Unit]:
    names = next((names for path, names in _FIELDS.items() if target.startswith(path)), ())
    return [unit for name in names if (unit := parse_unit(name)) is not None]


def _unit(text: str, target: str) -> Unit | None:
    """`g` is gravity where the field is an acceleration."""
    wanted: Powers | None = next((one.powers for one in _wanted(target)), None)
    return parse_unit(text, wanted) if text else None


def _refuse_other_dimensions(factors: list[str], target: str, text: str) -> None:
    wanted = _wanted(target)
    if not factors or not wanted:
        return
    units = [unit for one in factors if (unit := _unit(one, target)) is not None]
    powers = tuple(sum(column) for column in zip(*(one.powers for one in units), strict=True))
    if powers not in [one.powers for one in wanted]:
        names = next(names for path, names in _FIELDS.items() if target.startswith(path))
        raise ValueError(f'{shown(text)} is not in a unit that {" or ".join(names)} comes of')
