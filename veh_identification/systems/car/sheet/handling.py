"""Cornering stiffness of the axles and the understeer gradient, from what the wheels measure.

The lateral force of an axle over its slip angle is a straight line for small angles. Both follow
from the recording: the force from the wheel sensors, the angle from speed, yaw rate and steering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.types import Array

#: Tyres follow their slip angles below this; their relaxation shows above.
TOP_HZ = 1.0
LOWEST_SPEED = 8.0  # m/s
#: Beyond this lateral acceleration a cubic does not follow the tyres [m/s^2].
MOST = 5.0
#: Slip angles must vary by so much (rad, standard deviation) to say anything.
LEAST_ANGLE = 0.003
#: What camber and the shift of load put off a stiffness that one slope describes: 2 to 5 % on the
#: simulated car, always alike, so no residual shows it.
MODEL_SHARE = 0.04
BLOCK_SECONDS = 2.0
SMALLEST_BLOCKS = 5


@dataclass(frozen=True)
class Handling:
    """Slopes and their covariance: forces over slip angles of both axles, rear toe over ay."""

    value: Array  # (3,): front and rear cornering stiffness [N/rad], rear toe [rad s^2/m]
    covariance: Array  # (3, 3)


def handling(
    pieces: Sequence[CarSamples], configuration: CarDescription, wheel_mass: float = 0.0
) -> Handling | None:
    """From stretches of a recording; None where it does not corner enough.

    `wheel_mass`: of one wheel beyond its sensor, whose inertia the sensor does not feel.
    """
    rows = [_rows(piece, configuration, wheel_mass) for piece in pieces]
    if not rows:
        return None
    along, answer, block = (np.concatenate([one[k] for one in rows]) for k in range(3))
    if len(np.unique(block)) < SMALLEST_BLOCKS or along[:, :2, 0].std(axis=0).min() < LEAST_ANGLE:
        return None
    slopes = [_slope(along[:, k], answer[:, k], block) for k in range(3)]
    value = np.array([slope for slope, _ in slopes])
    covariance = np.array([[a @ b for _, b in slopes] for _, a in slopes])
    covariance[[0, 1], [0, 1]] += np.square(MODEL_SHARE * value[:2])
    return Handling(value, covariance) if (value[:2] > 0.0).all() else None


def _slope(along: Array, answer: Array, block: Array) -> tuple[float, Array]:
    """Slope at zero, and what every block of the recording adds to its error."""
    size = float(along[:, 0].std())
    # Tyres bend off early and follow late: the cubic and the rate leave the slope at small
    # angles to the first column.
    first, late = along[:, 0] / size, along[:, 1] / size
    columns = np.stack([first, np.ones(len(first)), first**3, late], axis=1)
    inverse = np.linalg.inv(columns.T @ columns)
    solution = inverse @ columns.T @ answer
    scores = columns * (answer - columns @ solution)[:, None]
    # Residuals of a block hang together: blocks are what is independent.
    sums = np.stack([scores[block == one].sum(axis=0) for one in np.unique(block)])
    return float(solution[0]) / size, np.asarray(sums @ inverse[0]) / size


def _rows(
    piece: CarSamples, configuration: CarDescription, wheel_mass: float
) -> tuple[Array, Array, Array]:
    """What the slopes are over (N, 3, 2) with its rate, of (N, 3), and block numbers (N,)."""
    empty = np.zeros((0, 3, 2)), np.zeros((0, 3)), np.zeros(0)
    low = ZeroPhaseFilter(piece.rate, TOP_HZ, 2, label='handling')
    if len(piece) < low.minimum_length + 2 * low.transient or not piece.velocity.any():
        return empty
    geometry = configuration.geometry
    steering = piece.joints['steering'].position
    yaw_rate = piece.angular_velocity[:, 2]
    speed = np.maximum(np.abs(piece.velocity[:, 0]), 1.0)
    angles = np.stack(
        [
            steering[:, :2].mean(axis=1)
            - (piece.velocity[:, 1] + geometry.wheelbase * yaw_rate) / speed,
            steering[:, 2:].mean(axis=1) - piece.velocity[:, 1] / speed,
        ],
        axis=1,
    )
    lateral = piece.wrench[:, :, 1]
    forces = np.stack([lateral[:, :2].sum(axis=1), lateral[:, 2:].sum(axis=1)], axis=1)
    arms = np.array([geometry.wheelbase, 0.0])
    carried = piece.specific_force[:, [1]] + piece.angular_acceleration[:, [2]] * arms
    forces = forces + 2.0 * wheel_mass * carried
    felt = piece.specific_force[:, [1]]
    toe = steering[:, 2:].mean(axis=1, keepdims=True)
    smooth = low.apply(np.concatenate([angles, felt, forces, toe], axis=1))[0]
    kept = (speed > LOWEST_SPEED) & (np.abs(smooth[:, 2]) < MOST)
    kept[: low.transient] = kept[len(kept) - low.transient :] = False
    rows = np.flatnonzero(kept)[:: max(1, int(piece.rate / (10.0 * TOP_HZ)))]
    block = np.floor(piece.stamps[rows] / BLOCK_SECONDS)
    rate = np.gradient(smooth[:, :3], 1.0 / piece.rate, axis=0)
    return np.stack([smooth[:, :3], rate], axis=2)[rows], smooth[rows, 3:], block
