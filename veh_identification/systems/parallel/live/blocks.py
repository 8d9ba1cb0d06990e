"""Samples for filtered rows, block after block: a long run counts, and memory stays bounded.

Filtered rows need the samples themselves, of which only the newest are kept. What a block said
before it goes is kept as its parameters weighted by their information, and later blocks are
weighed against it: independent estimates of the same parameters.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.saved_state import SavedState
from veh_identification.systems.parallel.estimation.glitches import size_of, spoilt
from veh_identification.systems.parallel.live.periods import (
    NANOSECONDS,
    RawPeriod,
    restored_periods,
    stored_periods,
)
from veh_identification.types import Array, IntArray

#: Samples of a block: 40 s at 1 kHz, some megabytes, two seconds of work.
BLOCK_SAMPLES = 40_000


class NewestSamples:
    """The samples of the block under way."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.cut = 0  # samples that the last series went without
        self._periods: deque[RawPeriod] = deque()
        self._usual: deque[tuple[Array, Array]] = deque(maxlen=50)  # sizes of periods

    def add(self, period: RawPeriod) -> None:
        """Take the samples of a period."""
        self._usual.append(size_of(period.values))
        self._periods.append(period)
        while self.samples > BLOCK_SAMPLES and len(self._periods) > 2:
            self._periods.popleft()

    @property
    def samples(self) -> int:
        """How many are kept."""
        return sum(len(one.stamps_ns) for one in self._periods)

    @property
    def full(self) -> bool:
        """Whether another period would push samples out."""
        last = len(self._periods[-1].stamps_ns) if self._periods else 0
        return self.samples > BLOCK_SAMPLES - 2 * last

    def pause(self, begin_ns: int) -> float:
        """Samples that would fit between the last period and one that begins then."""
        if not self._periods:
            return 0.0
        return (begin_ns - self._periods[-1].begin_ns) / NANOSECONDS * self.rate

    def forget(self) -> None:
        """The block is over; what is usual stays known."""
        self._periods.clear()

    def series(self, under_way: RawPeriod | None = None) -> tuple[IntArray, Array]:
        """Stamps and values without glitches."""
        parts = [*self._periods, *([] if under_way is None else [under_way])]
        if not parts:
            return np.empty(0, np.int64), np.empty((0, 12))
        stamps = np.concatenate([one.stamps_ns for one in parts])
        values = np.concatenate([one.values for one in parts])
        cut = spoilt(values, self._usual)
        self.cut = int(cut.sum())
        return stamps[~cut], values[~cut]

    def state(self) -> dict[str, Any]:
        """Entries of a saved state."""
        return stored_periods('block', list(self._periods))

    @classmethod
    def restored(cls, stored: SavedState, rate: float) -> NewestSamples:
        """What `state` gave."""
        made = cls(rate)
        for one in restored_periods('block', stored):
            if len(one.stamps_ns):
                made.add(one)
        return made


def _inverse(matrix: Array) -> Array:
    """Of a symmetric positive matrix whose rows have different units."""
    scale = np.sqrt(np.diag(matrix))
    inverse = np.linalg.inv(matrix / np.outer(scale, scale)) / np.outer(scale, scale)
    return np.asarray(0.5 * (inverse + inverse.T))


@dataclass(frozen=True, eq=False)
class Blocks:
    """What all finished blocks say together."""

    count: int = 0
    samples: int = 0
    information: Array = field(default_factory=lambda: np.zeros((0, 0)))
    weighted: Array = field(default_factory=lambda: np.zeros(0))  # information times value

    def and_this(self, value: Array, covariance: Array, samples: int) -> Blocks:
        """With one block more."""
        own = _inverse(covariance)
        if not self.count:
            return Blocks(1, samples, own, own @ value)
        return Blocks(
            self.count + 1,
            self.samples + samples,
            self.information + own,
            self.weighted + own @ value,
        )

    def joined(self, result: IdentificationResult) -> IdentificationResult:
        """A result whose parameters, all but the last, also rest on the finished blocks."""
        if not self.count:
            return result
        last = len(result.value) - 1
        every = self.and_this(result.value[:last], result.covariance[:last, :last], result.samples)
        covariance = result.covariance.copy()
        covariance[:last, :last] = _inverse(every.information)
        value = np.append(covariance[:last, :last] @ every.weighted, result.value[last])
        return replace(result, value=value, covariance=covariance, samples=every.samples)

    def state(self) -> dict[str, Any]:
        """Entries of a saved state."""
        return {
            'blocks': self.count,
            'block_samples': self.samples,
            'block_information': self.information,
            'block_weighted': self.weighted,
        }

    @classmethod
    def restored(cls, stored: SavedState, parameters: int) -> Blocks:
        """What `state` gave."""
        count = stored.count('blocks')
        size = parameters if count else 0
        information = stored.array('block_information', (size, size))
        if count:
            with stored.tried():
                np.linalg.cholesky(information / np.max(np.diag(information)))
        return cls(
            count,
            stored.count('block_samples'),
            information,
            stored.array('block_weighted', (size,)),
        )
