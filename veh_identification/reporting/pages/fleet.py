"""The page of a fleet: what changed, who stands out, every series and every recording."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings import verdict_of
from veh_identification.findings.numbers import counted, unit
from veh_identification.reporting.content import Card
from veh_identification.reporting.figures.fleet import (
    change,
    from_the_others,
    iso,
    machines_times_parameters,
)
from veh_identification.reporting.first_screen import COLOURS, FirstScreen
from veh_identification.reporting.fleet import FleetContent, TimeSeries
from veh_identification.reporting.html import (
    Cell,
    Code,
    Column,
    Explorer,
    Figures,
    Listing,
    Page,
    Section,
    Table,
    Text,
    write_page,
)
from veh_identification.reporting.pages.parts import cell

#: Changes that are drawn; the table and the series hold all.
DRAWN = 8
#: Points of the series that a browser takes at ease.
MOST_POINTS = 300_000
#: Recordings that the page lists, the worst first.
MOST_RECORDINGS = 20_000
#: Values with the fleet as prior that the page lists.
MOST_PRIOR = 500
_ORDER = {'unusable': 0, 'no': 1, 'care': 2, 'yes': 3}


def write_fleet_page(path: Path, content: FleetContent) -> None:
    """One self-contained HTML file."""
    write_page(path, fleet_page(content))


def fleet_page(content: FleetContent) -> Page:
    """Everything on the page."""
    verdict = verdict_of(
        content.findings,
        yes='nothing changed'
        if any(one.code == 'apart_not_judged' for one in content.findings)
        else 'nothing changed, and no machine stands apart',
        no='see what is wrong below',
    )
    return Page(
        content.title,
        f'{counted(len(content.recordings), "recording")} of '
        f'{counted(len(content.machines), "machine")}',
        FirstScreen(verdict, _cards(content)),
        (
            _changes(content),
            _machines(content),
            _parameters(content),
            *_prior(content),
            _series(content),
            _recordings(content),
        ),
        question='Is the fleet as it was?',
        created=content.created,
    )


def _cards(content: FleetContent) -> tuple[Card, ...]:
    verdicts = Counter(one.verdict for one in content.recordings)
    bad = verdicts['no'] + verdicts['unusable']
    changed = sorted({one.machine for one in content.steps})
    return (
        Card(
            'changes over time',
            str(len(content.steps)) if content.judged else '-',
            f'in {content.judged} series; any false alarm with at most {content.level:g}'
            if content.judged
            else 'not judged: too few recordings of each machine',
            'warn' if content.steps else 'good' if content.judged else 'note',
        ),
        Card(
            'machines that changed',
            f'{len(changed)} of {len(content.machines)}',
            ', '.join(changed[:3]) + (' ...' if len(changed) > 3 else '') or 'none',
            'warn' if changed else 'good',
        ),
        Card(
            'machines apart from the others',
            str(len({one.machine for one in content.outliers})),
            f'{counted(len(content.outliers), "value")} beyond the distribution',
            'warn' if content.outliers else 'good',
        ),
        Card(
            'recordings by verdict',
            f'{verdicts["yes"]} / {verdicts["care"]} / {bad}',
            f'yes / with care / no, of these {verdicts["unusable"]} unusable',
            'warn' if bad else 'good',
        ),
    )


def _level_text(content: FleetContent) -> str:
    return (
        f'Every place between two recordings of a series is tried; all {content.judged} series '
        'are judged together (Holm), so that any false alarm on this page has a probability of at '
        f'most {content.level:g}. Deviations are enlarged where neighbouring recordings of the '
        'fleet scatter more than they state.'
    )


def _changes(content: FleetContent) -> Section:
    columns = (
        Column('machine'),
        Column('parameter'),
        Column('before', True),
        Column('after', True),
        Column('unit'),
        Column('change [%]', True),
        Column('sigmas', True),
        Column('probability', True, 'of such a step by chance in this series'),
        Column('between', help='the last recording before and the first one after'),
        Column('95 % within', help='where the step may lie'),
        Column('remark'),
    )
    rows = tuple(
        (
            Cell(one.machine),
            Cell(one.parameter),
            cell(one.before, 5),
            cell(one.after, 5),
            Cell(unit(one.unit)),
            cell(100.0 * one.share, 3),
            cell(one.sigmas, 3),
            Cell(f'{one.probability:.1g}', one.probability),
            Cell(f'{one.last_before[:10]} and {one.first_after[:10]}', one.first_after),
            Cell(f'{one.earliest[:10]} to {one.latest[:10]}', one.earliest),
            Cell('' if one.lasting else 'one recording only'),
        )
        for one in content.steps
    )
    by_key = {(one.machine, one.parameter): one for one in content.series}
    drawn = tuple(
        change(one, by_key[(one.machine, one.parameter)]) for one in content.steps[:DRAWN]
    )
    blocks: list[Any] = [Text(_level_text(content))]
    silent = 'Nothing changed.' if content.judged else 'Too few recordings to tell.'
    blocks += [Table(columns, rows)] if rows else [Text(silent)]
    blocks += [Figures(drawn)] if drawn else []
    if content.apart:
        alone = tuple((Cell(text),) for text in content.apart)
        blocks.append(Table((Column('single recordings apart from their neighbours'),), alone))
    return Section('changes', 'What changed over time', tuple(blocks), short='Changes')


def _machines(content: FleetContent) -> Section:
    columns = (
        Column('machine'),
        Column('verdict'),
        Column('recordings', True),
        Column('left out', True),
        Column('changes', True),
        Column('values apart', True, 'beyond the distribution of the other machines'),
        Column('remark'),
    )
    changed = Counter(one.machine for one in content.steps)
    apart = Counter(one.machine for one in content.outliers)
    rows = tuple(
        (
            Cell(one.name),
            Cell(one.verdict, level=COLOURS[one.verdict]),
            Cell(str(one.recordings), one.recordings),
            Cell(str(one.left_out), one.left_out),
            Cell(str(changed[one.name]), changed[one.name]),
            Cell(str(apart[one.name]), apart[one.name]),
            Cell(one.headline),
        )
        for one in content.machines
    )
    blocks: list[Any] = [Table(columns, rows)]
    if content.outliers:
        blocks.append(_outliers(content))
    if np.isfinite(from_the_others(content.value)).any():  # not of two machines
        blocks.append(Figures((machines_times_parameters(content),)))
    return Section('machines', 'Machines', tuple(blocks))


def _outliers(content: FleetContent) -> Table:
    columns = (
        Column('machine'),
        Column('parameter'),
        Column('value', True),
        Column('others', True, 'their mean'),
        Column('spread', True, 'deviation among the others'),
        Column('unit'),
        Column('probability', True),
    )
    rows = tuple(
        (
            Cell(one.machine),
            Cell(one.parameter),
            cell(one.value, 5),
            cell(one.others, 5),
            cell(one.spread, 3),
            Cell(unit(one.unit)),
            Cell(f'{one.probability:.1g}', one.probability),
        )
        for one in content.outliers
    )
    return Table(columns, rows, 'Machines beyond the distribution of the others (Grubbs)')


def _parameters(content: FleetContent) -> Section:
    columns = (
        Column('parameter'),
        Column('unit'),
        Column('machines', True),
        Column('median', True),
        Column('spread', True, 'standard deviation over the machines'),
        Column('spread [%]', True),
        Column('smallest', True),
        Column('largest', True),
        Column('sigma', True, 'of a machine, the median'),
    )
    rows = []
    for k, (name, of) in enumerate(content.parameters):
        known = np.isfinite(content.value[:, k])
        value, std = content.value[known, k], content.std[known, k]
        if not len(value):
            continue
        middle = float(np.median(value))
        spread = float(np.std(value, ddof=1)) if len(value) > 1 else float('nan')
        rows.append(
            (
                Cell(name),
                Cell(unit(of)),
                Cell(str(len(value)), len(value)),
                cell(middle, 5),
                cell(spread, 3),
                cell(100.0 * spread / abs(middle) if middle else float('nan'), 3),
                cell(float(value.min()), 5),
                cell(float(value.max()), 5),
                cell(float(np.median(std)), 2),
            )
        )
    table = Table(columns, tuple(rows))
    title = 'Distribution over the fleet'
    return Section('parameters', title, (table,), short='Distribution')


def _prior(content: FleetContent) -> list[Section]:
    if content.prior is None:
        return []
    text = Text(
        'Mean and scatter over the machines, weighed against what a machine itself tells (one '
        'parameter at a time; 0 is its own value, 1 the mean of all). Listed are deviations that '
        'become smaller by a tenth at least; with_fleet.csv holds all values. Machines that stand '
        'apart take no part. All other sections show the machines by themselves.'
    )
    columns = (
        Column('machine'),
        Column('parameter'),
        Column('own value', True),
        Column('sigma', True),
        Column('with the fleet', True),
        Column('sigma', True),
        Column('unit'),
        Column('weight of the fleet', True),
    )
    rows = tuple(
        (
            Cell(one.machine),
            Cell(one.parameter),
            cell(one.own, 5),
            cell(one.own_std, 2),
            cell(one.value, 5),
            cell(one.std, 2),
            Cell(unit(one.unit)),
            cell(one.weight, 2),
        )
        for one in content.prior[:MOST_PRIOR]
    )
    blocks: list[Any] = [text]
    blocks += [Table(columns, rows)] if rows else [Text('The others make no value better known.')]
    if len(content.prior) > MOST_PRIOR:
        blocks.append(Text(f'{len(content.prior) - MOST_PRIOR} more stand in with_fleet.csv.'))
    return [Section('prior', 'With the fleet as prior', tuple(blocks), short='Prior')]


def _series(content: FleetContent) -> Section:
    """What is drawn on demand: the data stand once, as small as they go."""
    shown, left = chosen_series(content)
    data = {
        'series': [
            {
                'machine': one.machine,
                'parameter': one.parameter,
                'unit': unit(one.unit),
                'date': [iso(stamp) for stamp in one.start_ns.tolist()],
                'value': [_short(v) for v in one.value.tolist()],
                'std': [_short(v) for v in one.std.tolist()],
            }
            for one in shown
        ],
        'steps': [
            {
                'machine': one.machine,
                'parameter': one.parameter,
                'before': one.before,
                'after': one.after,
                'last': one.last_before,
                'first': one.first_after,
            }
            for one in content.steps
        ],
    }
    blocks: list[Any] = [Explorer(json.dumps(data, allow_nan=False))]
    if left:
        text = f'{left} series without changes are left out here; parameters.csv holds all.'
        blocks.append(Text(text))
    return Section('series', 'Every series', tuple(blocks), short='Series')


def _short(value: float) -> float:
    return float(f'{value:.6g}')


def chosen_series(content: FleetContent) -> tuple[list[TimeSeries], int]:
    """As many as a browser takes, those that changed first; and how many are left out."""
    changed = {(one.machine, one.parameter) for one in content.steps}
    ordered = sorted(content.series, key=lambda one: (one.machine, one.parameter) not in changed)
    points, kept = 0, []
    for one in ordered:
        points += len(one.value)
        if points > MOST_POINTS:
            break
        kept.append(one)
    return kept, len(ordered) - len(kept)


def _recordings(content: FleetContent) -> Section:
    ordered = sorted(content.recordings, key=lambda one: _ORDER[one.verdict])
    data = [
        [one.verdict, one.machine, one.date, one.recording, one.text, one.report]
        for one in ordered[:MOST_RECORDINGS]
    ]
    heads = ('verdict', 'machine', 'date', 'recording', 'findings')
    blocks: list[Any] = [Listing(heads, json.dumps(data))]
    if len(ordered) > MOST_RECORDINGS:
        number_left = len(ordered) - MOST_RECORDINGS
        blocks.append(Text(f'{number_left} more recordings stand in parameters.csv.'))
    blocks += [Text('The report of a single recording:'), Code(content.single_report)]
    return Section('recordings', 'Recordings', tuple(blocks))
