"""Of a six-legged parallel robot: thought of after the first list was mended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mistaken.common import LEFT_OUT, Mistake
from mistaken.parallel import Case, Changed, _joints, entry, forces, lengths, scaled
from mistaken.unlisted import arrays
from veh_identification.types import Array


def _joints_of(part: str, change: arrays.Change) -> Changed:
    def made(data: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in data[part].items() if key != 'ring'}
        return {part: {**kept, 'joints': change(np.array(_joints(part))).tolist()}}

    return entry(made)


def _turned(degrees: float) -> arrays.Change:
    return lambda p: np.asarray(Rotation.from_euler('z', degrees, degrees=True).apply(p))


def _stamped(seconds: float) -> Changed:
    def make(case: Case) -> Case:
        t = arrays.on_ticks(seconds)(1e-9 * (case.stamps - case.stamps[0]))
        return replace(case, stamps=case.stamps[0] + np.round(1e9 * t).astype(np.int64))

    return make


def _yawed(data: dict[str, Any], radians: float) -> dict[str, Any]:
    home = list(data['home'])
    return {'home': [*home[:5], home[5] + radians]}


def _copied(values: Array) -> Array:
    values[:, 3] = values[:, 2]
    return values


DELAY = ('effort_delay', 'effort_delay_possible')
DRIFT = ('drift', 'effort_offset', 'changes', 'offset')
MISTAKES: dict[str, Mistake] = {
    'zero of effort 2 wanders by 150 N': Mistake(forces(arrays.drifted(-150.0, 1)), DRIFT),
    'length of leg 4 wanders by 10 mm': Mistake(
        lengths(arrays.drifted(0.01, 3)), ('drift', 'length_offset', 'changes')),
    'effort of leg 1 talks into leg 2 by 20 %': Mistake(
        forces(arrays.talking(0.2, 0, 1)), ('cross_talk', 'scale')),
    'efforts with a play of 30 N': Mistake(
        forces(arrays.played(30.0)), ('hysteresis', 'force_misfit', 'coarse')),
    'effort of leg 5 clipped at 60 % of its swing': Mistake(
        forces(arrays.clipped(0.6, 4)), ('saturated',)),
    'stamps on ticks of 10 ms': Mistake(
        _stamped(0.01), ('stamps_jitter', 'repeated', 'duplicates', 'short_gaps'), (),
        ('stamps_jitter',)),
    'effort of leg 3 zero for half a second': Mistake(
        forces(arrays.dropped(0.5, 0.04, [2])),
        ('stuck', 'dropped_out', 'changes', 'period_left_out', 'period_dropped', *LEFT_OUT)),
    'length of leg 1 10 mm off from the middle on': Mistake(
        lengths(arrays.stepped(0.01, 0)), ('changes', 'length_offset', 'drift')),
    'base drawn 10 degrees turned': Mistake(_joints_of('base', _turned(10.0)), ('geometry',)),
    'platform drawn 5 degrees turned': Mistake(
        _joints_of('platform', _turned(5.0)), ('geometry',)),
    'home turned by 0.3 rad': Mistake(
        entry(lambda d: _yawed(d, 0.3)), ('home', 'geometry')),
    'gravity upwards and efforts of wrong sign': Mistake(
        lambda case: entry(lambda d: {'gravity': [0.0, 0.0, 9.80665]})(
            forces(lambda f: -f)(case)),
        ('gravity', 'effort_sign')),
    'efforts of legs 1 and 4 1.2 and 0.85 times': Mistake(
        forces(scaled(1.2, 1, 1, 0.85, 1, 1)), ('scale',)),
    'lengths of legs 2 and 5 6 mm off, to both sides': Mistake(
        lengths(lambda q: q + np.array([0, 0.006, 0, 0, -0.006, 0])),
        ('length_offset', 'geometry')),
    'effort of leg 2 filtered by 15 ms': Mistake(
        forces(lambda f: np.where(np.arange(6) == 1, arrays.smoothed(7.5)(f), f)), DELAY),
    'platform of another variant (15 % smaller)': Mistake(
        _joints_of('platform', arrays.times(0.85, 0, 1)), ('geometry', 'length_scale')),
    'efforts in steps of 40 N': Mistake(forces(arrays.rounded(40.0)), ('coarse',)),
    'effort of leg 4 is that of leg 3': Mistake(
        forces(_copied), ('copied', 'duplicates', 'efforts_exchanged')),
    'effort of leg 6 in kN': Mistake(forces(scaled(1, 1, 1, 1, 1, 1e-3)), ('unit', 'scale')),
    'effort of leg 1 of wrong sign, of leg 2 1.3 times': Mistake(
        forces(scaled(-1, 1.3, 1, 1, 1, 1)), ('effort_sign', 'scale')),
    'spikes of 400 N in effort 5, one sample of fifty': Mistake(
        forces(arrays.spiked(400.0, 4)), (*LEFT_OUT, 'outliers', 'spikes')),
}  # fmt: skip
