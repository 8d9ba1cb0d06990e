"""Compiled kernels that are older than the sources they were made of are removed.

Numba compiles one kernel into another and keeps the result beside the source, but looks at the one
source file alone: after `git pull` a kernel would go on with the old form of what it calls, and
the numbers would be wrong without a word. So whatever was compiled before the newest source of any
kernel is compiled again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def remove_stale(package: Path) -> int:
    """Remove the index files of stale kernels below a package; returns how many."""
    indices = list(package.rglob('__pycache__/*.nbi'))
    folders = {index.parent.parent for index in indices}
    newest = max(
        (source.stat().st_mtime_ns for folder in folders for source in folder.glob('*.py')),
        default=0,
    )
    removed = 0
    for index in indices:
        # Another process may remove it first; one that may not write cannot compile here either.
        with suppress(OSError):
            if index.stat().st_mtime_ns < newest:
                index.unlink()
                removed += 1
    return removed
