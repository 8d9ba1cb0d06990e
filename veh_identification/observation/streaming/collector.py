"""Keeps Python's garbage collector away from what lives as long as an observer does.

A run makes many small objects that stay (innovations, samples of the past), which the collector
answers by looking at every object of the process again and again: modules, compiled kernels, the
model. They are not garbage; on a run of the vehicle observer looking at them takes up to a tenth
of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def set_aside() -> Iterator[None]:
    """The collector ignores what exists now, until the end of the block."""
    if gc.get_freeze_count():
        yield  # someone did it for longer
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def set_aside_for_good() -> None:
    """The collector ignores what exists now; garbage is removed first, also that of before."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
