"""Documents that are made are what their sources give today."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from fences import ROOT

from veh_identification.cli.glossary import glossary_text
from veh_identification.cli.readme_tables import PAPERS, filled, paper_table, peer_table
from veh_identification.errors import InputError

sys.path.insert(0, str(ROOT / 'tools'))
from papers import ABOUT, pages

MEASURED = ROOT / 'bench' / 'measured'


def test_readme_is_what_was_measured() -> None:
    text = (ROOT / 'README.md').read_text('utf-8')
    assert text == filled(text, MEASURED), 'veh-id bench --readme'


def test_tables_hold_the_figures_of_the_files() -> None:
    document = json.loads((MEASURED / 'venture2006.json').read_text('utf-8'))
    rows = next(one['rows'] for one in document['items'] if one['key'] == 'table-2')
    mass = next(row['cells'] for row in rows if row['cells'][0] == 'Mc')
    assert f'| car, mass: sigma | {mass[4]:.3g} kg | **{mass[11]:.3g} kg** |' in paper_table(
        MEASURED
    )


def test_nothing_that_was_not_measured_is_shown(tmp_path: Path) -> None:
    assert peer_table(tmp_path) == 'Not measured yet.'
    assert paper_table(tmp_path).count('\n| ') == 0


def test_a_measurement_without_the_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / f'{PAPERS[0].paper}.json').write_text('{"items": []}')
    with pytest.raises(InputError, match='no figures of'):
        paper_table(tmp_path)


def test_a_benchmark_fills_its_row(tmp_path: Path) -> None:
    row = {'case': 'regressor 6 x 130', 'peer': 20.0, 'ours': 2.5, 'unit': 'us', 'peer_name': 'P'}
    others = [{**row, 'case': 'processor time of the same, 9'}]
    others += [{**row, 'case': 'peak memory, 9 samples'}]
    document = {'version': '1', 'machine': 'm', 'parts': {'identify': [row, *others]}}
    (tmp_path / 'bench_identify.json').write_text(json.dumps(document))
    shown = '| humanoid, regressor 6 x 130 | 20 us | **2.5 us** | 8 | P |'
    assert shown in peer_table(tmp_path)
    document['parts'] = {'identify': [row]}
    (tmp_path / 'bench_identify.json').write_text(json.dumps(document))
    with pytest.raises(InputError, match='no case matches'):
        peer_table(tmp_path)


def test_marks_must_be_there() -> None:
    with pytest.raises(InputError, match='marks'):
        filled('no marks', MEASURED)


def test_pages_of_papers_are_what_was_measured() -> None:
    made = pages()
    assert len(made) >= 3
    for path, text in made.items():
        assert path.read_text('utf-8') == text, f'{path.name}: make docs'
    named = set((ROOT / 'docs').glob('paper_*.md'))
    assert named == set(made) and len(ABOUT) == 5


def test_measurements_are_whole_and_name_no_machine() -> None:
    for path in MEASURED.glob('*.json'):
        text = path.read_text('utf-8')
        assert not re.search(r'(/tmp|/home|/root|/work)/', text), path.name
        if not path.name.startswith('bench_'):
            document = json.loads(text)
            assert not document['quick'], f'{path.name} is of a quick run'
            assert not [one['key'] for one in document['items'] if one['failed']]


def test_glossary_is_not_stale() -> None:
    stored = (ROOT / 'docs' / 'glossary.md').read_text('utf-8')
    assert stored == glossary_text(), 'make docs (veh-id parameters --glossary)'
    assert '| `Mc` |' in stored and '| `tyre_fz_fl` |' in stored and '| `p10` |' in stored


def test_every_page_stands_in_the_navigation_of_the_site() -> None:
    site = (ROOT / 'mkdocs.yml').read_text('utf-8')
    for path in (ROOT / 'docs').glob('*.md'):
        assert f'- {path.name}\n' in site, f'{path.name} is missing in mkdocs.yml'
