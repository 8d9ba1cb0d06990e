"""Checks that stop after each slice: a node makes them beside its samples, a command at once.

The slices are counted, not timed, so that the same data are always judged alike.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

R = TypeVar('R')
#: What stops after each slice and has a result in the end.
Slices = Generator[None, None, R]


def finished(slices: Slices[R]) -> R:
    """The result, all slices at once."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: R = end.value
            return result
