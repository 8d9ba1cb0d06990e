"""Notices that all input of a live node has ended.

Nothing tells a live node that a recording is over. A played bag's clock stands still behind its
end and with it every timer on that clock, so this looks at the clock on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds without any message after which the input counts as ended. Longer than pauses between
#: messages of a sensor, shorter than what a launch file grants after the end of its bag.
SILENCE = 2.5


class Silence:
    """Calls `ended` once after each end of the input."""

    def __init__(
        self,
        ended: Callable[[], None],
        seconds: float = SILENCE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ended, self._seconds, self._monotonic = ended, seconds, monotonic
        self._last: float | None = None  # None: nothing came since the last end

    def heard(self, messages: int) -> None:
        """So many messages came since the last call."""
        if messages:
            self._last = self._monotonic()
        elif self._last is not None and self._monotonic() - self._last >= self._seconds:
            self._last = None
            self._ended()
