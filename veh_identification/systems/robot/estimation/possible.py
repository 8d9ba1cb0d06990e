"""Values that no arm has, and delays that are no matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.systems.robot.model import ArmModel
from veh_identification.types import Array

#: Longest delay that is no reason to look at the stamps, s.
SMALL_DELAY = 2e-4


def impossible_names(model: ArmModel, names: Sequence[str], value: Array, std: Array) -> list[str]:
    """Friction, drives and payloads below zero by more than two deviations."""
    base, made = model.base, []
    regrouped = {
        name
        for name, row in zip(base.names, base.full_to_base, strict=True)
        if (np.abs(row) > 1e-9).sum() > 1
    }
    for k, name in enumerate(names):
        kind = name.rpartition('.')[2]
        physical = kind in ('h', 'fs', 'Ia') and name not in regrouped
        physical = physical or (kind == 'M' and name.startswith('payload'))
        if physical and value[k] < -2.0 * std[k]:
            made.append(name)
    return made
