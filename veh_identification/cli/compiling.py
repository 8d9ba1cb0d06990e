"""Says that kernels are being compiled: a first run would be a minute of silence otherwise."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Verbs that compute, so that they load Numba anyway.
COMPUTING = frozenset(
    ('simulate', 'replay', 'identify', 'observe', 'design', 'check', 'reproduce', 'batch', 'run')
)
SOON = 3.0  # what takes no longer needs no word [s]
TEXT = 'compiling (once after an installation or an update; it takes up to two minutes) ...'


def tell_of_compiling() -> None:
    """From now on a line goes to standard error when compiling takes some seconds."""
    from numba.core import event

    class _Teller(event.Listener):  # type: ignore[misc]
        """Loading what is kept is quick; only what has to be made lasts."""

        begin, said = 0.0, False

        def on_start(self, event: Any) -> None:
            """A kernel, one of many."""
            self.begin = self.begin or time.monotonic()
            if not self.said and time.monotonic() - self.begin > SOON:
                self.said = True
                print(TEXT, file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    event.register('numba:compile', _Teller())
