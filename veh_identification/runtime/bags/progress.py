"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from tqdm import tqdm

#: Seconds between two lines where there is no terminal.
LINE_INTERVAL = 5.0


class Progress:
    """Callable with (done, total); use it as a context manager so that the bar is closed."""

    def __init__(self, label: str, *, unit: str = 'messages', stream: TextIO | None = None):
        """Show progress on `stream` (standard error by default)."""
        self.label = label
        self.unit = unit
        self.stream = sys.stderr if stream is None else stream
        self.bar: tqdm | None = None
        self.begin = self.last_line = time.monotonic()
        self.first: int | None = None  # what was done before
        self.last_done = -1

    def __call__(self, done: int, total: int) -> None:
        """Say that `done` of `total` are done."""
        self.first = done if self.first is None else self.first
        if self.stream.isatty():
            if self.bar is None:
                self.bar = tqdm(
                    total=total, desc=self.label, unit=f' {self.unit}', file=self.stream
                )
            self.bar.total = total
            self.bar.update(done - self.bar.n)
        elif done != self.last_done:
            now = time.monotonic()
            if done >= total or now - self.last_line >= LINE_INTERVAL:
                self.last_line, self.last_done = now, done
                percent = f' ({100 * done // total} %)' if total else ''
                line = f'{self.label}: {done} of {total} {self.unit}{percent}'
                print(f'{line}{self._left(done, total, now)}', file=self.stream)

    def _left(self, done: int, total: int, now: float) -> str:
        """How long it will take; only where that is worth saying."""
        gone, made = now - self.begin, done - (self.first or 0)
        seconds = gone * (total - done) / made if made > 0 else 0.0
        if gone < 10.0 or seconds < 10.0:
            return ''
        if seconds < 120.0:
            return f', about {seconds:.0f} s left'
        return f', about {seconds / 60.0:.0f} min left'

    def close(self) -> None:
        """End the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __enter__(self) -> Progress:
        """Start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the bar."""
        self.close()
