"""Lateral force of an axle's tyres: cornering and camber stiffness, relaxation, friction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.car.tyres.contact import Contacts, Wheels
from veh_identification.systems.car.tyres.magic import (
    combined,
    cornering_stiffness,
    curve,
    friction,
    relaxed,
)
from veh_identification.systems.car.tyres.spectral_fit import (
    Found,
    Residuals,
    Unknown,
    fit,
    lines_of,
)
from veh_identification.types import Array

#: Tyres are identified from this band: the driveline shakes the sensors above [Hz].
TOP_HZ = 3.0
#: Known before of any passenger car tyre: middle and deviation.
UNKNOWNS = (
    Unknown('log_stiffness', float(np.log(15.0)), 0.6, 0.0, 5.0),  # over load, per rad
    Unknown('load_peak', 2.2, 0.6, 0.8, 8.0),  # load of the largest stiffness over nominal
    Unknown('friction', 1.0, 0.2, 0.3, 2.0),
    Unknown('friction_slope', -0.1, 0.06),
    Unknown('shape', 1.35, 0.1, 1.01, 1.9),
    Unknown('curvature', -0.4, 0.6, -6.0, 0.95),
    Unknown('camber', 0.8, 0.6),  # force over load, per rad
    Unknown('relaxation', 0.45, 0.25, 0.02, 2.0),
    Unknown('delay', 0.0, 0.001),  # by which stamps of the sensors differ [s]
    Unknown('combined', 7.0, 3.0, 0.0, 40.0),
    Unknown('mass', 0.0, 1.0),  # error of what is beyond the sensor, over its deviation
    Unknown('angle_left', 0.0, 0.005),
    Unknown('angle_right', 0.0, 0.005),
    Unknown('force_left', 0.0, 15.0),
    Unknown('force_right', 0.0, 15.0),
)
COMBINED_B2 = 2.5  # how the weight of the slip narrows with the slip angle: not identified
SIDES = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)


def predicted(
    x: dict[str, float],
    piece: Contacts,
    axle: slice,
    nominal: float,
    slip: Array | None,
    shift: Array | float = 0.0,
) -> Array:
    """Lateral force (N, 2) of the two tyres; `slip` along the wheel where it is known.

    `shift` is added to the slip angles as measured.
    """
    load = np.maximum(piece.load[:, axle], 1.0)
    speed = np.abs(piece.speed[:, axle])
    length = x['relaxation']
    # A late angle looks like a longer relaxation, but not at every speed alike.
    angle = np.arctan(piece.tangent[:, axle]) + shift
    angle = angle + np.array([x['angle_left'], x['angle_right']])
    angle = angle + x['delay'] * np.gradient(angle, 1.0 / piece.rate, axis=0)
    angle = relaxed(angle, speed, length, 1.0 / piece.rate)
    stiffness = cornering_stiffness(
        load, nominal, nominal * np.exp(x['log_stiffness']), x['load_peak']
    )
    peak = load * friction(load, nominal, x['friction'], x['friction_slope'])
    whole = angle + x['camber'] * load * piece.camber[:, axle] / stiffness
    force = curve(whole, stiffness, peak, x['shape'], x['curvature'])
    if slip is not None:
        force = force * combined(angle, slip, x['combined'], COMBINED_B2)
    return np.asarray(force + np.array([x['force_left'], x['force_right']]))


def fit_lateral(
    pieces: Sequence[Contacts],
    axle: slice,
    nominal: float,
    wheels: Wheels,
    slips: Sequence[Array | None],
    offset: float | None = None,
) -> Found:
    """The unknowns of one axle; `offset`: deviation of a wheel sensor's zero where known [N]."""
    unknowns = [
        Unknown(one.name, one.guess, offset or one.spread)
        if one.name.startswith('force_')
        else one
        for one in UNKNOWNS
    ]
    names = [one.name for one in unknowns]

    # All noise of the band that is fitted must pass: what is left of it takes off stiffness.
    low = ZeroPhaseFilter(pieces[0].rate, 2.0 * TOP_HZ, 4, label='slip angles')
    counted = [piece.weight[:, axle].min(axis=1)[:, None] for piece in pieces]

    def named(vector: Array) -> dict[str, float]:
        return dict(zip(names, vector.tolist(), strict=True))

    def errors(x: dict[str, float], shifts: Sequence[Array | float]) -> list[Array]:
        return [
            piece.lateral[:, axle]
            + x['mass'] * wheels.mass_std * piece.carried[:, axle]
            - predicted(x, piece, axle, nominal, slip, shift)
            for piece, slip, shift in zip(pieces, slips, shifts, strict=True)
        ]

    def residuals_with(shifts: Sequence[Array | float]) -> Residuals:
        # Speed and yaw rate err for both wheels alike: sum and difference are independent.
        return lambda vector: [
            share * error @ SIDES
            for share, error in zip(counted, errors(named(vector), shifts), strict=True)
        ]

    def instruments(vector: Array) -> Residuals:
        """Slip angles shifted to where the forces say that they are.

        Both wheels of an axle by the same angle: the noise of a slip angle is that of speed and
        yaw rate. Shifted singly, the noise of the forces' difference passed for stiffness, 4 % of
        it on rear axles, whose camber follows their slip angle.
        """
        x = named(vector)
        stiffness = nominal * np.exp(x['log_stiffness'])
        left = errors(x, plain)
        share = slip_share(
            [weight * one @ SIDES for weight, one in zip(counted, left, strict=True)],
            pieces[0].rate,
        )
        shifts: list[Array | float] = []
        for piece, slip, error in zip(pieces, slips, left, strict=True):
            above, below = (
                predicted(x, piece, axle, nominal, slip, move) for move in (1e-4, -1e-4)
            )
            slope = np.maximum((above - below) / 2e-4, 0.3 * stiffness)
            lagged = low.derivatives((share * error.sum(axis=1) / slope.sum(axis=1))[:, None])
            speed = np.maximum(np.abs(piece.speed[:, axle]).mean(axis=1, keepdims=True), 1.0)
            # Forces tell the angle behind its relaxation length.
            shifts.append(lagged.position + x['relaxation'] / speed * lagged.velocity)
        return residuals_with(shifts)

    plain = [0.0] * len(pieces)
    signals = [
        share * piece.lateral[:, axle] @ SIDES
        for share, piece in zip(counted, pieces, strict=True)
    ]
    return fit(
        residuals_with(plain),
        unknowns,
        shares(pieces, axle),
        pieces[0].rate,
        TOP_HZ,
        signals,
        instruments,
    )


def slip_share(residuals: Sequence[Array], rate: float) -> float:
    """Share of the axle's residual force that noise of its slip angle makes, not the road.

    `residuals`: sum and difference of both wheels. Noise of the slip angle is common to them, what
    the road does below each is not: it stands in the difference as much as in the sum. Taken for
    noise of the slip angle as well, it made rear axles half a per cent too stiff.
    """
    power = sum(np.square(lines_of(one, rate, TOP_HZ)).sum(axis=0) for one in residuals)
    together, apart = np.asarray(power)
    return float(max(1.0 - apart / together, 0.0)) if together > 0.0 else 0.0


def shares(pieces: Sequence[Contacts], axle: slice) -> list[Array]:
    """How much of every stretch counts, for the sum and the difference of an axle's wheels."""
    return [
        np.full(2, float(np.mean(np.square(one.weight[:, axle].min(axis=1))))) for one in pieces
    ]
