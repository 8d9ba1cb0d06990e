"""Mistakes in recordings and descriptions of an arm with measured joint torques."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mistaken.common import (
    LEFT_OUT,
    Item,
    Mistake,
    Told,
    arrived,
    found,
    glitch,
    joint_items,
    live_told,
    outcome_told,
    write_bag,
)
from veh_identification.errors import VehIdError
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.robot.closed_loop import run as drive
from veh_identification.simulation.robot.scenarios import (
    EPOCH_NS,
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
)
from veh_identification.systems.driver import configured, run
from veh_identification.types import Array, IntArray

NAME = 'robot'
SECONDS = 24.0
URDFS = ('arm_6_axis.urdf', 'arm_7_axis.urdf')
Changed = Callable[['Case'], 'Case']


@dataclass(frozen=True)
class Case:
    """Positions and efforts, the description of the arm, and the entries of its configuration."""

    joints: tuple[str, ...]
    stamps: IntArray
    position: Array
    effort: Array
    urdf: str  # its text
    truth: dict[str, float]  # of the links and joints
    entries: dict[str, Any] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)  # of the parameters that are told


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another arm (masses, frictions, drives), motion, noise, delay and seed."""
    name = URDFS[k % 2]
    arm = random_arm(name, 1000 + k, sticking=0.2 * (k % 3), bristle=(5e-5, 2e-4)[k % 2])
    sensors = replace(ArmSensors(), effort_delay=0.001 * (k % 3), rate=(500.0, 250.0)[k % 2])
    times = np.arange(round(seconds * arm.drive.control_rate)) / arm.drive.control_rate
    wanted = exciting_motion(arm.nominal, times, 1000 + k, 0.1037)
    made = drive(arm.plant, arm.nominal, arm.friction, arm.drive, wanted)
    stamps, position, effort = measured(made, sensors, arm.nominal.effort, 1000 + k)
    text = (share_directory() / 'config' / 'models' / name).read_text('utf-8')
    ns = EPOCH_NS + np.round(1e9 * stamps).astype(np.int64)
    return Case(arm.plant.joints, ns, position, effort, text, arm.truth())


def positions(change: Callable[[Array], Array]) -> Changed:
    """Positions changed."""
    return lambda case: replace(case, position=change(case.position.copy()))


def efforts(change: Callable[[Array], Array]) -> Changed:
    """Efforts changed."""
    return lambda case: replace(case, effort=change(case.effort.copy()))


def both(change: Callable[[Array], Array]) -> Changed:
    """Positions and efforts changed alike."""
    return lambda case: positions(change)(efforts(change)(case))


def scaled(joint: int, factor: float) -> Callable[[Array], Array]:
    """One joint, counted from 1, times a factor."""

    def change(values: Array) -> Array:
        values[:, joint - 1] *= factor
        return values

    return change


def exchanged(a: int, b: int) -> Callable[[Array], Array]:
    """Two joints, counted from 1."""

    def change(values: Array) -> Array:
        values[:, [a - 1, b - 1]] = values[:, [b - 1, a - 1]]
        return values

    return change


def shifted(joint: int, offset: float) -> Callable[[Array], Array]:
    """One joint, counted from 1, off its zero."""

    def change(values: Array) -> Array:
        values[:, joint - 1] += offset
        return values

    return change


def stuck(joint: int) -> Callable[[Array], Array]:
    """One joint holds its value from the middle on."""

    def change(values: Array) -> Array:
        half = len(values) // 2
        values[half:, joint - 1] = values[half, joint - 1]
        return values

    return change


def saturated(joint: int) -> Callable[[Array], Array]:
    """Most of what one joint does is below a limit, the rest is cut."""

    def change(values: Array) -> Array:
        column = values[:, joint - 1]
        low, high = np.percentile(column, [10, 90])
        values[:, joint - 1] = np.clip(column, low, high)
        return values

    return change


def repeating(seconds: float) -> Changed:
    """Efforts of a slower source: each is repeated for so long."""

    def change(case: Case) -> Case:
        t = (case.stamps - case.stamps[0]) * 1e-9
        begin = np.searchsorted(t, seconds * np.floor(t / seconds + 1e-9) - 1e-9)
        return replace(case, effort=case.effort[begin])

    return change


