"""Does each wheel roll where its name says, as fast as the car makes it?

A wheel's rim goes with the car at its place: the outer wheels of a bend are faster, those in
front too. Four speeds and the yaw rate tell which signal belongs to which corner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np

from veh_identification.checks.explanation import (
    Hypothesis,
    best_explanation,
    explanation_findings,
)
from veh_identification.checks.grid import slope
from veh_identification.checks.motion import Story
from veh_identification.checks.ranges import ANGLE
from veh_identification.checks.satellites import fitted
from veh_identification.findings import Finding
from veh_identification.types import Array

#: Wheels are compared above this speed (m/s) in so many samples of the grid.
ROLLING, FEWEST = 2.0, 100
#: A wheel whose speed is off by more than this (in logarithms) is not one of this car.
TOLERANCE = 0.15
#: Bends (standard deviation of the yaw rate, rad/s) that tell left from right.
BENDS = 0.02
#: Half tracks off by more than this (in logarithms), and by so many deviations, are told.
TRACK_TOLERANCE, TRACK_SIGMAS = 0.4, 5.0
#: They are looked at below this speed (m/s), in bends of this size (rad/s).
SLOW, TURNING = 9.0, 0.05
#: Slip of driven wheels (over speed, a m/s^2) and how many deviations of it tell which axle is
#: driven, where the car speeds up by more than this (m/s^2).
LEAST_SLIP, DRIVEN_SIGMAS, SPEEDING_UP = 0.002, 8.0, 0.3
#: Wheels pressed to the ground in bends are smaller: usual effect of v^2 w on the difference of
#: right and left, and its deviation (s^2/m).
PRESSED, PRESSED_DEVIATION = 0.003, 0.003
PRESSED_BY = (0.0, 0.0015, 0.003, 0.0045)


@dataclass(frozen=True)
class WheelPlaces:
    """Four wheels as described: front left, front right, rear left, rear right."""

    names: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    driven: str = ''  # front or rear, where that is known
    track: str = 'geometry.half_track'  # the entry that gives the places across
    whole: bool = False  # whether that is the distance of left and right


@dataclass(frozen=True, eq=False)
class _Wheels:
    """Speeds of the rims by name, and what moves them."""

    speeds: Array  # (N, 4) forward
    turn: Array  # (N,) yaw rate
    gain: Array  # (N,) change of speed
    x: Array  # (4,) places of the corners
    y: Array
    #: What is left of a signal at a place: exchanged wheels put each signal at four places only.
    _left: dict[tuple[int, float, float, float], float] = field(default_factory=dict)

    def misfit(self) -> float:
        """What the wheels differ from those of a car at these places (rms, m/s).

        Radii are free, and so is what drive and brakes make of each wheel. Wheels that are
        pressed to the ground in bends are smaller: by how much is tried.
        """
        return min(self._misfit(pressed) for pressed in PRESSED_BY)

    def _misfit(self, pressed: float) -> float:
        total = 0.0
        for k in range(4):
            place = k, float(self.x[k]), float(self.y[k]), pressed
            if place not in self._left:
                self._left[place] = self._left_at(*place)
            total += self._left[place]
        return math.sqrt(total / 4.0)

    def _left_at(self, k: int, x: float, y: float, pressed: float) -> float:
        """Mean square of what is left of one signal at a place."""
        mean, w = self.speeds.mean(axis=1), self.turn
        # The mean of all wheels is that of the rear axle and the front one, which goes further.
        rear = mean - (self.x.max() * w) ** 2 / (4.0 * mean)
        along = rear - y * w - np.sign(y) * pressed * rear**2 * w
        A = np.column_stack([np.hypot(along, x * w), rear * self.gain])
        fit, *_ = np.linalg.lstsq(A, self.speeds[:, k], rcond=None)
        return float(np.mean(np.square(self.speeds[:, k] - A @ fit)))


def check_single_wheels(story: Story, names: Sequence[str]) -> list[Finding]:
    """Wheels whose speed is not that of the others: sign, unit, scale."""
    channels = story.channels
    if 'wheel_speeds' not in channels:
        return []
    speeds = np.column_stack([channels.of('wheel_speeds', k) for k in range(4)])
    known = np.flatnonzero(np.isfinite(speeds).any(axis=0))
    if len(known) < 3:
        return []
    with np.errstate(invalid='ignore'):
        usual = np.median(np.abs(speeds[:, known]), axis=1)
        good = np.isfinite(speeds[:, known]).all(axis=1) & (usual > ROLLING)
    if good.sum() < FEWEST:
        return []
    forward = np.sign(np.median(speeds[good][:, known]))
    scales = {
        int(k): float(forward * (speeds[good, k] @ usual[good]) / (usual[good] @ usual[good]))
        for k in known
    }
    backwards = [names[k] for k, one in scales.items() if one < 0.0]
    if 2 * len(backwards) == len(known) == len(scales):
        return _halves(story, names, backwards)
    strange = {k: one for k, one in scales.items() if one <= 0.0 or abs(np.log(one)) > TOLERANCE}
    return [_strange(story, names[k], one) for k, one in strange.items()][:1]


def _halves(story: Story, names: Sequence[str], backwards: Sequence[str]) -> list[Finding]:
    """Half of the wheels turn against the others: which half, they do not tell."""
    where = story.where['wheels']
    others = [name for name in names if name not in backwards]
    text = (
        f'{where}: {" and ".join(backwards)} turn against {" and ".join(others)}: those of one of '
        'the two have the wrong sign (forward is positive)'
    )
    return [Finding('bad', 'sign', text, where)]


def _strange(story: Story, name: str, scale: float) -> Finding:
    where = f'{story.where["wheels"]} {name}'
    if scale < 0.0 and abs(np.log(-scale)) < TOLERANCE:
        text = f'{where} turns against the other wheels: it has the wrong sign'
        return Finding('bad', 'sign', text, where)
    unit = next(
        (name for name, one in ANGLE.others.items() if abs(np.log(abs(scale) / one)) < 0.3), ''
    )
    hint = f': it seems to be in {unit}' if unit else ': scale, ticks or radius of this wheel'
    text = f'{where} is {scale:.3g} times as fast as the other wheels{hint}'
    return Finding('bad', 'unit' if unit else 'scale', text, where)


def check_places(story: Story, places: WheelPlaces) -> list[Finding]:
    """Which signal belongs to which corner, and whether the tracks are those described."""
    channels = story.channels
    if 'wheel_speeds' not in channels:
        return []
    speeds = np.column_stack([channels.of('wheel_speeds', k) for k in range(4)])
    turn = channels.of('imu', 2)
    mean = speeds.mean(axis=1)
    gain = slope(channels.grid, mean)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(mean + turn + gain) & (mean > ROLLING)
    if good.sum() < FEWEST or turn[good].std() < BENDS:
        return []
    x, y = np.array(places.x), np.array(places.y)
    data = _Wheels(speeds[good], turn[good], gain[good], x, y)
    where = f'{story.where["wheels"]} wheel_*'
    found = best_explanation(data, _exchanges(places.names), _Wheels.misfit)
    told = explanation_findings(
        found, label=where, better='their speeds fit the bends', misfit_text='', good=np.inf
    )
    if any(one.level == 'bad' for one in told):
        return told
    return _check_driven(data, places.driven, where) or told or _check_track(data, places)


def _exchanges(names: Sequence[str]) -> Iterator[Hypothesis[_Wheels]]:
    """All ways to exchange wheels, those of fewest wheels first."""
    orders = sorted(
        permutations(range(4)), key=lambda order: sum(k != j for k, j in enumerate(order))
    )
    for order in orders[1:]:
        moved = [names[k] for k, j in enumerate(order) if k != j]
        origin = [names[j] for k, j in enumerate(order) if k != j]
        text = f'{", ".join(moved)} seem to be {", ".join(origin)}: they are exchanged'

        def change(data: _Wheels, order: tuple[int, ...] = order) -> _Wheels:
            places = list(order)
            return replace(data, x=data.x[places], y=data.y[places])

        yield Hypothesis('wheels_exchanged', text, change)


def _check_driven(data: _Wheels, driven: str, where: str) -> list[Finding]:
    """The wheels of the driven axle slip: they are faster when the car speeds up."""
    ahead = {'front': 1.0, 'rear': -1.0}.get(driven, 0.0)
    fast = data.gain > SPEEDING_UP
    if not ahead or fast.sum() < FEWEST // 2:
        return []
    s, w, gain = data.speeds[fast], data.turn[fast], data.gain[fast]
    v = s.mean(axis=1)
    front = 0.5 * (s[:, 0] + s[:, 1] - s[:, 2] - s[:, 3])
    further = (data.x.max() * w) ** 2 / (2.0 * v)  # front wheels go further in bends
    columns = [v * gain, further, v, np.ones_like(v)]
    slip, sigma = fitted(columns, ahead * front, (np.inf, np.inf, np.inf, np.inf))
    if slip > -max(LEAST_SLIP, DRIVEN_SIGMAS * sigma):
        return []
    other = 'front' if driven == 'rear' else 'rear'
    text = (
        f'{where}: the {other} wheels are the faster ones when the car speeds up, though '
        f'sensors.wheels.driven is {driven}: front and rear wheels are exchanged, or the other '
        'axle is driven'
    )
    return [Finding('bad', 'wheels_exchanged', text, where, size=-slip / sigma)]


def _check_track(data: _Wheels, places: WheelPlaces) -> list[Finding]:
    """Right minus left is track times yaw rate, beside unequal and pressed wheels.

    Pressed wheels change it by as much again at 20 m/s: only slow bends tell the track.
    """
    slow = data.speeds.mean(axis=1) < SLOW
    s, w = data.speeds[slow], data.turn[slow]
    if len(w) < FEWEST or w.std() < TURNING:
        return []
    v = s.mean(axis=1)
    difference = s[:, 1] + s[:, 3] - s[:, 0] - s[:, 2]
    width = float(data.y[0] - data.y[1] + data.y[2] - data.y[3])
    columns = [width * w, v**2 * w, v, np.ones_like(v)]
    scale, sigma = fitted(
        columns,
        difference - 2.0 * PRESSED * v**2 * w,
        (np.inf, 2.0 * PRESSED_DEVIATION, np.inf, np.inf),
    )
    if not scale > 0.0 or abs(np.log(scale)) < max(TRACK_TOLERANCE, TRACK_SIGMAS * sigma / scale):
        return []
    mean = width / (2.0 if places.whole else 4.0)
    text = (
        f'{places.track} is {mean:.2f} m in the mean, but right and left wheels differ in '
        f'bends as if it were {scale * mean:.2f} +- {sigma * mean:.2f} m: is it the full track, '
        'or half of it twice?'
    )
    return [Finding('bad', 'geometry', text, places.track, size=max(scale, 1.0 / scale))]
