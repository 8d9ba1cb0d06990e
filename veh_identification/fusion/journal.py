"""What the sensors said lately, thinned out: for checks that compare them with each other."""

from __future__ import annotations

from collections import deque

import numpy as np

from veh_identification.types import Array

#: Samples closer than this are left out, and how much is kept (seconds).
SPACING, MEMORY = 0.045, 60.0
#: Samples of each sensor of which none is left out.
NEWEST = 2000


class Newest:
    """The newest samples of each sensor, none left out: who repeats or stamps badly shows here."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[tuple[float, ...]]] = {}

    def note(self, name: str, time: float, values: tuple[float, ...]) -> None:
        """Keep a sample."""
        samples = self._samples.get(name)
        if samples is None:
            samples = self._samples[name] = deque(maxlen=NEWEST)
        samples.append((time, *values))

    def names(self) -> list[str]:
        """The sensors that were heard."""
        return [*self._samples]

    def copied(self) -> Newest:
        """As it is now; the rows themselves never change."""
        made = Newest()
        made._samples = {name: samples.copy() for name, samples in self._samples.items()}
        return made

    def tables(self) -> dict[str, tuple[Array, Array]]:
        """Times and values (rows) by sensor."""
        tables = {name: np.array(samples) for name, samples in self._samples.items()}
        return {name: (table[:, 0], table[:, 1:]) for name, table in tables.items()}

    def reset(self) -> None:
        """Another time begins."""
        self._samples.clear()


class Journal:
    """The last minute of each sensor, at most about 20 samples a second."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[tuple[float, ...]]] = {}

    def note(self, name: str, time: float, values: tuple[float, ...]) -> None:
        """Keep a sample if it is due."""
        samples = self._samples.get(name)
        if samples is None:
            samples = self._samples[name] = deque()
        elif samples and time - samples[-1][0] < SPACING:
            return
        samples.append((time, *values))
        while samples[0][0] < time - MEMORY:
            samples.popleft()

    def of(self, name: str) -> tuple[Array, Array] | None:
        """Times and values (rows) of a sensor; None without samples."""
        samples = self._samples.get(name)
        if not samples:
            return None
        width = min(len(row) for row in samples)
        table = np.array([row[:width] for row in samples])
        return table[:, 0], table[:, 1:]

    def copied(self) -> Journal:
        """As it is now; the rows themselves never change."""
        made = Journal()
        made._samples = {name: samples.copy() for name, samples in self._samples.items()}
        return made

    def reset(self) -> None:
        """Another time begins."""
        self._samples.clear()
