"""Which samples may be used: all support measured, no impacts; with the reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import maximum_filter1d

from veh_identification.findings import Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.signals import Raw, Samples
from veh_identification.types import Array, BoolArray

UNLOADED = 0.1  # share of the weight below which the sensors count as unloaded
WELL_LOADED = 0.7  # share of the mean load above which ratios of loads say something
IMPACT_FACTOR = 8.0  # over the usual high-frequency content
IMPACT_SHARE = 0.05  # of the weight, at least
# Below this share of what identified parameters predict, it is not the robot that is light.
OTHER_ROBOT = 0.5
SMEARED_SECONDS = 0.1
MANY_RECORDINGS = 4  # from here on they share their sentences
# Horizontal moments: how many times the usual error, and metres of the centre of pressure.
MOMENT_FACTOR, MOMENT_SHARE = 6.0, 0.02
RAYLEIGH_MEDIAN = 1.177  # median length of two normal errors
MOST_UNFIT = 0.3
MOST_IMPACTS = 0.3  # if more than this looks like impacts, it is simply how the recording is
# People who walk and run hit the ground at every step: where impacts are more frequent than this
# they are kept, if the motion shows them (the load misses the expected one by less than a share of
# the weight, in the mean). The equations hold for impulses as well, filtered on both sides.
RARE_IMPACTS, SHOWN_IMPACTS = 0.05, 0.05
# Skin, stamps and filters make the load seem wrong for moments, at impacts above all. Another
# support takes it over for this long, or as much of it: s, and s of the whole weight.
MISSING_SECONDS = 0.25
TIGHTEST_SUPPORT = 0.06  # share of the weight by which loads may always miss
MISSING_IMPULSE = 0.1


# Why samples are left out, by the codes of the findings that say so.
REASONS = {
    'signal_missing': 'a signal is missing',
    'filter_ends': 'at the ends of stretches, which the filter spoils',
    'impacts': 'around impacts',
    'off_the_sensors': 'the robot was not on the sensors',
    'other_support': 'another support carried a part of the robot',
    'moments_unfit': 'the moments do not fit (a foot on an edge, a wrong centre of pressure)',
}
# Where much is left out for these, what is left is in doubt as well. Robots may well be beside
# their plates for most of the time.
DOUBTFUL = ('signal_missing', 'other_support', 'moments_unfit')
DOUBTFUL_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class Selection:
    """Usable grid points of one recording and what was left out."""

    usable: BoolArray
    weight: float  # N, as the sensors show it when they carry the whole robot
    seconds: dict[str, float] = field(default_factory=dict)  # by reason
    duration: float = float('nan')  # s of the recording

    def sentences(self, label: str) -> list[str]:
        """One sentence per reason."""
        return [one.text for one in self.findings(label)]

    def findings(self, label: str) -> list[Finding]:
        """One finding per reason."""
        return [
            _left_out(
                code,
                seconds / self.duration,
                f'{label}: {seconds:.3g} s left out, {REASONS[code]}',
                label,
            )
            for code, seconds in self.seconds.items()
            if seconds > 0.0
        ]


def _left_out(code: str, share: float, text: str, where: str) -> Finding:
    doubtful = code in DOUBTFUL and share > DOUBTFUL_SHARE
    return Finding('warn' if doubtful else 'note', f'left_out_{code}', text, where)


def left_out(chosen: Sequence[tuple[str, Selection]]) -> list[Finding]:
    """Findings on all recordings; one for all of them where many have the same to say."""
    if len(chosen) < MANY_RECORDINGS:
        return [found for label, one in chosen for found in one.findings(label)]
    duration = sum(one.duration for _, one in chosen)
    findings = []
    for code in dict.fromkeys(code for _, one in chosen for code in one.seconds):
        parts = [one.seconds.get(code, 0.0) for _, one in chosen]
        affected = sum(seconds > 0.0 for seconds in parts)
        if affected:
            most, worst = max(
                (seconds, label) for seconds, (label, _) in zip(parts, chosen, strict=True)
            )
            text = (
                f'{affected} of {len(chosen)} recordings: {sum(parts):.3g} s left out, '
                f'{REASONS[code]} (most in {worst}: {most:.3g} s)'
            )
            findings.append(_left_out(code, sum(parts) / duration, text, worst))
    return findings


@dataclass(frozen=True, eq=False)
class Loads:
    """Vertical force (N,) measured and predicted; use only the `valid` samples."""

    measured: Array
    predicted: Array
    valid: BoolArray
    moments: Array  # (N, 2) measured minus predicted NX, NY
    weight: float  # N, of the parameters that predict

    def unfit(self, use: BoolArray, weight: float) -> BoolArray:
        """Samples whose moments miss those of the others by far while the force may fit.

        That is a foot on the edge of a plate, or a plate that knows its load but not its place.
        """
        error = np.linalg.norm(self.moments - np.median(self.moments[use], axis=0), axis=1)
        usual = float(np.median(error[use])) / RAYLEIGH_MEDIAN
        found = self.valid & (error > max(MOMENT_FACTOR * usual, MOMENT_SHARE * weight))
        # If so much does not fit, it is the model that is wrong, not the sensors.
        return found if found[use].mean() < MOST_UNFIT else np.zeros_like(found)


def judged(
    samples: Samples, model: TreeModel, parameters: Array | None = None, gravity: float = 9.80665
) -> Loads:
    """Loads along world z against those of the given (or CAD) parameters, and moments."""
    predicted = inverse_dynamics(model, samples.motion, parameters)
    mass = (model.parameters if parameters is None else parameters)[:, 0].sum()
    up = samples.rotation[:, 2, :]  # world z in base axes
    return Loads(
        np.einsum('ni,ni->n', samples.wrench[:, :3], up),
        np.einsum('ni,ni->n', predicted[:, :3], up),
        samples.valid,
        samples.wrench[:, 3:5] - predicted[:, 3:5],
        float(mass) * gravity,
    )


def scale_of_load(measured: Array, predicted: Array) -> float:
    """Measured over predicted when everything is carried: the highest well-populated level.

    Other supports can only take load away from the sensors, so of several levels (standing on
    the plates, one foot beside them, not on them) the highest one is the whole robot's.
    """
    # Where little load is expected, a lag of some ms makes any ratio.
    use = predicted > WELL_LOADED * np.mean(np.abs(predicted))
    ratio = np.sort(measured[use] / predicted[use])
    if not len(ratio):
        return 1.0
    loaded = ratio[ratio > UNLOADED * np.percentile(ratio, 98)]
    if not len(loaded):
        return 1.0
    share = max(int(0.1 * len(loaded)), 1)
    for level in loaded[::-1][:: max(1, len(loaded) // 400)]:
        inside = (loaded >= 0.9 * level) & (loaded <= level)
        if inside.sum() >= share:
            near = loaded[(loaded >= 0.85 * level) & (loaded <= 1.1 * level)]
            return float(np.median(near))
    return float(np.median(loaded))


def select(
    raw: Raw,
    loads: Loads,
    tolerance: float,
    *,
    support: bool = True,
    impacts: bool = True,
    identified: bool = False,
    unfit: BoolArray | None = None,
) -> Selection:
    """Grid points at which the sensors carry the whole robot and nothing hits the ground.

    `tolerance` is the share of the load by which the vertical force may miss the model's, whose
    parameters are `identified` or those of the CAD; samples that are `unfit` are left out too.
    """
    measured, predicted, valid = loads.measured, loads.predicted, loads.valid
    scale = scale_of_load(measured[valid], predicted[valid])
    if identified and scale < OTHER_ROBOT:
        scale = 1.0  # identified parameters: then it is not light, but beside the sensors
    weight = scale * loads.weight
    hits = find_impacts(raw, weight) if impacts else np.zeros(len(valid), dtype=bool)
    if shown_by_motion(hits & valid, raw.valid, measured - scale * predicted, weight):
        hits = np.zeros_like(hits)
    reasons = {
        'signal_missing': ~raw.valid,
        'filter_ends': raw.valid & ~valid,
        'impacts': hits & valid,
    }
    if support:
        wrong = valid & other_support(measured, scale * predicted, weight, tolerance, raw.rate)
        for part in contiguous_segments(valid):
            both = measured[part], scale * predicted[part]
            wrong[part] |= unclear_ends(*both, weight, tolerance, raw.rate)
        # Load is taken over within a step: what lies next to a wrong stretch is not trusted.
        near = _widened(wrong, round(0.05 * raw.rate)) & valid
        # Filtering smears a hit over its neighbours, which then look as if load were missing.
        smeared = near & ~wrong & _widened(hits, round(SMEARED_SECONDS * raw.rate))
        reasons['impacts'] = reasons['impacts'] | smeared
        off = wrong & (measured < UNLOADED * weight)
        reasons['off_the_sensors'] = off & ~hits
        reasons['other_support'] = near & ~smeared & ~off & ~hits
        if unfit is not None:
            long = _lasting(unfit, MISSING_SECONDS * raw.rate)
            wide = _widened(long, round(0.05 * raw.rate)) & valid
            reasons['moments_unfit'] = wide & ~near & ~hits
    usable = ~np.any(list(reasons.values()), axis=0)
    seconds = {code: float(mask.sum()) / raw.rate for code, mask in reasons.items()}
    return Selection(usable, weight, seconds, len(usable) / raw.rate)


def other_support(
    measured: Array, expected: Array, weight: float, tolerance: float, rate: float
) -> BoolArray:
    """Samples (N,) of vertical load at which something else than the sensors carries a part.

    The load misses the expected one by a share of it (or of the weight, where less is expected: in
    flight both are zero, which fits) for long, or by so much that it is no matter of moments.
    """
    error = measured - expected
    misses = load_misses(measured, expected, weight, tolerance)
    found = np.zeros(len(error), dtype=bool)
    for sign in (-1.0, 1.0):
        for run in contiguous_segments(misses & (sign * error > 0.0)):
            missing = float(np.abs(error[run]).sum()) / rate
            lasting = (run.stop - run.start) / rate >= MISSING_SECONDS
            found[run] = lasting or missing > MISSING_IMPULSE * weight
    return found


def unclear_ends(
    measured: Array,
    expected: Array,
    weight: float,
    tolerance: float,
    rate: float,
    ends: tuple[bool, bool] = (True, True),
) -> BoolArray:
    """Samples (N,) at the ends of a stretch at which the load is not the expected one.

    Nobody knows what was before and what comes after. Trials are cut where a foot is about to
    leave the floor beside the plate: the load misses for moments, but the very ends are what
    momentum and impulse rest on. `ends`: whether the first and the last sample are such ends.
    """
    misses = load_misses(measured, expected, weight, tolerance)
    found = np.zeros_like(misses)
    for run in contiguous_segments(misses):
        at_end = (ends[0] and run.start == 0) or (ends[1] and run.stop == len(misses))
        # What lasts is no matter of the ends: it is another support, or another load.
        found[run] = at_end and (run.stop - run.start) / rate < MISSING_SECONDS
    return found


def fitting_tolerance(errors: Array, weight: float, most: float) -> float:
    """Share of the weight by which loads may miss, where they miss by these errors."""
    spread = 1.4826 * float(np.median(np.abs(errors)))
    return float(np.clip(6.0 * spread / weight, min(TIGHTEST_SUPPORT, most), most))


def load_misses(measured: Array, expected: Array, weight: float, tolerance: float) -> BoolArray:
    """Samples (N,) at which the load is not the expected one."""
    # Jumps load several times the weight, and errors grow with the load.
    allowed = tolerance * np.maximum(np.abs(expected), weight)
    return np.asarray(np.abs(measured - expected) > allowed)


def _lasting(mask: BoolArray, count: float) -> BoolArray:
    """The runs of a mask that hold at least `count` samples."""
    found = np.zeros_like(mask)
    for run in contiguous_segments(mask, max(1, int(np.ceil(count - 1e-6)))):
        found[run] = True
    return found


def find_impacts(raw: Raw, weight: float) -> BoolArray:
    """Grid points within 30 ms of a force that changes much faster than usual."""
    none = np.zeros(len(raw.stamps), dtype=bool)
    jump = np.zeros(len(raw.stamps))
    for segment in contiguous_segments(raw.valid, 16):
        force = raw.world[segment, :3]
        change = np.zeros(len(force))
        # The second difference leaves smooth loading alone and shows hits.
        change[1:-1] = np.linalg.norm(force[2:] - 2.0 * force[1:-1] + force[:-2], axis=1)
        jump[segment] = change
    usual = float(np.median(jump[raw.valid])) if raw.valid.any() else 0.0
    hits = jump > max(IMPACT_FACTOR * usual, IMPACT_SHARE * weight)
    wide = _widened(hits, max(1, round(0.03 * raw.rate)))
    return wide if wide[raw.valid].mean() < MOST_IMPACTS else none


def shown_by_motion(hits: BoolArray, known: BoolArray, error: Array, weight: float) -> bool:
    """Whether impacts are frequent and the expected load has them, too."""
    if not hits.any() or hits.sum() < RARE_IMPACTS * known.sum():
        return False
    return bool(abs(np.mean(error[hits])) < SHOWN_IMPACTS * weight)


def _widened(mask: BoolArray, count: int) -> BoolArray:
    if not mask.any() or count < 1:
        return mask
    return np.asarray(maximum_filter1d(mask, 2 * count + 1, mode='constant'))
