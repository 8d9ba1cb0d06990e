"""What an identification says besides its numbers: facts, series, tables, lines, origins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.identification import Validation
from veh_identification.reporting.content import ExtraTable, table
from veh_identification.results.identification import Further, simulated_truth
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.systems.parallel.configuration import Configuration
from veh_identification.systems.parallel.estimation.likelihood import pooled_force_covariance
from veh_identification.systems.parallel.estimation.structure_selection import Candidate
from veh_identification.systems.parallel.estimation.validation import (
    ValidationData,
    validate_model,
    validation_regressor,
)
from veh_identification.systems.parallel.identify import Estimate
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.systems.parallel.options import Settings
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

RECONSTRUCTION = 'parallel_identification/reconstruction'
VALIDATION = 'parallel_identification/validation'


@dataclass(frozen=True, eq=False)
class Validated:
    """A recording that was not used, beside what the model says of it."""

    data: ValidationData
    regressor: Array
    found: Validation

    @classmethod
    def of(cls, model: HexapodModel, data: ValidationData, parameters: Array) -> Validated:
        """Judge parameters on a recording."""
        regressor = validation_regressor(model, data)
        return cls(data, regressor, validate_model(model, data, regressor, parameters))

    def findings(self) -> list[Finding]:
        """How residuals of both recordings compare."""
        if self.data.periods:
            return []
        text = (
            f'{self.data.source}: the motion does not repeat, so the validation compares single '
            'samples with all their noise; residuals of the identification are those of mean '
            'periods'
        )
        return [Finding('note', 'validation_not_periodic', text, self.data.source)]


@dataclass(frozen=True, eq=False)
class Structures:
    """The passive friction models that were tried, and the one that the data support best."""

    chosen: Structure
    candidates: Sequence[Candidate]

    def facts(self) -> list[dict[str, Any]]:
        """For parameters.json."""
        return [
            {
                'passive': one.structure.passive,
                'parameters': one.parameters,
                'correlation_condition_number': one.correlation_condition,
                'residual_variance': one.residual_variance,
                'chi_square': one.chi_square,
                'insignificant': one.insignificant,
                'recommended': one.structure == self.chosen,
            }
            for one in self.candidates
        ]

    def table(self) -> tuple[ExtraTable, ...]:
        """For the report."""
        made = table(
            'Passive friction models',
            'Structures that were tried on the same data.',
            self.facts(),
            {
                'passive': 'model',
                'parameters': 'parameters',
                'correlation_condition_number': 'cond(correlation)',
                'residual_variance': 'residual variance [N²]',
                'insignificant': 'insignificant',
                'recommended': 'recommended',
            },
        )
        return () if made is None else (made,)

    def findings(self) -> list[Finding]:
        """Which one the data support best."""
        if all(one.structure != self.chosen for one in self.candidates):
            return []
        name = self.chosen.passive.replace('_', ' ')
        text = f'Passive friction model that the data support best: {name}.'
        return [Finding('note', 'passive_friction_model', text, 'model.passive')]

    def lines(self) -> list[str]:
        """For a terminal."""
        return [
            f'passive friction {one.structure.passive}: {one.parameters} parameters, '
            f'cond(correlation) {one.correlation_condition:.4g}, residual variance '
            f'{one.residual_variance:.5g} N^2, {one.insignificant} insignificant'
            for one in self.candidates
        ]


def input_facts(
    configuration: Configuration,
    settings: Settings,
    records: Sequence[PeriodicRecord],
    made: Estimate,
    validated: Validated | None,
) -> dict[str, Any]:
    """The `input` entry of parameters.json."""
    covariance = _force_covariance(records, made)
    unseen = None if validated is None else validated.data
    forces = 'unfiltered mean over periods'
    if made.band is not None:
        forces = f'both sides low-passed at {made.cutoff_hz:g} Hz'
    return {
        'bags': _sources(records, made),
        'topic': settings.topic,
        'config': configuration.source,
        'processing': made.method,
        'cutoff_hz': float(made.result.value[-1]),
        'forces': forces,
        'harmonics': settings.harmonics,
        'fundamental_hz': [r.fundamental_hz for r in records],
        'periods': [r.periods for r in records],
        'samples_per_period': [r.samples for r in records],
        'rate_hz': [r.rate for r in records],
        'force_covariance': covariance.tolist(),
        # What the noise alone leaves of residuals: means over periods have little of it.
        'residual_noise_rms': [np.sqrt(np.diag(covariance) / r.periods).tolist() for r in records],
        'validation_noise_rms': None if unseen is None else unseen.noise(covariance).tolist(),
        'length_covariance': [r.lengths.covariance.tolist() for r in records],
        'validation': None if unseen is None else unseen.description(),
    }


def _force_covariance(records: Sequence[PeriodicRecord], made: Estimate) -> Array:
    """Of one raw sample; of the filtered rows where no motion repeats."""
    if records or made.band is None:
        return pooled_force_covariance(records)
    return made.band.covariance()


def _sources(records: Sequence[PeriodicRecord], made: Estimate) -> list[str]:
    return [one.source for one in (records if made.band is None else made.band.rows)]


def _seconds(records: Sequence[PeriodicRecord], made: Estimate) -> float:
    """Of motion that was used."""
    if made.band is None:
        return sum(r.periods / r.fundamental_hz for r in records)
    return sum(len(one.W) / one.filter.output_rate for one in made.band.rows)


def extra_facts(structures: Structures, made: Estimate) -> dict[str, Any]:
    """Further entries: the passive friction models, the cut-offs that were tried, the delay."""
    extra: dict[str, Any] = {'model_selection': structures.facts()}
    extra['covariance'] = made.result.covariance[:-1, :-1].tolist()  # for feedforward
    if made.likelihood is not None:
        extra['likelihood'] = {f'{fc:.6g}': cost for fc, cost in made.likelihood.tried.items()}
    if made.delay is not None:
        extra['effort_delay'] = made.delay.facts()
    return extra


def series(
    model: HexapodModel,
    made: Estimate,
    validated: Validated | None,
) -> list[Reconstruction]:
    """Measured and predicted forces: the mean periods, then the recording that was not used."""
    measured = np.concatenate(made.system.Y)
    known = np.isfinite(measured).all(axis=1)
    stamps = made.stamps_ns
    regressor = np.concatenate(made.system.W)[known]
    units = ('N',) * len(LEGS)
    found = [
        Reconstruction(
            RECONSTRUCTION,
            'identification data',
            False,
            LEGS,
            units,
            stamps[known],
            measured[known],
            regressor @ made.parameters,
            made.result.sigma,
        )
    ]
    if validated is not None:
        data = validated.data
        known = np.isfinite(data.forces).all(axis=1)
        regressor = validated.regressor[known]
        found.append(
            Reconstruction(
                VALIDATION,
                'validation',
                True,
                LEGS,
                units,
                data.stamps_ns[known],
                data.forces[known],
                regressor @ made.parameters,
                np.full(len(LEGS), np.nan),
                _a_priori(model, regressor),
            )
        )
    return found


def _a_priori(model: HexapodModel, regressor: Array) -> Array | None:
    """Forces by the a-priori values; None where some are unknown: as zero they would mislead."""
    known = model.a_priori()
    return regressor @ known if np.isfinite(known).all() else None


def further(
    records: Sequence[PeriodicRecord],
    made: Estimate,
    structures: Structures,
    validated: Validated | None,
) -> Further:
    """Lines, tables and figures that only this system has."""
    lines = [
        f'{r.source}: {r.periods} periods of {1.0 / r.fundamental_hz:.6g} s, {r.samples} samples '
        'each'
        for r in records
    ]
    if made.likelihood is not None:
        lines.append(
            f'cut-off {made.likelihood.cutoff_hz:.6g} Hz by maximum likelihood '
            f'({made.likelihood.evaluations} cut-offs tried)'
        )
    if made.band is not None:
        why = (
            'the motion goes on beyond its harmonics' if records else 'the motion does not repeat'
        )
        used = np.isfinite(np.concatenate(made.system.Y)).mean()
        lines.append(
            f'both sides low-passed at {made.cutoff_hz:g} Hz, {used:.0%} of the rows used (those '
            f'where a leg may stick are left out): {why}'
        )
    if made.delay is not None:
        lines.append(made.delay.line())
    lines += structures.lines()
    if validated is not None:
        noise = validated.data.noise(_force_covariance(records, made))
        told = ', '.join(f'{leg} {one:.4g} N' for leg, one in zip(LEGS, noise, strict=True))
        lines.append(f'of the validation on {validated.data.source} noise alone leaves {told}')
    return Further(
        lines=tuple(lines),
        tables=structures.table(),
        truth=simulated_truth(_sources(records, made)[0]),
        seconds=_seconds(records, made),
    )


def origins(
    configuration: Configuration,
    settings: Settings,
    records: Sequence[PeriodicRecord],
    made: Estimate,
    typed: Collection[str],
) -> list[tuple[str, str, str]]:
    """What geometry, inertia, structure and periods were used, and where each came from.

    `typed` are the names of the options that were given beside the configuration.
    """
    robot, structure, file = configuration.robot, configuration.structure, configuration.source
    found = [
        ('base joints [m]', _points(robot.base_joints), file),
        ('platform joints [m]', _points(robot.platform_joints), file),
        ('alpha axes', _points(robot.alpha_axes), file),
        ('home [m, rad]', _numbers(robot.home), file),
        ('gravity [m/s^2]', _numbers(robot.gravity), file),
        ('resolution of the lengths [m]', f'{robot.resolution:g}', file),
        (
            'model',
            f'passive friction {structure.passive}, platform {structure.platform}, sign width '
            f'{structure.sign_width:g}',
            file,
        ),
    ]

    def origin(option: str) -> str:
        entry = settings.origins[option]
        if entry == 'identify' and option in typed:
            return 'option'
        return f'{entry} of {file}' if entry in ('identify', 'excitation') else entry

    found.append(('harmonics', str(settings.harmonics), origin('harmonics')))
    for record in records:
        kept = record.fundamental_hz == settings.fundamental_hz
        source = origin('fundamental_hz') if kept else 'the recording'
        what = f'fundamental of {record.source} [Hz]'
        found.append((what, f'{record.fundamental_hz:.9g}', source))
    cutoff = float(made.result.value[-1])
    if np.isfinite(cutoff):
        estimated = made.likelihood is not None
        source = 'maximum likelihood' if estimated else origin('cutoff_hz')
        if made.band is not None and settings.cutoff_hz is None:
            source = 'motion and noise of the lengths'
        found.append(('cut-off [Hz]', f'{cutoff:.6g}', source))
    if made.delay is not None and made.delay.applied:
        source = 'maximum likelihood' if made.delay.estimated else origin('effort_delay')
        found.append(('delay of the efforts [s]', f'{made.delay.value:.6g}', source))
    return found


def _numbers(values: Array) -> str:
    return ' '.join(f'{value:.6g}' for value in values)


def _points(values: Array) -> str:
    return '; '.join(_numbers(row) for row in values)
