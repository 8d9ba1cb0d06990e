"""How well wrenches fit the motion, cheaply enough to be asked of a hundred changed recordings.

The total wrench is compared with the one that the motion needs. The links' parameters are fitted
within what their CAD values may be off, so that a wrong mass in the URDF is no misfit; a wrong
sign, side, unit or frame is one that no parameters take away. The soles tell as much: one of them
stands still and flat, and where plates carry the robot, on them and by the centre of pressure.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from scipy.linalg import cho_solve

from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, fixed_base_motion
from veh_identification.systems.humanoid.estimation.prior import base_prior
from veh_identification.systems.humanoid.estimation.problem import JUDGING_CUTOFF, Problem
from veh_identification.systems.humanoid.processing.odometry import foot_frames
from veh_identification.systems.humanoid.processing.signals import (
    SIGNAL_CUTOFF,
    Raw,
    Samples,
    at_base,
    filtered,
    signal_filter,
    with_wrenches,
)
from veh_identification.types import Array, BoolArray, IntArray

#: Hz, of the equations that are compared.
CUTOFF = JUDGING_CUTOFF / SIGNAL_CUTOFF
#: Grid of the comparison over its cut-off: the filter needs some samples a cycle.
RATE = 8.0
#: What counts as one unit of misfit: forces over the weight, and the same times the robot's size
#: for moments. A centre of mass that is a twentieth of the robot's size off is one unit.
FORCE_UNIT = 0.05
#: Noise of the equations, in units, against which the CAD values are weighed: data that are far
#: off must not bend the parameters until they fit.
NOISE = 0.5
#: Deviations of the CAD values by which the parameters may be off, all together, to fit; each one
#: more is a unit of misfit: bent far enough they would explain anything, negative masses too.
BENT = 0.5
#: One unit of a sole that is not where the plates are pressed, over the length of the legs, and of
#: a standing one that moves, in the same each second: heels are lifted while one stands.
SOLE_UNIT, SOLE_SPEED = 0.25, 0.1
#: One unit [rad] of a standing sole that is not flat: models stand flat when all joints are zero,
#: but for heels and slopes.
SOLE_TILT = 0.3
#: Share of the samples that count, the best fitting ones: a hand on a rail, a foot on an edge and
#: hits on the ground are no matter of frames.
COUNTED = 0.8
#: A sensor is loaded above this share of its largest force.
LOADED = 0.3
FEWEST_LOADED = 20
#: Samples of the equations that are looked at: more do not tell one frame from another better.
MOST_SAMPLES = 200
#: The weight that sensors show over that of the URDF: others are units, not models.
SCALES = (0.2, 5.0)


def coarse(raw: Raw) -> Raw:
    """The recording on a grid that is just fine enough, means of neighbours."""
    factor = max(1, int(raw.rate / (RATE * JUDGING_CUTOFF)))
    count = len(raw.stamps) // factor
    if factor == 1 or count < FEWEST_LOADED:
        return raw

    def means(values: Array) -> Array:
        parts = values[: count * factor].reshape(count, factor, *values.shape[1:])
        return np.asarray(parts.mean(axis=1))

    valid: BoolArray = np.all(raw.valid[: count * factor].reshape(count, factor), axis=1)
    pose = means(raw.pose)
    if pose.shape[1] == 7:
        pose[:, 3:] /= np.maximum(np.linalg.norm(pose[:, 3:], axis=1, keepdims=True), 1e-9)
    return replace(
        raw,
        rate=raw.rate / factor,
        stamps=means(raw.stamps),
        joints=means(raw.joints),
        pose=pose,
        wrenches=means(raw.wrenches),
        world=means(raw.world),
        valid=valid,
        inertial=None if raw.inertial is None else means(raw.inertial),
    )


class Comparison:
    """Judges recordings of one robot, as they are and as they might be."""

    def __init__(self, problem: Problem, raw: Raw) -> None:
        self.problem, self.raw = problem, coarse(raw)
        model = problem.model
        prior = base_prior(problem.prior, problem.to_base, np.zeros((0, 0)))
        self._prior_rows, self._prior_right = prior.rows()
        self._cad = prior.value
        self.weight = float(problem.prior.mass.sum()) * problem.configuration.gravity
        self._feet = foot_frames(model, problem.configuration.feet)
        still = np.zeros((1, model.dof))
        bodies = body_motion(model, fixed_base_motion(still, still, still)).position[0]
        #: Metres: how large the robot is about its base link, and how long its legs are.
        self.size = float(np.sqrt(np.square(bodies).sum(axis=1).mean()))
        soles, turned = self._placed_soles(still)
        self.legs = float(np.linalg.norm(soles[:, 0], axis=1).mean())
        self._flat = turned[:, 0, 2]  # the vertical in the axes of each sole
        self.soles = True  # whether they count: models of persons may slide on theirs
        self._low_pass = signal_filter(self.raw, CUTOFF)
        self._as_it_is: Samples | None = None
        self._regressor: tuple[IntArray, Array] | None = None
        self._normal: tuple[float, Array, Array] | None = None
        self._bent = 0.0  # deviations of the parameters of the last fit, rms
        self._stance: tuple[Array, Array, Array] | None = None

    def misfit(self, raw: Raw) -> float:
        """Root mean square of what does not fit, in units (see FORCE_UNIT)."""
        errors = self.errors(raw)
        if errors is None:
            return np.inf
        size = np.sort(np.square(errors).mean(axis=1))
        fit = float(np.sqrt(size[: max(1, int(COUNTED * len(size)))].mean()))
        return float(np.hypot(fit, max(self._bent - BENT, 0.0)))

    def samples(self, raw: Raw) -> Samples:
        """Both sides of the equations below the cut-off of the comparison.

        The filter is linear and most changes leave most signals alone: only what differs from
        the recording as it is passes it again.
        """
        made = with_wrenches(raw, self.problem.model, raw.wrenches)
        if self._as_it_is is None:
            plain = with_wrenches(self.raw, self.problem.model, self.raw.wrenches)
            self._as_it_is = filtered(plain, CUTOFF, self.problem.configuration.gravity)
        known, own = self._as_it_is, self.raw
        if raw.pose is not own.pose or raw.valid is not own.valid:
            return filtered(made, CUTOFF, self.problem.configuration.gravity)
        world = np.nan_to_num(self._low_pass.apply(made.world, raw.valid)[0])
        wrench = world
        if not raw.in_base:
            wrench = at_base(world, known.rotation, known.position - made.centre)
        known = replace(known, wrench=wrench, centre=made.centre)
        if raw.joints is own.joints:
            return known
        return replace(known, motion=self._with_joints(known.motion, raw.joints))

    def _with_joints(self, motion: Motion, joints: Array) -> Motion:
        """The motion with joints that changed."""
        other = np.flatnonzero(~((joints == self.raw.joints) | ~self.raw.valid[:, None]).all(0))
        found = self._low_pass.derivatives(joints[:, other], self.raw.valid)
        q, qd, qdd = motion.q.copy(), motion.qd.copy(), motion.qdd.copy()
        q[:, other] = np.nan_to_num(found.position)
        qd[:, other] = np.nan_to_num(found.velocity)
        qdd[:, other] = np.nan_to_num(found.acceleration)
        return replace(motion, q=q, qd=qd, qdd=qdd)

    def _same_motion(self, raw: Raw) -> bool:
        """Whether only wrenches differ from the recording as it is."""
        own = self.raw
        return raw.joints is own.joints and raw.pose is own.pose and raw.valid is own.valid

    def errors(self, raw: Raw) -> Array | None:
        """What does not fit (n, 6, 8 or 10) in units; None where too little is loaded."""
        samples = self.samples(raw)
        use = loaded(samples)
        if use.sum() < FEWEST_LOADED:
            return None
        places: IntArray = np.flatnonzero(use).astype(np.int64)
        places = places[:: max(1, len(places) // MOST_SAMPLES)]
        W = self._rows(raw, samples, places)
        if not np.isfinite(W).all():
            return None
        wrench = self._fitted(W, samples.wrench[places], self._same_motion(raw))
        if raw.imu is not None or not self.soles:
            return wrench
        return np.hstack([wrench, self._sole_errors(raw, samples, places)])

    def _rows(self, raw: Raw, samples: Samples, places: IntArray) -> Array:
        """The regressor at some samples, kept for those of the motion as it is."""
        same = self._same_motion(raw)
        if same and self._regressor is not None and np.array_equal(self._regressor[0], places):
            return self._regressor[1]
        entries = (getattr(samples.motion, one.name)[places] for one in fields(Motion))
        W = self.problem.regressor.compute(Motion(*map(np.ascontiguousarray, entries)))
        if same:
            self._regressor = places, W
        return W

    def _fitted(self, W: Array, Y: Array, same: bool) -> Array:
        """Errors of the wrench with the parameters that suit it best within their priors."""
        scale = float(np.clip(weight_over(Y, W @ self._cad), *SCALES))
        unit = FORCE_UNIT * scale * self.weight * np.array([1.0] * 3 + [self.size] * 3)
        rows = (W / (NOISE * unit)[:, None]).reshape(-1, W.shape[2])
        if same and self._normal is not None and abs(self._normal[0] / scale - 1.0) < 1e-9:
            _, known, factor = self._normal
        else:
            known = np.asarray(self._prior_rows / scale, float)
            normal: Array = rows.T @ rows + known.T @ known
            factor = np.asarray(np.linalg.cholesky(normal), float)
            if same:
                self._normal = scale, known, factor
        right = rows.T @ (Y / (NOISE * unit)).ravel() + known.T @ self._prior_right
        x = cho_solve((factor, True), right)
        self._bent = float(np.sqrt(np.mean(np.square(known @ x - self._prior_right))))
        return np.asarray((Y - W @ x) / unit)

    def _placed_soles(self, q: Array) -> tuple[Array, Array]:
        """Places (feet, N, 3) and orientations (feet, N, 3, 3) of the soles in the base."""
        bodies = body_motion(self.problem.model, fixed_base_motion(q, 0.0 * q, 0.0 * q))
        places, turns = [], []
        for name in self._feet:
            frame = self.problem.model.frame(name)
            turn = bodies.orientation[:, frame.body]
            places.append(bodies.position[:, frame.body] + turn @ frame.translation)
            turns.append(turn @ frame.rotation)
        return np.array(places), np.array(turns)

    def _sole_errors(self, raw: Raw, samples: Samples, places: IntArray) -> Array:
        """How far from standing the better of the soles is (n, 2 or 4), in units."""
        if self._same_motion(raw) and self._stance is not None:
            feet, moving, tilt = self._stance
        else:
            feet, turns = self._placed_soles(samples.motion.q)
            base = samples.rotation
            feet = samples.position + np.einsum('nij,fnj->fni', base, feet)
            speed = np.linalg.norm(np.gradient(feet, axis=1), axis=2) * raw.rate
            up = np.einsum('nj,fnjk->fnk', base[:, 2], turns)  # world z in the soles' axes
            angle = np.arccos(np.clip(np.einsum('fnk,fk->fn', up, self._flat), -1.0, 1.0))
            moving = speed.min(axis=0)
            # All that stand must be flat; the one that is slowest stands in any case.
            stands = speed <= np.maximum(moving, SOLE_SPEED * self.legs)
            tilt = np.where(stands, angle, 0.0).max(axis=0)
            if self._same_motion(raw):
                self._stance = feet, moving, tilt
        errors = [
            moving[places] / (SOLE_SPEED * self.legs),
            np.maximum(tilt[places] / SOLE_TILT - 1.0, 0.0),
        ]
        if all(one.pose is not None for one in raw.sources):
            errors += self._pressed(raw, samples, places, feet[:, places])
        return np.clip(np.stack(errors, axis=1), 0.0, 100.0)

    def _pressed(self, raw: Raw, samples: Samples, places: IntArray, feet: Array) -> list[Array]:
        """How far soles and pressed places lie apart, in units: up, and along the ground."""
        heights = [one.pose.position[2] for one in raw.sources if one.pose is not None]
        lowest = feet[:, :, 2].min(axis=0)
        nearest = np.min([np.abs(lowest - height) for height in heights], axis=0)
        turn, base = samples.rotation[places], samples.position[places]
        force = np.einsum('nij,nj->ni', turn, samples.wrench[places, :3])
        moment = np.einsum('nij,nj->ni', turn, samples.wrench[places, 3:])
        moment = moment + np.cross(base - [0.0, 0.0, heights[0]], force)
        fz = np.where(np.abs(force[:, 2]) < 0.1 * self.weight, np.nan, force[:, 2])
        pressed = np.stack([-moment[:, 1] / fz, moment[:, 0] / fz], axis=1)
        apart = _distance(pressed, feet[0, :, :2], feet[-1, :, :2])
        unit = SOLE_UNIT * self.legs
        apart = np.where(np.isfinite(apart), apart, 4.0 * unit)
        # Nothing is gained by being nearer than a foot is long.
        return [np.maximum(one / unit - 1.0, 0.0) for one in (nearest, apart)]

    def slope(self) -> float:
        """Angle [rad] by which the soles that stand lean all together."""
        samples = self.samples(self.raw)
        feet, turns = self._placed_soles(samples.motion.q)
        base = samples.rotation
        feet = samples.position + np.einsum('nij,fnj->fni', base, feet)
        speed = np.linalg.norm(np.gradient(feet, axis=1), axis=2) * self.raw.rate
        stands = (speed < SOLE_SPEED * self.legs) & loaded(samples)
        level = np.einsum('nij,fnjk,fk->fni', base, turns, self._flat)
        if stands.sum() < FEWEST_LOADED:
            return 0.0
        mean = np.median(level[stands], axis=0)
        return float(np.arctan2(np.linalg.norm(mean[:2]), mean[2]))


def weight_over(measured: Array, predicted: Array) -> float:
    """Size of the forces over that of others, whatever their direction: turned is not light."""
    sizes = [float(np.median(np.linalg.norm(one[:, :3], axis=1))) for one in (measured, predicted)]
    return sizes[0] / max(sizes[1], 1e-12)


def loaded(samples: Samples) -> BoolArray:
    """Samples at which the sensors carry much of what they ever carry."""
    force = np.linalg.norm(samples.wrench[:, :3], axis=1)
    if not samples.valid.any():
        return samples.valid
    return samples.valid & (force > LOADED * np.percentile(force[samples.valid], 98.0))


def _distance(points: Array, a: Array, b: Array) -> Array:
    """From points (n, 2) to the stretches between a and b."""
    along = b - a
    length = np.maximum(np.square(along).sum(axis=1), 1e-12)
    share = np.clip(((points - a) * along).sum(axis=1) / length, 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - a - share[:, None] * along, axis=1))
