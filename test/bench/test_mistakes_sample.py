"""Rows of the table of mistakes that are drawn by chance and made again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
import mistakes
from mistaken import sample

KEYS = [
    (system, k, way, f'mistake {number}')
    for system in ('car', 'robot')
    for k in (0, 1)
    for way in ('offline', 'live')
    for number in range(20)
] + [('handling', 0, 'offline', f'mistake {number}') for number in range(5)]


def test_as_many_of_each_system_and_way_the_same_for_a_seed() -> None:
    found = sample.drawn(KEYS, 10, 7)
    assert len(set(found)) == len(found) == 25
    for system, way, count in (('car', 'live', 5), ('robot', 'offline', 5),
                               ('handling', 'offline', 5)):  # fmt: skip
        assert sum((key[0], key[2]) == (system, way) for key in found) == count
    assert set(sample.drawn(KEYS[::-1], 10, 7)) == set(found)
    assert set(sample.drawn(KEYS, 10, 8)) != set(found)
    alone = [key for key in KEYS if key[0] == 'robot']
    assert set(sample.drawn(alone, 10, 7)) == {key for key in found if key[0] == 'robot'}


@pytest.mark.parametrize(
    ('right', 'total', 'low', 'high'),
    [(10, 10, 0.6915, 1.0), (0, 10, 0.0, 0.3085), (81, 100, 0.7193, 0.8816)],
)
def test_interval(right, total, low, high) -> None:
    assert sample.interval(right, total) == pytest.approx((low, high), abs=5e-4)


def test_drawn_rows_alone_are_made_and_say_what_they_were(monkeypatch) -> None:
    asked = []

    def one_recording(job):
        titles = [f'mistake {number}' for number in range(20)]
        for title, way in job.missing(titles):
            asked.append((job.system, job.recording, way, title))
            yield mistakes._row(job.system, job.recording, way, title, 'silent', '')

    monkeypatch.setattr(mistakes, 'one_recording', one_recording)
    stored = [
        dict(zip(mistakes.ROW, (*key, 'named', '', 'abc'), strict=True)) for key in sorted(KEYS)
    ]
    made = list(mistakes.again(stored, ['car'], 6, 3))
    assert set(asked) == set(sample.drawn([k for k in KEYS if k[0] == 'car'], 6, 3))
    assert {(row['was'], row['was_code'], row['result']) for row in made} == {
        ('named', 'abc', 'silent')
    }
    text = '\n'.join(sample.section(made))
    assert '| car | offline | 3 | 0 (0 %) | 0 to 71 % | 0 | 0 | 0 | 3 | 3 |' in text
    assert '6 of 6 rows came out as another than stored' in text
    assert not list(mistakes.again(stored, ['car'], 6, 3, made))


def test_later_mistakes_as_first_run_and_after_mending() -> None:
    first = [
        dict(zip(mistakes.ROW, ('car', 20, 'live', title, result, what, 'abc'), strict=True))
        for title, result, what in (
            ('', 'clean', ''),
            ('a', 'named', ''),
            ('b', 'silent', 'Mc 9 sigma'),
            ('c', 'refused', 'no | pose'),
        )
    ]
    mended = [{**first[2], 'result': 'named', 'what': '', 'code': 'def'}]
    lines = sample.later_section(first, mended)
    assert '| car | live | 3 | 1 | 0 | 1 | 0 | 0 | 1 | 1, 0 |' in lines
    told = '| car | live | b | SILENT (Mc 9 sigma) | right cause named, by def |'
    assert told in lines and '| car | live | c | refused |  |' in lines
