"""The identification problem of one robot over several recordings, for any cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError, SignalError
from veh_identification.identification import BlockSource, Prior
from veh_identification.multibody.base_parameters import (
    BaseParameters,
    structural_base_parameters,
)
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.prior import (
    LinkPrior,
    base_prior,
    link_prior,
    links_to_base,
)
from veh_identification.systems.humanoid.processing.equations import (
    Equations,
    Unknowns,
    as_source,
    common_sources,
    row_filter,
)
from veh_identification.systems.humanoid.processing.momentum import MomentumEquations
from veh_identification.systems.humanoid.processing.signals import (
    SIGNAL_CUTOFF,
    Raw,
    Samples,
    filtered,
    signal_filter,
)
from veh_identification.systems.humanoid.processing.supports import (
    Loads,
    Selection,
    judged,
    select,
)
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

JUDGING_CUTOFF = 6.0
# How much wider the filter of the signals is where rows come from momentum.
MOMENTUM_CUTOFF = 1.6
# Ends of stretches, which the filter spoils, are judged at higher cut-offs.
JUDGING_LADDER = (JUDGING_CUTOFF, 10.0, 16.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """Robot, model, base parameters, prior and the further unknowns."""

    robot: Robot
    model: TreeModel
    base: BaseParameters
    regressor: Regressor  # of the base parameters' columns
    prior: LinkPrior
    to_base: Array  # (base parameters, 10 links)
    unknowns: Unknowns
    configuration: Configuration

    @property
    def names(self) -> list[str]:
        """Base parameters, then further unknowns."""
        return [*self.base.names, *self.unknowns.names]

    @property
    def units(self) -> list[str]:
        """Units in the same order."""
        return [*self.regressor.columns.units, *self.unknowns.units]

    @property
    def a_priori(self) -> Array:
        """CAD values; further unknowns are zero."""
        return np.concatenate(
            [self.to_base @ self.prior.value, np.zeros(len(self.unknowns.names))]
        )

    @property
    def full_prior(self) -> Prior:
        """Prior of all unknowns."""
        weight = self.prior.load * float(self.prior.mass.sum()) * self.configuration.gravity
        return base_prior(self.prior, self.to_base, self.unknowns.covariance(weight))

    def about(self, load: float) -> Problem:
        """The CAD values scaled to a weight, and the scale of the motion told about them."""
        prior = replace(self.prior, load=load)
        unknowns = replace(
            self.unknowns,
            parameters=load * self.model.parameters,
            scaled=None if self.unknowns.scaled is None else self.to_base @ prior.centre,
        )
        return replace(self, prior=prior, unknowns=unknowns)

    @property
    def mass_weights(self) -> Array:
        """Weights (base parameters,) with which they add up to the total mass."""
        masses = np.array([float(column.parameter == 0) for column in self.base.columns])
        return np.asarray(np.linalg.lstsq(self.base.full_to_base.T, masses, rcond=None)[0])

    @property
    def size(self) -> float:
        """Distance from the base at which the mass lies, by the CAD values at rest [m]."""
        still, turns = np.zeros((3, 3)), np.eye(3)
        posture = np.zeros((3, self.model.dof))
        motion = floating_base_motion(posture, posture, posture, still, still, turns)
        wrenches = inverse_dynamics(self.model, motion)[:, :6]
        # Turned by 1 rad/s^2 about each axis, the moments are those of inertia.
        inertia = float(wrenches[0, 3] + wrenches[1, 4] + wrenches[2, 5])
        mass = float(self.model.parameters[:, 0].sum())
        return float(np.sqrt(max(inertia, 0.0) / (2.0 * mass)))

    def body_parameters(self, value: Array) -> Array:
        """Standard parameters (bodies, 10) that predict the same as base parameters do."""
        full = self.base.base_to_full @ value[: self.base.rank]
        result = np.zeros_like(self.model.parameters)
        for entry, number in zip(self.base.columns, full, strict=True):
            result[self.model.body_index(entry.body), entry.parameter] = number
        return result


@dataclass(frozen=True, eq=False)
class Prepared:
    """One recording filtered for a cut-off, with its usable samples."""

    raw: Raw
    samples: Samples
    selection: Selection
    equations: Equations


def make_problem(
    robot: Robot, model: TreeModel, configuration: Configuration, sources: Sequence[Raw]
) -> Problem:
    """Base parameters of the structure, CAD values and deviations."""
    if configuration.joint_errors:
        _refuse_joint_errors(sources)
    base = structural_base_parameters(Regressor(model, rows='base'))
    regressor = Regressor(model, rows='base', enabled=list(base.names))
    unknowns = Unknowns(
        common_sources([raw.sources for raw in sources]),
        configuration.wrench_offset == 'on',
        # Leg odometry knows the place on the plates only about.
        configuration.plate_pose or any(r.inertial is not None for r in sources),
        accelerometer=_accelerometer(sources),
        parameters=model.parameters,
        drifting=tuple(r.label for r in sources if r.inertial is not None),
        one_plate=configuration.estimator != 'prior',
        scaled=np.zeros(base.rank) if _may_scale(configuration, sources) else None,
    )
    made = Problem(
        robot,
        model,
        base,
        regressor,
        link_prior(robot, configuration.prior_percent, configuration.anthropometry),
        links_to_base(robot, model, base),
        unknowns,
        configuration,
    )
    return made.about(made.prior.load)


def _may_scale(configuration: Configuration, sources: Sequence[Raw]) -> bool:
    """Whether the scale of the motion can be told from the weight, which plates show."""
    by_capture = [raw for raw in sources if not raw.in_base and raw.inertial is None]
    plates = all(one.is_plate for raw in by_capture for one in raw.sources)
    prior = configuration.momentum and configuration.estimator == 'prior'
    return prior and bool(by_capture) and plates


def _refuse_joint_errors(sources: Sequence[Raw]) -> None:
    """Angles also say where sensors on the robot are, and legs where a robot without pose is."""
    for raw in sources:
        other = [one.topic for one in raw.sources if not one.is_plate]
        if other:
            raise EstimationError(
                f'{raw.label}: joint_errors needs all wrenches by force plates, but '
                f'{", ".join(other)} is on the robot'
            )
        if raw.in_base or raw.inertial is not None:
            raise EstimationError(
                f'{raw.label}: joint_errors needs the pose of the base link by motion capture, '
                'found an IMU'
            )


def _accelerometer(sources: Sequence[Raw]) -> Array | None:
    """Covariance of what is left of an accelerometer's bias, the mean of all recordings."""
    found = [raw.accelerometer for raw in sources if raw.accelerometer is not None]
    return np.mean(found, axis=0) if found else None


