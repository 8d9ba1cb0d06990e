"""Wrong frames, signs and sides, found by trying what they would explain.

The CAD model predicts the total wrench well enough to tell a plate that is turned by 90 degrees,
reports the opposite force, or feet that are swapped, from the real thing: if one of these makes
the measured wrench fit several times better, the recording is refused with that sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.systems.humanoid.estimation.problem import Problem, judging_samples
from veh_identification.systems.humanoid.processing.signals import (
    Raw,
    at_base,
    signal_filter,
    with_wrenches,
)
from veh_identification.types import Array

# A hypothesis must be this many times better than the recording as it is, which must be bad.
MUCH_BETTER = 0.3
BAD = 0.15
SMALLEST_SHIFT = 0.1  # m of a plate's origin; models of persons may miss by half of that


class FrameFindingError(InputError):
    """A wrench sensor's frame, sign or side contradicts the motion."""


def check_frames(problem: Problem, raw: Raw) -> None:
    """Refuse a recording whose wrenches make sense only with another frame, sign or side."""
    samples = judging_samples(problem, raw)
    predicted = inverse_dynamics(problem.model, samples.motion)[:, :6]
    weight = float(problem.prior.mass.sum()) * problem.configuration.gravity
    low_pass = signal_filter(raw, 2.4)

    def cost(wrenches: Array) -> float:
        other = with_wrenches(raw, problem.model, wrenches)
        world = np.nan_to_num(low_pass.apply(other.world, raw.valid)[0])
        measured = at_base(world, samples.rotation, samples.position - other.centre)
        loaded = samples.valid & (np.abs(measured[:, 2]) > 0.3 * weight)
        if loaded.sum() < 20:
            return np.inf
        return misfit(measured[loaded], predicted[loaded], weight)

    as_it_is = cost(raw.wrenches)
    if not as_it_is > BAD:
        return

    def moments(wrenches: Array) -> Array:
        other = with_wrenches(raw, problem.model, wrenches)
        world = np.nan_to_num(low_pass.apply(other.world, raw.valid)[0])
        return at_base(world, samples.rotation, samples.position - other.centre)[samples.valid, 3:]

    tried = [(cost(wrenches), sentence) for wrenches, sentence in _hypotheses(raw)]
    tried += [
        (cost(wrenches), sentence)
        for wrenches, sentence in _shifts(raw, moments, predicted[samples.valid, 3:])
    ]
    best, sentence = min(tried, default=(np.inf, ''))
    if best < MUCH_BETTER * as_it_is:
        raise FrameFindingError(
            f'{raw.label}: {sentence}; with that the measured wrench fits the motion '
            f'{np.sqrt(as_it_is / best):.3g} times better (check_frames: false skips this test)'
        )


def misfit(measured: Array, predicted: Array, weight: float) -> float:
    """Mean square of the difference in natural units, after the best common scale."""
    unit = np.array([0.05 * weight] * 3 + [0.01 * weight] * 3)
    unit = np.maximum(unit * np.array([1, 1, 1, 0.3, 0.3, 0.3]), predicted.std(axis=0))
    y, p = measured / unit, predicted / unit
    scale = float(np.sum(y * p) / np.sum(p * p))
    # A negative scale would explain a flipped sign, no scale at all anything.
    scale = max(scale, 0.2)
    return float(np.mean(np.square(y - scale * p))) / scale**2


def _hypotheses(raw: Raw) -> Iterator[tuple[Array, str]]:
    plates = [k for k, source in enumerate(raw.sources) if source.is_plate]
    sensors = [k for k, source in enumerate(raw.sources) if not source.is_plate]
    groups = [plates] if plates else []
    groups += [[k] for k in plates] if 1 < len(plates) <= 4 else []
    groups += [sensors] if sensors else []
    for group in groups:
        names = ' and '.join(raw.sources[k].topic for k in group)
        flipped = raw.wrenches.copy()
        flipped[:, group] *= -1.0
        yield flipped, f'{names} seems to have the opposite sign (what the robot exerts)'
        for matrix, what in _turns():
            for sign, also in ((1.0, ''), (-1.0, ' and to have the opposite sign')):
                turned = raw.wrenches.copy()
                for k in group:
                    turned[:, k, :3] = sign * raw.wrenches[:, k, :3] @ matrix.T
                    turned[:, k, 3:] = sign * raw.wrenches[:, k, 3:] @ matrix.T
                yield turned, f'the frame of {names} seems to be turned by {what}{also}'
    for i in range(len(raw.sources)):
        for j in range(i):
            if raw.sources[i].is_plate == raw.sources[j].is_plate:
                swapped = raw.wrenches.copy()
                swapped[:, [i, j]] = raw.wrenches[:, [j, i]]
                yield (
                    swapped,
                    (f'{raw.sources[j].topic} and {raw.sources[i].topic} seem to be swapped'),
                )


def _shifts(
    raw: Raw, moments: Callable[[Array], Array], predicted: Array
) -> Iterator[tuple[Array, str]]:
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
        moved = raw.wrenches.copy()
        moved[:, k, 3:] += np.cross(shift, raw.wrenches[:, k, :3])
        place = ', '.join(f'{value:.2f}' for value in shift[:2])
        yield (
            moved,
            (
                f'the moments of {source.topic} seem to be about the point ({place}) m '
                'of its frame and not about its origin, or the pose of the plate is wrong '
                'by that'
            ),
        )


def _turns() -> Iterator[tuple[Array, str]]:
    for axis, angles in (('z', (90, 180, -90)), ('x', (180, 90, -90)), ('y', (180, 90, -90))):
        for angle in angles:
            yield (
                Rotation.from_euler(axis, angle, degrees=True).as_matrix(),
                f'{angle} degrees about its {axis} axis',
            )
