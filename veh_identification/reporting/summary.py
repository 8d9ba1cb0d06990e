"""Sentences about an identification, made from its figures, and the verdict they add up to."""

from __future__ import annotations

import numpy as np

from veh_identification.reporting.content import (
    Card,
    FitRow,
    HealthRow,
    IdentificationContent,
    Level,
    Statement,
    Summary,
)
from veh_identification.reporting.numbers import counted, fewest_inside, listed, number, percent

#: Rules of thumb for the condition number of the observation matrix with unit columns.
CONDITION_FAIR, CONDITION_POOR = 100.0, 1000.0
#: Share of the measured rms that stays unexplained.
POOR_FIT, BAD_FIT = 0.2, 0.5
#: A signal below this share of the largest one with its unit is small.
SMALL_SIGNAL = 0.05
CORRELATED = 0.95
#: A residual this many times larger on another recording: the fit does not carry over.
WORSE = 2.0


def summarise(content: IdentificationContent) -> Summary:
    """The first screen of the report of an identification."""
    statements = (*_identified(content), *_validation(content), *_truth(content),
                  *_poor_equations(content), *_excitation(content), *_colour(content),
                  *content.findings, *_samples(content), *_sensors(content.health))
    levels = [one.level for one in statements]
    level: Level = 'bad' if 'bad' in levels else 'warn' if 'warn' in levels else 'good'
    reservations = levels.count('warn')
    headline = {
        'good': 'Yes: nothing in the figures speaks against using these values.',
        'warn': f'With care: {counted(reservations, "reservation")} below.',
        'bad': 'No: put the findings below right before using these values.',
    }[level]
    order = {'bad': 0, 'warn': 1, 'good': 2, 'note': 3}
    return Summary(level, headline, _cards(content),
                   tuple(sorted(statements, key=lambda one: order[one.level])))


def _cards(content: IdentificationContent) -> tuple[Card, ...]:
    rows = content.parameters
    well = sum(row.flag == 'well' for row in rows)
    small = sum(row.flag == 'small' for row in rows)
    weak = len(rows) - well - small
    left = _unexplained(content)
    median = float(np.nanmedian(left)) if np.isfinite(left).any() else float('nan')
    fit_level: Level = 'good' if median < POOR_FIT else 'warn' if median < BAD_FIT else 'bad'
    where = 'another recording' if content.validated else 'its own data'
    return (
        Card('parameters well identified', f'{well} of {len(rows)}',
             f'{small} small, {weak} weak or missing', 'good' if weak == 0 else 'note'),
        Card('signal left unexplained', percent(median),
             f'median over {len(content.fit)} equations, {where}', fit_level),
        Card('condition number', number(content.condition_number, 3),
             f'below {CONDITION_FAIR:.0f} is comfortable',
             _condition_level(content.condition_number)),
        Card('data', f'{number(content.seconds, 3)} s',
             f'{content.samples} samples x {len(content.fit)} equations'),
    )


def _condition_level(value: float) -> Level:
    if value <= CONDITION_FAIR:
        return 'good'
    return 'note' if value <= CONDITION_POOR else 'warn'


def _unexplained(content: IdentificationContent) -> np.ndarray:
    return np.array([row.validation_relative if content.validated else row.relative
                     for row in content.fit])


def _identified(content: IdentificationContent) -> list[Statement]:
    rows = content.parameters
    well = [row for row in rows if row.flag == 'well']
    text = (f'{len(well)} of {len(rows)} parameters have a standard deviation below 10 % of their '
            'value')
    if well:
        text += f' (median {number(float(np.median([r.percent for r in well])), 2)} %)'
    result = [Statement('good' if 2 * len(well) >= len(rows) else 'note', text + '.')]
    weak = [row.name for row in rows if row.flag == 'weak']
    if weak:
        result.append(Statement('warn', f'{listed(weak)}: the standard deviation is above 10 % of '
                                'the value and not small beside others of the same unit. The '
                                'recording says little about '
                                f'{"it" if len(weak) == 1 else f"these {len(weak)}"}.'))
    small = [row.name for row in rows if row.flag == 'small']
    if small:
        result.append(Statement('note', f'{listed(small)}: small '
                                f'{"value" if len(small) == 1 else "values"}. Percentages say '
                                'little here; the standard deviation is small in itself.'))
    lost = [row.name for row in rows if row.flag == 'none']
    if lost:
        reasons = dict(content.removed)
        why = reasons.get(lost[0], 'the recording does not excite it')
        result.append(Statement('warn', f'{listed(lost)}: not identified ({why}).'))
    if 'prior' in content.estimator:
        result.append(Statement('note', 'The a-priori values took part in the estimate: where the '
                                'recording says little, the result stays near them.'))
    return result


def _validation(content: IdentificationContent) -> list[Statement]:
    left = _unexplained(content)
    seen = left[np.isfinite(left)]
    if not len(seen):
        return []
    span = (f'{percent(float(seen.min()))} to {percent(float(seen.max()))} (median '
            f'{percent(float(np.median(seen)))})')
    if not content.validated:
        return [Statement('warn', f'The model leaves {span} of the measured signals unexplained, '
                          'but only its own data judged it: validate on another recording '
                          '(--validate BAG).')]
    ratios = np.array([row.validation_rms / row.rms for row in content.fit if row.rms > 0.0])
    result = [Statement('good', f'On a recording that was not used, the model leaves {span} of '
                        'the measured signals unexplained.')]
    before = np.array([row.a_priori_rms / row.validation_rms for row in content.fit
                       if row.validation_rms > 0.0])
    before = before[np.isfinite(before)]
    if len(before):
        gain = float(np.median(before))
        level: Level = 'good' if gain > 1.0 else 'warn'
        unknown = any(not np.isfinite(row.a_priori) for row in content.parameters)
        zero = '; unknown a-priori values count as zero' if unknown else ''
        result.append(Statement(level, 'The a-priori values leave residuals '
                                f'{number(gain, 2)} times as large there (median){zero}.'))
    worse = [row.equation for row, ratio in zip(
        [r for r in content.fit if r.rms > 0.0], ratios, strict=True) if ratio > WORSE]
    if worse:
        result.append(Statement('warn', f'{listed(worse)}: residuals are more than {WORSE:g} '
                                'times larger on the other recording: the motion differs, or the '
                                'model lacks something that the first recording did not show. '
                                'Standard deviations do not cover that.'))
    return result


