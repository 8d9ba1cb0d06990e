"""A logger with rclpy's methods and options for the engines that have no rclpy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partialmethod
from typing import TextIO

LEVELS = {'debug': 10, 'info': 20, 'warning': 30, 'error': 40, 'fatal': 50}


class NodeLogger:
    """Prints `[LEVEL] [node time] [node]: text`; the time is node time, so runs compare equal."""

    def __init__(
        self,
        name: str,
        now_ns: Callable[[], int],
        *,
        level: str = 'info',
        stream: TextIO | None = None,
    ) -> None:
        self._name = name
        self._now_ns = now_ns
        self._threshold = LEVELS[level]
        self._stream = stream
        self._said: set[str] = set()
        self._last: dict[str, int] = {}
        self.counts = dict.fromkeys(LEVELS, 0)

    def _log(
        self,
        level: str,
        message: str,
        *,
        once: bool = False,
        throttle_duration_sec: float = 0.0,
    ) -> bool:
        now = self._now_ns()
        if once:
            if message in self._said:
                return False
            self._said.add(message)
        if throttle_duration_sec:
            last = self._last.get(message)
            if last is not None and 0 <= now - last < throttle_duration_sec * 1e9:
                return False
            self._last[message] = now
        self.counts[level] += 1
        if LEVELS[level] < self._threshold:
            return False
        stamp = f'{now // 1_000_000_000}.{now % 1_000_000_000:09d}'
        stream = self._stream or sys.stderr
        print(f'[{level.upper()}] [{stamp}] [{self._name}]: {message}', file=stream)
        return True

    debug = partialmethod(_log, 'debug')
    info = partialmethod(_log, 'info')
    warning = partialmethod(_log, 'warning')
    warn = warning
    error = partialmethod(_log, 'error')
    fatal = partialmethod(_log, 'fatal')