def late(seconds: float, joint: int = 0) -> Changed:
    """Efforts (of one joint, or all) that come later than their stamps say."""

    def change(case: Case) -> Case:
        step = (case.stamps[1] - case.stamps[0]) * 1e-9
        samples = round(seconds / step)
        effort = case.effort[samples:].copy()
        which = slice(None) if not joint else slice(joint - 1, joint)
        effort[:, which] = case.effort[:-samples, which]
        return replace(
            case, stamps=case.stamps[samples:], position=case.position[samples:], effort=effort
        )

    return change


def halfway(change: Changed) -> Changed:
    """A change of values that begins in the middle of the recording."""

    def make(case: Case) -> Case:
        wrong, middle = change(case), len(case.effort) // 2
        return replace(
            case,
            position=np.vstack([case.position[:middle], wrong.position[middle:]]),
            effort=np.vstack([case.effort[:middle], wrong.effort[middle:]]),
        )

    return make


def entry(**entries: Any) -> Changed:
    """Entries of the configuration."""
    return lambda case: replace(case, entries={**case.entries, **entries})


def described(change: Callable[[ElementTree.Element], None]) -> Changed:
    """Another URDF."""

    def make(case: Case) -> Case:
        root = ElementTree.fromstring(case.urdf)
        change(root)
        return replace(case, urdf=ElementTree.tostring(root, 'unicode'))

    return make


def _masses(factor: float) -> Callable[[ElementTree.Element], None]:
    def change(root: ElementTree.Element) -> None:
        for mass in root.iter('mass'):
            mass.set('value', str(factor * float(mass.get('value', '0'))))
        for inertia in root.iter('inertia'):
            for key, value in inertia.attrib.items():
                inertia.set(key, str(factor * float(value)))

    return change


def _distances(factor: float) -> Callable[[ElementTree.Element], None]:
    def change(root: ElementTree.Element) -> None:
        for joint in root.findall('joint'):
            origin = joint.find('origin')
            if origin is not None and origin.get('xyz'):
                xyz = [factor * float(v) for v in origin.get('xyz', '').split()]
                origin.set('xyz', ' '.join(map(str, xyz)))

    return change


def _axis(place: int) -> Callable[[ElementTree.Element], None]:
    def change(root: ElementTree.Element) -> None:
        moving = [j for j in root.findall('joint') if j.get('type') != 'fixed']
        axis = moving[place - 1].find('axis')
        assert axis is not None
        axis.set('xyz', ' '.join(str(-float(v)) for v in axis.get('xyz', '').split()))

    return change


