"""What the simulated humanoid is meant to do: foot poses, zero moment point, trunk attitude.

Every reference is a smooth function of time sampled on a fine grid; the motion that is finally
simulated is a spline through the joint angles that follow from them (humanoid_motion).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veh_identification.types import Array

GRID_SECONDS = 0.004
SIDES = ('l', 'r')


@dataclass(frozen=True)
class Gait:
    """Sizes and times of the walk, the trunk's attitude and what the arms do."""

    step_seconds: float = 0.5  # one step, as in Ayusawa 2008
    double_share: float = 0.24  # of a step spent on both feet
    step_length: float = 0.045
    step_height: float = 0.02
    foot_turn: float = 0.12  # rad about z that every other step adds and takes back
    foot_tilt: float = 0.15  # rad of pitch and roll while a foot is in the air
    stance_width: float = 0.045  # of one foot from the middle
    base_height: float = 0.272
    trunk_sway: tuple[float, float, float] = (0.07, 0.09, 0.10)  # rad of roll, pitch, yaw
    trunk_hz: tuple[float, float, float] = (1.31, 1.73, 0.89)
    heave: float = 0.004
    arms: float = 0.0  # rad of swing; 0 holds the arms still
    rest_seconds: float = 0.6  # standing at the beginning and at the end


@dataclass(frozen=True, eq=False)
class References:
    """References on a uniform grid: (N, ...) arrays, feet by side."""

    t: Array
    foot_position: dict[str, Array]  # of the sole, in the world
    foot_angles: dict[str, Array]  # roll, pitch, yaw
    left_share: Array  # share of the load on the left foot
    zero_moment_point: Array  # (N, 2)
    trunk: Array  # roll, pitch, yaw
    base_height: Array
    arms: Array  # (N, 8) offsets from the posture
    steps: int = 0
    phases: list[tuple[float, float, str]] = field(default_factory=list)


def _grid(duration: float) -> Array:
    return np.asarray(GRID_SECONDS * np.arange(round(duration / GRID_SECONDS) + 1), dtype=float)


def smooth_step(x: Array) -> Array:
    """From 0 to 1 with three continuous derivatives."""
    s = np.clip(x, 0.0, 1.0)
    return s**4 * (35.0 - 84.0 * s + 70.0 * s**2 - 20.0 * s**3)


def bump(x: Array) -> Array:
    """0 at 0 and 1, 1 in the middle, three continuous derivatives."""
    s = np.clip(x, 0.0, 1.0)
    return (4.0 * s * (1.0 - s)) ** 4


