"""Forward force of an axle's tyres: rolling radius, slip stiffness, relaxation, friction.

Slip is a small difference of two speeds, both with noise, while the force is known well. So the
linear range is read the other way round: which speed of the contact do force and wheel speed tell?
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.systems.car.tyres.contact import Contacts, Wheels, fading
from veh_identification.systems.car.tyres.lateral import SIDES, TOP_HZ, shares
from veh_identification.systems.car.tyres.magic import (
    combined,
    curve,
    friction,
    inverse_curve,
    relaxed,
)
from veh_identification.systems.car.tyres.spectral_fit import Found, Unknown, fit
from veh_identification.types import Array

#: Doubt of the angle between wheel sensor and road about the wheel axis [rad].
TILT = 1.5e-3
#: Of friction: beyond, the slip hardly follows from the force.
MOST_USED = 0.75
SHAPES = (
    Unknown('friction', 1.0, 0.2, 0.3, 2.0),
    Unknown('friction_slope', -0.1, 0.06),
    Unknown('shape', 1.6, 0.1, 1.01, 1.95),
    Unknown('curvature', 0.2, 0.4, -6.0, 0.95),
)
COMBINED_B2 = 6.0  # how the weight of the slip angle narrows with slip: not identified


def fit_linear(
    pieces: Sequence[Contacts], axle: slice, nominal: float, radius: float, wheels: Wheels
) -> Found:
    """Radius of both wheels and its change with load, slip compliance, relaxation."""
    sink = -1.0 / (3.0 * wheels.stiffness)  # a third of the deflection is lost to the radius
    unknowns = (
        Unknown('radius_left', radius, 0.03),
        Unknown('radius_right', radius, 0.03),
        Unknown('radius_load', sink, abs(sink)),
        Unknown('compliance', 1.0 / 22.0, 0.5 / 22.0),  # slip per force over load
        *SHAPES,
        Unknown('relaxation', 0.25, 0.2),
        Unknown('combined', 10.0, 4.0, 0.0, 40.0),  # by which slip angles weaken the force
        Unknown('tilt', 0.0, TILT),
    )
    names = [one.name for one in unknowns]
    weights = [_below_peak(piece, axle) for piece in pieces]

    def residuals(vector: Array) -> list[Array]:
        x = dict(zip(names, vector.tolist(), strict=True))
        out = []
        for piece, weight in zip(pieces, weights, strict=True):
            assert piece.spin is not None
            load = np.maximum(piece.load[:, axle], 1.0)
            angle = np.arctan(piece.tangent[:, axle])
            used = piece.forward[:, axle] / load + x['tilt']
            used = used / combined(0.0 * used, angle, x['combined'], COMBINED_B2)
            radii = np.array([x['radius_left'], x['radius_right']])
            radii = radii + x['radius_load'] * (load - nominal)
            most = friction(load, nominal, x['friction'], x['friction_slope'])
            slip = most * inverse_curve(used / most, x['shape'], x['curvature'])
            slip = x['compliance'] * slip
            change = np.gradient(slip, 1.0 / piece.rate, axis=0)
            told = piece.spin[:, axle] * radii - piece.speed[:, axle] * slip
            error = piece.speed[:, axle] - told + x['relaxation'] * change
            out.append(weight * error @ SIDES)
        return out

    signals = [_counted(piece, axle, _slipping(piece, axle, radius)) for piece in pieces]
    return fit(residuals, unknowns, shares(pieces, axle), pieces[0].rate, TOP_HZ, signals)


def _below_peak(piece: Contacts, axle: slice) -> Array:
    """Weight (N, 1) of what can be read backwards: forces and slip angles short of the peak."""
    used = np.hypot(piece.forward, piece.lateral) / np.maximum(piece.load, 1.0)
    short = np.asarray((used < MOST_USED)[:, axle].all(axis=1, keepdims=True), dtype=bool)
    return fading(short, piece.rate) * piece.weight[:, axle].min(axis=1)[:, None]


def _counted(piece: Contacts, axle: slice, values: Array) -> Array:
    return piece.weight[:, axle].min(axis=1)[:, None] * values @ SIDES


def _slipping(piece: Contacts, axle: slice, radius: float) -> Array:
    """What the slip makes of the speed, roughly [m/s]."""
    used = piece.forward[:, axle] / np.maximum(piece.load[:, axle], 1.0)
    return np.asarray(piece.speed[:, axle] * used / 20.0)


def slip_of(found: Found, piece: Contacts, axle: slice, nominal: float) -> Array:
    """Longitudinal slip (N, 2) by wheel speed and rolling radius."""
    assert piece.spin is not None
    load = piece.load[:, axle]
    radii = np.array([found['radius_left'], found['radius_right']])
    radii = radii + found['radius_load'] * (load - nominal)
    speed = np.maximum(np.abs(piece.speed[:, axle]), 1.0)
    return np.asarray((piece.spin[:, axle] * radii - piece.speed[:, axle]) / speed)


def predicted(
    x: dict[str, float], piece: Contacts, axle: slice, nominal: float, slip: Array
) -> Array:
    """Forward force (N, 2) by the Magic Formula."""
    load = np.maximum(piece.load[:, axle], 1.0)
    speed = np.abs(piece.speed[:, axle])
    lagged = relaxed(slip, speed, x['relaxation'], 1.0 / piece.rate)
    peak = load * friction(load, nominal, x['friction'], x['friction_slope'])
    stiffness = np.exp(x['log_stiffness']) * load
    force = curve(lagged, stiffness, peak, x['shape'], x['curvature'])
    angle = np.arctan(piece.tangent[:, axle])
    return np.asarray(force * combined(lagged, angle, x['combined'], COMBINED_B2))


def fit_magic(
    pieces: Sequence[Contacts], axle: slice, nominal: float, linear: Found
) -> tuple[Found, list[Array]]:
    """Friction and shape beyond the linear range, and the slips that were used."""
    stiffness = 1.0 / linear['compliance']
    unknowns = (
        Unknown(
            'log_stiffness',
            float(np.log(stiffness)),
            max(linear.std('compliance') * stiffness, 1e-3),
        ),
        *SHAPES,
        Unknown(
            'relaxation',
            float(np.clip(linear['relaxation'], 0.03, 1.5)),
            max(linear.std('relaxation'), 1e-3),
            0.01,
            2.0,
        ),
        Unknown('combined', 10.0, 4.0, 0.0, 40.0),
        Unknown('slip_left', 0.0, max(linear.std('radius_left') / linear['radius_left'], 1e-5)),
        Unknown('slip_right', 0.0, max(linear.std('radius_right') / linear['radius_right'], 1e-5)),
    )
    names = [one.name for one in unknowns]
    slips = [slip_of(linear, piece, axle, nominal) for piece in pieces]

    def residuals(vector: Array) -> list[Array]:
        x = dict(zip(names, vector.tolist(), strict=True))
        shift = np.array([x['slip_left'], x['slip_right']])
        out = []
        for piece, slip in zip(pieces, slips, strict=True):
            error = piece.forward[:, axle] - predicted(x, piece, axle, nominal, slip + shift)
            out.append(piece.weight[:, axle].min(axis=1)[:, None] * error @ SIDES)
        return out

    signals = [_counted(piece, axle, piece.forward[:, axle]) for piece in pieces]
    found = fit(residuals, unknowns, shares(pieces, axle), pieces[0].rate, TOP_HZ, signals)
    return found, slips
