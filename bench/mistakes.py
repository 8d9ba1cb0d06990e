"""Ordinary mistakes in recordings and descriptions: named, refused, or silently wrong?

Each mistake is made in clean recordings of machines that differ (masses, noise, motion, seed) and
goes offline through checks and identification, and live through the nodes under the replay
engine. The peer is the same without a mistake: what is found there and is bad is false. Checks
and mistakes come from the same hands and the same simulators, so that the figures are no forecast
for other mistakes or real machines. One module per system: bench/mistaken.

    veh-id bench mistakes --systems humanoid --json FILE --markdown docs/mistakes.md

Every row is written to FILE at once; with --resume those that it holds are not made again, so that
parts of the table can be made one after the other, and after an interruption.

    veh-id bench mistakes --json FILE --sample 40 --seed 1 --sampled SAMPLE --markdown PAGE

makes rows of FILE again that are drawn by chance, 40 of each system (mistaken/sample.py).
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from mistaken import SYSTEMS, sample
from mistaken.common import NAMED, NOTED, OTHER, REFUSED, SILENT, WITHIN, WORDS, judged

from veh_identification.atomic import write_text

PART = 'mistakes'
#: Recordings in which mistakes are made, and how many of them go through the live node as well.
RECORDINGS, LIVE = 3, 3
#: Clean recordings of each system beside those that mistakes are made in.
FURTHER = 9
QUICK: dict[str, Any] = {'recordings': 1, 'live': 1, 'clean': 1}
WAYS = ('offline', 'live')
Row = dict[str, Any]
#: What a row of the store holds.
ROW = ('system', 'recording', 'way', 'mistake', 'result', 'what', 'code')
#: Marks rows that are not of the present state of the code.
EARLIER = '(earlier)'


Key = tuple[str, int, str, str]


def key_of(row: Row) -> Key:
    """What a row is about: system, recording, way, mistake."""
    return row['system'], row['recording'], row['way'], row['mistake']


@dataclass(frozen=True)
class Job:
    """One recording of a system, with mistakes or clean alone."""

    system: str
    recording: int
    with_mistakes: bool
    ways: Sequence[str] = WAYS
    live: bool = True  # mistakes also through the node; it hears of clean ones in any case
    only: Sequence[str] = ()  # parts of the names of mistakes
    known: frozenset[Key] = frozenset()  # rows that need not be made
    drawn: frozenset[Key] | None = None  # rows that are wanted alone
    unlisted: bool = False  # the mistakes that were thought of after the checks stood

    def missing(self, titles: Iterable[str]) -> list[tuple[str, str]]:
        """Mistakes ('': none) and ways whose rows are wanted."""
        wanted = [('', way) for way in self.ways]
        if self.with_mistakes:
            wanted += [
                (title, way)
                for title in titles
                if not self.only or any(part in title for part in self.only)
                for way in self.ways
                if self.live or way != 'live'
            ]
        return [
            (title, way)
            for title, way in wanted
            if (self.system, self.recording, way, title) not in self.known
            and (self.drawn is None or (self.system, self.recording, way, title) in self.drawn)
        ]


def one_recording(job: Job) -> Iterator[Row]:
    """All mistakes in one recording of a system; clean alone without mistakes."""
    name, k = job.system, job.recording
    system = importlib.import_module(f'mistaken.{name}')
    ways = getattr(system, 'WAYS', WAYS)
    mistakes = system.MISTAKES
    if job.unlisted:
        mistakes = importlib.import_module(f'mistaken.unlisted.{name}').MISTAKES
    missing = [one for one in job.missing(mistakes) if one[1] in ways]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        clean = system.clean(k, system.SECONDS, place)
        plain = {'offline': system.offline(clean, place)}
        if hasattr(clean, 'known'):
            clean = replace(clean, known=dict(plain['offline'].truth))
        if any(way == 'live' for _, way in missing):
            plain['live'] = system.live(clean, place)
        case, before = clean, ''
        for title, way in missing:
            if not title:
                told = plain[way]
                what = ', '.join(sorted(told.bad)) or told.refusal
                yield _row(name, k, way, '', 'false' if what else 'clean', what)
                continue
            mistake = mistakes[title]
            if title != before:
                case, before = mistake.change(clean), title
            told = getattr(system, way)(case, place)
            yield _row(name, k, way, title, *judged(mistake, told, plain[way]))


def _all_of(job: Job) -> list[Row]:
    return list(one_recording(job))


def _row(*values: Any) -> Row:
    return dict(zip(ROW, (*values, code()), strict=True))


@cache
def code() -> str:
    """The commit that is run, where there is one."""
    told = subprocess.run(
        ['git', 'rev-parse', '--short', 'HEAD'],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip()


def collect(
    systems: Iterable[str],
    workers: int,
    *,
    recordings: int = RECORDINGS,
    live: int = LIVE,
    clean: int = FURTHER,
    first: int = 0,
    only: Sequence[str] = (),
    ways: Sequence[str] = WAYS,
    known: frozenset[Key] = frozenset(),
    unlisted: bool = False,
) -> Iterator[Row]:
    """The rows of all systems: mistakes in `recordings`, through the node in `live` of them."""
    jobs = [
        Job(name, first + k, k < recordings, ways, k < live, only, known, unlisted=unlisted)
        for name in systems
        for k in range(recordings + clean)
    ]
    if workers <= 1:
        for job in jobs:
            yield from one_recording(job)
        return
    with multiprocessing.get_context('fork').Pool(workers) as pool:
        for rows in pool.imap(_all_of, jobs):
            yield from rows


def again(
    stored: Sequence[Row], systems: Iterable[str], count: int, seed: int, made: Sequence[Row] = ()
) -> Iterator[Row]:
    """Rows of a store drawn by chance and made again, with what they were; not those of `made`."""
    old = {key_of(row): row for row in stored if row['system'] in systems and row['mistake']}
    keys = frozenset(sample.drawn(old, count, seed))
    known = frozenset(key_of(row) for row in made if row['seed'] == seed)
    places = sorted({key[:2] for key in keys})
    for system, recording in places:
        for row in one_recording(Job(system, recording, True, known=known, drawn=keys)):
            was = old[key_of(row)]
            yield {
                **row, 'seed': seed, 'was': was['result'], 'was_code': was.get('code', ''),
            }  # fmt: skip


def figures(rows: Sequence[Row]) -> list[Row]:
    """For the table of `veh-id bench`."""
    made: list[Row] = []
    for system in dict.fromkeys(row['system'] for row in rows):
        for way in WAYS:
            own = [row for row in rows if (row['system'], row['way']) == (system, way)]
            counts = Counter(row['result'] for row in own)
            clean = counts['clean'] + counts['false']
            total = len(own) - clean
            made.append(
                {
                    'case': f'{system} {way}: false findings on {clean} clean recordings',
                    'ours': float(counts['false']),
                    'unit': 'recordings',
                    'wanted': '<= 2 %',
                    'met': counts['false'] <= 0.02 * clean,
                }
            )
            if not total:
                continue
            for result, wanted in ((NAMED, '>= 90'), (NOTED, ''), (REFUSED, ''), (WITHIN, ''),
                                   (OTHER, ''), (SILENT, '0')):  # fmt: skip
                share = 100.0 * counts[result] / total
                row: Row = {
                    'case': f'{system} {way}: {WORDS[result]}, of {total}',
                    'ours': share,
                    'unit': '%',
                    'wanted': wanted,
                }
                if wanted:
                    row['met'] = share >= 90.0 if result == NAMED else share == 0.0
                made.append(row)
    return made


def markdown(rows: Sequence[Row], present: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """The page of the documents; `present`: commits whose rows count, all without any.

    `before`: lines of other sections, before those of the systems.

    Such an entry may be of one system alone (`vehicle:COMMIT`). Rows of other states of the code
    stand, marked, where there is none of these.
    """
    now = _of_now(rows, present)
    lines = [
        '# Ordinary mistakes',
        '',
        'Made by `veh-id bench mistakes --json ROWS --markdown docs/mistakes.md` (parts one after '
        'the other with `--systems`, `--mistakes`, `--resume`); do not edit. Each mistake is made '
        'in simulated recordings of machines that differ, and goes offline through checks and '
        'estimation and live through the nodes under the replay engine. Checks and mistakes come '
        'from the same hands, so that the figures are no forecast for other mistakes or real '
        'machines.',
        '',
        f'{len(now)} runs, by the commit that was run: {_codes(now)}.',
        '',
        *_summary(now),
    ]
    if len(now) < len(rows):
        lines += [f'{EARLIER}: made by earlier states of the code and not again; not counted '
                  'above.', '']  # fmt: skip
    lines += before
    for system in dict.fromkeys(row['system'] for row in rows):
        own = [row for row in rows if row['system'] == system]
        counted = [row for row in now if row['system'] == system]
        made = f'Runs that count, by commit: {_codes(counted)}.' if counted else 'None counts.'
        lines += [f'## {system}', '', made, '']
        lines += ['| mistake | offline | live |', '|---|---|---|']
        for title in dict.fromkeys(row['mistake'] for row in own if row['mistake']):
            cells = [
                _cell([r for r in own if (r['mistake'], r['way']) == (title, way)], present)
                for way in WAYS
            ]
            lines.append(f'| {title} | {" | ".join(cells)} |')
        for way in WAYS:
            clean = [r for r in now if r in own and not r['mistake'] and r['way'] == way]
            false = [r for r in clean if r['result'] == 'false']
            what = f': {"; ".join(r["what"][:80] for r in false)}' if false else ''
            lines += ['', f'{way}: {len(false)} of {len(clean)} clean recordings with a false '
                      f'finding{what}.']  # fmt: skip
        lines.append('')
    return '\n'.join(lines).rstrip() + '\n'


def _of_now(rows: Sequence[Row], present: Sequence[str]) -> list[Row]:
    """Rows that the present state of the code has made."""
    return [
        row
        for row in rows
        if not present or {row.get('code'), f'{row["system"]}:{row.get("code")}'} & set(present)
    ]


def _codes(rows: Sequence[Row]) -> str:
    """How many runs each state of the code made."""
    counts = Counter(row.get('code') or 'earlier, not noted' for row in rows)
    return ', '.join(f'{name} {count}' for name, count in counts.most_common())


def _summary(rows: Sequence[Row]) -> list[str]:
    """Counts by system and way."""
    results = (NAMED, NOTED, REFUSED, WITHIN, OTHER, SILENT)
    head = ['system', 'way', 'mistakes', 'runs', *(WORDS[one] for one in results), 'clean, false']
    lines = [f'| {" | ".join(head)} |', '|' + '---|' * len(head)]
    for system in dict.fromkeys(row['system'] for row in rows):
        for way in WAYS:
            own = [row for row in rows if (row['system'], row['way']) == (system, way)]
            made = [row for row in own if row['mistake']]
            counts = Counter(row['result'] for row in own)
            cells = [system, way, len({row['mistake'] for row in made}), len(made)]
            cells += [counts[one] for one in results]
            cells.append(f'{counts["clean"] + counts["false"]}, {counts["false"]}')
            lines.append(f'| {" | ".join(map(str, cells))} |')
    return [*lines, '']


def _cell(rows: Sequence[Row], present: Sequence[str] = ()) -> str:
    now = _of_now(rows, present)
    if rows and not now:
        return f'{_cell(rows)} {EARLIER}'
    rows = now
    counts = Counter(row['result'] for row in rows)
    words = [
        f'{WORDS[result]} {count} of {len(rows)}'
        for result, count in sorted(counts.items(), key=lambda one: list(WORDS).index(one[0]))
    ]
    others = {row['what'] for row in rows if row['result'] in (OTHER, SILENT) and row['what']}
    told = f' ({"; ".join(sorted(one[:60] for one in others))})' if others else ''
    return ', '.join(words) + told.replace('|', '/')


def measure(quick: bool) -> list[Row]:
    """For `veh-id bench`."""
    return figures([*collect(SYSTEMS, os.cpu_count() or 1, **(QUICK if quick else {}))])


def options_parser() -> argparse.ArgumentParser:
    """Options of the script, also behind `veh-id bench mistakes`."""
    parser = argparse.ArgumentParser(
        prog='veh-id bench mistakes', description=(__doc__ or '').partition('\n')[0]
    )
    add = parser.add_argument
    add('--systems', nargs='+', default=list(SYSTEMS), choices=SYSTEMS)
    add('--mistakes', '--only', nargs='*', default=[], help='parts of their names')
    add('--ways', nargs='+', default=list(WAYS), choices=WAYS)
    add('--quick', action='store_true', help='one recording, one more clean')
    add('--first', type=int, default=0, help='number of the first recording')
    add('--recordings', type=int, default=RECORDINGS, help='with mistakes')
    add('--live', type=int, default=LIVE, help='of them, through the node as well')
    add('--clean', type=int, default=FURTHER, help='further clean recordings')
    add('--workers', type=int, default=1)
    add('--json', type=Path, help='rows are added to those that it holds')
    add('--sample', type=int, default=0, help='rows of --json of each system made again')
    add('--seed', type=int, default=1, help='of the sample')
    add('--sampled', type=Path, help='rows of the sample, and what they were')
    add('--unlisted', action='store_true', help='mistakes that were thought of later, alone')
    add('--later', nargs='*', type=Path, default=[], help='rows of --unlisted, first and mended')
    add('--notes', type=Path, help='sections of the page that are written by hand')
    add('--resume', action='store_true', help='rows that the file holds are not made again')
    add('--table', action='store_true', help='make nothing: the table of the rows in the file')
    add('--markdown', type=Path, help='the page of the documents')
    add(
        '--present',
        nargs='*',
        default=[],
        help='COMMIT or SYSTEM:COMMIT whose rows count; others are marked',
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """On its own: some systems, some mistakes, more workers, JSON and the page."""
    options = options_parser().parse_args(arguments)
    rows: dict[Key, Row] = {}
    if options.json is not None and options.json.is_file():
        rows = {key_of(row): row for row in json.loads(options.json.read_text('utf-8'))}
    sampled: list[Row] = []
    if options.sampled is not None and options.sampled.is_file():
        sampled = json.loads(options.sampled.read_text('utf-8'))
    if options.sample:
        _sample(options, rows, sampled)
    elif not options.table:
        _make(options, rows)
    found = sorted(rows.values(), key=_order)
    if options.markdown is not None:
        before = sample.section(sorted(sampled, key=_order)) if sampled else []
        if options.notes is not None:
            before += [*options.notes.read_text('utf-8').splitlines(), '']
        later = [json.loads(one.read_text('utf-8')) for one in options.later]
        before += sample.later_section(*later) if later else []
        options.markdown.write_text(markdown(found, options.present, before), 'utf-8')
    for row in figures(found):
        print(f'{row["case"]:70} {row["ours"]:6.1f} {row["unit"]} {row["wanted"]}')
    for row in found:
        if row['result'] in (OTHER, SILENT, REFUSED, 'false'):
            print(*(str(value) for value in row.values()), sep=' | ')
    return 0


def _make(options: argparse.Namespace, rows: dict[Key, Row]) -> None:
    """New rows, each kept at once: what is known survives an end before the end."""
    counts = (
        QUICK
        if options.quick
        else {key: getattr(options, key) for key in ('recordings', 'live', 'clean')}
    )
    made = collect(
        options.systems,
        options.workers,
        only=options.mistakes,
        ways=options.ways,
        first=options.first,
        known=frozenset(rows) if options.resume else frozenset(),
        unlisted=options.unlisted,
        **counts,
    )
    for row in made:
        rows[key_of(row)] = row
        if options.json is not None:
            write_text(options.json, json.dumps([*rows.values()], indent=1) + '\n')


def _sample(options: argparse.Namespace, rows: dict[Key, Row], sampled: list[Row]) -> None:
    """Rows of the store drawn by chance, each kept at once in both files."""
    for row in again([*rows.values()], options.systems, options.sample, options.seed, sampled):
        sampled.append(row)
        rows[key_of(row)] = {name: row[name] for name in ROW}
        if options.sampled is not None:
            write_text(options.sampled, json.dumps(sampled, indent=1) + '\n')
        if options.json is not None:
            write_text(options.json, json.dumps([*rows.values()], indent=1) + '\n')


def _order(row: Row) -> tuple[int, int]:
    return SYSTEMS.index(row['system']), row['recording']


if __name__ == '__main__':
    sys.exit(main())
