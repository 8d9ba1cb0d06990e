"""Work on several equations at once: the products inside release the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

THREADS = min(4, os.cpu_count() or 1)

T = TypeVar('T')
R = TypeVar('R')


@lru_cache(maxsize=1)
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix='equations')


def for_each(function: Callable[[T], R], items: Iterable[T], worth_it: bool) -> list[R]:
    """Results in the order of the items; in this thread alone unless it is worth more."""
    if worth_it and THREADS > 1:
        return list(_workers().map(function, items))
    return [function(item) for item in items]
