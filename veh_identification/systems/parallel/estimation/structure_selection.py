"""How much passive-joint friction the data can tell apart (Abdellatif 2009, section 2, (11))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification.gauss_markov import whitening
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.model import PASSIVE, HexapodModel, Structure
from veh_identification.systems.parallel.processing import measured_pose
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: How far cond(rho) may rise above that of the simplest model. The rigid-body parameters alone
#: give it a level that depends on the robot and its excitation, so the rise is what tells.
CORRELATION_RISE = 2.0


@dataclass(frozen=True)
class Candidate:
    """One structure, judged on a recording."""

    structure: Structure
    parameters: int
    correlation_condition: float  # upsilon = cond(rho), (11)
    residual_variance: float  # of the mean forces, mean over the legs
    chi_square: float  # of the mean forces, weighted by their covariance
    insignificant: int  # passive friction parameters below two deviations

    def information(self, inflation: float = 1.0) -> float:
        """Akaike's criterion: misfit plus twice the number of parameters.

        `inflation` is how many times more of the misfit a needless parameter takes up than white
        noise of the known size would give it.
        """
        return self.chi_square / inflation + 2.0 * self.parameters


def best_structure(
    robot: Hexapod,
    equations_of: Callable[[HexapodModel], Equations],
    covariance: Array,
    structure: Structure | None = None,
    rise: float = CORRELATION_RISE,
) -> tuple[Structure, list[Candidate]]:
    """The passive friction model to use, and all that were tried.

    `covariance` is that of one raw sample of the forces. Candidates must keep cond(rho) within
    `rise` of the lowest and have no insignificant parameter; of those the one with the best
    Akaike criterion wins.
    """
    start = structure or Structure()
    model = HexapodModel(robot, start)
    colour, misfit = _inflation(model, equations_of(model), covariance)
    candidates = []
    for passive in PASSIVE:
        model = HexapodModel(robot, replace(start, passive=passive))
        candidates.append(_judge(model, equations_of(model), covariance, colour))
    lowest = min(c.correlation_condition for c in candidates)
    usable = [
        c for c in candidates if c.correlation_condition <= rise * lowest and not c.insignificant
    ]
    if not usable:
        return start, candidates
    return min(usable, key=lambda c: c.information(colour * misfit)).structure, candidates


def select_structure(
    robot: Hexapod,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    structure: Structure | None = None,
) -> tuple[Structure, list[Candidate]]:
    """The same by mean periods whose motion ends with a harmonic."""
    poses = [measured_pose(robot, record) for record in records]

    def equations_of(model: HexapodModel) -> Equations:
        return equations(model, records, harmonics, poses=poses)

    return best_structure(robot, equations_of, pooled_force_covariance(records), structure)


def _inflation(model: HexapodModel, system: Equations, covariance: Array) -> tuple[float, float]:
    """Variance of parameters over that of white noise: by the noise's colour, by the misfit."""
    try:
        white = gauss_markov(model, system, covariance, noise='white')
        honest = gauss_markov(model, system, covariance)
    except EstimationError:  # the motion does not determine this structure at all
        return 1.0, 1.0
    rows = sum(int((count > 0.0).sum()) for count in system.counts)
    freedom = max(len(LEGS) * rows - len(model.names), 1)
    misfit = system.chi_square(white.value, whitening(covariance, LEGS)) / freedom
    colour = float(np.median(np.square(honest.std / white.std)))
    return max(colour, 1.0), max(misfit, 1.0)


def _judge(model: HexapodModel, system: Equations, covariance: Array, colour: float) -> Candidate:
    count = len(model.names)
    try:
        result = gauss_markov(model, system, covariance, noise='white')
    except EstimationError:  # the motion does not determine this structure at all
        return Candidate(model.structure, count, np.inf, np.nan, np.inf, 0)
    told = np.abs(result.value) / (np.sqrt(colour) * result.std)
    deviation = dict(zip(result.names, told, strict=True))
    weak = sum(deviation[name] < 2.0 for name in model.structure.passive_names())
    white = whitening(covariance, LEGS)
    chi_square = system.chi_square(result.value, white)
    return Candidate(
        model.structure,
        count,
        result.correlation_condition,
        float(np.square(result.residual_rms).mean()),
        chi_square,
        int(weak),
    )
