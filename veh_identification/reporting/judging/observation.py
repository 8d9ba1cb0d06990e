"""Sentences about an observer run, made from its figures, and the verdict they add up to."""

from __future__ import annotations

import numpy as np
from scipy import stats

from veh_identification.findings import Finding, Level, Verdict, verdict_of
from veh_identification.findings.numbers import counted, listed, number, percent
from veh_identification.reporting.content import (
    Card,
    ErrorRow,
    ObservationContent,
    Outage,
    SensorRow,
)
from veh_identification.reporting.judging.sensors import sensor_findings

#: Mean NIS per degree of freedom: one when the noise is what the filter takes it for.
NIS_LOW, NIS_HIGH = 0.5, 1.5
#: The same of a sensor that was used all the same, from which on the model is another machine's.
NIS_ASTRAY = 100.0
INSIDE_FAIR, INSIDE_POOR = 0.85, 0.6
#: Chance that errors as large as these come from an observer that knows how well it does.
TOO_SURE = 1e-3
REJECTED_SHARE = 0.05
#: An outage of this many seconds and this share of the run is a reservation.
LONG_OUTAGE, LONG_SHARE = 1.0, 0.05


def judge(content: ObservationContent) -> Verdict:
    """Whether the run can be relied on, from what the system found and from the figures."""
    return verdict_of(
        (
            *content.findings,
            *_errors(content),
            *_bands(content),
            *_consistency(content),
            *_gates(content),
            *_outages(content),
            *_whiteness(content),
            # Long gaps are outages, which have a sentence of their own.
            *sensor_findings(content.health, 'note'),
            *_speed(content),
        ),
        yes='the observer follows its sensors and knows how well',
        no='the observer is wrong or far too sure of itself',
    )


def cards(content: ObservationContent) -> tuple[Card, ...]:
    """Figures for the first screen."""
    used = sum(row.used for row in content.sensors)
    rejected = sum(row.rejected for row in content.sensors)
    share = rejected / max(used + rejected, 1)
    judged = [row for row in _measuring(content) if np.isfinite(row.nis)]
    fine = sum(NIS_LOW <= row.nis <= NIS_HIGH for row in judged)
    first = _first_card(content)
    return (
        first,
        Card(
            'sensors whose noise fits',
            f'{fine} of {len(judged)}',
            f'mean NIS within {NIS_LOW} to {NIS_HIGH}',
            'good' if judged and fine == len(judged) else 'note',
        ),
        Card(
            'measurements rejected',
            percent(share),
            f'{rejected} of {used + rejected}',
            'good' if share < REJECTED_SHARE else 'warn',
        ),
        Card(
            'recording',
            f'{number(content.duration, 3)} s',
            f'processed at {number(content.real_time_factor, 2)} times real time'
            if np.isfinite(content.real_time_factor)
            else '',
        ),
    )


def _measuring(content: ObservationContent) -> list[SensorRow]:
    return [row for row in content.sensors if not row.pseudo]


def _first_card(content: ObservationContent) -> Card:
    if not content.errors:
        return Card('truth', 'none', 'judged by innovations only')
    place = [row for row in content.errors if content.path and row.name in content.path]
    row = max(place or content.errors[:1], key=lambda one: one.rms_observer)
    gain = row.rms_model / row.rms_observer if row.rms_observer else float('nan')
    return Card(
        f'rms error of {row.name}',
        f'{number(row.rms_observer, 2)} {row.unit}',
        f'{times(gain)} than the model alone' if np.isfinite(gain) else 'against the truth',
        'good' if not gain < 1 else 'warn',
    )


def _errors(content: ObservationContent) -> list[Finding]:
    rows = [row for row in content.errors if np.isfinite(row.rms_model) and row.rms_observer > 0.0]
    if not rows:
        if content.errors:
            return []
        return [
            Finding(
                'note',
                'no_truth',
                'The recording holds no truth: errors cannot be shown, and the '
                'innovations are all there is to judge by.',
            )
        ]
    gains = np.array([row.rms_model / row.rms_observer for row in rows])
    better = [row.name for row, gain in zip(rows, gains, strict=True) if gain > 1.0]
    worse = [row.name for row, gain in zip(rows, gains, strict=True) if gain <= 1.0]
    level: Level = 'good' if len(better) > len(worse) else 'bad'
    result = [
        Finding(
            level,
            'closer_than_model',
            f'The observer is closer to the truth than the model alone in '
            f'{len(better)} of {len(rows)} quantities; its rms error is '
            f'{times(float(np.median(gains)))} (median).',
        )
    ]
    if worse:
        result.append(
            Finding(
                'warn' if 4 * len(worse) > len(rows) else 'note',
                'model_closer',
                f'{listed(worse)}: the model alone is closer to the truth than the observer.',
            )
        )
    return result


def _bands(content: ObservationContent) -> list[Finding]:
    rows = [row for row in content.errors if np.isfinite(row.inside)]
    if not rows:
        return []
    low = [row for row in rows if row.inside < INSIDE_FAIR]
    if not low:
        return [
            Finding(
                'good',
                'truth_inside_bands',
                f'The truth lies within the 2-sigma bands '
                f'{percent(min(row.inside for row in rows))} of the time or more (95 % '
                'expected).',
            )
        ]
    poor = [row for row in low if row.inside < INSIDE_POOR and not _may_be_chance(row)]
    level: Level = 'bad' if poor else 'warn'
    text = ', '.join(f'{row.name} {percent(row.inside)}' for row in low)
    return [
        Finding(
            level,
            'too_sure',
            f'Too sure of itself: the truth lies within the 2-sigma band only '
            f'this share of the time (95 % expected): {text}.',
        )
    ]


