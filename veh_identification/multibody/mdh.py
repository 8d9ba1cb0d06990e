"""Tree models from modified Denavit-Hartenberg tables (Khalil and Kleinfinger's notation).

A table is a YAML mapping:

    name: car
    base: euler            # the first body moves with Euler variables; or `joints`: the root is
                           # the ground and the base's freedoms are (virtual) joints
    constants: {L: 2.7}
    bodies:
      - {name: chassis, antecedent: 0, sigma: 2, inertia: {M: 1500, MSx: 2400, Jzz: 6200}}
      - {name: hub, antecedent: chassis, sigma: 1, gamma: pi/2, d: L, r: z3, virtual: true}
    ties: ['wheel.Jyy = wheel.Jxx', 'wheel.MSx = 0']

`antecedent` is 0 (the root), a body's name or the number of its row (from 1). `sigma` is 0 for a
revolute, 1 for a prismatic, 2 for a locked joint. gamma, b, alpha, d, theta, r are numbers or
expressions of `pi` and the constants (0 when left out); theta of a revolute and r of a prismatic
joint may hold the joint variable (`-phi + pi/2`), whose name is the coordinate's name; without one
the coordinate takes the joint's name (key `joint`, the body's name when left out) and the entry is
its offset. Rows that use the same variable share the coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.configuration.faults import shown
from veh_identification.configuration.reading import read
from veh_identification.errors import ModelError
from veh_identification.multibody.expressions import Linear, parse_linear
from veh_identification.multibody.inertia import PARAMETER_NAMES
from veh_identification.multibody.tree import (
    LOCKED,
    PRISMATIC,
    REVOLUTE,
    BodySpec,
    TreeModel,
    assemble,
    axis_rotation,
)
from veh_identification.types import Array

_GEOMETRY = ('gamma', 'b', 'alpha', 'd', 'theta', 'r')
#: Of the name of a body: it stands in messages and files.
LONGEST_NAME = 100
_TABLE_KEYS = ('name', 'base', 'constants', 'bodies', 'ties')
_KEYS = {'name', 'antecedent', 'sigma', 'virtual', 'joint', 'inertia', *_GEOMETRY}
_X, _Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def load_mdh(path: str | Path) -> TreeModel:
    """Model from a YAML file with a modified Denavit-Hartenberg table."""
    return parse_mdh(read(path).data, where=str(path))


def parse_mdh(table: Any, where: str = 'table') -> TreeModel:
    """Model from the mapping that a YAML table holds; `where` names the source in errors."""
    if not isinstance(table, Mapping) or not isinstance(table.get('bodies'), list):
        raise ModelError(f'{where}: expected a mapping with a list "bodies"')
    unknown = [str(key) for key in table if key not in _TABLE_KEYS]
    if unknown:
        raise ModelError(
            f'{where}: the table has the unknown entry "{unknown[0][:60]}", expected one '
            f'of {", ".join(sorted(_TABLE_KEYS))}'
        )
    base = table.get('base', 'joints')
    if base not in ('euler', 'joints'):
        raise ModelError(f'{where}: base is {shown(base)}, expected euler or joints')
    constants = _constants(table.get('constants') or {}, where)
    rows = table['bodies']
    names = [_name(row, k, where) for k, row in enumerate(rows)]
    specs = [
        _body(row, name, names, constants, where) for row, name in zip(rows, names, strict=True)
    ]
    if base == 'euler' and specs:
        _check_euler_base(specs, where)
    return assemble(
        str(table.get('name', where)),
        specs,
        base == 'euler',
        _ties(table.get('ties'), where),
        where,
    )


def mdh_transform(
    gamma: float, b: float, alpha: float, d: float, theta: float, r: float
) -> tuple[Array, Array]:
    """Rotation and origin of frame j in its antecedent: the blocks of equation 1."""
    about_z, about_x = axis_rotation(_Z, gamma), axis_rotation(_X, alpha)
    rotation = about_z @ about_x @ axis_rotation(_Z, theta)
    translation = about_z @ (b * _Z + d * _X + about_x @ (r * _Z))
    return rotation, translation


def _constants(entries: Any, where: str) -> dict[str, float]:
    """Constants in the order of the file; a later one may use earlier ones."""
    if not isinstance(entries, Mapping):
        raise ModelError(f'{where}: constants must be a mapping of names to numbers')
    constants: dict[str, float] = {}
    for name, entry in entries.items():
        constants[str(name)] = _number(entry, constants, f'{where}: constant {name}')
    return constants


def _ties(entries: Any, where: str) -> tuple[str, ...]:
    """The relations as text; which parameters they name is checked where they are used."""
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise ModelError(f'{where}: ties is {shown(entries)}, expected a list of relations')
    for k, entry in enumerate(entries, start=1):
        if not isinstance(entry, str) or '=' not in entry:
            raise ModelError(
                f'{where}: ties, entry {k} is {shown(entry)}, expected a relation such as '
                '"wheel.MSx = 0"'
            )
    return tuple(entries)


def _number(entry: Any, constants: Mapping[str, float], where: str) -> float:
    value = parse_linear(entry, constants, where)
    if value.coefficients:
        raise ModelError(
            f'{where}: "{entry}" uses the unknown constant "{next(iter(value.coefficients))}"'
        )
    return value.constant


def _name(row: Any, index: int, where: str) -> str:
    if not isinstance(row, Mapping):
        raise ModelError(f'{where}: row {index + 1} is {shown(row)}, expected a mapping')
    unknown = [str(key) for key in row if key not in _KEYS]
    name = row.get('name', f'body_{index + 1}')
    # Inside the program an empty name stands for the root frame.
    if isinstance(name, bool) or not isinstance(name, (str, int)) or not str(name).strip():
        raise ModelError(f'{where}: row {index + 1} has the name {shown(name)}, expected text')
    if len(str(name)) > LONGEST_NAME or not str(name).isprintable():
        raise ModelError(
            f'{where}: row {index + 1} has the name {shown(name)}, expected {LONGEST_NAME} '
            'printable characters at most (a quotation mark that is not closed?)'
        )
    if unknown:
        raise ModelError(
            f'{where}: body "{name}" has the unknown entry "{unknown[0][:60]}", expected '
            f'one of {", ".join(sorted(_KEYS))}'
        )
    return str(name)


def _body(
    row: Mapping[str, Any], name: str, names: list[str], constants: Mapping[str, float], where: str
) -> BodySpec:
    """One row of the table."""
    here = f'{where}: body "{name}"'
    sigma = row.get('sigma')
    if sigma not in (REVOLUTE, PRISMATIC, LOCKED) or isinstance(sigma, bool):
        raise ModelError(
            f'{here} has sigma {shown(sigma)}, expected 0 (revolute), 1 (prismatic) or 2 (locked)'
        )
    variable_entry = {REVOLUTE: 'theta', PRISMATIC: 'r'}.get(sigma, '')
    geometry, variable = {}, Linear()
    for key in _GEOMETRY:
        if key == variable_entry:
            variable = parse_linear(row.get(key, 0), constants, f'{here}, {key}')
            geometry[key] = variable.constant
        else:
            geometry[key] = _number(row.get(key, 0), constants, f'{here}, {key}')
    rotation, translation = mdh_transform(**geometry)
    joint = str(row.get('joint', name))
    coordinate, multiplier = '', 1.0
    if variable_entry:
        coordinate, multiplier = _coordinate(variable, joint, f'{here}, {variable_entry}')
    virtual = row.get('virtual', False)
    if not isinstance(virtual, bool):
        raise ModelError(f'{here} has virtual {shown(virtual)}, expected true or false')
    real = not virtual
    return BodySpec(
        name,
        _antecedent(row.get('antecedent'), names, here),
        joint,
        int(sigma),
        rotation,
        translation,
        _Z,
        coordinate,
        multiplier,
        0.0,
        real,
        _inertia(row.get('inertia'), real, constants, here),
    )


def _coordinate(variable: Linear, joint: str, here: str) -> tuple[str, float]:
    """Name and factor of the joint variable in theta or r."""
    if not variable.coefficients:
        return joint, 1.0
    if 0.0 in variable.coefficients.values():
        raise ModelError(f'{here} uses its joint variable with the factor 0')
    if len(variable.coefficients) > 1:
        raise ModelError(
            f'{here} depends on {len(variable.coefficients)} variables '
            f'({", ".join(variable.coefficients)}), expected one joint variable and '
            'known constants'
        )
    return next(iter(variable.coefficients.items()))


def _antecedent(entry: Any, names: list[str], here: str) -> str:
    if entry == 0 and not isinstance(entry, bool):
        return ''
    if isinstance(entry, int) and not isinstance(entry, bool) and 1 <= entry <= len(names):
        return names[entry - 1]
    if isinstance(entry, str) and entry in names:
        return entry
    raise ModelError(
        f'{here} names the antecedent {shown(entry)}, which is neither 0, nor a row '
        'number, nor the name of a body'
    )


def _inertia(entries: Any, real: bool, constants: Mapping[str, float], here: str) -> Array:
    entries = {} if entries is None else entries
    if not isinstance(entries, Mapping) or set(entries) - set(PARAMETER_NAMES):
        raise ModelError(
            f'{here} has the inertia {shown(entries)}, expected a mapping with keys of '
            f'{", ".join(PARAMETER_NAMES)}'
        )
    if entries and not real:
        raise ModelError(f'{here} is virtual but has inertia')
    values = np.array(
        [_number(entries.get(key, 0), constants, f'{here}, {key}') for key in PARAMETER_NAMES]
    )
    if values[0] < 0.0:
        raise ModelError(
            f'{here} has the mass {values[0]:g} kg, expected a number that is not negative'
        )
    # Tables may leave entries out, so more than the signs cannot be asked for.
    for key in ('Jxx', 'Jyy', 'Jzz'):
        value = values[PARAMETER_NAMES.index(key)]
        if value < 0.0:
            raise ModelError(
                f'{here}, {key} is {value:g} kg m^2, expected a moment of inertia '
                'that is not negative'
            )
    return values


def _check_euler_base(specs: list[BodySpec], where: str) -> None:
    """With Euler variables the first body IS the moving frame: its row must be the identity."""
    first = specs[0]
    moved = not np.allclose(first.rotation, np.eye(3)) or np.any(first.translation != 0.0)
    if first.parent or first.joint_type != LOCKED or moved:
        raise ModelError(
            f'{where}: body "{first.name}" moves with Euler variables, expected '
            'antecedent 0, sigma 2 and zeros in its row'
        )
