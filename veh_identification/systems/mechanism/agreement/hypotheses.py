"""Mistakes that may explain why sensors disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from veh_identification.checks.explanation import Family, Hypothesis, partly
from veh_identification.checks.ranges import DEGREES, LENGTH
from veh_identification.systems.mechanism.agreement.changes import (
    added,
    carried,
    drawn,
    earlier,
    exchanged,
    joined,
    rerouted,
    scaled,
    ticking,
    unsmoothed,
)
from veh_identification.systems.mechanism.agreement.comparison import Comparison
from veh_identification.systems.mechanism.agreement.heard import Case
from veh_identification.types import Array

#: Clocks that run too fast, by a share.
DRIFTS = (0.002, -0.002, 0.005, -0.005, 0.01, -0.01, 0.02, -0.02)
#: Time constants of filters behind sensors of rates (seconds).
FILTERS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
LAGS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2)
GEARS = (0.1, 0.2, 0.25, 1 / 3, 0.5, 0.8, 0.9, 1.1, 1.25, 2.0, 3.0, 4.0, 5.0, 10.0)
ZEROS = tuple(np.radians(np.arange(10.0, 360.0, 10.0)))
#: Of the size of the drawing: by so much points are moved.
SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)


def whole(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """All of them, the simplest first."""
    yield from _plain(compared)
    yield from _taken(compared)
    yield from _sized(compared)
    yield from _clocks(compared)


def halves(compared: Comparison, middle: float) -> Iterator[Hypothesis[Case]]:
    """Units, signs and zeros of encoders that are wrong before or after the middle."""

    def late(case: Case, changed: Case) -> Case:
        return joined(case, changed, middle)

    def early(case: Case, changed: Case) -> Case:
        return joined(changed, case, middle)

    yield from partly(_plain(compared), late, f'from about {middle:.2g} s on')
    yield from partly(_plain(compared), early, f'until about {middle:.2g} s')
    yield from partly(_turned(compared), late, f'from about {middle:.2g} s on')


def _plain(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Units and signs."""
    for name, where, sensor in compared.sensors():
        turns = sensor.kind in ('encoder', 'gyro') or (
            sensor.kind == 'rate'
            and compared.case.description.coordinates[str(sensor.coordinate)].kind == 'angle'
        )
        per = '/s' if sensor.kind in ('gyro', 'rate') else ''
        units = (
            {f'degrees{per}': DEGREES, f'turns{per}': 0.5 / np.pi}
            if turns
            else {f'{unit}{per}': factor for unit, factor in LENGTH.others.items()}
        )
        right = f'{"rad" if turns else "m"}{per}'
        for unit, factor in units.items():
            text = f'{where} seems to be in {unit}, it must be in {right}'
            yield Hypothesis('unit', text, scaled(name, 1.0 / factor), where)
        if sensor.kind != 'position':
            text = f'{where} seems to have the wrong sign'
            change = scaled(name, -1.0)
            if sensor.kind == 'distance':
                text = f'{where} seems to count the other way'
                change = _mirrored(compared, name)
            yield Hypothesis('sign', text, change, where)


