"""Memory that is free, given back to the system.

An evaluation takes tens of megabytes for a moment. glibc keeps what is freed, up to 64 MB a
thread, and as much in holes below what is still in use; where these lie differs from one
evaluation to the next. A node that runs for months then seems to need now more, now less.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """`malloc_trim` of glibc; other libraries of C have none."""
    if not sys.platform.startswith('linux'):
        return None
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    return found


def hand_back() -> None:
    """Give back what is free, where there is a way; it takes milliseconds."""
    trim = _trim()
    if trim is not None:
        trim(0)
