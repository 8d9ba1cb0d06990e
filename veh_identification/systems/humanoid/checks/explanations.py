"""Wrong units, frames, signs, sides, orders and clocks, found by trying what they would explain.

The robot's model says which wrench a motion needs. If one change of the recording makes the
measured wrench fit far better, that is named with how much it explains, and the recording is not
used. Where nothing explains a poor fit, what was tried is told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veh_identification.checks.explanation import (
    Hypothesis,
    best_of,
    explanation_findings,
    judged,
    partly,
)
from veh_identification.findings import CONVINCING, Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.humanoid.checks.comparison import (
    Comparison,
    Misfit,
    loaded,
    weight_over,
)
from veh_identification.systems.humanoid.checks.drifts import drift_findings
from veh_identification.systems.humanoid.checks.horizontal import sign_findings
from veh_identification.systems.humanoid.checks.hypotheses import (
    every_hypothesis,
    gains,
    heights,
    joined_at,
    offsets,
    shifts,
    tares,
    tilts,
    vertical_offsets,
    yaws,
    zeros,
)
from veh_identification.systems.humanoid.checks.markers import marker_findings, markers
from veh_identification.systems.humanoid.checks.pulling import pull_findings, tare_findings
from veh_identification.systems.humanoid.checks.sensors import weight_finding
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import judged as judged_loads
from veh_identification.systems.humanoid.processing.supports import scale_of_load
from veh_identification.types import Array

#: Units of misfit (see comparison) up to which nothing is looked for: forces that fit within less
#: than a hundredth of the weight, moments within a hundredth of the robot's size.
FITS = 0.15
#: Units that noise leaves in any case: of what leaves less, the simplest counts.
NOISE = 0.05
#: Units above which a misfit that nothing explains is told: a fortieth of the weight.
POOR = 0.5
#: How many times better soles must stand, where the wrench fits and they fit in the end.
LIKELY = 1.5
#: Moments about another point are named from this part of the robot's size on: models of persons
#: may miss by half of it.
SMALLEST_SHIFT = 0.25
#: Radians by which soles may lean on level ground: markers are placed by hand, and shoes have
#: heels.
SLOPE = 0.12
#: Radians by which one sole may lean more than another while both stand.
APART = 0.25


class Search:
    """The cause with which a recording would fit its motion, looked for in slices."""

    def __init__(self, comparison: Comparison, label: str) -> None:
        self.comparison, self.label = comparison, label
        self._waiting: list[Hypothesis[Raw]] = []
        self._judged: list[tuple[Hypothesis[Raw], Misfit]] = []
        if comparison.as_it_is.all > FITS:
            self._waiting = [*every_hypothesis(comparison.raw, comparison.problem.model)]
        self._sized = not self._waiting  # whether those are added whose size must be found
        self._parted = not self._waiting  # and those that are wrong in one half alone

    @property
    def waiting(self) -> int:
        """Hypotheses that are still to be tried."""
        return len(self._waiting)

    def step(self, most: int | None = None) -> None:
        """Try the next hypotheses, by default all of them."""
        comparison = self.comparison
        if not self._sized and (most is None or len(self._waiting) <= most):
            self._sized = True
            self._waiting += _fitted(comparison, comparison.raw)
        now, self._waiting = self._waiting[:most], ([] if most is None else self._waiting[most:])
        self._try(now)
        if not self._parted and self._sized and not self._waiting:
            self._parted = True
            if not self._explained:
                self._waiting = [*_halves(comparison.raw, comparison.problem.model)]
        if most is None and self._waiting:
            self.step()

    def _try(self, now: list[Hypothesis[Raw]]) -> None:
        comparison, unknown = self.comparison, Misfit(np.inf, np.inf)
        self._judged += [
            (one, judged(comparison.raw, one, comparison.misfit, unknown)) for one in now
        ]

    @property
    def _explained(self) -> bool:
        """Whether something explains the misfit throughout the recording."""
        least = min((left.all for _, left in self._judged), default=np.inf)
        return self.comparison.as_it_is.all >= CONVINCING * least

    def findings(self) -> list[Finding]:
        """What the search has found; what the soles do not show the wrench alone may."""
        findings: list[Finding] = []
        if tared := tare_findings(self.comparison, self.label):
            return tared  # no unit or sign of the forces is told by plates without their zeros
        as_it_is = self.comparison.as_it_is
        if not np.isfinite([as_it_is.all, *(left.all for _, left in self._judged)]).any():
            text = f'{self.label}: too little is loaded to hold the wrench against the motion'
            return [Finding('warn', 'frames_unchecked', f'{text}: nothing was checked')]
        for part, fits in (('all', 'wrench and the soles fit'), ('wrench', 'wrench fits')):
            plain = getattr(as_it_is, part)
            if not plain > FITS:  # what is left is a matter of the soles alone
                findings = self._likely()
                continue
            findings = explanation_findings(
                best_of(
                    [(one, max(getattr(left, part), NOISE)) for one, left in self._judged], plain
                ),
                label=self.label,
                better=f'the {fits} the motion',
                good=POOR,
                misfit_text='the wrench does not fit the motion of the model: '
                f'{plain:.2g} units, one being a twentieth of the weight',
                hint=' (check_frames: false skips this test)',
            )
            if any(one.level == 'bad' for one in findings):
                return findings  # the best cause stands alone
        for look in (pull_findings, sign_findings, drift_findings, marker_findings):
            if turned := look(self.comparison, self.label):
                return turned
        slope, weight = _slope(self.comparison, self.label), _weight(self.comparison, self.label)
        return [*findings, *slope, *weight]

    def _likely(self) -> list[Finding]:
        """The cause with which soles that do not stand as they should would fit as well as any.

        Noise of the wrenches bounds how many times better a recording can fit that is fine but
        for its feet.
        """
        plain = self.comparison.as_it_is.all
        best = best_of([(one, max(left.all, NOISE)) for one, left in self._judged], plain)
        if best.best is None or best.misfit > FITS or best.factor < LIKELY:
            return []
        text = (
            f'{self.label}: {best.best.text}, most likely; with that the soles stand on the '
            f'ground {best.factor:.3g} times better (check_frames: false skips this test)'
        )
        where = f'{self.label}, {best.best.where}'
        return [Finding('warn', best.best.code, text, where, best.factor)]


def _weight(comparison: Comparison, label: str) -> list[Finding]:
    """The weight that the sensors show while they carry the whole robot."""
    samples = comparison.samples(comparison.raw)
    model = comparison.problem.model
    valid = samples.valid
    if valid.sum() < 2:
        return []
    loads = judged_loads(samples, model)
    scale = scale_of_load(loads.measured[valid], loads.predicted[valid])
    return weight_finding(comparison.problem, scale, label)


def _slope(comparison: Comparison, label: str) -> list[Finding]:
    """Soles that stand askew all alike: the base's axes are not those of its link."""
    if comparison.raw.imu is not None:
        return []
    level = comparison.level()
    angle = float(np.arctan2(np.linalg.norm(level[:2]), level[2]))
    leaning = comparison.leaning()
    if len(leaning) > 1 and max(leaning.values()) - min(leaning.values()) > APART:
        worst = max(leaning, key=lambda name: leaning[name])
        text = (
            f'{label}: the sole {worst} stands {np.degrees(leaning[worst]):.3g} degrees askew, '
            f'another one {np.degrees(min(leaning.values())):.3g}: the zero position of a joint '
            'of that leg seems to be wrong'
        )
        return [Finding('warn', 'joint_zero', text, f'{label}, topic joint_states, link {worst}')]
    if angle < SLOPE:
        return []
    text = (
        f'{label}: the soles stand {np.degrees(angle):.3g} degrees askew: the orientation of the '
        'base pose is not that of the base link (a marker frame that is not aligned?), its world '
        'is not level, or zero positions of leg joints are wrong'
    )
    return [
        Finding('warn', 'base_tilted', text, f'{label}, base pose, pose.orientation', size=angle)
    ]


