"""Tyre forces: Magic Formula over a combined slip, load-dependent, with relaxation lengths.

The two slips are scaled by stiffness over friction so that one curve serves every direction
(similarity); the curve is sin(C atan(B s - E (B s - atan(B s)))) with B = 1 / C, which makes its
slope at the origin one. The coefficients are our own, of the size of a 195/65 R15 tyre.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Tyre(NamedTuple):
    """Coefficients of a tyre; loads in N, stiffness in N and N/rad, lengths in m."""

    radius: float = 0.317  # unloaded
    stiffness: float = 250e3  # vertical [N/m]
    damping: float = 60.0  # vertical [N s/m]
    load: float = 4000.0  # reference load
    friction_x: float = 1.10
    friction_y: float = 1.02
    friction_loss: float = 0.10  # of the friction for twice the reference load
    slip_stiffness: float = 22.0  # longitudinal, over load
    corner_peak: float = 92e3  # largest cornering stiffness [N/rad]
    corner_load: float = 7000.0  # load of the largest cornering stiffness
    camber_stiffness: float = 0.9  # lateral force over load and camber
    shape: float = 1.45  # C of the Magic Formula
    curvature: float = -0.4  # E of the Magic Formula
    trail: float = 0.035  # pneumatic trail at small slip
    rolling: float = 0.011  # rolling resistance over load
    relaxation_x: float = 0.25
    relaxation_y: float = 0.45
    slow_damping: float = 2500.0  # at standstill [N s/m]


#: Below this speed damping is added, so that a stopped car does not swing on its tyres [m/s].
SLOW = 2.0


@njit(cache=True, nogil=True)
def magic_formula(slip: float, shape: float, curvature: float) -> float:
    """Share of the friction that is used at a scaled slip (>= 0)."""
    x = slip / shape
    return np.sin(shape * np.arctan(x - curvature * (x - np.arctan(x))))


@njit(cache=True, nogil=True)
def tyre_force(
    tyre: Tyre, load: float, kappa: float, alpha: float, camber: float
) -> tuple[float, float, float]:
    """Longitudinal force, lateral force (positive left) and aligning moment for the slips.

    `alpha` > 0 pushes to the left, `camber` > 0 leans the top to the left.
    """
    if load <= 0.0:
        return 0.0, 0.0, 0.0
    loss = 1.0 - tyre.friction_loss * (load / tyre.load - 1.0)
    top_x, top_y = tyre.friction_x * loss * load, tyre.friction_y * loss * load
    corner = tyre.corner_peak * np.sin(2.0 * np.arctan(load / tyre.corner_load))
    slip_x = tyre.slip_stiffness * load * kappa / top_x
    slip_y = (corner * alpha + tyre.camber_stiffness * load * camber) / top_y
    slip = np.sqrt(slip_x * slip_x + slip_y * slip_y)
    if slip < 1e-9:
        return top_x * slip_x, top_y * slip_y, 0.0
    share = magic_formula(slip, tyre.shape, tyre.curvature) / slip
    force_x, force_y = top_x * share * slip_x, top_y * share * slip_y
    # The contact patch slides from its rear end on: the trail fades with the slip.
    trail = tyre.trail / (1.0 + slip * slip)
    return force_x, force_y, -trail * force_y


@njit(cache=True, nogil=True)
def slow_share(speed: float) -> float:
    """One at standstill, zero from `SLOW` on, smooth between."""
    if speed >= SLOW:
        return 0.0
    return 0.5 * (1.0 + np.cos(np.pi * speed / SLOW))
