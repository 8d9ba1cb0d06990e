"""Of a planar mechanism, the slider-crank."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mistaken.common import Mistake
from mistaken.fusion import Edit, Remembering, after, drifting, seconds_of, smoothed
from mistaken.mechanism import GYRO, JOINTS, Case, Changed, _set, edited, joint, rate
from mistaken.unlisted.road import between, other, stamped


def _crank(change: Callable[[float], float]) -> Edit:
    return joint('crank', 'position', change)


def _stroke(change: Callable[[float], float]) -> Edit:
    return joint('stroke', 'position', change)


def _torque(change: Callable[[float], float]) -> Edit:
    return joint('crank', 'effort', change)


def _late_torque(lag: float) -> Edit:
    """Efforts that are older than the message that brings them."""

    def make() -> Edit:
        shown: deque[tuple[float, float]] = deque()

        def change(now: float, value: float) -> float:
            shown.append((now, value))
            while len(shown) > 1 and shown[1][0] <= now - lag:
                shown.popleft()
            return shown[0][1]

        def one(message: Any) -> None:
            now = seconds_of(message)
            _torque(lambda value: change(now, value))(message)

        return one

    return Remembering(make)


def _wandering(size: float) -> Edit:
    """A zero of the gyroscope that grows by so much in 10 s."""

    def make() -> Edit:
        first: list[float] = []

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            message.angular_velocity.z += size * (seconds_of(message) - first[0]) / 10.0

        return one

    return Remembering(make)


def _steps(step: float) -> Callable[[float], float]:
    return lambda value: float(step * np.round(value / step))


def _frozen(begin: float, end: float, name: str) -> Edit:
    """A joint that is held between two times."""

    def make() -> Edit:
        first: list[float] = []
        kept: list[float] = []

        def hold(value: float) -> float:
            kept.append(value) if not kept else None
            return kept[0]

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if begin <= seconds_of(message) - first[0] < end:
                joint(name, 'position', hold)(message)

        return one

    return Remembering(make)


def _both(*edits: tuple[str, Edit]) -> Changed:
    def make(case: Case) -> Case:
        return replace(case, edits=dict(edits))

    return make


HELD = ('stuck', 'set_aside', 'repeated')
MISTAKES: dict[str, Mistake] = {
    'encoder in turns': Mistake(
        edited(JOINTS, _crank(lambda q: q / (2.0 * np.pi))), ('unit', 'scale')
    ),
    'encoder in steps of 30 degrees': Mistake(edited(JOINTS, _crank(_steps(0.5236))), ('coarse',)),
    'encoder freezes for 1.5 s': Mistake(edited(JOINTS, _frozen(5.0, 6.5, 'crank')), HELD),
    'encoder loses 3 % of its counts': Mistake(
        edited(JOINTS, _crank(lambda q: 0.97 * q)), ('scale', 'set_aside')
    ),
    'encoder behind a belt of 1.1': Mistake(edited(JOINTS, _crank(lambda q: 1.1 * q)), ('scale',)),
    'encoder 40 degrees off from the middle on': Mistake(
        edited(JOINTS, after(6.0, _crank(lambda q: q + 0.7))),
        ('jump', 'changes', 'offset', 'zero', 'set_aside'),
    ),
    'encoder begins anew each turn': Mistake(
        edited(JOINTS, _crank(lambda q: (q + np.pi) % (2.0 * np.pi) - np.pi)),
        ('wrapped',),
        corrected=('wrapped',),
    ),
    'stroke in cm': Mistake(edited(JOINTS, _stroke(lambda q: 100.0 * q)), ('unit', 'scale')),
    'stroke in inches': Mistake(edited(JOINTS, _stroke(lambda q: q / 0.0254)), ('unit', 'scale')),
    'stroke 1.15 times': Mistake(edited(JOINTS, _stroke(lambda q: 1.15 * q)), ('scale', 'offset')),
    'stroke saturated at 0.17 m': Mistake(
        edited(JOINTS, _stroke(lambda q: min(q, 0.17))), ('saturated',)
    ),
    'stroke in steps of 30 mm': Mistake(edited(JOINTS, _stroke(_steps(0.03))), ('coarse',)),
    'stroke freezes for 3 s': Mistake(edited(JOINTS, _frozen(5.0, 8.0, 'stroke')), HELD),
    'gyro in turns a minute': Mistake(edited(GYRO, rate(lambda w: 9.5493 * w)), ('unit', 'scale')),
    'gyro dead': Mistake(edited(GYRO, rate(lambda w: 0.0 * w)), ('stuck', 'scale')),
    'gyro smoothed over 30 ms': Mistake(
        edited(GYRO, smoothed(0.03, 'angular_velocity')), ('late',)
    ),
    'gyro saturated at 1.5 rad/s': Mistake(
        edited(GYRO, rate(lambda w: min(max(w, -1.5), 1.5))), ('saturated',)
    ),
    'gyro wanders by 1 rad/s': Mistake(
        edited(GYRO, _wandering(1.0)), ('offset', 'zero', 'bias', 'drift', 'gyro_zero')
    ),
    'gyro off its zero by 1 rad/s': Mistake(
        edited(GYRO, rate(lambda w: w + 1.0)), ('offset', 'zero', 'bias', 'gyro_zero')
    ),
    'gyro freezes for 3 s': Mistake(edited(GYRO, between(5.0, 8.0, 'angular_velocity')), HELD),
    'a second gyro that stands still on the topic': Mistake(
        edited(GYRO, other(rate(lambda w: 0.0 * w))), ('two_sources', 'duplicates')
    ),
    'gyro in steps of 1 rad/s': Mistake(edited(GYRO, rate(_steps(1.0))), ('coarse',)),
    'stamps of the gyro in steps of 40 ms': Mistake(
        edited(GYRO, stamped(0.04)), ('stamps_jitter', 'duplicates', 'repeated', 'late')
    ),
    'clock of the gyro 1 % fast': Mistake(
        edited(GYRO, drifting(0.01)), ('late', 'clock', 'clock_drift', 'clock_ahead')
    ),
    'gyro of wrong sign from the middle on': Mistake(
        edited(GYRO, after(6.0, rate(lambda w: -w))), ('sign', 'changes')
    ),
    'torque 0.1 s late': Mistake(
        edited(JOINTS, _late_torque(0.1)), ('late', 'force', 'force_late')
    ),
    'torque off its zero by 0.7 N m': Mistake(
        edited(JOINTS, _torque(lambda f: f + 0.7)), ('offset', 'force', 'zero')
    ),
    'torque in lbf ft': Mistake(
        edited(JOINTS, _torque(lambda f: f / 1.35582)), ('unit', 'scale', 'force')
    ),
    'torque frozen': Mistake(edited(JOINTS, _torque(lambda f: 1.0)), ('stuck', 'force', 'scale')),
    'bore 15 mm aside in the drawing': Mistake(
        _set([0, '15 mm'], 'joints', 'bore', 'through'), ('geometry', 'offset'), ('bore',)
    ),
    'gravity upwards': Mistake(_set([0, 9.80665], 'gravity'), ('gravity', 'force')),
    'gravity in g': Mistake(_set([0, -1.0], 'gravity'), ('gravity', 'unit', 'force')),
    'angle of the crank the other way in the drawing': Mistake(
        _set(['pin', 'A'], 'coordinates', 'crank', 'angle'), ('offset', 'geometry', 'sign')
    ),
    'rest of the spring in mm': Mistake(
        _set(150.0, 'springs', 'return', 'rest'), ('unit', 'force'), ('rest',)
    ),
    'drawing in mm': Mistake(
        _set([50.0, 0], 'points', 'pin', 'at'), ('unit', 'geometry'), ('points',)
    ),
    'gyro 1.1 times and stroke 8 mm off': Mistake(
        _both((GYRO, rate(lambda w: 1.1 * w)), (JOINTS, _stroke(lambda q: q + 0.008))),
        ('scale', 'offset', 'zero'),
    ),
}
