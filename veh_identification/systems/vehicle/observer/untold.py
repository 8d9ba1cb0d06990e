"""What nothing tells while satellites are silent: not learnt, and its doubt is carried along.

Accelerations and yaw rates, integrated, would have to be right to a part in a hundred to tell how
the rear tyres slip, how large the wheels are, or where yaw rate and sideways acceleration have
their zero: an update would take the sum of small errors for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.observation import ErrorEKF
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.tied_wheels import PERIOD, SILENT

SATELLITES = ('gps', 'gps_velocity')
#: What only satellites tell of a rolling car: else the scales of the sensors would be taken for
#: the tyres. Of one that moves neither are these told from the yaw rate that they belong to.
TYRES_TOLD = ('rear_slip.softness', 'rear_slip.crab')
BIASES_TOLD = (
    'gyroscope.bias_z',
    'gyroscope.scale_z',
    'accelerometer.bias_y',
    'accelerometer.turn',
)


class Untold:
    """Holds parameters of a car that rolls while satellites are silent.

    `radii`: corner and place of the radius of each wheel among the parameters; none of a car whose
    torques are known: of that the model tells forces, and nothing is held.
    """

    def __init__(self, filter_: ErrorEKF, radii: Sequence[tuple[int, int]]) -> None:
        names = filter_.parameter_names
        held = (TYRES_TOLD, BIASES_TOLD) if radii else ((), ())
        self._filter, self._radii = filter_, radii
        self._still, self._moving = (
            [names.index(one) for one in some if one in names] for some in held
        )
        self.holds, self._looked = bool(self._still), filter_.time
        self._kept: list[tuple[int, float, float]] = []  # during an update
        self._rolling: list[int] = []  # radii of the wheels that are heard, while these are held
        self._mean = (0.0, 0.0)  # of them and its variance, during an update

    def look(self) -> None:
        """Whether satellites have been heard lately, now and then."""
        filter_ = self._filter
        if not self._still or filter_.time - self._looked < PERIOD:
            return
        self._looked = filter_.time
        told = (filter_.channels[name].counts.last_used for name in SATELLITES)
        self.holds = filter_.time - max(told) > SILENT
        self._look_at_wheels()

    def _look_at_wheels(self) -> None:
        """Which wheels were used."""
        channels = self._filter.channels
        self._rolling = [k for i, k in self._radii if channels[f'wheel_{CORNERS[i]}'].counts.used]

    def keep(self, moving: bool) -> None:
        """Note values and variances of what an update is not to learn.

        What it makes of their correlations stays: so the other states are no surer than they can
        be (Schmidt's consider states).
        """
        self._kept = []
        if self.holds:
            parameters, P = self._filter.parameters, self._filter.P
            first = P.shape[0] - parameters.size
            places = self._still + (self._moving if moving else [])
            self._kept = [
                (k, float(parameters[k]), float(P[first + k, first + k])) for k in places
            ]
            self._mean = self._mean_radius()

    def put_back(self) -> None:
        """Undo what an update made of them."""
        if not self._kept:
            return
        parameters, P = self._filter.parameters, self._filter.P
        first = P.shape[0] - parameters.size
        for k, value, variance in self._kept:
            parameters[k], P[first + k, first + k] = value, variance
        if self._rolling:
            (value, variance), (now, less) = self._mean, self._mean_radius()
            places = np.array(self._rolling)
            states = first + places
            parameters[places] += value - now
            P[np.ix_(states, states)] += max(variance - less, 0.0)

    def _mean_radius(self) -> tuple[float, float]:
        """Of the wheels that are heard, and its variance: nothing but satellites tells it.

        How the wheels differ is told by the yaw rate.
        """
        if not self._rolling:
            return 0.0, 0.0
        parameters, P = self._filter.parameters, self._filter.P
        places = np.array(self._rolling)
        states = P.shape[0] - parameters.size + places
        return float(parameters[places].mean()), float(P[np.ix_(states, states)].mean())

    def doubted(self) -> None:
        """An update widened variances on purpose: they are not put back."""
        self._kept = []

    def findings(self) -> list[Finding]:
        """What is not known because of it."""
        if not self.holds:
            return []
        text = (
            'without satellites nothing tells how much the rear tyres slip in bends, nor biases '
            'of the yaw rate and the sideways acceleration: sideslip is as good as '
            'tyre.cornering and the gyroscope are'
        )
        return [Finding('note', 'tyres_untold', text, 'tyre.cornering')]

    def state(self) -> tuple[Any, ...]:
        """For a snapshot."""
        return self.holds, self._looked

    def restore(self, state: tuple[Any, ...]) -> None:
        """Go back to a snapshot; the filter has gone back before."""
        self.holds, self._looked = state
        self._look_at_wheels()