def _taken(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Sensors that are taken for others."""
    by_joint = [(name, where) for name, where, sensor in compared.sensors() if sensor.by_joint]
    for (first, place), (second, other) in combinations(by_joint, 2):
        text = f'{place} and {other} seem to be exchanged'
        yield Hypothesis('joints_swapped', text, exchanged(first, second), place)
    for name, where, sensor in compared.sensors():
        if sensor.kind != 'gyro':
            continue
        for body in compared.case.description.bodies:
            if body != sensor.body:
                text = f'{where} seems to turn with {body} instead of {sensor.body}'
                yield Hypothesis('other_body', text, carried(name, body), f'sensors.{name}.body')


def _mirrored(compared: Comparison, name: str) -> Callable[[Case], Case]:
    """A length of the other sign, from a zero that lies anywhere."""

    def change(case: Case) -> Case:
        changed = scaled(name, -1.0)(case)
        return compared.shifted_to_fit(changed, name)

    return change


def _turned(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Zeros of encoders."""
    for name, where, sensor in compared.sensors():
        for zero in ZEROS if sensor.kind == 'encoder' else ():
            turn = np.degrees(np.angle(np.exp(1j * zero)))
            text = f'the zero of {where} seems to be about {-turn:.3g} degrees off'
            yield Hypothesis('zero', text, added(name, np.array([zero])), where)


def _moved(compared: Comparison, name: str) -> Callable[[Case], Case]:
    return lambda case: compared.shifted_to_fit(case, name)


def _wandering(compared: Comparison, name: str) -> Callable[[Case], Case]:
    return lambda case: compared.steadied_to_fit(case, name)


def _sized(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Zeros and scales."""
    yield from _turned(compared)
    for name, where, sensor in compared.sensors():
        reference = name in compared.shown.values()
        if sensor.kind == 'encoder':
            continue
        if not reference:
            text = f'the zero of {where} seems to be wrong'
            yield Hypothesis('zero', text, _moved(compared, name), where)
        if sensor.kind in ('gyro', 'rate') and not reference:
            text = f'the zero of {where} seems to wander'
            yield Hypothesis('drift', text, _wandering(compared, name), where)
    for name, where, _ in compared.sensors():
        gears = GEARS if name in compared.shown.values() else compared.slope(name)
        for gear in gears:
            yield _scale(name, where, gear)


def _scale(name: str, where: str, gear: float) -> Hypothesis[Case]:
    text = f'{where} seems to show {1.0 / gear:.3g} times too much'
    return Hypothesis('scale', text, scaled(name, gear), where)


def shares(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Encoders that lose counts or slip a little; a zero that jumps may look alike."""
    for name, where, sensor in compared.sensors():
        for factor in compared.share(name) if sensor.kind == 'encoder' else ():
            yield _scale(name, where, factor)


def _clocks(compared: Comparison) -> Iterator[Hypothesis[Case]]:
    """Topics that are late or early."""
    groups: dict[str, list[str]] = {}
    for name, _, sensor in compared.sensors():
        topic = 'joint_states' if sensor.by_joint else sensor.topic or name
        groups.setdefault(topic, []).append(name)
    if len(groups) > 1:
        for topic, names in groups.items():
            for lag in LAGS:
                text = f'{topic} seems to be about {1e3 * lag:.3g} ms late against the others'
                yield Hypothesis('late', text, earlier(names, lag), topic)
            for share in DRIFTS:
                text = f'the clock of {topic} seems to run {1e2 * share:+.2g} % fast'
                yield Hypothesis('clock_drift', text, ticking(names, share), topic)
    for names in groups.values():
        # what one message brings has one stamp, but not always one age
        for name in names if len(names) > 1 else ():
            for lag in LAGS:
                text = f'{name} seems to be about {1e3 * lag:.3g} ms late against the others'
                yield Hypothesis('late', text, earlier([name], lag), name)
    for name, where, sensor in compared.sensors():
        for lag in FILTERS if sensor.kind in ('gyro', 'rate') else ():
            text = (
                f'{where} seems to be smoothed over about {1e3 * lag:.3g} ms, which makes it late'
            )
            yield Hypothesis('late', text, unsmoothed(name, lag), where)


def points(compared: Comparison) -> Iterator[Family[Case]]:
    """Points, and lines of sliders, that are drawn at another place than they have."""
    described = compared.case.description.points
    places = np.array([one.at for one in described.values()])
    size = float(np.linalg.norm(np.ptp(places, axis=0)))
    steps = tuple(size * share for share in SHARES)
    for name in described:
        for k, axis in enumerate('xy'):

            def text(shift: float, name: str = name, axis: str = axis) -> str:
                return (
                    f'point {name} of the description seems to be drawn {-shift:+.3g} m off '
                    f'along {axis} (or lengths about it are wrong)'
                )

            def change(shift: float, name: str = name, k: int = k) -> Callable[[Case], Case]:
                return drawn(name, k, shift)

            both = (steps, tuple(-one for one in steps))
            yield Family('geometry', text, change, both, f'points.{name}')
    for name, joint in compared.case.description.joints.items():
        if joint.through is None or joint.direction is None:
            continue
        along = np.array(joint.direction, dtype=float)
        aside = np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-12)

        def line(shift: float, name: str = name) -> str:
            return f'joint {name} of the description seems to lie {-shift:+.3g} m aside'

        def shifted(
            shift: float, name: str = name, aside: Array = aside
        ) -> Callable[[Case], Case]:
            return rerouted(name, shift * aside)

        both = (steps, tuple(-one for one in steps))
        yield Family('geometry', line, shifted, both, f'joints.{name}.through')
