"""One leg alone that is wrong by a size that the residuals ask for: gain, zeros, a joint."""

from __future__ import annotations

from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.errors import ModelError
from veh_identification.systems.parallel.checks.judge import Judge
from veh_identification.systems.parallel.checks.machine import (
    Hypotheses,
    changed_lengths,
    scaled_efforts,
    tared,
)
from veh_identification.systems.parallel.checks.sizes import best_sizes
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.types import Array

#: Logarithm of a gain of one effort that is worth a word.
SMALLEST_GAIN = 0.03
#: Step (m) by which the length of one leg is tried longer and shorter, and its largest error.
LENGTH_STEP, LARGEST_SHIFT = 2e-3, 0.1
#: Metres by which the mean length of one leg alone must be from where it is at home to be asked.
SMALLEST_GAP = 2e-3


def gains(judge: Judge) -> Hypotheses:
    """One effort with another gain: the residuals are linear in it, so that its size is known."""
    factors = 1.0 + best_sizes(judge, judge.machine.record.forces.mean)
    for k, (leg, factor) in enumerate(zip(LEGS, factors.tolist(), strict=True)):
        if not (factor > 0.1 and abs(np.log(factor)) > SMALLEST_GAIN):
            continue
        size = np.ones(6)
        size[k] = factor
        text = one_scaled(leg, factor)
        yield Hypothesis('scale', text, partial(scaled_efforts, factor=size), f'effort[{leg}]')


def zeros_of_efforts(judge: Judge) -> Hypotheses:
    """One effort that is not tared: the residuals are linear in its zero as well."""
    zeros = best_sizes(judge, np.ones_like(judge.machine.record.forces.mean))
    for leg, shift in zip(LEGS, np.diag(zeros), strict=True):
        text = one_untared(leg, float(shift.sum()))
        yield Hypothesis('effort_offset', text, partial(tared, shift=shift), f'effort[{leg}]')


def zeros_of_lengths(judge: Judge) -> Hypotheses:
    """One leg whose zero, or whose joint, is elsewhere: the length that the residuals ask for."""
    for k, leg in enumerate(LEGS):
        try:
            shift = _best_shift(judge, k)
        except ModelError:  # no pose has such lengths: nothing is wrong with those that are there
            continue
        if not abs(shift[k]) < LARGEST_SHIFT:
            continue
        text = one_shifted(leg, float(shift[k]))
        yield Hypothesis(
            'length_offset', text, partial(changed_lengths, shift=shift), f'position[{leg}]'
        )


def zeros_of_impossible(judge: Judge) -> Hypotheses:
    """The same where no pose has the lengths: from where the leg would stand at home."""
    robot = judge.machine.model.robot
    nominal = inverse_kinematics(robot, robot.home)[0]
    apart = nominal - judge.machine.record.lengths.mean.mean(axis=0)
    for k, leg in enumerate(LEGS):
        start = float(apart[k] - np.median(np.delete(apart, k)))
        if not SMALLEST_GAP < abs(start) < LARGEST_SHIFT:
            continue
        try:
            shift = _best_shift(judge, k, start)
        except ModelError:
            continue
        text = one_shifted(leg, float(shift[k]))
        yield Hypothesis(
            'length_offset', text, partial(changed_lengths, shift=shift), f'position[{leg}]'
        )


def _best_shift(judge: Judge, leg: int, start: float = 0.0) -> Array:
    """Of one leg (6,): Gauss and Newton, as the residuals are nearly linear in some mm."""
    shift = np.zeros(6)
    shift[leg] = start
    for _ in range(2 if start == 0.0 else 4):
        own = judge.residual(changed_lengths(judge.machine, shift=shift))
        further = shift + LENGTH_STEP * np.eye(6)[leg]
        change = judge.residual(changed_lengths(judge.machine, shift=further)) - own
        shift[leg] -= LENGTH_STEP * float(change @ own) / max(float(change @ change), 1e-300)
        if not abs(shift[leg]) < LARGEST_SHIFT:
            break
    return shift


def one_scaled(leg: str, factor: float) -> str:
    """What is said of an effort that must be taken times a factor."""
    return f'the effort of {leg} seems to be {1.0 / factor:.3g} times too large'


def one_untared(leg: str, shift: float) -> str:
    """The same of one that must grow by a shift (N)."""
    return f'the effort of {leg} seems to be {-shift:+.4g} N off its zero'


def one_shifted(leg: str, shift: float) -> str:
    """The same of a length that must grow by a shift (m)."""
    return (
        f'the length of {leg} seems to be {-1e3 * shift:+.3g} mm off its zero (or one of its '
        'joints is elsewhere)'
    )
