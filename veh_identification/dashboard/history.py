"""Rows of numbers over time in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Seconds by which stamps of one run may go back, and forth: beyond, the past is of another run
#: or of another clock (a recording and the machine's own).
STEP_BACK, STEP_FORTH = 1.0, 30.0 * 86_400.0
#: Columns that a history may have: values and deviations of the most parameters.
COLUMNS = 1024


class History:
    """Rows from the first to the newest: when it is full every other one goes.

    New rows then come half as often, so that the whole past stays visible and memory does not
    grow. A reader that remembers where it was (`cursor`) is told new rows only.
    """

    def __init__(self, capacity: int = 400, spacing: float = 0.0) -> None:
        self.capacity = capacity
        self.columns: dict[str, int] = {}
        self.rows: list[tuple[float, list[float]]] = []
        self._first_spacing = self._spacing = spacing
        self._generation = 0  # changes when rows that a reader has are no longer true
        self._origin_ns: int | None = None

    def add(self, time_ns: int, values: Mapping[str, float]) -> float:
        """Append a row unless it comes too soon; returns its seconds since the first one."""
        time = self._seconds(time_ns)
        if self.rows and not -STEP_BACK <= time - self.rows[-1][0] <= STEP_FORTH:
            self.clear()
            time = self._seconds(time_ns)
        if not self.rows or time - self.rows[-1][0] > self._spacing:
            self._append(time, values)
        return time

    def _seconds(self, time_ns: int) -> float:
        if self._origin_ns is None:
            self._origin_ns = time_ns
        return (time_ns - self._origin_ns) * 1e-9  # integers first: a double is too short

    def _append(self, time: float, values: Mapping[str, float]) -> None:
        row = [float('nan')] * len(self.columns)
        for name, value in values.items():
            place = self.columns.get(name)
            if place is None:
                if len(self.columns) >= COLUMNS:
                    continue
                place = self.columns[name] = len(self.columns)
                row.append(float('nan'))
                self._generation += 1
            row[place] = value
        self.rows.append((time, row))
        if len(self.rows) > self.capacity:
            self._halve()

    def clear(self) -> None:
        """Begin anew."""
        self.rows, self.columns = [], {}
        self._origin_ns = None
        self._spacing = self._first_spacing
        self._generation += 1

    def _halve(self) -> None:
        span = self.rows[-1][0] - self.rows[0][0]
        self.rows = self.rows[::2]
        # A little below the mean distance of the rows left, for stamps jitter.
        self._spacing = 0.9 * span / max(1, len(self.rows) - 1)
        self._generation += 1

    def since(self, cursor: tuple[int, int] | None) -> tuple[dict[str, Any] | None, Any]:
        """What a reader at `cursor` lacks (None: nothing), and its new cursor."""
        now = (self._generation, len(self.rows))
        if cursor == now:
            return None, now
        if cursor is not None and cursor[0] == self._generation:
            return {'rows': [[time, *row] for time, row in self.rows[cursor[1] :]]}, now
        width = len(self.columns)
        rows = [[time, *row, *([float('nan')] * (width - len(row)))] for time, row in self.rows]
        return {'columns': list(self.columns), 'rows': rows}, now
