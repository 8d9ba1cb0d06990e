"""docs/papers.md is filled from reproduce.json, and bench thesis reads the tables rightly."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / 'bench'))

import papers as filling
import thesis

from veh_identification.reproduce import papers
from veh_identification.reproduce.driver import reproduce
from veh_identification.reproduce.paper import Item, Made, Paper, Row
from veh_identification.reproduce.sinigaglia import PAPER
from veh_identification.reproduce.workspace import Workspace


def test_a_block_is_replaced_and_nothing_else() -> None:
    def made(work: Workspace) -> Made:
        columns = tuple(filling_columns())
        return Made(columns, (Row(('x', 0.1, 0.2), 'worse'), Row(('y', float('nan'), 0.2))))

    paper = Paper('some', (), 'Some: a', '', '', (Item('table-1', 'Table 1: a', '', '', made),))
    told = reproduce(paper).document()
    text = 'a\n<!-- begin some -->\nold\n<!-- end some -->\nb\n'
    found = filling.filled(text, told)
    assert found.startswith('a\n<!-- begin some -->\n`veh-id reproduce some`, seed 0')
    assert found.endswith('\n<!-- end some -->\nb\n') and 'old' not in found
    assert '| x | 0.1 | 0.2 |' in found and '| y | - | 0.2 |' in found
    assert '| Table 1: a |  |  | 1 |  |  |' in found
    assert filling.filled(found, told) == found
    with pytest.raises(SystemExit, match='has no place for some'):
        filling.filled('a', told)


def filling_columns() -> list[object]:
    from veh_identification.reproduce.paper import Column

    return [Column('name'), Column('rms', 'paper'), Column('rms', 'ours')]


def test_the_document_has_every_table_of_every_paper() -> None:
    text = filling.DOCUMENT.read_text('utf-8')
    for paper in papers():
        place = f'<!-- begin {paper.name} -->(.*?)<!-- end {paper.name} -->'
        block = re.search(place, text, re.DOTALL)
        assert block is not None, paper.name
        assert 'QUICK' not in block[1]
        for item in paper.items:
            assert f'| {item.title} |' in block[1], (paper.name, item.key)


def test_bench_takes_the_rms_of_observer_and_thesis(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {item.key: item for item in PAPER.items}
    from veh_identification.reproduce.paper import Column
    from veh_identification.reproduce.sinigaglia import _heads

    columns = (Column('c'), Column('u'), *_heads('paper'), *_heads('ours'), Column('rms, free'))
    row = Row(('x', 'm', *(float(k) for k in range(2, 11))))
    link = (Column('c'), Column('u'), Column('e', 'paper'), *_heads('ours'))
    done = (
        SimpleNamespace(item=items['table-1'], made=Made(), failed=''),
        SimpleNamespace(
            item=items['table-2'],
            made=Made(link, (Row(('x1', 'm', '-', 3.0, 4.0, 5.0, 6.0)),)),
            failed='',
        ),
        SimpleNamespace(item=items['table-5'], made=Made(columns, (row,)), failed=''),
    )
    monkeypatch.setattr(thesis, 'reproduce', lambda paper, quick: SimpleNamespace(done=done))
    rows = {one['case']: (one['ours'], one['peer']) for one in thesis.measure(True)}
    assert rows == {
        'Table 2: x1': (5.0, 6.0),
        'Table 5, known start: x': (8.0, 4.0),
        'Table 5, unknown start: x': (10.0, 4.0),
    }
