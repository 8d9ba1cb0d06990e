"""Zeros of a car's sensors that wander while it drives, by who else tells the same.

Loads follow travels, and all of them carry one weight; what a gyroscope turns the accelerometer
sees as a lean; what the wheels push the accelerometer feels. A difference that grows from begin to
end is no driving.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veh_identification.checks.grid import slope
from veh_identification.checks.ranges import GRAVITY
from veh_identification.findings import Finding, Level
from veh_identification.systems.car.checks.channels import RATE, Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Deviations, with the errors of so many pieces, that a growth must have; samples it takes.
SURE, PIECES, FEWEST = 6.0, 8, 150
#: Share of the load of a wheel, rad/s and m/s^2 by which a zero must wander to be told, and how
#: many times that is too much to use anything.
LOAD, TURNED, FELT, LARGE = 0.06, 0.03, 0.25, 2.0
#: Share within which the loads of all wheels together must grow as that of the one does.
SAME = 0.5
#: Speed [m/s] from which on a lateral acceleration tells a yaw rate.
FAST = 5.0


@dataclass(frozen=True)
class Growth:
    """How much something grows from begin to end, beside what else moves it."""

    size: float
    std: float

    @property
    def sure(self) -> bool:
        """Whether it is no chance."""
        return abs(self.size) > SURE * self.std


def check_drifts(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """The zeros that wander, the largest beside what is worth a word alone."""
    found = [
        *_wheels(shown, configuration),
        *_rates(shown, configuration),
        *_felt(shown, configuration),
    ]
    return sorted(found, key=lambda one: -one.size)[:1]


def growth(value: Array, *others: Array) -> Growth | None:
    """Of a channel over the time, beside others that explain it and a constant."""
    ramp = np.linspace(-0.5, 0.5, len(value))
    table = np.column_stack([value, ramp, np.ones(len(value)), *others])
    good = np.isfinite(table).all(axis=1)
    if good.sum() < FEWEST or np.ptp(ramp[good]) < 0.8:
        return None
    y, A = table[good, 0], table[good, 1:]
    A = A / np.maximum(np.abs(A).max(axis=0), 1e-300)
    scale = np.abs(ramp[good]).max()
    basis, _ = np.linalg.qr(A[:, 1:])
    column, left = (one - basis @ (basis.T @ one) for one in (A[:, 0], y))
    power = float(column @ column)
    if not power > 1e-6 * len(y):
        return None
    size = float(column @ left) / power
    rest = left - size * column
    pieces = [float(np.sum(one)) for one in np.array_split(column * rest, PIECES)]
    return Growth(size / scale, float(np.linalg.norm(pieces)) / power / scale)


def _wheels(shown: Channels, configuration: CarDescription) -> Iterator[Finding]:
    """A load that grows beside its travel: of all wheels together, or of the travel's zero."""
    v = shown.speed[:, 0]
    also = [
        shown.force[:, 0],
        shown.force[:, 1],
        np.square(v) if np.isfinite(v).any() else 0.0 * v,
    ]
    also = [one for one in also if np.isfinite(one).any()]
    total = growth(shown.load.sum(axis=1), shown.force[:, 2], *also)
    for k, corner in enumerate(CORNERS):
        load, travel = shown.load[:, k], shown.travel[:, k]
        one = growth(load, travel, slope(shown.grid, travel), *also)
        usual = float(np.nanmean(np.abs(load))) if np.isfinite(load).any() else np.inf
        if one is None or total is None or not one.sure or abs(one.size) < LOAD * usual:
            continue
        where = f'{configuration.topics[f"wrench_{corner}"]} force.z'
        share = abs(one.size) / (LOAD * usual)
        if abs(total.size - one.size) < SAME * abs(one.size):
            text = f'{where}: its zero seems to wander by {one.size:+.3g} N over the recording'
            yield _finding(text, 'its travel does not follow', where, share)
        elif abs(total.size) < SAME * abs(one.size):
            where = f'{configuration.topics["joints"]}.position[suspension_{corner}]'
            text = f'{where}: its zero seems to wander over the recording'
            why = f'by what makes {one.size:+.3g} N of its load, which the load does not show'
            alone = growth(load, *also)
            if alone is None or abs(alone.size) < SAME * abs(one.size):
                yield _finding(text, why, where, share)