MISTAKES: dict[str, Mistake] = {
    'positions in degrees': Mistake(positions(np.degrees), ('unit',), ('degrees',)),
    'position of joint 3 in degrees': Mistake(positions(scaled(3, 180 / np.pi)), ('unit',)),
    'positions of the motors (gears of 100)': Mistake(
        positions(lambda q: 100.0 * q), ('unit', 'beyond_limits', 'motor_side')
    ),
    'position of joint 2 of wrong sign': Mistake(
        positions(scaled(2, -1.0)), ('position_sign', 'joint_sign', 'beyond_limits')
    ),
    'position of joint 4 of wrong sign': Mistake(
        positions(scaled(4, -1.0)), ('position_sign', 'joint_sign', 'beyond_limits')
    ),
    'joint 2 counted the other way': Mistake(
        both(scaled(2, -1.0)), ('joint_sign', 'position_sign', 'beyond_limits')
    ),
    'joint 2 quarter of a turn off its zero': Mistake(
        positions(shifted(2, np.pi / 2)), ('position_offset', 'beyond_limits')
    ),
    'joint 3 10 degrees off its zero': Mistake(
        positions(shifted(3, np.radians(10.0))), ('position_offset',)
    ),
    'gear ratio of joint 2 2 % off': Mistake(positions(scaled(2, 1.02)), ('position_scale',)),
    'joint 2 drifts by 6 degrees': Mistake(
        positions(
            lambda q: q + np.linspace(0.0, 0.1, len(q))[:, None] * (np.arange(q.shape[1]) == 1)
        ),
        ('position_drift',),
    ),
    'efforts in steps of 5 N m': Mistake(efforts(lambda f: 5.0 * np.round(f / 5.0)), ('coarse',)),
    'efforts in N mm': Mistake(efforts(lambda f: 1e3 * f), ('unit',)),
    'efforts in kN m': Mistake(efforts(lambda f: 1e-3 * f), ('unit', 'effort_scale')),
    'efforts in kgf m': Mistake(efforts(lambda f: f / 9.80665), ('unit', 'effort_scale')),
    'efforts are currents': Mistake(
        efforts(lambda f: f / np.linspace(30.0, 8.0, f.shape[1])), ('effort_scale', 'unit')
    ),
    'efforts of the motors (gears of 100)': Mistake(
        efforts(lambda f: 0.01 * f), ('effort_scale', 'unit')
    ),
    'efforts in per cent of the largest': Mistake(
        efforts(lambda f: 100.0 * f / np.abs(f).max(axis=0)), ('effort_scale', 'unit')
    ),
    'efforts of wrong sign': Mistake(efforts(lambda f: -f), ('effort_sign',)),
    'effort of joint 3 of wrong sign': Mistake(efforts(scaled(3, -1.0)), ('effort_sign',)),
    'effort of joint 5 of wrong sign': Mistake(efforts(scaled(5, -1.0)), ('effort_sign',)),
    'effort of joint 2 1.5 times too large': Mistake(
        efforts(scaled(2, 1.5)), ('effort_scale', 'scale')
    ),
    'effort of joint 2 in N mm': Mistake(efforts(scaled(2, 1e3)), ('unit', 'effort_scale')),
    'efforts of joints 2 and 3 exchanged': Mistake(efforts(exchanged(2, 3)), ('efforts_swapped',)),
    'joints 2 and 3 exchanged': Mistake(both(exchanged(2, 3)), ('joints_swapped',)),
    'joints 4 and 5 exchanged': Mistake(both(exchanged(4, 5)), ('joints_swapped',)),
    'joints in alphabetical order, wrongly': Mistake(
        both(lambda x: x[:, ::-1].copy()), ('joints_swapped', 'joints_reversed', 'beyond_limits')
    ),
    'effort of joint 3 stuck': Mistake(efforts(stuck(3)), ('stuck',)),
    'position of joint 2 stuck': Mistake(positions(stuck(2)), ('stuck', 'changes')),
    'effort of joint 2 zero from the middle on': Mistake(
        halfway(efforts(scaled(2, 0.0))), ('stuck', 'dropped_out', 'changes')
    ),
    'effort of joint 2 saturated': Mistake(efforts(saturated(2)), ('saturated',)),
    'effort of joint 3 of wrong sign from the middle on': Mistake(
        halfway(efforts(scaled(3, -1.0))), ('effort_sign', 'changes')
    ),
    'efforts in N mm from the middle on': Mistake(
        halfway(efforts(lambda f: 1e3 * f)), ('unit', 'changes')
    ),
    'efforts 20 ms late': Mistake(
        late(0.02), ('effort_delay',), corrected=('effort_delay', 'delay_found')
    ),
    'efforts 60 ms late': Mistake(
        late(0.06), ('effort_delay',), corrected=('effort_delay', 'delay_found')
    ),
    'effort of joint 2 40 ms late': Mistake(late(0.04, 2), ('effort_delay',)),
    'efforts repeat their values for 40 ms': Mistake(
        repeating(0.04), ('repeated', 'effort_delay'), corrected=('effort_delay', 'delay_found')
    ),
    'arm hangs from the ceiling': Mistake(
        entry(gravity=[0.0, 0.0, 9.80665]), ('gravity_direction',)
    ),
    'arm on a wall': Mistake(entry(gravity=[-9.80665, 0.0, 0.0]), ('gravity_direction',)),
    'no gravity': Mistake(entry(gravity=[0.0, 0.0, 0.0]), ('gravity_direction',)),
    'joints of the URDF in mm': Mistake(
        described(_distances(1e3)), ('unit', 'effort_scale', 'weight_against_inertia')
    ),
    'masses of the URDF in g': Mistake(described(_masses(1e3)), ('unit', 'effort_scale')),
    'axis of joint 2 turned in the URDF': Mistake(
        described(_axis(2)), ('joint_sign', 'position_sign', 'beyond_limits')
    ),
    'link lengths of a larger arm (1.3 times)': Mistake(
        described(_distances(1.3)), ('weight_against_inertia',)
    ),
    'one glitch of an effort of 1e5 N m': Mistake(
        efforts(glitch(1e5, 1)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'one glitch of a position of 0.1 rad': Mistake(
        positions(glitch(0.1, 1)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'positions in ticks of an encoder': Mistake(
        positions(lambda q: 4096 / (2.0 * np.pi) * q), ('unit',)
    ),
    'joint 2 begins anew each turn': Mistake(
        positions(lambda q: np.where(np.arange(q.shape[1]) == 1, q % (2.0 * np.pi), q)),
        ('wrapped',),
    ),
    'joint 1 counted the other way': Mistake(
        both(scaled(1, -1.0)), ('joint_sign', 'position_sign')
    ),
    'effort of joint 1 of wrong sign': Mistake(efforts(scaled(1, -1.0)), ('effort_sign',)),
    # Links behind it with other centres of mass do the same, so that no recording tells it.
    'last joint quarter of a turn off its zero': Mistake(
        lambda case: positions(shifted(len(case.joints), np.pi / 2))(case),
        ('position_offset',),
        noted=('zero_not_checked',),
    ),
    'joint 5 20 degrees off its zero': Mistake(
        positions(shifted(5, np.radians(20.0))), ('position_offset',), noted=('zero_not_checked',)
    ),
    'efforts in inch pounds': Mistake(efforts(lambda f: 8.8507 * f), ('effort_scale', 'unit')),
    'arm stands 5 degrees askew': Mistake(
        entry(gravity=[0.8547, 0.0, -9.7693]), ('gravity_direction',)
    ),
    'stamps of arrival, 6 ms late in the mean': Mistake(
        lambda case: replace(case, stamps=arrived(case.stamps, 0.006)),
        ('stamps_jitter',),
        corrected=('stamps_jitter',),
    ),
    'stamps of half the rate': Mistake(
        lambda case: replace(case, stamps=case.stamps[0] + 2 * (case.stamps - case.stamps[0])),
        ('weight_against_inertia',),
    ),
}


def _files(case: Case, folder: Path) -> tuple[Path, Path]:
    urdf, config = folder / 'arm.urdf', folder / 'robot.yaml'
    urdf.write_text(case.urdf, 'utf-8')
    config.write_text(yaml.safe_dump(case.entries), 'utf-8')
    return urdf, config


def _messages(case: Case) -> list[Item]:
    return joint_items(case.stamps, case.joints, case.position, case.effort)


def offline(case: Case, folder: Path) -> Told:
    """Checks, and the identification where they do not forbid it."""
    bag = folder / 'arm'
    write_bag(bag, _messages(case), case.truth)
    try:
        urdf, config = _files(case, folder)
        system, subject = configured(NAME, config, options={'urdf': urdf})
        findings = found(system.checks(system.read(bag, subject), subject))
        if any(level == 'bad' for level, _, _ in findings):
            return Told(findings)
        told = outcome_told(run('identify', NAME, [bag], config=config, options={'urdf': urdf}))
    except VehIdError as error:
        return Told(refusal=str(error))
    return replace(told, findings=(*findings, *told.findings))


def live(case: Case, folder: Path) -> Told:
    """The identification node over the same messages."""
    try:
        urdf, config = _files(case, folder)
        return live_told(
            'robot_identification',
            _messages(case),
            case.known,
            parameters={'urdf': str(urdf), 'robot': str(config)},
        )
    except VehIdError as error:
        return Told(refusal=str(error))
