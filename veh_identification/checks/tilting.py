"""Roll and pitch rates of a vehicle against what its accelerometer shows of gravity.

What is felt along y beside the turn of the path, and along x beside the change of speed, is
gravity in a vehicle that tilts. Integrated rates must follow it within seconds. Tilts of a road
car are tenths of a degree there, of which slip and bumps leave half: enough for signs and for a
unit that is 57 times too large, not for scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from veh_identification.checks.channels import STEP, Channels
from veh_identification.checks.courses import turn_zero
from veh_identification.checks.grid import quick, slope
from veh_identification.findings import Finding
from veh_identification.signals.spread import spread
from veh_identification.types import Array

#: Seconds within which tilts are compared: slower ones are drift, bias and slopes of the road.
WITHIN = 4.0
#: Speed (m/s) at which no vehicle goes backwards, and samples at such speeds that tell something.
FORWARD, FEWEST = 3.0, 150
#: Tilts (rad, standard deviation) that tell something.
LEAST = 1e-3
#: Correlation of the wrong sign, or of any, that is told: 0.38 to 0.91 in clean simulated drives.
OPPOSITE, ALIKE = 0.3, 0.3
#: Lean (rad) in the mean that no road has; roads lean by half of it at most.
LEANS = 0.08
#: Samples that outlast a hill, where nothing tells how it climbs: two minutes.
HILL = round(120.0 / STEP)
#: Zero of a yaw rate (rad/s) where no course tells it: that of an uncalibrated telephone.
ZERO = 0.07
#: How many times larger the tilt by the rates is in degrees (0.25 to 0.67 times in clean drives).
IN_DEGREES = 6.0


def check_tilting(
    channels: Channels,
    rates: Sequence[Array],
    forces: Sequence[Array],
    where: str,
    gravity: float,
) -> list[Finding]:
    """Rates about x and y of the wrong sign, or in degrees."""
    felt = _felt(channels, rates, forces, gravity)
    if felt is None:
        return []
    found: list[Finding] = []
    for axis, rate, tilt in zip('xy', rates, (felt.rolled, -felt.nose_up), strict=False):
        found += _judged(rate, tilt, f'{where} angular_velocity.{axis}')
    return found


def check_leaning(
    channels: Channels,
    rates: Sequence[Array],
    forces: Sequence[Array],
    where: str,
    gravity: float,
) -> list[Finding]:
    """Gravity in the horizontal forces all along the way: the unit leans, not the road.

    What is felt along y beside speed times yaw rate, and along x beside the change of speed and
    what satellites see the vehicle climb.
    """
    felt = _felt(channels, rates, forces, gravity)
    if felt is None:
        return []
    # A zero of the yaw rate is felt as a lean that grows with the speed: 0.068 rad/s of a
    # telephone at 17 m/s are 7 degrees.
    by_zero = 0.0 if felt.zero is not None else ZERO * felt.speed / gravity
    climbs = _climbing(channels)
    tilts = {'rolled to the right': felt.rolled, 'nose up': felt.nose_up - (climbs or 0.0)}
    found = []
    for words, tilt in tilts.items():
        good = tilt[np.isfinite(tilt)]
        least = LEANS + (by_zero if words == 'rolled to the right' else 0.0)
        enough = HILL if words == 'nose up' and climbs is None else FEWEST
        if len(good) < enough or abs(np.mean(good)) < least:
            continue
        text = (
            f'{where}: it holds gravity as if the vehicle were {words} by '
            f'{np.degrees(np.mean(good)):+.1f} degrees throughout, which no road is: the unit '
            'leans against the pose given for it (its rpy or its transform)'
        )
        found.append(Finding('warn', 'imu_turned', text, where, size=abs(float(np.mean(good)))))
    return found


class _Felt(NamedTuple):
    """Gravity in the horizontal forces of a vehicle that drives, nan where it does not."""

    rolled: Array  # beside speed times yaw rate, to the right
    nose_up: Array  # beside the change of speed
    speed: float  # in the mean
    zero: float | None  # of the yaw rate, taken off; None: no course tells it


def _felt(
    channels: Channels, rates: Sequence[Array], forces: Sequence[Array], gravity: float
) -> _Felt | None:
    speed = channels.forward_speed()
    if speed is None or len(channels.grid) < 2:
        return None
    forward = np.where(np.abs(speed[1]) > FORWARD, speed[1], np.nan)
    if not np.isfinite(forward).any():
        return None
    zero = turn_zero(channels, rates[2])
    return _Felt(
        (forces[1] - forward * (rates[2] - (zero or 0.0))) / gravity,
        (forces[0] - slope(channels.grid, forward)) / gravity,
        float(np.nanmean(np.abs(forward))),
        zero,
    )


def _climbing(channels: Channels) -> float | None:
    """Slope of the road in the mean by fixes or vertical velocities; None where neither tells."""
    if 'gnss' in channels and channels.width('gnss') > 2:
        place = np.column_stack([channels.of('gnss', axis) for axis in range(3)])
        known = place[np.isfinite(place).all(axis=1)]
        way = float(np.hypot(*np.diff(known[:, :2], axis=0).T).sum()) if len(known) > 1 else 0.0
        return float(known[-1, 2] - known[0, 2]) / way if way > 0.0 else 0.0
    if 'gnss_velocity' not in channels or channels.width('gnss_velocity') < 3:
        return None
    east, north, up = (channels.of('gnss_velocity', axis) for axis in range(3))
    way = float(np.nansum(np.hypot(east, north)))
    told = spread(up) > 0.0  # else it is a field that is not used
    return float(np.nansum(up)) / way if told and way > 0.0 else None


def _judged(rate: Array, tilt: Array, where: str) -> list[Finding]:
    turned = _passing(STEP * np.cumsum(np.nan_to_num(rate)))
    shown = _passing(tilt)
    good = np.isfinite(turned) & np.isfinite(shown) & np.isfinite(rate)
    if good.sum() < FEWEST:
        return []
    sizes = float(turned[good].std()), float(shown[good].std())
    if min(sizes) < LEAST:
        return []
    alike = float(np.corrcoef(turned[good], shown[good])[0, 1])
    against = (
        f'the vehicle tilts by it as gravity in the accelerometer shows with the correlation '
        f'{alike:.2f} and {sizes[0] / sizes[1]:.2g} times as much'
    )
    if sizes[0] > IN_DEGREES * sizes[1] and abs(alike) > ALIKE:
        text = f'{where} seems to be in deg/s, it must be in rad/s: {against}'
        return [Finding('warn', 'unit', text, where)]
    if alike < -OPPOSITE:
        text = f'{where} seems to have the wrong sign: {against}'
        return [Finding('warn', 'sign', text, where)]
    return []


def _passing(values: Array) -> Array:
    """Without what lasts; nan at the ends, where it is not known."""
    count = round(WITHIN / STEP)
    if len(values) <= count:
        return np.full(len(values), np.nan)
    found = quick(values, count)
    found[: count // 2] = found[-(count // 2) :] = np.nan
    return found
