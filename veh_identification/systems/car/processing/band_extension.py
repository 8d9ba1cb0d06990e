"""Motion beyond the band of the motion sensors, from the wheel forces.

An inertial unit of 10 Hz and travel sensors of 20 Hz do not see all of the wheel hop; the wheel
sensors do. Above the band of a motion sensor the car answers its wheel forces linearly: the ten
equations, linearised about the standing car, are solved for the accelerations of chassis and
suspension. This serves two small terms that need motion where no motion sensor sees it: the
acceleration of the chassis in the suspension equations (M times it), and the sign of the
suspension velocity in the Coulomb friction. A line that an equation uses never stands on both
sides of it: travel and its derivatives in the equations remain measured ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.processing.padded_fourier import Lines, Padded
from veh_identification.types import Array

#: Half width of a crossover over its frequency.
CROSSOVER = 0.08
#: Responses are computed at these distances (Hz) and interpolated between.
RESPONSE_STEP = 0.25


@dataclass(frozen=True)
class Extension:
    """A car as far as it is known, and where the bands of its sensors end (Hz)."""

    parameters: Mapping[str, float]
    imu_hz: float
    travel_hz: tuple[float, float, float, float]
    #: Highest frequency at which the wheel forces are believed.
    top_hz: float
    #: Densities (N^2/Hz, one-sided) of the noise of the four vertical wheel forces.
    force_density: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def friction(self) -> Array:
        """Dry friction (4,) of the suspensions; a rough value may be below zero by chance."""
        return np.maximum([self.parameters[f'fs{j}'] for j in range(1, 5)], 0.0)


@dataclass(frozen=True)
class HighBand:
    """What the wheel forces say about one stretch."""

    motion: Array  # (N, 6) specific force and angular acceleration above imu_hz, filtered
    #: Suspension velocities above travel_hz if there were no dry friction, lines of `Padded`.
    free_rate: tuple[Lines, ...]
    #: By how much dry friction of one unit of its own lessens them.
    held_rate: tuple[Lines, ...]


def crossover(frequency: Array, middle: float) -> Array:
    """Share of the wheel forces: 0 below `middle`, 1 above, a smooth step between."""
    step = np.clip((frequency / middle - 1.0 + CROSSOVER) / (2.0 * CROSSOVER), 0.0, 1.0)
    return np.asarray(np.sin(0.5 * np.pi * step) ** 2)


def linear_response(
    parameters: Mapping[str, float], geometry: Geometry, frequency: Array
) -> Lines:
    """Specific force, angular acceleration and suspension velocities (F, 10, 10) per load.

    The loads are the measured sides of the ten equations; frequencies must be positive.
    """
    p = parameters
    mass = np.zeros((10, 10))
    first = np.array([p['MXc'], p['MYc'], p['MZc']])
    _add_body(
        mass,
        p['Mc'],
        first,
        np.array(
            [
                [p['XXc'], p['XYc'], p['XZc']],
                [p['XYc'], p['YYc'], p['YZc']],
                [p['XZc'], p['YZc'], p['ZZc']],
            ]
        ),
    )
    up = np.array([0.0, 0.0, 1.0])
    stiffness, damping = np.zeros((10, 10)), np.zeros((10, 10))
    for j in range(4):
        place = np.array([geometry.wheel_x[j], geometry.wheel_y[j], 0.0])
        m, q = p[f'M{j + 1}'], 6 + j
        _add_body(mass, m, m * place, m * (place @ place * np.eye(3) - np.outer(place, place)))
        lever = np.concatenate([up, np.cross(place, up)])
        mass[:6, q] = m * lever
        mass[q, :6] = m * lever
        mass[q, q] = m
        bar = p['karf'] if j < 2 else p['karr']
        stiffness[q, q], stiffness[q, 6 + (j ^ 1)] = p[f'k{j + 1}'] + bar, -bar
        damping[q, q] = p[f'h{j + 1}']
    rate = 2j * np.pi * frequency[:, None, None]
    response = np.asarray(
        np.linalg.inv(mass + damping / rate + stiffness / rate**2), dtype=np.complex128
    )
    return np.concatenate([response[:, :6], response[:, 6:] / rate], axis=1)


def _add_body(mass: Array, m: float, first: Array, inertia: Array) -> None:
    x, y, z = first
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    mass[:3, :3] += m * np.eye(3)
    mass[:3, 3:6] -= skew
    mass[3:6, :3] += skew
    mass[3:6, 3:6] += inertia


class MotionFromForces:
    """Motion of one stretch from the measured sides (N, 10) of its equations."""

    def __init__(
        self, loads: Array, wide: ZeroPhaseFilter, geometry: Geometry, extension: Extension
    ) -> None:
        self.extension, self.wide = extension, wide
        self.padded = Padded(wide.rate, len(loads))
        lowest = (1.0 - CROSSOVER) * min(extension.imu_hz, *extension.travel_hz)
        first, last = np.searchsorted(self.padded.frequency, [lowest, extension.top_hz])
        self.used, self.frequency = slice(int(first), int(last)), self.padded.frequency[first:last]
        knots = np.arange(lowest, extension.top_hz + 2.0 * RESPONSE_STEP, RESPONSE_STEP)
        self.table = linear_response(extension.parameters, geometry, knots)
        place = (self.frequency - knots[0]) / RESPONSE_STEP
        self.below = place.astype(int)
        self.share = (place - self.below)[:, None]
        self.answer = self._respond(
            np.stack([self.padded.forward(column)[0][self.used] for column in loads.T], axis=1), 0
        )

    def _respond(self, lines: Lines, start: int) -> Lines:
        """Answer (F, 10) to the loads from `start` on."""
        table = self.table[:, :, start : start + lines.shape[1]]
        return np.asarray(
            (1.0 - self.share) * np.einsum('fab,fb->fa', table[self.below], lines)
            + self.share * np.einsum('fab,fb->fa', table[self.below + 1], lines)
        )

    def band(self, friction: Lines | None = None) -> HighBand:
        """Motion above the sensors' bands; `friction` (lines, 4): over fs, as far as known."""
        answer, extension = self.answer, self.extension
        if friction is not None:
            answer = answer - self._respond(friction[self.used] * extension.friction, 6)
        whole = np.zeros((6, len(self.padded.frequency)), dtype=np.complex128)
        gain = crossover(self.frequency, extension.imu_hz) * self.wide.response(self.frequency)
        whole[:, self.used] = (answer[:, :6] * gain[:, None]).T
        motion = np.stack([self.padded.backward(line) for line in whole], axis=1)
        rates = [self._rate(j, self.answer[:, 6 + j]) for j in range(4)]
        held = [self._rate(j, self._own(j) * extension.friction[j]) for j in range(4)]
        return HighBand(motion, tuple(rates), tuple(held))

    def _rate(self, j: int, answer: Lines) -> Lines:
        """All lines of a suspension's velocity above the band of its sensor."""
        whole = np.zeros(len(self.padded.frequency), dtype=np.complex128)
        whole[self.used] = answer * crossover(self.frequency, self.extension.travel_hz[j])
        return whole

    def _own(self, j: int) -> Lines:
        """Velocity of a suspension per force in it; that in the others hardly moves it."""
        table, share = self.table[:, 6 + j, 6 + j], self.share[:, 0]
        return np.asarray((1.0 - share) * table[self.below] + share * table[self.below + 1])


def velocity_density(extension: Extension, geometry: Geometry, frequency: Array, j: int) -> Array:
    """Density of the noise of suspension velocity j that the vertical wheel force brings."""
    response = linear_response(extension.parameters, geometry, frequency)[:, 6 + j]
    load = np.zeros(10)
    load[[2, 3, 4, 6 + j]] = 1.0, geometry.wheel_y[j], -geometry.wheel_x[j], 1.0
    return np.asarray(extension.force_density[j] * np.abs(response @ load) ** 2)


def low_band(measured: Array, rate: float, hertz: float) -> Array:
    """Measured signals (N, C) below a crossover."""
    padded = Padded(rate, len(measured))
    keep = 1.0 - crossover(padded.frequency, hertz)
    result = np.empty_like(measured)
    for c in range(measured.shape[1]):
        column = measured[:, c]
        lines, _ = padded.forward(column)
        result[:, c] = padded.backward(lines * keep) + np.linspace(
            column[0], column[-1], len(column)
        )
    return result
