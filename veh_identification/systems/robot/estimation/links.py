"""Physically consistent parameters of every link, nearest to the URDF where data say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification import Factor
from veh_identification.identification.consistent import Body, ConsistentFit, consistent_fit
from veh_identification.identification.factor import triangular_factor
from veh_identification.multibody.inertia import (
    PARAMETERS_PER_BODY,
    centre_of_mass,
    consistency_violation,
)
from veh_identification.systems.robot.model import ArmModel
from veh_identification.types import Array

#: Weight of the URDF's values beside the data: it decides what the data leave open.
PRIOR_WEIGHT = 1e-4
#: A link keeps at least this share of its URDF values, so that none ends as a point.
KEPT_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class LinkFit:
    """Parameters (links, 10) of the moving links, and what consistency cost."""

    links: tuple[str, ...]
    parameters: Array
    unknowns: Array  # the estimate's unknowns that they amount to
    relative_cost: float
    active: tuple[str, ...]
    status: str

    def as_dict(self) -> dict[str, Array]:
        """Parameters by link."""
        return dict(zip(self.links, self.parameters, strict=True))


def moving_links(model: ArmModel) -> tuple[str, ...]:
    """Links with mass that some joint moves."""
    names = {column.body for column in model.base.columns if column.body}
    bodies = {model.tree.body_index(name) for name in names}
    return tuple(name for name in model.robot.massive if model.tree.frame(name).body in bodies)


def fit_links(model: ArmModel, factor: Factor, load_columns: Sequence[int]) -> LinkFit:
    """Solve the semidefinite program over links, drives, friction and loads."""
    links = moving_links(model)
    to_names, further = model.links_to_unknowns(links)
    loads = sum(load_columns)
    unknowns = to_names.shape[0] + loads
    count = to_names.shape[1] + loads
    mapping = np.zeros((unknowns, count))
    mapping[: to_names.shape[0], : to_names.shape[1]] = to_names
    mapping[to_names.shape[0] :, to_names.shape[1] :] = np.eye(loads)
    prior = np.zeros(count)
    bodies, std = [], np.ones(count)
    for k, name in enumerate(links):
        values = model.robot.parameters[name]
        place = slice(PARAMETERS_PER_BODY * k, PARAMETERS_PER_BODY * (k + 1))
        prior[place] = values
        body = _body(name, place, values)
        bodies.append(body)
        std[place] = body.scale()
    inertial = PARAMETERS_PER_BODY * len(links)
    lower = np.full(count, -np.inf)
    for k, name in enumerate(further):
        if name.rpartition('.')[2] in ('Ia', 'h', 'fs'):
            lower[inertial + k] = 0.0
        std[inertial + k] = 1e3
    start = inertial + len(further)
    for k, columns in enumerate(load_columns):
        place = slice(start, start + columns)
        start += columns
        body = Body(f'load {k + 1}', np.arange(place.start, place.stop), 2.0, 0.1)
        std[place] = 10.0
        if columns == PARAMETERS_PER_BODY:  # of a load that is known in part nothing is asked
            bodies.append(body)
            std[place] = 10.0 * body.scale()
    kept = np.zeros(count)
    for body, name in zip(bodies, links, strict=False):
        if not consistency_violation(model.robot.parameters[name]):
            kept[body.columns] = KEPT_SHARE * prior[body.columns]
    triangle = triangular_factor(np.column_stack([factor.R @ mapping, factor.z]))
    # As many rows as unknowns: those that the data do not fill are zero.
    square = Factor.from_triangle(triangle, factor.rows)
    shifted = Factor(square.R, square.z - square.R @ kept, square.rss + factor.rss, square.rows)
    fit = _fitted(shifted, bodies, prior - kept, std, lower)
    found = fit.value + kept
    values = mapping @ found
    cost = factor.cost(values) / max(factor.cost(factor_solution(factor)), 1e-300)
    return LinkFit(
        links,
        found[:inertial].reshape(-1, PARAMETERS_PER_BODY),
        values,
        float(cost),
        tuple(fit.active),
        fit.status,
    )


def _fitted(
    factor: Factor, bodies: list[Body], prior: Array, std: Array, lower: Array
) -> ConsistentFit:
    """With more weight of the URDF where the program has no solution in numbers otherwise."""
    for weight in (PRIOR_WEIGHT, 100.0 * PRIOR_WEIGHT):
        try:
            return consistent_fit(factor, bodies, prior, std, weight, lower=lower)
        except EstimationError:
            continue
    return consistent_fit(factor, bodies, prior, std, 1.0, lower=lower)


def factor_solution(factor: Factor) -> Array:
    """Least squares of the factor, also where it is weak."""
    norms = np.linalg.norm(factor.R, axis=0)
    norms[norms == 0.0] = 1.0
    found: Array = np.linalg.lstsq(factor.R / norms, factor.z, rcond=1e-12)[0] / norms
    return found


def _body(name: str, place: slice, values: Array) -> Body:
    mass, _, inertia = centre_of_mass(values)
    length = float(np.sqrt(max(np.trace(inertia) / (2.0 * mass), 1e-6)))
    return Body(name, np.arange(place.start, place.stop), float(mass), max(length, 0.01))
