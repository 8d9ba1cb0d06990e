"""Sections of the page: a random sample made again on one commit, and unlisted mistakes.

A table that was made part by part, mostly where something had failed, leans upwards: rows that
once were right are not made again. A sample by chance does not.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import beta

from mistaken.common import NAMED, OTHER, SILENT, WORDS

Row = dict[str, Any]
Key = tuple[str, int, str, str]


def drawn(keys: Iterable[Key], count: int, seed: int) -> list[Key]:
    """So many rows of each system, as many of each way, by chance; the order of `keys` is no
    matter, and what is drawn of one system does not depend on the others."""
    strata: dict[tuple[str, str], list[Key]] = {}
    for key in sorted(keys):
        strata.setdefault((key[0], key[2]), []).append(key)
    ways = Counter(system for system, _ in strata)
    found: list[Key] = []
    for (system, way), own in strata.items():
        rng = np.random.default_rng((seed, zlib.crc32(f'{system} {way}'.encode())))
        share = min(len(own), -(-count // ways[system]))
        found += [own[k] for k in rng.permutation(len(own))[:share]]
    return found


def interval(right: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Where a share lies of which so many were seen (Clopper and Pearson)."""
    rest = 0.5 * (1.0 - level)
    low = float(beta.ppf(rest, right, total - right + 1)) if right else 0.0
    high = float(beta.ppf(1.0 - rest, right + 1, total - right)) if right < total else 1.0
    return low, high


def section(rows: Sequence[Row]) -> list[str]:
    """Lines of the page: shares by system, and what is another than it was."""
    seeds = ', '.join(str(one) for one in sorted({row['seed'] for row in rows}))
    codes = ', '.join(sorted({row['code'] for row in rows}))
    lines = [
        '## A random sample on one commit',
        '',
        f'Rows of the tables below drawn by chance (seed {seeds}, `--sample`), as many offline as '
        f'live, and made again by {codes}. The interval is that of Clopper and Pearson, 95 %. '
        'These rows stand in the tables below as well.',
        '',
        '| system | way | rows | right cause named | interval | within three sigma or noted '
        '| refused | told with another cause | SILENT | stored as named |',
        '|---|---|---|---|---|---|---|---|---|---|',
    ]
    by: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by.setdefault((row['system'], row['way']), []).append(row)
    for (system, way), own in by.items():
        lines.append(_line(system, way, own))
    if rows:
        lines.append(_line('all', '', rows))
    other = [row for row in rows if row['result'] != row['was']]
    end = ':' if other else '.'
    lines += ['', f'{len(other)} of {len(rows)} rows came out as another than stored{end}', '']
    for row in other:
        told = f' ({row["what"][:90]})' if row['result'] in (OTHER, SILENT) else ''
        lines.append(
            f'- {row["system"]} {row["recording"]} {row["way"]}, {row["mistake"]}: '
            f'{WORDS[row["was"]]} by {row["was_code"]}, {WORDS[row["result"]]}{told}'
        )
    return [*lines, '']


def _line(system: str, way: str, rows: Sequence[Row]) -> str:
    counts = Counter(row['result'] for row in rows)
    low, high = interval(counts[NAMED], len(rows))
    cells = [
        system,
        way,
        len(rows),
        f'{counts[NAMED]} ({100.0 * counts[NAMED] / len(rows):.0f} %)',
        f'{100.0 * low:.0f} to {100.0 * high:.0f} %',
        counts['within'] + counts['noted'],
        counts['refused'],
        counts[OTHER],
        counts[SILENT],
        sum(row['was'] == NAMED for row in rows),
    ]
    return f'| {" | ".join(map(str, cells))} |'


def later_section(rows: Sequence[Row], mended: Sequence[Row] = ()) -> list[str]:
    """Lines of the page: mistakes that were thought of later, as first run, and what was mended.

    `mended`: rows of the same mistakes by later commits.
    """
    now = {_place(row): row for row in mended}
    head = ['system', 'way', 'rows', *WORDS.values(), 'clean, false']
    lines = [f'| {" | ".join(head)} |', '|' + '---|' * len(head)]
    for system, way in dict.fromkeys((row['system'], row['way']) for row in rows):
        own = [row for row in rows if (row['system'], row['way']) == (system, way)]
        counts = Counter(row['result'] for row in own)
        made = sum(bool(row['mistake']) for row in own)
        cells = [system, way, made, *(counts[one] for one in WORDS)]
        cells.append(f'{counts["clean"] + counts["false"]}, {counts["false"]}')
        lines.append(f'| {" | ".join(map(str, cells))} |')
    lines += ['', '| system | way | mistake | first | after mending |', '|---|---|---|---|---|']
    for row in rows:
        if row['mistake'] and row['result'] != NAMED:
            after = now.get(_place(row))
            told = '' if after is None else f'{_outcome(after)}, by {after["code"]}'
            cells = [row['system'], row['way'], row['mistake'], _outcome(row), told]
            lines.append(f'| {" | ".join(map(str, cells))} |')
    return [*lines, '']


def _place(row: Row) -> Key:
    return row['system'], row['recording'], row['way'], row['mistake']


def _outcome(row: Row) -> str:
    told = f' ({row["what"][:70]})' if row['result'] in (OTHER, SILENT) and row['what'] else ''
    return (WORDS[row['result']] + told).replace('|', '/')
