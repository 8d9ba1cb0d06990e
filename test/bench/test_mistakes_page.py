"""The page of the mistakes says which state of the code each system was tried on."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
from mistakes import markdown


def row(system: str, mistake: str, code: str, result: str = 'named') -> dict[str, object]:
    return {'system': system, 'recording': 0, 'way': 'offline', 'mistake': mistake,
            'result': result, 'what': '', 'code': code}  # fmt: skip


def test_each_system_names_its_commits_and_marks_earlier_rows() -> None:
    rows = [
        row('car', 'in g', 'new'),
        row('car', 'turned', 'old'),
        row('humanoid', 'in kN', 'old', 'silent'),
    ]
    page = markdown(rows, ['new', 'humanoid:old'])
    car, humanoid = page.partition('## car')[2].split('## humanoid')
    assert 'by commit: new 1.' in car and 'by commit: old 1.' in humanoid
    assert 'turned | right cause named 1 of 1 (earlier)' in car
    assert '| humanoid | offline | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |' in page
