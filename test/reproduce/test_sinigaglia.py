from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from veh_identification.cli.main import main
from veh_identification.reproduce.sinigaglia import MANOEUVRES, UNITS


def test_printed_tables_hold_all_coordinates() -> None:
    for number, one in MANOEUVRES.items():
        assert list(one.thesis) == list(UNITS), number
        for name, (largest, model, rms, model_rms) in one.thesis.items():
            # nan in Tables 7 and 8, which have no wheel speeds
            assert not (rms > largest or model_rms > model), (number, name)
    assert MANOEUVRES[7].thesis['omega_fl'][0] != MANOEUVRES[7].thesis['omega_fl'][0]


def told_of(out: Path, table: str) -> dict[str, Any]:
    assert main(['reproduce', 'thesis', '--quick', '--only', table, '--out', str(out)]) == 0
    told: dict[str, Any] = json.loads((out / 'reproduce.json').read_text('utf-8'))
    return told


def test_the_linkage_is_set_up_as_printed(tmp_path: Path) -> None:
    told = told_of(tmp_path / 'out', 'Table 1')
    assert told['paper'] == 'sinigaglia'
    assert [row['mark'] for row in told['items'][0]['rows']] == ['alike'] * 11
    assert told['recordings'] == ['veh-id simulate four-bar --duration 3 --seed 1 --out BAG']


def test_the_linkage_is_observed(tmp_path: Path) -> None:
    rows = told_of(tmp_path / 'out', 'table-2')['items'][0]['rows']
    assert len(rows) == 8
    for row in rows:
        assert row['cells'][5] < 0.1 * row['cells'][6], row  # observer and model
        assert row['mark'] == ''  # what is printed belongs to another table
