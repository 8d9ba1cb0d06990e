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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import skew
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.equations import (
    ROWS_PER_CUTOFF,
    SEPARATOR_ROWS,
    Equations,
)
from veh_identification.systems.humanoid.processing.joint_errors import JointErrors
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


class Balance(NamedTuple):
    """The balance sample by sample, in world axes about a fixed point."""

    momentum: Array  # (n, 6, base parameters) H, or of all unknowns
    steady: Array  # (n, 6, unknowns) G, then the columns of further unknowns
    wrench: Array  # (n, 6) measured
    rotation: Array  # (n, 3, 3) base to world
    arm: Array  # (n, 3) from that point to the base


def balance(
    regressor: Regressor,
    motion: Motion,
    velocity: Array,
    rotation: Array,
    arm: Array,
    wrench: Array,
    gravity: float,
    further: Array | None = None,
    scaled: Array | None = None,
    joints: JointErrors | None = None,
) -> Balance:
    """Of samples whose base moves at `velocity` (base axes); `further` columns at the base.

    `scaled`: parameters about which the scale of the motion is one more column.
    """
    still, rest = np.zeros_like(motion.q), np.zeros_like(velocity)
    # From rest, accelerations in the place of the velocities: the wrench is momentum.
    started = floating_base_motion(
        motion.q, still, motion.qd, velocity, rest, motion.base_angular_velocity
    )
    # At rest in every posture: the wrench is what holds the robot against gravity.
    held = floating_base_motion(motion.q, still, still, gravity * rotation[:, 2], rest, rest)
    steady = to_world(regressor.compute(held), rotation, arm)
    if further is not None:
        steady = np.concatenate([steady, to_world(further, rotation, arm)], axis=2)
    momentum = to_world(regressor.compute(started), rotation, arm)
    if scaled is not None:
        none = np.zeros((len(momentum), 6, steady.shape[2] - momentum.shape[2]))
        momentum = np.concatenate([momentum, none, (momentum @ scaled)[:, :, None]], axis=2)
        steady = np.concatenate([steady, np.zeros((len(steady), 6, 1))], axis=2)
    if joints is not None:
        moving, held_joints = joints.momentum(motion, velocity, gravity * rotation[:, 2])
        none = np.zeros((len(momentum), 6, steady.shape[2] - momentum.shape[2]))
        momentum = np.concatenate([momentum, none, to_world(moving, rotation, arm)], axis=2)
        steady = np.concatenate([steady, to_world(held_joints, rotation, arm)], axis=2)
    return Balance(momentum, steady, wrench, rotation, arm)


def balance_rows(
    samples: Balance, middles: Array, window: Window, rate: float
) -> tuple[Array, Array]:
    """Rows (W, Y) of the windows about the given places, in samples from the first one."""
    weight, slope = _windows(middles, len(samples.wrench), window, rate)
    W = _summed(weight, samples.steady)
    W[:, :, : samples.momentum.shape[2]] -= _summed(slope, samples.momentum)
    Y = weight @ samples.wrench
    middle = np.rint(middles).astype(np.int64)
    turn, place = samples.rotation[middle], samples.arm[middle]
    return _to_base(W, turn, place), _to_base(Y[:, :, None], turn, place)[:, :, 0]


def knot_distance(rate: float, cutoff_hz: float) -> float:
    """Samples from knot to knot of the B-splines of short stretches."""
    return KNOT * rate / cutoff_hz


def shortest_stretch(rate: float, cutoff_hz: float) -> int:
    """Samples of the shortest stretch that holds a row."""
    return int(np.ceil(SUPPORT * knot_distance(rate, cutoff_hz))) + 2


def long_window(rate: float, cutoff_hz: float) -> tuple[Window, float]:
    """The low-pass of long stretches and the distance of its rows in samples."""
    cycle = rate / cutoff_hz
    return _low_pass(cycle), cycle / ROWS_PER_CUTOFF


def is_long(length: float, window: Window) -> bool:
    """Whether a stretch of so many periods takes the low-pass."""
    return length >= LONG * 2.0 * window.reach


def placed(length: float, rate: float, cutoff_hz: float) -> tuple[Array, Window]:
    """Middles of the rows of a stretch of so many periods, from its start, and their window."""
    window, spacing = long_window(rate, cutoff_hz)
    if not is_long(length, window):
        knots = knot_distance(rate, cutoff_hz)
        window, spacing = _b_spline(knots), SPACING * knots
    free = length - 2.0 * window.reach
    count = 1 + int(free / spacing)
    offsets = np.linspace(0.0, free, count) if count > 1 else np.array([0.5 * free])
    return window.reach + offsets, window


@dataclass(frozen=True, eq=False)
class MomentumEquations(Equations):
    """The rows of a recording whose base has a pose."""

    world: Array | None = None  # (N, 6) measured, world axes about the samples' centre
    gravity: float = 9.80665

    def _segments(self) -> list[slice]:
        shortest = shortest_stretch(self.samples.rate, self.low_pass.cutoff_hz)
        return contiguous_segments(self.samples.valid & self.usable, shortest)

    def size(self) -> float:
        """Bytes of all rows."""
        spacing = SPACING * knot_distance(self.samples.rate, self.low_pass.cutoff_hz)
        return 48.0 * self.regressor.shape[1] * len(self.samples) / spacing

    def stamped_blocks(self) -> Iterator[tuple[Array, Array, NDArray[np.int64]]]:
        """Rows with their stamps (0 for separators)."""
        columns = self.regressor.shape[1] + len(self.unknowns.names)
        for segment in self._segments():
            length = segment.stop - segment.start - 1
            middles, window = placed(length, self.samples.rate, self.low_pass.cutoff_hz)
            for first in range(0, len(middles), ROWS):
                yield self._group(segment.start + middles[first : first + ROWS], window)
            yield (
                np.zeros((SEPARATOR_ROWS, 6, columns)),
                np.full((SEPARATOR_ROWS, 6), np.nan),
                np.zeros(SEPARATOR_ROWS, dtype=np.int64),
            )

    def _group(self, middles: Array, window: Window) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows of the windows about the given places on the grid."""
        s = self.samples
        begin, end = int(middles[0] - window.reach), int(middles[-1] + window.reach) + 2
        rows = slice(max(begin, 0), min(end, len(s)))
        further = None
        if self.unknowns.names:
            further = self.unknowns.columns(s, rows, self.regressor, self.plates)
        assert self.world is not None and s.velocity is not None
        parts = balance(
            self.regressor,
            s.motion[rows],
            s.velocity[rows],
            s.rotation[rows],
            s.position[rows] - s.centre,
            self.world[rows],
            self.gravity,
            further,
            self.unknowns.scaled,
            self.unknowns.joints,
        )
        W, Y = balance_rows(parts, middles - rows.start, window, s.rate)
        stamps: NDArray[np.int64] = s.stamps_ns[np.rint(middles).astype(np.int64)]
        return W, Y, stamps


def _windows(middles: Array, count: int, window: Window, rate: float) -> tuple[Array, Array]:
    """Weights (windows, samples) of unit sum and their slopes [1/s].

    On a grid the sums are no integrals: slopes are made to be exact for momentum that is constant
    or changes evenly.
    """
    place = np.arange(count, dtype=float) - middles[:, None]
    weight, slope = window.shape(place)
    weight = weight / weight.sum(axis=1, keepdims=True)
    slope = slope - slope.sum(axis=1, keepdims=True) * weight
    return weight, -slope / np.sum(slope * place / rate, axis=1, keepdims=True)


def to_world(block: Array, rotation: Array, arm: Array) -> Array:
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
