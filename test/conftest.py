"""Surroundings of all tests, which of them are slow, and who runs them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))  # helpers: pytest's importlib mode does not

#: Tests that `make test` leaves to `make test-slow`.
SLOW = Path(__file__).with_name('slow.txt')


@pytest.fixture(scope='session', autouse=True)
def state_of_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Live nodes keep their states where the next test run does not find them."""
    with pytest.MonkeyPatch.context() as change:
        change.setenv('XDG_STATE_HOME', str(tmp_path_factory.mktemp('state')))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--times FILE`: append the processor seconds of every test."""
    parser.addoption('--times', metavar='FILE', help='append processor seconds of every test')


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`: workers keep out of each other's folders."""
    if config.getoption('dist') != 'loadfile':
        return None
    from folder_scheduling import FolderScheduling

    return FolderScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the list names."""
    named = {line for line in SLOW.read_text().splitlines() if line and line[0] != '#'}
    for item in items:
        if item.nodeid in named:
            item.add_marker(pytest.mark.slow)


def _processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with its fixtures."""
    begin = _processor_seconds()
    yield
    if target := item.config.getoption('--times'):
        with Path(target).open('a') as file:
            file.write(f'{_processor_seconds() - begin:.2f} {item.nodeid}\n')