def _poor_equations(content: IdentificationContent) -> list[Statement]:
    result = []
    left = _unexplained(content)
    for row, share in zip(content.fit, left, strict=True):
        if not share > POOR_FIT:
            continue
        largest = _largest_signal(content.fit, row.unit)
        if row.measured_rms < SMALL_SIGNAL * largest:
            result.append(Statement('note', f'{row.equation}: {percent(float(share))} '
                                    'unexplained, of a signal that is small itself '
                                    f'({number(row.measured_rms)} {row.unit} rms).'))
            continue
        level: Level = 'bad' if share > BAD_FIT else 'warn'
        result.append(Statement(level, f'{row.equation} is reconstructed poorly: '
                                f'{percent(float(share))} of its signal stay unexplained. Check '
                                'signs, axes, sensor poses and stamps of what enters it.'))
    return result


def _largest_signal(rows: tuple[FitRow, ...], unit: str) -> float:
    sizes = [row.measured_rms for row in rows if row.unit == unit and np.isfinite(row.rms)]
    return max([size for size in sizes if np.isfinite(size)], default=0.0)


def _excitation(content: IdentificationContent) -> list[Statement]:
    value = content.condition_number
    level = _condition_level(value)
    judged = {'good': 'the motion excites the parameters evenly',
              'note': 'some combinations of parameters are excited far less than others',
              'warn': 'the motion hardly separates some parameters: add other manoeuvres'}[level]
    result = [Statement(level, f'Condition number {number(value, 3)}: {judged}.')] \
        if np.isfinite(value) else []
    pairs = correlated_pairs(content)
    if pairs:
        text = ', '.join(f'{a} with {b} ({rho:+.3f})' for a, b, rho in pairs[:3])
        more = f' and {len(pairs) - 3} more pairs' if len(pairs) > 3 else ''
        result.append(Statement('note', f'Strongly correlated estimates: {text}{more}. Trust '
                                'their combinations more than each value alone.'))
    if content.unexcited:
        result.append(Statement('warn', f'{listed(content.unexcited)}: the recording does not '
                                'tell these apart at all.'))
    return result


def correlated_pairs(content: IdentificationContent) -> list[tuple[str, str, float]]:
    """Pairs above CORRELATED, the strongest first."""
    rho = np.nan_to_num(content.correlation)
    rows, columns = np.nonzero(np.triu(np.abs(rho) > CORRELATED, 1))
    found = [(content.names[i], content.names[j], float(rho[i, j]))
             for i, j in zip(rows, columns, strict=True)]
    return sorted(found, key=lambda pair: -abs(pair[2]))


def _colour(content: IdentificationContent) -> list[Statement]:
    if not content.colours:
        return []
    coloured = [one.equation for one in content.colours if not one.white]
    if not coloured:
        return [Statement('good', 'All residuals are white within the band of the equations (5 % '
                          'test): the model explains what moves.')]
    text = (f'Residuals of {listed(coloured)} are not white (5 % test): effects that the model '
            'does not hold, or filtered noise. ')
    if content.noise_model == 'white':
        return [Statement('note', text + 'The standard deviations assume white noise and may be '
                          'too small for a part of them.')]
    return [Statement('note', text + 'The standard deviations allow for coloured noise.')]


def _truth(content: IdentificationContent) -> list[Statement]:
    known = [row for row in content.parameters if np.isfinite(row.truth) and row.std > 0.0]
    if not known:
        return []
    inside = sum(abs(row.value - row.truth) <= 2.0 * row.std for row in known)
    level: Level = 'good' if inside >= fewest_inside(len(known)) else 'warn'
    return [Statement(level, f'This recording is simulated: {inside} of {len(known)} true values '
                      f'lie within two standard deviations ({0.95 * len(known):.0f} expected).')]


def _samples(content: IdentificationContent) -> list[Statement]:
    total = content.samples + content.excluded
    if not content.excluded:
        return []
    share = content.excluded / total
    level: Level = 'warn' if share > 0.1 else 'note'
    return [Statement(level, f'{content.excluded} of {total} samples ({percent(share)}) were left '
                      'out because a signal was missing or not finite.')]


def _sensors(health: tuple[HealthRow, ...]) -> list[Statement]:
    result = []
    gaps = [row for row in health if row.gaps]
    if gaps:
        worst = max(gaps, key=lambda row: row.longest_gap)
        result.append(Statement('note', f'{counted(len(gaps), "topic has", "topics have")} gaps; '
                                f'the longest is {number(worst.longest_gap, 3)} s in '
                                f'{worst.topic} of {worst.recording}.'))
    broken = [row for row in health if row.undecodable]
    if broken:
        result.append(Statement('warn', f'{listed([row.topic for row in broken])}: messages that '
                                'cannot be decoded.'))
    result += [Statement('warn', f'{row.recording}: {row.note}') for row in health
               if row.topic == '-']
    return result
