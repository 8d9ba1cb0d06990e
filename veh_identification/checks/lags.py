"""Which sensor is late? Channels that tell the same are shifted against each other.

A lag between two channels says that one of them is late, several lags say which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.channels import STEP
from veh_identification.findings import CONVINCING, Finding
from veh_identification.runtime.background import give_way
from veh_identification.types import Array

#: The longest lag that is looked for (seconds).
LONGEST = 1.5
#: Channels that follow each other less (in correlation) tell nothing about time.
ALIKE = 0.9
#: What a part of a sensor must explain more than the whole of it (in tolerances).
PART = 0.5
#: Deviations of a lag that are no chance, as a rule.
SIGMAS = 5.0
#: Halves of the time that tell a delay each (seconds), and by how much a delay of one may differ
#: from that of the other where all is right.
SHORTEST_HALF, GROWN = 15.0, 0.12
Group = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two channels of one quantity, at the same times."""

    text: str  # 'yaw rate against the wheels'
    first: str  # sensor
    second: str
    a: Array
    b: Array
    usual: float = 0.0  # lag of the first behind the second where both are right (seconds)
    tolerance: float = 0.1  # and how far from it physics may bring it
    least: float = 0.0  # standard deviation that the channels need
    #: Angle (rad) by which physics may turn one against the other: a car that pitches as it
    #: accelerates. The slower the motion, the longer the time that looks like it.
    phase: float = 0.0
    sigmas: float = SIGMAS  # deviations of its lag that are no chance


@dataclass(frozen=True, eq=False)
class Lag:
    """How far the first channel of a pair is behind the second, beyond what is usual."""

    pair: Pair
    seconds: float
    sigma: float
    quickness: float = np.inf  # of the channels: their usual angular frequency (rad/s)

    @property
    def tolerance(self) -> float:
        """What physics and noise may make of it."""
        turned = self.pair.phase / self.quickness
        return max(self.pair.tolerance, self.pair.sigmas * self.sigma, turned)

    def sign(self, sensors: Group) -> int:
        """How a delay of some sensors shows in it."""
        return (self.pair.first in sensors) - (self.pair.second in sensors)

    def off(self, sensors: Group, delay: float) -> float:
        """In tolerances, if some sensors are late by `delay`."""
        return abs(self.seconds - self.sign(sensors) * delay) / self.tolerance


def lag_of(pair: Pair, step: float = STEP) -> Lag | None:
    """The shift at which the channels are most alike; None where they tell none."""
    give_way()
    good = np.isfinite(pair.a) & np.isfinite(pair.b)
    if good.sum() < 100 or min(pair.a[good].std(), pair.b[good].std()) < pair.least:
        return None
    reach = round(LONGEST / step)
    alike = np.array([_alike(pair.a, pair.b, k) for k in range(-reach, reach + 1)])
    if np.isnan(alike).all():
        return None
    best = int(np.nanargmax(alike))
    if alike[best] < ALIKE or best in (0, 2 * reach):
        return None
    before, at, after = alike[best - 1 : best + 2]
    if np.isnan(before + after):  # the best of what overlaps far enough is no peak
        return None
    bent = min(before - 2.0 * at + after, -1e-12)
    fine = 0.5 * (before - after) / bent
    lag = float((best - reach + np.clip(fine, -0.5, 0.5)) * step - pair.usual)
    # How sharp the peak is: a slow ramp looks the same at any shift.
    quickness = float(np.sqrt(-bent)) / step
    independent = max(float(good.sum()) * step * quickness, 1.0)
    sigma = float(np.sqrt(max(1.0 - at**2, 0.0) / independent)) / quickness
    return Lag(pair, lag, sigma, quickness)


def _alike(a: Array, b: Array, shift: int) -> float:
    """Correlation of a with b `shift` samples before; nan where too little overlaps."""
    x, y = (a[shift:], b[: len(b) - shift]) if shift >= 0 else (a[:shift], b[-shift:])
    good = np.isfinite(x) & np.isfinite(y)
    if good.sum() < 100:
        return float('nan')
    x, y = x[good] - x[good].mean(), y[good] - y[good].mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0.0 else 0.0


