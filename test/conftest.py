"""Surroundings of all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope='session', autouse=True)
def state_of_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Live nodes keep their states where the next test run does not find them."""
    with pytest.MonkeyPatch.context() as change:
        change.setenv('XDG_STATE_HOME', str(tmp_path_factory.mktemp('state')))
        yield
