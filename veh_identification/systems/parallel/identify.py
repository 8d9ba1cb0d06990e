"""From mean periods to the parameters with their doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.identification.essential import Removal
from veh_identification.systems.parallel.checks import judge
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    Likelihood,
    gauss_markov,
    maximum_likelihood,
    pooled_force_covariance,
    with_cutoff,
)
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.options import Settings
from veh_identification.systems.parallel.processing import applied_cutoff
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: Ways of processing that take the motion as it is; the others are bad on purpose.
EXACT = ('frequency', 'harmonic')


@dataclass(frozen=True, eq=False)
class Estimate:
    """The parameters, with `fc` as the last of them, and how they were found."""

    result: IdentificationResult
    system: Equations
    cutoff_hz: float  # of the frequency method: estimated, given, or harmonics x fundamental
    likelihood: Likelihood | None  # where the cut-off was estimated
    findings: tuple[Finding, ...]

    @property
    def parameters(self) -> Array:
        """Values of the model's parameters, without the cut-off."""
        return self.result.value[:-1]


def estimate(
    model: HexapodModel, records: Sequence[PeriodicRecord], settings: Settings
) -> Estimate:
    """Gauss-Markov (9), with the cut-off of (24) where it is wanted and used."""
    harmonics, method = settings.harmonics, settings.processing
    likelihood, cutoff = None, settings.cutoff_hz
    if settings.estimator == 'maximum-likelihood' and method == 'frequency':
        likelihood = maximum_likelihood(
            model, records, harmonics, start_hz=cutoff, penalty=settings.penalty
        )
        cutoff = likelihood.cutoff_hz
    system = equations(model, records, harmonics, method, cutoff)
    result = gauss_markov(model, system, pooled_force_covariance(records))
    nominal = harmonics * records[0].fundamental_hz
    if method in EXACT:
        findings = judge(model, records, harmonics, cutoff or nominal, system, result.value)
    else:
        findings = [_comparison_only(method)]
    applied = applied_cutoff(method, nominal, cutoff)
    found = with_cutoff(result, applied, np.nan if likelihood is None else likelihood.cutoff_std)
    found = replace(
        found,
        system='parallel',
        estimator=result.estimator if likelihood is None else 'maximum-likelihood',
        removed=[*found.removed, *([] if applied is not None else [_unfiltered(method)])],
        impossible=impossible_names(model, found),
    )
    return Estimate(found, system, cutoff or nominal, likelihood, tuple(findings))


def _comparison_only(method: str) -> Finding:
    return Finding(
        'warn',
        'processing_for_comparison',
        f'processing {method} bends the motion or lets its noise pass, so that values are biased: '
        'it is there to be compared with, use frequency',
        'processing',
    )


def _unfiltered(method: str) -> Removal:
    nan = float('nan')
    return Removal('fc', nan, nan, nan, nan, nan, f'processing {method} filters nothing')


def impossible_names(model: HexapodModel, result: IdentificationResult) -> list[str]:
    """Values below zero, by more than chance, of what cannot be."""
    high = result.value + 2.0 * np.nan_to_num(result.std)
    positive = model.structure.positive_names()
    return [
        name
        for name, top in zip(result.names, high, strict=True)
        if name in positive and top < 0.0
    ]
