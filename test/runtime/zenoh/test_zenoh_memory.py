"""A process that opens and closes sessions gives their memory back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

pytest.importorskip('zenoh')
STATM = Path('/proc/self/statm')
SESSIONS = 4


def resident_mb() -> float:
    """Of this process, now."""
    return int(STATM.read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20


@pytest.mark.skipif(not STATM.exists(), reason='memory of the process is read from /proc')
def test_sessions_with_large_messages_leave_nothing(free_endpoint: str) -> None:
    """16 MB stayed of each session in shared memory."""
    from veh_identification.runtime.zenoh_engine.session import open_router, open_session

    def pass_messages() -> None:
        got: list[int] = []
        with open_router(free_endpoint) as router, open_session([free_endpoint]) as session:
            router.declare_subscriber('large', lambda sample: got.append(1))
            end = time.monotonic() + 60.0
            while len(got) < 20 and time.monotonic() < end:
                session.put('large', bytes(10_000))
                time.sleep(0.01)
        assert len(got) >= 20

    pass_messages()
    before = resident_mb()
    for _ in range(SESSIONS):
        pass_messages()
    assert resident_mb() - before < 2.0 * SESSIONS
