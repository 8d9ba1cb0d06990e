"""Over seconds: do turns of the gyroscope and of the course agree, and do fixes go where they say?

Slip angles come and go within a second or two, so that what has turned over several seconds tells
the scale of a gyroscope far better than rates do. A jump of the fixes that their own velocity
knows nothing of is another datum, another base station, or a street of high houses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.checks.channels import STEP, WINDOW, Channels
from veh_identification.checks.relations import Relation
from veh_identification.checks.satellites import fitted
from veh_identification.findings import Finding
from veh_identification.signals.spread import spread
from veh_identification.types import Array

#: Turns are compared over this long (seconds), above this speed (m/s) throughout.
OVER, FAST = 5.0, 3.0
#: Turn (rad, standard deviation) that tells a scale, and its tolerance (in logarithms): on clean
#: simulated drives it is right to 1.3 %.
LEAST_TURN, TURN_TOLERANCE = 0.1, 0.05
#: What slip angles make of one such turn that has not ended (rad), and how many deviations of a
#: slope are no chance.
TURN_NOISE, TURN_SIGMAS = 0.01, 3.0
#: A zero that wanders by less (rad/s) within what is looked at is usual, and deviations that are
#: no chance.
WANDERED, WANDERING_SIGMAS = 0.02, 6.0
#: Seconds before and after a jump that are compared, at this distance from it.
BESIDE, APART = 3.0, 0.8
#: A jump is larger than this (m), and than so many times what is usual between such times.
LEAST_JUMP, UNUSUAL = 3.0, 8.0
#: Altitudes are worse: the least of theirs (m), and where no vertical velocity tells of hills.
LEAST_LEAP = (10.0, 30.0)


def turn_relations(channels: Channels, turn: Array) -> list[Relation]:
    """What the yaw rate has turned over seconds, against the course over ground."""
    ground = channels.over_ground()
    if ground is None or 'gnss_velocity' not in channels:
        return []
    east, north = ground
    speed = np.hypot(east, north)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(turn + speed) & (speed > FAST)
    reach = round(OVER / STEP)
    if good.sum() <= reach:
        return []
    # Rates are integrated as the angles between neighbours are: no unwrapping across gaps.
    course = np.zeros(len(turn))
    course[1:] = np.angle((east + 1j * north)[1:] * np.conj((east + 1j * north)[:-1]))
    bad = ~np.isfinite(course) | ~good
    turned = np.cumsum(np.where(bad, 0.0, turn)) * STEP
    gone = np.cumsum(np.where(bad, 0.0, course))
    holes = np.cumsum(bad)
    whole = holes[reach:] == holes[:-reach]
    before = np.full(reach, np.nan)  # at the times of the grid
    a = np.append(before, np.where(whole, turned[reach:] - turned[:-reach], np.nan))
    b = np.append(before, np.where(whole, gone[reach:] - gone[:-reach], np.nan))
    text = f'what the yaw rate turned over {OVER:.0f} s against the course over ground'
    known = np.isfinite(a) & np.isfinite(b)
    turns = float(known.sum()) / reach  # that do not overlap
    moved = float(b[known].std()) * np.sqrt(max(turns, 1.0)) if known.any() else 0.0
    chance = TURN_SIGMAS * TURN_NOISE / moved if moved > 0.0 else np.inf
    tolerance = max(TURN_TOLERANCE, chance)
    powers = {'gyro': 1.0, 'imu_side': 1.0}
    return [Relation(text, a, b, powers, LEAST_TURN, tolerance, reach=reach)]


def check_wandering(channels: Channels, turn: Array, where: str) -> list[Finding]:
    """A zero of the gyroscope that moves on with time, whatever its scale is.

    `turn_relations` as a line over time beside a share of the turns: a constant zero is usual.
    """
    found: list[Finding] = []
    for one in turn_relations(channels, turn):
        off, course = (one.measured - one.predicted) / OVER, one.predicted / OVER
        good = np.isfinite(off + course)
        if good.sum() < 3 * one.reach:
            continue
        time = channels.grid[good] - channels.grid[good].mean()
        columns = [time, np.ones(len(time)), course[good]]
        slope, sigma = fitted(columns, off[good], (np.inf,) * 3)
        # Neighbours share what turned over so long, not the window of `fitted` alone.
        sigma *= np.sqrt(OVER / WINDOW)
        moved = slope * float(np.ptp(time))
        if abs(moved) > WANDERED and abs(slope) > WANDERING_SIGMAS * sigma:
            text = (
                f'{where}: its zero wanders by {moved:+.2g} rad/s in {np.ptp(time):.0f} s, as the '
                'course over ground tells: let it warm up, or look at its supply; a sensor of '
                'rates does not move so far'
            )
            found.append(Finding('warn', 'gyro_zero', text, where, size=abs(slope) / sigma))
    return found


def turn_zero(channels: Channels, turn: Array) -> float | None:
    """What a yaw rate shows beyond the turns of the course, in the mean; None where none is known.

    Slip angles come and go, so that both turn by the same angle in the end.
    """
    course = channels.course_rate()
    if course is None:
        return None
    beyond = turn - course
    known = np.isfinite(beyond) & (channels.ground_speed() > FAST)
    return float(beyond[known].mean()) if known.any() else None


def check_jumps(channels: Channels, fixes: str, velocities: str) -> list[Finding]:
    """Fixes that are elsewhere from one moment on, though their velocity says nothing of it."""
    if 'gnss' not in channels or 'gnss_velocity' not in channels:
        return []
    apart = [_beside_velocity(channels, axis) for axis in (0, 1)]
    level = apart[0] + 1j * apart[1]
    found = _jumped(channels, level, fixes, velocities, LEAST_JUMP, 'fixes jump')
    if found or channels.width('gnss') < 3:
        return found
    climbs = channels.width('gnss_velocity') > 2
    climbs = climbs and spread(channels.tables['gnss_velocity'][1][:, 2]) > 0.0
    height = _beside_velocity(channels, 2) if climbs else channels.of('gnss', 2)
    least = LEAST_LEAP[0 if climbs else 1]
    return _jumped(channels, height + 0j, fixes, velocities, least, 'altitudes jump')


def _beside_velocity(channels: Channels, axis: int) -> Array:
    """A coordinate of the fixes less what their velocity says of it."""
    place = channels.of('gnss', axis)
    velocity = channels.of('gnss_velocity', axis)
    known = np.isfinite(velocity)
    if known.sum() < 2:
        return np.full(len(place), np.nan)
    filled = np.interp(channels.grid, channels.grid[known], velocity[known])
    return np.asarray(place - np.cumsum(filled) * STEP)


def _jumped(
    channels: Channels, rest: Any, fixes: str, velocities: str, least: float, what: str
) -> list[Finding]:
    moved = _steps(rest)
    if not np.isfinite(moved).any():
        return []
    sizes = np.abs(moved)
    k = int(np.nanargmax(sizes))
    usual = float(np.nanmedian(sizes))
    if not sizes[k] > max(least, UNUSUAL * usual):
        return []
    # As long as the two medians are on its two sides they tell the same.
    with np.errstate(invalid='ignore'):
        when = float(np.median(channels.grid[sizes > 0.8 * sizes[k]]))
    text = (
        f'{fixes}: the {what} by {sizes[k]:.1f} m at {when:.1f} s, of which '
        f'{velocities} knows nothing: another datum or base station, or reflected signals'
    )
    return [Finding('warn', 'jump', text, fixes, size=float(sizes[k] / max(usual, 1e-9)))]


def _steps(rest: Array) -> Array:
    """Median of the seconds after each time less that of those before."""
    width, apart = round(BESIDE / STEP), round(APART / STEP)
    found = np.full(len(rest), np.nan + 0j)
    if len(rest) < 2 * (width + apart) + 1:
        return found
    parts = np.lib.stride_tricks.sliding_window_view(rest, width)
    with np.errstate(invalid='ignore'):
        middle = np.median(parts.real, axis=1) + 1j * np.median(parts.imag, axis=1)
    first, last = width + apart, len(rest) - width - apart
    times = np.arange(first, last)
    found[first:last] = middle[times + apart] - middle[times - apart - width]
    return found
