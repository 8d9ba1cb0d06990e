"""Who is wrong when sensors disagree: each sensor judged by its innovations, without any filter.

An estimator hands in the innovation of each sample in units of its own standard deviations
(`SensorHealth.judge`) and receives a weight: 1 as usual, less for a sample that stands out, 0 for
one that must not be used. The weight divides the variance of the measurement. A sum of excess in
seconds (CUSUM) sets a sensor aside that goes on disagreeing, whatever its rate; set aside, it is
still judged, and comes back when it has agreed for as long. Noise that is only larger than stated
is no fault: the scatter from sample to sample, which a wrong mean does not change, is learnt and
divided out. `Witnesses` decides whether a sensor that all others contradict may be right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from scipy.stats import chi2

from veh_identification.findings import Finding

#: Growth of the logarithm of the scatter a sample: tenfold noise is learnt within 50 samples.
LEARNING = 0.05
#: A scatter below this may be chance.
CHANCE = 1.5


#: Excess grows with the mean square of a sample over what is tolerated, up to so much.
MOST_GROWTH = 4.0
#: Whitened innovations are taken for no larger: their squares stay numbers.
LARGEST_SQUARE = 1e300


@dataclass(frozen=True)
class HealthOptions:
    """Limits; times in seconds of stamps."""

    gate: float = 0.999  # a good sample passes with this probability; beyond, it weighs less
    hard: float = 5.0  # beyond so many gates (in standard deviations) it is not used at all
    tolerated: float = 4.0  # mean square of the innovations that is no disagreement yet
    limit: float = 1.0  # excess that sets a sensor aside
    memory: float = 2.0  # excess that is remembered: so long it must agree to come back
    longest_step: float = 0.5  # one sample counts for no more than this
    fewest: int = 3  # so many bad samples in a row, however slow the sensor
    largest_scatter: float = 10.0  # noise of so many times what was stated is a fault


@lru_cache(maxsize=32)
def usual_square(probability: float, degrees: int) -> float:
    """Mean square of so many normal numbers that is not exceeded with this probability."""
    return float(chi2.ppf(probability, degrees)) / degrees if probability < 1.0 else math.inf


@dataclass
class SensorHealth:
    """What is known about the trustworthiness of one sensor."""

    name: str
    options: HealthOptions = field(default_factory=HealthOptions)
    excess: float = 0.0  # the CUSUM, seconds
    scatter: float = 1.0  # noise over what was stated, never below one
    aside_since: float = math.nan
    reason: str = ''
    weighted: int = 0  # samples used with less than their weight
    rejected: int = 0  # samples not used
    quarantines: int = 0
    recoveries: int = 0
    surprises: int = 0  # samples in a row that were used though they stand out
    _time: float = -math.inf
    _run: int = 0
    _last: tuple[float, ...] = ()

    @property
    def aside(self) -> bool:
        """Whether it is set aside."""
        return self.aside_since == self.aside_since

    def contradicts(self, time: float, seconds: float, timeout: float) -> bool | None:
        """Whether it has been set aside for so long; None if it was not heard lately."""
        if not time - self._time <= timeout:
            return None
        return time - self.aside_since >= seconds

    @property
    def noise(self) -> float:
        """Its scatter where that is clearly more than stated, else one."""
        return self.scatter if self.scatter > CHANCE else 1.0

    @property
    def steady(self) -> bool:
        """Whether its samples agree with each other, whatever they say."""
        return self.scatter < 3.0

    def judge(self, time: float, whitened: Sequence[float]) -> float:
        """Weight of a sample; `whitened`: its innovation over the standard deviations expected."""
        o = self.options
        degrees = len(whitened)
        square = sum([value * value for value in whitened])
        if not square < LARGEST_SQUARE:
            square, whitened = LARGEST_SQUARE, (math.sqrt(LARGEST_SQUARE),) * degrees
        self._learn_scatter(whitened)
        noise = self.noise
        mean = square / (degrees * noise * noise)
        step = min(max(time - self._time, 0.0), o.longest_step)
        self._time = time
        bad = mean > o.tolerated
        self._run = self._run + 1 if bad else 0
        growth = min(mean / o.tolerated, MOST_GROWTH) - 1.0
        self.excess = min(max(self.excess + step * growth, 0.0), o.memory)
        if self.aside:
            if self.excess <= 0.0 and not bad:
                self._take_back()
        elif self.excess > o.limit and self._run >= o.fewest:
            self.set_aside(time, f'off by {math.sqrt(mean):.1f} standard deviations for a while')
        elif self.scatter >= o.largest_scatter:
            self.set_aside(time, f'scatters {self.scatter:.0f} times as much as stated')
        weight = self._weight(mean, degrees)
        if weight == 0.0:
            self.rejected += 1
        elif weight < 1.0:
            self.weighted += 1
        return weight

    def unsettled(self, whitened: Sequence[float]) -> float:
        """Weight of a sample while the estimate is still finding itself.

        It may be wrong itself, so nothing is refused; but what is far off counts so much less
        that it looks expected: a passing reflection then does little.
        """
        degrees = len(whitened)
        mean = sum([value * value for value in whitened]) / degrees
        gate = usual_square(self.options.gate, degrees)
        return 1.0 if not mean > gate else gate / min(mean, 1e300)

    def _weight(self, mean: float, degrees: int) -> float:
        if self.aside:
            return 0.0
        gate = usual_square(self.options.gate, degrees)
        if mean > gate * self.options.hard**2:
            return 0.0
        # Huber's weight: beyond the gate the pull of a sample grows no more.
        robust = 1.0 if mean <= gate else math.sqrt(gate / mean)
        return robust / (self.noise * self.noise)

    def _learn_scatter(self, whitened: Sequence[float]) -> None:
        """Follow the median of the differences of neighbours: neither a bias nor single outliers
        move it.
        """
        last, self._last = self._last, tuple(whitened)
        degrees = len(last)
        if degrees != len(whitened):
            return
        if degrees == 1:
            square = (whitened[0] - last[0]) ** 2
        else:
            square = sum([(a - b) ** 2 for a, b in zip(whitened, last, strict=True)])
        usual = 2.0 * degrees * usual_square(0.5, degrees) * self.scatter**2
        if square > usual:
            self.scatter = min(self.scatter * (1.0 + LEARNING), self.options.largest_scatter)
        elif self.scatter > 1.0:
            self.scatter = max(self.scatter * (1.0 / (1.0 + LEARNING)), 1.0)

    def set_aside(self, time: float, reason: str) -> None:
        """Use nothing of it until it has agreed for a while (for reasons of the caller, too)."""
        if not self.aside:
            self.quarantines += 1
            self.aside_since = time
        self.reason = reason
        self.excess = self.options.memory

    def _take_back(self) -> None:
        self.recoveries += 1
        self.aside_since, self.reason = math.nan, ''
        self.scatter = min(self.scatter, 0.5 * self.options.largest_scatter)

    def believe(self) -> None:
        """The estimate gave in to it: it agrees from now on."""
        if self.aside:
            self._take_back()
        self.excess, self.scatter, self._run, self._last = 0.0, 1.0, 0, ()

    def forget_time(self) -> None:
        """The time axis starts anew; what was counted stays."""
        self._time = -math.inf
        if self.aside:
            self.aside_since = -math.inf
        self._last = ()

    def findings(self, where: str) -> list[Finding]:
        """What there is to say about it now."""
        if self.aside:
            text = f'{self.name} is set aside: {self.reason}'
            return [Finding('warn', 'set_aside', text, where)]
        if self.scatter > 2.0:
            text = f'{self.name} scatters {self.scatter:.1f} times as much as stated'
            return [Finding('warn', 'noisier_than_stated', text, where, size=self.scatter)]
        return []


@dataclass
class StuckWatch:
    """A value that stands still while the estimate says that it must change."""

    sigmas: float = 6.0
    coarsest: float = math.inf  # the largest tick that it may have, until one has been seen
    since: float = math.nan
    value: float = math.nan
    begin: float = math.nan  # prediction when the value last changed
    _tick: float = 0.0  # the smallest change seen

    def stuck(self, time: float, value: float, predicted: float, sigma: float) -> bool:
        """Whether the prediction has moved by more than noise and resolution since the value did.

        `sigma`: standard deviation of the prediction's change against the value.
        """
        if value != self.value:
            step = abs(value - self.value)
            if step > 0.0:
                self._tick = step if self._tick == 0.0 else min(self._tick, step)
            self.value, self.begin, self.since = value, predicted, time
            return False
        tick = self._tick or self.coarsest
        return abs(predicted - self.begin) > max(self.sigmas * sigma, 2.0 * tick)


@dataclass(frozen=True)
class Bounds:
    """What a quantity can be and how quickly it can change."""

    largest: float
    fastest: float = math.inf  # change a second
    slack: float = 0.0  # change that noise alone may make

    def violation(self, value: float, before: float, seconds: float) -> str:
        """Why a value cannot be, or nothing; `before` may be nan."""
        if not math.isfinite(value):
            return 'NaN or infinite'
        if abs(value) > self.largest:
            return f'beyond {self.largest:g}'
        change = abs(value - before)
        if change > self.slack + self.fastest * max(seconds, 0.0):  # false for nan
            return 'jumps'
        return ''


@dataclass(frozen=True)
class Witness:
    """What a sensor tells, and whether it tells it without the help of other estimates."""

    health: SensorHealth
    quantity: str  # 'position', 'velocity', 'yaw rate' ...
    absolute: bool
    also: tuple[str, ...] = ()  # quantities that it would contradict if they were wrong

    def tells(self, quantity: str) -> bool:
        """Whether it can contradict another sensor of a quantity."""
        return self.absolute and (self.quantity == quantity or quantity in self.also)


class Witnesses:
    """All sensors; decides when the estimate must give in to one of them."""

    def __init__(self, patience: float = 3.0) -> None:
        self._patience = patience
        self.all: dict[str, Witness] = {}

    def add(
        self, health: SensorHealth, quantity: str, absolute: bool, also: tuple[str, ...] = ()
    ) -> None:
        """Make a sensor known."""
        self.all[health.name] = Witness(health, quantity, absolute, also)

    def right_after_all(self, name: str, time: float, active: Sequence[str]) -> bool:
        """Whether the estimate, not the sensor, is wrong: an absolute sensor that has been set
        aside for long and that no other absolute sensor of the quantity (of the `active` ones)
        contradicts. Where there are others it must agree with itself, too; the only one may be
        unsteady because the estimate runs away.
        """
        witness = self.all[name]
        health = witness.health
        if not (witness.absolute and health.aside):
            return False
        if time - health.aside_since < self._patience:
            return False
        quantity = witness.quantity
        others = [
            self.all[other].health
            for other in active
            if other != name and other in self.all and self.all[other].tells(quantity)
        ]
        return all(other.aside for other in others) and (health.steady or not others)
