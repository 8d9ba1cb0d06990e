"""Axes about which a car hardly turns: the equation of moments then holds noise, not inertia."""

from __future__ import annotations

import numpy as np

from veh_identification.findings.numbers import percent
from veh_identification.systems.car.estimation.weighted import Fit
from veh_identification.systems.car.live.advice import manoeuvre_for
from veh_identification.systems.car.model import EQUATIONS

#: Equations of moments, what they tell by the angular acceleration about their own axis, and how
#: that axis is called.
AXES = {
    'NX': (('XXc', 'XYc', 'XZc'), 'x (roll)'),
    'NY': (('YYc', 'XYc', 'YZc'), 'y (pitch)'),
    'NZ': (('ZZc', 'XZc', 'YZc'), 'z (yaw)'),
}
#: Share of such an equation that stays unexplained: what else shakes the inertial unit shrinks its
#: moments of inertia by the square of it or more.
NOISY = 0.2
#: Moments (rms) below this share of the largest are no manoeuvre. A drive of sines about z has a
#: third about z and 4 % about x, a straight braking 0.5 % about both.
IDLE = 0.01


def untold_parameters(fit: Fit) -> dict[str, str]:
    """Parameters that the recording does not tell, each with the reason and what to record."""
    found: dict[str, str] = {}
    size = np.sqrt(fit.measured_squares / np.maximum(fit.lines, 1.0))
    largest = max(size[EQUATIONS.index(name)] for name in AXES)
    for equation, (parameters, axis) in AXES.items():
        k = EQUATIONS.index(equation)
        if not 0.0 < size[k] < IDLE * largest:
            continue
        share = float(np.sqrt(fit.residual_squares[k] / fit.measured_squares[k]))
        if share < NOISY:
            continue
        reason = (
            f'the car hardly turns about {axis} in what was recorded, and {percent(share)} of the '
            f'little moment {equation} is noise: {manoeuvre_for(parameters[0])}'
        )
        found |= dict.fromkeys(parameters, reason)
    return found
