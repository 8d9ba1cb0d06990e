"""Work that takes longer than a sample can wait: beside a live node, at once under replay.

A thread shares the processor with the node; the interpreter lets go of it every millisecond, so
that a sample waits no longer than that. Whoever starts work gives it data that nothing changes
any more, and asks for the result when it suits; under replay it is there at once, so that the
same recording gives the same output on every machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

R = TypeVar('R')
#: Seconds after which a thread lets the others have the interpreter.
SWITCH = 0.001


class Background(Generic[R]):
    """One piece of work at a time."""

    def __init__(self, beside: bool) -> None:
        """`beside`: in a thread of its own."""
        self._beside = beside
        self._thread: threading.Thread | None = None
        self._result: R | None = None
        self._error: BaseException | None = None
        if beside:
            sys.setswitchinterval(min(SWITCH, sys.getswitchinterval()))

    @property
    def busy(self) -> bool:
        """Whether work is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[], R]) -> None:
        """Begin; while other work is under way this one is left out."""
        if self.busy:
            return
        self._result = self._error = None
        if not self._beside:
            self._result = work()
            return
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], R]) -> None:
        try:
            self._result = work()
        except BaseException as error:  # whoever takes the result is told
            self._error = error

    def take(self) -> R | None:
        """The result, once; None while there is none. What the work raised is raised here."""
        if self.busy:
            return None
        error, result = self._error, self._result
        self._error = self._result = None
        if error is not None:
            raise error
        return result
