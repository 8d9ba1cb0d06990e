"""Equation (4) of a humanoid for live use: rows, solver, total mass and centre of mass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification import ArrayBlocks, Information, Prior
from veh_identification.identification.accumulator import accumulate
from veh_identification.identification.gram import accumulate_fast
from veh_identification.identification.live import Solution
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import BASE_ROWS, skew
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.cutoff import FEWEST_SAMPLES
from veh_identification.systems.humanoid.estimation.noise_and_trust import weigh
from veh_identification.systems.humanoid.estimation.offsets import well_placed, with_held
from veh_identification.systems.humanoid.estimation.prior import base_prior
from veh_identification.systems.humanoid.estimation.problem import Problem, make_problem
from veh_identification.systems.humanoid.live.states import BASE
from veh_identification.systems.humanoid.live.tare import Tare
from veh_identification.systems.humanoid.processing.doubts import Doubt
from veh_identification.systems.humanoid.processing.equations import (
    CORRELATION,
    HELD,
    MOTION_SCALE,
    SCALE,
)
from veh_identification.systems.humanoid.processing.momentum import Balance, balance, to_world
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

#: Fewer rows say nothing about their own noise.
FEWEST_ROWS = FEWEST_SAMPLES
#: A parameter counts as excited when the data reduce its a-priori deviation to this share.
EXCITED_SHARE = 0.5
#: Smallest eigenvalue, columns scaled, that the correction for noise must leave.
SMALLEST_SHARE = 1e-12
#: Bounds of the factor on how large offsets may be, which the estimate itself shows.
OFFSET_SCALES = (0.5, 3.0)
#: The same for the weight of the robot over that of its CAD values.
LOADS = (0.2, 5.0)


class ContactModel:
    """Unknowns: base parameters, then the offsets of plates (one constant wrench in world axes at
    `centre`) and of each sensor on a link (in its own frame), then, where plates carry
    everything, the scale of the motion.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[str],
        locked: Mapping[str, float],
        link_frames: Sequence[str],
        plates: bool,
        offset: float,
        configuration: Configuration,
        centre: Array,
        lever: float,
    ) -> None:
        """`offset` [N]: how large the offsets of forces may be (0: there are none), `lever` [m]:
        those of moments over it.
        """
        self.robot, self.locked = robot, dict(locked)
        self.centre, self.lever = centre, lever
        self.left_aside: dict[str, int] = {}  # equations with too few rows, and how many
        model = robot.model(self.locked)
        self.problem: Problem = make_problem(robot, model, configuration, [])
        self._order = [list(joints).index(name) for name in model.coordinate_names]
        self._joints = len(joints)
        self.frames = list(link_frames)
        self.plates, self.offsets = plates, offset > 0.0
        labels = (['plates'] if plates else []) + self.frames
        extra = [f'{label}.offset.{row}' for label in labels for row in BASE_ROWS]
        self.scales = plates and not self.frames
        self.names = [
            *self.problem.names,
            *(extra if self.offsets else []),
            *([MOTION_SCALE] if self.scales else []),
        ]
        self.units = [
            *self.problem.units,
            *((['N'] * 3 + ['N m'] * 3) * len(labels) if self.offsets else []),
            *(['-'] if self.scales else []),
        ]
        size = [offset] * 3 + [lever * offset] * 3
        sizes = size * len(labels) if self.offsets else []
        further = np.array([*sizes, *([SCALE] if self.scales else [])])
        self._offset_columns = slice(self.problem.base.rank, self.problem.base.rank + len(sizes))
        self.prior: Prior = base_prior(
            self.problem.prior, self.problem.to_base, np.diag(further**2)
        )
        self.offset_scale = self.load = 1.0
        self.tare: Tare | None = None
        self.doubt: Doubt | None = None  # about joints or links: deviations allow for it
        self.watched = self._load_columns()
        self.mass_weights = self.mass_and_moments(np.zeros(self._joints))[0]

    def _load_columns(self) -> list[int]:
        """Mass and first moments of the base link: what a load changes."""
        root = self.problem.model.body_names[0]
        wanted = [f'{root}.{entry}' for entry in ('M', 'MSx', 'MSy', 'MSz')]
        return [self.names.index(name) for name in wanted]

    # Rows ---------------------------------------------------------------------------------------

    def motion(self, values: Array) -> Motion:
        """Motion of states (n, width)."""
        count = self._joints
        q, qd, qdd = (
            values[:, BASE + k * count : BASE + (k + 1) * count][:, self._order] for k in range(3)
        )
        return floating_base_motion(
            q, qd, qdd, values[:, 0:3] - values[:, 9:12], values[:, 3:6], values[:, 6:9]
        )

    def rows(self, values: Array) -> tuple[Array, Array]:
        """W (n, 6, unknowns) and Y (n, 6) by accelerations."""
        motion = self.motion(values)
        W = self.problem.regressor.compute(motion)
        further, Y = self._measured(values, motion)
        none = np.zeros((len(W), 6, int(self.scales)))  # only momentum tells it
        return np.concatenate([W, further, none], axis=2), Y

    def balance(self, values: Array) -> Balance:
        """The balance of momentum of states with a pose."""
        motion = self.motion(values)
        further, Y = self._measured(values, motion)
        rotation = rotation_matrix(values[:, 15:19])
        arm = values[:, 12:15] - self.centre
        wrench = to_world(Y[:, :, None], rotation, arm)[:, :, 0]
        gravity = self.problem.configuration.gravity
        return balance(
            self.problem.regressor,
            motion,
            values[:, 25:28],
            rotation,
            arm,
            wrench,
            gravity,
            further,
            self.a_priori[: self.problem.base.rank] if self.scales else None,
        )

    def _measured(self, values: Array, motion: Motion) -> tuple[Array, Array]:
        """Columns (n, 6, offsets) of the sensors and the sum of their wrenches at the base."""
        Y = values[:, 19:25].copy()
        columns = [np.zeros((len(Y), 6, 0))]
        if self.plates and self.offsets:
            columns.append(self._plate_columns(values))
        for k, frame in enumerate(self.frames):
            K = self._link_columns(motion, frame)
            start = BASE + 3 * self._joints + 6 * k
            Y += np.einsum('nij,nj->ni', K, values[:, start : start + 6])
            if self.offsets:
                columns.append(K)
        return np.concatenate(columns, axis=2), Y

    def loads(self, values: Array, value: Array) -> Array:
        """Vertical loads (n, 2) as measured and as unknowns `value` predict."""
        motion = self.motion(values)
        _, Y = self._measured(values, motion)
        up = -values[:, 9:12] / np.linalg.norm(values[:, 9:12], axis=1)[:, None]
        parameters = self.problem.body_parameters(value)
        predicted = inverse_dynamics(self.problem.model, motion, parameters)
        sides = np.stack([Y[:, :3], predicted[:, :3]], axis=1)
        return np.einsum('nsi,ni->ns', sides, up)

    def rise(self, samples: Balance) -> Array:
        """Velocity (n,) of the centre of mass along the vertical, by the a-priori values."""
        count = self.problem.base.rank
        value = self.a_priori[:count]
        momentum = samples.momentum[:, 2, :count]
        return np.asarray(momentum @ value / (self.mass_weights[:count] @ value))

    def impulse_row(self) -> Array | None:
        """What the impulses show as mass: of all links, and the vertical offset of plates."""
        if not self.plates or self.frames:
            return None
        row = self.mass_weights.copy()
        if self.offsets:
            row[self.names.index('plates.offset.FZ')] = 1.0 / self.problem.configuration.gravity
        return row

    def _plate_columns(self, values: Array) -> Array:
        rotation = np.swapaxes(rotation_matrix(values[:, 15:19]), -1, -2)
        arm = np.einsum('nij,nj->ni', rotation, self.centre - values[:, 12:15])
        return _wrench_matrix(rotation, arm)

    def _link_columns(self, motion: Motion, name: str) -> Array:
        frame = self.problem.model.frame(name)
        bodies = body_motion(self.problem.model, motion)
        R = bodies.orientation[:, frame.body] @ frame.rotation
        arm = (
            bodies.position[:, frame.body] + bodies.orientation[:, frame.body] @ frame.translation
        )
        return _wrench_matrix(R, arm)

    # Estimate -----------------------------------------------------------------------------------

    def solve(self, information: Information) -> Solution:
        """Noise, trust in the CAD values and estimate, as the offline identification does."""
        if information.samples < FEWEST_ROWS:
            raise EstimationError(f'{information.samples} rows so far, {FEWEST_ROWS} are needed')
        rank = self.problem.base.rank
        few = information.counts < FEWEST_ROWS
        self.left_aside = {
            name: int(count)
            for name, count, one in zip(BASE_ROWS, information.counts, few, strict=True)
            if one
        }
        if few.any():
            kept = np.where(few[:, None, None], 0.0, information.factors)
            information = replace(information, factors=kept, _fits={})
        prior = self._scaled_prior()
        found = weigh(information, prior, rank, CORRELATION)
        held = self._vertical_offset(found.sigma)
        if held is not None:
            found = weigh(information, _held(prior, held), rank, CORRELATION, found.sigma)
        data, (rows, right) = found.factor, found.prior.rows()
        measured = data.R.T @ data.R / CORRELATION
        noise = self._acceleration_noise(found.value, information.samples) / CORRELATION
        covariance, condition = _inverse(measured + rows.T @ rows, noise)
        value = covariance @ (data.R.T @ data.z / CORRELATION + rows.T @ right)
        before = np.sqrt(np.diag(found.prior.covariance))
        self._learn(value, covariance)
        excited = np.sqrt(np.diag(covariance)) < EXCITED_SHARE * before
        if held is not None:
            size = self.prior.covariance[held, held]
            covariance = with_held(covariance, measured[:, held], held, size)
        sigma = np.where(few, np.inf, found.sigma)  # nothing is known of their noise
        if self.doubt is not None:
            normal = self.doubt.normal(sigma, information.samples) / CORRELATION
            bias = covariance[:, :rank] @ normal
            covariance = covariance + np.outer(bias, bias)
        return Solution(value, covariance, sigma, excited, condition)

    def _vertical_offset(self, sigma: Array) -> int | None:
        """The column of the vertical offset of plates, where it cannot be told from the weight."""
        known = self.tare is not None and self.tare.std is not None
        if not (self.plates and self.offsets) or known:
            return None
        weight = self.load * float(self.mass_weights @ self.prior.value)
        placed = well_placed(sigma, weight * self.problem.configuration.gravity)
        return None if placed else self.names.index('plates.offset.FZ')

    def _scaled_prior(self) -> Prior:
        """The CAD values scaled to the weight, and offsets as large as they turned out to be."""
        rank, covariance = self.problem.base.rank, self.prior.covariance.copy()
        covariance[:rank, :rank] *= self.load**2
        covariance[self._offset_columns, self._offset_columns] *= self.offset_scale**2
        value = self.prior.value.copy()
        value[:rank] *= self.load
        if self.tare is not None and self.plates and self.offsets:
            plates = slice(rank, rank + 6)
            value[plates] = self.tare.value
            if self.tare.std is not None:
                covariance[plates, plates] = np.diag(self.tare.std**2)
        return Prior(value, covariance)

    def _learn(self, value: Array, covariance: Array) -> None:
        """One step to the weight and to the most likely size of all offsets, for the next time.

        Horizontal offsets show well. Without them a motion that hardly accelerates the robot
        leaves its weight and the vertical offset to be told apart by noise.
        """
        mass, offsets = self.mass_weights, self._offset_columns
        self.load = float(np.clip(mass @ value / (mass @ self.prior.value), *LOADS))
        # What was read off while plates were empty is known already.
        learnt = slice(offsets.start + 6 * (self.tare is not None), offsets.stop)
        if learnt.start >= learnt.stop:
            return
        second = np.square(value[learnt]) + np.diag(covariance)[learnt]
        share = np.mean(second / np.diag(self.prior.covariance)[learnt])
        self.offset_scale = float(np.clip(np.sqrt(share), *OFFSET_SCALES))

    def warm_up(self, width: int) -> None:
        """Compile and load everything that the first rows would have to wait for."""
        values = np.random.default_rng(0).normal(size=(2 * FEWEST_ROWS, width))
        values[:, 15:19] = (0.0, 0.0, 0.0, 1.0)
        rows = ArrayBlocks(*self.rows(values))
        self.solve(accumulate(rows))
        self.offset_scale = self.load = 1.0
        self.balance(values)
        self.loads(values, self.a_priori)
        # What the checks use: where the soles are, and sums of rows.
        body_motion(self.problem.model, self.motion(values))
        accumulate_fast(rows)

    def _acceleration_noise(self, value: Array, samples: int) -> Array:
        """What noise of the base's acceleration adds to the weighted W'W of the forces.

        Noise in W shrinks the mass wherever an offset can take its place. The force residuals are
        mostly such noise (M times that of the acceleration), so that its variance over sigma_j^2
        is 1 / M^2 for each of the three forces, and the column that it fills is that of M.
        """
        mass = self.mass_weights
        total = max(float(mass @ value), 1e-9)
        return np.asarray(3.0 * samples / total**2 * np.outer(mass, mass))

    def mass_and_moments(self, q: Array) -> Array:
        """Rows (4, unknowns): total mass, and first moments at the base origin for a posture."""
        dof, still = self.problem.model.dof, np.zeros((3, 3))
        posture = np.broadcast_to(q[self._order], (3, dof))
        rest = np.zeros((3, dof))
        # Under the specific force e the force is M e and the moment MS x e.
        motion = floating_base_motion(posture, rest, rest, np.eye(3), still, still)
        W = self.problem.regressor.compute(motion)
        rows = np.stack([W[0, 0], W[1, 5], W[2, 3], W[0, 4]])
        return np.hstack([rows, np.zeros((4, len(self.names) - rows.shape[1]))])

    @property
    def a_priori(self) -> Array:
        """CAD values."""
        return self.prior.value


