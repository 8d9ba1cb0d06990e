"""Which sensors of a filter are trusted: the judgement of `fusion.health` on its innovations.

A sensor that goes on disagreeing with the estimate, which all others made, is set aside and
comes back when it agrees again. Nothing is ever widened because of it, with one exception: a
sensor that measures its coordinates without the help of others (`absolute`), has been set aside
for longer than `patience`, agrees with itself, and stays at the same distance from the estimate,
may be right. Then the estimate gives in: the coordinates that this sensor measures, and nothing
else, become unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.stats import chi2

from veh_identification.findings import Finding
from veh_identification.fusion.health import (
    CHANCE,
    LARGEST_SQUARE,
    LEARNING,
    MOST_GROWTH,
    HealthOptions,
    SensorHealth,
    usual_square,
)
from veh_identification.types import Array

#: Beyond this quantile a measurement weighs less.
SOFT = 0.99
#: More than this share of the measurements of a sensor rejected is worth a word.
REJECTED_SHARE = 0.02
#: So few are single ones.
SINGLE = 3
#: Episodes of a sensor that are kept.
MOST = 50
#: An estimate gives in to a sensor whose distance varied by no more than so many deviations.
STEADY = 8.0
#: A sensor that is no more deviations away agrees with the estimate.
FAR = 3.0
#: A value that is repeated so long [s] and so often, and that disagrees, is stuck.
STUCK_TIME, STUCK_COUNT = 0.3, 8
#: So is one that is repeated while what was expected has moved by so many deviations.
MOVED = 2.0


def gates(probability: float | None) -> Array:
    """Limits (2, 64) of NIS by number of components: full weight, and not used at all."""
    limits = np.full((2, 64), np.inf)
    if probability is not None:
        degrees = np.arange(1, 64)
        limits[0, 1:] = chi2.ppf(min(SOFT, probability), degrees)
        limits[1, 1:] = chi2.ppf(probability, degrees)
    return limits


#: A sensor is not set aside before so many bad samples in a row; how much excess is remembered.
FEWEST, MEMORY = HealthOptions.fewest, HealthOptions.memory
#: What changes at an ordinary measurement, as a row of numbers: see `judge_quietly`.
EXCESS, SCATTER, TIME, RUN, VALUE, SINCE, REPEATED, PREDICTED, TICK, LAST = range(10)
MOST_COMPONENTS = 3
HOT = LAST + MOST_COMPONENTS


def medians() -> Array:
    """Of a chi-square over its degrees of freedom, by these."""
    return np.array(
        [0.0, *(usual_square(0.5, degrees) for degrees in range(1, MOST_COMPONENTS + 1))]
    )


@njit(cache=True, nogil=True)
def judge_quietly(
    hot: Array,
    time: float,
    value: float,
    gap: float,
    whitened: Array,
    medians: Array,
    tolerated: float,
    longest_step: float,
    largest_scatter: float,
) -> bool:
    """`Trust.judge` for a measurement of a trusted sensor that gives no cause for doubt.

    One that is off gives none before the next ones are, too: of a good sensor every twentieth is.
    False, and nothing is changed, when there is any: then `Trust.judge` has to look. A NaN among
    the last components says that there were none or another number of them.
    """
    degrees = whitened.size
    if degrees > MOST_COMPONENTS or (value == hot[VALUE] and hot[REPEATED] >= STUCK_COUNT - 2):
        return False
    square, change = 0.0, 0.0
    for i in range(degrees):
        square += whitened[i] ** 2
        change += (whitened[i] - hot[LAST + i]) ** 2
    for i in range(degrees, MOST_COMPONENTS):
        if hot[LAST + i] == hot[LAST + i]:
            return False
    if change != change:
        return False
    scatter = hot[SCATTER]
    if change > 2.0 * degrees * medians[degrees] * scatter**2:
        scatter = scatter * (1.0 + LEARNING)
    elif scatter > 1.0:
        scatter = max(scatter * (1.0 / (1.0 + LEARNING)), 1.0)
    noise = scatter if scatter > CHANCE else 1.0
    mean = square / (degrees * noise * noise)
    run = hot[RUN] + 1.0 if mean > tolerated else 0.0
    if run >= FEWEST or scatter >= largest_scatter or not square < LARGEST_SQUARE:
        return False
    step = min(max(time - hot[TIME], 0.0), longest_step)
    growth = min(mean / tolerated, MOST_GROWTH) - 1.0
    hot[EXCESS] = min(max(hot[EXCESS] + step * growth, 0.0), MEMORY)
    hot[SCATTER], hot[TIME], hot[RUN] = scatter, time, run
    for i in range(degrees):
        hot[LAST + i] = whitened[i]
    if value == hot[VALUE]:
        hot[REPEATED] += 1.0
        if abs(gap) < abs(value - hot[PREDICTED]):
            hot[PREDICTED] = value - gap
        return True
    moved = abs(value - hot[VALUE])
    if moved < hot[TICK] or hot[TICK] == 0.0:
        hot[TICK] = moved if moved == moved else 0.0
    hot[VALUE], hot[SINCE], hot[REPEATED] = value, time, 0.0
    hot[PREDICTED] = value - gap
    return True


@njit(cache=True, nogil=True)
def judge_groups(
    numbers: NDArray[np.int64],
    groups: NDArray[np.int64],
    times: Array,
    measured: Array,
    innovation: Array,
    whitened: Array,
    judged: NDArray[np.bool_],
    hot: Array,
    scatter: Array,
    medians: Array,
    options: tuple[float, float, float],
    result: Array,
) -> None:
    """`judge_quietly` for sensors (by their numbers) whose innovations `update_groups` left.

    Others than `judged` are left out, and so are those that are set aside (whose `scatter` is
    infinite). `result` (k, 4): its last column says who is done.
    """
    for g in range(numbers.size):
        number = numbers[g]
        first, degrees = groups[number, 0], int(result[g, 1])
        result[g, 3] = 0.0
        if degrees == 0 or not judged[number] or np.isinf(scatter[number]):
            continue
        if judge_quietly(
            hot[number],
            times[g],
            measured[first],
            innovation[first],
            whitened[first : first + degrees],
            medians,
            options[0],
            options[1],
            options[2],
        ):
            found = hot[number, SCATTER]
            scatter[number] = found if found > CHANCE else 1.0
            result[g, 3] = 1.0


class Episode(NamedTuple):
    """A time [s] in which a sensor was set aside; `until` is NaN while it lasts."""

    since: float
    until: float
    reason: str


@dataclass
class Trust:
    """Judgement of one sensor."""

    health: SensorHealth
    absolute: bool
    patience: float
    episodes: tuple[Episode, ...] = ()
    _repeated: int = 0
    _value: float = math.nan
    _since: float = math.nan  # since when the value is the same
    _predicted: float = math.nan  # what was expected since, as near to the value as it came
    _tick: float = 0.0  # the smallest change of the value
    _begin: float = math.nan  # of the present look at whether its distance stays
    _low: float = field(default=math.inf)
    _high: float = field(default=-math.inf)

    @classmethod
    def of(cls, name: str, absolute: bool, patience: float) -> Trust:
        """Nothing known against it."""
        return cls(SensorHealth(name, HealthOptions(gate=SOFT)), absolute, patience)

    @property
    def scatter(self) -> float:
        """What the kernel takes: infinity while the sensor is set aside."""
        return math.inf if self.health.aside else self.health.noise

    def write(self, hot: Array) -> None:
        """Put into a row what `judge_quietly` goes on with."""
        health = self.health
        hot[:LAST] = (
            health.excess,
            health.scatter,
            health._time,
            health._run,
            self._value,
            self._since,
            self._repeated,
            self._predicted,
            self._tick,
        )
        hot[LAST:] = math.nan
        known = len(health._last)
        if known <= MOST_COMPONENTS:
            hot[LAST : LAST + known] = health._last

    def read(self, hot: Array) -> None:
        """Take over what `judge_quietly` has left in a row."""
        health = self.health
        excess, scatter, time, run, value, since, repeated, predicted, tick, *last = hot.tolist()
        health.excess, health.scatter, health._time, health._run = excess, scatter, time, int(run)
        self._value, self._since, self._repeated = value, since, int(repeated)
        self._predicted, self._tick = predicted, tick
        health._last = tuple(one for one in last if one == one)

    def judge(self, time: float, value: float, gap: float, whitened: list[float]) -> None:
        """Take a measurement and its innovation (first components), and that one whitened."""
        health, before = self.health, self.health.aside_since
        health.judge(time, whitened)
        self._look_for_stuck(time, value, gap, whitened)
        if self.absolute and health.aside:
            self._look_at_distance(time, gap, gap / whitened[0] if whitened[0] else 0.0)
        now = health.aside_since
        if now != before and (now == now or before == before):
            self._note(time)

    def _look_for_stuck(
        self, time: float, value: float, gap: float, whitened: list[float]
    ) -> None:
        if value != self._value:
            step = abs(value - self._value)
            if step < self._tick or self._tick == 0.0:
                self._tick = step if step == step else 0.0
            self._value, self._since, self._repeated = value, time, 0
            self._predicted = value - gap
            return
        self._repeated += 1
        # an estimate that comes nearer to the value confirms it: a car that stops
        if abs(gap) < abs(value - self._predicted):
            self._predicted = value - gap
        if self._repeated < STUCK_COUNT or time - self._since < STUCK_TIME:
            return
        # its own parameters may follow a stuck value for long: then the prediction moves
        moved = abs(value - gap - self._predicted)
        deviation = abs(gap / whitened[0]) if whitened[0] else math.inf
        if abs(whitened[0]) > 2.0 or moved > max(MOVED * deviation, 2.0 * self._tick):
            self.health.set_aside(time, f'stuck at {value:.6g}')
            if self.episodes and math.isnan(self.episodes[-1].until):
                known = self.episodes[-1]._replace(reason=self.health.reason)
                self.episodes = (*self.episodes[:-1], known)

    def set_aside(self, time: float, reason: str) -> None:
        """Use nothing of it until it has agreed for a while."""
        known = self.health.aside
        self.health.set_aside(time, reason)
        if not known:
            self._note(time)

    def _look_at_distance(self, time: float, gap: float, deviation: float) -> None:
        """Follow the range of the distance; one that moves starts the look anew."""
        if abs(gap) <= FAR * deviation:  # it agrees: nothing to give in to
            self._begin, self._low, self._high = math.nan, math.inf, -math.inf
            return
        low, high = min(self._low, gap), max(self._high, gap)
        if not (self._begin == self._begin and high - low <= STEADY * deviation):
            self._begin, low, high = time, gap, gap
        self._low, self._high = low, high

    @property
    def right_after_all(self) -> bool:
        """Whether the estimate should give in to it."""
        health = self.health
        return (
            self.absolute
            and health.aside
            and health.steady
            and self._repeated < STUCK_COUNT
            and health._time - self._begin >= self.patience
        )

    @property
    def contradicts(self) -> bool:
        """Whether it is set aside, and not because it is stuck."""
        return self.health.aside and self._repeated < STUCK_COUNT

    def believe(self, time: float) -> None:
        """The estimate gave in."""
        self.health.believe()
        self._begin = math.nan
        self._low, self._high = math.inf, -math.inf
        self._note(time)

    def _note(self, time: float) -> None:
        """Keep the beginning or the end of an episode."""
        health, kept = self.health, self.episodes
        if health.aside:
            if len(kept) < MOST:
                self.episodes = (*kept, Episode(time, math.nan, health.reason))
        elif kept and math.isnan(kept[-1].until):
            self.episodes = (*kept[:-1], kept[-1]._replace(until=time))
            self._begin = math.nan
            self._low, self._high = math.inf, -math.inf

    def copied(self) -> Trust:
        """A copy; every snapshot of a filter has many."""
        health = object.__new__(SensorHealth)
        health.__dict__.update(self.health.__dict__)
        found = object.__new__(Trust)
        found.__dict__.update(self.__dict__)
        found.health = health
        return found


def trust_findings(
    channels: Mapping[str, Any],
    failed: int,
    essential: Iterable[str] = (),
    since: float = -math.inf,
) -> list[Finding]:
    """What there is to say about the sensors of a filter (its channels) from a time on.

    `failed`: corrections that the model could not follow; `essential`: sensors whose loss makes
    the estimate doubtful.
    """
    found: list[Finding] = []
    for name, channel in channels.items():
        trust, counts = channel.trust, channel.counts
        if trust is None:
            continue
        last = trust.episodes[-1] if trust.episodes else None
        if last is not None and not last.until < since:
            found.append(_aside(name, trust, name in essential))
        elif since > -math.inf:
            pass  # whoever looks all the time counts by himself
        elif counts.rejected > max(SINGLE, REJECTED_SHARE * (counts.used + counts.rejected)):
            text = (
                f'{name}: {counts.rejected} of {counts.used + counts.rejected} measurements '
                'disagree with all others and were not used'
            )
            found.append(Finding('warn', 'measurements_rejected', text, name))
        elif 0 < counts.rejected <= SINGLE:
            text = f'{name}: {glitches_text(counts.rejected)}'
            found.append(Finding('note', 'glitches_left_out', text, name))
        if counts.believed and last is not None and not last.until < since:
            text = (
                f'{name}: stayed at another value, which the estimate took over '
                f'{counts.believed} time{"s" if counts.believed > 1 else ""}'
            )
            found.append(Finding('warn', 'estimate_corrected', text, name))
        found += [f for f in trust.health.findings(name) if f.code != 'set_aside']
    if failed:
        text = f'{failed} corrections were beyond what the model can follow and were left out'
        found.append(Finding('warn', 'corrections_failed', text))
    return found


def glitches_text(count: int) -> str:
    """Of so few measurements that were not used."""
    what = '1 measurement stands' if count == 1 else f'{count} measurements stand'
    left = 'it was' if count == 1 else 'they were'
    return (
        f'{what} alone, far from what all others say, and {left} left out: a bit on the bus, '
        'a loose cable?'
    )


def _aside(name: str, trust: Trust, essential: bool) -> Finding:
    """Of the episodes of a sensor."""
    last = trust.episodes[-1]
    if math.isnan(last.until):
        text = f'{name}: set aside since {last.since:.2f} s: {last.reason}'
        return Finding('bad' if essential else 'warn', 'sensor_set_aside', text, name)
    seconds = sum(one.until - one.since for one in trust.episodes)
    many = len(trust.episodes)
    text = (
        f'{name}: set aside {many} time{"s" if many > 1 else ""}, {seconds:.1f} s in all, '
        f'taken back at {last.until:.2f} s (last: {last.reason})'
    )
    return Finding('warn', 'sensor_was_set_aside', text, name)


def trust_figures(channels: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Episodes of every sensor that was set aside, for metrics.json."""
    return {
        name: [
            {
                'from': one.since,
                'to': None if math.isnan(one.until) else one.until,
                'reason': one.reason,
            }
            for one in channel.trust.episodes
        ]
        for name, channel in channels.items()
        if channel.trust is not None and channel.trust.episodes
    }
