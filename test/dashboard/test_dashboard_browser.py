"""The page in a real browser: it follows, stays quiet and alone, fits, and does not grow."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veh_identification.dashboard import Collector, DashboardServer
from veh_identification.dashboard.collector import ESTIMATES
from veh_identification.dashboard.history import History
from veh_identification.dashboard.sources import SourceState

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
DRIVER = shutil.which('chromedriver')
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason='needs chromium and chromedriver'
)
#: What somebody could put into a message to reach beyond the machine.
EVIL = '<img src="http://evil.example/x.png" onerror="alert(1)">'
COVARIANCE = np.diag([0.04, 0.01, 1, 1, 1, 0.001]).ravel()
VALUE = "return document.querySelector('.parameter .value').textContent"
#: Canvases on which nothing is drawn.
BLANK = """
return [...document.querySelectorAll('canvas')].filter((canvas) => canvas.clientWidth > 0)
  .filter((canvas) => !canvas.width || !canvas.getContext('2d')
    .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))
  .map((canvas) => canvas.getAttribute('aria-label'));
"""


@pytest.fixture(scope='module')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip('selenium.webdriver')
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--disable-dev-shm-usage',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
        '--hide-scrollbars',
        f'--user-data-dir={tmp_path_factory.mktemp("profile")}',
    ):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@contextmanager
def page(browser: Any, collector: Collector, width: int = 1280, theme: str = 'light') -> Any:
    browser.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': False},
    )
    browser.execute_cdp_cmd(
        'Emulation.setEmulatedMedia',
        {'features': [{'name': 'prefers-color-scheme', 'value': theme}]},
    )
    browser.get('about:blank')
    browser.get_log('browser')
    browser.get_log('performance')
    with DashboardServer(collector, SourceState('zenoh', 'test').as_dict) as serving:
        browser.get(serving.url)
        wait(browser, 'return window.dashboard !== undefined && window.dashboard.events > 0')
        yield serving


def wait(browser: Any, condition: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not browser.execute_script(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.05)


def drive(talker: Any, at: float) -> None:
    """One report of everything that a page can show."""
    wobble = 5.0 / (1.0 + at)
    talker.estimate(
        at,
        {f'parameter_{k}': (1500.0 + k + wobble, 0.5 * wobble) for k in range(12)},
        advice=f'brake harder {EVIL}',
        verdict='care',
    )
    facts = {
        'verdict': 'care',
        'headline': 'With care: 1 reservation.',
        'finding: evil': EVIL,
        'latency p50 [ms]': '1.2',
        'latency p99 [ms]': '3.4',
        'latency worst [ms]': '9.9',
        'real-time factor': '6.0',
    }
    counts = {'topic': '/imu/' + 'long_name_' * 5, 'received': f'{10 * at:.0f}'}
    aside = {**counts, 'finding: set_aside': 'set aside', 'rate [Hz]': '49.9'}
    rows = {f'sensor_{k}': (0, 'ok', counts) for k in range(8)}
    talker.diagnostics(at, facts, {**rows, 'gps': (1, 'set aside', aside)}, level=1)
    talker.odometry(at, 10.0 * np.cos(0.1 * at), 10.0 * np.sin(0.1 * at), COVARIANCE)


@pytest.mark.parametrize(('width', 'theme'), [(1280, 'light'), (1280, 'dark'), (400, 'dark')])
def test_everything_is_shown_quietly_and_alone(
    browser: Any, talker: Any, collector: Collector, width: int, theme: str
) -> None:
    for k in range(20):
        drive(talker, float(k))
    with page(browser, collector, width, theme) as serving:
        wait(browser, "return document.querySelectorAll('.parameter').length === 12")
        # the second one is asked for when all is drawn
        browser.execute_async_script(
            'const done = arguments[0];'
            'requestAnimationFrame(() => requestAnimationFrame(() => done()));'
        )
        text = browser.execute_script('return document.body.innerText')
        for told in (
            'With care: 1 reservation.',
            'Next: brake harder',
            '1500.25 ± 0.13 kg',
            'gps',
            'set aside',
            '49.9 Hz' if width > 600 else 'sensor_7',
            '9.9 ms',
            '490 × 245 mm',  # 95 % of 0.2 m and 0.1 m
            EVIL,
        ):
            assert told in text.replace('\n', ' '), told
        lamps = "return [...document.querySelectorAll('.lamps .lamp')].map((one) => one.className)"
        assert browser.execute_script(lamps) == ['lamp good'] * 8 + ['lamp warn']
        assert browser.execute_script(BLANK) == []
        assert browser.execute_script('return document.documentElement.dataset.theme') == theme
        assert browser.execute_script('return document.documentElement.scrollWidth') <= width
        assert browser.execute_script("return document.querySelectorAll('img').length") == 0
        assert browser.get_log('browser') == []
        asked = requests(browser)
        assert f'{serving.url}events' in asked
        assert [url for url in asked if not url.startswith(serving.url)] == []


def requests(browser: Any) -> list[str]:
    """Addresses asked for by pages of ours; the browser's own start page is not one."""
    events = [json.loads(entry['message'])['message'] for entry in browser.get_log('performance')]
    asked = [
        event['params']['request']['url']
        for event in events
        if event['method'] == 'Network.requestWillBeSent'
    ]
    return [url for url in asked if not url.startswith(('chrome:', 'about:', 'data:'))]


