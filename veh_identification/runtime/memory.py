"""Memory that is free, given back to the system.

An evaluation takes tens of megabytes for a moment. glibc keeps what is freed: up to 64 MB a thread
above what is in use, and as much in holes below; where these lie differs from one evaluation to
the next. A node that runs for months then seems to need now more, now less.
"""

from __future__ import annotations

import ctypes
import functools
import sys

#: Blocks from here on are maps of their own, which end when they are freed, and what is free above
#: all blocks of a thread is given back from here on. With it a chunk of the car takes a twentieth
#: longer at most (1.5 s), and its node 373 MB where it took 484.
LARGE = 4 * 2**20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    """The library of C, if it is the one that can be asked."""
    if not sys.platform.startswith('linux'):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, 'malloc_trim') and hasattr(library, 'mallopt') else None


def keep_little() -> None:
    """From now on large blocks are given back when they are freed, by the whole process."""
    library = _glibc()
    if library is not None:
        library.mallopt(_M_MMAP_THRESHOLD, LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, LARGE)


def hand_back() -> None:
    """Give back what lies free between small blocks; it takes milliseconds."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
