"""How much a signal varies, whatever of it is known."""

from __future__ import annotations

import numpy as np

from veh_identification.types import Array


def spread(values: Array) -> float:
    """Standard deviation of the values that are known; 0 where none is."""
    known = values[np.isfinite(values)]
    return float(np.std(known)) if known.size else 0.0
