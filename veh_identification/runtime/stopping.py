"""Ctrl-C and SIGTERM ask a node to stop; it then uses what waits, says it, and ends.

While a node is being made (kernels compile) the first signal breaks that off. While it runs a
signal only asks: no callback is torn apart. Every further one changes nothing, for Ctrl-C reaches
all processes of a terminal, and `ros2 launch` passes it on once more.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """A context in which the stopping signals are counted; `asked` afterwards."""

    def __init__(self) -> None:
        self.asked = False
        self._interrupting = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The process that was asked to stop now ends: what still comes must not make it fail.
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.asked else handler)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Inside, the first signal raises KeyboardInterrupt."""
        self._interrupting = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._interrupting = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if first and self._interrupting:
            raise KeyboardInterrupt
