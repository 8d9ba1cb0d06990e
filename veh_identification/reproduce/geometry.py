"""The geometric tables of Venture 2006 and 2002 as printed, beside those of config/models.

Each printed row is `j a(j) sigma gamma b alpha d theta r`. Joint variables are written with our
names and lengths with those of the YAML constants; every other entry is the printed one.
"""

from __future__ import annotations

from collections.abc import Sequence

from veh_identification.configuration.reading import read
from veh_identification.multibody.expressions import parse_linear
from veh_identification.reproduce.paper import Column, Made, Row
from veh_identification.runtime.share import share_directory

COLUMNS = ('gamma', 'b', 'alpha', 'd', 'theta', 'r')
_SYMBOLS = ('gamma', 'b [m]', 'alpha', 'd [m]', 'theta', 'r')

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
    """Rows of a table, entry by entry."""
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


def beside_ours(model: str, rows: Sequence[Sequence[str]]) -> Made:
    """Printed rows beside those of config/models/MODEL.yaml; entries that differ are named."""
    bodies = read(share_directory() / 'config' / 'models' / f'{model}.yaml').mapping['bodies']
    names = [body['name'] for body in bodies]
    made = []
    for body, row in zip(bodies, rows, strict=False):
        before = body['antecedent']
        found = [str(0 if before == 0 else names.index(before) + 1), str(body['sigma'])]
        found += [str(body.get(column, 0)) for column in COLUMNS]
        differing = [
            f'{title} = {ours}'
            for title, theirs, ours in zip(
                ('a(j)', 'sigma', *_SYMBOLS), row[1:], found, strict=True
            )
            if parse_linear(theirs, {}, model) != parse_linear(ours, {}, model)
        ]
        made.append(
            Row(
                (*row, body['name'], ', '.join(differing) or 'none'),
                'other' if differing else 'alike',
            )
        )
    columns = (
        Column('j'),
        *(Column(title, 'paper') for title in ('a(j)', 'sigma', *_SYMBOLS)),
        Column('body', 'ours'),
        Column('entries that differ', 'ours'),
    )
    return Made(columns, tuple(made))
