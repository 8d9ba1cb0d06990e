"""From an identified humanoid to its outcome: series, tables, origins, identified.urdf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings.numbers import beside, number, percent
from veh_identification.identification import IdentificationResult
from veh_identification.identification.statistics import WELL_IDENTIFIED_PERCENT
from veh_identification.multibody.inertia import PARAMETER_NAMES
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.orientations import rpy_of_matrix
from veh_identification.reporting.content import Card, ExtraTable, table
from veh_identification.results.identification import (
    Further,
    identification_outcome,
    simulated_truth,
)
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.systems.base import Task, paths_of
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.estimation.problem import Problem
from veh_identification.systems.humanoid.identify import Identified
from veh_identification.systems.humanoid.options import Subject
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.results.findings import negligible_moments
from veh_identification.systems.humanoid.results.urdf import identified_urdf
from veh_identification.systems.humanoid.results.wrenches import joined
from veh_identification.types import Array

TOPIC = 'contact_identification/reconstruction'
UNITS = ('N',) * 3 + ('N m',) * 3
GLOSSARY: Mapping[str, str] = {
    'M': 'mass of the link, with those masses of others that move alike',
    **{f'MS{a}': f'mass times {a} of the centre of mass, in the link frame' for a in 'xyz'},
    **{
        f'J{a}{a}': f'moment of inertia about {a} at the origin of the link, in its frame'
        for a in 'xyz'
    },
    **{
        f'J{ab}': f'product of inertia {ab} at the origin of the link, in its frame'
        for ab in ('xy', 'xz', 'yz')
    },
    'total_mass': 'mass of the whole robot, what lies beyond its sensors included',
}


def humanoid_outcome(
    found: Identified, task: Task[Subject], recordings: Sequence[Any], validation: Any
) -> Outcome[IdentificationResult]:
    """The outcome; `recordings` and `validation` as they were read."""
    result, bags = found.result, paths_of(recordings)
    return identification_outcome(
        result,
        title='humanoid',
        bags=bags,
        validate=next(iter(paths_of([] if validation is None else [validation])), None),
        findings=found.findings,
        series=_series(found),
        provenance=provenance(
            'identify',
            'humanoid',
            task.arguments,
            {'input': result.input, 'noise': result.noise, **result.extra},
            _origins(found, dict(task.arguments)),
        ),
        glossary=GLOSSARY,
        further=Further(
            lines=tuple(_lines(found)),
            tables=_tables(result.extra),
            cards=_cards(result.extra['total_mass']),
            values={'total_mass': _total_mass(result.extra['total_mass'])},
            truth=true_values(found.estimate.problem, bags),
            band_hz=found.estimate.cutoff.cutoff_hz,
            negligible=negligible_moments(
                found.estimate.total_mass[0] * found.estimate.problem.configuration.gravity,
                found.estimate.problem.size,
            ),
        ),
        files={'identified.urdf': identified_urdf(found.setup.problem.robot, found.fit.as_dict())},
        inputs=task.inputs,
    )


def _series(found: Identified) -> list[Reconstruction]:
    """Wrenches by the identified values, by identified.urdf and by the URDF as it was given."""
    frame = found.estimate.problem.model.body_names[0]
    names = ', '.join(Path(one.label).name for one in found.recordings)
    parts = [('', f'Identification data: {names}', joined(found.recordings), found.result.sigma)]
    if found.validation is not None:
        title = f'Validation recording {Path(found.validation.label).name}'
        parts.append(('validation/', title, found.validation, np.full(len(BASE_ROWS), np.nan)))
    series = []
    for prefix, title, wrenches, sigma in parts:
        for suffix, predicted in (
            ('', wrenches.identified),
            ('_urdf', wrenches.urdf),
            ('_a_priori', wrenches.a_priori),
        ):
            series.append(
                Reconstruction(
                    f'{prefix}{TOPIC}{suffix}',
                    title,
                    bool(prefix),
                    tuple(BASE_ROWS),
                    UNITS,
                    wrenches.stamps_ns,
                    wrenches.measured,
                    predicted,
                    sigma,
                    a_priori=None if suffix else wrenches.a_priori,
                    frame=frame,
                    drawn=not suffix,
                )
            )
    return series


def _lines(found: Identified) -> list[str]:
    """For a terminal: total mass, cut-off, further unknowns, residuals of identified.urdf."""
    extra, cutoff = found.result.extra, found.estimate.cutoff
    total = extra['total_mass']
    lines = [
        f'total mass {total["value"]:.5g} +- {total["std"]:.2g} kg (URDF '
        f'{total["a_priori"]:.5g} kg'
        + (f', by a scale {total["weighed"]:.5g} kg)' if 'weighed' in total else ')'),
        f'cut-off {cutoff.cutoff_hz:g} Hz: {cutoff.reason}',
    ]
    lines += [
        f'{entry["name"]} {entry["value"]:.4g} +- {entry["std"]:.2g} {entry["unit"]}'
        for entry in extra['sensor_unknowns']
    ]
    for title, rows in (
        ('identification data', extra['residuals_urdf']),
        ('validation', extra['validation_urdf']),
    ):
        if rows:
            lines.append(f'{title}: rms of identified.urdf, of the URDF as given')
            lines += [
                f'  {name}  {row["rms"]:.4g}  {row["a_priori_rms"]:.4g}'
                for name, row in rows.items()
            ]
    return lines


def _tables(extra: Mapping[str, Any]) -> tuple[ExtraTable, ...]:
    made = [
        table(
            'Further unknowns',
            'Estimated beside the parameters.',
            extra['sensor_unknowns'],
            {'name': 'unknown', 'unit': 'unit', 'value': 'value', 'std': 'sigma'},
        ),
        _residuals('identified.urdf on the validation recording', extra['validation_urdf']),
        _residuals('identified.urdf on the identification data', extra['residuals_urdf']),
    ]
    return tuple(one for one in made if one is not None)


def _residuals(title: str, rows: Mapping[str, Mapping[str, Any]]) -> ExtraTable | None:
    return table(
        title,
        'Residuals of the physically consistent model beside those of the model given.',
        [
            {'equation': name, **row, 'rms_relative': percent(row['rms_relative'])}
            for name, row in rows.items()
        ],
        {
            'equation': 'equation',
            'rms': 'rms',
            'rms_relative': 'share of signal',
            'a_priori_rms': 'rms, model given',
        },
    )


def _cards(mass: Mapping[str, float]) -> tuple[Card, ...]:
    return (
        Card(
            'total mass',
            f'{beside(mass["value"], mass["std"])} kg',
            f'± {number(mass["std"], 2)} kg; the model given has {number(mass["a_priori"], 4)} kg',
        ),
    )


def _total_mass(mass: Mapping[str, float]) -> Value:
    possible = mass['value'] > 0.0
    return Value(
        'total_mass',
        mass['value'],
        mass['std'],
        'kg',
        GLOSSARY['total_mass'],
        mass['a_priori'],
        possible and 100.0 * mass['std'] < WELL_IDENTIFIED_PERCENT * mass['value'],
        possible,
    )


def true_values(problem: Problem, bags: Sequence[Path]) -> dict[str, float]:
    """Base parameters of the simulated robot, where the first recording is a simulated one."""
    known = simulated_truth(bags[0]) if bags else {}
    gone, model = problem.robot.beyond, problem.model
    links = [
        name.rpartition('.')[0]
        for name, value in known.items()
        if name.endswith('.M') and value > 0.0
    ]
    links = [name for name in links if name not in gone]
    if not links or not all(name in model.frames or name in model.body_names for name in links):
        return {}
    values = np.array([known[f'{name}.{entry}'] for name in links for entry in PARAMETER_NAMES])
    base = links_to_base(problem.robot, model, problem.base, links) @ values
    return dict(zip(problem.base.names, base.tolist(), strict=True))


def _origins(found: Identified, arguments: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Robot, gravity, motion of the base, poses of plates, delays: the value and its source."""
    setup, c = found.setup, found.estimate.problem.configuration
    file = arguments.get('config')
    configured = 'configuration' if file is None else str(file)
    gravity = 'default' if c.gravity == Configuration().gravity else configured
    if 'gravity' in arguments:
        gravity = 'the option gravity'
    raws = [*setup.raws, *([setup.validation] if setup.validation is not None else [])]
    return [
        ('robot description', setup.problem.robot.path, 'the option urdf'),
        ('gravity', f'{c.gravity:g} m/s^2', gravity),
        *(one for raw in raws for one in _raw_origins(raw, c, configured)),
        *((f'delay of {topic}', f'{value:g} s', configured) for topic, value in c.delays.items()),
        *(
            (f'position of {name}', f'{value:g}', configured)
            for name, value in c.locked_joints.items()
        ),
    ]


def _raw_origins(raw: Raw, c: Configuration, configured: str) -> list[tuple[str, str, str]]:
    """Of one recording: the base's motion, each plate's pose, each sensor's frame."""
    if raw.imu is None:
        motion = f'{c.base_pose} (motion capture)'
    else:
        legs = '' if raw.inertial is None else ' and leg odometry'
        motion = f'{c.imu} at {_numbers(raw.imu.translation)} m of the base{legs}'
    found = [(f'motion of the base, {raw.label}', motion, raw.label)]
    for one in raw.sources:
        source = one.origin.replace('configuration', configured)
        source = f'{source} of {raw.label}' if source == '/tf_static' else source
        if one.pose is None:
            found.append((f'frame of {one.topic}, {raw.label}', one.frame, source))
        else:
            rpy = _numbers(rpy_of_matrix(one.pose.rotation))
            value = f'position {_numbers(one.pose.position)} m, rpy {rpy} rad'
            found.append((f'pose of {one.topic}, {raw.label}', value, source))
    return found


def _numbers(values: Sequence[float] | Array) -> str:
    return ' '.join(f'{float(value) + 0.0:.6g}' for value in values)
