"""Ordinary mistakes in recordings and descriptions: named, refused, or silently wrong?

Each mistake is made in clean recordings of machines that differ (masses, noise, motion, seed) and
goes offline through checks and identification, and live through the nodes under the replay
engine. The peer is the same without a mistake: what is found there and is bad is false. Checks
and mistakes come from the same hands and the same simulators, so that the figures are no forecast
for other mistakes or real machines. One module per system: bench/mistaken.

    python bench/mistakes.py --systems humanoid --workers 2 --json FILE --markdown docs/mistakes.md
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from mistaken import SYSTEMS
from mistaken.common import NAMED, OTHER, REFUSED, SILENT, WITHIN, WORDS, judged

PART = 'mistakes'
#: Recordings in which mistakes are made, and how many of them go through the live node as well.
RECORDINGS, LIVE = 3, 3
#: Clean recordings of each system beside those that mistakes are made in.
FURTHER = 9
QUICK: dict[str, Any] = {'recordings': 1, 'live': 1, 'clean': 1}
WAYS = ('offline', 'live')
Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One recording of a system, with mistakes or clean alone."""

    system: str
    recording: int
    with_mistakes: bool
    live: bool  # mistakes also through the node; it hears of clean recordings in any case
    only: Sequence[str] = ()  # parts of the names of mistakes


def one_recording(job: Job) -> Iterator[Row]:
    """All mistakes in one recording of a system; clean alone without mistakes."""
    name, k = job.system, job.recording
    system = importlib.import_module(f'mistaken.{name}')
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        clean = system.clean(k, system.SECONDS, place)
        plain = {'offline': system.offline(clean, place)}
        if hasattr(clean, 'known'):
            clean = replace(clean, known=dict(plain['offline'].truth))
        plain['live'] = system.live(clean, place)
        for way, told in plain.items():
            what = ', '.join(sorted(told.bad)) or told.refusal
            yield _row(name, k, way, '', 'false' if what else 'clean', what)
        for title, mistake in system.MISTAKES.items():
            wanted = not job.only or any(part in title for part in job.only)
            if not (job.with_mistakes and wanted):
                continue
            case = mistake.change(clean)
            for way in WAYS if job.live else WAYS[:1]:
                told = getattr(system, way)(case, place)
                yield _row(name, k, way, title, *judged(mistake, told, plain[way]))


def _all_of(job: Job) -> list[Row]:
    return list(one_recording(job))


def _row(system: str, k: int, way: str, mistake: str, result: str, what: str) -> Row:
    return {
        'system': system,
        'recording': k,
        'way': way,
        'mistake': mistake,
        'result': result,
        'what': what,
    }


def collect(
    systems: Iterable[str],
    workers: int,
    *,
    recordings: int = RECORDINGS,
    live: int = LIVE,
    clean: int = FURTHER,
    only: Sequence[str] = (),
) -> Iterator[Row]:
    """The rows of all systems: mistakes in `recordings`, through the node in `live` of them."""
    jobs = [
        Job(name, k, k < recordings, k < live, only)
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
            for result, wanted in ((NAMED, '>= 90'), (REFUSED, ''), (WITHIN, ''), (OTHER, ''),
                                   (SILENT, '0')):  # fmt: skip
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


def markdown(rows: Sequence[Row]) -> str:
    """The page of the documents."""
    lines = [
        '# Ordinary mistakes',
        '',
        'Made by `bench/mistakes.py` (`veh-id bench mistakes`); do not edit. Each mistake is made '
        'in simulated recordings of machines that differ. Checks and mistakes come from the same '
        'hands, so that the figures are no forecast for other mistakes or real machines.',
        '',
    ]
    for system in dict.fromkeys(row['system'] for row in rows):
        own = [row for row in rows if row['system'] == system]
        lines += [f'## {system}', '', '| mistake | offline | live |', '|---|---|---|']
        for title in dict.fromkeys(row['mistake'] for row in own if row['mistake']):
            cells = [_cell([r for r in own if (r['mistake'], r['way']) == (title, w)])
                     for w in WAYS]  # fmt: skip
            lines.append(f'| {title} | {" | ".join(cells)} |')
        for way in WAYS:
            clean = [r for r in own if not r['mistake'] and r['way'] == way]
            false = [r for r in clean if r['result'] == 'false']
            what = f': {"; ".join(r["what"][:80] for r in false)}' if false else ''
            lines += ['', f'{way}: {len(false)} of {len(clean)} clean recordings with a false '
                      f'finding{what}.']  # fmt: skip
        lines.append('')
    return '\n'.join(lines).rstrip() + '\n'


def _cell(rows: Sequence[Row]) -> str:
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


def main() -> None:
    """On its own: some systems, more workers, JSON and the page of the documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--systems', nargs='+', default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument('--only', nargs='*', default=[], help='parts of the names of mistakes')
    parser.add_argument('--quick', action='store_true', help='one recording, one more clean')
    parser.add_argument('--recordings', type=int, default=RECORDINGS, help='with mistakes')
    parser.add_argument('--live', type=int, default=LIVE, help='of them, through the node as well')
    parser.add_argument('--clean', type=int, default=FURTHER, help='further clean recordings')
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--json', type=Path, help='rows are added to those of other systems in it')
    parser.add_argument('--markdown', type=Path)
    options = parser.parse_args()
    counts = (
        QUICK
        if options.quick
        else {key: getattr(options, key) for key in ('recordings', 'live', 'clean')}
    )
    stored: list[Row] = []
    if options.json is not None and options.json.is_file():
        stored = json.loads(options.json.read_text('utf-8'))
    rows = [row for row in stored if row['system'] not in options.systems]
    for row in collect(options.systems, options.workers, only=options.only, **counts):
        rows.append(row)
        if options.json is not None:  # at once: what is known survives an end before the end
            options.json.write_text(json.dumps(rows, indent=1) + '\n', 'utf-8')
    if options.markdown is not None:
        options.markdown.write_text(markdown(rows), 'utf-8')
    for row in figures(rows):
        print(f'{row["case"]:70} {row["ours"]:6.1f} {row["unit"]} {row["wanted"]}')
    for row in rows:
        if row['result'] in (OTHER, SILENT, REFUSED, 'false'):
            print(*(str(row[key]) for key in row), sep=' | ')


if __name__ == '__main__':
    main()
