"""Work that takes longer than a sample can wait: beside a live node, at once under replay.

A thread shares the processor with the node; the interpreter lets go of it twenty times a
millisecond, so that a sample waits not much longer than that. Whoever gives work also gives it
data that nothing else changes meanwhile. Under replay it is done at once, so that the same
recording gives the same output on every machine.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

R = TypeVar('R')
#: Seconds after which a thread lets the others have the interpreter. A node at 500 Hz asks for it
#: several times a step (after waiting, sleeping and compiled calls) and has 2 ms for all.
SWITCH = 0.00005
#: Seconds after which work that has given way looks again.
REST = 0.0005
#: Pieces of work that may wait; whoever gives more waits himself, so that memory stays bounded.
MOST = 20_000


class Worker:
    """Does what it is given, one piece after the other, in a thread of its own or at once."""

    def __init__(self, beside: bool, most: int = MOST) -> None:
        """`beside`: in a thread of its own, which lives from the first piece to `stop`."""
        self.beside = beside
        #: Seconds at work in the thread, since the start.
        self.busy_seconds = 0.0
        self._most = most
        self._pieces: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._done = threading.Condition()
        self._ending = False
        self._error: BaseException | None = None
        if beside:
            sys.setswitchinterval(min(SWITCH, sys.getswitchinterval()))

    @property
    def waiting(self) -> int:
        """Pieces that are not done; the one that is being done counts."""
        return len(self._pieces)

    def give(self, work: Callable[[Any], None], argument: Any, begin: bool = True) -> None:
        """Let `work(argument)` be done; unless `begin`, when a further piece begins or `drain`.

        What an earlier piece raised is raised here or by `drain`.
        """
        if not self.beside:
            work(argument)
            return
        if self._error is not None or len(self._pieces) >= self._most:
            self._wait(self._most // 2)
        self._pieces.append((work, argument))
        if begin:
            self._start()

    def drain(self) -> None:
        """Wait until everything is done."""
        if self.beside:
            self._wait(0)

    def stop(self) -> None:
        """Wait until everything is done and end the thread; the next piece begins another."""
        if not self.beside:
            return
        try:
            self._wait(0)
        finally:
            if self._thread is not None:
                self._ending = True
                self._wake.set()
                self._thread.join()
                self._thread, self._ending = None, False

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._wake.set()

    def _wait(self, most: int) -> None:
        if self._pieces:
            self._start()
            with self._done:
                self._done.wait_for(lambda: len(self._pieces) <= most)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        pieces = self._pieces
        half = self._most // 2
        while True:
            self._wake.wait()
            self._wake.clear()  # before the look: what comes later wakes again
            begin = time.monotonic()
            while pieces:
                work, argument = pieces[0]
                try:
                    work(argument)
                except BaseException as error:  # whoever gives or waits is told
                    self._error = error
                pieces.popleft()
                if len(pieces) == half:
                    self._tell()
            self.busy_seconds += time.monotonic() - begin
            self._tell()
            if self._ending:
                return

    def _tell(self) -> None:
        with self._done:
            self._done.notify_all()


_mine = threading.local()


def give_way() -> None:
    """Said in the midst of long work: let the node go first that it is done beside, if any."""
    wait: Callable[[], None] | None = getattr(_mine, 'wait', None)
    if wait is not None:
        wait()


class Background(Generic[R]):
    """One piece of work at a time, whose result is taken when it suits."""

    def __init__(self, beside: bool, busy: Callable[[], bool] = lambda: False) -> None:
        """`beside`: in a thread of its own, which rests (`give_way`) while the node is `busy`."""
        self._worker = Worker(beside)
        self._busy, self._hurried = busy, False
        self._result: R | None = None

    @property
    def busy(self) -> bool:
        """Whether work is under way."""
        return self._worker.waiting > 0

    def start(self, work: Callable[[], R]) -> None:
        """Begin; while other work is under way this one is left out."""
        if not self.busy:
            self._result, self._hurried = None, False
            self._worker.give(self._run, work)

    def _run(self, work: Callable[[], R]) -> None:
        if self._worker.beside:
            _mine.wait = self._wait
        self._result = work()

    def _wait(self) -> None:
        while self._busy() and not self._hurried:
            time.sleep(REST)

    def take(self, wait: bool = False) -> R | None:
        """The result, once; None while there is none. What the work raised is raised here.

        Work that is asked for and not done gives way no more: beside a node that is always at
        work it would never end. `wait`: until it is done.
        """
        if self.busy:
            self._hurried = True
            if not wait:
                return None
        self._worker.drain()
        result, self._result = self._result, None
        return result
