"""Memory that is free goes back to the system."""

from __future__ import annotations

import platform
import threading
from pathlib import Path

import numpy as np
import pytest

from veh_identification.runtime.memory import hand_back


def resident() -> float:
    """Megabytes of this process."""
    pages = Path('/proc/self/statm').read_text('ascii').split()[1]
    return int(pages) * 4096 / 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='only glibc keeps what is freed')
def test_what_lies_below_something_in_use_is_handed_back() -> None:
    kept = []

    def work() -> None:  # in a thread, as evaluations are done
        blocks = [np.ones(12_000) for _ in range(1000)]  # 96 kB each: too small for a map
        kept.append(blocks[::100])  # the last ones hold the rest in place

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = resident()
    hand_back()
    assert before - resident() > 50.0
    assert sum(float(block.sum()) for blocks in kept for block in blocks) == 120_000.0