def _rates(shown: Channels, configuration: CarDescription) -> Iterator[Finding]:
    """Rates that grow, and angles that no accelerometer sees."""
    time, v = shown.grid - shown.grid[0], shown.speed
    aside = np.nan_to_num(v[:, 1])
    yaw = shown.rate[:, 2]
    leans = (
        (shown.force[:, 1] - slope(shown.grid, aside) - v[:, 0] * yaw) / GRAVITY,
        (slope(shown.grid, v[:, 0]) - aside * yaw - shown.force[:, 0]) / GRAVITY,
    )
    for axis, lean in enumerate(leans):
        rate = shown.rate[:, axis]
        known = np.isfinite(rate)
        if known.mean() < 0.9:
            continue
        angle = np.cumsum(np.where(known, rate, 0.0)) / RATE - lean
        bent = _bend(angle, time)
        if bent is not None and bent.sure and abs(bent.size) > TURNED:
            yield _of_rate(bent, 'xy'[axis], configuration)
    fast = np.where(v[:, 0] > FAST, v[:, 0], np.nan)
    turned = growth(yaw, (shown.force[:, 1] - slope(shown.grid, aside)) / fast)
    steered = growth(yaw, shown.steering * fast)
    both = [one for one in (turned, steered) if one is not None]
    sure = len(both) > 1 and all(one.sure and abs(one.size) > TURNED for one in both)
    if sure and both[0].size * both[1].size > 0.0:
        yield _of_rate(min(both, key=lambda one: abs(one.size)), 'z', configuration)


def _bend(angle: Array, time: Array) -> Growth | None:
    """By how much a rate grows whose integral this is."""
    seconds = float(time[-1])
    found = growth_of_square(angle, time / seconds - 0.5)
    # a t + b t^2 / (2 T) has the rate a + b t / T.
    return None if found is None else Growth(2.0 * found.size / seconds, 2.0 * found.std / seconds)


def growth_of_square(value: Array, when: Array) -> Growth | None:
    """Size of the square of the time in a channel, beside a constant and a straight line."""
    good = np.isfinite(value)
    if good.sum() < FEWEST:
        return None
    t, y = when[good], value[good]
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(t)), t]))
    column, left = (one - basis @ (basis.T @ one) for one in (t**2, y))
    power = float(column @ column)
    size = float(column @ left) / power
    rest = left - size * column
    pieces = [float(np.sum(one)) for one in np.array_split(column * rest, PIECES)]
    return Growth(size, float(np.linalg.norm(pieces)) / power)


def _of_rate(one: Growth, axis: str, configuration: CarDescription) -> Finding:
    where = f'{configuration.topics["imu"]} angular_velocity.{axis}'
    text = f'{where}: its zero seems to wander by {one.size:+.2g} rad/s over the recording'
    return _finding(text, 'nothing else that tells it turns so', where, abs(one.size) / TURNED)


def _felt(shown: Channels, configuration: CarDescription) -> Iterator[Finding]:
    """What the wheels push beside what the accelerometer feels, along and across the car."""
    loads = shown.load.sum(axis=1)
    if not np.isfinite(loads).any():
        return
    mass = float(np.nanmean(loads)) / GRAVITY
    if not mass > 0.0:
        return
    angle = np.nan_to_num(shown.steering)
    front, rear = (shown.wrench[:, pair, :2].sum(axis=1) for pair in ([0, 1], [2, 3]))
    cosine, sine = np.cos(angle), np.sin(angle)
    pushed = (
        cosine * front[:, 0] - sine * front[:, 1] + rear[:, 0],
        sine * front[:, 0] + cosine * front[:, 1] + rear[:, 1],
    )
    drag = np.square(np.nan_to_num(shown.speed[:, 0]))
    for axis, force in enumerate(pushed):
        one = growth(shown.force[:, axis], force / mass, *([drag] if np.ptp(drag) > 1.0 else []))
        if one is None or not one.sure or abs(one.size) < FELT:
            continue
        where = f'{configuration.topics["imu"]} linear_acceleration.{"xy"[axis]}'
        text = (
            f'{where}: its zero, or that of force.{"xy"[axis]} of the wheels, seems to wander by '
            f'{one.size:+.2g} m/s^2 over the recording'
        )
        yield _finding(text, 'the two should feel the same', where, abs(one.size) / FELT)


def _finding(text: str, why: str, where: str, share: float) -> Finding:
    level: Level = 'bad' if share > LARGE else 'warn'
    text = (
        f'{text}: {why} (a sensor that warms up, charge that leaks): tare it, or cut the recording'
    )
    return Finding(level, 'drift', text, where, size=share)
