"""Memory that is free goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != 'glibc', reason='only glibc keeps what is freed'
)

#: A thread, as evaluations are done in one: what is left of its blocks when most are freed.
SCRIPT = """
import sys, threading
from pathlib import Path
import numpy as np
from veh_identification.runtime.memory import hand_back, keep_little

def resident():
    return int(Path('/proc/self/statm').read_text('ascii').split()[1]) * 4096 / 2**20

def work():
    for _ in range(3):  # glibc raises its bounds with every large block that is freed
        del [np.ones(2_400_000) for _ in range(2)][:]
    if {small}:
        blocks = [np.ones(12_000) for _ in range(1000)]  # 96 kB each
        kept.append(blocks[::100])  # hold the rest in place

kept = []
if {little}:
    keep_little()
before = resident()
thread = threading.Thread(target=work)
thread.start()
thread.join()
if {back}:
    hand_back()
print(resident() - before)
"""


def left(little: bool, back: bool, small: bool) -> float:
    """Megabytes that the process holds more than before the thread."""
    script = SCRIPT.format(little=little, back=back, small=small)
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def test_large_blocks_are_given_back_when_they_are_freed() -> None:
    assert left(little=False, back=False, small=False) > 30.0
    assert left(little=True, back=False, small=False) < 8.0


def test_what_lies_free_between_small_blocks_is_handed_back() -> None:
    assert left(little=True, back=False, small=True) > 80.0
    assert left(little=True, back=True, small=True) < 12.0
