"""Wanted motions that a robot cannot mean: degrees, rates that are none, joints beyond limits.

Efforts can be computed for any numbers; those of a motion in degrees look like efforts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import InputError
from veh_identification.types import Array, BoolArray

DEGREES = 180.0 / np.pi
#: Beyond the range by this share of it, and beyond the speed limit by this factor: a mistake.
SLACK, TOO_FAST = 0.1, 1.5
#: Points that a comparison of sides needs, and how smooth they must be (rms of second over first
#: differences): between points that are far apart a motion may do anything.
FEWEST, SMOOTH = 8, 0.5
#: Share of the changes that rates may leave unexplained.
CONTRADICTS = 0.5


@dataclass(frozen=True, eq=False)
class Range:
    """What each joint can do; without a limit: infinite."""

    names: tuple[str, ...]
    lower: Array
    upper: Array
    speed: Array
    angle: BoolArray


def check_limits(limits: Range, position: Array, speed: Array, where: str = 'q, qd') -> None:
    """Refuse positions and speeds (N, joints) that the robot does not have."""
    slack = SLACK * np.where(np.isfinite(limits.upper), limits.upper - limits.lower, 0.0)
    low, high = limits.lower - slack, limits.upper + slack
    place, rate = (f'{where}: {word}' for word in ('positions', 'velocities'))
    beyond = (position < low) | (position > high)
    if beyond.any():
        n, j = np.argwhere(beyond)[0]
        turned = position[:, j] / DEGREES
        degrees = limits.angle[j] and ((turned >= low[j]) & (turned <= high[j])).all()
        raise InputError(
            f'{place} of {limits.names[j]} go to {position[n, j]:.4g} (point {n}), the robot from '
            f'{limits.lower[j]:.4g} to {limits.upper[j]:.4g}{_hint(bool(degrees))}'
        )
    fast = np.abs(speed) > TOO_FAST * limits.speed
    if fast.any():
        n, j = np.argwhere(fast)[0]
        degrees = limits.angle[j] and np.abs(speed[:, j]).max() < DEGREES * limits.speed[j]
        raise InputError(
            f'{rate} of {limits.names[j]} go to {speed[n, j]:.4g} (point {n}), the limit is '
            f'{limits.speed[j]:.4g}{_hint(bool(degrees), "/s")}'
        )


def _hint(degrees: bool, per: str = '') -> str:
    return f': degrees{per}? They must be in rad{per}' if degrees else ''


def check_sides(
    names: Sequence[str], times: Array, motion: tuple[Array, Array, Array], where: str
) -> None:
    """Refuse rates that are not those of the positions, where points are dense enough to tell."""
    words = ('positions', 'velocities', 'accelerations')
    if len(times) < FEWEST or not (np.diff(times) > 0.0).all():
        return
    if not (motion[1].any() or motion[2].any()):
        return  # poses at rest, one by one
    step = np.diff(times)[:, None]
    dense = np.ones(motion[0].shape[1], bool)
    for k in (0, 1):
        change = np.diff(motion[k], axis=0)
        told = 0.5 * step * (motion[k + 1][1:] + motion[k + 1][:-1])
        bend = _rms(np.diff(change / step, axis=0) * step[1:])
        size = np.maximum(_rms(change), _rms(told))
        dense &= bend < SMOOTH * np.maximum(_rms(change), 1e-300)
        moves = size > 1e-3 * size.max(initial=0.0)
        left = _rms(change - told) / np.maximum(size, 1e-300)
        for j in map(int, np.flatnonzero(dense & moves & (left > CONTRADICTS))):
            factor = float(_rms(told)[j] / max(_rms(change)[j], 1e-300))
            degrees = abs(np.log(max(factor, 1e-300) / DEGREES)) < 0.2
            other = abs(np.log(max(factor, 1e-300) * DEGREES)) < 0.2
            hint = '; degrees?' if degrees or other else ''
            raise InputError(
                f'{where}: {words[k + 1]} of {names[j]} are not the rates of its {words[k]} '
                f'({factor:.3g} times as large){hint}'
            )


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))
