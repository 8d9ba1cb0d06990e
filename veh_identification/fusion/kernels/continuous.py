"""Compiled step of the continuous frame (`fusion.continuous`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.fusion.kernels.output import multiply, rotate
from veh_identification.types import Array

#: Places in the memory: heading, position, deviations of the position and of the heading, then of
#: the output before: time, speed (axes of the frame), turn rate.
YAW, POSITION, SIGMA, YAW_SIGMA, TIME, SPEED, TURN, MEMORY_SIZE = 0, 1, 4, 7, 8, 9, 12, 13
#: Pose of the base link (7), its covariance (36), pose of the frame in the world (7).
RESULT_SIZE = 50


@njit(cache=True, nogil=True)
def step(
    memory: Array, time: float, longest: float, motion: Array, covariance: Array, result: Array
) -> None:
    """Go on to an output: `motion` and `covariance` as `fusion.state.BaseState` holds them."""
    x, y, z, w = motion[3], motion[4], motion[5], motion[6]
    heading = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    tilt = multiply(_about_vertical(-heading), (x, y, z, w))
    turn = _yaw_rate(tilt, motion[10:13])
    dt = time - memory[TIME]
    follows = 0.0 < dt <= longest  # false for nan: nothing is known of before
    if follows:
        memory[YAW] += 0.5 * dt * (turn + memory[TURN])
    here = multiply(_about_vertical(memory[YAW]), tilt)
    speed = rotate(here, (motion[7], motion[8], motion[9]))
    if follows:
        for i in range(3):
            memory[POSITION + i] += 0.5 * dt * (speed[i] + memory[SPEED + i])
        _grow(memory, dt, covariance, speed)
    memory[TIME], memory[TURN] = time, turn
    back = heading - memory[YAW]
    shift = _about_vertical(back)
    place = (memory[POSITION], memory[POSITION + 1], memory[POSITION + 2])
    turned = rotate(shift, place)
    result[:] = 0.0
    for i in range(3):
        memory[SPEED + i] = speed[i]
        result[i] = place[i]
        result[7 + 7 * i] = memory[SIGMA + i] ** 2
        result[43 + i] = motion[i] - turned[i]
    for i in range(4):
        result[3 + i] = here[i]
        result[46 + i] = shift[i]
    result[7 + 21] = result[7 + 28] = 1e-4
    result[7 + 35] = memory[YAW_SIGMA] ** 2


@njit(nogil=True)
def _grow(memory: Array, dt: float, covariance: Array, speed: tuple[float, float, float]) -> None:
    """Errors of speed last: their deviations add, not their variances."""
    twist = covariance[36:72]
    memory[YAW_SIGMA] += dt * np.sqrt(max(twist[35], 0.0))
    along = np.sqrt(max(twist[0], twist[7], 0.0))
    yaw = memory[YAW_SIGMA]
    memory[SIGMA] += dt * (along + yaw * abs(speed[1]))
    memory[SIGMA + 1] += dt * (along + yaw * abs(speed[0]))
    memory[SIGMA + 2] += dt * np.sqrt(max(twist[14], 0.0))


@njit(nogil=True)
def _about_vertical(angle: float) -> tuple[float, float, float, float]:
    return (0.0, 0.0, np.sin(0.5 * angle), np.cos(0.5 * angle))


@njit(nogil=True)
def _yaw_rate(tilt: tuple[float, float, float, float], rate: Array) -> float:
    """Turn rate about the vertical of a body with roll and pitch."""
    x, y, z, w = tilt
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    return (rate[1] * np.sin(roll) + rate[2] * np.cos(roll)) / max(np.cos(pitch), 0.1)
