"""Per-sensor book-keeping: counters, innovation statistics and chi-square gates."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
from scipy.stats import chi2

from veh_identification.fusion.health import SensorHealth
from veh_identification.types import Array

WINDOW = 200
#: Why a sample that stands alone was not used.
GLITCH = 'stands alone, a glitch'


@lru_cache(maxsize=1024)
def nis_band(degrees: int) -> tuple[float, float]:
    """95 % band of the mean normalised innovation squared per degree of freedom."""
    if degrees <= 0:
        return math.nan, math.nan
    return (
        float(chi2.ppf(0.025, degrees)) / degrees,
        float(chi2.ppf(0.975, degrees)) / degrees,
    )


#: Of innovations in units of their deviations: mean, standard deviation, NIS per degree of freedom
#: and its 95 % band.
Summary = tuple[float, float, float, float, float]
NO_SUMMARY: Summary = (math.nan,) * 5


def summary_of(whitened: Array) -> Summary:
    """Of innovations that are numbers, in units of their deviations."""
    count = whitened.size
    if not count:
        return NO_SUMMARY
    lower, upper = nis_band(count)
    mean = float(np.add.reduce(whitened)) / count
    deviations = whitened - mean
    std = math.sqrt(float(np.add.reduce(deviations * deviations)) / count)
    nis = float(np.add.reduce(whitened * whitened)) / count
    return mean, std, nis, lower, upper


class InnovationStatistics:
    """Mean and spread of the whitened innovations and the mean NIS over the last updates."""

    def __init__(self) -> None:
        self._whitened: deque[tuple[float, ...]] = deque(maxlen=WINDOW)

    def add(self, whitened: Array) -> None:
        """Take one innovation, already in units of its standard deviation."""
        self._whitened.append(tuple(whitened.tolist()))

    def summary(self) -> Summary:
        """Of the innovations that it took last."""
        return summary_of(np.array(list(chain.from_iterable(self._whitened))))


@dataclass
class SensorRecord:
    """Counters of one sensor; the merge adds its own when they are reported."""

    name: str
    topic: str
    timeout: float
    received: int = 0
    invalid: int = 0
    rejected: int = 0
    used: int = 0
    last_used: float = -math.inf
    last_stamp_ns: int | None = None
    rejections_in_a_row: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    #: Parts of its messages that hold no number, while the rest is used.
    unmeasured: tuple[str, ...] = ()
    #: What is taken in place of a part that is said to be known, and cannot be right.
    assumed: str = ''
    innovations: InnovationStatistics = field(default_factory=InnovationStatistics)
    #: Of the parts that are judged apart (height, single wheels); '' for the whole.
    healths: dict[str, SensorHealth] = field(default_factory=dict)

    def refuse(self, reason: str) -> None:
        """Count an unusable sample under its reason."""
        self.invalid += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def skip(self, reason: str) -> None:
        """Count a good sample that cannot be used now."""
        self.rejected += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def active_at(self, time: float) -> bool:
        """Whether the sensor was used within its timeout before `time` (core seconds)."""
        return time - self.last_used <= self.timeout

    def forget_time(self) -> None:
        """The time axis starts anew."""
        self.last_used = -math.inf
        self.rejections_in_a_row.clear()
        for health in self.healths.values():
            health.forget_time()
