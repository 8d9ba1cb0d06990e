from __future__ import annotations

import json
from pathlib import Path

from veh_identification.cli.main import main


def test_the_six_rows_hold_all_94_parameters(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    words = ['--quick', '--only', 'Fig. 1', '--out', str(out)]
    assert main(['reproduce', 'ayusawa', *words]) == 0
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    rows = {row['cells'][0]: row for row in told['items'][0]['rows']}
    assert rows['rank of the six base-link rows']['cells'][3] == 94.0
    assert rows['base parameters by (11)-(17)']['cells'][3] == 94.0
    assert {row['mark'] for row in rows.values()} == {'alike'}
