"""Of an arm with measured joint torques: thought of after the first list was mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from mistaken.common import LEFT_OUT, Mistake
from mistaken.robot import (
    Case,
    Changed,
    both,
    described,
    efforts,
    entry,
    positions,
    scaled,
    shifted,
)
from mistaken.unlisted import arrays
from veh_identification.types import Array


def _stamped(seconds: float) -> Changed:
    def make(case: Case) -> Case:
        t = arrays.on_ticks(seconds)(1e-9 * (case.stamps - case.stamps[0]))
        return replace(case, stamps=case.stamps[0] + np.round(1e9 * t).astype(np.int64))

    return make


def _one(joint: int, change: arrays.Change) -> arrays.Change:
    """One joint's column, counted from 1."""

    def made(values: Array) -> Array:
        values[:, joint - 1 : joint] = change(values[:, joint - 1 : joint])
        return values

    return made


def _then(*changes: Changed) -> Changed:
    def made(case: Case) -> Case:
        for change in changes:
            case = change(case)
        return case

    return made


def _longer(place: int, factor: float) -> Callable[[ElementTree.Element], None]:
    def change(root: ElementTree.Element) -> None:
        moving = [j for j in root.findall('joint') if j.get('type') != 'fixed']
        origin = moving[place - 1].find('origin')
        assert origin is not None
        xyz = [factor * float(v) for v in origin.get('xyz', '0 0 0').split()]
        origin.set('xyz', ' '.join(map(str, xyz)))

    return change


def _copied(values: Array) -> Array:
    values[:, 2] = values[:, 1]
    return values


DELAY = ('effort_delay', 'delay_found')
MISTAKES: dict[str, Mistake] = {
    'effort of joint 2 with a play of 10 N m': Mistake(
        efforts(arrays.played(10.0, 1)), ('hysteresis', 'effort_delay', 'effort_scale')),
    'effort of joint 3 clipped at 60 % of its swing': Mistake(
        efforts(arrays.clipped(0.6, 2)), ('saturated',)),
    'effort of joint 2 filtered by 30 ms': Mistake(
        efforts(_one(2, arrays.smoothed(15.0))), DELAY),
    'efforts filtered by 15 ms': Mistake(
        efforts(arrays.smoothed(7.5)), DELAY, corrected=DELAY),
    'position of joint 3 freezes for 0.4 s': Mistake(
        positions(arrays.frozen(0.5, 0.517, [2])), ('stuck', 'repeated', 'changes')),
    'zero of effort 3 wanders by 12 N m': Mistake(
        efforts(arrays.drifted(12.0, 2)), ('effort_offset', 'drift', 'changes', 'offset')),
    'joint 3 drifts by 8 degrees': Mistake(
        positions(arrays.drifted(0.14, 2)), ('position_drift', 'changes')),
    'joint 3 slips by 6 degrees in the middle': Mistake(
        positions(arrays.stepped(0.105, 2)), ('changes', 'position_offset', 'position_drift')),
    'stamps on ticks of 10 ms': Mistake(
        _stamped(0.01), ('stamps_jitter', 'repeated', 'duplicates'), (), ('stamps_jitter',)),
    'efforts of joints 2 and 3 1.2 and 0.8 times': Mistake(
        efforts(lambda f: scaled(3, 0.8)(scaled(2, 1.2)(f))), ('effort_scale', 'scale')),
    'joint 2 5 degrees off and effort 3 1.2 times': Mistake(
        _then(positions(shifted(2, np.radians(5.0))), efforts(scaled(3, 1.2))),
        ('position_offset', 'effort_scale')),
    'effort of joint 2 talks into joint 3 by 15 %': Mistake(
        efforts(arrays.talking(0.15, 1, 2)), ('cross_talk', 'effort_scale')),
    'gear ratio of joint 3 4 % off': Mistake(positions(scaled(3, 0.96)), ('position_scale',)),
    'gravity of 8.8 m/s^2': Mistake(
        entry(gravity=[0.0, 0.0, -8.8]), ('weight_against_inertia', 'gravity')),
    'efforts without their means': Mistake(
        efforts(lambda f: f - f.mean(axis=0)), ('effort_offset', 'offset', 'gravity_direction')),
    'joints 3 and 5 counted the other way': Mistake(
        both(lambda x: scaled(5, -1.0)(scaled(3, -1.0)(x))),
        ('joint_sign', 'position_sign', 'beyond_limits')),
    'positions in steps of 1 degree': Mistake(positions(arrays.rounded(0.01745)), ('coarse',)),
    'every fiftieth effort of joint 2 a spike of 200 N m': Mistake(
        efforts(arrays.spiked(200.0, 1)), (*LEFT_OUT, 'outliers', 'spikes')),
    'effort of joint 3 is that of joint 2': Mistake(
        efforts(_copied), ('copied', 'duplicates', 'effort_scale', 'efforts_swapped')),
    'upper arm 8 % longer in the URDF': Mistake(
        described(_longer(3, 1.08)), ('link_length', 'weight_against_inertia', 'position_scale')),
    'effort of joint 3 zero for half a second': Mistake(
        efforts(arrays.dropped(0.5, 0.021, [2])),
        ('stuck', 'dropped_out', 'changes', *LEFT_OUT)),
    'effort of joint 2 1.25 times for positive values': Mistake(
        efforts(_one(2, lambda f: np.where(f > 0.0, 1.25 * f, f))),
        ('effort_scale', 'effort_offset', 'changes')),
}  # fmt: skip