def _halves(raw: Raw, model: TreeModel) -> Iterator[Hypothesis[Raw]]:
    """The same mistakes in one half of the recording alone."""
    middle = len(raw.stamps) // 2
    time = f'{raw.stamps[middle] - raw.stamps[0]:.2g} s'

    def late(as_it_is: Raw, changed: Raw) -> Raw:
        return joined_at(as_it_is, changed, middle)

    def early(as_it_is: Raw, changed: Raw) -> Raw:
        return joined_at(changed, as_it_is, middle)

    # Clocks do not begin to be late; a foot that steps beside a plate looks like that.
    causes = [one for one in every_hypothesis(raw, model) if one.code != 'wrench_late']
    yield from partly(causes, late, f'from about {time} on')
    yield from partly(causes, early, f'until about {time}')


def _fitted(comparison: Comparison, raw: Raw) -> list[Hypothesis[Raw]]:
    """Hypotheses whose size the recording says: points of moments, offsets."""
    samples = comparison.samples(raw)
    use = loaded(samples)
    if raw.imu is not None or use.sum() < 2:
        return []
    predicted = inverse_dynamics(comparison.problem.model, samples.motion)[:, :6]
    scale = weight_over(samples.wrench[use], predicted[use])

    def moments(one: Raw) -> Array:
        return comparison.samples(one).wrench[use, 3:]

    def forces(one: Raw) -> Array:
        return comparison.samples(one).wrench[use, :3]

    def as_shown(one: Raw) -> Array:
        return comparison.samples(one).wrench[use]

    def comparable(wrench: Array) -> Array:
        return wrench[use] / ([1.0] * 3 + [comparison.size] * 3)

    def missing(scale: float) -> Array:
        """What is missing in the median (6,), along the world at the centre of the plates."""
        error = (scale * predicted - samples.wrench)[use].reshape(-1, 2, 3)
        turned = np.einsum('nij,nkj->nki', samples.rotation[use], error)
        turned[:, 1] += np.cross(samples.position[use] - samples.centre, turned[:, 0])
        return np.asarray(np.median(turned, axis=0).ravel())

    names = comparison.problem.model.coordinate_names
    return [
        *markers(comparison),
        *tilts(raw, comparison.level()),
        *zeros(names, comparison.zeros()),
        *heights(comparison.height()),
        *offsets(raw, missing(scale), comparison.weight),
        *vertical_offsets(raw, as_shown, predicted[use]),
        *tares(raw, missing(1.0), samples.centre, comparison.weight),
        *gains(raw, forces, scale * predicted[use, :3]),
        *yaws(
            raw,
            lambda one: comparable(comparison.samples(one).wrench),
            comparable(scale * predicted),
        ),
        *shifts(raw, moments, scale * predicted[use, 3:], SMALLEST_SHIFT * comparison.size),
    ]