def check_lags(
    pairs: Sequence[Pair],
    where: Mapping[str, str],
    groups: Sequence[Group] = (),
    step: float = STEP,
) -> list[Finding]:
    """The one sensor that is late; `where`: topics by sensor, `groups`: sensors of one clock.

    `step` of the channels in seconds.
    """
    lags = [one for one in (lag_of(pair, step) for pair in pairs) if one is not None]
    plain = _worst(lags, (), 0.0)
    if plain < 1.0:
        return check_drift(pairs, where, groups, step)
    shown = '; '.join(
        f'{one.pair.text}: {one.seconds:+.2f} s' for one in lags if one.off((), 0.0) > 1.0
    )
    blamed = _blamed(lags, where, groups, plain)
    if blamed is None:
        # no delay that lasts explains them: one that grows?
        if drift := check_drift(pairs, where, groups, step):
            return drift
        text = f'channels that tell the same are apart in time ({shown}); no single sensor is late'
        return [Finding('warn', 'sensors_disagree', text)]
    place, delay, evidence = blamed
    word = 'later' if delay > 0.0 else 'earlier'
    text = (
        f'{place}: its values come {abs(delay):.2f} s {word} than their stamps say '
        f'({shown}): correct its stamps or give its delay'
    )
    return [Finding('bad', 'late', text, place, evidence)]


def check_drift(
    pairs: Sequence[Pair],
    where: Mapping[str, str],
    groups: Sequence[Group] = (),
    step: float = STEP,
) -> list[Finding]:
    """The one sensor whose delay grows: another rate of its clock, or a queue that fills up."""
    lags = []
    for pair in pairs:
        half = len(pair.a) // 2
        if half * step < SHORTEST_HALF or len(pair.a) != len(pair.b):
            continue
        early, late = (
            lag_of(replace(pair, a=pair.a[part], b=pair.b[part]), step)
            for part in (slice(0, half), slice(half, None))
        )
        if early is not None and late is not None:
            quickness = min(early.quickness, late.quickness)
            grown = float(late.seconds - early.seconds)
            sigma = float(np.hypot(early.sigma, late.sigma))
            steady = replace(pair, tolerance=GROWN, usual=0.0, phase=0.5 * pair.phase)
            lags.append(Lag(steady, grown, sigma, quickness))
    plain = _worst(lags, (), 0.0)
    if plain < 1.0 or len(lags) < 2:
        return []
    blamed = _blamed(lags, where, groups, plain)
    if blamed is None:
        return []
    place, grown, evidence = blamed
    moved = 2.0 * abs(grown)
    shown = '; '.join(f'{one.pair.text}: {2.0 * one.seconds:+.2f} s' for one in lags)
    word = 'behind' if grown > 0.0 else 'ahead of'
    text = (
        f'{place}: its values come further and further {word} the others, by about {moved:.2f} s '
        f'in what was heard ({shown}): its clock runs at another rate, or messages queue up'
    )
    return [Finding('warn', 'clock_drift', text, place, evidence)]


def _blamed(
    lags: Sequence[Lag], where: Mapping[str, str], groups: Sequence[Group], plain: float
) -> tuple[str, float, float] | None:
    """The one late sensor (its topics), by how much, and how many times less than `plain` it
    leaves; None where no single one explains the lags.
    """
    tried = []
    for sensors in (*((name,) for name in where), *groups):
        told = [one.sign(sensors) * one.seconds for one in lags if one.sign(sensors)]
        if told:
            delay = float(np.median(told))
            # Stamps are late as a rule: one that is early must explain clearly more. So must a
            # part of a sensor: it is the whole that is late where nothing tells them apart.
            left = _worst(lags, sensors, delay) + 0.3 * (delay < 0.0)
            tried.append((left + PART * _is_part(sensors, where), left, sensors, delay))
    _, left, sensors, delay = min(tried, default=(np.inf, np.inf, (), 0.0))
    evidence = plain / max(left, 0.1)
    if left >= 1.0 or evidence < CONVINCING:
        return None
    return _place(sensors, where), delay, evidence


def _place(sensors: Group, where: Mapping[str, str]) -> str:
    """Topics of sensors, none of a part whose whole is among them."""
    own = {one: where[one] for one in sensors}
    return ' and '.join(where[name] for name in sensors if not _is_part((name,), own))


def _is_part(sensors: Group, where: Mapping[str, str]) -> bool:
    """Whether it is one field of a topic of which another sensor is the whole."""
    return len(sensors) == 1 and any(
        where[sensors[0]].startswith(f'{topic} ') for topic in where.values()
    )


def _worst(lags: Sequence[Lag], sensors: Group, delay: float) -> float:
    return max((one.off(sensors, delay) for one in lags), default=0.0)
