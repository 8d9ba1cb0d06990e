"""bench thesis reads the tables of `veh-id reproduce sinigaglia` rightly."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / 'bench'))

import thesis

from veh_identification.reproduce.paper import Column, Made, Row
from veh_identification.reproduce.sinigaglia import PAPER, _heads


def test_bench_takes_the_rms_of_observer_and_thesis(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {item.key: item for item in PAPER.items}

    columns = (
        Column('c'),
        Column('u'),
        *_heads('paper'),
        *_heads('ours'),
        Column('rms, free'),
        Column('rms, --thesis'),
    )
    row = Row(('x', 'm', *(float(k) for k in range(2, 12))))
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
        'Table 5, its own observer: x': (11.0, 4.0),
    }
