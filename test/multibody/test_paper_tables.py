"""The geometric tables as printed in Venture 2006 and 2002, row by row, against config/models.

Each printed row is `j a(j) sigma gamma b alpha d theta r`. Joint variables are written with our
names and lengths with those of the YAML constants; every other entry is the printed one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from veh_identification.multibody.expressions import parse_linear
from veh_identification.multibody.mdh import load_mdh

MODELS = Path(__file__).parents[2] / 'config' / 'models'
COLUMNS = ('gamma', 'b', 'alpha', 'd', 'theta', 'r')

# Table I of Venture 2006: the chassis and the rear left branch, all that is printed.
# l_3 = half_track_rl, L = wheelbase_rl, z_3 = suspension_rl, beta_3 = steering_rl,
# gamma_3 = camber_rl, zeta_3 = kingpin_rl, theta_9 = wheel_rl, z_t3 = tyre_rl.
TABLE_I = """
 1  0  2  0  0  0      0  0                  0
 2  1  1  0  0  -pi/2  0  -pi/2              half_track_rl
 3  2  1  0  0  -pi/2  0  -pi/2              wheelbase_rl
 4  3  1  0  0  -pi/2  0  0                  suspension_rl
 5  4  0  0  0  0      0  steering_rl        0
 6  5  0  0  0  pi/2   0  pi/2+camber_rl     0
 7  6  0  0  0  pi/2   0  pi/2+kingpin_rl    0
 8  7  2  0  0  pi/2   0  0                  0
 9  8  0  0  0  -pi/2  0  wheel_rl           0
10  8  1  0  0  0      0  0                  tyre_rl
"""

# Table III of Venture 2006 (l1..l4 half tracks, L wheelbase).
TABLE_III = """
 1  0  2  0     0  0      0    0            0
 2  1  1  pi/2  0  0      l3   -pi/2        suspension_rl
 3  2  2  0     0  0      0    0            0
 4  3  0  0     0  -pi/2  0    wheel_rl     0
 5  3  1  pi/2  0  0      0    0            tyre_rl
 6  1  1  pi/2  0  0      -l4  -pi/2        suspension_rr
 7  6  2  0     0  0      0    0            0
 8  7  0  0     0  -pi/2  0    wheel_rr     0
 9  7  1  0     0  0      0    0            tyre_rr
10  1  2  0     0  0      L    pi/2         0
11 10  1  0     0  0      l1   -pi/2        suspension_fl
12 11  0  0     0  0      0    steering_fl  0
13 12  2  0     0  0      0    0            0
14 13  0  0     0  -pi/2  0    wheel_fl     0
15 13  1  0     0  0      0    0            tyre_fl
16 10  1  0     0  0      -l2  -pi/2        suspension_fr
17 16  0  0     0  0      0    steering_fr  0
18 17  2  0     0  0      0    0            0
19 18  0  0     0  -pi/2  0    wheel_fr     0
20 18  1  0     0  0      0    0            tyre_fr
"""

# Table 1 of Venture 2002, which has no gamma column (0 throughout). q_7, q_10, q_13, q_17 are
# the suspensions, q_9, q_12, q_16, q_20 the wheels; beta of rows 14 and 18 has one name per side.
TABLE_1 = """
 1  0  1  0  0    pi/2   0    pi/2        -y
 2  1  1  0  0    pi/2   0    pi/2        x
 3  2  1  0  0    pi/2   0    pi/2        z
 4  3  0  0  0    0      0    psi         0
 5  4  0  0  0    pi/2   0    -phi+pi/2   0
 6  5  0  0  0    pi/2   0    theta+pi/2  0
 7  6  1  0  0    pi/2   -D3  pi/2        suspension_rl
 8  7  2  0  0    -pi/2  0    0           0
 9  8  0  0  0    0      0    wheel_rl    0
10  6  1  0  0    pi/2   D4   pi/2        suspension_rr
11 10  2  0  0    -pi/2  0    0           0
12 11  0  0  0    0      0    wheel_rr    0
13  6  1  0  B13  pi/2   -D1  pi/2        suspension_fl
14 13  0  0  0    0      0    steering_fl 0
15 14  2  0  0    -pi/2  0    0           0
16 15  0  0  0    0      0    wheel_fl    0
17  6  1  0  B17  pi/2   D2   pi/2        suspension_fr
18 17  0  0  0    0      0    steering_fr 0
19 18  2  0  0    -pi/2  0    0           0
20 19  0  0  0    0      0    wheel_fr    0
"""


def printed(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def branch(table: list[list[str]], corner: str, first: int, right: bool) -> list[list[str]]:
    """Rows 2 to 10 of Table I carried over to another wheel, numbered from `first`."""
    rows = []
    for number, antecedent, sigma, *geometry in table[1:]:
        before = 1 if antecedent == '1' else int(antecedent) + first - 2
        entries = [entry.replace('_rl', f'_{corner}') for entry in geometry]
        if right and entries[-1].startswith('half_track'):
            # The right wheel lies on the other side: Table III prints -l_4 and -l_2 there.
            entries[-1] = f'-{entries[-1]}'
        rows.append([str(int(number) + first - 2), str(before), sigma, *entries])
    return rows


def table_of_38() -> list[list[str]]:
    """Table I with the other branches as the text below it numbers them."""
    rows = printed(TABLE_I)
    return (
        rows
        + branch(rows, 'rr', 11, True)
        + branch(rows, 'fl', 20, False)
        + branch(rows, 'fr', 29, True)
    )


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
