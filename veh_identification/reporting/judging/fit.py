"""Sentences about how well the identified model reconstructs its own and another recording."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.findings.numbers import listed, number, percent
from veh_identification.reporting.content import FitRow, IdentificationContent

#: Share of the measured rms that stays unexplained.
POOR_FIT, BAD_FIT = 0.2, 0.5
#: A signal below this share of the largest one with its unit is small.
SMALL_SIGNAL = 0.05
#: A residual this many times larger on another recording: the fit does not carry over.
WORSE = 2.0
#: Below this share of the signal a residual is no reservation, whatever its ratio to another.
NEGLIGIBLE = 0.05


def unexplained(content: IdentificationContent) -> np.ndarray:
    """Share of every equation's signal that stays unexplained where the model is judged."""
    return np.array(
        [row.validation_relative if content.validated else row.relative for row in content.fit]
    )


def judged_shares(content: IdentificationContent) -> np.ndarray:
    """Known shares of the equations that judge; those that the recording hardly moves do not."""
    idle = _idle(content)
    left = np.array(
        [
            share
            for row, share in zip(content.fit, unexplained(content), strict=True)
            if row.equation not in idle
        ]
    )
    return left[np.isfinite(left)]


def median_unexplained(content: IdentificationContent) -> float:
    """The one figure of how much stays unexplained, on cards and in sentences; nan if unknown."""
    left = judged_shares(content)
    return float(np.median(left)) if len(left) else float('nan')


def fit_level(share: float) -> Level:
    """How serious a share is; what is unknown counts as bad."""
    return 'good' if share < POOR_FIT else 'warn' if share < BAD_FIT else 'bad'


def findings(content: IdentificationContent) -> list[Finding]:
    """All of them."""
    return [*_validation(content), *_carried_over(content), *_poor_equations(content)]


def _validation(content: IdentificationContent) -> list[Finding]:
    idle = _idle(content)
    seen, median = judged_shares(content), median_unexplained(content)
    if not len(seen):
        return []
    span = (
        f'{percent(float(seen.min()))} to {percent(float(seen.max()))} (median {percent(median)})'
    )
    if not content.validated:
        return [
            Finding(
                'warn',
                'not_validated',
                f'The model leaves {span} of the measured signals unexplained, '
                'but only its own data judged it: validate on another recording '
                '(--validate BAG).',
            )
        ]
    aside = f' {listed(idle)} left aside, see below.' if idle else ''
    return [
        Finding(
            fit_level(median),
            'validation_fit',
            'On a recording that was not used, the '
            f'model leaves {span} of the measured signals unexplained.{aside}',
        ),
        *_a_priori(content),
    ]


def _a_priori(content: IdentificationContent) -> list[Finding]:
    """Whether the values that one came with explain the other recording better.

    Equations in which an a-priori value is unknown have no such residual and are left aside.
    """
    before = np.array(
        [row.a_priori_rms / row.validation_rms for row in content.fit if row.validation_rms > 0.0]
    )
    before = before[np.isfinite(before)]
    if not len(before):
        return []
    gain = float(np.median(before))
    size = f'residuals {number(gain, 2)} times as large there (median)'
    if gain > 1.0:
        return [Finding('good', 'a_priori_worse', f'The a-priori values leave {size}.')]
    return [
        Finding(
            'warn',
            'a_priori_no_worse',
            'The a-priori values explain that recording no worse than the '
            f'estimates do: they leave {size}.',
        )
    ]


def _carried_over(content: IdentificationContent) -> list[Finding]:
    if not content.validated:
        return []
    worse = [row for row in content.fit if row.growth > WORSE]
    serious = [row.equation for row in worse if row.validation_relative > NEGLIGIBLE]
    slight = [row.equation for row in worse if row.validation_relative <= NEGLIGIBLE]
    result = []
    if serious:
        result.append(
            Finding(
                'warn',
                'fit_does_not_carry_over',
                f'{listed(serious)}: residuals are more than {WORSE:g} '
                'times larger on the other recording: the motion differs, or the '
                'model lacks something that the first recording did not show. '
                'Standard deviations do not cover that.',
            )
        )
    if slight:
        result.append(
            Finding(
                'note',
                'fit_slightly_worse_elsewhere',
                f'{listed(slight)}: residuals are more than {WORSE:g} '
                'times larger on the other recording, but still below '
                f'{percent(NEGLIGIBLE, 1)} of the signal.',
            )
        )
    return result


def _idle(content: IdentificationContent) -> list[str]:
    """Equations that the validation hardly moves: poor shares, residuals no larger than before."""
    if not content.validated:
        return []
    return [
        row.equation
        for row in content.fit
        if row.validation_relative > POOR_FIT >= row.relative and not row.growth > WORSE
    ]


def _poor_equations(content: IdentificationContent) -> list[Finding]:
    idle = _idle(content)
    by_level: dict[str, list[str]] = {'bad': [], 'warn': []}
    small = []
    for row, share in zip(content.fit, unexplained(content), strict=True):
        if not share > POOR_FIT or row.equation in idle:
            continue
        size = _signal(content)(row)
        if size < SMALL_SIGNAL * _largest_signal(content, row.unit):
            small.append(
                f'{row.equation} ({percent(float(share))} of {number(size)} {row.unit} rms)'
            )
        else:
            left = row.validation_rms if content.validated else row.rms
            told: Level = 'warn' if left <= row.negligible else fit_level(float(share))
            by_level[told].append(f'{row.equation} ({percent(float(share))})')
    result = []
    for level, names in by_level.items():
        if names:
            verb, them = ('is', 'it') if len(names) == 1 else ('are', 'them')
            result.append(
                Finding(
                    'bad' if level == 'bad' else 'warn',
                    'poor_equations',
                    f'{listed(names, 10)} {verb} reconstructed poorly (in brackets the share '
                    'of the '
                    'signal that stays unexplained). Check signs, axes, poses and stamps of the '
                    f'sensors that enter {them}.',
                )
            )
    if small:
        result.append(
            Finding(
                'note',
                'poor_small_equations',
                f'Poor shares of signals that are small themselves: {listed(small)}.',
            )
        )
    if idle:
        result.append(
            Finding(
                'note',
                'validation_idle',
                f'{listed(idle)}: the validation recording hardly moves '
                f'{"it" if len(idle) == 1 else "them"}. The residual is no larger '
                'than on the data that were fitted; its share of a signal that is '
                'not there says nothing.',
            )
        )
    return result


def _signal(content: IdentificationContent) -> Callable[[FitRow], float]:
    """rms of the measured side of the recording that judges."""
    if content.validated:
        return lambda row: row.validation_measured_rms
    return lambda row: row.measured_rms


def _largest_signal(content: IdentificationContent, unit: str) -> float:
    sizes = [_signal(content)(row) for row in content.fit if row.unit == unit]
    return max([size for size in sizes if np.isfinite(size)], default=0.0)
