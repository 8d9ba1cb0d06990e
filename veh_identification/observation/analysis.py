"""Observability and poles of a running observer, looked at now and then (Sinigaglia 2016)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from veh_identification.multibody.natural.model import NaturalModel
from veh_identification.observation.error_ekf import ErrorEKF
from veh_identification.observation.observability import Observability, observability
from veh_identification.observation.poles import (
    closed_loop,
    discrete,
    gain,
    linearised,
    observer_poles,
)
from veh_identification.observation.protocols import is_pseudo
from veh_identification.observation.sequential import predict_covariance
from veh_identification.types import Array

#: Time between two looks [s].
PERIOD = 1.0


def state_names(coordinates: Sequence[str], orders: int) -> list[str]:
    """Names of the error state [z, z'] or [z, z', z'']."""
    kinds = ('', ' rate', ' acceleration')[:orders]
    return [f'{name}{kind}' for kind in kinds for name in coordinates]


def seen_by(filter_: ErrorEKF, dt: float, constraints: bool = False) -> Observability:
    """What the sensors that can speak now tell of positions, rates and acceleration errors.

    `constraints`: with what the model itself brings. Parameters of sensors are left out: they move
    so slowly that the few steps of (44) say nothing about them.
    """
    own = filter_.orders * filter_.model.size
    H, _, sensors = filter_.output()
    chosen = [constraints or not is_pseudo(sensor) for sensor in sensors]
    return observability(
        filter_.model.transition(dt, filter_.orders), H[chosen, :own], dt, filter_.orders
    )


def poles_of(
    filter_: ErrorEKF, natural: NaturalModel, columns: NDArray[np.int64], dt: float
) -> tuple[Array, Array]:
    """Magnitudes of the poles of the corrected model and of the model alone, largest first.

    Corrected: at a step at which every sensor that can speak does so. Acceleration errors that
    are known to be zero are no states.
    """
    size, orders = filter_.model.size, filter_.orders
    own = orders * size
    F, W = filter_.transition(dt)
    H, variance, sensors = filter_.output()
    P = predict_covariance(F, filter_.P, W)
    L = gain(P, H, variance)
    feedback = H.copy()
    feedback[[bool(getattr(sensor, 'passive', False)) for sensor in sensors]] = 0.0
    whole, into, seen = closed_loop(linearised(natural), columns, orders)
    kept = np.ones(whole.shape[0], dtype=bool)
    mechanical = 2 * len(natural.independent)
    kept[mechanical:] = np.diag(P)[2 * size : own] > 0.0
    F_model = discrete(whole[np.ix_(kept, kept)], dt)
    alone = F_model[:mechanical, :mechanical]
    # Parameters of the sensors are corrected with the mechanism, by the same innovations.
    return (
        observer_poles(
            block_diag(F_model, F[own:, own:]),
            np.vstack([(into @ L[:own])[kept], L[own:]]),
            np.hstack([(feedback[:, :own] @ seen)[:, kept], feedback[:, own:]]),
            F_model.shape[0],
        ),
        np.sort(np.abs(np.linalg.eigvals(alone)))[::-1],
    )


@dataclass
class ObserverAnalysis:
    """Looks at a filter once a period."""

    names: Sequence[str]  # of the observed coordinates
    observability: bool = False
    poles: bool = False
    times: list[float] = field(default_factory=list)
    size: int = 0
    ranks: list[int] = field(default_factory=list)
    constrained: list[int] = field(default_factory=list)  # with constraints of the model
    unseen: Counter[str] = field(default_factory=Counter)
    corrected: list[float] = field(default_factory=list)  # largest pole at each look
    alone: list[float] = field(default_factory=list)

    def look(
        self,
        filter_: ErrorEKF,
        natural: NaturalModel,
        columns: NDArray[np.int64],
        time: float,
        dt: float,
    ) -> None:
        """Look at a filter after a step, unless that was done a moment ago."""
        if self.times and time < self.times[-1] + PERIOD - 0.5 * dt:
            return
        self.times.append(time)
        if self.observability:
            found = seen_by(filter_, dt)
            names = state_names(self.names, filter_.orders)
            self.size = found.size
            self.ranks.append(found.rank)
            self.constrained.append(seen_by(filter_, dt, constraints=True).rank)
            self.unseen.update(names[k] for k in found.unseen)
        if self.poles:
            corrected, alone = poles_of(filter_, natural, columns, dt)
            self.corrected.append(float(corrected[0]))
            self.alone.append(float(alone[0]))

    def figures(self) -> dict[str, Any]:
        """For metrics.json."""
        found: dict[str, Any] = {}
        looks = len(self.times)
        if self.ranks:
            found['observability'] = {
                'states': self.size,
                'least_rank': min(self.ranks),
                'largest_rank': max(self.ranks),
                'least_rank_with_constraints': min(self.constrained),
                'looks': looks,
                'not_seen': {name: count / looks for name, count in self.unseen.items()},
            }
        if self.corrected:
            found['poles'] = {
                'time': self.times,
                'largest_corrected': self.corrected,
                'largest_model_alone': self.alone,
            }
        return found

    def lines(self) -> list[str]:
        """For a terminal."""
        lines = []
        if self.ranks:
            low, high = min(self.ranks), max(self.ranks)
            rank = f'{low}' if low == high else f'{low} to {high}'
            if min(self.constrained) != low:
                rank += f' (with constraints of the model at least {min(self.constrained)})'
            lines.append(
                f'observability: rank {rank} of {self.size} states, {len(self.times)} looks'
            )
            if self.unseen:
                shown = ', '.join(name for name, _ in self.unseen.most_common())
                lines.append(f'now and then not told apart by the sensors: {shown}')
        if self.corrected:
            lines.append(
                f'largest pole: {self.corrected[-1]:.6f} corrected at the end '
                f'({max(self.corrected):.6f} at most), {self.alone[-1]:.6f} of the model alone'
            )
        return lines
