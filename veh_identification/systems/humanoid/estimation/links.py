"""Physically consistent standard parameters of every URDF link, nearest to the CAD values.

The semidefinite program works on the links of the file, merged or not: the data see combinations
of them, the prior decides the rest, and every link stays a body that can exist. A tenth of its
a-priori mass stays where it was, so that no link of a person ends as a point mass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification import Factor
from veh_identification.identification.consistent import Body, ConsistentFit, consistent_fit
from veh_identification.multibody.inertia import PARAMETERS_PER_BODY, consistency_violation
from veh_identification.systems.humanoid.estimation.estimate import Estimate
from veh_identification.systems.humanoid.estimation.kept_axes import Kept, kept_equations
from veh_identification.systems.humanoid.estimation.problem import Problem
from veh_identification.types import Array

SMALLEST_SHARE = 0.1  # of the a-priori pseudo-inertia, which every link keeps
TRIES = 5  # of the program, with ever more weight on what it shall keep to


@dataclass(frozen=True, eq=False)
class LinkFit:
    """Parameters (links, 10) of the links with mass, and what consistency cost."""

    links: tuple[str, ...]
    parameters: Array
    base_value: Array  # base parameters that they amount to, then further unknowns
    relative_cost: float
    active: tuple[str, ...]  # links on the border of what can exist
    status: str
    kept: tuple[str, ...] = ()  # equations that are predicted as by the URDF as given

    def as_dict(self) -> dict[str, Array]:
        """Parameters by link."""
        return dict(zip(self.links, self.parameters, strict=True))


def fit_links(estimate: Estimate) -> LinkFit:
    """Solve the semidefinite program with the total mass held at its estimate."""
    problem, prior = estimate.problem, estimate.problem.prior
    count, evidence = PARAMETERS_PER_BODY * len(prior.links), estimate.evidence
    mass, mass_std = estimate.total_mass
    sharp = max(0.01 * mass_std, 1e-6 * mass)
    whole = np.zeros(len(problem.names))
    whole[: problem.base.rank] = problem.mass_weights / sharp
    kept = kept_equations(estimate, (whole, mass / sharp))
    spread = evidence.inflation * kept.repeated
    factor = _held_mass(evidence.factor, spread, _to_unknowns(problem), count, (mass, sharp))
    fit, found, kept = _kept_fit(estimate, kept, factor)
    links = found[:count].reshape(-1, PARAMETERS_PER_BODY)
    # The solver meets the total mass to its tolerance; scaling whole links keeps them consistent.
    links = links * (mass / links[:, 0].sum())
    for name, values in zip(prior.links, links, strict=True):
        reason = consistency_violation(values)
        if reason:
            raise EstimationError(f'link {name}: the consistent fit failed, {reason}')
    base = np.concatenate([problem.to_base @ links.ravel(), found[count:]])
    cost = evidence.factor.cost(base) / evidence.factor.cost(estimate.value)
    return LinkFit(
        prior.links, links, base, float(cost), tuple(fit.active), fit.status, kept.names
    )


def _to_unknowns(problem: Problem) -> Array:
    """From parameters of links and further unknowns to base parameters and further unknowns."""
    further, rank = len(problem.unknowns.names), problem.base.rank
    count = problem.to_base.shape[1]
    found = np.zeros((rank + further, count + further))
    found[:rank, :count] = problem.to_base
    found[rank:, count:] = np.eye(further)
    return found


def _kept_fit(estimate: Estimate, kept: Kept, factor: Factor) -> tuple[ConsistentFit, Array, Kept]:
    """The consistent fit, its unknowns, and what it kept to: consistency moves it, too."""
    problem, prior, evidence = estimate.problem, estimate.problem.prior, estimate.evidence
    further = len(problem.unknowns.names)
    std = np.concatenate(
        [
            evidence.scale * prior.deviations,
            np.sqrt(np.diag(evidence.prior.covariance)[problem.base.rank :]),
        ]
    )
    bodies = [
        Body(
            name,
            np.arange(PARAMETERS_PER_BODY * k, PARAMETERS_PER_BODY * (k + 1)),
            prior.load * float(prior.mass[k]),
            float(prior.length[k]),
        )
        for k, name in enumerate(prior.links)
    ]
    centre = np.concatenate([prior.centre, np.zeros(further)])
    least = SMALLEST_SHARE * centre
    for body, values in zip(bodies, prior.centre.reshape(-1, PARAMETERS_PER_BODY), strict=True):
        if consistency_violation(values):  # a link that cannot exist has nothing to keep
            least[body.columns] = 0.0
    to_unknowns = _to_unknowns(problem)
    for left in reversed(range(TRIES)):
        rows, right = kept.rows
        held = factor.extended(rows @ to_unknowns, right)
        above = replace(held, z=held.z - held.R @ least)
        fit = consistent_fit(above, bodies, centre - least, std)
        found = fit.value + least
        tighter = kept.tightened(to_unknowns @ found)
        if tighter is None or not left:
            break
        kept = tighter
    return fit, found, kept


def _held_mass(
    data: Factor, inflation: float, to_unknowns: Array, count: int, held: tuple[float, float]
) -> Factor:
    """The data's rows over the links' parameters, and one row that holds the total mass."""
    mass, sharp = held
    spread = np.sqrt(inflation)
    R, z = data.R @ to_unknowns / spread, data.z / spread
    row = np.zeros((1, R.shape[1]))
    row[0, 0:count:PARAMETERS_PER_BODY] = 1.0 / sharp
    stacked = np.zeros((R.shape[1], R.shape[1]))
    stacked[: len(R)] = R
    right = np.zeros(R.shape[1])
    right[: len(z)] = z
    if len(R) > R.shape[1]:  # more base parameters than link parameters cannot be
        raise EstimationError('the links have fewer parameters than the base parameters need')
    return Factor(stacked, right, data.rss / spread**2, data.rows).extended(
        row, np.array([mass / sharp])
    )
