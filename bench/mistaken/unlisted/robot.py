"""Of an arm with measured joint torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mistaken.common import Mistake
from mistaken.robot import Case, Changed, both, efforts, entry, positions
from mistaken.unlisted import arrays, further_robot


def _drifting(share: float) -> Changed:
    def make(case: Case) -> Case:
        t = 1e-9 * (case.stamps - case.stamps[0])
        late = np.column_stack([np.interp(t, (1.0 + share) * t, f) for f in case.effort.T])
        return replace(case, effort=late)

    return make


DELAY = ('effort_delay', 'delay_found')
MISTAKES: dict[str, Mistake] = {
    'positions smoothed over 40 ms': Mistake(
        positions(arrays.smoothed(20.0)), DELAY, corrected=DELAY
    ),
    'efforts smoothed over 40 ms': Mistake(efforts(arrays.smoothed(20.0)), DELAY, corrected=DELAY),
    'positions in steps of 5 degrees': Mistake(positions(arrays.rounded(0.0873)), ('coarse',)),
    'efforts without signs': Mistake(
        efforts(np.abs), ('effort_sign', 'unsigned', 'rectified')
    ),
    'efforts of one direction alone': Mistake(
        efforts(lambda f: np.maximum(f, 0.0)), ('saturated', 'rectified')
    ),
    'effort of joint 2 freezes for 3 s': Mistake(
        efforts(arrays.frozen(0.5, 0.625, [1])), ('stuck', 'repeated', 'changes')
    ),
    'positions freeze for 2 s': Mistake(
        positions(arrays.frozen(0.5, 0.583)), ('stuck', 'repeated', 'changes')
    ),
    'zero of effort 2 wanders by 20 N m': Mistake(
        efforts(arrays.drifted(20.0, 1)), ('effort_offset', 'drift', 'changes', 'offset')
    ),
    'effort of joint 2 1.4 times too large from the middle on': Mistake(
        efforts(arrays.lately(0.5, arrays.times(1.4, 1))), ('effort_scale', 'changes', 'scale')
    ),
    'clock of the efforts 0.2 % fast': Mistake(
        _drifting(0.002), (*DELAY, 'clock_drift', 'changes')
    ),
    'a second source of zeros on the topic': Mistake(
        efforts(arrays.alternating(lambda f: 0.0 * f)),
        ('two_sources', 'duplicates', 'dropped_out', 'glitches_left_out'),
    ),
    'all joints one further': Mistake(
        both(lambda x: np.roll(x, 1, axis=1)), ('joints_swapped', 'joints_reversed',
                                                'beyond_limits')
    ),
    'gravity in g': Mistake(
        entry(gravity=[0.0, 0.0, -1.0]), ('gravity_direction', 'gravity', 'unit', 'effort_scale')
    ),
    'all positions 2 % too large': Mistake(positions(lambda q: 1.02 * q), ('position_scale',)),
    'effort of joint 2 30 N m off its zero': Mistake(
        efforts(arrays.plus(30.0, 1)), ('effort_offset', 'offset')
    ),
}  # fmt: skip
MISTAKES |= further_robot.MISTAKES
