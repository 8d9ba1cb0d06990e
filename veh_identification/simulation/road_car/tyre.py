"""Magic Formula (Pacejka, Tyre and Vehicle Dynamics, chapter 4), reduced to what a road car needs.

Combined slip by the cosine weighting functions; the slips themselves lag by relaxation lengths.
"""

from __future__ import annotations

from numba import njit
from numpy import arctan, cos, sin

from veh_identification.types import Array

PEAK_LOAD = 2.2  # load of the largest cornering stiffness over the nominal load
SHAPE_X, SHAPE_Y = 1.6, 1.35
CURVE_X, CURVE_Y = 0.3, -0.6


@njit(cache=True)
def magic(slip: float, stiffness: float, peak: float, shape: float, curve: float) -> float:
    """D sin(C atan(B s - E (B s - atan B s))) with B from the slope at zero."""
    b = stiffness / (shape * peak)
    return peak * sin(shape * arctan(b * slip - curve * (b * slip - arctan(b * slip))))


@njit(cache=True)
def lateral_stiffness(tyre: Array, load: float) -> float:
    """Cornering stiffness [N/rad]: it rises less than the load does."""
    nominal = tyre[1]
    scale = sin(2.0 * arctan(1.0 / PEAK_LOAD))
    return tyre[2] * nominal * sin(2.0 * arctan(load / (PEAK_LOAD * nominal))) / scale


@njit(cache=True)
def forces(
    tyre: Array, load: float, grip: float, kappa: float, tangent: float
) -> tuple[float, float, float]:
    """Forward force, sideways force and aligning moment.

    `tangent` is that of the slip angle, positive when the contact moves to the right of where the
    wheel points, so that the sideways force is to the left; `grip` scales the friction.
    """
    if load <= 0.0:
        return 0.0, 0.0, 0.0
    nominal = tyre[1]
    friction = tyre[0] * grip * (1.0 - tyre[4] * (load - nominal) / nominal)
    peak = max(0.05, friction) * load
    lateral = lateral_stiffness(tyre, load)
    alpha = arctan(tangent)
    pure_x = magic(kappa, tyre[3] * load, peak, SHAPE_X, CURVE_X)
    pure_y = magic(alpha, lateral, peak, SHAPE_Y, CURVE_Y)
    weight_x = cos(arctan(10.0 * cos(arctan(8.0 * kappa)) * alpha))
    weight_y = cos(arctan(7.0 * cos(arctan(3.0 * alpha)) * kappa))
    sideways = pure_y * weight_y
    trail = tyre[7] * cos(arctan(9.0 * alpha)) ** 2
    return pure_x * weight_x, sideways, -trail * sideways
