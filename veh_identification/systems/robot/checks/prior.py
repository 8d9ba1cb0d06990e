"""What the URDF says of the bodies, and how far it may be off."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.robot.model import ArmModel
from veh_identification.types import Array


def urdf_values(model: ArmModel) -> tuple[Array, Array]:
    """Of each column of the regressor: its value and the size of its doubt; 0: nothing is known.

    A parameter may be off by as much as such bodies have of it.
    """
    columns = model.regressor.columns
    known, size = np.zeros(len(columns)), np.zeros(len(columns))
    for k, column in enumerate(columns):
        if not column.body:
            continue
        body = model.tree.parameters[model.tree.body_index(column.body)]
        mass, moment = max(body[0], 0.1), max(0.5 * float(body[[4, 7, 9]].sum()), 1e-3)
        known[k] = body[column.parameter]
        arm = np.sqrt(moment / mass)
        size[k] = mass if column.parameter == 0 else mass * arm
        if column.parameter > 3:
            size[k] = moment
    return known, size
