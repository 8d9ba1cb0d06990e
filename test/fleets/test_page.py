"""The page of a fleet as text: what it leaves out it says."""

from __future__ import annotations

import builtins
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_numbers import reduction

from veh_identification.findings.numbers import number
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.output import save, summary
from veh_identification.fleets.page import page_content
from veh_identification.fleets.reduction import refused
from veh_identification.reporting.figures.fleet import from_the_others
from veh_identification.reporting.html import render
from veh_identification.reporting.pages import fleet as pages


def small(machines: int = 3, weeks: int = 5) -> Fleet:
    rng = np.random.default_rng(2)
    return Fleet(
        'car',
        tuple(
            Entry(
                f'car_{m}/{w}',
                f'car_{m}',
                None,
                reduction([1500.0 + rng.standard_normal(), 3.0], np.eye(2), w),
            )
            for m in range(machines)
            for w in range(weeks)
        ),
        options=(('dof', 20), ('check', False), ('paper_rule', True)),
    )


def test_quiet_fleet_says_so_and_how_to_look_closer() -> None:
    content = page_content(small())
    page = pages.fleet_page(content)
    assert page.summary.verdict.level == 'yes'
    assert content.single_report == (
        'veh-id identify car car_0/0 --dof 20 --paper-rule --out one_recording'
    )
    assert 'Nothing changed.' in render(page)


def test_what_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, 'MOST_POINTS', 10)
    monkeypatch.setattr(pages, 'MOST_RECORDINGS', 7)
    text = render(pages.fleet_page(page_content(small())))
    assert '4 series without changes are left out' in text
    assert '8 more recordings' in text


def test_fleet_without_any_estimate(tmp_path: Path) -> None:
    entries = tuple(
        replace(one, reduction=refused('car', 'It is empty.')) for one in small().entries
    )
    content = page_content(Fleet('car', entries))
    assert pages.fleet_page(content).summary.verdict.level == 'no'
    pages.write_fleet_page(tmp_path / 'x.html', content)


def test_distance_from_the_others() -> None:
    value = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [3.0, 5.0, 2.0], [13.0, 5.0, np.nan]])
    found = from_the_others(value)
    np.testing.assert_allclose(found[:, 0], (value[:, 0] - 2.5) / 1.4826, rtol=1e-12)
    assert np.isnan(found[:, 1:]).all()  # no spread; two machines


def test_page_terminal_and_file_tell_the_same_numbers() -> None:
    fleet = small()
    page, known = render(pages.fleet_page(page_content(fleet))), summary(fleet)
    recordings = known['recordings']
    counts = [
        sum(one['verdict'] == level for one in recordings) for level in ('yes', 'care', 'no')
    ]
    yes, care, no = counts
    assert f'{yes} yes, {care} with care, {no} no' in fleet.text
    assert f'{yes} / {care} / {no}' in page
    for machine in known['machines']:
        assert f'{machine["name"]}: {machine["recordings"]} recordings' in fleet.text
    values = [one.value[0] for one in fleet.machines]
    cells = re.findall(rf'<td data-sort="{fleet.machines[0].names[0]}".*?</tr>', page, re.DOTALL)[
        0
    ]
    assert number(float(np.median(values)), 5) in re.findall(r'<td[^>]*>([^<]*)', cells)


def test_two_machines_have_no_map_of_their_distances() -> None:
    assert 'Machines times parameters' in render(pages.fleet_page(page_content(small())))
    assert 'Machines times parameters' not in render(pages.fleet_page(page_content(small(2))))


def test_too_few_recordings_are_no_sign_that_nothing_changed() -> None:
    fleet = small(weeks=3)
    page = pages.fleet_page(page_content(fleet))
    assert page.summary.verdict.level == 'care'
    codes = [one.code for one in page.summary.verdict.findings]
    assert 'changes_not_judged' in codes and 'unchanged' not in codes
    assert 'Nothing changed.' not in render(page)
    assert 'not judged: no machine has 4 usable recordings' in fleet.text


def test_recordings_of_a_machine_that_disagree_stand_in_the_verdict() -> None:
    """Two loads, two recordings: no step over time can be told, but they do not agree."""
    entries = tuple(
        Entry(f'car_0/{w}', 'car_0', None, reduction([1500.0 + 100.0 * w, 3.0], np.eye(2), w))
        for w in range(2)
    )
    page = pages.fleet_page(page_content(Fleet('car', entries)))
    told = {one.code: one for one in page.summary.verdict.findings}
    assert page.summary.verdict.level == 'care'
    assert told['recordings_disagree'].where == 'car_0'


def test_machines_apart_are_claimed_only_where_they_were_judged() -> None:
    for machines, words in ((3, 'Yes: nothing changed.'), (6, 'no machine stands apart')):
        assert words in pages.fleet_page(page_content(small(machines))).summary.headline


def test_a_pyarrow_that_refuses_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New ones refuse NumPy 1: they are installed all the same. No old table stays behind."""

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == 'pyarrow':
            raise ImportError('pyarrow requires NumPy 2.0 or newer, found 1.26.4')
        return real(name, *rest, **more)

    real = builtins.__import__
    (tmp_path / 'parameters.parquet').write_bytes(b'old')
    monkeypatch.setattr(builtins, '__import__', refuse)
    lines = save(small(), tmp_path)
    assert any('no Parquet: pyarrow requires NumPy 2.0' in one for one in lines)
    assert not (tmp_path / 'parameters.parquet').exists()
