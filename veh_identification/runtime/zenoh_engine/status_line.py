"""One line a second of what a live node receives, publishes and thinks, for a terminal."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from typing import TextIO

from veh_identification.runtime import messages
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.zenoh_engine.clock import SystemClock, ZenohTimer
from veh_identification.runtime.zenoh_engine.engine import ZenohEngine
from veh_identification.runtime.zenoh_engine.node import ZenohNode

_CLEAR = '\r\x1b[K'
_LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')


class StatusLine:
    """Counts of a node at two instants make the rates."""

    def __init__(self, node: ZenohNode) -> None:
        self._node = node
        self._counts: dict[str, int] = {}
        self._time = time.monotonic()

    def text(self) -> str:
        """The line for the time since the last call."""
        now = time.monotonic()
        span, self._time = max(now - self._time, 1e-3), now
        received = {one.topic: one.received for one in self._node.subscriptions()}
        published = {one.topic: one.published for one in self._node.publishers()}
        lost = sum(one.lost for one in self._node.subscriptions())
        parts = [self._judgement(), 'in ' + self._rates('<', received, span)]
        parts.append('out ' + self._rates('>', published, span))
        if lost:
            parts.append(f'{lost} lost')
        return ' | '.join(parts)

    def _rates(self, mark: str, counts: Mapping[str, int], span: float) -> str:
        told = []
        for topic, count in sorted(counts.items()):
            rate = (count - self._counts.get(mark + topic, 0)) / span
            self._counts[mark + topic] = count
            if count and topic not in ('/diagnostics', '/tf_static'):
                told.append(f'{topic.lstrip("/")} {rate:.0f}/s')
        return ', '.join(told) or 'nothing'

    def _judgement(self) -> str:
        """Level and text that the node itself published last."""
        for publisher in self._node.publishers():
            if publisher.topic == '/diagnostics' and publisher.last:
                told = messages.deserialize(publisher.last, 'diagnostic_msgs/msg/DiagnosticArray')
                if told.status:
                    worst = max(told.status, key=lambda one: messages.byte_value(one.level))
                    level = _LEVELS[min(messages.byte_value(worst.level), 3)]
                    return f'{self._node.get_name()} {level}: {worst.message}'
        return f'{self._node.get_name()}: no verdict yet'


class Terminal:
    """A terminal whose last line is rewritten; what is logged meanwhile stands above it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._standing = False

    def rewrite(self, line: str) -> None:
        """Put `line` where the last one stood, cut to the width of the terminal."""
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f'{_CLEAR}{line[:width]}')
        self._stream.flush()
        self._standing = True

    def write(self, text: str) -> int:
        """Log: the standing line gives way."""
        if self._standing:
            self._stream.write(_CLEAR)
            self._standing = False
        return self._stream.write(text)

    def flush(self) -> None:
        """Show what was written."""
        self._stream.flush()


def show_status(engine: ZenohEngine, node: ZenohNode, terminal: Terminal) -> None:
    """Rewrite the last line of a terminal once a second while the engine spins."""
    line = StatusLine(node)
    # On the machine's clock: a simulated one may stand still, and that is worth seeing.
    timer = ZenohTimer(SystemClock(), NANOSECONDS, lambda: terminal.rewrite(line.text()))
    engine.executor.add_timer(timer)
