"""Equation (4) by momentum: rows without accelerations, filtered once, after all products.

The rows of the base link are the balance of momentum in world axes about a fixed point,

    d/dt (H phi) + G phi = sum of K F,

H phi being linear and angular momentum and G phi what gravity takes. Under a window w that begins
and ends at zero the derivative goes over to the window,

    (-integral(w' H) + integral(w G)) phi = integral(w K F),

which holds exactly for any motion, impacts included: no signal is differentiated twice, and no
product of filtered signals stands for a filtered product. In long stretches the windows are those
of a low-pass, in short ones cubic B-splines, which are shorter but let more noise through; they
share the stretch evenly from its first to its last sample. Every row is then told
about the place and along the axes that the base has in the middle of its window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import skew
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.equations import (
    ROWS_PER_CUTOFF,
    SEPARATOR_ROWS,
    Equations,
)
from veh_identification.types import Array

#: A cubic B-spline has half gain at 0.32 over the distance of its knots.
KNOT = 0.32
#: Distance of the windows over that of the knots: rows of white noise are then correlated as the
#: others (CORRELATION).
SPACING = 1.39
SUPPORT = 4.0  # distances of knots from end to end
ROWS = 48  # that are made together
REACH = 1.6  # of the low-pass to either side, in cycles at the cut-off
LONG = 3.0  # lengths of the low-pass from which on a stretch is long


@dataclass(frozen=True, eq=False)
class Window:
    """Value and slope at places in samples from its middle; it ends `reach` samples from there."""

    reach: float
    shape: Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class MomentumEquations(Equations):
    """The rows of a recording whose base has a pose."""

    world: Array | None = None  # (N, 6) measured, world axes about the samples' centre
    gravity: float = 9.80665

    @property
    def _knots(self) -> float:
        """Samples from knot to knot."""
        return KNOT * self.samples.rate / self.low_pass.cutoff_hz

    def _segments(self) -> list[slice]:
        shortest = int(np.ceil(SUPPORT * self._knots)) + 2
        return contiguous_segments(self.samples.valid & self.usable, shortest)

    def size(self) -> float:
        """Bytes of all rows."""
        return 48.0 * self.regressor.shape[1] * len(self.samples) / (SPACING * self._knots)

    def stamped_blocks(self) -> Iterator[tuple[Array, Array, NDArray[np.int64]]]:
        """Rows with their stamps (0 for separators)."""
        columns = self.regressor.shape[1] + len(self.unknowns.names)
        for segment in self._segments():
            middles, window = self._placed(segment)
            for first in range(0, len(middles), ROWS):
                yield self._group(middles[first : first + ROWS], window)
            yield (
                np.zeros((SEPARATOR_ROWS, 6, columns)),
                np.full((SEPARATOR_ROWS, 6), np.nan),
                np.zeros(SEPARATOR_ROWS, dtype=np.int64),
            )

    def _placed(self, segment: slice) -> tuple[Array, Window]:
        """Middles of the windows of a stretch on the grid, and their shape."""
        length = segment.stop - segment.start - 1
        cycle = self.samples.rate / self.low_pass.cutoff_hz
        window, spacing = _low_pass(cycle), cycle / ROWS_PER_CUTOFF
        if length < LONG * 2.0 * window.reach:
            window, spacing = _b_spline(self._knots), SPACING * self._knots
        free = length - 2.0 * window.reach
        count = 1 + int(free / spacing)
        first = segment.start + window.reach
        offsets = np.linspace(0.0, free, count) if count > 1 else np.array([0.5 * free])
        return first + offsets, window

    def _group(self, middles: Array, window: Window) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows of the windows about the given places on the grid."""
        s = self.samples
        begin, end = int(middles[0] - window.reach), int(middles[-1] + window.reach) + 2
        rows = slice(max(begin, 0), min(end, len(s)))
        weight, slope = self._windows(middles, rows, window)
        rotation, arm = s.rotation[rows], s.position[rows] - s.centre
        motion = s.motion[rows]
        H = _to_world(self.regressor.compute(self._momentum(motion, rows)), rotation, arm)
        G = _to_world(self.regressor.compute(self._weight(motion, rotation)), rotation, arm)
        W = _summed(-slope, H) + _summed(weight, G)
        if self.unknowns.names:
            more = self.unknowns.columns(s, rows, self.regressor, self.plates)
            W = np.concatenate([W, _summed(weight, _to_world(more, rotation, arm))], axis=2)
        assert self.world is not None
        Y = weight @ self.world[rows]
        middle = np.rint(middles).astype(np.int64)
        turn, place = s.rotation[middle], s.position[middle] - s.centre
        stamps: NDArray[np.int64] = s.stamps_ns[middle]
        return _to_base(W, turn, place), _to_base(Y[:, :, None], turn, place)[:, :, 0], stamps

    def _windows(self, middles: Array, rows: slice, window: Window) -> tuple[Array, Array]:
        """Weights (windows, samples) of unit sum and their slopes [1/s].

        On a grid the sums are no integrals: slopes are made to be exact for momentum that is
        constant or changes evenly.
        """
        place = np.arange(rows.start, rows.stop, dtype=float) - middles[:, None]
        weight, slope = window.shape(place)
        weight = weight / weight.sum(axis=1, keepdims=True)
        slope = slope - slope.sum(axis=1, keepdims=True) * weight
        time = place / self.samples.rate
        return weight, -slope / np.sum(slope * time, axis=1, keepdims=True)

    def _momentum(self, motion: Motion, rows: slice) -> Motion:
        """A motion from rest whose accelerations are the velocities: its wrench is momentum."""
        still = np.zeros_like(motion.q)
        assert self.samples.velocity is not None
        rest = np.zeros_like(motion.base_angular_velocity)
        return floating_base_motion(
            motion.q,
            still,
            motion.qd,
            self.samples.velocity[rows],
            rest,
            motion.base_angular_velocity,
        )

    def _weight(self, motion: Motion, rotation: Array) -> Motion:
        """At rest in every posture: its wrench is what holds the robot against gravity."""
        still, rest = np.zeros_like(motion.q), np.zeros_like(motion.base_angular_velocity)
        up = self.gravity * rotation[:, 2, :]
        return floating_base_motion(motion.q, still, still, up, rest, rest)


