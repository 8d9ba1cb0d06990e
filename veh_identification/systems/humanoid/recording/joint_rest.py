"""Joints that rest throughout, told from noise, and how strong that noise is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import comb

from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

DIFFERENCE = 4  # order of the differences that show white noise beside motion


def resting_joints(
    recordings: Sequence[Recording],
    joints: Sequence[str],
    angles: Mapping[str, bool],
    below: float,
) -> dict[str, float]:
    """Joints that never move in any recording, with the position they rest at."""
    found: dict[str, float] = {}
    for name in joints:
        pieces = [
            piece for recording in recordings if (piece := recording.joint(name)) is not None
        ]
        if not pieces:
            continue
        smooth = np.concatenate([_smoothed(piece) for piece in pieces])
        low, high = np.percentile(smooth, [0.5, 99.5])
        limit = below if angles.get(name, True) else 0.1 * below
        # White noise alone spreads means over so much (99 % of a normal distribution).
        noise = max(
            float(white_noise(piece[:, None])[0]) / np.sqrt(_width(piece)) for piece in pieces
        )
        if high - low < limit + 5.2 * noise:
            found[name] = float(np.median(smooth))
    return found


def _smoothed(values: Array) -> Array:
    """Mean over about a fiftieth of the recording, at most 25 samples: noise is not motion."""
    width = _width(values)
    return np.convolve(values, np.ones(width) / width, mode='valid')


def _width(values: Array) -> int:
    return int(np.clip(len(values) // 50, 1, 25))


def white_noise(values: Array) -> Array:
    """Deviation of each channel's (N, C) white noise, from differences that leave motion out."""
    if len(values) < 4 * DIFFERENCE:
        return np.zeros(values.shape[1])
    change = np.diff(values, n=DIFFERENCE, axis=0)
    gain = np.sqrt(float(comb(2 * DIFFERENCE, DIFFERENCE)))
    return np.asarray(1.4826 * np.median(np.abs(change), axis=0) / gain)
