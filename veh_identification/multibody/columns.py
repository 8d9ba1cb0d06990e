"""What the columns of a regressor mean: names, units, and the body or joint they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import PARAMETER_NAMES, PARAMETER_UNITS
from veh_identification.multibody.tree import BASE_ROWS, TreeModel


class Kind(IntEnum):
    """Kinds of columns; inertial ones first, then equations 5, 6, 31 and 32 of Venture 2006."""

    INERTIAL = -1
    STIFFNESS = 0
    OFFSET = 1
    VISCOUS = 2
    COULOMB = 3
    MOTOR_INERTIA = 4
    COUPLING_SPRING = 5
    AERODYNAMIC = 6


_SUFFIX = {
    Kind.STIFFNESS: 'k',
    Kind.OFFSET: 'off',
    Kind.VISCOUS: 'h',
    Kind.COULOMB: 'fs',
    Kind.MOTOR_INERTIA: 'Ia',
}
_ANGLE_UNITS = {
    Kind.STIFFNESS: 'N m/rad',
    Kind.OFFSET: 'N m',
    Kind.VISCOUS: 'N m s/rad',
    Kind.COULOMB: 'N m',
    Kind.MOTOR_INERTIA: 'kg m^2',
    Kind.COUPLING_SPRING: 'N m/rad',
}
_LENGTH_UNITS = {
    Kind.STIFFNESS: 'N/m',
    Kind.OFFSET: 'N',
    Kind.VISCOUS: 'N s/m',
    Kind.COULOMB: 'N',
    Kind.MOTOR_INERTIA: 'kg',
    Kind.COUPLING_SPRING: 'N/m',
}
_AERODYNAMIC_NAMES = ('Cx', 'Cy', 'Cz', 'Cl', 'Cm', 'Cn')


@dataclass(frozen=True)
class ExtraColumn:
    """A column beside the inertial ones; make it with the functions below.

    `smoothing` > 0 replaces sign(qd) by tanh(qd / smoothing). Aerodynamic columns: the wrench
    component (0..5) that the body exerts on the air, air_speed_squared times the coefficient.
    """

    kind: Kind
    joint: str = ''
    opposite: str = ''
    body: str = ''
    component: int = 0
    smoothing: float = 0.0
    name: str = ''

    def __post_init__(self) -> None:
        if not 0 <= self.component < len(BASE_ROWS):
            raise ModelError(
                f'aerodynamic column on "{self.body}": component {self.component}, expected 0 to 5'
            )


def stiffness(joint: str, name: str = '') -> ExtraColumn:
    """Joint spring k q (equation 5)."""
    return ExtraColumn(Kind.STIFFNESS, joint, name=name)


def offset(joint: str, name: str = '') -> ExtraColumn:
    """Constant joint force off (equation 5)."""
    return ExtraColumn(Kind.OFFSET, joint, name=name)


def viscous(joint: str, name: str = '') -> ExtraColumn:
    """Viscous friction h qd (equation 6)."""
    return ExtraColumn(Kind.VISCOUS, joint, name=name)


def coulomb(joint: str, smoothing: float = 0.0, name: str = '') -> ExtraColumn:
    """Coulomb friction fs sign(qd) (equation 6), smoothed over `smoothing` if positive."""
    return ExtraColumn(Kind.COULOMB, joint, smoothing=smoothing, name=name)


def motor_inertia(joint: str, name: str = '') -> ExtraColumn:
    """Inertia of the joint's drive Ia qdd."""
    return ExtraColumn(Kind.MOTOR_INERTIA, joint, name=name)


def coupling_spring(joint: str, opposite: str, name: str = '') -> ExtraColumn:
    """Anti-roll bar k (q - q_opposite) on `joint` and its reaction on `opposite` (equation 31)."""
    return ExtraColumn(Kind.COUPLING_SPRING, joint, opposite, name=name)


def aerodynamic(body: str, component: int = 0, name: str = '') -> ExtraColumn:
    """Quadratic air force (components 0..2) or moment (3..5) at a body's origin (equation 32)."""
    return ExtraColumn(Kind.AERODYNAMIC, body=body, component=component, name=name)


class Column(NamedTuple):
    """One column; `parameter` is its place among the ten of its body, -1 if not inertial."""

    name: str
    unit: str
    kind: Kind
    body: str = ''
    joint: str = ''
    parameter: int = -1


@dataclass(frozen=True)
class Columns:
    """Description of the columns of a regressor, in their order."""

    entries: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(column.name for column in self.entries)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the parameters."""
        return tuple(column.unit for column in self.entries)

    def index(self, name: str) -> int:
        """Position of a column by name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ModelError(f'there is no parameter "{name}" among the columns') from None

    def take(self, indices: Iterable[int]) -> Columns:
        """The description of a subset of the columns, in the order given."""
        return Columns(tuple(self.entries[k] for k in indices))

    def values(
        self, model: TreeModel, extra: Mapping[str, float] | None = None
    ) -> NDArray[np.float64]:
        """Parameter vector in column order: the model's inertia, `extra` by name, else 0."""
        given = extra or {}
        return np.array(
            [
                model.parameters[model.body_index(column.body), column.parameter]
                if column.kind is Kind.INERTIAL
                else given.get(column.name, 0.0)
                for column in self.entries
            ]
        )


def describe(
    model: TreeModel,
    bodies: Sequence[str],
    extras: Sequence[ExtraColumn],
    enabled: Sequence[str] | None = None,
) -> Columns:
    """Columns of the given bodies and extras; `enabled` keeps only the named ones."""
    entries: list[Column] = []
    for body in bodies:
        model.body_index(body)
        entries.extend(
            Column(f'{body}.{name}', unit, Kind.INERTIAL, body, '', k)
            for k, (name, unit) in enumerate(zip(PARAMETER_NAMES, PARAMETER_UNITS, strict=True))
        )
    entries.extend(
        Column(extra_name(extra), _unit(model, extra), extra.kind, extra.body, extra.joint)
        for extra in extras
    )
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f'model {model.name}: two columns have the name "{twice}"')
    if enabled is None:
        return Columns(tuple(entries))
    unknown = [name for name in enabled if name not in names]
    if unknown:
        raise ModelError(f'model {model.name}: there is no parameter "{unknown[0]}"')
    return Columns(tuple(entry for entry in entries if entry.name in set(enabled)))


def extra_name(extra: ExtraColumn) -> str:
    """The given name, or JOINT.k, JOINT.off, JOINT.h, JOINT.fs, JOINT.Ia, A-B.k, BODY.Cx ..."""
    if extra.name:
        return extra.name
    if extra.kind is Kind.COUPLING_SPRING:
        return f'{extra.joint}-{extra.opposite}.k'
    if extra.kind is Kind.AERODYNAMIC:
        return f'{extra.body}.{_AERODYNAMIC_NAMES[extra.component]}'
    return f'{extra.joint}.{_SUFFIX[extra.kind]}'


def _unit(model: TreeModel, extra: ExtraColumn) -> str:
    if extra.kind is Kind.AERODYNAMIC:
        return 'N s^2/m^2' if extra.component < 3 else 'N s^2/m'
    angle = model.coordinate_is_angle(model.coordinate_index(extra.joint))
    return (_ANGLE_UNITS if angle else _LENGTH_UNITS)[extra.kind]
