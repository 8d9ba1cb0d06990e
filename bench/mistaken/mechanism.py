"""Mistakes in recordings and descriptions of a planar mechanism (the slider-crank).

Its truth has a heavier rod, friction and a biased gyroscope, which the observer is not told, but
comes from the same engine of multibody dynamics: what is judged here are the checks alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mistaken.common import Item, Mistake, Told, found, observed
from mistaken.fusion import (
    Collected,
    Edit,
    Remembering,
    after,
    held,
    late,
    repeating,
    seconds_of,
)
from veh_identification.errors import VehIdError
from veh_identification.nodes.error_ekf.node import ErrorEkf
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.scenarios import simulate

NAME = 'mechanism'
SECONDS = 12.0
TEMPLATE = 'mechanism_slider_crank.yaml'
JOINTS, GYRO = 'joint_states', 'rod/imu'
#: From here on, every so many steps, the estimate is judged.
SETTLED, EVERY = 2.0, 250
DEGREES = 180.0 / np.pi
Changed = Callable[['Case'], 'Case']


@dataclass(frozen=True, eq=False)
class Case:
    """Messages, how they are changed, and the description."""

    items: tuple[Item, ...]
    data: Mapping[str, Any]
    edits: Mapping[str, Edit] = field(default_factory=dict)  # by topic


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another start, motor, friction, rod and seed."""
    rng = np.random.default_rng((k, 55))
    data = yaml.safe_load(find_config(TEMPLATE).read_text('utf-8'))
    truth = deepcopy(data['truth'])
    truth['duration'] = seconds
    truth['bodies']['rod']['mass'] = float(rng.uniform(0.35, 0.5))
    truth['coordinates']['crank'] |= {
        'start': f'{rng.uniform(0.0, 360.0):.1f} deg',
        'rate': float(rng.uniform(5.0, 12.0)),
        'friction': float(rng.uniform(0.0, 0.08)),
    }
    truth['swings']['motor'] = {
        'amplitude': float(rng.uniform(1.5, 2.5)),
        'frequency': float(rng.uniform(0.5, 0.9)),
    }
    truth['sensors']['rod_gyro']['bias'] = float(rng.uniform(-0.05, 0.05))
    config = folder / 'clean.yaml'
    config.write_text(yaml.safe_dump({**data, 'truth': truth}), 'utf-8')
    bag = folder / f'clean_{k}'
    simulate(NAME, bag, seed=k, config=config, overwrite=True)
    with BagReader([bag]) as reader:
        items = tuple(Item(one.time_ns, one.topic, one.decode()) for one in reader.raw())
    return Case(items, data)


def edited(topic: str, edit: Edit) -> Changed:
    """Messages of a topic changed in place."""
    return lambda case: replace(case, edits={topic: edit})


def joint(name: str, member: str, change: Callable[[float], float]) -> Edit:
    """One value of joint_states changed."""

    def edit(message: Any) -> None:
        values = np.array(getattr(message, member), dtype=float)
        place = list(message.name).index(name) if name in message.name else -1
        if 0 <= place < len(values):
            values[place] = change(float(values[place]))
            setattr(message, member, values)

    return edit


def rate(change: Callable[[float], float]) -> Edit:
    """The gyroscope's rate changed."""

    def edit(message: Any) -> None:
        message.angular_velocity.z = change(message.angular_velocity.z)

    return edit


def described(change: Callable[[dict[str, Any]], None]) -> Changed:
    """Another description."""

    def make(case: Case) -> Case:
        data = deepcopy(dict(case.data))
        change(data)
        return replace(case, data=data)

    return make


def _set(value: Any, *path: str) -> Changed:
    def change(data: dict[str, Any]) -> None:
        place = data
        for one in path[:-1]:
            place = place[one]
        place[path[-1]] = value

    return described(change)


def names_exchanged(message: Any) -> None:
    """Crank and stroke each under the name of the other."""
    other = {'crank': 'stroke', 'stroke': 'crank'}
    message.name = [other.get(name, name) for name in message.name]


