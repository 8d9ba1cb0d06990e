"""Blocks whose commands run until they are stopped: each line in a terminal of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

#: Against programs that never get ready; nothing here measures speed.
LIMIT = 300.0


class Terminal:
    """A command that runs until `stop`; everything it prints is kept."""

    def __init__(self, line: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.line = line
        # A session of its own: Ctrl-C reaches the command and all that it started.
        self.process = subprocess.Popen(
            ['bash', '-c', line],
            cwd=folder,
            env=dict(environment),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.printed: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.printed.extend(iter(self.process.stdout.readline, ''))

    @property
    def text(self) -> str:
        """What was printed so far."""
        return ''.join(list(self.printed))

    def wait_for(self, words: str) -> None:
        """Until the command has printed these words."""
        end = time.monotonic() + LIMIT
        while words not in self.text:
            assert self.process.poll() is None, f'{self.line} ended:\n{self.text}'
            assert time.monotonic() < end, f'{self.line} never said {words!r}:\n{self.text}'
            time.sleep(0.1)

    def wait_until_over(self) -> None:
        """Until a command that ends by itself has ended."""
        self.process.wait(LIMIT)

    def stop(self) -> str:
        """Ctrl-C; the command must end by itself and without a traceback."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(60.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self._reader.join(10.0)
        assert 'Traceback' not in self.text, self.text
        # bash, which is interrupted too, reports the signal as 130.
        assert self.process.returncode in (0, 130, -signal.SIGINT), self.text
        return self.text