def _held(prior: Prior, column: int) -> Prior:
    """The prior with one unknown held where it is."""
    scale = np.ones(len(prior.value))
    scale[column] = HELD
    return Prior(prior.value, prior.covariance * np.outer(scale, scale))


def _inverse(information: Array, noise: Array) -> tuple[Array, float]:
    """Covariance and condition number; noise in the regressor is taken off where more is left."""
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh((information - noise) / np.outer(scale, scale))
    if values[0] < SMALLEST_SHARE:  # noise rules: do not take off more than is there
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        values = np.maximum(values, np.finfo(float).eps)
    covariance = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return covariance, float(np.sqrt(values[-1] / values[0]))


def _wrench_matrix(rotation: Array, arm: Array) -> Array:
    """K (n, 6, 6) from a wrench in a frame to the base origin and axes."""
    K = np.zeros((len(rotation), 6, 6))
    K[:, :3, :3] = K[:, 3:, 3:] = rotation
    K[:, 3:, :3] = skew(arm) @ rotation
    return K


def live_configuration(
    gravity: float, prior_percent: float, weighed: tuple[float, float] = (0.0, 0.0)
) -> Configuration:
    """The options of the offline identification that matter here; `weighed`: mass and sigma."""
    return replace(
        Configuration(),
        gravity=gravity,
        prior_percent=prior_percent,
        weighed_mass=weighed[0],
        weighed_sigma=weighed[1],
        wrench_offset='off',
    )
