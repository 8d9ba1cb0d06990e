"""What identify, observe and design give back: one shape for every system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from veh_identification.errors import UsageError
from veh_identification.findings import Finding, Verdict
from veh_identification.reporting.content import (
    IdentificationContent,
    ObservationContent,
    Provenance,
)
from veh_identification.results import folder
from veh_identification.results.reconstruction import Reconstruction

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

R = TypeVar('R')


@dataclass(frozen=True)
class Value:
    """One identified parameter, or what follows from parameters."""

    name: str
    value: float
    std: float
    unit: str
    description: str = ''
    a_priori: float = float('nan')
    well_identified: bool = False
    possible: bool = True  # false: no such value can exist

    def __repr__(self) -> str:
        return f'{self.name} = {self.value:.6g} +- {self.std:.2g} {self.unit}'


@dataclass(frozen=True, eq=False)
class Outcome(Generic[R]):
    """The result with its verdict, where everything came from, and what to write.

    `outcome['Mc']` is a `Value` of an identification, the series of a state of an observer run.
    """

    verb: str  # identify, observe, design
    system: str
    result: R  # IdentificationResult, ObserverRun, or what a design found
    verdict: Verdict
    provenance: Provenance
    values: Mapping[str, Any]  # what outcome[name] gives
    body: str  # for a terminal, between the two lines of the verdict
    document: tuple[str, Mapping[str, Any]]  # name and content of the JSON file
    content: IdentificationContent | ObservationContent | None = None  # of the report
    series: tuple[Reconstruction, ...] = ()  # of the bag `result`
    #: Further files and folders by their names: bytes, or where they lie until they are saved.
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()  # never overwritten
    spool: Any = None  # keeps a temporary folder that `files` points into

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found, the most serious first."""
        return self.verdict.findings

    @property
    def text(self) -> str:
        """All that a terminal shows: the verdict is the first and the last line."""
        lines = [self.verdict.line, *(one.line for one in self.verdict.reasons)]
        notes = [one.line for one in self.findings if one not in self.verdict.reasons]
        return '\n'.join([*lines, self.body.rstrip('\n'), *notes, self.verdict.line]) + '\n'

    def __getitem__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            near = get_close_matches(name, list(self.values), 3, 0.5)
            hint = f'did you mean {" or ".join(near)}?' if near else f'there are: {self._names()}'
            raise KeyError(f'{self.verb} {self.system} has no {name!r}; {hint}') from None

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def _names(self) -> str:
        names = list(self.values)
        return ', '.join(names[:12]) + (', ...' if len(names) > 12 else '')

    def __repr__(self) -> str:
        return (
            f'<{self.verb} {self.system}: {self.verdict.headline} {len(self.values)} values '
            f'({self._names()})>'
        )

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, its reasons and a table of the values."""
        reasons = ''.join(f'<li>{escape(one.line)}</li>' for one in self.verdict.reasons)
        rows = ''.join(
            f'<tr><td>{escape(one.name)}</td><td>{one.value:.6g}</td><td>{one.std:.2g}</td>'
            f'<td>{escape(one.unit)}</td><td>{escape(one.description)}</td></tr>'
            for one in self.values.values()
            if isinstance(one, Value)
        )
        table = (
            '<table><tr><th>name</th><th>value</th><th>sigma</th><th>unit</th><th></th></tr>'
            f'{rows}</table>'
            if rows
            else f'<p>{escape(self._names())}</p>'
        )
        return f'<p><b>{escape(self.verdict.headline)}</b></p><ul>{reasons}</ul>{table}'

    def to_dataframe(self) -> pandas.DataFrame:
        """The values as a table (pandas is optional: pip install 'veh_identification[dataframe]').

        Of an identification one row a parameter; of an observer run one column a state.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError(
                'to_dataframe needs pandas, which is not installed: '
                "pip install 'veh_identification[dataframe]'"
            ) from None
        kept = list(self.values.values())
        if kept and not isinstance(kept[0], Value):
            first = kept[0]
            return pandas.DataFrame(
                {one.name: one.value for one in kept if len(one.time) == len(first.time)},
                index=pandas.Index(first.time, name='time'),
            )
        columns = (
            'value',
            'std',
            'unit',
            'a_priori',
            'well_identified',
            'possible',
            'description',
        )
        return pandas.DataFrame(
            [{key: getattr(one, key) for key in columns} for one in kept],
            index=pandas.Index([one.name for one in kept], name='name'),
        )

    def plot(self) -> go.Figure:
        """The figure that says most: deviations of the parameters, or the first states."""
        from veh_identification.reporting.figures import main_figure

        if self.content is None:
            raise UsageError(f'{self.verb} {self.system} has nothing to draw')
        return main_figure(self.content)

    def with_line(self, line: str) -> Outcome[R]:
        """The same with one more line before the verdict's last one."""
        return replace(self, body=f'{self.body.rstrip()}\n{line}')

    def save(self, out: str | Path, report: bool = True) -> str:
        """Write every file into the folder `out`, all or none; returns the line to print."""
        return folder.write(self, Path(out), report)
