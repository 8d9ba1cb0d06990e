"""The page of a comparison: what changed, by how many deviations, and does it matter?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings import Finding, verdict_of
from veh_identification.findings.numbers import beside, counted, number, sentence, unit
from veh_identification.reporting.comparison import ComparisonContent, PairContent, WayContent
from veh_identification.reporting.content import Card
from veh_identification.reporting.figures.comparison import differences, residuals
from veh_identification.reporting.first_screen import COLOURS, FirstScreen
from veh_identification.reporting.html import (
    Cell,
    Code,
    Column,
    Explorer,
    Figures,
    Page,
    Section,
    Table,
    Text,
    write_page,
)
from veh_identification.reporting.pages.parts import cell


def write_comparison_page(path: Path, content: ComparisonContent) -> None:
    """One self-contained HTML file."""
    write_page(path, comparison_page(content))


def comparison_page(content: ComparisonContent) -> Page:
    """Everything on the page."""
    verdict = verdict_of(
        _findings(content),
        yes='chance explains the differences',
        no='see what is wrong below',
    )
    return Page(
        content.title,
        f'{counted(len(content.results), "result")}, '
        f'{counted(len(content.trend), "parameter")} in common',
        FirstScreen(verdict, _cards(content)),
        (
            _changes(content),
            _sigmas(content),
            _trend(content),
            *_residuals(content),
            _results(content),
            _all_parameters(content),
            _origin(content),
        ),
        question='Is it as it was?',
        created=content.created,
    )


def _findings(content: ComparisonContent) -> list[Finding]:
    found: dict[str, Finding] = {}
    for pair in content.pairs:
        text = f'{pair.title}: {pair.headline}.'
        made = Finding('warn' if pair.different else 'good', 'compared', text)
        for one in (made, *pair.findings):
            found.setdefault(one.text, one)
    return list(found.values())


def _cards(content: ComparisonContent) -> tuple[Card, ...]:
    changed = {one.name for pair in content.pairs for one in pair.differences if one.significant}
    largest = max(
        ((one, pair) for pair in content.pairs for one in pair.differences),
        key=lambda one: abs(one[0].sigmas),
    )
    least = min(content.pairs, key=lambda pair: pair.probability)
    cards = [
        Card(
            'parameters that changed',
            str(len(changed)),
            f'any false alarm of a pair with at most {content.level:g}',
            'warn' if changed else 'good',
        ),
        Card(
            'largest difference',
            f'{abs(largest[0].sigmas):.1f} sigma',
            f'{largest[0].name}, {largest[1].title}',
            'warn' if largest[0].significant else 'good',
        ),
        Card(
            'probability of all together',
            f'{least.probability:.2g}',
            f'by chance, {least.title}',
            'warn' if least.probability < content.level else 'good',
        ),
    ]
    grown = [(_grown(way), way) for pair in content.pairs for way in pair.ways if way.rows]
    if grown:
        ratio, way = max(grown, key=lambda one: one[0])
        cards.append(
            Card(
                "residuals on each other's data",
                f'{ratio:.2g} times',
                f'at most, model of {way.model} on data of {way.data}',
                'note',
            )
        )
    return tuple(cards)


def _grown(way: WayContent) -> float:
    ratios = [one.rms / one.own_rms for one in way.rows if one.own_rms > 0.0]
    return max((one for one in ratios if np.isfinite(one)), default=0.0)


def _columns() -> tuple[Column, ...]:
    return (
        Column('parameter'),
        Column('before', True),
        Column('sigma', True, 'standard deviation before'),
        Column('after', True),
        Column('sigma', True, 'standard deviation after'),
        Column('unit'),
        Column('change [%]', True),
        Column('change [sigma]', True, 'over the standard deviation of the difference'),
    )


def _rows(pair: PairContent, only: bool) -> tuple[tuple[Cell, ...], ...]:
    chosen = [one for one in pair.differences if one.significant or not only]
    if only:
        chosen.sort(key=lambda one: -abs(one.sigmas))
    return tuple(
        (
            Cell(one.name),
            Cell(beside(one.before, one.before_std), one.before),
            cell(one.before_std, 2),
            Cell(beside(one.after, one.after_std), one.after),
            cell(one.after_std, 2),
            Cell(unit(one.unit)),
            cell(
                100.0 * (one.after - one.before) / abs(one.before) if one.before else np.nan,
                3,
            ),
            Cell(f'{one.sigmas:+.1f}', abs(one.sigmas), level='warn' if one.significant else None),
        )
        for one in chosen
    )


def _changes(content: ComparisonContent) -> Section:
    blocks: list[Any] = [
        Text(
            'Differences over their standard deviations, correlations taken into account. One '
            'parameter has changed when its difference is larger than chance makes the largest '
            f'of all (Holm, {content.level:g} for each pair); all together are judged by '
            'chi-square, which also sees what no single parameter shows.'
        )
    ]
    for pair in content.pairs:
        blocks.append(
            Text(
                f'{pair.title}: {pair.headline}. Chi-square {number(pair.chi_square, 4)} with '
                f'{pair.freedom} degrees of freedom, probability {pair.probability:.2g}.'
            )
        )
        rows = _rows(pair, only=True)
        if rows:
            blocks.append(Table(_columns(), rows, f'{pair.title}: what changed'))
    return Section('changes', 'What changed', tuple(blocks), short='Changes')


def _sigmas(content: ComparisonContent) -> Section:
    drawn = tuple(differences(pair) for pair in content.pairs)
    return Section('sigmas', 'Every parameter in deviations', (Figures(drawn),), short='Sigmas')


def _trend(content: ComparisonContent) -> Section:
    dates = [one.recorded for one in content.results]
    by_date = all(dates) and len(set(dates)) == len(dates)
    labels = np.array(dates if by_date else [one.label for one in content.results])
    changed = {one.name for pair in content.pairs for one in pair.differences if one.significant}
    series = []
    for one in sorted(content.trend, key=lambda one: one.parameter not in changed):
        known = np.isfinite(one.value) & np.isfinite(one.std)
        series.append(
            {
                'machine': 'results',
                'parameter': one.parameter,
                'unit': unit(one.unit),
                'date': labels[known].tolist(),
                'value': one.value[known].tolist(),
                'std': one.std[known].tolist(),
            }
        )
    data = {
        'series': series,
        'steps': [],
        'axis': 'begin of the first recording' if by_date else 'result',
        'noun': 'results',
        'category': not by_date,
    }
    return Section('trend', 'Trend', (Explorer(json.dumps(data, allow_nan=False)),))


def _residuals(content: ComparisonContent) -> list[Section]:
    if not content.residuals_asked:
        return []
    ways = [way for pair in content.pairs for way in pair.ways]
    blocks: list[Any] = [
        Text(
            'What the model of one result misses of data that it has not seen, beside what the '
            'model of these data itself misses of them (which it was fitted to, so that a little '
            'more is no sign of a change). Each result was made again from its recordings, by its '
            'own filters.'
        )
    ]
    columns = (
        Column('equation'),
        Column('rms', True, "of the other's data, in the unit of the equation"),
        Column('rms, own model', True),
        Column('times', True),
        Column('rms [%]', True, 'of what was measured'),
        Column('own model [%]', True),
    )
    for way in ways:
        rows = tuple(
            (
                Cell(one.equation),
                cell(one.rms),
                cell(one.own_rms),
                cell(one.rms / one.own_rms if one.own_rms else float('nan'), 3),
                cell(100.0 * one.relative, 3),
                cell(100.0 * one.own_relative, 3),
            )
            for one in way.rows
        )
        blocks += [
            Text(sentence(way.text)),
            Table(columns, rows, f'Model of {way.model} on the data of {way.data}'),
        ]
    if ways:
        blocks.append(Figures(tuple(residuals(way) for way in ways)))
    else:
        blocks.append(Text('There are none; the remarks above say why.'))
    title = "Residuals on each other's data"
    return [Section('residuals', title, tuple(blocks), short='Residuals')]


def _results(content: ComparisonContent) -> Section:
    columns = (
        Column('result'),
        Column('verdict'),
        Column('recorded', help='begin of its first recording'),
        Column('recordings', True),
        Column('made'),
        Column('folder'),
    )
    rows = tuple(
        (
            Cell(one.label, link=one.report),
            Cell(one.verdict, level=COLOURS.get(one.verdict)),
            Cell(one.recorded or 'not known'),
            Cell(str(one.recordings), one.recordings),
            Cell(one.created or 'not known'),
            Cell(one.path),
        )
        for one in content.results
    )
    return Section('results', 'Results', (Table(columns, rows),))


def _all_parameters(content: ComparisonContent) -> Section:
    tables = tuple(
        Table(_columns(), _rows(pair, only=False), pair.title) for pair in content.pairs
    )
    return Section('parameters', 'All parameters', tables, folded=True)


def _origin(content: ComparisonContent) -> Section:
    return Section('origin', 'Command', (Code(content.command),))
