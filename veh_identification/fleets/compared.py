"""Comparisons with what needs the recordings again, and what the page of them shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from veh_identification.errors import UsageError
from veh_identification.findings import Finding
from veh_identification.fleets.crossing import Crossed, Crossing, Crossings, recorded
from veh_identification.reporting.comparison import (
    ComparisonContent,
    DifferenceRow,
    PairContent,
    ResidualRow,
    ResultRow,
    TrendSeries,
    WayContent,
)
from veh_identification.results.comparison import LEVEL, Comparison, Stored, compare_all
from veh_identification.results.folder import REPORT
from veh_identification.types import Progress

NAN = float('nan')


@dataclass(frozen=True, eq=False)
class Compared:
    """All pairs; residuals where they were asked for."""

    pairs: tuple[Comparison, ...]
    crossings: tuple[Crossing, ...] | None
    level: float

    @property
    def different(self) -> bool:
        """Anything changed."""
        return any(one.different for one in self.pairs)

    @property
    def results(self) -> tuple[Stored, ...]:
        """In the order in which they were given."""
        every = {one.path: one for pair in self.pairs for one in (pair.before, pair.after)}
        return tuple(every.values())

    def crossing(self, k: int) -> Crossing:
        """Residuals of a pair, none where nobody asked."""
        return Crossing((), ()) if self.crossings is None else self.crossings[k]

    def as_list(self) -> list[dict[str, Any]]:
        """For JSON: one entry a pair."""
        found = []
        for k, one in enumerate(self.pairs):
            more = {} if self.crossings is None else {'residuals': self.crossings[k].as_dict()}
            found.append({**one.as_dict(), **more})
        return found


def compared(
    folders: Sequence[Path | str],
    level: float = LEVEL,
    *,
    residuals: bool = False,
    progress: Progress | None = None,
) -> Compared:
    """Each result with the one before it and, of more than two, the last with the first."""
    if not 0.0 < level < 1.0:
        raise UsageError(f'--level {level:g}: expected a probability between 0 and 1')
    pairs = tuple(compare_all(folders, level))
    if not residuals:
        return Compared(pairs, None, level)
    cross = Crossings(progress)
    return Compared(pairs, tuple(cross.of(pair) for pair in pairs), level)


def write_page(found: Compared, path: Path, command: str = '') -> None:
    """The page; plotly and jinja2 are needed for it alone."""
    from veh_identification.reporting.pages.comparison import write_comparison_page

    write_comparison_page(path, page_content(found, path.parent, command))


def page_content(found: Compared, beside: Path, command: str = '') -> ComparisonContent:
    """Everything of the page, which lies in the folder `beside`."""
    results = found.results
    label = _labels(results)
    words = ['veh-id', 'compare', *(str(one.path) for one in results)]
    return ComparisonContent(
        f'{results[0].system.capitalize()}: results compared',
        datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
        found.level,
        tuple(_result(one, label[one.path], beside) for one in results),
        tuple(_pair(found, k, label) for k in range(len(found.pairs))),
        _trend(results),
        found.crossings is not None,
        command or ' '.join(words),
    )


def _labels(results: Sequence[Stored]) -> dict[Path, str]:
    """Names of the folders; the whole path where two are called alike."""
    names = [one.path.name for one in results]
    if len(set(names)) < len(names):
        return {one.path: str(one.path) for one in results}
    return {one.path: one.path.name for one in results}


def _result(one: Stored, label: str, beside: Path) -> ResultRow:
    own = one.path / REPORT
    link = os.path.relpath(own, beside) if own.is_file() else ''
    return ResultRow(
        label,
        str(one.path),
        one.verdict,
        one.created,
        recorded(one),
        len(one.arguments.get('bag', ()) or one.bags),
        link,
    )


def _pair(found: Compared, k: int, label: dict[Path, str]) -> PairContent:
    pair, crossing = found.pairs[k], found.crossing(k)
    names = {str(path): name for path, name in label.items()}
    findings: list[Finding] = [*pair.findings, *crossing.findings]
    return PairContent(
        label[pair.before.path],
        label[pair.after.path],
        pair.headline,
        pair.different,
        pair.chi_square,
        pair.freedom,
        pair.probability,
        float(stats.norm.isf(0.5 * pair.level / len(pair.differences))),
        tuple(
            DifferenceRow(
                one.name,
                one.unit,
                one.before,
                one.before_std,
                one.after,
                one.after_std,
                one.z,
                one.significant,
            )
            for one in pair.differences
        ),
        tuple(_way(one, names) for one in crossing.ways),
        tuple(findings),
    )


def _way(way: Crossed, label: dict[str, str]) -> WayContent:
    rows = tuple(
        ResidualRow(
            name,
            fit.rms,
            fit.relative,
            way.own[name].rms if name in way.own else NAN,
            way.own[name].relative if name in way.own else NAN,
        )
        for name, fit in way.fits.items()
    )
    return WayContent(label[way.model], label[way.data], way.text, rows)


def _trend(results: Sequence[Stored]) -> tuple[TrendSeries, ...]:
    """Parameters that at least two results know, in the order of the first."""
    units: dict[str, str] = {}
    for one in results:
        for name, unit in zip(one.names, one.units, strict=True):
            units.setdefault(name, unit)
    found = []
    for name, unit in units.items():
        value, std = np.full(len(results), NAN), np.full(len(results), NAN)
        for k, one in enumerate(results):
            if name in one.names and one.units[one.names.index(name)] == unit:
                i = one.names.index(name)
                value[k], std[k] = one.value[i], np.sqrt(one.covariance[i, i])
        if np.sum(np.isfinite(value) & np.isfinite(std)) >= 2:
            found.append(TrendSeries(name, unit, value, std))
    return tuple(found)
