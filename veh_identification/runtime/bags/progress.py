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
        self.last_line = time.monotonic()
        self.last_done = -1

    def __call__(self, done: int, total: int) -> None:
        """Say that `done` of `total` are done."""
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
                print(f'{self.label}: {done} of {total} {self.unit}{percent}', file=self.stream)

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
