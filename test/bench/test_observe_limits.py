"""Limits of `veh-id bench observe`: which cases, how long, and nothing twice."""

from __future__ import annotations

import math
import sys

import pytest

from veh_identification.errors import UsageError
from veh_identification.runtime.share import share_directory

sys.path.insert(0, str(share_directory() / 'bench'))

from observe import road, table
from observe.score import STATES, Score

from veh_identification.cli.main import main


def figures(rms: float) -> Score:
    """A score whose numbers are all alike."""
    nees = dict.fromkeys(STATES, 1.0)
    values = dict.fromkeys(Score.__dataclass_fields__, rms)
    return Score(**values | {'nees': nees})


@pytest.fixture
def driven(monkeypatch):
    """Drives that were asked for, each judged at once; lock is twice as bad, the third fails."""
    asked = []

    def judge(case, seed, duration):
        asked.append((case.name, seed, duration))
        rms = 0.2 if 'lock' in case.faults else 0.1
        score = None if seed == 2 else figures(rms)
        one = road.Judged(score, frozenset({'a_word'} if case.faults else ()), '', {'gps': 0.0})
        return dict.fromkeys(road.METHODS, one)

    monkeypatch.setattr(road, 'judge', judge)
    return asked


def test_cases_are_chosen_by_parts_of_their_names():
    names = [case.name for case in road.Limits(cases='spin, lock').chosen()]
    assert len(names) == 4 and all('spin' in name or 'lock' in name for name in names)
    assert len(road.Limits().chosen()) == len(road.CASES)
    assert road.Limits(cases='nominal').chosen() == []
    with pytest.raises(UsageError, match='no case holds'):
        road.Limits(cases='comet').chosen()


def test_what_is_kept_is_not_driven_again(driven, tmp_path, capsys):
    limits = road.Limits(2, 30.0, 'rear wheels lock', resume=str(tmp_path / 'kept.jsonl'))
    first = road.road_rows(limits)
    assert driven == [
        *(('nominal', seed, 30.0) for seed in (0, 1)),
        *(('rear wheels lock 1 s', seed, 30.0) for seed in (0, 1)),
    ]
    assert [row['to_nominal'] for row in first] == [1.0, pytest.approx(2.0)]
    assert [row['met'] for row in first] == [True, False]
    assert road.road_rows(limits) == first and len(driven) == 4
    more = road.road_rows(road.Limits(3, 30.0, 'rear wheels lock', resume=limits.resume))
    assert len(driven) == 6 and more[1]['drives'] == 3 and more[1]['ours'] is None  # one failed


def test_the_table_of_the_cases(driven, tmp_path, capsys):
    file = tmp_path / 'table.md'
    road.road_rows(road.Limits(2, 30.0, 'rear wheels lock', markdown=str(file)))
    lines = file.read_text('utf-8').splitlines()
    assert '2 drives of 30 s a case' in lines[0]
    head, _, nominal, lock = ([c.strip() for c in line.split('|')[1:-1]] for line in lines[2:])
    assert head[5:-2] == list(STATES) and len(nominal) == len(head) == len(lock)
    assert nominal[:5] == ['nominal', '0.100', '0.100', '0.100', '1']
    assert lock[4] == '2' and lock[-2:] == ['says a_word', 'no']
    road.road_rows(road.Limits(3, 30.0, 'rear wheels lock', markdown=str(file)))
    assert 'failed' in file.read_text('utf-8').splitlines()[-1]


def test_a_covariance_that_is_not_true_is_in_bold():
    row = {
        'case': 'a',
        'ours': 0.1,
        'fusion': None,
        'peer': 0.2,
        'to_nominal': 1.0,
        'nees': {'x': 1.0, 'y': 3.0, 'z': None},
        'failures': [],
        'words': ['', 'says b'],
        'silent': 1,
        'drives': 2,
        'met': True,
        'drift': 0.004,
    }
    text = table.markdown([row], 60.0).splitlines()[-1]
    assert text.startswith('| a | 0.100, drift 0.40 % | failed | 0.200 | 1 | 1 | **3** | - |')
    assert text.endswith('| says b; silent on 1 of 2 | yes |')


def test_nothing_is_started_after_the_time(driven, tmp_path, capsys):
    assert road.road_rows(road.Limits(2, minutes=-1.0)) == []
    assert driven == [] and 'nominal: not driven, the time is over' in capsys.readouterr().out
    assert math.isinf(road.Limits().minutes)


@pytest.mark.parametrize(
    'arguments, sentence',
    [
        (['bench', '--drives=2'], '--drives=2 is not known here'),
        (['bench', 'thesis', '--cases', 'spin'], '--cases is not known here'),
        (['bench', 'observe_starts', '--cases', 'spin'], 'unrecognized arguments: --cases spin'),
    ],
)
def test_limits_that_nobody_takes_are_refused(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
