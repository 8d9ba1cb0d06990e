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
    """A slip behind its relaxation length: length / speed d/dt s' + s' = s, for each column."""
    out = np.empty_like(slip)
    for j in range(slip.shape[1]):
        now = slip[0, j]
        for n in range(slip.shape[0]):
            if n > 0:
                rate = max(abs(speed[n, j]), 0.5) / length * step
                keep = np.exp(-rate)
                # Exact for a slip that is straight between two samples.
                lag = (1.0 - keep) / rate
                now = keep * now + (1.0 - lag) * slip[n, j] + (lag - keep) * slip[n - 1, j]
            out[n, j] = now
    return out
