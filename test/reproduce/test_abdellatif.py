from __future__ import annotations

import json
from pathlib import Path

import pytest

from veh_identification.cli.main import main
from veh_identification.reproduce.abdellatif import TABLE_I, TABLE_II, figure_2
from veh_identification.reproduce.workspace import Workspace


def test_parameters_and_likelihood(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    words = ['--quick', '--only', 'table-1', '--only', 'Table II', '--out', str(out)]
    assert main(['reproduce', 'abdellatif', *words]) == 0
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    first, second = told['items']
    assert [row['cells'][0] for row in first['rows']] == [name for name, *_ in TABLE_I]
    assert [row['mark'] for row in first['rows'][:10]] == ['alike'] * 10
    *rows, cutoff = [row['cells'] for row in second['rows']]
    assert [row[0] for row in rows] == list(TABLE_II)
    # The likelihood finds the harmonics that were executed; the truth is then within its sigma.
    assert cutoff[7] == pytest.approx(2.8) and cutoff[6] == pytest.approx(2.0)
    assert sum(abs(row[-1]) <= 2.0 for row in rows) >= 20
    assert sum(abs(row[-2]) <= 2.0 for row in rows) <= 12


def test_exact_processing_bears_a_mistuned_fundamental(tmp_path: Path) -> None:
    made = figure_2(Workspace(tmp_path, quick=True))
    for row in made.rows:
        assert float(row.cells[4]) < 0.05 * float(row.cells[3])
    assert len(made.figures) == 3
