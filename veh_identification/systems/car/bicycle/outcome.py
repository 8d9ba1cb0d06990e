"""The outcome of an identification without wheel forces."""

from __future__ import annotations

import numpy as np

from veh_identification.findings.numbers import beside, number, unit
from veh_identification.identification import IdentificationResult
from veh_identification.reporting.content import Card
from veh_identification.results.identification import (
    Further,
    identification_outcome,
    simulated_truth,
)
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.systems.base import Task, paths_of
from veh_identification.systems.car.bicycle.identify import HandlingIdentified
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.origins import configuration_origins
from veh_identification.systems.car.sheet.meaning import MEANING
from veh_identification.systems.car.sheet.sheet import Line, Sheet, propagated

TOPIC = '/car_identification/reconstruction'
SHEET = 'engineers_sheet.csv'
GLOSSARY = {
    'm': 'mass of the car as driven',
    'Izz': 'yaw inertia of the car at its centre of gravity',
    'Cf': 'cornering stiffness of the front axle, both tyres, small slip',
    'Cr': 'cornering stiffness of the rear axle, both tyres, small slip',
    'Izz/m': 'yaw inertia of the car at its centre of gravity over its mass',
    'Cf/m': 'cornering stiffness of the front axle over the mass of the car',
    'Cr/m': 'cornering stiffness of the rear axle over the mass of the car',
    'cg_x': 'centre of gravity of the car, ahead of the rear axle',
    'sigma_f': 'relaxation length of the front tyres',
    'sigma_r': 'relaxation length of the rear tyres',
    'roll_frequency': 'natural frequency of roll: root of stiffness over inertia',
    'roll_damping': 'damping ratio of roll',
    'roll_gain': 'roll acceleration by sideways force over mass: lever arm over roll inertia',
    'steering_gain': 'true over told angle of the road wheels',
    'trail': 'side forces act so far behind the wheel centres; as tyres have it, not identified',
    'Cx': 'drag: half the density times area times coefficient',
    'rolling': 'rolling resistance over weight',
}


def handling_outcome(
    task: Task[CarDescription], identified: HandlingIdentified
) -> Outcome[IdentificationResult]:
    """Tables, sheet, report and files."""
    result = identified.result
    given = dict(task.arguments)
    result.input['configuration'] = str(given.get('config') or task.config.source or 'none')
    bags = paths_of(task.recordings)
    validate = next(iter(paths_of([task.validation])), None)
    sheet = _sheet(identified)
    result.extra['engineers_sheet'] = sheet.as_dict()
    shown, held_out = identified.shown, task.validation is not None
    truth = simulated_truth(bags[0]) if bags else {}
    return identification_outcome(
        result,
        title='car',
        bags=bags,
        validate=validate,
        findings=identified.findings,
        series=[
            Reconstruction(
                TOPIC,
                'Measured, and simulated from steering and speed alone',
                held_out,
                shown.equations,
                shown.units,
                shown.stamps_ns,
                shown.measured,
                shown.simulated,
                result.residual_rms,
                frame='base_link',
            )
        ],
        provenance=provenance(
            'identify',
            'car',
            task.arguments,
            {'input': result.input, 'noise': result.noise, **result.extra},
            (*configuration_origins(task.config), *dict.fromkeys(identified.origins)),
        ),
        glossary=GLOSSARY,
        further=Further(
            model='single track with roll, no wheel forces',
            lines=(sheet.text(),),
            tables=(sheet.table(),),
            cards=_cards(result),
            truth={name: truth[name] for name in result.names if name in truth},
            band_hz=result.input['cutoff_hz'],
            seconds=float(result.input['seconds']),
        ),
        files={SHEET: sheet.csv().encode()},
        inputs=task.inputs,
    )


def _cards(result: IdentificationResult) -> tuple[Card, ...]:
    name = 'Izz' if 'Izz' in result.names else 'Izz/m'
    place = result.index(name)
    value, std = float(result.value[place]), float(result.std[place])
    shown = unit(result.units[place])
    return (
        Card(
            f'yaw inertia {name}',
            f'{beside(value, std)} {shown}',
            f'± {number(std, 2)} {shown}',
            'note',
        ),
    )


def _sheet(identified: HandlingIdentified) -> Sheet:
    """Quantities with the deviations that those of the parameters amount to."""
    result = identified.result
    middle, gradient = propagated(
        identified.quantities, result.value, 1e-4 * np.maximum(np.abs(result.value), 1e-3)
    )
    spread = np.sqrt(np.einsum('qi,ij,qj->q', gradient, result.covariance, gradient))
    return Sheet(
        tuple(
            Line(name, float(value), float(std), *MEANING[name])
            for (name, value), std in zip(middle.items(), spread, strict=True)
        ),
        (),
        'From the single-track car; compliances and gradients hold for small slip.',
    )
