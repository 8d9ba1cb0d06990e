"""Stamped samples of one sensor as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veh_identification.errors import SignalError
from veh_identification.signals.segments import usual_step
from veh_identification.types import Array

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class TimeSeries:
    """Samples of one sensor: stamps (N,), values (N, C), one name and unit per channel.

    Stamps are seconds after `epoch_ns`: a float64 holds nanoseconds for 100 days around its
    epoch, but only 200 ns of a Unix time. Raw samples may be out of order or NaN; functions that
    need better say so, and `hygiene.clean` provides it.
    """

    stamps: Array
    values: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    epoch_ns: int = 0
    label: str = 'signal'

    def __post_init__(self) -> None:
        stamps = np.asarray(self.stamps, dtype=np.float64)
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim == 1:
            values = values[:, None]
        if stamps.ndim != 1 or values.ndim != 2 or len(stamps) != len(values):
            raise SignalError(
                f'{self.label}: stamps (N,) and values (N, C) must agree, found '
                f'{stamps.shape} and {values.shape}'
            )
        names, units = tuple(self.names), tuple(self.units)
        if len(names) != values.shape[1] or len(units) != values.shape[1]:
            raise SignalError(
                f'{self.label}: {values.shape[1]} channels need as many names and units, found '
                f'{len(names)} names and {len(units)} units'
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SignalError(f'{self.label}: the channel name {twice!r} is used twice')
        for field, value in (
            ('stamps', stamps),
            ('values', values),
            ('names', names),
            ('units', units),
        ):
            object.__setattr__(self, field, value)

    @classmethod
    def from_nanoseconds(
        cls,
        stamps_ns: ArrayLike,
        values: ArrayLike,
        names: Sequence[str],
        units: Sequence[str],
        *,
        epoch_ns: int | None = None,
        label: str = 'signal',
    ) -> TimeSeries:
        """From integer nanoseconds; the epoch is the first stamp unless given."""
        integer = np.asarray(stamps_ns, dtype=np.int64)
        epoch = int(integer[0]) if epoch_ns is None and len(integer) else int(epoch_ns or 0)
        seconds = (integer - epoch).astype(np.float64) / NANOSECONDS
        return cls(
            seconds, np.asarray(values, dtype=np.float64), tuple(names), tuple(units), epoch, label
        )

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def median_period(self) -> float:
        """Usual step between consecutive sorted stamps, in seconds; NaN below two samples."""
        return usual_step(np.sort(self.stamps[np.isfinite(self.stamps)]))

    def stamps_ns(self) -> NDArray[np.int64]:
        """Stamps as integer nanoseconds since the Unix epoch."""
        return np.rint(self.stamps * NANOSECONDS).astype(np.int64) + self.epoch_ns

    def with_epoch(self, epoch_ns: int) -> TimeSeries:
        """The same samples counted from another epoch."""
        shift = (self.epoch_ns - epoch_ns) / NANOSECONDS
        return replace(self, stamps=self.stamps + shift, epoch_ns=epoch_ns)

    def delayed(self, delay: float) -> TimeSeries:
        """Stamps moved back by `delay`: the value stamped t is what was true at t - delay."""
        return replace(self, stamps=self.stamps - delay)

    def select(self, names: Sequence[str]) -> TimeSeries:
        """Only the named channels, in that order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise SignalError(
                f'{self.label}: no channel {missing[0]!r}, the channels are '
                f'{", ".join(self.names)}'
            )
        columns = [self.names.index(name) for name in names]
        return replace(
            self,
            values=self.values[:, columns],
            names=tuple(names),
            units=tuple(self.units[c] for c in columns),
        )

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> TimeSeries:
        """Only the given samples."""
        return replace(self, stamps=self.stamps[rows], values=self.values[rows])


def require_increasing(stamps: Array, label: str) -> None:
    """Raise unless the stamps are finite and strictly increasing."""
    bad = ~(np.diff(stamps) > 0.0)
    if bad.any() or not np.isfinite(stamps).all():
        index = int(np.argmax(bad)) + 1 if bad.any() else int(np.argmin(np.isfinite(stamps)))
        raise SignalError(
            f'{label}: stamps must increase, but sample {index} has stamp '
            f'{stamps[index]:.9g} s after {stamps[max(index - 1, 0)]:.9g} s (clean it first)'
        )


def require_finite(values: Array, label: str) -> None:
    """Raise when any value is NaN or infinite."""
    finite = np.isfinite(values)
    if not finite.all():
        where = np.argwhere(~finite)[0]
        raise SignalError(
            f'{label}: value at index {tuple(int(i) for i in where)} is not finite '
            f'({int((~finite).sum())} of {values.size} are not; clean it first)'
        )
