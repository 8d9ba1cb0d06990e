"""How well wrenches fit the motion, cheaply enough to be asked of a hundred changed recordings.

The total wrench is compared with the one that the motion needs. The links' parameters are fitted
within what their CAD values may be off, so that a wrong mass in the URDF is no misfit; a wrong
sign, side, unit or frame is one that no parameters take away. The soles tell as much: one of them
stands still and flat, and where plates carry the robot, on them and by the centre of pressure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve

from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, fixed_base_motion
from veh_identification.systems.humanoid.checks.smooth import at_rows, inner, sampled, smooth
from veh_identification.systems.humanoid.checks.soles import SOLE_SPEED, Soles, Stance
from veh_identification.systems.humanoid.estimation.prior import base_prior
from veh_identification.systems.humanoid.estimation.problem import JUDGING_CUTOFF, Problem
from veh_identification.systems.humanoid.processing.odometry import foot_frames
from veh_identification.systems.humanoid.processing.signals import SIGNAL_CUTOFF, Raw, Samples
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
#: Metres that a robot of a single body, all its joints locked, is taken for.
ONE_BODY = 0.3
#: Deviations of the CAD values by which the parameters may be off, all together, to fit; each one
#: more is a unit of misfit: bent far enough they would explain anything, negative masses too.
BENT = 0.5
#: Share of the samples that count, the best fitting ones: a hand on a rail, a foot on an edge and
#: hits on the ground are no matter of frames.
COUNTED = 0.8
#: Share of the loaded samples that a change must leave loaded: what makes the robot float for a
#: while takes away the samples that it does not explain.
STILL_LOADED = 0.9
#: A sensor is loaded above this share of its largest force.
LOADED = 0.3
FEWEST_LOADED = 20
#: Samples of the equations that are looked at: more do not tell one frame from another better.
#: Against the CAD values they count as what they stand for, but not for more than this many.
MOST_SAMPLES, FULL_WEIGHT = 100, 200
#: The weight that sensors show over that of the URDF: others are units, not models.
SCALES = (0.2, 5.0)
#: By this factor it may be farther from one with a change than without: errors are told in units
#: of the weight, so that a heavier person would fit better whatever the change.
HEAVIER = 1.5


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


@dataclass(frozen=True)
class Misfit:
    """Root mean square of what does not fit, in units (see FORCE_UNIT)."""

    all: float  # wrench and soles
    wrench: float  # models of persons may slide on their soles


class Comparison:
    """Judges recordings of one robot, as they are and as they might be."""

    def __init__(self, problem: Problem, raw: Raw) -> None:
        self.problem = problem
        #: On the grid, and the same filtered: a low pass swings to the other side behind impacts.
        self.measured = coarse(raw)
        self.raw = smooth(self.measured, CUTOFF)
        model = problem.model
        prior = base_prior(problem.prior, problem.to_base, np.zeros((0, 0)))
        self._prior_rows, self._prior_right = prior.rows()
        self._cad = prior.value
        self.weight = float(problem.prior.mass.sum()) * problem.configuration.gravity
        self.soles = Soles(model, foot_frames(model, problem.configuration.feet))
        still = np.zeros((1, model.dof))
        bodies = body_motion(model, fixed_base_motion(still, still, still)).position[0]
        #: Metres: how large the robot is about its base link; one body alone tells nothing.
        self.size = float(np.sqrt(np.square(bodies).sum(axis=1).mean())) or ONE_BODY
        self.rows, self._thinned = _rows_of(self.raw)
        self._motion: Motion | None = None
        self._regressor: Array | None = None
        self._stance: Stance | None = None

    @cached_property
    def as_it_is(self) -> Misfit:
        """Of the recording without a change."""
        return self._misfit(self.raw, -np.inf)

    def misfit(self, raw: Raw) -> Misfit:
        """Of a changed recording; infinite where too little is loaded.

        So it is where the sensors do not carry the robot: that puts nothing right.
        """
        most = max(self._shown, 1.0 / max(self._shown, 1e-12)) * HEAVIER
        return self._misfit(raw, SCALES[0], most)

    @cached_property
    def _carried_share(self) -> float:
        """Share of the samples of the recording as it is that are loaded."""
        samples = self.samples(self.raw)
        return float(loaded(samples).sum()) / max(int(samples.valid.sum()), 1)

    @cached_property
    def _shown(self) -> float:
        """The weight that the recording shows over that of the URDF."""
        samples = self.samples(self.raw)
        use = loaded(samples)
        if use.sum() < FEWEST_LOADED:
            return 1.0
        return weight_over(samples.wrench[use], self._rows(self.raw, samples)[use] @ self._cad)

    def _misfit(self, raw: Raw, least: float, most: float = np.inf) -> Misfit:
        samples = self.samples(raw)
        use: BoolArray = loaded(samples)
        if use.sum() < FEWEST_LOADED:
            return Misfit(np.inf, np.inf)
        if least > 0.0 and use.sum() < STILL_LOADED * self._carried_share * samples.valid.sum():
            return Misfit(np.inf, np.inf)
        W = self._rows(raw, samples)[use]
        carried = weight_over(samples.wrench[use], W @ self._cad)
        if not np.isfinite(W).all() or not least <= carried <= most:
            return Misfit(np.inf, np.inf)
        try:
            wrench, bent = self._fitted(W, samples.wrench[use], carried)
        except np.linalg.LinAlgError:  # finite, but beyond what can be compared
            return Misfit(np.inf, np.inf)
        alone = float(np.hypot(_trimmed(wrench), bent))
        if raw.imu is not None:
            return Misfit(alone, alone)
        every = np.hstack([wrench, self._sole_errors(raw, samples)[use]])
        return Misfit(float(np.hypot(_trimmed(every), bent)), alone)

    def samples(self, raw: Raw) -> Samples:
        """Both sides of the equations at the samples that are looked at."""
        known = self._motion if self._same_motion(raw) else None
        gravity = self.problem.configuration.gravity
        found = sampled(raw, self.problem.model, self.rows, gravity, known)
        if self._same_motion(raw):
            self._motion = found.motion
        return found

    def _same_motion(self, raw: Raw) -> bool:
        """Whether only wrenches differ from the recording as it is."""
        own = self.raw
        return raw.joints is own.joints and raw.pose is own.pose

    def regressor(self, raw: Raw) -> Array:
        """Rows (n, 6, base parameters) at the samples that are looked at."""
        return self._rows(raw, self.samples(raw))

    def _rows(self, raw: Raw, samples: Samples) -> Array:
        """The regressor, kept for the motion as it is."""
        same = self._same_motion(raw)
        if same and self._regressor is not None:
            return self._regressor
        W = self.problem.regressor.compute(samples.motion)
        if same:
            self._regressor = W
        return W

    def _fitted(self, W: Array, Y: Array, carried: float) -> tuple[Array, float]:
        """Errors of the wrench with the parameters that suit it best within their priors.

        Also by how much more than they may the parameters are bent for it.
        """
        scale = float(np.clip(carried, *SCALES))
        unit = FORCE_UNIT * scale * self.weight * np.array([1.0] * 3 + [self.size] * 3)
        noise = NOISE * unit / np.sqrt(self._thinned)
        rows = (W / noise[:, None]).reshape(-1, W.shape[2])
        known = np.asarray(self._prior_rows / scale, float)
        factor = np.linalg.cholesky(rows.T @ rows + known.T @ known)
        right = rows.T @ (Y / noise).ravel() + known.T @ self._prior_right
        x = cho_solve((factor, True), right)
        bent = float(np.sqrt(np.mean(np.square(known @ x - self._prior_right))))
        return np.asarray((Y - W @ x) / unit), max(bent - BENT, 0.0)

    def stance(self, raw: Raw) -> Stance:
        """Of the soles at the samples that are looked at, kept for the motion as it is."""
        if not self._same_motion(raw):
            return self.soles.stance(raw, self.rows)
        if self._stance is None:
            self._stance = self.soles.stance(raw, self.rows)
        return self._stance

    def _sole_errors(self, raw: Raw, samples: Samples) -> Array:
        """How far from standing the better of the soles is (n, 2 or 4), in units."""
        stance = self.stance(raw)
        errors = self.soles.errors(stance)
        if all(one.pose is not None for one in raw.sources):
            errors += self.soles.pressed(raw, samples, stance.places, 0.1 * self.weight)
        return np.clip(np.stack(errors, axis=1), 0.0, 100.0)

    @cached_property
    def _stands(self) -> BoolArray:
        """Which soles stand (feet, n), by their speed."""
        speed = self.stance(self.raw).speed
        found: BoolArray = speed < SOLE_SPEED * self.soles.legs
        return found & loaded(self.samples(self.raw))

    def level(self) -> Array:
        """Where the vertical of soles that stand points to in the world, in the median (3,)."""
        if self._stands.sum() < FEWEST_LOADED:
            return np.array([0.0, 0.0, 1.0])
        return np.asarray(np.median(self.stance(self.raw).level[self._stands], axis=0))

    def height(self) -> float:
        """How high soles that stand are above the nearest plate, in the median [m]."""
        poses = [one.pose for one in self.raw.sources]
        plates = np.array([pose.position[2] for pose in poses if pose is not None])
        if self._stands.sum() < FEWEST_LOADED or len(plates) < len(poses):
            return 0.0
        soles = self.stance(self.raw).places[self._stands][:, 2]
        apart = soles[:, None] - plates
        nearest = np.abs(apart).argmin(axis=1)
        return float(np.median(apart[np.arange(len(apart)), nearest]))

    def leaning(self) -> dict[str, float]:
        """By which angle [rad] each sole leans while it stands, in the median."""
        names = foot_frames(self.problem.model, self.problem.configuration.feet)
        return {
            name: float(np.median(tilt[stands]))
            for name, tilt, stands in zip(
                names, self.stance(self.raw).tilt, self._stands, strict=True
            )
            if stands.sum() >= FEWEST_LOADED
        }

    def zeros(self) -> Array:
        """By how much each joint must turn that soles which stand are level, in the median."""
        here = at_rows(self.raw, self.rows)
        count = self.problem.model.dof
        found = np.zeros(count)
        if self._stands.sum() < FEWEST_LOADED:
            return found
        for k in range(count):
            if self.problem.model.coordinate_is_angle(k):
                angles = self.soles.flat_angles(here, k)[self._stands]
                turned = angles[angles != 0.0]
                found[k] = np.median(turned) if len(turned) >= FEWEST_LOADED else 0.0
        return found


def _rows_of(raw: Raw) -> tuple[IntArray, float]:
    """Samples that are looked at, spread over those with a load, and for how many each stands."""
    force = np.sqrt(np.square(raw.wrenches[:, :, :3]).sum(axis=(1, 2)))
    use = inner(raw.valid)
    if use.any():
        use &= np.nan_to_num(force) > LOADED * np.percentile(force[use], 98.0)
    places: IntArray = np.flatnonzero(use).astype(np.int64)
    every = max(1, -(-len(places) // MOST_SAMPLES))
    found = places[::every]
    return found, min(len(places), FULL_WEIGHT) / max(len(found), 1)


def _trimmed(errors: Array) -> float:
    """Root mean square of the best fitting samples."""
    size = np.sort(np.square(errors).mean(axis=1))
    return float(np.sqrt(size[: max(1, int(COUNTED * len(size)))].mean()))


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
