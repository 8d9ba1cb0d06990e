"""Wrong frames, signs and sides, found by trying what they would explain.

The CAD model predicts the total wrench well enough to tell a plate that is turned by 90 degrees,
reports the opposite force, or feet that are swapped, from the real thing: if one of these makes
the measured wrench fit several times better, that is named, and the recording is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from veh_identification.checks.explanation import Hypothesis, best_explanation
from veh_identification.findings import Finding
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.humanoid.estimation.problem import Problem, judging_samples
from veh_identification.systems.humanoid.processing.signals import (
    Raw,
    at_base,
    signal_filter,
    with_wrenches,
)
from veh_identification.types import Array

# A hypothesis must leave this share of the misfit as it is, which must be bad (mean squares).
MUCH_BETTER = 0.3
BAD = 0.15
SMALLEST_SHIFT = 0.1  # m of a plate's origin; models of persons may miss by half of that
FEWEST_LOADED = 20


class _Comparison:
    """Wrenches (N, S, 6) as sensors show them, against what the motion of the CAD model needs."""

    def __init__(self, problem: Problem, raw: Raw) -> None:
        self.problem, self.raw = problem, raw
        self.samples = judging_samples(problem, raw)
        self.predicted = inverse_dynamics(problem.model, self.samples.motion)[:, :6]
        self.weight = float(problem.prior.mass.sum()) * problem.configuration.gravity
        self._low_pass = signal_filter(raw, 2.4)

    def at_base(self, wrenches: Array) -> Array:
        """Their sum (N, 6) at the base origin in base axes, low-passed."""
        other = with_wrenches(self.raw, self.problem.model, wrenches)
        world = np.nan_to_num(self._low_pass.apply(other.world, self.raw.valid)[0])
        return at_base(world, self.samples.rotation, self.samples.position - other.centre)

    def misfit(self, wrenches: Array) -> float:
        """Root mean square of the difference in natural units."""
        measured = self.at_base(wrenches)
        loaded = self.samples.valid & (np.abs(measured[:, 2]) > 0.3 * self.weight)
        if loaded.sum() < FEWEST_LOADED:
            return np.inf
        return misfit(measured[loaded], self.predicted[loaded], self.weight)

    def moments(self, wrenches: Array) -> Array:
        """Moments of the valid samples."""
        return self.at_base(wrenches)[self.samples.valid, 3:]


def frame_findings(problem: Problem, raw: Raw) -> list[Finding]:
    """A frame, sign or side with which the wrenches would fit the motion far better, if any."""
    comparison = _Comparison(problem, raw)
    as_it_is = comparison.misfit(raw.wrenches)
    if not as_it_is > np.sqrt(BAD):
        return []
    hypotheses = [
        *_signs_and_turns(raw),
        *_swaps(raw),
        *_shifts(raw, comparison.moments, comparison.predicted[comparison.samples.valid, 3:]),
    ]
    found = best_explanation(raw.wrenches, hypotheses, comparison.misfit, as_it_is)
    if found.best is None or not found.misfit < np.sqrt(MUCH_BETTER) * as_it_is:
        return []
    text = (
        f'{raw.label}: {found.best.text}; with that the measured wrench fits the motion '
        f'{found.factor:.3g} times better (check_frames: false skips this test)'
    )
    where = f'{raw.label}, {found.best.where}'
    return [Finding('bad', found.best.code, text, where, found.factor)]


def misfit(measured: Array, predicted: Array, weight: float) -> float:
    """Root mean square of the difference in natural units, after the best common scale."""
    unit = np.array([0.05 * weight] * 3 + [0.01 * weight] * 3)
    unit = np.maximum(unit * np.array([1, 1, 1, 0.3, 0.3, 0.3]), predicted.std(axis=0))
    y, p = measured / unit, predicted / unit
    scale = float(np.sum(y * p) / np.sum(p * p))
    # A negative scale would explain a flipped sign, no scale at all anything.
    scale = max(scale, 0.2)
    return float(np.sqrt(np.mean(np.square(y - scale * p)))) / scale


def _signs_and_turns(raw: Raw) -> Iterator[Hypothesis[Array]]:
    """All plates, each of a few plates, or all sensors on the robot, turned by quarters."""
    plates = [k for k, source in enumerate(raw.sources) if source.is_plate]
    sensors = [k for k, source in enumerate(raw.sources) if not source.is_plate]
    groups = [plates] if plates else []
    groups += [[k] for k in plates] if 1 < len(plates) <= 4 else []
    groups += [sensors] if sensors else []
    for group in groups:
        topics = [raw.sources[k].topic for k in group]
        names, where = ' and '.join(topics), f'topic {", ".join(topics)}'
        yield Hypothesis(
            'opposite_sign',
            f'{names} seems to have the opposite sign (what the robot exerts)',
            _turned(group, -np.eye(3)),
            where,
        )
        for matrix, what in _turns():
            for sign, also in ((1.0, ''), (-1.0, ' and to have the opposite sign')):
                yield Hypothesis(
                    'frame_turned',
                    f'the frame of {names} seems to be turned by {what}{also}',
                    _turned(group, sign * matrix),
                    where,
                )


def _turned(group: Sequence[int], matrix: Array) -> Callable[[Array], Array]:
    """Forces and moments of some sensors times a matrix."""

    def change(wrenches: Array) -> Array:
        made = wrenches.copy()
        for k in group:
            made[:, k, :3] = wrenches[:, k, :3] @ matrix.T
            made[:, k, 3:] = wrenches[:, k, 3:] @ matrix.T
        return made

    return change


def _swaps(raw: Raw) -> Iterator[Hypothesis[Array]]:
    for i in range(len(raw.sources)):
        for j in range(i):
            if raw.sources[i].is_plate == raw.sources[j].is_plate:
                one, other = raw.sources[j].topic, raw.sources[i].topic
                yield Hypothesis(
                    'sensors_swapped',
                    f'{one} and {other} seem to be swapped',
                    _swapped(i, j),
                    f'topics {one} and {other}',
                )


def _swapped(i: int, j: int) -> Callable[[Array], Array]:
    def change(wrenches: Array) -> Array:
        made = wrenches.copy()
        made[:, [i, j]] = wrenches[:, [j, i]]
        return made

    return change


def _shifts(
    raw: Raw, moments: Callable[[Array], Array], predicted: Array
) -> Iterator[Hypothesis[Array]]:
    """Each plate's moments about the point from which they fit the motion best.

    Moments that are about a point d from the frame's origin miss d x F.
    """
    as_they_are = moments(raw.wrenches)
    nothing = moments(np.zeros_like(raw.wrenches))
    for k, source in enumerate(raw.sources):
        if not source.is_plate:
            continue
        effects = []
        for axis in np.eye(3)[:2]:  # along its normal it hardly matters, so that errors decide
            turned = np.zeros_like(raw.wrenches)
            turned[:, k, 3:] = np.cross(axis, raw.wrenches[:, k, :3])
            effects.append((moments(turned) - nothing).ravel())
        shift = np.append(
            np.linalg.lstsq(
                np.column_stack(effects), (predicted - as_they_are).ravel(), rcond=None
            )[0],
            0.0,
        )
        if np.linalg.norm(shift) < SMALLEST_SHIFT:
            continue
        place = ', '.join(f'{value:.2f}' for value in shift[:2])
        yield Hypothesis(
            'moments_about_another_point',
            f'the moments of {source.topic} seem to be about the point ({place}) m '
            'of its frame and not about its origin, or the pose of the plate is wrong '
            'by that',
            _moved(k, shift),
            f'topic {source.topic}, wrench.torque',
        )


def _moved(k: int, shift: Array) -> Callable[[Array], Array]:
    def change(wrenches: Array) -> Array:
        made = wrenches.copy()
        made[:, k, 3:] += np.cross(shift, wrenches[:, k, :3])
        return made

    return change


def _turns() -> Iterator[tuple[Array, str]]:
    for axis, angles in (('z', (90, 180, -90)), ('x', (180, 90, -90)), ('y', (180, 90, -90))):
        for angle in angles:
            yield (
                matrix_of_rpy([np.radians(angle) * (axis == one) for one in 'xyz']),
                f'{angle} degrees about its {axis} axis',
            )
