"""What an identification says besides its numbers: facts for parameters.json, text to print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult, to_table
from veh_identification.systems.parallel.configuration import Configuration
from veh_identification.systems.parallel.estimation.likelihood import (
    Likelihood,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.estimation.structure_selection import Candidate
from veh_identification.systems.parallel.estimation.validation import HeldOut
from veh_identification.systems.parallel.model.model import Structure
from veh_identification.systems.parallel.processing import PeriodicRecord
from veh_identification.types import Array


def input_facts(
    configuration: Configuration,
    records: list[PeriodicRecord],
    harmonics: int,
    processing: str,
    topic: str,
    result: IdentificationResult,
    bags: Sequence[str | Path],
    validation: HeldOut | None,
    doubts: Sequence[str] = (),
) -> dict[str, Any]:
    """The `input` entry of parameters.json."""
    covariance = pooled_force_covariance(records)
    return {
        'bags': [str(bag) for bag in bags],
        'topic': topic,
        'config': configuration.source,
        'processing': processing,
        'cutoff_hz': float(result.value[-1]),
        'forces': 'unfiltered mean over periods',
        'harmonics': harmonics,
        'fundamental_hz': [r.fundamental_hz for r in records],
        'periods': [r.periods for r in records],
        'samples_per_period': [r.samples for r in records],
        'rate_hz': [r.rate for r in records],
        'force_covariance': covariance.tolist(),
        # What the noise alone leaves of residuals: means over periods have little of it.
        'residual_noise_rms': [_of_means(r, covariance).tolist() for r in records],
        'validation_noise_rms': None
        if validation is None
        else validation.noise(covariance).tolist(),
        'length_covariance': [r.lengths.covariance.tolist() for r in records],
        'warnings': [*doubts, *(w for r in records for w in r.warnings)],
        'notes': [*(n for r in records for n in r.notes), *_comparison(validation)],
        'validation': None if validation is None else validation.description(),
    }


def _of_means(record: PeriodicRecord, covariance: Array) -> Array:
    return np.sqrt(np.diag(covariance) / record.periods)


def _comparison(validation: HeldOut | None) -> list[str]:
    if validation is None or validation.periods:
        return []
    return [
        f'{validation.source}: the motion does not repeat, so the validation compares single '
        'samples with all their noise; residuals of the identification are those of mean periods'
    ]


def extra_facts(
    likelihood: Likelihood | None, candidates: list[Candidate], chosen: Structure
) -> dict[str, Any]:
    """Further entries: the passive friction models and the cut-offs that were tried."""
    extra: dict[str, Any] = {
        'model_selection': [
            {
                'passive': c.structure.passive,
                'parameters': c.parameters,
                'correlation_condition_number': c.correlation_condition,
                'residual_variance': c.residual_variance,
                'chi_square': c.chi_square,
                'insignificant': c.insignificant,
                'recommended': c.structure == chosen,
            }
            for c in candidates
        ]
    }
    if likelihood is not None:
        extra['likelihood'] = {f'{fc:.6g}': cost for fc, cost in likelihood.tried.items()}
    return extra


def table(
    result: IdentificationResult,
    records: list[PeriodicRecord],
    candidates: list[Candidate],
    likelihood: Likelihood | None,
    validation: HeldOut | None,
) -> str:
    """All that a user wants to read."""
    lines = [to_table(result).rstrip('\n')]
    lines += [
        f'{r.source}: {r.periods} periods of {1.0 / r.fundamental_hz:.6g} s, {r.samples} samples '
        f'each'
        for r in records
    ]
    if likelihood is not None:
        lines.append(
            f'cut-off {likelihood.cutoff_hz:.6g} Hz by maximum likelihood '
            f'({likelihood.evaluations} cut-offs tried)'
        )
    lines += [
        f'passive friction {c.structure.passive}: {c.parameters} parameters, cond(correlation) '
        f'{c.correlation_condition:.4g}, residual variance {c.residual_variance:.5g} N^2, '
        f'{c.insignificant} insignificant'
        for c in candidates
    ]
    if result.validation is not None and validation is not None:
        lines.append(f'validation on {validation.source}:')
        prior, noise = result.validation.a_priori_rms, result.input['validation_noise_rms']
        for j, leg in enumerate(result.validation.equations):
            beside = '' if prior is None else f' (a priori {prior[j]:.4g} N)'
            lines.append(
                f'  {leg}  rms {result.validation.rms[j]:.4g} N, '
                f'{result.validation.rms_relative[j]:.3g} of the measured rms, noise alone '
                f'{noise[j]:.4g} N{beside}'
            )
    lines += [f'note: {n}' for n in result.input['notes']]
    lines += [f'warning: {w}' for w in result.input['warnings']]
    return '\n'.join(lines) + '\n'
