from __future__ import annotations

import json
from pathlib import Path

from veh_identification.cli.main import main
from veh_identification.reproduce.sinigaglia import MANOEUVRES, UNITS


def test_printed_tables_hold_all_coordinates() -> None:
    for number, one in MANOEUVRES.items():
        assert list(one.thesis) == list(UNITS), number
        for name, (largest, model, rms, model_rms) in one.thesis.items():
            # nan in Tables 7 and 8, which have no wheel speeds
            assert not (rms > largest or model_rms > model), (number, name)
    assert MANOEUVRES[7].thesis['omega_fl'][0] != MANOEUVRES[7].thesis['omega_fl'][0]


def test_the_linkage_is_set_up_and_observed(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    words = ['--quick', '--only', 'Table 1', '--only', 'table-2', '--out', str(out)]
    assert main(['reproduce', 'thesis', *words]) == 0
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    assert told['paper'] == 'sinigaglia'
    first, second = told['items']
    assert [row['mark'] for row in first['rows']] == ['alike'] * 11
    for row in second['rows']:
        assert row['cells'][5] < 0.1 * row['cells'][6], row  # observer and model
    assert told['recordings'] == ['veh-id simulate four-bar --duration 3 --seed 1 --out BAG']
