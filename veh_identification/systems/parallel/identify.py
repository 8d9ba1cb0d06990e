"""From mean periods to the parameters with their doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.standing import stands_left_out
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.identification.essential import Removal
from veh_identification.systems.parallel.checks.fit import judge, judge_band
from veh_identification.systems.parallel.estimation.band import (
    BandEstimate,
    EvenLegs,
    estimate_in_band,
)
from veh_identification.systems.parallel.estimation.effort_delay import (
    SIGNIFICANT,
    EffortDelay,
    delayed,
    estimate_effort_delay,
)
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    SAME_FUNDAMENTAL,
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
from veh_identification.types import Array, IntArray

#: Ways of processing that take the motion as it is; the others are bad on purpose.
EXACT = ('frequency', 'harmonic')


@dataclass(frozen=True, eq=False)
class Recordings:
    """What is known of the recordings: the samples, and mean periods where the motion repeats."""

    legs: tuple[EvenLegs, ...] = ()  # empty: mean periods alone
    records: tuple[PeriodicRecord, ...] = ()  # empty: some motion does not repeat


@dataclass(frozen=True, eq=False)
class Estimate:
    """The parameters, with `fc` as the last of them, and how they were found."""

    method: str  # of processing
    result: IdentificationResult
    system: Equations
    cutoff_hz: float  # of the frequency method: estimated, given, or harmonics x fundamental
    likelihood: Likelihood | None  # where the cut-off was estimated
    delay: EffortDelay | None  # None: nobody wants to know, or the motion cannot say
    records: tuple[PeriodicRecord, ...]  # with the delay that is applied
    findings: tuple[Finding, ...]
    stamps_ns: IntArray  # of the rows of `system`
    band: BandEstimate | None = None  # where both sides were filtered alike

    @property
    def effort_delay(self) -> float:
        """Seconds by which efforts are taken as late."""
        return self.delay.value if self.delay is not None and self.delay.applied else 0.0

    @property
    def parameters(self) -> Array:
        """Values of the model's parameters, without the cut-off."""
        return self.result.value[:-1]


def estimate(model: HexapodModel, recordings: Recordings, settings: Settings) -> Estimate:
    """By mean periods where the motion repeats and ends with its harmonics, else by filtered rows.

    With `processing: auto` the recordings decide; anything else is taken as it is.
    """
    records, method = recordings.records, settings.processing
    spread = sorted(one.fundamental_hz for one in records)
    mixed = bool(spread) and spread[-1] > (1.0 + SAME_FUNDAMENTAL) * spread[0]
    possible = method == 'auto' and bool(recordings.legs)
    if method == 'band' or (possible and (mixed or not records)):
        return _by_band(model, recordings, settings)
    periodic = replace(settings, processing='frequency' if method == 'auto' else method)
    if not possible or settings.estimator != 'maximum-likelihood':
        return _by_periods(model, records, periodic)
    likelihood = _cutoff_of(model, records, periodic)
    assert likelihood is not None  # of maximum-likelihood with frequency
    if round(likelihood.cutoff_hz / records[0].fundamental_hz) > settings.harmonics:
        # A controller adds accelerations beyond the harmonics, the small ones below all noise.
        return _by_band(model, recordings, settings)
    return _by_periods(model, records, periodic)


def _by_band(model: HexapodModel, recordings: Recordings, settings: Settings) -> Estimate:
    """Any motion: both sides of (8) through one filter."""
    made = estimate_in_band(model, recordings.legs, settings.cutoff_hz, settings.effort_delay)
    sure = abs(made.delay) > SIGNIFICANT * made.delay_std
    given = settings.effort_delay is not None
    delay = None
    if made.delay or not given:
        before = made.misfit_before
        delay = EffortDelay(made.delay, made.delay_std, True, sure, before, 1.0, made.slope)
    findings = judge_band(model, made, recordings.records)
    for one in recordings.legs:
        findings += stands_left_out(one.source, one.stood, len(one.stamps_ns) / one.rate)
    if delay is not None:
        findings = [*delay.findings(settings.topic), *findings]
    result = with_cutoff(made.result, made.cutoff_hz)
    result = replace(
        result,
        system='parallel',
        estimator='instrumental-variable',
        impossible=impossible_names(model, result),
    )
    return Estimate(
        'band',
        result,
        made.equations(),
        made.cutoff_hz,
        None,
        delay,
        tuple(delayed(recordings.records, made.delay)),
        tuple(findings),
        np.concatenate([one.stamps_ns for one in made.rows]),
        made,
    )


