"""What the sensors said lately, thinned out: for checks that compare them with each other."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from veh_identification.types import Array

#: Samples closer than this are left out, and how much is kept (seconds).
SPACING, MEMORY = 0.045, 60.0
#: Samples of each sensor of which none is left out.
NEWEST = 2000
#: Share of the rows that may be too old before they are dropped, all at once.
SPARE = 0.25


class _Rows:
    """Times and values in one piece of memory, oldest first: copied and made a table at once."""

    def __init__(self, width: int, numbers: array[float] | None = None) -> None:
        self.width = width
        self.numbers = array('d') if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.numbers) // self.width

    @property
    def newest(self) -> float:
        """Time of the last row."""
        return self.numbers[-self.width]

    def append(self, time: float, values: Sequence[float]) -> None:
        """One more row; rows of fewer numbers make the others as short."""
        if len(values) + 1 < self.width:
            width = len(values) + 1
            self.numbers = array('d', np.array(self.table()[:, :width]).tobytes())
            self.width = width
        self.numbers.append(time)
        self.numbers.extend(values[: self.width - 1])

    def drop(self, count: int) -> None:
        """Forget the oldest."""
        del self.numbers[: count * self.width]

    def copied(self) -> _Rows:
        """As it is now."""
        return _Rows(self.width, self.numbers[:])

    def table(self) -> Array:
        """(N, width); to be used before anything is added."""
        return np.frombuffer(self.numbers).reshape(-1, self.width)


def _split(table: Array) -> tuple[Array, Array]:
    return table[:, 0].copy(), table[:, 1:].copy()


class Newest:
    """The newest samples of each sensor, none left out: who repeats or stamps badly shows here."""

    def __init__(self) -> None:
        self._rows: dict[str, _Rows] = {}

    def note(self, name: str, time: float, values: Sequence[float]) -> None:
        """Keep a sample."""
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = _Rows(1 + len(values))
        rows.append(time, values)
        if len(rows) > (1.0 + SPARE) * NEWEST:
            rows.drop(len(rows) - NEWEST)

    def names(self) -> list[str]:
        """The sensors that were heard."""
        return [*self._rows]

    def copied(self) -> Newest:
        """As it is now."""
        made = Newest()
        made._rows = {name: rows.copied() for name, rows in self._rows.items()}
        return made

    def tables(self) -> dict[str, tuple[Array, Array]]:
        """Times and values (rows) by sensor."""
        return {name: _split(rows.table()[-NEWEST:]) for name, rows in self._rows.items()}

    def reset(self) -> None:
        """Another time begins."""
        self._rows.clear()


class Journal:
    """The last minute of each sensor, at most about 20 samples a second."""

    def __init__(self) -> None:
        self._rows: dict[str, _Rows] = {}

    def note(self, name: str, time: float, values: Sequence[float]) -> None:
        """Keep a sample if it is due."""
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = _Rows(1 + len(values))
        elif time - rows.newest < SPACING:
            return
        rows.append(time, values)
        if rows.numbers[0] < time - (1.0 + SPARE) * MEMORY:
            rows.drop(_first_since(rows.table(), time - MEMORY))

    def of(self, name: str) -> tuple[Array, Array] | None:
        """Times and values (rows) of a sensor; None without samples."""
        rows = self._rows.get(name)
        if rows is None:
            return None
        table = rows.table()
        return _split(table[_first_since(table, rows.newest - MEMORY) :])

    def copied(self) -> Journal:
        """As it is now."""
        made = Journal()
        made._rows = {name: rows.copied() for name, rows in self._rows.items()}
        return made

    def reset(self) -> None:
        """Another time begins."""
        self._rows.clear()


def _first_since(table: Array, time: float) -> int:
    """The first row that is no older; those behind it stay, whatever their times."""
    old = table[:, 0] < time
    return int(np.argmin(old)) if not old.all() else len(table)
