"""What a batch gives back: all recordings, all machines, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import beside, counted, listed
from veh_identification.fleets.changes import (
    FEWEST,
    LEVEL,
    Changes,
    Outlier,
    Series,
    find_changes,
    find_outliers,
    scatters,
)
from veh_identification.fleets.combination import Machine, combine
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.prior import WithFleet, with_fleet
from veh_identification.fleets.reduction import Reduction
from veh_identification.fleets.tables import rows, to_dataframe

if TYPE_CHECKING:
    import pandas

#: Machines and sentences on a terminal; the page and the tables hold all.
SHOWN = 12


@dataclass(frozen=True, eq=False)
class Fleet:
    """All recordings of a batch; machines and changes are worked out when they are asked for."""

    system: str
    entries: tuple[Entry, ...]
    level: float = LEVEL
    remarks: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()  # of the identification
    fleet_prior: bool = False  # whether the files and the page show `with_fleet`

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Each with the estimate from all its recordings, in the order of their names."""
        grouped: dict[str, list[Reduction]] = {}
        for one in self.entries:
            if one.machine:
                grouped.setdefault(one.machine, []).append(one.reduction)
        return tuple(combine(name, grouped[name], self._changed(name)) for name in sorted(grouped))

    def _changed(self, machine: str) -> list[Finding]:
        names = [one.parameter for one in self.changes.steps if one.machine == machine]
        if not names:
            return []
        text = f'{listed(names)} changed over time: the values are means of before and after'
        return [Finding('warn', 'changed', text, machine)]

    def machine(self, name: str) -> Machine:
        """One by its name."""
        return next(one for one in self.machines if one.name == name)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """Every parameter of every machine over time, of recordings that can be used."""
        gathered: dict[tuple[str, str, str, str], list[tuple[int, int, float, float]]] = {}
        for place, entry in enumerate(self.entries):
            one = entry.reduction
            if not one.usable or not entry.machine or one.start_ns <= 0:
                continue
            std = one.std
            for i in np.flatnonzero(one.known):
                key = (entry.machine, one.names[i], one.units[i], one.meanings[i])
                row = (one.start_ns, place, float(one.value[i]), float(std[i]))
                gathered.setdefault(key, []).append(row)
        found = []
        for (machine, parameter, unit, _), kept in sorted(gathered.items()):
            start, places, value, std_ = zip(*sorted(kept), strict=True)
            found.append(
                Series(
                    machine,
                    parameter,
                    unit,
                    np.array(places, dtype=np.int64),
                    np.array(start, dtype=np.int64),
                    np.array(value),
                    np.array(std_),
                )
            )
        return tuple(found)

    @cached_property
    def changes(self) -> Changes:
        """Steps over time and single recordings that stand apart."""
        return find_changes(self.series, self.level)

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """Machines beyond the distribution of the others."""
        values: dict[str, tuple[list[str], list[float], list[float]]] = {}
        for machine in self.machines:
            for name, value, std in zip(machine.names, machine.value, machine.std, strict=True):
                kept = values.setdefault(name, ([], [], []))
                kept[0].append(machine.name)
                kept[1].append(float(value))
                kept[2].append(float(std))
        made = {name: (m, np.array(v), np.array(s)) for name, (m, v, s) in values.items()}
        return tuple(find_outliers(made, self.level))

    @cached_property
    def with_fleet(self) -> tuple[WithFleet, ...]:
        """Every machine with all others as prior, which helps those of which little is known."""
        several = [one for one in self.series if len(one.value) > 1]
        scales = {name: one.scale for name, one in scatters(several).items()}
        apart = {(one.machine, one.parameter) for one in self.outliers}
        return with_fleet(self.machines, scales, apart)

    @property
    def refused(self) -> tuple[Entry, ...]:
        """Recordings without an estimate."""
        return tuple(one for one in self.entries if one.reduction.error)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row a parameter of a recording; one without parameter where there is no estimate."""
        return rows(self.entries)

    def to_dataframe(self) -> pandas.DataFrame:
        """All parameters of all recordings as a table of pandas, which is optional."""
        return to_dataframe(self.entries)

    def sentence(self, change: Any) -> str:
        """A step in words."""
        word = 'rose' if change.after > change.before else 'fell'
        share = f' ({100.0 * change.share:+.2g} %)' if np.isfinite(change.share) else ''
        first, last = self.entries[change.last_before], self.entries[change.first_after]
        kind = '' if change.lasting else '; only one recording stands behind it'
        return (
            f'{change.machine}: {change.parameter} {word} from '
            f'{beside(change.before, change.before_std)} to '
            f'{beside(change.after, change.after_std)} {change.unit}'.rstrip()
            + f'{share}, {abs(change.z):.1f} sigma, between {first.date} and {last.date}{kind}'
        )

    @property
    def unjudged(self) -> str:
        """Why nothing is said about changes over time."""
        return f'changes over time are not judged: no machine has {FEWEST} usable recordings'

    @property
    def text(self) -> str:
        """What a terminal shows."""
        levels = {'yes': 0, 'care': 0, 'no': 0}
        for one in self.entries:
            levels[one.reduction.verdict] += not one.reduction.error
        stored = sum(one.stored for one in self.entries)
        machines = counted(len(self.machines), 'machine')
        lines = [
            f'{counted(len(self.entries), "recording")} of {machines}: {levels["yes"]} yes, '
            f'{levels["care"]} with care, {levels["no"]} no, {len(self.refused)} unusable; '
            f'{stored} of them known from an earlier run',
            *_reasons(self.entries),
            *self.remarks,
            *(_machine_line(machine) for machine in self.machines[:SHOWN]),
        ]
        lines += _more(len(self.machines), 'machines')
        lines += [f'  {one.reduction.error}' for one in self.refused[:SHOWN]]
        lines += _more(len(self.refused), 'unusable recordings')
        steps = self.changes.steps
        lines.append(
            f'{counted(len(steps), "change")} over time in {self.changes.series} series '
            f'(any false alarm at most with probability {self.level:g})'
            if self.changes.series
            else self.unjudged
        )
        lines += [f'  {self.sentence(one)}' for one in steps[:SHOWN]]
        lines += _more(len(steps), 'changes')
        return '\n'.join(lines) + '\n'


def _reasons(entries: Sequence[Entry]) -> list[str]:
    """Why recordings are not a plain yes: findings by their code, the commonest first."""
    found = Counter(
        code
        for entry in entries
        for code in {one.code for one in entry.reduction.findings if one.level in ('warn', 'bad')}
    )
    told = [f'{code} ({count} of {len(entries)})' for code, count in found.most_common()]
    return [f'  reservations: {listed(told)}'] if told else []


def _machine_line(machine: Machine) -> str:
    return (
        f'  {machine.name}: {counted(machine.recordings, "recording")}, '
        f'{counted(len(machine.names), "parameter")}; {machine.verdict.headline}'
    )


def _more(count: int, what: str) -> list[str]:
    return [f'  ... and {count - SHOWN} more {what}'] if count > SHOWN else []
