"""Equation (4) by momentum: rows without accelerations, filtered once, after all products.

The rows of the base link are the balance of momentum in world axes about a fixed point,

    d/dt (H phi) + G phi = sum of K F,

H phi being linear and angular momentum and G phi what gravity takes. Under a window w that begins
and ends at zero the derivative goes over to the window,

    (-integral(w' H) + integral(w G)) phi = integral(w K F),

which holds exactly for any motion, impacts included: no signal is differentiated twice, and no
product of filtered signals stands for a filtered product. Windows are cubic B-splines; they
share each stretch evenly from its first to its last sample. Every row is then told about the
place and along the axes that the base has in the middle of its window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import skew
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.equations import SEPARATOR_ROWS, Equations
from veh_identification.types import Array

#: A cubic B-spline has half gain at 0.32 over the distance of its knots.
KNOT = 0.32
#: Distance of the windows over that of the knots: rows of white noise are then correlated as the
#: others (CORRELATION).
SPACING = 1.39
SUPPORT = 4.0  # distances of knots from end to end
ROWS = 48  # that are made together


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
            free = segment.stop - segment.start - 1 - SUPPORT * self._knots
            count = 1 + int(free / (SPACING * self._knots))
            begins = segment.start + np.linspace(0.0, free, count) if count > 1 else None
            starts = np.array([segment.start + 0.5 * free]) if begins is None else begins
            for first in range(0, count, ROWS):
                yield self._group(starts[first : first + ROWS])
            yield (
                np.zeros((SEPARATOR_ROWS, 6, columns)),
                np.full((SEPARATOR_ROWS, 6), np.nan),
                np.zeros(SEPARATOR_ROWS, dtype=np.int64),
            )

    def _group(self, starts: Array) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows of the windows that begin at the given places on the grid."""
        s = self.samples
        rows = slice(int(starts[0]), int(starts[-1] + SUPPORT * self._knots) + 2)
        rows = slice(rows.start, min(rows.stop, len(s)))
        weight, slope = self._windows(starts, rows)
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
        middle = np.rint(starts + 0.5 * SUPPORT * self._knots).astype(np.int64)
        turn, place = s.rotation[middle], s.position[middle] - s.centre
        stamps: NDArray[np.int64] = s.stamps_ns[middle]
        return _to_base(W, turn, place), _to_base(Y[:, :, None], turn, place)[:, :, 0], stamps

    def _windows(self, starts: Array, rows: slice) -> tuple[Array, Array]:
        """Weights (windows, samples) of unit sum and their slopes [1/s].

        On a grid the sums are no integrals: slopes are made to be exact for momentum that is
        constant or changes evenly.
        """
        place = np.arange(rows.start, rows.stop, dtype=float)
        x = (place - starts[:, None]) / self._knots - 0.5 * SUPPORT
        weight = _spline(x)
        weight /= weight.sum(axis=1, keepdims=True)
        slope = _spline_slope(x)
        slope -= slope.sum(axis=1, keepdims=True) * weight
        time = x * self._knots / self.samples.rate
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


def _spline(x: Array) -> Array:
    """Cubic B-spline about zero, knots at -2, -1, 0, 1, 2."""
    a = np.abs(x)
    inner, outer = 2.0 / 3.0 - a**2 + 0.5 * a**3, np.clip(2.0 - a, 0.0, None) ** 3 / 6.0
    return np.where(a < 1.0, inner, outer)


def _spline_slope(x: Array) -> Array:
    a = np.abs(x)
    inner, outer = -2.0 * a + 1.5 * a**2, -0.5 * np.clip(2.0 - a, 0.0, None) ** 2
    return np.asarray(np.sign(x) * np.where(a < 1.0, inner, outer))