def _by_periods(
    model: HexapodModel, records: Sequence[PeriodicRecord], settings: Settings
) -> Estimate:
    """Gauss-Markov (9), with the cut-off of (24) where it is wanted and used."""
    harmonics, method = settings.harmonics, settings.processing
    records, likelihood, delay = _timed(model, records, settings)
    made = _of_periods(model, records, settings, likelihood, delay)
    if method in EXACT:
        findings = judge(model, records, harmonics, made.cutoff_hz, made.system, made.parameters)
    else:
        findings = [_comparison_only(method)]
    if delay is not None:
        findings = [*delay.findings(settings.topic), *findings]
    return replace(made, findings=tuple(findings))


def with_more_periods(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    settings: Settings,
    before: Estimate | None = None,
) -> Estimate:
    """Mean periods anew with cut-off, delay and findings of an estimate before: those take long.

    Without one before, at the nominal cut-off.
    """
    if before is None:
        given = settings.effort_delay
        timed = delayed(records, given) if given else records
        plain = replace(settings, processing='frequency')
        return _of_periods(model, timed, plain, None, None)
    late = before.effort_delay
    timed = delayed(records, late) if late else records
    same = replace(settings, processing=before.method)
    made = _of_periods(model, timed, same, before.likelihood, before.delay)
    return replace(made, findings=before.findings)


def _of_periods(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    settings: Settings,
    likelihood: Likelihood | None,
    delay: EffortDelay | None,
) -> Estimate:
    """With cut-off and delay known, the latter applied; without findings."""
    harmonics, method = settings.harmonics, settings.processing
    cutoff = settings.cutoff_hz if likelihood is None else likelihood.cutoff_hz
    system = equations(model, records, harmonics, method, cutoff)
    result = gauss_markov(model, system, pooled_force_covariance(records))
    if delay is not None:
        result = delay.widened(result)
    nominal = harmonics * records[0].fundamental_hz
    applied = applied_cutoff(method, nominal, cutoff)
    found = with_cutoff(result, applied, np.nan if likelihood is None else likelihood.cutoff_std)
    found = replace(
        found,
        system='parallel',
        estimator=result.estimator if likelihood is None else 'maximum-likelihood',
        removed=[*found.removed, *([] if applied is not None else [_unfiltered(method)])],
        impossible=impossible_names(model, found),
    )
    return Estimate(
        method,
        found,
        system,
        cutoff or nominal,
        likelihood,
        delay,
        tuple(records),
        (),
        np.concatenate([one.stamps_ns() for one in records]),
    )


def _cutoff_of(
    model: HexapodModel, records: Sequence[PeriodicRecord], settings: Settings
) -> Likelihood | None:
    """The cut-off by (24), where it is wanted."""
    if settings.estimator != 'maximum-likelihood' or settings.processing != 'frequency':
        return None
    return maximum_likelihood(
        model, records, settings.harmonics, start_hz=settings.cutoff_hz, penalty=settings.penalty
    )


def _timed(
    model: HexapodModel, records: Sequence[PeriodicRecord], settings: Settings
) -> tuple[Sequence[PeriodicRecord], Likelihood | None, EffortDelay | None]:
    """Recordings with the delay of their efforts, and the cut-off that goes with it."""
    harmonics, method, given = settings.harmonics, settings.processing, settings.effort_delay

    def cutoff_of(timed: Sequence[PeriodicRecord]) -> Likelihood | None:
        return _cutoff_of(model, timed, settings)

    if given is not None:
        timed = delayed(records, given) if given else records
        known = EffortDelay(given, float('nan'), True) if given else None
        return timed, cutoff_of(timed), known
    likelihood = cutoff_of(records)
    if method not in EXACT:
        return records, likelihood, None
    cutoff = settings.cutoff_hz if likelihood is None else likelihood.cutoff_hz
    delay = estimate_effort_delay(model, records, harmonics, method, cutoff)
    if delay is None or not delay.applied:
        return records, likelihood, delay
    # Late forces make lines pass that bend the motion towards them: once more without.
    again = cutoff_of(delayed(records, delay.value))
    if likelihood is None or again is None or again.cutoff_hz == likelihood.cutoff_hz:
        return delayed(records, delay.value), again, delay
    better = estimate_effort_delay(model, records, harmonics, method, again.cutoff_hz)
    delay = better if better is not None and better.applied else delay
    return delayed(records, delay.value), again, delay


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
