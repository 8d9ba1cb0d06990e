"""Pages in a real browser, for the tests of this folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
DRIVER = shutil.which('chromedriver')
NEEDS_BROWSER = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason='needs chromium and chromedriver'
)


def started() -> Iterator[Any]:
    """A browser without a screen that logs what it is asked for."""
    webdriver = pytest.importorskip('selenium.webdriver')
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def show(browser: Any, path: Path, theme: str, width: int) -> None:
    browser.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {'width': width, 'height': 768, 'deviceScaleFactor': 1, 'mobile': width < 500},
    )
    browser.execute_cdp_cmd(
        'Emulation.setEmulatedMedia',
        {'features': [{'name': 'prefers-color-scheme', 'value': theme}]},
    )
    browser.get_log('browser')
    browser.get_log('performance')
    browser.get(path.as_uri())
    assert browser.execute_async_script(
        'const done = arguments[0]; drawAll().then(() => setTimeout(() => done(true), 100));'
    )


def asked(browser: Any) -> list[str]:
    """Everything that the page loaded from somewhere."""
    events = [json.loads(entry['message'])['message'] for entry in browser.get_log('performance')]
    urls = [
        event['params']['request']['url']
        for event in events
        if event['method'] == 'Network.requestWillBeSent'
    ]
    return [url for url in urls if not url.startswith(('data:', 'blob:'))]
