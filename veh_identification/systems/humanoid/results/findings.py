"""What the figures of an identified humanoid say: weight, fit, links, the validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import listed
from veh_identification.reporting.judging.fit import BAD_FIT, SMALL_SIGNAL
from veh_identification.systems.humanoid.estimation.anthropometry import other_side
from veh_identification.systems.humanoid.estimation.links import LinkFit
from veh_identification.systems.humanoid.estimation.prior import LinkPrior
from veh_identification.systems.humanoid.processing.equations import MOTION_SCALE, SCALE
from veh_identification.systems.humanoid.processing.impulse import ImpulseMass
from veh_identification.systems.humanoid.results.wrenches import NONE, OWN, Wrenches
from veh_identification.types import Array

# Residuals above this share of the measured rms deserve a word, if they are above this share of
# the weight as well (moments: at 1 m; about a base above the feet the moment itself is small).
POOR_FIT = 0.5
POOR_SHARE = {'FZ': 0.05, 'NX': 0.01, 'NY': 0.01}
# A moment is known no better than the weight at this share of the robot's size: of a person 5 mm,
# as marks on the skin and the centre of pressure have it.
LEVER = 0.01
# A recording whose weight differs by this share from the identified one deserves a word.
OTHER_WEIGHT = 0.03
# Deviations and share by which it may differ from the mass that the balance of impulse gives.
IMPULSE_DEVIATIONS, IMPULSE_SHARE = 3.0, 0.005
# The motion is told to be scaled beyond so many of its usual deviations, and of its own.
SCALED, SURELY_SCALED = 2.0, 3.0
# From this share of links at the border of what can exist on, single links are not to be trusted.
MANY_AT_THE_BORDER = 0.5
# Links below this share of the whole are not looked at one by one. Others are not plausible if
# they differ by this factor from the URDF's, or by that one from an equal link of the other side.
SMALL_LINK, LINK_FACTOR, SIDE_FACTOR = 0.01, 2.0, 1.6


def poor_fit(recordings: Sequence[Wrenches]) -> list[Finding]:
    """Equations that the identified values do not reconstruct; without FZ nothing holds."""
    findings = []
    for one in recordings:
        check = one.validation(one.identified)
        weight = float(np.median(np.linalg.norm(one.measured[:, :3], axis=1)))
        for name, relative, rms in zip(
            check.equations, check.rms_relative, check.rms, strict=True
        ):
            if name in POOR_SHARE and relative > POOR_FIT and rms > POOR_SHARE[name] * weight:
                text = (
                    f'{one.label}: {name} is reconstructed poorly ({relative:.2g} of '
                    'its rms): check frames, signs, stamps, supports and the '
                    'pose of the plates (plate_pose: true estimates small errors of it)'
                )
                level: Level = 'bad' if name == 'FZ' else 'warn'
                findings.append(
                    Finding(level, 'poor_reconstruction', text, f'{one.label}, {name}')
                )
    return findings


def negligible_moments(weight: float, size: float) -> dict[str, float]:
    """Moments [N m] that say nothing against an estimate, whatever their share."""
    return dict.fromkeys(('NX', 'NY', 'NZ'), LEVER * size * weight)


def badly_reconstructed(
    names: Sequence[str],
    units: Sequence[str],
    left: Array,
    measured: Array,
    negligible: Mapping[str, float],
) -> list[str]:
    """Equations of which the bad share of reports stays unexplained, beside no larger ones.

    `left`, `measured`: sizes of what is left and of what was measured; `negligible`: what may be
    left whatever its share.
    """
    largest = [max(measured[k] for k, one in enumerate(units) if one == unit) for unit in units]
    return [
        f'{name} ({left[k] / measured[k]:.2g} of its rms)'
        for k, name in enumerate(names)
        if left[k] > max(BAD_FIT * measured[k], negligible.get(name, 0.0))
        and measured[k] > SMALL_SIGNAL * largest[k]
    ]


def other_weight(recordings: Sequence[Wrenches], mass: float) -> list[Finding]:
    """Recordings that show another weight than was identified."""
    findings = []
    for one in recordings:
        shown = one.weight
        if abs(shown - 1.0) > OTHER_WEIGHT:
            text = (
                f'{one.label} shows a weight of {shown * mass:.4g} kg, '
                f'{100 * abs(shown - 1.0):.2g} % {"more" if shown > 1.0 else "less"} '
                'than identified: a load, or gains of the sensors that differ?'
            )
            findings.append(Finding('warn', 'weight_differs', text, one.label))
    return findings


def against_impulse(total: tuple[float, float], impulse: ImpulseMass | None) -> list[Finding]:
    """The identified mass against that of the impulses, which no regressor and filter touches."""
    if impulse is None:
        return []
    mass, std = total
    apart, allowed = mass - impulse.value, IMPULSE_DEVIATIONS * float(np.hypot(std, impulse.std))
    if abs(apart) < max(allowed, IMPULSE_SHARE * impulse.value):
        return []
    text = (
        f'{mass:.4g} kg are identified, but the balance of impulse over {impulse.seconds:.3g} s '
        f'gives {impulse.value:.4g} kg ({100.0 * apart / impulse.value:+.2g} %): offsets of the '
        'wrench sensors that were not tared, or errors of the joint angles that look like mass'
    )
    return [Finding('warn', 'mass_against_impulse', text, 'total_mass', size=apart)]


def scaled_motion(names: Sequence[str], value: Array, covariance: Array) -> list[Finding]:
    """A motion that is surely larger or smaller than skin and skeletons make it."""
    if MOTION_SCALE not in names:
        return []
    place = names.index(MOTION_SCALE)
    scale, std = float(value[place]), float(np.sqrt(covariance[place, place]))
    if abs(scale) < max(SCALED * SCALE, SURELY_SCALED * std):
        return []
    side = 'large' if scale < 0.0 else 'small'
    text = (
        f'the motion is {100.0 * abs(scale):.2g} +- {100.0 * std:.1g} % too {side} for the forces '
        'that go with it, beside the weight: '
        "lengths of the model, skin over bones, or a scale of the poses' unit or of their clock"
    )
    return [Finding('warn', 'motion_scaled', text, MOTION_SCALE, size=scale)]


def implausible_links(fit: LinkFit, prior: LinkPrior) -> list[Finding]:
    """Single links of a weight that nobody would believe, or unlike that of the other side."""
    total = float(fit.parameters[:, 0].sum())
    mass = dict(zip(fit.links, fit.parameters[:, 0].tolist(), strict=True))
    given = dict(zip(prior.links, (prior.load * prior.mass).tolist(), strict=True))
    found = []
    for name, one in mass.items():
        before = given[name]
        if max(one, before) < SMALL_LINK * total:
            continue
        if not 1.0 / LINK_FACTOR < one / before < LINK_FACTOR:
            found.append(
                f'{name} {one:.3g} kg ({before:.3g} kg by the URDF, scaled to the weight)'
            )
        twin = other_side(name)
        if (
            twin <= name
            or twin not in mass
            or max(before / given[twin], given[twin] / before) > 1.1
        ):
            continue
        if max(one / mass[twin], mass[twin] / one) > SIDE_FACTOR:
            found.append(f'{name} {one:.3g} kg, {twin} {mass[twin]:.3g} kg')
    if not found:
        return []
    text = (
        f'single links of identified.urdf are not plausible: {listed(found)}; together they fit '
        'the wrenches, but errors of joint angles look like mass that moves from link to link'
    )
    return [Finding('warn', 'links_implausible', text, 'identified.urdf')]


def kept_to_the_urdf(fit: LinkFit) -> list[Finding]:
    """Equations on which identified.urdf is no better than the URDF as given, nor worse."""
    if not fit.kept:
        return []
    text = (
        f'identified.urdf keeps to the URDF as given on {", ".join(fit.kept)}: other masses do '
        'not predict stretches that were left out clearly better there, and would be wrong in the '
        'next recording as likely as not; the base parameters are not kept'
    )
    return [Finding('note', 'urdf_kept', text, 'identified.urdf')]


def link_findings(fit: LinkFit) -> list[Finding]:
    """Whether single links of identified.urdf are shaped by data, or by what can exist."""
    if len(fit.active) > MANY_AT_THE_BORDER * len(fit.links):
        text = (
            f'{len(fit.active)} of {len(fit.links)} links of identified.urdf lie at the border of '
            'what can exist: together they predict the wrenches, but masses, centres and inertias '
            'of single links must not be relied on (a smaller prior_percent keeps them nearer to '
            'the URDF as given)'
        )
        return [Finding('warn', 'links_at_the_border', text, 'identified.urdf')]
    text = 'Every link of identified.urdf is physically possible'
    if not fit.active:
        return [Finding('good', 'links_possible', f'{text}.', 'identified.urdf')]
    text += f'; {listed(fit.active)} lie at the limit, where the data alone would go beyond.'
    return [Finding('note', 'links_possible', text, 'identified.urdf')]


def validation_offsets(validation: Wrenches) -> list[Finding]:
    """What was done about offsets that are not those of the identification."""
    told = f'{validation.label}: offsets of the wrench sensors are'
    if validation.offsets == OWN:
        text = f'{told} large and others than identified: its own are taken off'
        return [Finding('warn', 'validation_offsets', text, validation.label)]
    if validation.offsets == NONE:
        text = f'{told} not those identified, which are left out'
        return [Finding('note', 'validation_offsets', text, validation.label)]
    return []
