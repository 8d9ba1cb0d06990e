"""Mass, centre of mass and inertia of an estimated load, with their deviations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.multibody.inertia import centre_of_mass
from veh_identification.systems.robot.estimation.estimate import Estimate, load_prefix
from veh_identification.types import Array

#: Correlation of the mass with the gains from which on the two are one unknown.
INSEPARABLE = 0.9
_SIX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class FoundLoad:
    """One load in the frame of its link; inertia about its centre: xx xy xz yy yz zz."""

    prefix: str
    recording: str
    link: str
    mass: float
    mass_std: float
    centre: Array
    centre_std: Array
    inertia: Array
    inertia_std: Array
    gain_correlation: float  # of the mass with the drives' gains; 0 where those are known
    gains: str  # known, estimated, or torque

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            'name': self.prefix,
            'recording': self.recording,
            'link': self.link,
            'mass': {'value': self.mass, 'std': self.mass_std, 'unit': 'kg'},
            'centre': {
                'value': self.centre.tolist(),
                'std': self.centre_std.tolist(),
                'unit': 'm',
            },
            'inertia': {
                'value': self.inertia.tolist(),
                'std': self.inertia_std.tolist(),
                'unit': 'kg m^2',
                'entries': ['xx', 'xy', 'xz', 'yy', 'yz', 'zz'],
            },
            'gain_correlation': self.gain_correlation,
        }

    @property
    def line(self) -> str:
        """For a terminal."""
        centre = ' '.join(
            f'{1e3 * v:.1f} +- {1e3 * s:.1f}'
            for v, s in zip(self.centre, self.centre_std, strict=True)
        )
        return (
            f'payload of {self.recording} at {self.link}: {self.mass:.4g} +- {self.mass_std:.2g} '
            f'kg, centre x y z {centre} mm'
        )

    def findings(self) -> list[Finding]:
        """Whether it can be, and what it stands on."""
        found = []
        if self.mass < 2.0 * self.mass_std:
            text = (
                f'{self.recording}: the payload of {self.mass:.3g} +- {self.mass_std:.2g} kg is '
                'not told from zero'
            )
            found.append(Finding('warn', 'payload_weak', text, self.recording))
        if abs(self.gain_correlation) > INSEPARABLE:
            text = (
                f'{self.recording}: gain and mass cannot be told apart: the mass of the payload '
                f'correlates with the gains of the drives by {self.gain_correlation:.2f}; weigh '
                'it, or give the gains'
            )
            found.append(Finding('warn', 'gain_and_mass', text, 'gains'))
        elif self.gains == 'known':
            text = (
                f'{self.recording}: the mass of the payload is as right as the gains that were '
                'given: gain and mass cannot be told apart, one percent of the gains is one '
                'percent of the mass'
            )
            found.append(Finding('note', 'mass_by_given_gains', text, 'gains'))
        return found


def found_loads(estimate: Estimate) -> list[FoundLoad]:
    """The loads whose mass was not known."""
    setup, state = estimate.setup, estimate.state
    gains = 'torque'
    if setup.model.configuration.effort == 'current':
        gains = 'estimated' if state.gains_free.any() else 'known'
    made = []
    for k, load in enumerate(setup.loads):
        if not load.sought:
            continue
        place = estimate.names.index(f'{load_prefix(k)}.M') + np.arange(10)
        value = estimate.value[place]
        covariance = estimate.covariance[np.ix_(place, place)]
        centre_std = _spread(lambda p: p[1:4] / p[0], value, covariance)
        inertia_std = _spread(_inertia, value, covariance)
        made.append(
            FoundLoad(
                load_prefix(k),
                load.recording,
                load.link,
                float(value[0]),
                float(np.sqrt(covariance[0, 0])),
                value[1:4] / value[0],
                centre_std,
                _inertia(value),
                inertia_std,
                _gain_correlation(estimate, int(place[0])),
                gains,
            )
        )
    return made


def _inertia(parameters: Array) -> Array:
    tensor = centre_of_mass(parameters)[2]
    return np.array([tensor[place] for place in _SIX])


def _spread(function: Callable[[Array], Array], value: Array, covariance: Array) -> Array:
    """Deviations of what follows from the parameters, to first order."""
    steps = 1e-4 * np.maximum(np.sqrt(np.diag(covariance)), 1e-12)
    slopes = [
        (function(value + e) - function(value - e)) / (2.0 * h)
        for h, e in zip(steps, np.diag(steps), strict=True)
    ]
    J = np.stack(slopes, axis=1)
    return np.asarray(np.sqrt(np.einsum('ij,jk,ik->i', J, covariance, J)))


def _gain_correlation(estimate: Estimate, place: int) -> float:
    """The largest correlation of the mass with a gain, or with all gains scaled together."""
    free = int(estimate.state.gains_free.sum())
    if not free:
        return 0.0
    C = estimate.solved.covariance
    last = len(C) - free
    together = np.zeros(len(C))
    together[last:] = 1.0
    rows = [np.eye(len(C))[last + k] for k in range(free)] + [together]
    found = [float(C[place] @ row / np.sqrt(C[place, place] * (row @ C @ row))) for row in rows]
    return max(found, key=abs)
