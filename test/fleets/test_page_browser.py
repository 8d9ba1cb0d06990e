"""The page of a fleet in a real browser: drawn, quiet, alone, readable on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_browser import NEEDS_BROWSER, asked, show
from fleet_numbers import reduction

from veh_identification.findings import Finding
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.page import page_content
from veh_identification.fleets.reduction import refused
from veh_identification.reporting.pages.fleet import write_fleet_page

pytestmark = NEEDS_BROWSER
NAMES = ('Mc', 'k1', 'k2', '<b>h1</b>', 'Cx')
TRUTH = np.array([1500.0, 30_000.0, 28_000.0, 2_000.0, 0.4])


def fleet(machines: int, weeks: int) -> Fleet:
    """Cars of which one has a weaker spring from half of the time on and one is too heavy."""
    rng = np.random.default_rng(1)
    entries = []
    for machine in range(machines):
        truth = TRUTH * (1.0 + 0.01 * rng.standard_normal(5))
        truth[0] += 300.0 * (machine == 2)
        for week in range(weeks):
            now = truth.copy()
            now[1] *= 0.98 if machine == 3 and week >= weeks // 2 else 1.0
            std = 0.004 * TRUTH
            verdict = 'no' if week == 1 else 'yes'
            why = (Finding('bad', 'swapped', 'sensors <i>1</i> and 2 are swapped'),)
            entries.append(
                Entry(
                    f'/data/car_{machine}/week_{week}',
                    f'car_{machine}',
                    None,
                    reduction(
                        now + std * rng.standard_normal(5),
                        np.diag(std**2),
                        7 * week,
                        NAMES,
                        verdict=verdict,
                        findings=why if verdict == 'no' else (),
                    ),
                    report='recordings/x/report.html' if week == 0 else '',
                )
            )
    entries.append(Entry('/data/car_0/</script>', 'car_0', None, refused('car', 'It is empty.')))
    return Fleet('car', tuple(entries))


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('fleet') / 'fleet.html'
    write_fleet_page(path, page_content(fleet(12, 200)))
    return path


@pytest.mark.parametrize(('theme', 'width'), [('light', 1366), ('dark', 390)])
def test_page_is_drawn_quiet_alone_and_fits(
    browser: Any, page: Path, theme: str, width: int
) -> None:
    show(browser, page, theme, width)
    assert browser.get_log('browser') == []
    assert asked(browser) == [page.as_uri()]
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.plot, .canvas')]"
        ".map((plot) => plot.querySelectorAll('svg.main-svg').length);"
    )
    assert len(drawn) == 3  # one change, the map, the series
    assert min(drawn) > 0
    assert browser.execute_script('return document.documentElement.dataset.theme') == theme
    assert browser.execute_script('return document.documentElement.scrollWidth') <= width
    rows = "return [...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)"
    assert max(browser.execute_script(rows)) < 160  # sentences in a column of a few letters
    text = browser.execute_script("return document.querySelector('#summary').textContent")
    assert 'Is the fleet as it was?' in text
    assert 'car_3: k1 fell from' in text
    assert 'car_2: Mc is' in text
    assert browser.execute_script("return document.querySelectorAll('#machines b').length") == 0


def test_series_are_drawn_as_they_are_asked_for(browser: Any, page: Path) -> None:
    show(browser, page, 'light', 1366)
    told = "return document.querySelector('.explorer .told').textContent"
    # It begins with the clearest change: 200 recordings, of which one takes no part.
    assert browser.execute_script(told).startswith('199 recordings with 2 sigma. Shaded')
    choose = (
        "const part = document.querySelector('.explorer .{0}'); part.value = '{1}';"
        "part.dispatchEvent(new Event('change'));"
    )
    browser.execute_script(choose.format('machine', ''))
    assert browser.execute_script(told) == '12 machines.'
    browser.execute_script(choose.format('parameter', 'Cx'))
    lines = "return document.querySelector('.explorer .canvas').data.map((one) => one.y.length)"
    assert browser.execute_script(lines) == [199] * 12
    title = "return document.querySelector('.explorer .ytitle').textContent"
    assert browser.execute_script(title) == 'Cx [kg]'
    assert browser.get_log('browser') == []


def test_recordings_page_by_page_and_by_search(browser: Any, page: Path) -> None:
    show(browser, page, 'light', 1366)
    rows = (
        "return [...document.querySelectorAll('.listing tbody tr')].map((row) => row.innerText);"
    )
    place = "return document.querySelector('.listing .place').textContent"
    first = browser.execute_script(rows)
    assert len(first) == 50
    assert 'It is empty.' in first[0]  # the worst first
    assert '</script>' in first[0]
    assert 'sensors <i>1</i> and 2 are swapped' in first[1]
    assert browser.execute_script(place) == '2401 recordings, page 1 of 49'
    browser.execute_script("document.querySelector('.listing .on').click()")
    assert browser.execute_script(place) == '2401 recordings, page 2 of 49'
    browser.execute_script(
        "const part = document.querySelector('.listing .search'); part.value = 'CAR_3/week_0';"
        "part.dispatchEvent(new Event('input'));"
    )
    assert browser.execute_script(place) == '1 recordings, page 1 of 1'
    link = "return document.querySelector('.listing tbody a').getAttribute('href')"
    assert browser.execute_script(link) == 'recordings/x/report.html'
    assert browser.get_log('browser') == []
