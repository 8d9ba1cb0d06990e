from __future__ import annotations

import json
from pathlib import Path

from veh_identification.cli.main import main
from veh_identification.reproduce.car_rows import values
from veh_identification.reproduce.venture2002 import LOADS, TABLE_3, TABLE_4, UNSPRUNG


def test_twenty_base_parameters_where_23_are_printed(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    words = ['--quick', *(f'--only=table-{k}' for k in (1, 2, 3)), '--out', str(out)]
    assert main(['reproduce', 'venture2002', *words]) == 0
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    geometry, standard, base = told['items']
    assert [row['mark'] for row in geometry['rows']] == ['alike'] * 20
    assert standard['rows'][0]['cells'][1:] == [22.0, 22.0]
    found = {row['cells'][0]: row['cells'][2] for row in base['rows']}
    # The printed entries are 23 columns, of which the symmetry of the wheels leaves 20, and these
    # span just what the standard parameters span.
    assert found['their rank if all were free'] == 23.0
    assert found['their rank'] == found['rank of both sets together'] == 20.0
    assert base['statements'][0]['level'] == 'good'
    assert len(TABLE_3) == 23


def test_printed_figures() -> None:
    assert len(values(TABLE_4, 2)) == 16
    carried = sum(LOADS) / 9.8 - UNSPRUNG
    assert round(carried) == 1471
    assert abs(100.0 * (values(TABLE_4, 2)['m6'][0] - carried) / carried - 6.47) < 0.02


def test_a_ramp_that_was_identified_from_is_reconstructed(tmp_path: Path) -> None:
    """It judges nothing, since it does not validate itself: asked to, the program ended there."""
    out = tmp_path / 'out'
    words = ['--quick', '--only=figures-2-3', '--only=figure-4', '--out', str(out)]
    assert main(['reproduce', 'venture2002', *words]) == 0
    ramp, braking = json.loads((out / 'reproduce.json').read_text('utf-8'))['items']
    shares = {row['cells'][0]: row['cells'][-1] for row in ramp['rows']}
    assert len(shares) == 10 and all(0.0 < share < 2.0 for share in shares.values())
    # On a straight braking the sideways equation has hardly a signal, on a ramp a large one.
    signals = [
        {row['cells'][0]: row['cells'][3] for row in one['rows']} for one in (ramp, braking)
    ]
    assert signals[0]['y'] > 20.0 * signals[1]['y']
