"""A measured quantity over time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veh_identification.types import Array

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Series:
    """Times [s] since the start of the recording and one row of values each."""

    time: Array = field(default_factory=lambda: NOTHING)
    value: Array = field(default_factory=lambda: np.zeros((0, 0)))
    variance: Array | None = None

    def __len__(self) -> int:
        return int(self.time.size)
