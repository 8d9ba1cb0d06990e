"""Sentences about an identification, made from its figures, and the verdict they add up to."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from veh_identification.checks.possible import impossible_value
from veh_identification.findings import Finding, Level, Verdict, verdict_of
from veh_identification.findings.numbers import counted, listed, number, percent
from veh_identification.reporting.content import Card, IdentificationContent
from veh_identification.reporting.judging import fit as judging_fit
from veh_identification.reporting.judging.sensors import sensor_findings

#: Rules of thumb for the condition number of the observation matrix with unit columns.
CONDITION_FAIR, CONDITION_POOR = 100.0, 1000.0
CORRELATED = 0.95
#: Below this share of the recorded time the reader is told how much was used.
USED_SHARE = 0.9
#: So many truths tell how true the deviations are, though one of them lies beyond.
TRUTHS = 10


def judge(content: IdentificationContent) -> Verdict:
    """Whether the values can be used, from what the system found and from the figures."""
    # Within a level the order stays: what a system found out itself names causes, so it leads.
    return verdict_of(
        (
            *content.findings,
            *impossible_value(
                [row.name for row in content.parameters if row.flag == 'impossible']
            ),
            *sensor_findings(content.health),
            *_samples(content),
            *_identified(content),
            *judging_fit.findings(content),
            *_truth(content),
            *_excitation(content),
            *_colour(content),
        )
    )


def cards(content: IdentificationContent) -> tuple[Card, ...]:
    """Figures for the first screen."""
    rows = [row for row in content.parameters if row.flag != 'given']
    well = sum(row.flag == 'well' for row in rows)
    small = sum(row.flag == 'small' for row in rows)
    weak = len(rows) - well - small
    median = judging_fit.median_unexplained(content)
    where = 'on another recording' if content.validated else 'on its own data'
    return (
        *content.cards,
        Card(
            'parameters well identified',
            f'{well} of {len(rows)}',
            f'{small} small, {weak} weak or missing',
            'good' if weak == 0 else 'note',
        ),
        Card(
            'signal left unexplained',
            percent(median),
            f'median, {where}',
            judging_fit.fit_level(median),
        ),
        Card(
            'condition number',
            number(content.condition_number, 3),
            f'below {CONDITION_FAIR:.0f} is comfortable',
            _condition_level(content.condition_number),
        ),
        Card(
            'data',
            f'{number(content.seconds, 3)} s',
            f'{content.samples} samples x {len(content.fit)} equations',
        ),
    )


def _condition_level(value: float) -> Level:
    if value <= CONDITION_FAIR:
        return 'good'
    return 'note' if value <= CONDITION_POOR else 'warn'


def _identified(content: IdentificationContent) -> list[Finding]:
    rows = [row for row in content.parameters if row.flag != 'given']
    well = [row for row in rows if row.flag == 'well']
    text = (
        f'{len(well)} of {len(rows)} parameters have a standard deviation below 10 % of their '
        'value'
    )
    if well:
        text += f' (median {number(float(np.median([r.percent for r in well])), 2)} %)'
    fits = judging_fit.median_unexplained(content) < judging_fit.POOR_FIT
    if not fits:
        text += ', which counts for little while the equations fit badly'
    result = [
        Finding(
            'good' if fits and 2 * len(well) >= len(rows) else 'note',
            'parameters_well_identified',
            text + '.',
        )
    ]
    weak = [row.name for row in rows if row.flag == 'weak']
    if weak:
        result.append(
            Finding(
                'warn',
                'parameters_weak',
                f'{listed(weak)}: the standard deviation is above 10 % of '
                'the value and not small beside others of the same unit. The '
                'recording says little about '
                f'{"it" if len(weak) == 1 else f"these {len(weak)}"}.',
            )
        )
    small = [row.name for row in rows if row.flag == 'small']
    if small:
        result.append(
            Finding(
                'note',
                'parameters_small',
                f'{listed(small)}: small '
                f'{"value" if len(small) == 1 else "values"}. Percentages say '
                'little here; the standard deviation is small in itself.',
            )
        )
    lost = [row.name for row in rows if row.flag == 'none']
    if lost:
        reasons = dict(content.removed)
        why = reasons.get(lost[0], 'the recording does not excite it')
        result.append(
            Finding('warn', 'parameters_lost', f'{listed(lost)}: not identified ({why}).')
        )
    if 'prior' in content.estimator:
        result.append(
            Finding(
                'note',
                'prior_used',
                'The a-priori values took part in the estimate: where the '
                'recording says little, the result stays near them.',
            )
        )
    return result


def _excitation(content: IdentificationContent) -> list[Finding]:
    value = content.condition_number
    level = _condition_level(value)
    judged = {
        'good': 'the motion excites the parameters evenly',
        'note': 'some combinations of parameters are excited far less than others',
        'warn': 'the motion hardly separates some parameters: add other manoeuvres',
    }[level]
    result = (
        [Finding(level, 'condition_number', f'Condition number {number(value, 3)}: {judged}.')]
        if np.isfinite(value)
        else []
    )
    pairs = correlated_pairs(content)
    if pairs:
        text = ', '.join(f'{a} with {b} ({rho:+.3f})' for a, b, rho in pairs[:3])
        more = f' and {counted(len(pairs) - 3, "more pair")}' if len(pairs) > 3 else ''
        result.append(
            Finding(
                'note',
                'correlated_estimates',
                f'Strongly correlated estimates: {text}{more}. Trust '
                'their combinations more than each value alone.',
            )
        )
    if content.unexcited:
        result.append(
            Finding(
                'warn',
                'unexcited',
                f'{listed(content.unexcited)}: the recording does not tell these apart at all.',
            )
        )
    return result


def correlated_pairs(content: IdentificationContent) -> list[tuple[str, str, float]]:
    """Pairs above CORRELATED, the strongest first."""
    rho = np.nan_to_num(content.correlation)
    rows, columns = np.nonzero(np.triu(np.abs(rho) > CORRELATED, 1))
    found = [
        (content.names[i], content.names[j], float(rho[i, j]))
        for i, j in zip(rows, columns, strict=True)
    ]
    return sorted(found, key=lambda pair: -abs(pair[2]))


def _colour(content: IdentificationContent) -> list[Finding]:
    if not content.colours:
        return []
    coloured = [one.equation for one in content.colours if not one.white]
    if not coloured:
        return [
            Finding(
                'good',
                'residuals_white',
                'All residuals are white within the band of the equations (5 % '
                'test of all together): the model explains what moves.',
            )
        ]
    text = (
        f'Residuals of {listed(coloured)} are not white (5 % test of all together): effects '
        'that the model does not hold, or filtered noise. '
    )
    if content.noise_model == 'white':
        return [
            Finding(
                'note',
                'residuals_coloured',
                text + 'The standard deviations assume white noise and may be '
                'too small for a part of them.',
            )
        ]
    return [
        Finding(
            'note',
            'residuals_coloured',
            text + 'The standard deviations allow for coloured noise.',
        )
    ]


def _truth(content: IdentificationContent) -> list[Finding]:
    known = [row for row in content.parameters if np.isfinite(row.truth) and row.std > 0.0]
    if not known:
        return []
    inside = sum(abs(row.value - row.truth) <= 2.0 * row.std for row in known)
    level: Level = 'note'  # a few truths, of which one is missed: no proof of either
    if inside < fewest_inside(len(known)):
        level = 'warn'
    elif inside == len(known) or len(known) >= TRUTHS:
        level = 'good'
    return [
        Finding(
            level,
            'truth_coverage',
            f'This recording is simulated: {inside} of {len(known)} true values '
            f'lie within two standard deviations ({0.95 * len(known):.0f} expected).',
        )
    ]


def fewest_inside(count: int) -> int:
    """How many of so many truths lie within two deviations in all but one of a hundred cases."""
    return int(binom.ppf(0.01, count, 0.9545)) if count else 0


def _samples(content: IdentificationContent) -> list[Finding]:
    result = []
    total = content.samples + content.excluded
    if content.excluded:
        share = content.excluded / total
        level: Level = 'warn' if share > 0.1 else 'note'
        result.append(
            Finding(
                level,
                'samples_left_out',
                f'{content.excluded} of {total} samples ({percent(share)}) '
                'were left out: a signal was missing or not finite, or a filter '
                'spoils the ends of its stretch.',
            )
        )
    if content.seconds < USED_SHARE * content.recorded:
        result.append(
            Finding(
                'note',
                'recording_partly_used',
                f'{number(content.seconds, 3)} of the '
                f'{number(content.recorded, 3)} s recorded were used: times '
                'without a sensor are left out, and filters take their '
                'transients.',
            )
        )
    return result
