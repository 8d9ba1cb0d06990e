"""From an identified car to its outcome: both sides of the equations, tables, origins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import beside, number
from veh_identification.identification import IdentificationResult
from veh_identification.reporting.content import Card, CurveFigure, ExtraTable
from veh_identification.results.identification import (
    Further,
    identification_outcome,
    simulated_truth,
)
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.signals import ZeroPhaseFilter
from veh_identification.systems.base import Task, paths_of
from veh_identification.systems.car.checks.static_mass import static_mass_line
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.description.identified import identified_description
from veh_identification.systems.car.estimation.identified import Identified
from veh_identification.systems.car.model import EQUATION_UNITS, CarModel, EquationModel
from veh_identification.systems.car.origins import assumed_geometry, configuration_origins
from veh_identification.systems.car.parameters import DESCRIPTIONS
from veh_identification.systems.car.processing.driveline import Modes
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.sheet.handling import handling
from veh_identification.systems.car.sheet.sheet import engineers_sheet, known_car
from veh_identification.types import Array, IntArray

TOPIC = '/car_identification/reconstruction'
RECONSTRUCTION_RATE = 50.0
#: The description of the car with what was found, which every command takes as it is.
DESCRIPTION = 'identified.yaml'
SHEET = 'engineers_sheet.csv'


@dataclass(frozen=True)
class Presentation:
    """What the two models of the car present differently."""

    model: str  # in the report
    chassis: str  # name of the chassis' mass
    #: Name and sign under Venture 2006 of each parameter.
    names: Mapping[str, tuple[str, float]]

    @property
    def glossary(self) -> dict[str, str]:
        """What the names mean; where an axis points the other way it is said."""
        return {
            name: DESCRIPTIONS[other] if sign > 0.0 else f'minus the {DESCRIPTIONS[other]}'
            for name, (other, sign) in self.names.items()
        }

    def as_2006(self, result: IdentificationResult) -> IdentificationResult:
        """The same parameters under the names and signs of Venture 2006."""
        sign = np.array([self.names[name][1] for name in result.names])
        return replace(
            result,
            names=[self.names[name][0] for name in result.names],
            value=sign * result.value,
            covariance=np.outer(sign, sign) * result.covariance,
            impossible=[self.names[name][0] for name in result.impossible],
        )

    def truth(self, bags: Sequence[Path]) -> dict[str, float]:
        """True values of the first recording, where it is simulated."""
        known = simulated_truth(bags[0]) if bags else {}
        return {
            name: sign * known[other]
            for name, (other, sign) in self.names.items()
            if other in known
        }


@dataclass(frozen=True)
class Study:
    """What a side study adds to an outcome."""

    key: str  # of parameters.json
    content: Mapping[str, object]
    table: ExtraTable | None
    text: str
    findings: tuple[Finding, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    curves: tuple[CurveFigure, ...] = ()


def car_outcome(
    task: Task[CarDescription],
    identified: Identified,
    presentation: Presentation,
    shown: Sequence[CarSamples],
    studies: Sequence[Study] = (),
) -> Outcome[IdentificationResult]:
    """The outcome; `shown` are stretches of the validation or of the last recording."""
    result = identified.result
    given = dict(task.arguments)
    result.input['configuration'] = str(given.get('config') or task.config.source or 'none')
    result.extra.update({study.key: study.content for study in studies})
    bags = paths_of(task.recordings)
    validate = next(iter(paths_of([task.validation])), None)
    static = result.extra.get('static_mass')
    named = presentation.as_2006(result)
    config = identified.configuration or task.config
    wheel = known_car(config)[0].wheel_mass or 0.0
    sheet = engineers_sheet(named, config, handling(identified.driven, config, wheel))
    if sheet is not None:
        result.extra['engineers_sheet'] = sheet.as_dict()
    description = identified_description(task.config, named, identified.configuration)
    origins = (*configuration_origins(task.config), *dict.fromkeys(identified.origins))
    return identification_outcome(
        result,
        title='car',
        bags=bags,
        validate=validate,
        findings=[
            *_without_configuration(task.config),
            *identified.findings,
            *(finding for study in studies for finding in study.findings),
        ],
        series=[reconstruction(identified, shown, *_title(task))],
        provenance=provenance(
            'identify',
            'car',
            task.arguments,
            {'input': result.input, 'noise': result.noise, **result.extra},
            origins,
        ),
        glossary=presentation.glossary,
        further=Further(
            model=presentation.model,
            lines=(
                *([] if static is None else [static_mass_line(static)]),
                *_driveline(result),
                *([] if sheet is None else [sheet.text()]),
                *(study.text.rstrip('\n') for study in studies),
            ),
            tables=(
                *([] if sheet is None else [sheet.table()]),
                *(study.table for study in studies if study.table is not None),
            ),
            curves=tuple(one for study in studies for one in study.curves),
            cards=_cards(result, presentation.chassis),
            truth=presentation.truth(bags),
            band_hz=result.input['cutoff_hz'],
            seconds=float(result.input['seconds']),
        ),
        files={
            DESCRIPTION: description.encode(),
            **({} if sheet is None else {SHEET: sheet.csv().encode()}),
            **{name: one for study in studies for name, one in study.files.items()},
        },
        inputs=task.inputs,
    )


def _driveline(result: IdentificationResult) -> list[str]:
    found = result.input.get('driveline_hz')
    return [Modes(found).text(result.input.get('stop_bands_hz', ()))] if found else []


def _title(task: Task[CarDescription]) -> tuple[str, bool]:
    """Of the traces in the report, and whether they are of the recording that judges."""
    if task.validation is not None:
        return f'Validation recording {_name(task.validation)}', True
    return f'Identification data: {", ".join(_name(one) for one in task.recordings)}', False


def _name(recording: object) -> str:
    return Path(getattr(recording, 'label', '') or str(recording)).name


def _without_configuration(configuration: CarDescription) -> list[Finding]:
    if assumed := assumed_geometry(configuration):
        # the radius alone is in nothing but the height of the centre of gravity over the road
        alone = len(assumed) == 1 and assumed[0].startswith('wheel radius')
        return [
            Finding(
                'note' if alone else 'warn',
                'geometry_assumed',
                f'the description leaves out {"; ".join(assumed)}, assumed here: measure what the '
                + ('heights over the road rest on' if alone else 'data cannot tell'),
                'geometry',
            )
        ]
    if configuration != CarDescription():
        return []
    return [
        Finding(
            'warn',
            'no_configuration',
            'no --config was given: wheelbase 2.70 m, half tracks 0.75 and '
            '0.74 m and sensors at the base_link origin (or where /tf_static says) are '
            'assumed',
            '--config',
        )
    ]


def _cards(result: IdentificationResult, chassis: str) -> tuple[Card, ...]:
    place = result.index(chassis)
    mass, std = float(result.value[place]), float(result.std[place])
    if not np.isfinite(mass):
        return ()
    prior = float('nan') if result.a_priori is None else float(result.a_priori[place])
    before = f'; a priori {number(prior, 4)} kg' if np.isfinite(prior) else ''
    level: Level = 'bad' if chassis in result.impossible else 'note'
    return (
        Card('chassis mass', f'{beside(mass, std)} kg', f'± {number(std, 2)} kg{before}', level),
    )


def reconstruction(
    identified: Identified,
    pieces: Sequence[CarSamples],
    title: str,
    held_out: bool,
) -> Reconstruction:
    """Measured and predicted sides of the ten equations, each equation filtered as identified.

    The filters' transients at both ends are left out. An equation that could not be identified
    from has no predicted side.
    """
    result = identified.result
    parts = [_filtered(result, identified.model, piece, identified.value) for piece in pieces]
    sides = np.concatenate([one for _, one in parts])
    sides[:, ~np.isfinite(result.residual_rms), 1] = np.nan
    return Reconstruction(
        TOPIC,
        title,
        held_out,
        tuple(result.equations),
        EQUATION_UNITS,
        np.concatenate([stamps for stamps, _ in parts]),
        sides[:, :, 0],
        sides[:, :, 1],
        result.residual_rms,
        frame='base_link',
    )


def _filtered(
    result: IdentificationResult, model: EquationModel, piece: CarSamples, value: Array
) -> tuple[IntArray, Array]:
    """Stamps and both sides of one stretch at about RECONSTRUCTION_RATE."""
    step = max(1, round(piece.rate / RECONSTRUCTION_RATE))
    sides = both_sides(model, piece, value)
    margin = 0
    for j, name in enumerate(result.equations):
        cutoff = min(result.input['cutoff_hz'][name], 0.45 * piece.rate)
        low = ZeroPhaseFilter(piece.rate, cutoff, 4)
        if len(piece) >= low.minimum_length:
            sides[:, j] = low.apply(sides[:, j])[0]
            margin = max(margin, low.transient)
    rows = slice(margin, len(piece) - margin, step)
    stamps = piece.epoch_ns + np.rint(1e9 * piece.stamps[rows]).astype(np.int64)
    return stamps, sides[rows]


def both_sides(model: EquationModel, piece: CarSamples, value: Array) -> Array:
    """Measured and predicted sides (N, 10, 2) of the equations, unfiltered."""
    signals = model.signals(piece)
    sides = np.stack([signals[:, -10:], np.zeros((len(piece), 10))], axis=2)
    for entry in model.entries:
        sides[:, entry.equation, 1] += signals[:, entry.column] * value[entry.parameter]
    if isinstance(model, CarModel):  # else the wheels would seem to push less
        sides += model.stop_forces(piece)[:, :, None]
    return sides
