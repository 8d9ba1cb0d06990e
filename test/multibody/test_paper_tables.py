"""The geometric tables as printed in Venture 2006 and 2002, row by row, against config/models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from veh_identification.multibody.expressions import parse_linear
from veh_identification.multibody.mdh import load_mdh
from veh_identification.reproduce.geometry import (
    COLUMNS,
    TABLE_1,
    TABLE_III,
    printed,
    table_of_38,
)

MODELS = Path(__file__).parents[2] / 'config' / 'models'


@pytest.mark.parametrize(
    ('name', 'rows', 'count'),
    [
        ('car_38_dof', table_of_38(), 37),
        ('car_20_dof', printed(TABLE_III), 20),
        ('car_2002', printed(TABLE_1), 20),
    ],
)
def test_tables_are_those_of_the_papers(name: str, rows: list[list[str]], count: int) -> None:
    path = MODELS / f'{name}.yaml'
    bodies = yaml.safe_load(path.read_text(encoding='utf-8'))['bodies']
    names = [body['name'] for body in bodies]
    assert len(bodies) == len(rows) == count
    for number, (body, row) in enumerate(zip(bodies, rows, strict=True), start=1):
        here = f'{name}, row {number} ({body["name"]})'
        assert int(row[0]) == number
        antecedent = body['antecedent']
        found = 0 if antecedent == 0 else names.index(antecedent) + 1
        assert (found, body['sigma']) == (int(row[1]), int(row[2])), here
        for column, entry in zip(COLUMNS, row[3:], strict=True):
            # Lengths stay symbols here, so a wrong letter shows even where two values agree.
            assert parse_linear(body.get(column, 0), {}, here) == parse_linear(entry, {}, here), (
                f'{here}, {column}'
            )


@pytest.mark.parametrize(
    ('name', 'rows'),
    [
        ('car_38_dof', table_of_38()),
        ('car_20_dof', printed(TABLE_III)),
        ('car_2002', printed(TABLE_1)),
    ],
)
def test_loading_keeps_numbers_antecedents_and_joint_types(
    name: str, rows: list[list[str]]
) -> None:
    model = load_mdh(MODELS / f'{name}.yaml')
    assert model.parent.tolist() == [int(row[1]) - 1 for row in rows]
    assert model.joint_type.tolist() == [int(row[2]) for row in rows]


@pytest.mark.parametrize(
    ('name', 'real'),
    [
        # Venture 2006: chassis and the unsprung masses; Venture 2002: chassis and wheels.
        ('car_38_dof', [1, 4, 13, 22, 31]),
        ('car_20_dof', [1, 2, 6, 11, 16]),
        ('car_2002', [6, 9, 12, 16, 20]),
    ],
)
def test_real_bodies_are_those_of_the_papers(name: str, real: list[int]) -> None:
    model = load_mdh(MODELS / f'{name}.yaml')
    assert (np.flatnonzero(model.real) + 1).tolist() == real
