"""Rolling resistance and loaded radius from the torque that the wheel sensors feel.

About its axis a wheel has I d(omega)/dt = -Fx r - f Fz R - My, with My what it exerts on the hub.
Zeros of the sensors look like rolling resistance: their doubt is that of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.systems.car.tyres.contact import Contacts, Wheels
from veh_identification.systems.car.tyres.lateral import SIDES, TOP_HZ, shares
from veh_identification.systems.car.tyres.longitudinal import TILT
from veh_identification.systems.car.tyres.spectral_fit import Found, Unknown, fit
from veh_identification.types import Array


def fit_rolling(
    pieces: Sequence[Contacts],
    axle: slice,
    radius: float,
    standing: float,
    wheels: Wheels,
    offsets: tuple[float, float],
) -> Found:
    """Coefficient, loaded radius at the load `standing`, spin inertia.

    `offsets`: deviations of the zeros of force and moment.
    """
    force, moment = offsets
    spread = float(np.hypot(moment, radius * force))
    unknowns = (
        Unknown('coefficient', 0.012, 0.02),
        Unknown('radius', radius, 0.03),
        Unknown('inertia', wheels.spin_inertia, 0.15 * wheels.spin_inertia),
        Unknown('zero_left', 0.0, spread),
        Unknown('zero_right', 0.0, spread),
        Unknown('tilt', 0.0, TILT),
        # What varies with the load also holds scrub and how loads shift: it tells nothing else.
        Unknown('variation', 0.012, 0.05),
    )

    def residuals(vector: Array) -> list[Array]:
        coefficient, arm, inertia, left, right, tilt, varying = vector.tolist()
        out = []
        for piece in pieces:
            assert piece.spin_acceleration is not None
            load = piece.load[:, axle]
            error = (
                piece.torque[:, axle]
                + inertia * piece.spin_acceleration[:, axle]
                + (arm - (load - standing) / wheels.stiffness)
                * (piece.forward[:, axle] + tilt * standing)
                + coefficient * radius * standing
                + varying * radius * (load - standing)
                + np.array([left, right])
            )
            out.append(piece.weight[:, axle].min(axis=1)[:, None] * error @ SIDES)
        return out

    signals = [
        piece.weight[:, axle].min(axis=1)[:, None] * radius * piece.forward[:, axle] @ SIDES
        for piece in pieces
    ]
    return fit(residuals, unknowns, shares(pieces, axle), pieces[0].rate, TOP_HZ, signals)
