"""Columns of the dry friction: the sign of the suspension velocity, or surfaces that stick.

Where surfaces stick the friction is anywhere between -fs and fs: whatever keeps them from moving.
They strain by some micrometres before they slip (Prandtl's element; that length is the
presliding), so after a reversal the friction keeps its old sign for a while. Or a film between
them creeps: up to some millimetres a second the friction grows with the speed.

Above the band of the travel sensors the velocity comes from the wheel forces, and the friction
itself takes part in it: v = v_free - held * f, where f is the friction over fs. A sign taken from
a velocity that was made with another sign is wrong just where it matters, at the reversals. So
both are solved for together: the inclusion

    presliding * f' + (creep + held) * f - v_free + N(f) = 0,    -1 <= f <= 1,

N being the normal cone of the interval, has one solution, since a suspension resists (its
admittance has a positive real part). What noise leaves open is averaged: the column is the mean of
the solutions for several velocities that may have been.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.integrate import trapezoid  # numpy names it so from 2.0 on

from veh_identification.signals import (
    ZeroPhaseFilter,
    choose_cutoff,
    smoothed_sign,
    welch_spectrum,
)
from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.processing.band_extension import (
    Extension,
    HighBand,
    crossover,
    velocity_density,
)
from veh_identification.systems.car.processing.padded_fourier import Lines, Padded
from veh_identification.types import Array

Noise = tuple[float, float, float, float]


@dataclass(frozen=True)
class NearRest:
    """What surfaces do near rest; zero for both: they are rigid."""

    presliding: float = 0.0  # strain before they slip [m]
    creep: float = 0.0  # speed at which the friction is reached [m/s]


RIGID = NearRest()
SIGN_STEPS = 4
#: Velocities over which a friction that sticks is averaged, and the seed of their noise.
DRAWS, SEED = 8, 1406
#: Of the splitting (Douglas and Rachford): step times admittance, relaxation, and how many steps.
STEP, RELAXATION, STEPS = 1.7, 1.6, 20
#: Strains that last shorter are told by no sensor [Hz]: of what the step is made for.
STRAINED_HZ = 60.0
#: The sign needs its argument undistorted: the filter ends well above where noise takes over.
SIGN_MARGIN = 2.0
#: Spectra need no more than this for a cut-off.
SPECTRUM_SAMPLES = 20000


def friction_column(lines: Lines, wide: ZeroPhaseFilter, count: int) -> Array:
    """The friction over fs (count, 4) of its lines, filtered like all signals."""
    padded = Padded(wide.rate, count)
    gain = wide.response(padded.frequency)
    return np.stack([padded.backward(column * gain) for column in lines.T], axis=1)


def friction_lines(
    travel: Array,
    noise: Noise,
    wide: ZeroPhaseFilter,
    sensor_rate: float,
    geometry: Geometry,
    extension: Extension | None = None,
    beyond: HighBand | None = None,
    surfaces: NearRest = RIGID,
) -> Lines:
    """Lines (lines of `Padded`, 4) of the friction of the suspensions over fs.

    Its argument is the measured velocity, above the sensor's band the one that the wheel forces
    tell; without those it ends where the velocity's spectrum drowns in noise. The friction jumps
    between samples; it is formed on a finer grid so that the common filter sees the jump where it
    is and not at the next sample.
    """
    padded = Padded(wide.rate, len(travel))
    rate_of = 2j * np.pi * padded.frequency
    result = np.zeros((len(padded.frequency), 4), dtype=np.complex128)
    for j in range(4):
        if np.ptp(travel[:, j]) == 0.0:
            continue
        # White noise per sample at the sensor's rate has the density 2 sigma^2 / rate.
        density = 2.0 * noise[j] ** 2 / sensor_rate
        lines, slope = padded.forward(travel[:, j])
        if extension is None or beyond is None:
            narrow = replace(wide, cutoff_hz=_velocity_cutoff(travel[:, [j]], wide, density))
            gain = narrow.response(padded.frequency)
            velocity = _odd(lines * gain * rate_of, padded)
            spread = density * np.abs(gain * rate_of) ** 2
            held = np.zeros_like(velocity)
        else:
            share = crossover(padded.frequency, extension.travel_hz[j])
            velocity = _odd(lines * (1.0 - share) * rate_of + beyond.free_rate[j], padded)
            spread = _extended_density(extension, geometry, density, padded.frequency, j)
            held = beyond.held_rate[j]
        if extension is None and surfaces == RIGID:
            fine = _fine(velocity, padded) + slope
            sigma = float(np.sqrt(trapezoid(spread, padded.frequency)))
            friction = smoothed_sign(fine, sigma)
        else:
            friction = _mean_friction(velocity, slope, spread, held, surfaces, padded)
        result[:, j] = fft.rfft(friction)[: len(velocity)] / SIGN_STEPS
    return result


def _odd(lines: Lines, padded: Padded) -> Lines:
    """An odd derivative of the Nyquist line has no real counterpart."""
    if padded.length % 2 == 0:
        lines[-1] = 0.0
    return lines


def _fine(lines: Lines, padded: Padded) -> Array:
    return np.asarray(fft.irfft(lines, SIGN_STEPS * padded.length) * SIGN_STEPS)


def _mean_friction(
    velocity: Lines, slope: float, spread: Array, held: Lines, surfaces: NearRest, padded: Padded
) -> Array:
    """Mean of the friction over velocities that noise of the density `spread` leaves possible."""
    size = np.sqrt(0.25 * spread * padded.rate * padded.length)  # of real and imaginary parts
    draws = DRAWS if size.any() else 1
    random = np.random.default_rng(SEED)
    fine = np.empty((draws, SIGN_STEPS * padded.length), dtype=np.float32)
    for k in range(draws):
        drawn = random.standard_normal(len(size)) + 1j * random.standard_normal(len(size))
        fine[k] = _fine(velocity + size * drawn, padded) + slope
    friction = held_friction(fine, held, surfaces, SIGN_STEPS * padded.rate)
    return np.asarray(friction.mean(axis=0, dtype=np.float64))


def held_friction(
    velocity: NDArray[Any], held: Lines, surfaces: NearRest, rate: float
) -> NDArray[Any]:
    """The friction over fs of surfaces that would move with `velocity` if it were not for it.

    `velocity`: the last axis is time; in single precision the friction comes to 1e-5 of fs, far
    below what draws leave open, in less than half the time. `held`: the lowest lines of what the
    friction takes off the velocity, per unit.
    """
    count = velocity.shape[-1]
    strain = 2.0 * np.pi * surfaces.presliding
    admittance = surfaces.creep + 1j * strain * fft.rfftfreq(count, 1.0 / rate)
    admittance[: len(held)] += held
    largest = max(float(np.abs(held).max()), STRAINED_HZ * strain, surfaces.creep)
    if largest == 0.0:
        return np.sign(velocity)
    step = STEP / largest
    resolvent = (1.0 / (1.0 + step * admittance)).astype(fft.rfft(velocity[..., :2]).dtype)
    push = velocity * velocity.dtype.type(step)
    friction = np.clip(push, -1.0, 1.0)
    state = push + friction
    for _ in range(STEPS):
        np.clip(state, -1.0, 1.0, out=friction)
        lines = fft.rfft(2.0 * friction - state + push, overwrite_x=True)
        lines *= resolvent
        moved = fft.irfft(lines, count, overwrite_x=True)
        moved -= friction
        moved *= RELAXATION
        state += moved
    return np.asarray(np.clip(state, -1.0, 1.0))


def _extended_density(
    extension: Extension, geometry: Geometry, density: float, frequency: Array, j: int
) -> Array:
    """Noise of the velocity: of the travel sensor below its band's end, of the force above."""
    share = crossover(frequency, extension.travel_hz[j])
    measured = density * ((1.0 - share) * 2.0 * np.pi * frequency) ** 2
    knots = np.linspace(0.5, extension.top_hz, 256)
    told = np.interp(frequency, knots, velocity_density(extension, geometry, knots, j))
    return np.where(frequency < extension.top_hz, measured + told * share**2, 0.0)


def _velocity_cutoff(travel: Array, wide: ZeroPhaseFilter, density: float) -> float:
    if density <= 0.0 or len(travel) < 512:
        return wide.cutoff_hz
    spectrum = welch_spectrum(travel[:SPECTRUM_SAMPLES], wide.rate)
    choice = choose_cutoff(
        spectrum, derivative=1, bias_bound=0.05, floor=np.array([density]), minimum_hz=3.0
    )
    return min(SIGN_MARGIN * choice.cutoff_hz, wide.cutoff_hz)
