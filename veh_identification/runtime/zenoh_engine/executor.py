"""One thread that runs all callbacks: zenoh's threads only put work into its queue."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.zenoh_engine.clock import ZenohTimer

#: The longest sleep, so that a step of the system clock does not hold a timer up.
_LONGEST_SLEEP = 0.5
#: Seconds between looks at a condition that nothing wakes us for.
_POLL = 0.01


class Executor:
    """Runs timers and queued work one after the other in the thread that spins."""

    def __init__(self) -> None:
        self._ready: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers: list[ZenohTimer] = []
        self._stop = False

    def post(self, work: Callable[[], None]) -> None:
        """Queue work, from any thread."""
        self._ready.put(work)

    def add_timer(self, timer: ZenohTimer) -> None:
        """Let a timer fire."""
        self._timers.append(timer)

    def remove_timers(self, timers: list[ZenohTimer]) -> None:
        """Forget timers."""
        self._timers = [timer for timer in self._timers if timer not in timers]

    def stop(self) -> None:
        """Let `spin` return after the callback that runs now; from any thread or signal."""
        self._stop = True
        self._ready.put(lambda: None)

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop

    def spin_once(self, timeout: float | None = None) -> bool:
        """Fire the timers that are due, then run at most one piece of queued work.

        Waits up to `timeout` seconds (None: without limit) when there is nothing to do. Returns
        whether anything ran.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self._stop:
            fired, sleep = self._fire_timers()
            left = None if end is None else max(0.0, end - time.monotonic())
            if fired:
                sleep = 0.0
            elif left is not None:
                sleep = min(sleep, left)
            try:
                work = self._ready.get(timeout=sleep) if sleep > 0 else self._ready.get_nowait()
            except queue.Empty:
                if fired:
                    return True
                if left is not None and left <= sleep:
                    return self._fire_timers()[0]
                continue
            work()
            return True
        return False

    def spin(self, duration: float | None = None, until: Callable[[], bool] | None = None) -> None:
        """Run until `stop`, Ctrl-C or SIGTERM; the callback that runs then is finished.

        Ends as well after `duration` seconds or as soon as `until()` holds.
        """
        end = None if duration is None else time.monotonic() + duration
        longest = _LONGEST_SLEEP if until is None else _POLL
        with self.stopping_signals():
            while not self._stop and not (until is not None and until()):
                left = longest if end is None else min(end - time.monotonic(), longest)
                if left <= 0:
                    break
                self.spin_once(left)

    def drain(self) -> None:
        """Run the work that is queued now, also after `stop`."""
        for _ in range(self._ready.qsize()):
            self._ready.get_nowait()()

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Spin until `condition()` holds; False when `timeout` seconds passed without."""
        end = time.monotonic() + timeout
        while not condition():
            left = end - time.monotonic()
            if left <= 0 or self._stop:
                return False
            self.spin_once(min(left, _POLL))
        return True

    def _fire_timers(self) -> tuple[bool, float]:
        """Fire what is due; returns whether anything was and the seconds until the next."""
        fired, sleep = False, _LONGEST_SLEEP
        for timer in tuple(self._timers):
            if timer.cancelled:
                continue
            now_ns = timer.clock.now_ns()
            wait_ns = timer.wait_ns(now_ns) if now_ns else 1
            if wait_ns <= 0:
                timer.fire(now_ns)
                fired = True
                if self._stop:
                    break
            elif not timer.clock.simulated:
                sleep = min(sleep, wait_ns / NANOSECONDS)
        return fired, sleep

    @contextmanager
    def stopping_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM stop the spinning; a second Ctrl-C interrupts as usual."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(_number: int, _frame: FrameType | None) -> None:
            if self._stop:
                raise KeyboardInterrupt
            self.stop()

        previous = {
            number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
