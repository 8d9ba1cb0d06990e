"""Recordings that hold the same: their noise would count as more knowledge than it is."""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import Any

from veh_identification.systems.base import paths_of


def same_recording(one: Any, other: Any) -> bool:
    """Whether two recordings hold the same, byte by byte."""
    if one is None or other is None:
        return False
    if one is other:
        return True
    paths = paths_of([one, other])
    if len(paths) < 2 or not all(path.exists() for path in paths):
        return False
    first, second = (_data_files(path) for path in paths)
    if len(first) != len(second) or not first:
        return False
    return all(
        a.stat().st_size == b.stat().st_size and filecmp.cmp(a, b, shallow=False)
        for a, b in zip(first, second, strict=True)
    )


def _data_files(path: Path) -> list[Path]:
    """What holds the messages of a recording; the names of copies differ in the metadata."""
    if not path.is_dir():
        return [path]
    return sorted(
        one for one in path.iterdir() if one.is_file() and one.suffix in ('.mcap', '.db3', '.bag')
    )


def sizes_of(path: Path) -> tuple[int, ...]:
    """Sizes of what holds the messages: copies have the same, and few others."""
    try:
        return tuple(one.stat().st_size for one in _data_files(path))
    except OSError:
        return ()
