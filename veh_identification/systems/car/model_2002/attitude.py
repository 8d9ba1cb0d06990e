"""Yaw, pitch and roll of the chassis for the Lagrange model of Venture 2002.

Slow changes come from the ride heights (a plane through the four body corners above the road),
fast ones from the integrated gyroscope; without ride heights the slow part is the mean direction
of gravity. Zero-phase throughout.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.signals import ZeroPhaseFilter, trapezoid
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.recording.heights import body_heights
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

#: Below, ride heights are believed, above, the gyroscope.
CROSSOVER_HZ = 0.3


def with_attitude(
    piece: CarSamples, recording: CarRecording, configuration: CarDescription
) -> CarSamples:
    """The stretch with its attitude, shortened by the transients of the filters."""
    slow = _from_heights(piece, recording, configuration)
    if slow is None:
        mean = piece.specific_force.mean(axis=0)
        pitch = np.arctan2(-mean[0], np.hypot(mean[1], mean[2]))
        slow = np.tile([pitch, np.arctan2(mean[1], mean[2])], (len(piece), 1))
    low = ZeroPhaseFilter(piece.rate, CROSSOVER_HZ, 2, label='attitude')
    attitude = np.zeros((len(piece), 3))
    attitude[:, 1:] = slow
    # Two rounds: the rates of the angles depend on the angles themselves, but only weakly.
    for _ in range(3):
        rates = euler_rates(attitude, piece.angular_velocity)
        turned = trapezoid(rates, piece.rate)
        attitude[:, 0] = turned[:, 0]
        attitude[:, 1:] = turned[:, 1:] + low.apply(slow - turned[:, 1:])[0]
    margin = low.transient
    return replace(piece, attitude=attitude)[margin : len(piece) - margin]


def euler_rates(attitude: Array, omega: Array) -> Array:
    """Derivatives of yaw, pitch, roll from the angular velocity in body axes."""
    pitch, roll = attitude[:, 1], attitude[:, 2]
    about = np.sin(roll) * omega[:, 1] + np.cos(roll) * omega[:, 2]
    return np.stack(
        [
            about / np.cos(pitch),
            np.cos(roll) * omega[:, 1] - np.sin(roll) * omega[:, 2],
            omega[:, 0] + np.tan(pitch) * about,
        ],
        axis=1,
    )


def euler_accelerations(attitude: Array, rates: Array, omega: Array, alpha: Array) -> Array:
    """Second derivatives of yaw, pitch, roll."""
    pitch, roll = attitude[:, 1], attitude[:, 2]
    pitch1, roll1 = rates[:, 1], rates[:, 2]
    sine, cosine = np.sin(roll), np.cos(roll)
    about = sine * omega[:, 1] + cosine * omega[:, 2]
    across = cosine * omega[:, 1] - sine * omega[:, 2]
    about1 = sine * alpha[:, 1] + cosine * alpha[:, 2] + roll1 * across
    across1 = cosine * alpha[:, 1] - sine * alpha[:, 2] - roll1 * about
    tangent = np.tan(pitch)
    yaw2 = about1 / np.cos(pitch) + about * pitch1 * tangent / np.cos(pitch)
    roll2 = alpha[:, 0] + tangent * about1 + about * pitch1 / np.cos(pitch) ** 2
    return np.stack([yaw2, across1, roll2], axis=1)


def _from_heights(
    piece: CarSamples, recording: CarRecording, configuration: CarDescription
) -> Array | None:
    """Pitch and roll (N, 2) of the plane through the body corners, None without four heights."""
    heights = body_heights(recording, piece, configuration)
    if heights is None:
        return None
    geometry = configuration.geometry
    corners = np.stack([np.ones(4), geometry.wheel_x, geometry.wheel_y], axis=1)
    # Height of a corner is z - x sin(pitch) + y cos(pitch) sin(roll).
    plane = np.linalg.lstsq(corners, heights.T, rcond=None)[0]
    pitch = -np.arcsin(np.clip(plane[1], -1.0, 1.0))
    roll = np.arcsin(np.clip(plane[2] / np.cos(pitch), -1.0, 1.0))
    return np.stack([pitch, roll], axis=1)