def walking(duration: float, gait: Gait | None = None, seed: int = 0) -> References:
    """As many steps as fit into the duration, at least two."""
    g = gait or Gait()
    shift = 0.5  # time to move over the first foot, and back to the middle
    steps = max(2, int((duration - 2.0 * g.rest_seconds - 2.0 * shift) / g.step_seconds + 1e-9))
    total = 2.0 * g.rest_seconds + 2.0 * shift + steps * g.step_seconds
    t = _grid(max(duration, total))
    positions = {
        side: np.tile([0.0, sign * g.stance_width, 0.0], (len(t), 1))
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
    }
    angles = {side: np.zeros((len(t), 3)) for side in SIDES}
    share: Array = np.full(len(t), 0.5)
    phases: list[tuple[float, float, str]] = []
    begin, x = g.rest_seconds + shift, 0.0
    # First over the left foot, so that the right one can be lifted.
    share += 0.5 * smooth_step((t - g.rest_seconds) / shift)
    for step in range(steps):
        side = SIDES[(step + 1) % 2]
        start = begin + step * g.step_seconds
        air = (1.0 - g.double_share) * g.step_seconds
        s = (t - start) / air
        last = step == steps - 1
        length = g.step_length if step in (0, steps - 1) else 2.0 * g.step_length
        x = x + length if not last else x
        target = x if not last else float(positions[SIDES[step % 2]][-1, 0])
        move = smooth_step(s)
        positions[side][:, 0] += (target - positions[side][-1, 0]) * move
        positions[side][:, 2] += g.step_height * bump(s)
        sign = 1.0 if (step // 2) % 2 == 0 else -1.0
        if not last and step < 2 * (steps // 2) - (steps % 2):
            angles[side][:, 2] += sign * g.foot_turn * move * (1.0 if side == 'l' else -1.0)
        angles[side][:, :2] += _tilt(s, step, g.foot_tilt)
        phases.append((start, start + air, f'{side} foot in the air'))
        ready = start + air
        goal = (0.0 if side == 'r' else 1.0) if not last else 0.5
        seconds = g.double_share * g.step_seconds if not last else shift
        share += (goal - share[-1]) * smooth_step((t - ready) / seconds)
    point = share[:, None] * positions['l'][:, :2] + (1.0 - share)[:, None] * positions['r'][:, :2]
    return _complete(
        t,
        positions,
        angles,
        share,
        point,
        g,
        seed,
        begin,
        begin + steps * g.step_seconds,
        steps,
        phases,
    )


def _tilt(s: Array, step: int, size: float) -> Array:
    """Roll and pitch of a foot in the air, other ones at every step."""
    inside = np.clip(s, 0.0, 1.0)
    roll = 0.6 * np.sin(3.0 * np.pi * inside + step)
    return np.asarray(
        size * bump(s)[:, None] * np.column_stack([roll, np.sin(2.0 * np.pi * inside)])
    )


def bending(duration: float, gait: Gait | None = None, seed: int = 0) -> References:
    """The trunk bends slowly about x, then y, then z, over feet at rest."""
    g = gait or Gait()
    t = _grid(max(duration, 4.0))
    positions = {
        side: np.tile([0.0, sign * g.stance_width, 0.0], (len(t), 1))
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
    }
    angles = {side: np.zeros((len(t), 3)) for side in SIDES}
    share = np.full(len(t), 0.5)
    rest = min(0.4, 0.1 * t[-1])
    third = (t[-1] - 2.0 * rest) / 3.0
    trunk = np.zeros((len(t), 3))
    for axis, amplitude in enumerate((0.22, 0.35, 0.35)):
        s = np.clip((t - rest - axis * third) / third, 0.0, 1.0)
        trunk[:, axis] = (
            amplitude
            * np.sin(2.0 * np.pi * s)
            * smooth_step(4.0 * s)
            * smooth_step(4.0 * (1.0 - s))
        )
    point = np.zeros((len(t), 2))
    made = _complete(t, positions, angles, share, point, g, seed, 0.0, 0.0, 0, [])
    return References(
        t,
        positions,
        angles,
        share,
        point,
        trunk,
        np.full(len(t), g.base_height - 0.006),
        made.arms,
    )


def _complete(
    t: Array,
    positions: dict[str, Array],
    angles: dict[str, Array],
    share: Array,
    point: Array,
    g: Gait,
    seed: int,
    begin: float,
    end: float,
    steps: int,
    phases: list[tuple[float, float, str]],
) -> References:
    """Add the trunk's sway, the heave and the arms, faded in and out."""
    rng = np.random.default_rng([seed, 7])
    window = smooth_step((t - 0.2) / 0.6) * smooth_step((t[-1] - 0.2 - t) / 0.6)
    phase = rng.uniform(0.0, 2.0 * np.pi, 12)
    frequency = np.array(g.trunk_hz) * rng.uniform(0.9, 1.1, 3)
    trunk = (
        window[:, None]
        * np.array(g.trunk_sway)
        * np.sin(2.0 * np.pi * frequency * t[:, None] + phase[:3])
    )
    if end <= begin:
        trunk *= 0.0
    height = g.base_height + g.heave * window * np.sin(2.0 * np.pi * 2.1 * t + phase[3])
    swing = (
        g.arms
        * window[:, None]
        * np.sin(2.0 * np.pi * np.linspace(0.7, 1.6, 8) * t[:, None] + phase[4:12])
    )
    return References(t, positions, angles, share, point, trunk, height, swing, steps, phases)