def stroke_late(lag: float) -> Edit:
    """Strokes that are older than the message that brings them."""

    def make() -> Edit:
        shown: deque[tuple[float, float]] = deque()

        def one(message: Any) -> None:
            if 'stroke' not in message.name:
                return
            place = list(message.name).index('stroke')
            values = np.array(message.position, dtype=float)
            now = seconds_of(message)
            shown.append((now, float(values[place])))
            while len(shown) > 1 and shown[1][0] <= now - lag:
                shown.popleft()
            values[place] = shown[0][1]
            message.position = values

        return one

    return Remembering(make)


MISTAKES: dict[str, Mistake] = {
    'encoder in degrees': Mistake(
        edited(JOINTS, joint('crank', 'position', lambda q: DEGREES * q)), ('unit', 'scale')
    ),
    'encoder counts the other way': Mistake(
        edited(JOINTS, joint('crank', 'position', lambda q: -q)), ('sign',)
    ),
    'encoder behind a gear of 2': Mistake(
        edited(JOINTS, joint('crank', 'position', lambda q: 2.0 * q)), ('scale', 'unit')
    ),
    'encoder 20 degrees off its zero': Mistake(
        edited(JOINTS, joint('crank', 'position', lambda q: q + 0.35)), ('offset', 'zero')
    ),
    'stroke in mm': Mistake(
        edited(JOINTS, joint('stroke', 'position', lambda q: 1e3 * q)), ('unit', 'scale')
    ),
    'stroke counts inwards': Mistake(
        edited(JOINTS, joint('stroke', 'position', lambda q: 0.4 - q)), ('sign',)
    ),
    'stroke 15 mm off its zero': Mistake(
        edited(JOINTS, joint('stroke', 'position', lambda q: q + 0.015)), ('offset', 'zero')
    ),
    'gyro in deg/s': Mistake(edited(GYRO, rate(lambda w: DEGREES * w)), ('unit', 'scale')),
    'gyro of wrong sign': Mistake(edited(GYRO, rate(lambda w: -w)), ('sign',)),
    'gyro 1.2 times too large': Mistake(edited(GYRO, rate(lambda w: 1.2 * w)), ('scale',)),
    'gyro stuck': Mistake(edited(GYRO, held(6.0, 'angular_velocity')), ('stuck', 'set_aside')),
    'gyro 40 ms late': Mistake(edited(GYRO, late(0.04)), ('late',)),
    'joints 40 ms late': Mistake(edited(JOINTS, late(0.04)), ('late',)),
    'gyro repeats its values for 50 ms': Mistake(
        edited(GYRO, repeating(0.05, 'angular_velocity')), ('repeated', 'late')
    ),
    'joints stuck': Mistake(edited(JOINTS, held(6.0, 'position')), ('stuck', 'set_aside')),
    'gyro in deg/s from the middle on': Mistake(
        edited(GYRO, after(6.0, rate(lambda w: DEGREES * w))), ('unit', 'scale', 'changes')
    ),
    'encoder of wrong sign from the middle on': Mistake(
        edited(JOINTS, after(6.0, joint('crank', 'position', lambda q: -q))), ('sign', 'changes')
    ),
    'torque of the motor of wrong sign': Mistake(
        edited(JOINTS, joint('crank', 'effort', lambda f: -f)), ('force_sign', 'sign', 'force')
    ),
    'torque of the motor in N mm': Mistake(
        edited(JOINTS, joint('crank', 'effort', lambda f: 1e3 * f)), ('unit', 'scale', 'force')
    ),
    'crank of 60 mm instead of 50': Mistake(
        _set(['60 mm', 0], 'points', 'pin', 'at'), ('geometry', 'scale')
    ),
    'gravity along x': Mistake(_set([-9.80665, 0], 'gravity'), ('gravity', 'force')),
    'mass of the piston in g': Mistake(_set(600.0, 'masses', 'piston', 'mass'), ('force', 'unit')),
    # fresh ones: codes were written after the program had spoken
    'torque of the motor of wrong sign from the middle on': Mistake(
        edited(JOINTS, after(6.0, joint('crank', 'effort', lambda f: -f))),
        ('force_sign', 'sign', 'changes'),
    ),
    'torque of the motor in per cent of 5 N m': Mistake(
        edited(JOINTS, joint('crank', 'effort', lambda f: 20.0 * f)), ('unit', 'scale', 'force')
    ),
    'torque of the motor 1.6 times too large': Mistake(
        edited(JOINTS, joint('crank', 'effort', lambda f: 1.6 * f)), ('scale', 'force')
    ),
    'stroke 60 ms late': Mistake(edited(JOINTS, stroke_late(0.06)), ('late',)),
    'names of crank and stroke exchanged': Mistake(
        edited(JOINTS, names_exchanged), ('joints_swapped',)
    ),
    'gyro described on the crank': Mistake(
        _set('crank', 'sensors', 'rod_gyro', 'body'), ('other_body',)
    ),
    'rod of 75 mm instead of 150': Mistake(
        _set(['125 mm', 0], 'points', 'piston', 'at'), ('geometry', 'scale')
    ),
    'mass of the rod in g': Mistake(_set(400.0, 'bodies', 'rod', 'mass'), ('force', 'unit')),
    'stiffness of the spring in N/mm': Mistake(
        _set(0.4, 'springs', 'return', 'stiffness'), ('unit', 'force')
    ),
}


