"""What an independent tester does to arrays of samples: rows are samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veh_identification.types import Array

Change = Callable[[Array], Array]


def rounded(step: float, columns: slice | list[int] = slice(None)) -> Change:
    """Values in steps of a converter."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[:, columns] = step * np.round(values[:, columns] / step)
        return values

    return change


def smoothed(samples: float) -> Change:
    """A first-order low pass with a time constant of so many samples."""

    def change(values: Array) -> Array:
        found, share = values.copy(), 1.0 / (1.0 + samples)
        for k in range(1, len(found)):
            found[k] = found[k - 1] + share * (values[k] - found[k - 1])
        return found

    return change


def frozen(begin: float, end: float, columns: slice | list[int] = slice(None)) -> Change:
    """Values that are held between two shares of the recording."""

    def change(values: Array) -> Array:
        values, first, last = values.copy(), int(begin * len(values)), int(end * len(values))
        values[first:last, columns] = values[first, columns]
        return values

    return change


def clipped(share: float, column: int) -> Change:
    """A channel that can show so much of its range on both sides of its mean."""

    def change(values: Array) -> Array:
        values = values.copy()
        one, mean = values[:, column], values[:, column].mean()
        reach = share * np.max(np.abs(one - mean))
        values[:, column] = np.clip(one, mean - reach, mean + reach)
        return values

    return change


def drifted(size: float, column: int) -> Change:
    """A zero that wanders by so much over the recording."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[:, column] += np.linspace(0.0, size, len(values))
        return values

    return change


def lately(share: float, change: Change) -> Change:
    """A change that begins at a share of the recording."""

    def made(values: Array) -> Array:
        first = int(share * len(values))
        return np.vstack([values[:first], change(values)[first:]])

    return made


def alternating(change: Change) -> Change:
    """Every other sample is that of a second source on the same topic."""

    def made(values: Array) -> Array:
        values, other = values.copy(), change(values)
        values[1::2] = other[1::2]
        return values

    return made


def times(factor: float, *columns: int) -> Change:
    """Some columns times a factor."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[:, list(columns)] *= factor
        return values

    return change


def plus(offset: float, *columns: int) -> Change:
    """Some columns off their zeros."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[:, list(columns)] += offset
        return values

    return change


def order(*columns: int) -> Change:
    """Columns in another order."""
    return lambda values: values[:, list(columns)].copy()


def played(width: float, *columns: int) -> Change:
    """The hysteresis of a load cell or a gear: values follow after so much play."""

    def change(values: Array) -> Array:
        values = values.copy()
        for k in columns or range(values.shape[1]):
            at = values[0, k]
            for n, one in enumerate(values[:, k]):
                at = min(max(at, one - 0.5 * width), one + 0.5 * width)
                values[n, k] = at
        return values

    return change


def dropped(
    begin: float, seconds_share: float, columns: slice | list[int] = slice(None)
) -> Change:
    """Zeros for a share of the recording."""

    def change(values: Array) -> Array:
        values, first = values.copy(), int(begin * len(values))
        values[first : first + int(seconds_share * len(values)), columns] = 0.0
        return values

    return change


def spiked(size: float, column: int, every: int = 50) -> Change:
    """One sample of so many is off by a spike."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[every // 2 :: every, column] += size
        return values

    return change


def talking(share: float, source: int, target: int) -> Change:
    """Cross talk of one column into another."""

    def change(values: Array) -> Array:
        values = values.copy()
        values[:, target] += share * values[:, source]
        return values

    return change


def stepped(offset: float, column: int, share: float = 0.5) -> Change:
    """A column that is off its zero from a share of the recording on."""
    return lately(share, plus(offset, column))


def on_ticks(seconds: float) -> Change:
    """Stamps (s) of a clock with ticks; they never repeat."""

    def change(stamps: Array) -> Array:
        coarse = seconds * np.floor(stamps / seconds)
        return np.asarray(coarse + 1e-6 * np.arange(len(coarse)))

    return change
