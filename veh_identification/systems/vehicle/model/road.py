"""The road: flat, or a height map made of waves that a survey gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from veh_identification.errors import InputError
from veh_identification.types import Array


@dataclass(frozen=True)
class Waves:
    """One wave of the ground: height [m], length [m], direction [rad] and phase [rad]."""

    height: float = 0.0
    length: float = 10.0
    direction: float = 0.0
    phase: float = 0.0


@dataclass(frozen=True)
class RoadMap:
    """Ground height z(x, y) in odom: flat, the sum of waves, or unknown.

    On an `unknown` road the model drives on a plane while the road's height and slope are
    estimated. What the plane does not have is noise: `climb` [m^2/s] and `slope_walk` [rad^2/s]
    are the densities of random walks of height and slope, `tilt_rate` [rad/s] and `shake` [m/s^2]
    deviations of the body's pitch and roll rates and of its accelerations.
    """

    kind: str = 'flat'
    waves: tuple[Waves, ...] = ()
    climb: float = 1.0
    slope_walk: float = 1e-4
    tilt_rate: float = 0.05
    shake: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in ('flat', 'waves', 'unknown'):
            raise InputError(f'road.kind must be flat, waves or unknown, found {self.kind!r}')

    @property
    def unknown(self) -> bool:
        """Whether no map gives the road."""
        return self.kind == 'unknown'

    def table(self) -> Array:
        """Rows [height, kx, ky, phase] that `road_height` reads."""
        if self.kind != 'waves':
            return np.zeros((0, 4))
        return np.array(
            [
                [
                    w.height,
                    2 * np.pi / w.length * np.cos(w.direction),
                    2 * np.pi / w.length * np.sin(w.direction),
                    w.phase,
                ]
                for w in self.waves
            ]
        ).reshape(-1, 4)


@njit(cache=True, nogil=True)
def road_height(table: Array, x: float, y: float) -> tuple[float, float, float]:
    """Height and its two slopes; every wave is zero with zero phase at the origin."""
    height, slope_x, slope_y = 0.0, 0.0, 0.0
    for k in range(table.shape[0]):
        angle = table[k, 1] * x + table[k, 2] * y + table[k, 3]
        height += table[k, 0] * (np.sin(angle) - np.sin(table[k, 3]))
        slope = table[k, 0] * np.cos(angle)
        slope_x += table[k, 1] * slope
        slope_y += table[k, 2] * slope
    return height, slope_x, slope_y
