"""Base parameters of floating trees in closed form: the recursion of Ayusawa 2008, appendix A.

Written for joint axes of any direction. A revolute joint with the axis n cannot tell whether
three kinds of inertia belong to the body or to its parent: a point mass at the joint's origin, a
first moment along n, and the inertia 1 - n n^T (for n = z: M, MSz and the same share of Jxx and
Jyy; equations 11 to 15). They are moved to the parent, which leaves 7 parameters. What moves is
taken off the body too: Jxx becomes Jxx - Jyy for n = z, which the printed (17) leaves out. A
prismatic joint does not turn the body, so its whole inertia matrix moves to the parent (Khalil's
rule) and mass and first moments stay. On a tree the sum goes over all children.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import ModelError
from veh_identification.multibody.base_parameters import BaseParameters
from veh_identification.multibody.columns import describe
from veh_identification.multibody.inertia import (
    PARAMETERS_PER_BODY,
    from_mass_moments,
    transport_matrix,
)
from veh_identification.multibody.tree import PRISMATIC, REVOLUTE, TreeModel
from veh_identification.types import Array

_DIAGONAL = np.array([4, 7, 9])


def closed_form_base_parameters(model: TreeModel) -> BaseParameters:
    """Base parameters of a floating tree over the columns of ALL its bodies (virtual ones too)."""
    _check(model)
    bodies, total = model.bodies, model.bodies * PARAMETERS_PER_BODY
    # Row block j: the grouped parameters of body j as combinations of all standard ones.
    grouped = np.eye(total).reshape(bodies, PARAMETERS_PER_BODY, total)
    kept = np.ones((bodies, PARAMETERS_PER_BODY), dtype=bool)
    for j in range(bodies - 1, 0, -1):
        directions, solved = movable(int(model.joint_type[j]), model.axis[j])
        share = np.linalg.solve(directions[solved], grouped[j, solved])
        to_parent = transport_matrix(model.rotation[j], model.translation[j])
        grouped[model.parent[j]] += to_parent @ directions @ share
        grouped[j] -= directions @ share
        kept[j, solved] = False
    base = np.flatnonzero(kept.ravel())
    full_to_base = grouped.reshape(total, total)[base]
    return BaseParameters(
        columns=describe(model, model.body_names, ()),
        base=base,
        full_to_base=full_to_base,
        no_effect=np.flatnonzero(~np.any(full_to_base, axis=0)),
        spectrum=np.zeros(0),
        tolerance=0.0,
        gap=np.inf,
    )


def movable(joint_type: int, axis: Array) -> tuple[Array, NDArray[np.int64]]:
    """Inertia (10, k) that the joint lets pass to the parent, and the entries it removes."""
    if joint_type == REVOLUTE:
        round_about = np.eye(3) - np.outer(axis, axis)
        directions = np.stack(
            [
                from_mass_moments(1.0, np.zeros(3), np.zeros((3, 3))),
                from_mass_moments(0.0, axis, np.zeros((3, 3))),
                from_mass_moments(0.0, np.zeros(3), round_about),
            ],
            axis=1,
        )
        moment = 1 + int(np.argmax(np.abs(axis)))
        # The last of equal entries, so that n = z removes Jyy as in Ayusawa 2008.
        entry = 2 - int(np.argmax(np.diag(round_about)[::-1]))
        return directions, np.array([0, moment, _DIAGONAL[entry]])
    if joint_type == PRISMATIC:
        solved = np.arange(4, PARAMETERS_PER_BODY)
        return np.eye(PARAMETERS_PER_BODY)[:, solved], solved
    return np.eye(PARAMETERS_PER_BODY), np.arange(PARAMETERS_PER_BODY)


def _check(model: TreeModel) -> None:
    if not model.floating:
        raise ModelError(
            f'model {model.name}: the closed form holds for a floating base; use '
            'the numeric base parameters for a fixed one'
        )
    moving = model.coordinate[model.coordinate >= 0]
    if np.unique(moving).size < moving.size:
        raise ModelError(
            f'model {model.name}: two joints follow one coordinate, for which the '
            'closed form does not hold; use the numeric base parameters'
        )