def _may_be_chance(row: ErrorRow) -> bool:
    """Whether so few independent errors may be this large in their deviations by chance.

    An error that changes slowly stays beyond two sigma for the whole of a short run once in
    twenty; one that changed its sign twenty times has no such excuse.
    """
    square = row.independent * row.in_sigma**2
    return bool(stats.chi2.sf(square, row.independent) > TOO_SURE)


def _consistency(content: ObservationContent) -> list[Finding]:
    high = [row.sensor for row in _measuring(content) if row.nis > NIS_HIGH]
    low = [row.sensor for row in _measuring(content) if row.nis < NIS_LOW]
    result = []
    if high:
        astray = [
            row.sensor
            for row in _measuring(content)
            if row.nis > NIS_ASTRAY and row.used > row.rejected
        ]
        more = f' ({listed(astray)}: more than ten times)' if astray else ''
        result.append(
            Finding(
                'bad' if astray else 'warn',
                'innovations_large',
                f'{listed(high)}: innovations are larger than expected{more}: '
                'more noise than configured, or the model is wrong there.',
            )
        )
    if low:
        result.append(
            Finding(
                'note',
                'innovations_small',
                f'{listed(low)}: innovations are smaller than expected: '
                'the noise is configured larger than it is, which costs accuracy '
                'but not safety.',
            )
        )
    if np.isfinite(content.nees) and content.nees > 2.0 * content.nees_expected:
        result.append(
            Finding(
                'warn',
                'nees_large',
                f'NEES {number(content.nees, 3)} beside '
                f'{number(content.nees_expected, 2)} expected: the covariance is '
                'too small for the errors made.',
            )
        )
    return result


def _gates(content: ObservationContent) -> list[Finding]:
    def share(row: SensorRow) -> float:
        return row.rejected / max(row.used + row.rejected, 1)

    many = sorted(
        [row for row in content.sensors if share(row) > REJECTED_SHARE], key=share, reverse=True
    )
    silent = [row.sensor for row in _measuring(content) if row.used == 0]
    result = []
    if many:
        rejected = listed([f'{percent(share(row))} of {row.sensor}' for row in many])
        result.append(
            Finding(
                'warn',
                'gate_rejects',
                f'The gate rejected {rejected}: look first at sign, axes, '
                f'mounting, delay and noise of {many[0].sensor}.',
            )
        )
    if silent:
        result.append(
            Finding('warn', 'sensor_unused', f'{listed(silent)}: no measurement was used.')
        )
    return result


def _outages(content: ObservationContent) -> list[Finding]:
    end = max((float(one.time[-1]) for one in content.states if len(one.time)), default=0.0)
    result, short = [], []
    for one in content.outages:
        length = one.end - one.begin
        if length < max(LONG_OUTAGE, LONG_SHARE * content.duration):
            short.append(one)
            continue
        until = 'to the end' if one.end >= end - 0.1 else f'to {number(one.end, 3)} s'
        result.append(
            Finding(
                'warn',
                'outage',
                f'No {one.sensor} from {number(one.begin, 3)} s {until} '
                f'({percent(length / content.duration)} of the run, shaded '
                'in the report): the model and the other sensors went on alone.'
                f'{_widest(content, one)}',
            )
        )
    if short:
        names = sorted({one.sensor for one in short})
        longest = max(one.end - one.begin for one in short)
        result.append(
            Finding(
                'note',
                'short_outages',
                f'{counted(len(short), "short outage")} of '
                f'{listed(names)}, the longest {number(longest, 3)} s (shaded '
                'in the report).',
            )
        )
    return result


def _widest(content: ObservationContent, outage: Outage) -> str:
    """How unsure the observer became of the vehicle's place during an outage."""
    found = []
    for one in content.states:
        if one.std is None or content.path is None or one.name not in content.path:
            continue
        during = one.std[(one.time >= outage.begin) & (one.time <= outage.end)]
        if len(during):
            found.append(f'{one.name} {number(2.0 * float(np.max(during)), 2)} {one.unit}')
    return f' Two sigma grew to {listed(found)}.' if found else ''


def times(gain: float) -> str:
    """A ratio of errors in words."""
    return (
        f'{number(gain, 2)} times smaller'
        if gain >= 1.0
        else f'{number(1.0 / gain, 2)} times larger'
    )


def _whiteness(content: ObservationContent) -> list[Finding]:
    tested = [row for row in _measuring(content) if row.white]
    coloured = [row.sensor for row in tested if not all(row.white)]
    if not tested:
        return []
    if not coloured:
        return [
            Finding(
                'good',
                'innovations_white',
                'All innovations are white: nothing is left in them to use.',
            )
        ]
    return [
        Finding(
            'note',
            'innovations_coloured',
            f'Innovations of {listed(coloured)} are not white (5 % test): '
            'model errors or correlated sensor noise remain in them.',
        )
    ]


def _speed(content: ObservationContent) -> list[Finding]:
    if not content.real_time_factor < 1.0:
        return []
    return [
        Finding(
            'note',
            'slower_than_real_time',
            'The run took longer than the recording: too slow for live use on this machine.',
        )
    ]
