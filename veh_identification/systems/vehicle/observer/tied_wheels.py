"""What the angles of wheels tell of the speed, where nothing else does.

The transition of the errors (equation 54) knows no tyres: an angle corrects its wheel alone, the
tyre pulls the wheel back to the speed of the car, and nobody corrects that. Where a wheel rolls
both are wrong together. That is no measurement (the model rolls as well, so that there is nothing
to correct), but it ties the error of the wheel to that of the car, and what is measured of the one
corrects the other.
"""

from __future__ import annotations

import numpy as np

from veh_identification.systems.vehicle.model.chassis_frame import YAW_PLACE
from veh_identification.systems.vehicle.model.stepper import ANGLE, FORWARD
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observed import POSE, YAW
from veh_identification.types import Array

#: Seconds without a word of satellites after which wheels are tied, and from one time to the next.
SILENT, PERIOD = 2.0, 0.1
#: Share of the speed and speed [m/s] by which a tyre and its radius are unknown, all four alike,
#: and for how long they stay so [s].
SLIP, LEAST, LASTS = 0.02, 0.02, 10.0
#: Share of the speed (or of 1 m/s) between wheel and road from which on a tyre slides.
SLIDES = 0.1


def tie_wheels(P: Array, vehicle: Vehicle) -> None:
    """The covariance of the errors where the wheels roll as they do in the model."""
    n = POSE + 4
    q, qd = vehicle.model.q, vehicle.model.qd
    geometry = vehicle.car.geometry
    radius, rate = geometry.wheel_radius, float(qd[YAW_PLACE])
    for corner, row in enumerate(vehicle.spokes):
        along = q[row[FORWARD] : row[FORWARD] + 2]
        arm = _level(vehicle, geometry.wheel_x[corner], geometry.wheel_y[corner])
        by_rate = float(along @ np.array([-arm[1], arm[0]]))
        speed = float(along @ qd[:2]) + by_rate * rate
        if abs(speed - radius * float(qd[row[ANGLE]])) > SLIDES * max(abs(speed), 1.0):
            continue
        h = np.zeros(len(P))
        h[n : n + 2], h[n + YAW], h[n + POSE + corner] = along, by_rate, -radius
        # all wheels err alike, and next time as now
        variance = 4.0 * LASTS / PERIOD * ((SLIP * speed) ** 2 + LEAST**2)
        share = P @ h
        P -= np.outer(share, share) / (float(h @ share) + variance)


def _level(vehicle: Vehicle, x: float, y: float) -> Array:
    """A way in the plane of the car, in axes of the road."""
    q = vehicle.model.q
    return x * q[3:5] + y * q[6:8]
