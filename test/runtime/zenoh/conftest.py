from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def free_endpoint() -> str:
    """A loopback endpoint that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return f'tcp/127.0.0.1:{probe.getsockname()[1]}'


@pytest.fixture
def endpoint(free_endpoint: str) -> Iterator[str]:
    """A router of our own on a free port of the loopback interface."""
    pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')
    from veh_identification.runtime.zenoh import open_router

    with open_router(free_endpoint):
        yield free_endpoint


@pytest.fixture
def make_engine(endpoint: str) -> Iterator[Callable[..., Any]]:
    """Makes engines (each a session of its own) that are shut down after the test."""
    from veh_identification.runtime.zenoh import ZenohEngine

    engines: list[ZenohEngine] = []

    def make(**options: Any) -> ZenohEngine:
        engines.append(ZenohEngine(endpoint=endpoint, **options))
        return engines[-1]

    yield make
    for engine in engines:
        engine.shutdown()
