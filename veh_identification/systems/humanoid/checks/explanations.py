"""Wrong units, frames, signs, sides, orders and clocks, found by trying what they would explain.

The robot's model says which wrench a motion needs. If one change of the recording makes the
measured wrench fit far better, that is named with how much it explains, and the recording is not
used. Where nothing explains a poor fit, what was tried is told.
"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.explanation import (
    Hypothesis,
    best_explanation,
    explanation_findings,
)
from veh_identification.findings import Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.systems.humanoid.checks.comparison import (
    Comparison,
    loaded,
    weight_over,
)
from veh_identification.systems.humanoid.checks.hypotheses import (
    every_hypothesis,
    gains,
    offsets,
    shifts,
)
from veh_identification.systems.humanoid.checks.sensors import weight_finding
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import judged, scale_of_load
from veh_identification.types import Array

#: Units of misfit (see comparison) up to which nothing is looked for: forces that fit within less
#: than a hundredth of the weight, moments within a hundredth of the robot's size.
FITS = 0.15
#: Units above which a misfit that nothing explains is told: a fortieth of the weight.
POOR = 0.5
#: Moments about another point are named from this part of the robot's size on: models of persons
#: may miss by half of it.
SMALLEST_SHIFT = 0.25
#: Radians by which soles may lean on level ground: markers are placed by hand, and shoes have
#: heels.
SLOPE = 0.12


def explained(comparison: Comparison, label: str) -> list[Finding]:
    """A unit, frame, sign, side or clock with which the recording would fit its motion."""
    findings: list[Finding] = []
    for soles in (True, False):
        comparison.soles = soles
        findings = _searched(comparison, label)
        if any(one.level == 'bad' for one in findings):
            break
    comparison.soles = True
    if any(one.level == 'bad' for one in findings):
        return findings  # the best cause stands alone
    return [*findings, *_slope(comparison, label), *_weight(comparison, label)]


def _searched(comparison: Comparison, label: str) -> list[Finding]:
    """The cause that explains best, if wrench (and soles) do not fit."""
    raw, as_it_is = comparison.raw, comparison.misfit(comparison.raw)
    if not as_it_is > FITS:
        return []
    hypotheses = [*every_hypothesis(raw, comparison.problem.model), *_fitted(comparison, raw)]
    return explanation_findings(
        best_explanation(raw, hypotheses, comparison.misfit, as_it_is),
        label=label,
        better=f'the wrench{" and the soles fit" if comparison.soles else " fits"} the motion',
        good=POOR,
        misfit_text='the wrench does not fit the motion of the model: '
        f'{as_it_is:.2g} units, one being a twentieth of the weight',
        hint=' (check_frames: false skips this test)',
    )


def _weight(comparison: Comparison, label: str) -> list[Finding]:
    """The weight that the sensors show while they carry the whole robot."""
    samples = comparison.samples(comparison.raw)
    model = comparison.problem.model
    valid = samples.valid
    if valid.sum() < 2:
        return []
    loads = judged(samples, model)
    scale = scale_of_load(loads.measured[valid], loads.predicted[valid])
    return weight_finding(comparison.problem, scale, label)


def _slope(comparison: Comparison, label: str) -> list[Finding]:
    """Soles that stand askew all alike: the base's axes are not those of its link."""
    if comparison.raw.imu is not None:
        return []
    angle = comparison.slope()
    if angle < SLOPE:
        return []
    text = (
        f'{label}: the soles stand {np.degrees(angle):.3g} degrees askew: the orientation of the '
        'base pose is not that of the base link (a marker frame that is not aligned?), its world '
        'is not level, or zero positions of leg joints are wrong'
    )
    return [Finding('warn', 'base_tilted', text, f'{label}, base pose, pose.orientation', angle)]


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

    error = (scale * predicted - samples.wrench)[use].reshape(-1, 2, 3)
    turned = np.einsum('nij,nkj->nki', samples.rotation[use], error)
    arm = samples.position[use] - samples.centre
    turned[:, 1] += np.cross(arm, turned[:, 0])
    return [
        *offsets(raw, np.median(turned, axis=0).ravel(), comparison.weight),
        *gains(raw, forces, scale * predicted[use, :3]),
        *shifts(raw, moments, scale * predicted[use, 3:], SMALLEST_SHIFT * comparison.size),
    ]
