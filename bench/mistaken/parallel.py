"""Mistakes in recordings and descriptions of a six-legged parallel robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mistaken.common import (
    Item,
    Mistake,
    Told,
    found,
    joint_items,
    live_told,
    outcome_told,
    without_a_fifth,
    write_bag,
)
from veh_identification.errors import VehIdError
from veh_identification.runtime.graph import find_config
from veh_identification.simulation.parallel.scenarios import (
    EPOCH_NS,
    HexapodSensors,
    default_excitation,
    exact_run,
    true_parameters,
)
from veh_identification.systems.driver import configured, run
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.types import Array

NAME = 'parallel'
SECONDS = 12.0
Changed = Callable[['Case'], 'Case']


@dataclass(frozen=True)
class Case:
    """Lengths and forces, and the description of the robot."""

    stamps: Array
    lengths: Array
    forces: Array
    truth: dict[str, float]
    entries: dict[str, Any] = field(default_factory=dict)  # of the YAML, replaced
    known: dict[str, float] = field(default_factory=dict)


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another robot (masses, frictions), noise and seed."""
    configuration = load_configuration()
    model, rng = configuration.model(), np.random.default_rng((k, 77))
    p = true_parameters(model) * (1.0 + 0.15 * rng.uniform(-1.0, 1.0, len(model.names)))
    sensors = HexapodSensors().scaled((1.0, 0.5, 2.0)[k % 3])
    exact = exact_run(model, default_excitation(configuration), sensors.rate, p)
    count = round(seconds * exact.rate)
    lengths, forces = exact.repeated(count, sensors, rng)
    stamps = EPOCH_NS + np.round(np.arange(count) * 1e9 / exact.rate).astype(np.int64)
    truth = dict(zip(model.names, p.tolist(), strict=True))
    return Case(stamps, lengths, forces, truth)


def lengths(change: Callable[[Array], Array]) -> Changed:
    """Lengths changed."""
    return lambda case: replace(case, lengths=change(case.lengths.copy()))


def forces(change: Callable[[Array], Array]) -> Changed:
    """Efforts changed."""
    return lambda case: replace(case, forces=change(case.forces.copy()))


def scaled(*factors: float) -> Callable[[Array], Array]:
    """Legs times factors."""
    return lambda values: values * np.array(factors)


def order(*legs: int) -> Callable[[Array], Array]:
    """Legs in another order, counted from 1."""
    return lambda values: values[:, [leg - 1 for leg in legs]]


def both(change: Callable[[Array], Array]) -> Changed:
    """Lengths and efforts changed alike."""
    return lambda case: replace(case, lengths=change(case.lengths), forces=change(case.forces))


def late(samples: int) -> Changed:
    """Efforts of some samples before."""
    return lambda case: replace(
        case,
        stamps=case.stamps[samples:],
        lengths=case.lengths[samples:],
        forces=case.forces[:-samples],
    )


def stuck(column: int) -> Callable[[Array], Array]:
    """One leg holds its value from the middle on."""

    def change(values: Array) -> Array:
        half = len(values) // 2
        values[half:, column] = values[half, column]
        return values

    return change


