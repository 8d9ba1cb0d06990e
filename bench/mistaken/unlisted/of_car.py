"""Changes of the values of one series of a car's recording."""

from __future__ import annotations

from mistaken.car import Change, of
from mistaken.unlisted import arrays


def of_series(name: str, change: arrays.Change) -> Change:
    """The series whose names begin so."""
    return of(name, lambda stamps, values: change(values))
