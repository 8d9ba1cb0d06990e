"""Channels of a vehicle on one grid, whatever their rates: what relations are made of."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import numpy as np

from veh_identification.checks.grid import averaged, slope
from veh_identification.runtime.background import give_way
from veh_identification.signals.glitches import IMPACT_SHARE, rough_glitches
from veh_identification.signals.segments import usual_step
from veh_identification.types import Array, BoolArray

#: Step of the common grid and the mean taken around each of its times (seconds).
STEP, WINDOW = 0.1, 0.5
#: Satellites tell a path that is smooth over this long (seconds).
PATH_WINDOW = 1.0
#: Turn (rad) of the path within two of these beyond which its chord is no way gone: 2 % less.
BENT = 0.6
#: Course and curvature mean nothing below this speed (m/s).
ROLLING = 1.0
#: Above this speed (m/s) it surely moves.
SURELY = 2.0
#: An inertial unit shows at this speed (m/s) already that it moves, by its vibrations if nothing
#: else: a car that creeps round a corner turns as far as a fast one.
CREEPING = 0.5
#: It cannot hold its values for so long (seconds) while it does; means reach half a window.
HELD = WINDOW
#: Names of channels with a forward speed (m/s) in their first column.
SPEEDS = ('speed', 'odometry', 'wheels')
Tables = Mapping[str, tuple[Array, Array]]


class Channels:
    """Times and rows of values by name, as means on one grid; nan where a sensor is silent.

    Names: `imu` (rates and specific forces in axes of the vehicle), `gnss` (east, north),
    `gnss_velocity` (likewise), those of SPEEDS, and whatever a system has besides.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = {name: one for name, one in tables.items() if len(one[0]) > 1}
        begin = min((times[0] for times, _ in self.tables.values()), default=0.0)
        end = max((times[-1] for times, _ in self.tables.values()), default=0.0)
        self.grid = np.arange(begin, end, STEP)
        self.span = float(end - begin)
        self._means: dict[tuple[str, int, float], Array] = {}  # checks ask again and again

    def without(self, name: str) -> Channels:
        """All channels but one, on the same grid."""
        other = copy(self)
        other.tables = {key: one for key, one in self.tables.items() if key != name}
        return other

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def width(self, name: str) -> int:
        """How many columns a channel has."""
        return int(self.tables[name][1].shape[1])

    def of(self, name: str, column: int, window: float = WINDOW) -> Array:
        """One channel as means around the times of the grid."""
        give_way()
        found = self._means.get((name, column, window))
        if found is None:
            times, values = _without_glitches(
                self.tables[name][0], self.tables[name][1][:, column]
            )
            # A slow sensor needs a longer window to hold a sample at all.
            usual = self._period(name)
            found = averaged(times, values, self.grid, max(window, 2.0 * usual))
            found.setflags(write=False)
            self._means[name, column, window] = found
        return found

    def _period(self, name: str) -> float:
        return usual_step(self.tables[name][0])

    def moving_at(self, time: Array, above: float = SURELY) -> BoolArray:
        """Whether the vehicle surely moves at some times, by its wheels or the satellites."""
        speed = self.forward_speed()
        if speed is None:
            return np.zeros(len(time), dtype=bool)
        fast = np.nan_to_num(np.abs(speed[1])) > above
        return np.asarray(np.interp(time, self.grid, fast.astype(float)) > 0.99)

    def rate_of(self, name: str, column: int) -> Array:
        """Derivative of a channel."""
        return slope(self.grid, self.of(name, column))

    def forward_speed(self) -> tuple[str, Array] | None:
        """The first forward speed there is; satellites tell its size only."""
        for name in SPEEDS:
            if name in self:
                return name, self.of(name, 0)
        if 'gnss_velocity' in self:
            return 'gnss_velocity', self.ground_speed()
        return None

    def ground_speed(self) -> Array:
        """Size of the satellites' velocity."""
        return np.hypot(self.of('gnss_velocity', 0), self.of('gnss_velocity', 1))

    def path_velocity(self) -> tuple[Array, Array]:
        """East and north velocity by the fixes, over seconds: fixes are noisy."""
        return self._path_rate(0), self._path_rate(1)

    def climb(self) -> Array:
        """Upward velocity by the fixes, likewise."""
        return self._path_rate(2)

    def _path_rate(self, axis: int) -> Array:
        reach = round(PATH_WINDOW / STEP)
        place = self.of('gnss', axis, PATH_WINDOW)
        rate = np.full(len(place), np.nan)
        rate[reach:-reach] = (place[2 * reach :] - place[: -2 * reach]) / (2 * reach * STEP)
        return rate

    def path_speed(self) -> Array:
        """Size of `path_velocity`; nan where the path bends so much that its chord is short."""
        east, north = self.path_velocity()
        found = np.hypot(east, north)
        # Averages over a second and differences over two lose (turn^2 / 24) of each, as chords do.
        reach = round(PATH_WINDOW / STEP)
        with np.errstate(invalid='ignore'):
            unit = (east + 1j * north) / np.where(found > 0.0, found, np.nan)
        turned = np.full(len(found), np.inf)
        if len(found) > 2 * reach:
            turned[reach:-reach] = np.abs(np.angle(unit[2 * reach :] * unit[: -2 * reach].conj()))
        return np.where(np.nan_to_num(turned, nan=np.inf) < BENT, found, np.nan)

    def as_path(self, speed: Array) -> Array:
        """A speed as smooth as `path_velocity` makes it, so that the two may be compared."""
        reach = round(PATH_WINDOW / STEP)
        kernel = np.convolve(np.ones(reach + 1), np.ones(2 * reach + 1))
        if len(speed) < len(kernel):
            return np.full(len(speed), np.nan)
        found = np.full(len(speed), np.nan)
        half = len(kernel) // 2
        found[half : half + len(speed) - len(kernel) + 1] = np.convolve(
            speed, kernel / kernel.sum(), 'valid'
        )
        return found

    def over_ground(self) -> tuple[Array, Array] | None:
        """Velocity of the antenna to east and north; by the fixes where it is not measured.

        None where it comes too slowly to be compared with what turns within a second.
        """
        if 'gnss_velocity' in self:
            quick = self._period('gnss_velocity') < 0.5 * WINDOW
            return (self.of('gnss_velocity', 0), self.of('gnss_velocity', 1)) if quick else None
        if 'gnss' not in self or self._period('gnss') > 0.5 * WINDOW:
            return None
        return self.rate_of('gnss', 0), self.rate_of('gnss', 1)

    def course_rate(self) -> Array | None:
        """Turn rate of the course over ground; nan where the vehicle is slow."""
        if 'gnss_velocity' not in self:
            return None
        east, north = self.of('gnss_velocity', 0), self.of('gnss_velocity', 1)
        speed2 = east**2 + north**2
        with np.errstate(invalid='ignore', divide='ignore'):
            rate = (east * slope(self.grid, north) - north * slope(self.grid, east)) / speed2
        return np.where(speed2 > ROLLING**2, rate, np.nan)


def correlation(a: Array, b: Array) -> float:
    """Of two channels where both are known; 0 where they say too little."""
    good = np.isfinite(a) & np.isfinite(b)
    if good.sum() < 50 or a[good].std() <= 0.0 or b[good].std() <= 0.0:
        return 0.0
    return float(np.corrcoef(a[good], b[good])[0, 1])


def _without_glitches(times: Array, values: Array) -> tuple[Array, Array]:
    """One sample of 100 m/s would be a jump of the way, or another scale, in every relation."""
    known = np.flatnonzero(np.isfinite(values))
    glitch = rough_glitches(times[known], values[known, None], IMPACT_SHARE)
    if not glitch.any():
        return times, values
    return np.delete(times, known[glitch]), np.delete(values, known[glitch])