def judging_samples(problem: Problem, raw: Raw) -> Samples:
    """Signals below the cut-off at which loads are compared."""
    return filtered(raw, JUDGING_CUTOFF / SIGNAL_CUTOFF, problem.configuration.gravity)


def judged_loads(problem: Problem, raw: Raw, parameters: Array | None = None) -> Loads:
    """Loads, each sample at the lowest cut-off whose filter does not spoil it."""
    count = len(raw.stamps)
    measured, predicted, moments = np.zeros(count), np.zeros(count), np.zeros((count, 2))
    valid = np.zeros(count, dtype=bool)
    weight = 0.0
    for cutoff in JUDGING_LADDER:
        try:
            samples = filtered(raw, cutoff / SIGNAL_CUTOFF, problem.configuration.gravity)
        except SignalError:
            if cutoff == JUDGING_LADDER[-1] and not valid.any():
                raise
            continue
        new = samples.valid & ~valid
        if new.any():
            found = judged(samples, problem.model, parameters, problem.configuration.gravity)
            measured[new], predicted[new] = found.measured[new], found.predicted[new]
            moments[new] = found.moments[new]
            weight = found.weight
            valid |= new
    return Loads(measured, predicted, valid, moments, weight)


def choose_samples(problem: Problem, raw: Raw, parameters: Array | None = None) -> Selection:
    """Usable samples of one recording, judged at a cut-off where noise does not hide loads."""
    c = problem.configuration
    return select(
        raw,
        judged_loads(problem, raw, parameters),
        c.support_tolerance,
        support=c.exclude_support,
        impacts=c.exclude_impacts,
        identified=parameters is not None,
    )


def prepare(problem: Problem, raw: Raw, cutoff_hz: float, selection: Selection) -> Prepared:
    """Filter one recording and form the equations of its usable samples."""
    by_momentum = problem.configuration.momentum and not raw.in_base and raw.inertial is None
    # Nothing is differentiated twice then, and nothing filtered needs to stay near the cut-off.
    wide = MOMENTUM_CUTOFF if by_momentum else 1.0
    samples = filtered(raw, wide * cutoff_hz, problem.configuration.gravity)
    plates = None
    if problem.unknowns.pose:
        smooth: ZeroPhaseFilter = signal_filter(raw, cutoff_hz)
        plates = np.nan_to_num(smooth.apply(raw.wrenches, raw.valid)[0])
    low_pass = row_filter(raw.rate, cutoff_hz)
    given = (samples, selection.usable, problem.regressor, low_pass, problem.unknowns, plates)
    equations = (
        MomentumEquations(*given, np.nan_to_num(raw.world), problem.configuration.gravity)
        if by_momentum
        else Equations(*given)
    )
    return Prepared(raw, samples, selection, equations)


def source_of(prepared: Sequence[Prepared]) -> BlockSource:
    """Rows of all recordings."""
    return as_source([one.equations for one in prepared])