def _items(case: Case) -> list[Item]:
    collected = Collected(case.edits)
    for one in case.items:
        collected.write_message(one.topic.lstrip('/'), deepcopy(one.message), one.time_ns)
    return collected.items


def _config(case: Case, folder: Path) -> Path:
    path = folder / 'mechanism.yaml'
    path.write_text(yaml.safe_dump(dict(case.data)), 'utf-8')
    return path


def _deviations(states: Any) -> dict[str, float]:
    """Errors of what is independent over their deviations, now and then."""
    z = {}
    for one in states:
        if one.std is None or one.truth is None:
            continue
        rows = np.flatnonzero(one.time >= one.time[0] + SETTLED)[::EVERY]
        for k in rows:
            if np.isfinite(one.truth[k]):
                error = one.value[k] - one.truth[k]
                if one.unit == 'rad':
                    error = float(np.angle(np.exp(1j * error)))
                z[f'{one.name} at {one.time[k]:.1f} s'] = float(error / max(one.std[k], 1e-9))
    return z


def offline(case: Case, folder: Path) -> Told:
    """The checks of `veh-id observe mechanism`, and the observer where they do not forbid it."""
    _, outcome = observed(NAME, _items(case), _config(case, folder), folder)
    if isinstance(outcome, Told):
        return outcome
    return Told(found(outcome.findings), '', _deviations(outcome.result.states))


def live(case: Case, folder: Path) -> Told:
    """The node over the messages; its estimate is judged as offline, by the last state."""
    items = [one for one in _items(case) if not one.topic.startswith('/truth')]
    engine = ReplayEngine(items[0].time_ns, log_level='fatal')
    parameters = {'system': NAME, 'model': str(_config(case, folder))}
    try:
        node = ErrorEkf(engine.create_node('error_ekf', parameters=parameters))
        engine.run(items)
    except VehIdError as error:
        return Told(refusal=str(error))
    return Told(found(node.report.findings), '', _last(case, node))


def _last(case: Case, node: ErrorEkf) -> dict[str, float]:
    """Errors of the crank at the end over their deviations."""
    session = node.observer.session
    if session is None:
        return {}
    now = session.origin_ns + round(1e9 * session.filter.time)
    truth = [one for one in case.items if one.topic == '/truth/joint_states']
    stamps = np.array(
        [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in (t.message for t in truth)]
    )
    message = truth[int(np.argmin(np.abs(stamps - now)))].message
    place = list(message.name).index('crank')
    std = np.sqrt(np.maximum(np.diag(session.filter.P)[:2], 1e-18))
    column = session.mechanism.columns['crank']
    angle = session.model.q[column] - message.position[place]
    turn = float(np.angle(np.exp(1j * angle)))
    rate = float(session.model.qd[column] - message.velocity[place])
    return {'crank': turn / float(std[0]), 'crank rate': rate / float(std[1])}