def _to_world(block: Array, rotation: Array, arm: Array) -> Array:
    """Wrenches (n, 6, m) at the base as those about the point from which it is `arm` away."""
    force = rotation @ block[:, :3]
    return np.concatenate([force, rotation @ block[:, 3:] + skew(arm) @ force], axis=1)


def _to_base(block: Array, rotation: Array, arm: Array) -> Array:
    back = np.swapaxes(rotation, 1, 2)
    moment = block[:, 3:] - skew(arm) @ block[:, :3]
    return np.concatenate([back @ block[:, :3], back @ moment], axis=1)


def _summed(weights: Array, block: Array) -> Array:
    """(windows, 6, m) sums over the samples."""
    flat = weights @ block.reshape(len(block), -1)
    return np.asarray(flat.reshape(len(weights), *block.shape[1:]))


def _b_spline(knots: float) -> Window:
    """Cubic B-spline, knots at -2, -1, 0, 1, 2 times their distance in samples."""

    def shape(place: Array) -> tuple[Array, Array]:
        x = place / knots
        a, left = np.abs(x), np.clip(2.0 - np.abs(x), 0.0, None)
        value = np.where(a < 1.0, 2.0 / 3.0 - a**2 + 0.5 * a**3, left**3 / 6.0)
        slope = np.sign(x) * np.where(a < 1.0, -2.0 * a + 1.5 * a**2, -0.5 * left**2)
        return value, slope

    return Window(0.5 * SUPPORT * knots, shape)


def _low_pass(cycle: float) -> Window:
    """A windowed sinc: half gain at one over `cycle` samples, nothing from 1.6 times that on."""
    reach = REACH * cycle

    def shape(place: Array) -> tuple[Array, Array]:
        x = np.clip(place, -reach, reach)
        angle = 2.0 * np.pi * x / cycle
        near = np.abs(angle) < 1e-6
        safe = np.where(near, 1.0, angle)
        sinc = np.where(near, 1.0, np.sin(safe) / safe)
        falls = np.where(near, 0.0, (np.cos(safe) - sinc) / safe) * 2.0 * np.pi / cycle
        hann = np.cos(0.5 * np.pi * x / reach) ** 2
        hann_falls = -0.5 * np.pi / reach * np.sin(np.pi * x / reach)
        return sinc * hann, falls * hann + sinc * hann_falls

    return Window(reach, shape)
