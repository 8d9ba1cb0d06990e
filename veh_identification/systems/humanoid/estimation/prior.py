"""What the CAD values are worth: deviations per link, carried over to the base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.identification import Prior
from veh_identification.multibody.base_parameters import BaseParameters
from veh_identification.multibody.inertia import PARAMETERS_PER_BODY, centre_of_mass
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.estimation.anthropometry import DEVIATION, scales
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

SMALLEST_LENGTH = 0.01


@dataclass(frozen=True, eq=False)
class LinkPrior:
    """CAD values of all links with mass, how far they may be off, and typical sizes."""

    links: tuple[str, ...]
    value: Array  # (10 links,)
    std: Array
    mass: Array  # (links,)
    length: Array  # (links,)
    load: float = 1.0  # measured weight over that of the CAD values

    @property
    def centre(self) -> Array:
        """CAD values scaled to the measured weight: the estimate starts from these."""
        return self.load * self.value

    @property
    def deviations(self) -> Array:
        """How far the scaled values may be off."""
        return self.load * self.std


def link_prior(robot: Robot, percent: float, anthropometry: str = 'none') -> LinkPrior:
    """Each parameter may be off by `percent` of its natural size: m, m l, m l^2.

    With a table of people's segments masses are those of the table, and may be off by less; where
    the mass of a link lies within it, the URDF says.
    """
    links = robot.massive
    values = np.array([robot.parameters[name] for name in links])
    by_table = anthropometry != 'none'
    if by_table:
        values = values * scales(robot, anthropometry)[:, None]
    lengths = np.array([typical_length(one) for one in values])
    std = np.empty_like(values)
    for k in range(len(links)):
        m, length = values[k, 0], lengths[k]
        std[k] = 0.01 * percent * np.array([m, *([m * length] * 3), *([m * length**2] * 6)])
        if by_table:
            std[k, 0] = min(std[k, 0], DEVIATION * m)
    return LinkPrior(links, values.ravel(), std.ravel(), values[:, 0], lengths)


def typical_length(parameters: Array) -> float:
    """Distance from the joint at which the link's mass lies, centre and spread together."""
    mass, centre, inertia = centre_of_mass(parameters)
    spread = max(float(np.trace(inertia)), 0.0) / (2.0 * float(mass))
    return max(float(np.sqrt(spread + centre @ centre)), SMALLEST_LENGTH)


def links_to_base(
    robot: Robot, model: TreeModel, base: BaseParameters, links: Sequence[str] | None = None
) -> Array:
    """Matrix (base parameters, 10 links) from the links' standard parameters.

    Without `links` those of the robot that have mass.
    """
    to_bodies = robot.standard(model, links)
    rows = [
        PARAMETERS_PER_BODY * model.body_index(column.body) + column.parameter
        for column in base.columns
    ]
    return base.full_to_base @ to_bodies[rows]


def base_prior(prior: LinkPrior, to_base: Array, further: Array) -> Prior:
    """Prior of the base parameters, and zero with the given covariance for further unknowns."""
    count = len(to_base)
    covariance = np.zeros((count + len(further), count + len(further)))
    covariance[:count, :count] = (to_base * prior.deviations**2) @ to_base.T
    covariance[count:, count:] = further
    return Prior(np.concatenate([to_base @ prior.centre, np.zeros(len(further))]), covariance)
