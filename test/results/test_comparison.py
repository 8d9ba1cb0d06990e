"""What changed between two results: alarms where something did, none by chance."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from veh_identification.cli.main import main
from veh_identification.errors import InputError
from veh_identification.findings.numbers import beside, number
from veh_identification.results.comparison import (
    Stored,
    compare,
    covariance_entries,
    holm,
    load,
)
from veh_identification.saved_state import write_state

NAMES = tuple(f'k{i}' for i in range(20))


def correlated(random: np.random.Generator, size: int = 20) -> np.ndarray:
    """A covariance as estimates have it: scales and correlations of all sizes."""
    mix = random.normal(size=(size, size))
    scales = 10.0 ** random.uniform(-2, 2, size)
    covariance = mix @ mix.T / size + 0.05 * np.eye(size)
    return np.asarray(covariance * np.outer(scales, scales))


def result(value: np.ndarray, covariance: np.ndarray, path: str = 'a', **more: object) -> Stored:
    fields = {
        'path': Path(path),
        'system': 'car',
        'names': NAMES,
        'units': ('N/m',) * len(NAMES),
        'value': value,
        'covariance': covariance,
        'correlated': True,
        'verdict': 'yes',
        'created': '',
        'bags': (path,),
    }
    return Stored(**{**fields, **more})  # type: ignore[arg-type]


def pair(random: np.random.Generator, change: np.ndarray | None = None) -> tuple[Stored, Stored]:
    first, second = correlated(random), correlated(random)
    truth = 100.0 * random.normal(size=20)
    other = truth if change is None else truth + change * np.sqrt(np.diag(first + second))
    return (
        result(random.multivariate_normal(truth, first), first),
        result(random.multivariate_normal(other, second), second, 'b'),
    )


def test_false_alarms_come_as_often_as_stated() -> None:
    """Of 1000 unchanged pairs at 2 %: each of the two tests 20 expected, 36 is 3.6 sigma."""
    random = np.random.default_rng(5)
    found = [compare(*pair(random), 0.02) for _ in range(1000)]
    assert 2 <= sum(bool(one.changed) for one in found) <= 36
    assert 6 <= sum(one.probability < 0.02 for one in found) <= 36


def test_a_change_is_found_named_and_dated() -> None:
    random = np.random.default_rng(6)
    change = np.zeros(20)
    change[3] = -7.0
    found = [compare(*pair(random, change)) for _ in range(100)]
    assert sum(one.changed[:1] == [] or one.changed[0].name != 'k3' for one in found) == 0
    assert found[0].changed[0].sentence.startswith('k3 fell by ')
    assert not found[0].as_dict()['pass']


def test_correlations_show_what_no_single_parameter_does() -> None:
    """Two springs known only in sum: both up by one sigma is many sigmas of the sum."""
    covariance = np.array([[1.0, -0.999], [-0.999, 1.0]])
    names = {'names': ('a', 'b'), 'units': ('N/m', 'N/m')}
    before = result(np.zeros(2), covariance, **names)
    after = result(np.array([1.0, 1.0]), covariance, 'b', **names)
    found = compare(before, after)
    assert not found.changed and found.different
    assert 'all together differ' in found.headline
    apart = compare(
        result(np.zeros(2), np.eye(2), **names), result(np.array([1.0, 1.0]), np.eye(2), **names)
    )
    assert not apart.different


def test_what_cannot_be_compared_is_said() -> None:
    random = np.random.default_rng(7)
    before, after = pair(random)
    with pytest.raises(InputError, match='nothing to compare'):
        compare(before, result(after.value, after.covariance, system='humanoid'))
    others = tuple(f'x{i}' for i in range(20))
    with pytest.raises(InputError, match='no parameter in common'):
        compare(before, result(after.value, after.covariance, names=others))
    same = compare(before, result(after.value, after.covariance, bags=('a',), verdict='no'))
    assert {one.code for one in same.findings} == {'shared_recordings', 'bad_result'}


def test_holm_is_bonferroni_for_the_first_and_stops_at_the_first_failure() -> None:
    found = holm(np.array([0.004, 0.9, 0.006, 0.02]), 0.02)
    assert found.tolist() == [True, False, True, False]  # 0.005, 0.0067, 0.01 (fails)


def write_result(path: Path, k1: float, std: float = 1.0, *, correlations: bool = True) -> Path:
    path.mkdir()
    rows = [
        {'name': 'k1', 'unit': 'N/m', 'value': k1, 'std': std},
        {'name': 'h1', 'unit': 'N s/m', 'value': 5.0, 'std': None},
    ]
    document = {
        'system': 'car',
        'parameters': rows,
        'verdict': {'level': 'yes'},
        'input': {'bags': [str(path)]},
    }
    (path / 'parameters.json').write_text(json.dumps(document))
    if correlations:
        entries = covariance_entries(['k1', 'h1'], np.diag([std**2, np.nan]))
        write_state(path / 'covariance.npz', entries)
    return path


def test_the_command_tells_what_changed_and_is_a_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    may = write_result(tmp_path / 'may', 1000.0)
    june = write_result(tmp_path / 'june', 1000.5)
    july = write_result(tmp_path / 'july', 990.0)
    words = ['compare', str(may), str(june), '--strict']
    assert main(words) == 0
    assert 'no change' in capsys.readouterr().out
    out = tmp_path / 'gate.json'
    assert main([*words, str(july), '--json', str(out)]) == 3
    told = capsys.readouterr().out
    assert f'{june} -> {july}: k1 fell by 7.4 sigma' in told
    assert f'{may} -> {july}: k1 fell by 7.1 sigma' in told
    assert [one['pass'] for one in json.loads(out.read_text())] == [True, False, False]


def test_an_old_result_without_correlations_still_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write_result(tmp_path / 'old', 1.0, correlations=False)
    assert not load(old).correlated
    assert main(['compare', str(old), str(write_result(tmp_path / 'new', 1.0))]) == 0
    assert 'holds no correlations' in capsys.readouterr().out
    (tmp_path / 'new' / 'parameters.json').write_text('{"system": "car"}')
    assert main(['compare', str(old), str(tmp_path / 'new')]) == 1
    assert 'not a result of veh-id identify' in capsys.readouterr().err


def test_page_terminal_and_file_tell_the_same_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    may = write_result(tmp_path / 'may', 1000.0)
    july = write_result(tmp_path / 'july', 990.04)
    page, out = tmp_path / 'page.html', tmp_path / 'pair.json'
    words = ['compare', str(may), str(july), '--report', str(page), '--no-residuals']
    assert main([*words, '--json', str(out), '--all']) == 0
    ((row,),) = [one['parameters'] for one in json.loads(out.read_text())]
    before, after = (beside(row[key], row[f'{key}_std']) for key in ('before', 'after'))
    told = f'{before} -> {after} N/m  ({number(row["sigmas"], 2)} sigma'
    assert told in capsys.readouterr().out
    cells = re.findall(r'<td data-sort="k1".*?</tr>', page.read_text('utf-8'), re.DOTALL)
    shown = [re.findall(r'<td[^>]*>([^<]*)', one) for one in cells]
    assert shown and all(before in one and after in one for one in shown)
    assert all(f'>{number(row["sigmas"], 2)}<' in one for one in cells)
