"""Rows of numbers over time in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Seconds that stamps may go back before the past is of another run.
STEP_BACK = 1.0
#: Columns that a history may have; further ones are counted, not kept.
COLUMNS = 512


class History:
    """Rows from the first to the newest: when it is full every other one goes.

    New rows then come half as often, so that the whole past stays visible and memory does not
    grow. A reader that remembers where it was (`cursor`) is told new rows only.
    """

    def __init__(self, capacity: int = 400, spacing: float = 0.0) -> None:
        self.capacity = capacity
        self.columns: dict[str, int] = {}
        self.rows: list[tuple[float, list[float]]] = []
        self.left_out = 0  # columns beyond the limit
        self._first_spacing = self._spacing = spacing
        self._generation = 0  # changes when rows that a reader has are no longer true

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Append a row unless it comes too soon after the last one."""
        if self.rows and time < self.rows[-1][0] - STEP_BACK:
            self.clear()
        if self.rows and time - self.rows[-1][0] <= self._spacing:
            return
        row = [float('nan')] * len(self.columns)
        for name, value in values.items():
            place = self.columns.get(name)
            if place is None:
                if len(self.columns) >= COLUMNS:
                    self.left_out += 1
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
