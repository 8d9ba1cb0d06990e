"""The page of a comparison in a real browser: drawn, quiet, alone, readable on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_browser import NEEDS_BROWSER, asked, show

from veh_identification.findings import Finding
from veh_identification.fleets.compared import Compared, write_page
from veh_identification.fleets.crossing import Crossed, Crossing, Fit
from veh_identification.results.comparison import Stored, compare

pytestmark = NEEDS_BROWSER
NAMES = ('Mc', 'k1', '<b>h1</b>', 'Cx', 'link_with_a_long_name_4.Jxy')


def stored(path: str, value: list[float]) -> Stored:
    return Stored(
        Path(path), 'car', NAMES, ('kg',) * 5, np.array(value), np.eye(5), True, 'yes', '', (path,)
    )


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = [
        stored('data/may', [1500.0, 30.0, 2.0, 0.4, 1.0]),
        stored('data/june', [1500.5, 30.2, 2.0, 0.1, 1.0]),
        stored('data/july', [1500.5, 22.0, 2.5, 0.1, 1.0]),
    ]
    pairs = tuple(compare(results[a], results[b]) for a, b in ((0, 1), (1, 2), (0, 2)))
    fits = {'FX': Fit(12.0, 0.03), 'suspension_fl': Fit(30.0, 0.05)}
    own = {'FX': Fit(10.0, 0.025), 'suspension_fl': Fit(10.0, 0.016)}
    crossings = tuple(
        Crossing(
            (Crossed(str(one.before.path), str(one.after.path), fits, own),),
            (Finding('note', 'no_residuals', 'a recording <i>is</i> gone'),),
        )
        for one in pairs
    )
    path = tmp_path_factory.mktemp('compared') / 'page.html'
    write_page(Compared(pairs, crossings, 0.01), path)
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
    assert len(drawn) == 3 + 1 + 3  # deviations of three pairs, the trend, three ways
    assert min(drawn) > 0
    assert browser.execute_script('return document.documentElement.scrollWidth') <= width
    text = browser.execute_script("return document.querySelector('#summary').textContent")
    assert 'Is it as it was?' in text
    assert 'june to july: k1 fell by 5.8 sigma, from 30.2 to 22.0 kg, -27 %.' in text
    assert 'may to june: no change' in text
    assert 'a recording <i>is</i> gone' in text
    ways = browser.execute_script("return document.querySelector('#residuals').textContent")
    assert 'misses the data of data/june by at most 3 times' in ways


def test_the_trend_begins_with_what_changed_and_shows_what_is_asked_for(
    browser: Any, page: Path
) -> None:
    show(browser, page, 'light', 1366)
    told = "return document.querySelector('.explorer .told').textContent"
    assert browser.execute_script(told) == '3 results with 2 sigma.'
    drawn = "return document.querySelector('.explorer .canvas').data[0]"
    assert browser.execute_script(f'{drawn}.y') == [30.0, 30.2, 22.0]
    assert browser.execute_script(f'{drawn}.x') == ['may', 'june', 'july']
    browser.execute_script(
        "const part = document.querySelector('.explorer .parameter'); part.value = '<b>h1</b>';"
        "part.dispatchEvent(new Event('change'));"
    )
    assert browser.execute_script(f'{drawn}.y') == [2.0, 2.0, 2.5]
    assert browser.get_log('browser') == []
