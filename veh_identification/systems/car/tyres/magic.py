"""The Magic Formula (Pacejka, Tyre and Vehicle Dynamics, chapter 4), in the form of MF 5.2.

The equations keep their letters: stiffness K, peak D, shape C, curvature E, and B = K / (C D).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array

#: Share of its peak up to which a curve can be read backwards.
USED = 0.97


def curve(slip: Array, stiffness: Array, peak: Array, shape: float, curvature: float) -> Array:
    """D sin(C atan(B s - E (B s - atan(B s))))."""
    b = stiffness / (shape * peak) * slip
    return np.asarray(peak * np.sin(shape * np.arctan(b - curvature * (b - np.arctan(b)))))


def inverse_curve(share: Array, shape: float, curvature: float) -> Array:
    """C B s at which the curve reaches a share of its peak, below the peak; slope one at zero."""
    wanted = np.tan(np.arcsin(np.clip(share, -USED, USED)) / shape)
    x = wanted.copy()
    for _ in range(6):
        value = (1.0 - curvature) * x + curvature * np.arctan(x) - wanted
        x = x - value / (1.0 - curvature + curvature / (1.0 + np.square(x)))
    return np.asarray(shape * x)


def cornering_stiffness(load: Array, nominal: float, stiffness: float, load_peak: float) -> Array:
    """K(Fz) = K0 sin(2 atan(Fz / (p2 Fz0))), K0 so that it is `stiffness` at the nominal load."""
    scale = np.sin(2.0 * np.arctan(1.0 / load_peak))
    return np.asarray(stiffness * np.sin(2.0 * np.arctan(load / (load_peak * nominal))) / scale)


def friction(load: Array, nominal: float, at_nominal: float, slope: float) -> Array:
    """Friction coefficient: it falls as the load rises."""
    return np.asarray(np.maximum(at_nominal * (1.0 + slope * (load / nominal - 1.0)), 0.05))


def combined(main_slip: Array, other_slip: Array, b1: float, b2: float) -> Array:
    """Weight of a force by the slip across it: cos(atan(B s)), B = b1 cos(atan(b2 main))."""
    b = b1 * np.cos(np.arctan(b2 * main_slip))
    return np.asarray(1.0 / np.sqrt(1.0 + np.square(b * other_slip)))


@njit(cache=True, nogil=True)
def relaxed(slip: Array, speed: Array, length: float, step: float) -> Array:
    """A slip behind its relaxation length: length / speed d/dt s' + s' = s, for each column.

    Exact for a slip that is a cubic between two samples, with slopes by the samples beside them.
    Straight lines between the samples of 50 Hz take 1.2 % off a slip of 3 Hz, which is then put
    down to stiffness.
    """
    out = np.empty_like(slip)
    last = slip.shape[0] - 1
    for j in range(slip.shape[1]):
        now = slip[0, j]
        out[0, j] = now
        for n in range(1, last + 1):
            begin, end = slip[n - 1, j], slip[n, j]
            rise_begin = 0.5 * (end - slip[n - 2, j]) if n > 1 else end - begin
            rise_end = 0.5 * (slip[n + 1, j] - begin) if n < last else end - begin
            rate = max(abs(speed[n, j]), 0.5) / length * step
            keep = np.exp(-rate)
            # Shares of 1, t, t^2, t^3 that are left at the end of the step.
            constant = 1.0 - keep
            line = 1.0 - constant / rate
            square = 1.0 - 2.0 / rate * line
            cube = 1.0 - 3.0 / rate * square
            now = (
                keep * now
                + constant * begin
                + line * rise_begin
                + square * (3.0 * (end - begin) - 2.0 * rise_begin - rise_end)
                + cube * (rise_begin + rise_end - 2.0 * (end - begin))
            )
            out[n, j] = now
    return out
