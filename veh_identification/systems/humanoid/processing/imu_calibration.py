"""Attitude and biases of an IMU on the base link, from the fact that a robot does not fly away.

The world's acceleration of the IMU, integrated over the recording, is its velocity, which stays
small. With the attitude from the gyroscope this fixes the direction of gravity, the component of
the accelerometer's bias along it (gravity's size is known) and most of the gyroscope's bias. An
accelerometer that reads half a percent too much would otherwise make the robot as much lighter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.errors import SignalError
from veh_identification.multibody.tree import skew
from veh_identification.types import Array

GYROSCOPE_BIAS = 0.02  # rad/s, deviation before the data
ACCELEROMETER_BIAS = 0.1  # m/s^2
VELOCITY = 0.2  # m/s, deviation around a steady one
LEG_VELOCITY = 0.05  # m/s, of what the legs show
STEADY_VELOCITY = 1.0  # m/s
KNOTS_SECONDS = 0.5  # velocities closer together tell nothing new
ITERATIONS = 4
SHORTEST = 2.0  # s
UNKNOWNS = 12  # velocity at the start, gravity, gyroscope's and accelerometer's bias


@dataclass(frozen=True, eq=False)
class Calibration:
    """Biases in the axes of the given signals, the covariance of the second, and attitudes."""

    gyroscope_bias: Array
    accelerometer_bias: Array
    accelerometer_covariance: Array  # (3, 3)
    rotation: Array  # (N, 3, 3) to a world with z up whose x axis is that of the first sample


def calibrate(
    stamps: Array, rates: Array, forces: Array, gravity: float, velocity: Array | None = None
) -> Calibration:
    """From angular rates and specific forces (N, 3) of one stretch without gaps.

    `velocity` (N, 3), in the same moving axes, is that of the IMU as the legs show it.
    """
    if len(stamps) < 16 or stamps[-1] - stamps[0] < SHORTEST:
        raise SignalError(f'{SHORTEST:g} s of the IMU without gaps are needed for its attitude')
    t = stamps - stamps[0]
    step = max(1, round(KNOTS_SECONDS / float(np.median(np.diff(t)))))
    knots = np.arange(0, len(t), step)
    gyroscope, bias = np.zeros(3), np.zeros(3)
    down = -gravity * _unit(forces.mean(axis=0))
    covariance = np.eye(UNKNOWNS)
    R = np.empty((len(t), 3, 3))
    for _ in range(ITERATIONS):
        R = integrated(t, rates - gyroscope)
        F = np.einsum('nij,nj->ni', R, forces - bias)
        known = None if velocity is None else np.einsum('nij,nj->ni', R, velocity)[knots]
        solution, covariance = _solve(t, knots, R, F, gyroscope, bias, down, gravity, known)
        down = gravity * _unit(solution[3:6])
        gyroscope, bias = gyroscope + solution[6:9], bias + solution[9:12]
    up = -down / gravity
    forward = _unit(np.array([1.0, 0.0, 0.0]) - up[0] * up)
    level = np.stack([forward, np.cross(up, forward), up])  # start axes to the world
    return Calibration(gyroscope, bias, covariance[9:, 9:], level @ R)


def _solve(
    t: Array,
    knots: NDArray[np.intp],
    R: Array,
    F: Array,
    gyroscope: Array,
    bias: Array,
    down: Array,
    gravity: float,
    known: Array | None,
) -> tuple[Array, Array]:
    """Least squares of the velocities at the knots, linear in changes of all unknowns.

    With R = (1 + [theta]) R0 and theta = -(int R0) b the acceleration R (f - a) + g is linear in
    g, in the gyroscope's bias b and in the accelerometer's bias a.
    """
    turned = _integral(t, R)  # int R0
    blocks = np.zeros((len(knots), 3, UNKNOWNS))
    blocks[:, :, :3] = np.eye(3)
    blocks[:, :, 3:6] = t[knots, None, None] * np.eye(3)
    blocks[:, :, 6:9] = _integral(t, skew(F) @ turned)[knots]
    blocks[:, :, 9:] = -turned[knots]
    velocity = _integral(t, F)[knots] - (0.0 if known is None else known)
    deviation = VELOCITY if known is None else LEG_VELOCITY
    rows = [blocks.reshape(-1, UNKNOWNS) / deviation]
    right = [-velocity.ravel() / deviation]
    prior = np.zeros((10, UNKNOWNS))
    prior[0, 3:6] = down / gravity / (1e-4 * gravity)  # the size of gravity is known
    prior[1:4, :3] = np.eye(3) / STEADY_VELOCITY
    prior[4:7, 6:9] = np.eye(3) / GYROSCOPE_BIAS
    prior[7:, 9:] = np.eye(3) / ACCELEROMETER_BIAS
    rows.append(prior)
    right.append(
        np.concatenate(
            [
                [gravity / (1e-4 * gravity)],
                np.zeros(3),
                -gyroscope / GYROSCOPE_BIAS,
                -bias / ACCELEROMETER_BIAS,
            ]
        )
    )
    A, b = np.vstack(rows), np.concatenate(right)
    information = A.T @ A
    covariance: Array = np.linalg.inv(information).astype(float)
    return covariance @ (A.T @ b), covariance


def integrated(t: Array, rates: Array) -> Array:
    """Rotations (N, 3, 3) to the axes of the first sample."""
    middle = 0.5 * (rates[1:] + rates[:-1]) * np.diff(t)[:, None]
    steps = Rotation.from_rotvec(middle).as_matrix()
    R = np.empty((len(t), 3, 3))
    R[0] = np.eye(3)
    for k, turn in enumerate(steps):
        R[k + 1] = R[k] @ turn
    return R


def _integral(t: Array, values: Array) -> Array:
    """Trapezoidal integral from the first sample on."""
    width = np.diff(t).reshape((-1,) + (1,) * (values.ndim - 1))
    result = np.zeros_like(values)
    np.cumsum(0.5 * width * (values[1:] + values[:-1]), axis=0, out=result[1:])
    return result


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
