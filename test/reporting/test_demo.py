from __future__ import annotations

import re
from pathlib import Path

import pytest

from veh_identification.cli.main import main
from veh_identification.demo import NAMES
from veh_identification.demo.overview import write_overview
from veh_identification.demo.parts import Compared, ErrorRow, Part, coverage, part_text
from veh_identification.demo.steps import LANES, run_steps
from veh_identification.errors import VehIdError

ROWS = tuple(Compared(f'p{k}', 'kg m^2', 1.0, 1.0 + 0.01 * k, 0.011, 1.02) for k in range(5))


def test_table_beside_the_truth() -> None:
    text = part_text(Part('car', 'Car', 'What.', ('veh-id simulate car',), ROWS))
    assert '$ veh-id simulate car' in text
    assert re.search(r'p4 +1 +1.04 +0.011 +4.00 % +1.02 \[kg m\^2\]', text)
    assert coverage(ROWS) in text
    assert coverage(ROWS).startswith('3 of 5 truths within 2 sigma, 4 within 3')


def test_long_tables_show_the_best_known_and_say_so() -> None:
    rows = tuple(Compared(f'p{k}', 'kg', 1.0, 1.0, 0.01 * (k + 1)) for k in range(60))
    text = part_text(Part('humanoid', 'Humanoid', 'What.', (), rows))
    assert 'p11 ' in text
    assert 'p12 ' not in text
    assert '... and 48 more in the report' in text


def test_overview_links_reports_and_marks_what_is_off(tmp_path: Path) -> None:
    report = tmp_path / 'car' / 'report.html'
    report.parent.mkdir()
    report.write_text('')
    rows = tuple(Compared(f'p{k}', 'kg', 1.0, 1.0 + 0.01 * k, 0.011) for k in range(8))
    parts = [
        Part('car', 'Car', 'What.', ('veh-id x',), rows, report=report),
        Part('buggy', 'Buggy', 'What.', (), errors=(ErrorRow('x', 'm', 0.1, 0.2, 5.0),)),
    ]
    text = write_overview(tmp_path, parts, 12.0).read_text(encoding='utf-8')
    assert 'href="car/report.html"' in text
    assert '<li class="warn"><span class="mark" aria-label="warn"></span>Car: 3 of 8' in text
    assert '<li class="good"><span class="mark" aria-label="good"></span>Buggy: x 0.10 m' in text
    assert 'Mostly; see the marked lines.' in text


def test_demo_of_one_system_ends_with_reports_and_next_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['demo', '--out', str(tmp_path / 'demo'), '--only', 'four-bar']) == 0
    text = capsys.readouterr().out
    assert re.search(r'^x1 +0\.0\d+ +0\.0\d+ +1\.\d+ m$', text, re.MULTILINE)
    assert f'  {tmp_path / "demo" / "report.html"}' in text
    assert 'What to try next' in text
    page = (tmp_path / 'demo' / 'report.html').read_text(encoding='utf-8')
    assert 'Four-bar observer' in page
    assert (tmp_path / 'demo' / 'four-bar' / 'metrics.json').is_file()


def test_every_part_runs_in_one_lane() -> None:
    assert sorted(name for lane in LANES for name in lane) == sorted(NAMES)


def test_lanes_give_the_parts_and_the_errors_of_their_processes(tmp_path: Path) -> None:
    (tmp_path / 'four-bar_0').mkdir()
    (tmp_path / 'four-bar_0' / 'mine.txt').write_text('not a recording')
    parts = run_steps(['four-bar', 'parallel'], tmp_path, 0)
    with pytest.raises(VehIdError, match='four-bar_0'):
        list(parts)
    assert (tmp_path / 'four-bar_0' / 'mine.txt').is_file()
