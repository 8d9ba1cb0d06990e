"""Settings of the observer, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.errors import ParameterError
from veh_identification.observation.adaptive import AdaptiveSettings


@dataclass(frozen=True)
class ErrorEKFSettings:
    """Noise and options; scalars count for every observed coordinate.

    `acceleration_noise`: density of white acceleration noise [unit^2/s^3]. With
    `force_estimation` the state also holds acceleration errors, a random walk of density
    `force_noise` [unit^2/s^5]. `gate_probability` None switches gate, weights and judgement of
    the sensors off; `patience` [s]: see `trust`.
    """

    position_deviation: ArrayLike = 1.0
    velocity_deviation: ArrayLike = 1.0
    acceleration_noise: ArrayLike = 1.0
    force_estimation: bool = False
    acceleration_deviation: ArrayLike = 1.0
    force_noise: ArrayLike = 1.0
    gate_probability: float | None = None
    patience: float = 3.0
    adaptive: AdaptiveSettings | None = None

    def __post_init__(self) -> None:
        p = self.gate_probability
        if p is not None and not 0.0 < p < 1.0:
            raise ParameterError(f'gate_probability must lie between 0 and 1, found {p}')
        for name in (
            'position_deviation',
            'velocity_deviation',
            'acceleration_noise',
            'acceleration_deviation',
            'force_noise',
        ):
            values = np.asarray(getattr(self, name), dtype=float)
            if not np.all(np.isfinite(values)) or np.any(values < 0.0):
                raise ParameterError(f'{name} must be finite and not negative, found {values}')
