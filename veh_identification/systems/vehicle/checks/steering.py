"""Do steering and yaw rate of the observed car tell the same bends?"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.channels import Channels
from veh_identification.checks.grid import slope
from veh_identification.checks.satellites import fitted
from veh_identification.findings import Finding
from veh_identification.types import Array

#: Above this speed (m/s), in so many samples of the grid, steering tells its own scale.
ROLLING, MANY = 3.0, 150
#: Understeer of cars (rad a m/s^2).
UNDERSTEERS = 0.01
#: Deviation below which a scale is known (fast drives leave it to the tyres), and how far from
#: one it must be (in logarithms): 0.94 to 1.06 on clean simulated drives.
KNOWN, OFF = 0.04, 0.17


def check_ratio(
    channels: Channels, angle: Array, speed: Array, wheelbase: float, where: str
) -> list[Finding]:
    """Angle of the road wheels (rad) over that of the bend which the car goes, at low speed.

    In a steady bend it is yaw rate times wheelbase over speed, and understeer times the lateral
    acceleration; while the yaw rate changes steering leads it.
    """
    turn = channels.of('imu', 2)
    change = slope(channels.grid, turn)
    with np.errstate(invalid='ignore'):
        good = np.isfinite(turn + change + speed + angle) & (speed > ROLLING)
    if good.sum() < MANY:
        return []
    w, v = turn[good], speed[good]
    columns = [wheelbase * w / v, w * v, change[good] / v, np.ones(len(w))]
    value, sigma = fitted(columns, angle[good], (np.inf, UNDERSTEERS, np.inf, np.inf))
    if sigma > KNOWN or not value > 0.0 or abs(np.log(value)) < OFF:
        return []
    text = (
        f'{where}: the road wheels turn {value:.2f} +- {sigma:.1g} times as far as the bends need '
        f'that the car goes: sensors.rack.steering_ratio should be {value:.3g} times as large, or '
        f'geometry.wheelbase {wheelbase * value:.3g} m'
    )
    return [Finding('bad', 'scale', text, where, size=abs(value - 1.0) / sigma)]
