"""A drawing that is somewhat off: joints farther out or in, or higher, by a fitted size."""

from __future__ import annotations

from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.systems.parallel.checks.judge import Judge
from veh_identification.systems.parallel.checks.machine import Hypotheses, Machine, described
from veh_identification.systems.parallel.checks.sizes import best_change

#: What a radius scales of a joint's place.
OUTWARDS = np.array([1.0, 1.0, 0.0])
#: Errors of a drawing that are looked for: share of the radii, m along the axis of the platform.
LARGEST_RADIUS, LARGEST_HEIGHT = 0.3, 0.1


def drawings(judge: Judge, *, coarse: bool = False) -> Hypotheses:
    """Joints that are described farther out or in, or higher, than they are.

    `coarse`: as they are described no pose has the lengths, so that sizes are tried first.
    """
    for part in ('base', 'platform'):
        share = best_change(
            judge,
            lambda size, part=part: wider(judge.machine, part, size),  # type: ignore[misc]
            LARGEST_RADIUS,
            coarse=coarse,
        )
        if share is not None:
            change = partial(wider, part=part, share=share)
            text = too_far_out(part, 1.0 / (1.0 + share))
            yield Hypothesis('geometry', text, change, f'entry {part}')
    metres = best_change(judge, lambda size: higher(judge.machine, size), LARGEST_HEIGHT,
                         coarse=coarse)  # fmt: skip
    if metres is not None:
        change = partial(higher, metres=metres)
        yield Hypothesis('geometry', too_high(metres), change, 'entry platform')


def wider(machine: Machine, part: str, share: float) -> Machine:
    """Joints of base or platform farther out."""
    joints = getattr(machine.model.robot, f'{part}_joints')
    return described(machine, {f'{part}_joints': joints * (1.0 + share * OUTWARDS)})


def higher(machine: Machine, metres: float) -> Machine:
    """Joints of the platform higher."""
    joints = machine.model.robot.platform_joints + [0.0, 0.0, metres]
    return described(machine, {'platform_joints': joints})


def too_far_out(part: str, times: float) -> str:
    """What is said of joints farther out than they are."""
    return f'the joints of the {part} seem to be described {times:.3g} times too far out'


def too_high(metres: float) -> str:
    """The same of the platform, m by which its joints must rise."""
    return f'the joints of the platform seem to be described {-1e3 * metres:+.3g} mm too high'
