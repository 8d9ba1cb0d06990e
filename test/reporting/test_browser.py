"""The reports in a real browser: drawn, quiet, alone, and readable on a laptop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from veh_identification.reporting.content import IdentificationContent, ObservationContent
from veh_identification.reporting.html import write_page
from veh_identification.reporting.judging.identification import judge
from veh_identification.reporting.judging.observation import judge as judge_observation
from veh_identification.reporting.pages.identification import identification_page
from veh_identification.reporting.pages.observation import observation_page

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
DRIVER = shutil.which('chromedriver')
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason='needs chromium and chromedriver'
)

DRAW = 'const done = arguments[0]; drawAll().then(() => setTimeout(() => done(true), 200));'
#: Texts of a figure that lie outside of it.
CUT = """
return [...document.querySelectorAll('.plot')].flatMap((plot) => {
  const frame = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return text.textContent && box.width > 0 && (box.left < frame.left - 1
      || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }).map((text) => `${plot.getAttribute('aria-label')}: ${text.textContent}`);
});
"""
#: Pairs of axis titles, legends and tick labels of one figure that cover each other.
OVERLAPS = """
const inside = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 1 && b.top < a.bottom - 1;
return [...document.querySelectorAll('.plot')].flatMap((plot) => {
  const parts = [...plot.querySelectorAll('.xtitle, .ytitle, .x2title, .y2title, .legend')]
    .map((part) => ({ name: part.textContent, box: part.getBoundingClientRect() }))
    .filter((part) => part.box.width > 0);
  const found = [];
  parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => {
    if (inside(a.box, b.box)) { found.push(`${a.name} / ${b.name}`); }
  }));
  return found;
});
"""


@pytest.fixture(scope='module')
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip('selenium.webdriver')
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--hide-scrollbars',
        '--disable-dev-shm-usage',
        '--window-size=1366,768',
    ):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope='module', params=['identification', 'observation'])
def page(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    identification: IdentificationContent,
    observation: ObservationContent,
) -> Path:
    made = (
        identification_page(identification, judge(identification))
        if request.param == 'identification'
        else observation_page(observation, judge_observation(observation))
    )
    return write_page(tmp_path_factory.mktemp(request.param) / 'report.html', made)


def show(browser: Any, path: Path, theme: str = 'light', width: int = 1366) -> None:
    browser.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {'width': width, 'height': 768, 'deviceScaleFactor': 1, 'mobile': False},
    )
    browser.execute_cdp_cmd(
        'Emulation.setEmulatedMedia',
        {'features': [{'name': 'prefers-color-scheme', 'value': theme}]},
    )
    browser.get_log('browser')
    browser.get_log('performance')
    browser.get(path.as_uri())
    assert browser.execute_async_script(DRAW)


@pytest.mark.parametrize('theme', ['light', 'dark'])
def test_page_is_drawn_quiet_alone_and_readable(browser: Any, page: Path, theme: str) -> None:
    show(browser, page, theme)
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.plot')]"
        ".map((plot) => plot.querySelectorAll('svg.main-svg').length);"
    )
    assert len(drawn) >= 5
    assert min(drawn) > 0
    assert browser.execute_script('return document.documentElement.dataset.theme') == theme
    assert browser.get_log('browser') == []
    events = [json.loads(entry['message'])['message'] for entry in browser.get_log('performance')]
    asked = [
        event['params']['request']['url']
        for event in events
        if event['method'] == 'Network.requestWillBeSent'
    ]
    assert page.as_uri() in asked
    assert [url for url in asked if not url.startswith(('data:', 'blob:'))] == [page.as_uri()]
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.plot svg')].map((s) => s.outerHTML).join(' ');"
    )
    assert 'rgb(1, 1, ' not in shown  # stand-ins of colours
    assert 'rgba(1, 1, ' not in shown
    assert browser.execute_script('return document.documentElement.scrollWidth') <= 1366
    assert browser.execute_script(CUT) == []
    assert browser.execute_script(OVERLAPS) == []
    bottom = browser.execute_script(
        "return document.querySelector('.statements').getBoundingClientRect().bottom"
    )
    assert bottom < 768  # the first screen answers
    assert 'Can I trust this?' in browser.execute_script(
        "return document.querySelector('.verdict').textContent"
    )


def test_narrow_screen_button_and_print(browser: Any, page: Path) -> None:
    show(browser, page, 'light', width=800)
    assert browser.execute_script('return document.documentElement.scrollWidth') <= 800
    assert browser.execute_script(CUT) == []
    theme = 'return document.documentElement.dataset.theme'
    paper = "return getComputedStyle(document.querySelector('.plot .main-svg')).background"
    before = browser.execute_script(paper)
    browser.execute_script("document.getElementById('theme').click()")
    assert browser.execute_script(theme) == 'dark'
    assert browser.execute_async_script(DRAW)
    assert browser.execute_script(paper) != before
    folded = (
        "return document.querySelectorAll('section:not(#settings) details:not([open])').length"
    )
    closed = browser.execute_script(folded)
    assert closed > 0 or 'observation' in str(page)  # an observer has nothing to fold
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(theme) == 'light'
    assert browser.execute_script(folded) == 0
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.plot svg.main-svg')]"
        '.map((part) => part.getBoundingClientRect().width);'
    )
    assert max(widths) <= 690  # what fits on A4 and letter paper
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(theme) == 'dark'
    assert browser.execute_script(folded) == closed
    assert browser.get_log('browser') == []


def test_figures_zoom_by_keyboard(
    browser: Any, tmp_path: Path, identification: IdentificationContent
) -> None:
    from selenium.webdriver.common.keys import Keys

    show(
        browser,
        write_page(
            tmp_path / 'report.html', identification_page(identification, judge(identification))
        ),
    )
    plot = browser.find_element('css selector', '#validation .plot')
    read = "return document.querySelector('#validation .plot').layout.xaxis2.range.slice();"
    before = browser.execute_script(read)
    browser.execute_script('arguments[0].focus();', plot)
    plot.send_keys('+')
    closer = browser.execute_script(read)
    assert closer[1] - closer[0] == pytest.approx(0.5 * (before[1] - before[0]))
    plot.send_keys(Keys.ARROW_RIGHT)
    moved = browser.execute_script(read)
    assert moved[0] > closer[0]
    assert moved[1] - moved[0] == pytest.approx(closer[1] - closer[0])
    plot.send_keys('0')
    assert browser.execute_script(read) == pytest.approx(before)


def test_everything_is_reached_by_the_tabulator(
    browser: Any, tmp_path: Path, identification: IdentificationContent
) -> None:
    show(
        browser,
        write_page(
            tmp_path / 'report.html', identification_page(identification, judge(identification))
        ),
    )
    left_out = browser.execute_script(
        "return [...document.querySelectorAll('a, button, summary, .plot, .scroll, pre')]"
        ".filter((part) => part.tabIndex < 0 && !part.closest('.modebar'))"
        '.map((part) => part.outerHTML.slice(0, 80));'
    )
    assert left_out == []


def test_table_sorts_by_size_with_unknown_values_last(
    browser: Any, tmp_path: Path, identification: IdentificationContent
) -> None:
    show(
        browser,
        write_page(
            tmp_path / 'report.html', identification_page(identification, judge(identification))
        ),
    )
    names = (
        "return [...document.querySelectorAll('#parameters tbody tr')]"
        '.map((row) => row.cells[0].textContent.trim());'
    )
    click = "document.querySelector('#parameters th:nth-child(8) button').click()"
    assert browser.execute_script(names) == ['Mc', 'ZZc', 'XYc', 'Cx']
    browser.execute_script(click)
    assert browser.execute_script(names) == ['XYc', 'Mc', 'ZZc', 'Cx']  # by a-priori value
    browser.execute_script(click)
    assert browser.execute_script(names) == ['ZZc', 'Mc', 'XYc', 'Cx']


def test_checks_for_cut_and_covered_texts_can_fail(browser: Any, page: Path) -> None:
    show(browser, page)
    browser.execute_script(
        "const plot = document.querySelector('.plot'); plot.style.overflow = 'visible';"
        "plot.querySelector('.ytitle').setAttribute('transform', 'translate(-200, 0)');"
    )
    assert len(browser.execute_script(CUT)) == 1
    browser.execute_script(
        "const plot = document.querySelector('.plot');"
        "const y = plot.querySelector('.ytitle').getBoundingClientRect();"
        "const x = plot.querySelector('.xtitle, .x2title').getBoundingClientRect();"
        "plot.querySelector('.ytitle').setAttribute('transform',"
        '`translate(${x.left - y.left - 200}, ${x.top - y.top})`);'
    )
    assert len(browser.execute_script(OVERLAPS)) >= 1
