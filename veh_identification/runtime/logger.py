"""A logger with rclpy's methods, options and refusals for the engines that have no rclpy.

As under rclpy, `once` and `throttle_duration_sec` count for the place in the source that logs, and
such a place keeps to one severity and one set of options: what rclpy would refuse on a robot must
not pass in a replay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partialmethod
from typing import TextIO

LEVELS = {'debug': 10, 'info': 20, 'warning': 30, 'error': 40, 'fatal': 50}


@dataclass
class Place:
    """One call in the source that logs."""

    file: str
    line: int
    function: str
    level: str
    options: tuple[bool, float]
    last_ns: int | None = None  # when it was heard last

    def is_due(self, now_ns: int) -> bool:
        """Whether its options let it be heard."""
        once, throttle = self.options
        if self.last_ns is None:
            return True
        return not once and not 0 <= now_ns - self.last_ns < throttle * 1e9


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
        self._places: dict[tuple[str, int, int], Place] = {}
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
        place = self._place_of(level, (once, throttle_duration_sec))
        if not place.is_due(now):
            return False
        place.last_ns = now
        self.counts[level] += 1
        if LEVELS[level] < self._threshold:
            return False
        self._write(level, message, now, place)
        return True

    def _write(self, level: str, message: str, now: int, place: Place) -> None:
        stamp = f'{now // 1_000_000_000}.{now % 1_000_000_000:09d}'
        stream = self._stream or sys.stderr
        print(f'[{level.upper()}] [{stamp}] [{self._name}]: {message}', file=stream)

    def _place_of(self, level: str, options: tuple[bool, float]) -> Place:
        """The call that is two frames up (there is none of `partialmethod`)."""
        frame = sys._getframe(2)
        key = (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti)
        place = self._places.get(key)
        if place is None:
            place = Place(key[0], key[1], frame.f_code.co_name, level, options)
            self._places[key] = place
        where = f'{key[0]}, line {key[1]}'
        if place.level != level:
            raise ValueError(
                f'{where} logs at the severities {place.level} and {level}, which rclpy refuses'
            )
        if place.options != options:
            raise ValueError(f'{where} logs with changing options, which rclpy refuses')
        return place

    debug = partialmethod(_log, 'debug')
    info = partialmethod(_log, 'info')
    warning = partialmethod(_log, 'warning')
    warn = warning
    error = partialmethod(_log, 'error')
    fatal = partialmethod(_log, 'fatal')