def test_estimates_are_followed_at_two_hertz_or_faster(
    browser: Any, talker: Any, collector: Collector
) -> None:
    drive(talker, 0.0)
    with page(browser, collector):
        wait(browser, "return document.querySelector('.parameter') !== null")
        browser.execute_script(
            'window.changes = [];'
            'new MutationObserver(() => window.changes.push(performance.now())).observe('
            "document.querySelector('.parameter .value'),"
            '{ childList: true, characterData: true, subtree: true });'
        )
        ended = threading.Event()

        def talk() -> None:
            at = 0.0
            while not ended.wait(0.05):
                at += 1.0
                drive(talker, at)

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            wait(browser, 'return window.changes.length >= 9')
        finally:
            ended.set()
            thread.join()
        changes = browser.execute_script('return window.changes')
        rate = (len(changes) - 1) * 1000.0 / (changes[-1] - changes[0])
        assert rate > 2.0
        assert browser.get_log('browser') == []


def test_memory_does_not_grow_with_the_messages(
    browser: Any, talker: Any, collector: Collector
) -> None:
    capacity = History().capacity
    sizes, counts = [], []
    with page(browser, collector):
        for first in (0, 1500, 3000, 4500):
            for k in range(first, first + 1500):
                drive(talker, float(k))
            value = f'{1500 + 5.0 / (first + 1500):.4f}'
            wait(browser, f"return document.body.innerText.includes('{value}')")
            browser.execute_cdp_cmd('HeapProfiler.collectGarbage', {})
            sizes.append(browser.execute_cdp_cmd('Runtime.getHeapUsage', {})['usedSize'])
            counts.append(browser.execute_script("return document.querySelectorAll('*').length"))
            assert browser.execute_script('return window.dashboard.rows()') <= 3 * capacity
        assert counts[0] == counts[-1]
        assert sizes[-1] - sizes[0] < 1_500_000, sizes
        assert browser.get_log('browser') == []


def test_numbers_have_the_digits_that_their_deviation_deserves(
    browser: Any, collector: Collector
) -> None:
    shown = {
        (1534.5762, 1.7375): '1534.6',
        (0.0057912, 0.0030): '0.0058',
        (-477.21, 1.1): '-477.2',
        (1e-15, 0.1): '0.00',
        (2.6e-7, 1.3e-8): '2.60e-7',
        (123456789.0, 0.0): '1.235e+8',
        (0.0, 1.0): '0',
    }
    with page(browser, collector):
        for (value, step), text in shown.items():
            found = browser.execute_script(f'return plots.digits({value}, {step})')
            assert found == text, (value, step)


def test_what_is_not_excited_can_be_hidden(
    browser: Any, talker: Any, collector: Collector
) -> None:
    message = talker.estimate(0.0, {'known': (5.0, 0.1), 'unseen': (1.0, 9.0)})
    message.parameters[1].excited = False
    collector.take('/car/parameters', ESTIMATES, message, 0)
    names = (
        "return [...document.querySelectorAll('.parameter')].filter((one) => one.clientWidth > 0)"
        ".map((one) => one.querySelector('.top').innerText.split('\\n').join(' '))"
    )
    with page(browser, collector):
        assert browser.execute_script(names) == ['known 1 %', 'unseen not excited']
        browser.execute_script("document.querySelector('.choice input').click()")
        assert browser.execute_script(names) == ['known 1 %']
        assert browser.get_log('browser') == []


def test_a_program_that_is_gone_is_said_and_another_followed(
    browser: Any, talker: Any, collector: Collector, clock: Any
) -> None:
    drive(talker, 0.0)
    with page(browser, collector) as serving:
        assert browser.execute_script("return document.getElementById('trouble').hidden")
    wait(browser, "return !document.getElementById('trouble').hidden")
    told = browser.execute_script("return document.getElementById('trouble').textContent")
    assert told.startswith('The program does not answer. What stands here is of ')
    fresh = Collector(clock)
    other = type(talker)(fresh, '/ns/other')
    other.diagnostics(0.0, {'verdict': 'yes', 'headline': 'Yes.'})
    titles = (
        "return [...document.querySelectorAll('section:not([hidden]) h2')]"
        '.map((one) => one.innerText.trim())'
    )
    with DashboardServer(fresh, SourceState('zenoh', 'test').as_dict, port=serving.port):
        wait(browser, "return document.getElementById('trouble').hidden")
        wait(browser, 'return window.dashboard.rows() === 0')
        # what was there before would look alive; diagnostics carry no namespace
        assert browser.execute_script(titles) == ['/other']
        other.estimate(0.0, {'Mc': (1.0, 0.1)})
        wait(browser, 'return window.dashboard.rows() === 1')
        assert browser.execute_script(titles) == ['/ns/other']


def test_a_silent_node_is_marked_and_the_theme_changes(
    browser: Any, talker: Any, collector: Collector, clock: Any, tmp_path: Path
) -> None:
    drive(talker, 0.0)
    with page(browser, collector):
        stale = "return document.querySelector('.node').classList.contains('stale')"
        assert not browser.execute_script(stale)
        clock.seconds = 10.0
        wait(browser, stale)
        assert 'not heard for 10 s' in browser.execute_script('return document.body.innerText')
        browser.execute_script("document.getElementById('theme').click()")
        assert browser.execute_script('return document.documentElement.dataset.theme') == 'dark'
        left_out = browser.execute_script(
            "return [...document.querySelectorAll('a, button, summary, select, .scroll')]"
            '.filter((part) => part.tabIndex < 0).length'
        )
        assert left_out == 0, 'everything is reached by the tabulator'