def holding(column: int, samples: int) -> Callable[[Array], Array]:
    """One leg whose value is repeated for some samples."""

    def change(values: Array) -> Array:
        values[:, column] = values[samples * (np.arange(len(values)) // samples), column]
        return values

    return change


def halfway(change: Changed) -> Changed:
    """A change of values that begins in the middle of the recording."""

    def make(case: Case) -> Case:
        wrong, middle = change(case), len(case.forces) // 2
        return replace(
            case,
            lengths=np.vstack([case.lengths[:middle], wrong.lengths[middle:]]),
            forces=np.vstack([case.forces[:middle], wrong.forces[middle:]]),
        )

    return make


def saturated(values: Array) -> Array:
    """The effort of leg 2 cannot be larger than most of it is."""
    values[:, 1] = np.minimum(values[:, 1], np.percentile(values[:, 1], 85))
    return values


def commanded(case: Case) -> Case:
    """Lengths of the wanted motion, without noise and control error."""
    configuration = load_configuration()
    model = configuration.model()
    exact = exact_run(model, default_excitation(configuration), HexapodSensors().rate)
    index = np.arange(len(case.lengths)) % len(exact.lengths)
    return replace(case, lengths=exact.lengths[index])


def entry(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Changed:
    """Entries of the description changed."""
    return lambda case: replace(case, entries={**case.entries, **change(_description())})


def _description() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(find_config('hexapod_palida.yaml').read_text('utf-8'))
    return data


def _joints(part: str) -> list[list[float]]:
    robot = load_configuration().robot
    joints: Array = getattr(robot, f'{part}_joints')
    return joints.tolist()


def _rings(data: dict[str, Any], factor: float) -> dict[str, Any]:
    made = {}
    for part in ('base', 'platform'):
        kept = {key: value for key, value in data[part].items() if key != 'ring'}
        made[part] = {**kept, 'joints': (factor * np.array(_joints(part))).tolist()}
    return made


def _swapped(data: dict[str, Any]) -> dict[str, Any]:
    made = _rings(data, 1.0)
    a, b = made['base']['joints'], made['platform']['joints']
    made['base']['joints'], made['platform']['joints'] = b, a
    return made


MISTAKES: dict[str, Mistake] = {
    'lengths in mm': Mistake(lengths(lambda q: 1e3 * q), ('unit',)),
    'lengths in cm': Mistake(lengths(lambda q: 1e2 * q), ('unit',)),
    'lengths in degrees': Mistake(lengths(np.degrees), ('unit',)),
    'strokes instead of lengths': Mistake(lengths(lambda q: q - 0.5), ('length_offset',)),
    'efforts in kN': Mistake(forces(lambda f: 1e-3 * f), ('unit',)),
    'efforts in kgf': Mistake(forces(lambda f: f / 9.80665), ('unit',)),
    'efforts of wrong sign': Mistake(forces(lambda f: -f), ('effort_sign',)),
    'effort of leg 4 of wrong sign': Mistake(forces(scaled(1, 1, 1, -1, 1, 1)), ('effort_sign',)),
    'effort of leg 2 1.3 times too large': Mistake(forces(scaled(1, 1.3, 1, 1, 1, 1)), ('scale',)),
    'legs 1 and 2 exchanged': Mistake(both(order(2, 1, 3, 4, 5, 6)), ('legs_exchanged',)),
    'efforts of legs 3 and 6 exchanged': Mistake(
        forces(order(1, 2, 6, 4, 5, 3)), ('efforts_exchanged',)
    ),
    'lengths of legs 5 and 6 exchanged': Mistake(
        lengths(order(1, 2, 3, 4, 6, 5)), ('lengths_exchanged',)
    ),
    'legs counted the other way': Mistake(both(order(6, 5, 4, 3, 2, 1)), ('legs_exchanged',)),
    'joints in mm': Mistake(entry(lambda d: _rings(d, 1e3)), ('unit',)),
    'base and platform swapped': Mistake(entry(_swapped), ('geometry_swapped',)),
    'home on the other side': Mistake(
        entry(lambda d: {'home': [d['home'][0], d['home'][1], -d['home'][2], *d['home'][3:]]}),
        ('home_mirrored',),
    ),
    'gravity upwards': Mistake(entry(lambda d: {'gravity': [0.0, 0.0, 9.80665]}), ('gravity',)),
    'gravity along x': Mistake(entry(lambda d: {'gravity': [-9.80665, 0.0, 0.0]}), ('gravity',)),
    'efforts one sample late': Mistake(late(1), ('effort_delay',)),
    'efforts 10 ms late': Mistake(late(5), ('effort_delay', 'effort_delay_possible')),
    'length of leg 3 stuck': Mistake(lengths(stuck(2)), ('stuck',), ('does not repeat',)),
    'effort of leg 5 stuck': Mistake(forces(stuck(4)), ('stuck',)),
    'effort of leg 2 saturated': Mistake(forces(saturated), ('saturated',)),
    'commanded lengths': Mistake(commanded, ('lengths_commanded',)),
    'effort of leg 4 of wrong sign from the middle on': Mistake(
        halfway(forces(scaled(1, 1, 1, -1, 1, 1))), ('effort_sign', 'changes')
    ),
    'efforts of legs 1 and 2 exchanged from the middle on': Mistake(
        halfway(forces(order(2, 1, 3, 4, 5, 6))), ('efforts_exchanged', 'changes')
    ),
    'efforts in kN from the middle on': Mistake(
        halfway(forces(lambda f: 1e-3 * f)), ('unit', 'changes')
    ),
    'effort of leg 3 repeats its value for 20 ms': Mistake(
        forces(holding(2, 10)), ('repeated', 'stuck')
    ),
    'efforts repeat their values for 10 ms': Mistake(
        forces(lambda f: f[5 * (np.arange(len(f)) // 5)]), ('repeated', 'effort_delay')
    ),
    'length of leg 3 8 mm off its zero': Mistake(
        lengths(lambda q: q + np.array([0, 0, 0.008, 0, 0, 0])), ('length_offset',)
    ),
    'effort of leg 6 80 N off its zero': Mistake(
        forces(lambda f: f + np.array([0, 0, 0, 0, 0, 80.0])), ('effort_offset', 'offset')
    ),
    'effort of leg 1 in kgf': Mistake(
        forces(scaled(1 / 9.80665, 1, 1, 1, 1, 1)), ('unit', 'scale')
    ),
    'effort of leg 5 10 ms late': Mistake(
        lambda case: replace(
            case,
            stamps=case.stamps[5:],
            lengths=case.lengths[5:],
            forces=np.column_stack(
                [case.forces[:-5, k] if k == 4 else case.forces[5:, k] for k in range(6)]
            ),
        ),
        ('effort_delay',),
    ),
    'effort of leg 2 zero from the middle on': Mistake(
        halfway(forces(scaled(1, 0, 1, 1, 1, 1))), ('stuck', 'dropped_out', 'changes')
    ),
    'efforts of wrong sign and lengths in mm': Mistake(
        lambda case: forces(lambda f: -f)(lengths(lambda q: 1e3 * q)(case)),
        ('unit', 'effort_sign'),
        ('millimetres',),
    ),
    'legs 2 to 6 counted one further': Mistake(both(order(2, 3, 4, 5, 6, 1)), ('legs_exchanged',)),
    'length of leg 3 in mm': Mistake(lengths(scaled(1, 1, 1e3, 1, 1, 1)), ('unit',)),
    'lengths in inches': Mistake(lengths(lambda q: q / 0.0254), ('unit',)),
    'efforts in lbf': Mistake(forces(lambda f: f / 4.44822), ('unit',)),
    'robot stands 5 degrees askew': Mistake(
        entry(lambda d: {'gravity': [0.8547, 0.0, -9.7693]}), ('gravity',)
    ),
    'a fifth of the samples lost': Mistake(
        lambda case: replace(
            case,
            **{
                name: getattr(case, name)[without_a_fifth(len(case.stamps))]
                for name in ('stamps', 'lengths', 'forces')
            },
        ),
        ('gaps', 'short_gaps', 'period_dropped', 'few_periods'),
        corrected=('short_gaps',),
    ),
    'efforts of which the first is taken as zero': Mistake(
        forces(lambda f: f - f[0]), ('effort_offset', 'offset')
    ),
    'efforts are currents, each leg with its own constant': Mistake(
        forces(lambda f: f / np.array([52.0, 48.0, 50.0, 51.0, 49.0, 50.0])), ('unit', 'scale')
    ),
    'lengths 5 mm too long': Mistake(lengths(lambda q: q + 0.005), ('length_offset',)),
    'effort of leg 2 1.05 times too large': Mistake(
        forces(scaled(1, 1.05, 1, 1, 1, 1)), ('scale',)
    ),
    'lengths 1.02 times too large': Mistake(lengths(lambda q: 1.02 * q), ('length_scale',)),
    'stamps of half the rate': Mistake(
        lambda case: replace(case, stamps=case.stamps[0] + 2 * (case.stamps - case.stamps[0])),
        ('fundamental_off',),
        ('period',),
    ),
    'stamps of twice the rate': Mistake(
        lambda case: replace(case, stamps=case.stamps[0] + (case.stamps - case.stamps[0]) // 2),
        ('fundamental_off',),
        ('period',),
    ),
}


def _config(case: Case, folder: Path) -> Path:
    path = folder / 'hexapod.yaml'
    data = {**_description(), **case.entries}
    if isinstance(data.get('excitation'), str):
        stored = find_config('hexapod_palida.yaml').parent / data['excitation']
        data['excitation'] = yaml.safe_load(stored.read_text('utf-8'))
    path.write_text(yaml.safe_dump(data), 'utf-8')
    return path


def _messages(case: Case) -> list[Item]:
    return joint_items(case.stamps, LEGS, case.lengths, case.forces)


def offline(case: Case, folder: Path) -> Told:
    """Checks, and the identification where they do not forbid it."""
    bag = folder / 'parallel'
    write_bag(bag, _messages(case), case.truth)
    try:
        path = _config(case, folder)
        system, config = configured(NAME, path)
        findings = found(system.checks(system.read(bag, config), config))
        if any(level == 'bad' for level, _, _ in findings):
            return Told(findings)
        told = outcome_told(run('identify', NAME, [bag], config=path))
    except VehIdError as error:
        return Told(refusal=str(error))
    return replace(told, findings=(*findings, *told.findings))


def live(case: Case, folder: Path) -> Told:
    """The identification node over the same messages."""
    try:
        path = _config(case, folder)
        return live_told(
            'parallel_identification',
            _messages(case),
            case.truth,
            parameters={'hexapod': str(path), 'reconstruction_rate': 0.0},
        )
    except VehIdError as error:
        return Told(refusal=str(error))
