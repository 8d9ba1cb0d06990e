"""How a spring moves with its wheel: the motion ratio of a double wishbone from its hardpoints.

Five lengths hold the hub carrier: two pivots of each arm to its ball joint, and the tie rod. With
the height of the wheel centre they are six equations for its six coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import ModelError
from veh_identification.systems.car.description.parts import Axle
from veh_identification.types import Array

#: Travel over which derivatives are taken [m]: rounding and curvature both stay below 1e-6.
_STEP = 2e-3


@dataclass(frozen=True)
class Standing:
    """What a wheel carries at rest."""

    spring_load: float  # weight of the body on this wheel [N]
    tyre_load: float  # and of all that is below the spring [N]
    radius: float  # height of the wheel centre [m]


@dataclass(frozen=True)
class MotionRatio:
    """Compression c of the spring over the travel q of the wheel at design height."""

    slope: float  # dc/dq
    curvature: float  # d2c/dq2 [1/m]
    camber: float  # change of camber over travel [rad/m]

    def wheel_rate(self, stiffness: float, at_rest: Standing) -> float:
        """Stiffness at the wheel, load over travel, of a spring of the given stiffness.

        The force at the wheel is the spring's times dc/dq: of its derivative one part is the
        spring's stiffness, another the change of the ratio under the load. A wheel that leans
        over puts its load beside the centre, and the moment helps the travel.
        """
        return stiffness * self.slope**2 + self._of_load(at_rest)

    def spring_rate(self, stiffness: float, at_rest: Standing) -> float:
        """Inverse of `wheel_rate`."""
        return (stiffness - self._of_load(at_rest)) / self.slope**2

    def _of_load(self, at_rest: Standing) -> float:
        lean = at_rest.tyre_load * at_rest.radius * self.camber**2
        return at_rest.spring_load / self.slope * self.curvature - lean


def motion_ratio(axle: Axle) -> MotionRatio:
    """The motion ratio of the left wheel of an axle."""
    low, middle, high = (_stroke(axle, travel) for travel in (-_STEP, 0.0, _STEP))
    lean = [_hub(axle, travel)[1][0] for travel in (-_STEP, _STEP)]
    slope = float(-(high - low) / (2.0 * _STEP))
    if not slope > 0.05:
        raise ModelError(
            f'the hardpoints shorten the spring by {slope:.3g} of the wheel travel only: '
            'spring_top or spring_share is wrong'
        )
    curvature = float(-(high - 2.0 * middle + low) / _STEP**2)
    return MotionRatio(slope, curvature, float(lean[1] - lean[0]) / (2.0 * _STEP))


def _stroke(axle: Axle, travel: float) -> float:
    """Length of the spring at a travel of the wheel [m]."""
    shift, turn = _hub(axle, travel)
    lower = Rotation.from_rotvec(turn).apply(axle.lower_ball) + shift
    pivots = np.mean(axle.lower_pivots, axis=0)
    eye = (1.0 - axle.spring_share) * pivots + axle.spring_share * lower
    return float(np.linalg.norm(np.array(axle.spring_top) - eye))


def _hub(axle: Axle, travel: float) -> tuple[Array, Array]:
    """Displacement and rotation vector of the hub carrier at a travel of the wheel."""
    moving = np.array(
        [axle.lower_ball, axle.lower_ball, axle.upper_ball, axle.upper_ball, axle.tie_outer]
    )
    fixed = np.array([*axle.lower_pivots, *axle.upper_pivots, axle.tie_inner])
    lengths = np.linalg.norm(moving - fixed, axis=1)
    x = np.zeros(6)
    x[2] = travel
    for _ in range(20):
        arms = Rotation.from_rotvec(x[3:]).apply(moving)
        rods = arms + x[:3] - fixed
        now = np.linalg.norm(rods, axis=1)
        error = np.append(now - lengths, x[2] - travel)
        if np.abs(error).max() < 1e-14:
            return x[:3], x[3:]
        unit = rods / now[:, None]
        # A small rotation w moves the end of an arm by w x arm: its share along the rod.
        jacobian = np.vstack([np.hstack([unit, np.cross(arms, unit)]), [0, 0, 1, 0, 0, 0]])
        try:
            step = np.linalg.solve(jacobian, -error)
        except np.linalg.LinAlgError:
            break
        x[:3] += step[:3]
        x[3:] = (Rotation.from_rotvec(step[3:]) * Rotation.from_rotvec(x[3:])).as_rotvec()
    raise ModelError('the hardpoints of an axle do not let its wheel move up and down')
