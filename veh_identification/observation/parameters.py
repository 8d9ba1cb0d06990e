"""How the extra error states of sensors move: random walks and Gauss-Markov processes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.observation.protocols import Parameter
from veh_identification.types import Array


class ParameterProcess:
    """Transition and noise of all parameters of a filter, in the order of its sensors."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        for p in parameters:
            if not p.correlation_time > 0.0:
                raise ParameterError(
                    f'parameter {p.name!r}: its correlation time must be '
                    f'positive, found {p.correlation_time}'
                )
        self._walk = np.array([p.walk for p in parameters], dtype=float)
        self.variance = np.array([p.deviation**2 for p in parameters], dtype=float)
        self.initial = np.array([p.initial for p in parameters], dtype=float)
        self._rate = np.array([1.0 / p.correlation_time for p in parameters], dtype=float)
        self._returning = self._rate > 0.0
        self._any = bool(self._returning.any())
        bounds = np.array([p.bounds for p in parameters], dtype=float).reshape(-1, 2)
        self.bounds = np.ascontiguousarray(bounds.T)
        self._bounded = bool(np.isfinite(self.bounds).any())
        self._kept = (0.0, np.ones(len(parameters)))

    def confine(self, values: Array) -> None:
        """Take values that left their bounds back to them."""
        if self._bounded:
            np.maximum(values, self.bounds[0], out=values)
            np.minimum(values, self.bounds[1], out=values)

    def fill(self, dt: float, F: Array, W: Array) -> None:
        """Write their blocks of the transition and of the plant noise for a step of dt."""
        keep = np.exp(-self._rate * dt)
        noise = np.where(self._returning, self.variance * (1.0 - keep**2), self._walk * dt)
        F[:], W[:] = np.diag(keep), np.diag(noise)

    def kept(self, dt: float) -> Array:
        """What is left of the distance to the initial values after a step of dt."""
        if self._kept[0] != dt:
            self._kept = dt, np.exp(-self._rate * dt)
        return self._kept[1]

    def decay(self, dt: float, values: Array) -> None:
        """Let Gauss-Markov parameters return towards their initial values."""
        if self._any:
            values[:] = self.initial + self.kept(dt) * (values - self.initial)
