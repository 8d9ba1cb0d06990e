from __future__ import annotations

import json
from pathlib import Path

from veh_identification.cli.main import main
from veh_identification.reproduce.car_rows import accuracy_row, values
from veh_identification.reproduce.venture2006 import TABLE_II, TABLE_IV
from veh_identification.systems.car.parameters import NAMES


def test_printed_tables_hold_all_33_parameters() -> None:
    wide, reduced = values(TABLE_II, 4), values(TABLE_IV, 3)
    assert sorted(wide) == sorted(reduced) == sorted(NAMES) and len(NAMES) == 33
    for name, (_, value, sigma, percent) in wide.items():
        # A misread digit would show: the percentage is printed beside value and sigma.
        assert abs(100.0 * sigma / abs(value) - percent) <= 0.05 * percent + 0.15, name
    for name, (value, sigma, percent) in reduced.items():
        assert abs(100.0 * sigma / abs(value) - percent) <= 0.06 * percent + 0.15, name


def test_geometry_is_that_of_the_tables(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    words = ['--quick', '--only', 'Table I', '--only', 'table-3', '--out', str(out)]
    assert main(['reproduce', 'venture2006', *words]) == 0
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    assert [len(one['rows']) for one in told['items']] == [10, 20]
    assert told['marks'] == {'better': 0, 'alike': 30, 'worse': 0, 'other': 0}


def test_a_small_sigma_around_a_wrong_value_is_worse() -> None:
    paper = (1508.5, 1496.6, 2.2, 0.1)
    assert accuracy_row('Mc', 'kg', paper, 1535.0, 0.7, 1536.0).mark == 'better'
    assert accuracy_row('Mc', 'kg', paper, 1511.0, 0.7, 1536.0).mark == 'worse'
