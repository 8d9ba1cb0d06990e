"""The framework: which tables are meant, what is written, what is refused, what a failure does."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from veh_identification.cli.main import main
from veh_identification.errors import InputError, UsageError
from veh_identification.findings import Finding
from veh_identification.reporting.content import Trace
from veh_identification.reproduce import find_paper, papers
from veh_identification.reproduce.driver import chosen, reproduce
from veh_identification.reproduce.paper import (
    SIMULATED,
    Column,
    Curve,
    Drawing,
    Item,
    Made,
    Paper,
    Row,
    compared,
)
from veh_identification.reproduce.text import table_text
from veh_identification.reproduce.workspace import Workspace

FIGURE = Drawing(
    'Error', 'speed [m/s]', 'error [mm]', (Curve('ours <b>', (0.2, 0.4), (1.0, 2.0)),)
)


def table(work: Workspace) -> Made:
    rows = (
        Row(('x', 'm', 0.1, 0.05), compared(0.1, 0.05)),
        Row(('y', 'm', 0.1, 0.3), compared(0.1, 0.3)),
        Row(('z', 'm', math.nan, 0.3), compared(math.nan, 0.3)),
    )
    columns = (Column('name'), Column('unit'), Column('rms', 'paper'), Column('rms', 'ours'))
    said = Finding('note', 'told', f'{work.pick("thorough", "quick")}, seed {work.seed}')
    return Made(columns, rows, (said,), (FIGURE,))


def broken(work: Workspace) -> Made:
    raise InputError('run0 has no topic imu/data')


def items(*extra: Item) -> tuple[Item, ...]:
    return (
        Item('table-2', 'Table II: errors', 'section 1', 'another car', table),
        Item('figures-6-12', 'Figs. 6 to 12: curves', 'section 2', 'another road', table),
        Item('section-6b', 'Section 6B: filters', 'section 6B', 'another rule', table),
        *extra,
    )


def paper(*extra: Item) -> Paper:
    return Paper('some2001', ('some',), 'Some 2001: A paper', 'Says.', 'Simulated.', items(*extra))


@pytest.mark.parametrize(
    ('name', 'key'),
    [
        ('table-2', 'table-2'),
        ('Table II', 'table-2'),
        ('table_2', 'table-2'),
        ('figure-8', 'figures-6-12'),
        ('Fig. 12', 'figures-6-12'),
        ('figures-6-12', 'figures-6-12'),
        ('section-6b', 'section-6b'),
    ],
)
def test_tables_are_found_by_the_ways_they_are_called(name: str, key: str) -> None:
    assert [item.key for item in chosen(paper(), [name])] == [key]


@pytest.mark.parametrize('name', ['table-9', 'figure-13', 'section-6c', 'table', ''])
def test_a_table_that_is_not_there_is_named_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError, match='there are: table-2, figures-6-12, section-6b'):
        chosen(paper(), [name])


def test_marks() -> None:
    assert [compared(1.0, one) for one in (0.5, 1.005, 1.5, math.nan)] == [
        'better',
        'alike',
        'worse',
        '',
    ]


def test_document_and_page_hold_the_paper_beside_ours(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    whole = reproduce(paper(), out, quick=True, seed=7)
    assert (whole.counted('better'), whole.counted('worse')) == (3, 3)
    assert sorted(one.name for one in out.iterdir()) == ['report.html', 'reproduce.json']
    told = json.loads((out / 'reproduce.json').read_text('utf-8'))
    assert (told['paper'], told['quick'], told['seed']) == ('some2001', True, 7)
    assert told['marks'] == {'better': 3, 'alike': 0, 'worse': 3, 'other': 0}
    first = told['items'][0]
    assert [one['side'] for one in first['columns']] == ['', '', 'paper', 'ours']
    assert first['rows'][1] == {'cells': ['y', 'm', 0.1, 0.3], 'mark': 'worse'}
    assert first['rows'][2]['cells'][2] is None  # what is not printed is no number
    assert first['statements'][0]['text'] == 'quick, seed 7'
    assert first['data'] == SIMULATED and SIMULATED in (out / 'report.html').read_text('utf-8')
    assert first['failed'] is None and first['remark'] == 'another car'
    page = (out / 'report.html').read_text('utf-8')
    for words in ('paper: rms', 'ours: rms', 'worse', 'another road', 'Quick run', 'error [mm]'):
        assert words in page
    assert 'ours <b>' not in page
    # single precision, packed: plotly.js unpacks it
    assert page.count('"bdata":"') == 6


def test_every_column_has_a_cell_in_the_text(tmp_path: Path) -> None:
    lines = table_text(reproduce(paper()).done[0].made).splitlines()
    assert lines[0].split() == ['name', 'unit', 'ours', 'is', 'paper:', 'rms', 'ours:', 'rms']
    assert lines[2].split() == ['y', 'm', 'worse', '0.1', '0.3']


def test_a_table_that_fails_leaves_the_others(tmp_path: Path) -> None:
    extra = Item('table-3', 'Table III: none', 'section 3', 'nothing', broken)
    whole = reproduce(paper(extra), tmp_path / 'out')
    assert [bool(one.failed) for one in whole.done] == [False, False, False, True]
    told = json.loads((tmp_path / 'out' / 'reproduce.json').read_text('utf-8'))
    assert told['items'][3]['failed'] == 'run0 has no topic imu/data'
    assert 'run0 has no topic imu/data' in (tmp_path / 'out' / 'report.html').read_text('utf-8')


def test_the_folder_is_replaced_only_where_it_is_ours(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    for _ in range(2):
        reproduce(paper(), out, only=['table-2'])
    (out / 'reproduce.json').write_text('{', 'utf-8')  # damaged, still ours
    reproduce(paper(), out, only=['table-2'])
    assert json.loads((out / 'reproduce.json').read_text('utf-8'))['items']
    (out / 'thesis.txt').write_text('three years of work', 'utf-8')
    with pytest.raises(InputError, match=r"holds 'thesis.txt'"):
        reproduce(paper(), out)
    assert (out / 'thesis.txt').read_text('utf-8') == 'three years of work'
    with pytest.raises(InputError, match='is a file, expected a folder'):
        reproduce(paper(), out / 'thesis.txt')


def test_seeds_count_from_zero() -> None:
    with pytest.raises(UsageError, match='must not be negative'):
        reproduce(paper(), seed=-1)


def test_each_result_is_made_once(tmp_path: Path) -> None:
    work, made = Workspace(tmp_path), []
    for _ in range(2):
        assert work.once('a', lambda: made.append(1) or 'b') == 'b'
    assert made == [1]


def test_papers_are_listed_and_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['reproduce', '--list']) == 0
    listed = capsys.readouterr().out
    for one in papers():
        assert one.name in listed and find_paper(one.name.upper()) is one
        assert all(item.key in listed and item.remark and item.where for item in one.items)
        assert len({item.key for item in one.items}) == len(one.items)
        assert 'imulated' in one.data
    assert main(['reproduce', 'venture2007']) == 2
    assert 'did you mean venture2006?' in capsys.readouterr().err
    assert main(['reproduce', 'venture2006', '--only', 'table-9']) == 2
    assert 'table-9' in capsys.readouterr().err
    assert main(['reproduce']) == 2


def test_a_page_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    time = [0.0, 1.0, 2.0]
    trace = Trace('FX', 'N', time, time, time)  # type: ignore[arg-type]
    one = Item('figure-1', 'Fig. 1: forces', 'p. 1', 'none', lambda work: Made(figures=(trace,)))
    with pytest.raises(TypeError):
        reproduce(Paper('a', (), 'A: b', '', '', (one,)), tmp_path / 'out')
    assert not (tmp_path / 'out').exists()  # both files or none
