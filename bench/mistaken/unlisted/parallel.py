"""Of a six-legged parallel robot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mistaken.common import Mistake
from mistaken.parallel import Case, Changed, _joints, entry, forces, lengths
from mistaken.unlisted import arrays, further_parallel
from veh_identification.types import Array


def _joints_of(part: str, change: arrays.Change) -> Changed:
    def made(data: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in data[part].items() if key != 'ring'}
        return {part: {**kept, 'joints': change(np.array(_joints(part))).tolist()}}

    return entry(made)


def _drifting(share: float) -> Changed:
    """Efforts of another clock."""

    def make(case: Case) -> Case:
        t = 1e-9 * (case.stamps - case.stamps[0])
        late = np.column_stack([np.interp(t, (1.0 + share) * t, f) for f in case.forces.T])
        return replace(case, forces=late)

    return make


def _inwards(q: Array) -> Array:
    q[:, 2] = 2.0 * q[:, 2].mean() - q[:, 2]
    return q


def _higher(data: dict[str, Any], metres: float) -> dict[str, Any]:
    home = list(data['home'])
    return {'home': [*home[:2], home[2] + metres, *home[3:]]}


DELAY = ('effort_delay', 'effort_delay_possible')
MISTAKES: dict[str, Mistake] = {
    'length of leg 3 counted inwards': Mistake(lengths(_inwards), ('length_sign', 'unit')),
    'lengths smoothed over 20 ms': Mistake(lengths(arrays.smoothed(10.0)), DELAY),
    'efforts smoothed over 20 ms': Mistake(forces(arrays.smoothed(10.0)), DELAY),
    'effort of leg 4 smoothed over 50 ms': Mistake(
        forces(lambda f: np.where(np.arange(6) == 3, arrays.smoothed(25.0)(f), f)), DELAY
    ),
    'efforts in steps of 100 N': Mistake(forces(arrays.rounded(100.0)), ('coarse',)),
    'lengths in steps of 2 mm': Mistake(lengths(arrays.rounded(0.002)), ('coarse',)),
    'efforts without their means': Mistake(
        forces(lambda f: f - f.mean(axis=0)), ('effort_offset', 'offset')
    ),
    'efforts without signs': Mistake(forces(np.abs), ('effort_sign', 'unsigned', 'rectified')),
    'efforts of pushing alone': Mistake(
        forces(lambda f: np.maximum(f, 0.0)), ('saturated', 'rectified')
    ),
    'effort of leg 4 freezes for 2 s': Mistake(
        forces(arrays.frozen(0.5, 0.67, [3])), ('stuck', 'repeated')
    ),
    'all lengths freeze for 1 s': Mistake(
        lengths(arrays.frozen(0.5, 0.583)), ('stuck', 'repeated', 'period_dropped')
    ),
    'base joints counted one further': Mistake(
        _joints_of('base', lambda p: np.roll(p, 1, axis=0)),
        ('legs_exchanged', 'lengths_exchanged', 'geometry'),
    ),
    'platform joints counted one further': Mistake(
        _joints_of('platform', lambda p: np.roll(p, 1, axis=0)),
        ('legs_exchanged', 'lengths_exchanged', 'geometry'),
    ),
    'platform mirrored at its y': Mistake(
        _joints_of('platform', arrays.times(-1.0, 1)), ('geometry', 'legs_exchanged')
    ),
    'base joints 5 % too far out': Mistake(
        _joints_of('base', arrays.times(1.05, 0, 1)),
        ('geometry', 'length_scale', 'length_offset'),
    ),
    'platform joints 10 % too far out': Mistake(
        _joints_of('platform', arrays.times(1.1, 0, 1)),
        ('geometry', 'length_scale', 'length_offset'),
    ),
    'platform joints 20 mm too low': Mistake(
        _joints_of('platform', arrays.plus(-0.02, 2)), ('geometry', 'length_offset')
    ),
    'platform in cm': Mistake(_joints_of('platform', lambda p: 100.0 * p), ('unit', 'geometry')),
    'home 0.1 m too low': Mistake(
        entry(lambda d: _higher(d, -0.1)), ('home', 'length_offset', 'geometry')
    ),
    'gravity in g': Mistake(entry(lambda d: {'gravity': [0.0, 0.0, -1.0]}), ('gravity', 'unit')),
    'no gravity': Mistake(entry(lambda d: {'gravity': [0.0, 0.0, 0.0]}), ('gravity',)),
    'clock of the efforts 0.2 % fast': Mistake(
        _drifting(0.002), (*DELAY, 'clock_drift', 'clock', 'changes')
    ),
    'a second source of zeros on the topic of the efforts': Mistake(
        forces(arrays.alternating(lambda f: 0.0 * f)),
        ('two_sources', 'duplicates', 'dropped_out', 'glitches_left_out'),
    ),
    'zero of effort 2 wanders by 200 N': Mistake(
        forces(arrays.drifted(200.0, 1)), ('effort_offset', 'changes', 'drift', 'offset')
    ),
    'effort of leg 2 1.3 times too large from the middle on': Mistake(
        forces(arrays.lately(0.5, arrays.times(1.3, 1))), ('scale', 'changes')
    ),
    'length of leg 5 2 % too large': Mistake(
        lengths(arrays.times(1.02, 4)), ('length_scale', 'length_offset', 'scale')
    ),
    'efforts per cent of 500 N': Mistake(forces(lambda f: 0.2 * f), ('unit', 'scale')),
}
MISTAKES |= further_parallel.MISTAKES
