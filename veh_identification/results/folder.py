"""The folder of results, the same for every system: all files or none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from veh_identification.atomic import (
    OutputError,
    atomic_folder,
    prepare_target,
    refuse_inputs,
)
from veh_identification.errors import one_line
from veh_identification.files import FileError, read_json
from veh_identification.findings import Verdict
from veh_identification.identification.result import IdentificationResult, json_safe
from veh_identification.reporting.beside import FILES
from veh_identification.results.bag import write_result_bag
from veh_identification.results.comparison import covariance_entries
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.results.tables import to_csv
from veh_identification.saved_state import write_state

REPORT = 'report.html'
#: The bag of parameters and of both sides of the equations.
BAG = 'result'
#: Entry of the document that names the files beside it: another system's may stand there.
LISTED = 'files'
#: What this program writes into folders of results; a folder of these alone may be replaced.
OURS = frozenset({*FILES, REPORT})


class Writable(Protocol):
    """What of an outcome is written."""

    @property
    def system(self) -> str: ...  # noqa: D102

    @property
    def result(self) -> Any: ...  # noqa: D102

    @property
    def values(self) -> Mapping[str, Any]: ...  # noqa: D102

    @property
    def verdict(self) -> Verdict: ...  # noqa: D102

    @property
    def document(self) -> tuple[str, Mapping[str, Any]]: ...  # noqa: D102

    @property
    def content(self) -> Any: ...  # noqa: D102

    @property
    def series(self) -> Sequence[Reconstruction]: ...  # noqa: D102

    @property
    def files(self) -> Mapping[str, bytes | Path]: ...  # noqa: D102

    @property
    def inputs(self) -> Sequence[Path]: ...  # noqa: D102


def check_target(out: Path, inputs: Iterable[str | Path], ours: Iterable[str] = OURS) -> None:
    """Refuse an output that would destroy something, before the work begins.

    Replacing a folder removes it: only results of this program may stand there.
    """
    refuse_inputs(out, inputs)
    if out.exists() and not out.is_dir():
        raise OutputError(f'{out} is a file, expected a folder for the results.')
    if out.is_dir():
        known = {*ours, *_listed(out)}
        foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in known)
        if foreign:
            raise OutputError(
                f'{out} holds {foreign[0]!r}, which is no result of veh-id: give another folder.'
            )
        ours = known
    prepare_target(out, overwrite=True, replaceable=tuple(ours))


def _listed(out: Path) -> list[str]:
    """Files that an earlier result in this folder says are its own."""
    names: list[str] = []
    for document in ('parameters.json', 'metrics.json'):
        try:
            found = read_json(out / document) if (out / document).is_file() else {}
        except FileError:
            continue
        listed = found.get(LISTED) if isinstance(found, dict) else None
        if isinstance(listed, list):
            names += [name for name in listed if isinstance(name, str)]
    return names


def to_json(content: Any) -> str:
    """JSON without NaN: null for what is unknown."""
    return json.dumps(json_safe(content), indent=2, allow_nan=False) + '\n'


def write(outcome: Writable, out: Path, report: bool = True, ours: Iterable[str] = OURS) -> str:
    """Write everything; returns the line to print about the report."""
    name, document = outcome.document
    known = {*ours, name, *outcome.files, *_listed(out)}
    check_target(out, outcome.inputs, known)
    with atomic_folder(out, overwrite=True, replaceable=tuple(known)) as partial:
        listed = {**document, LISTED: sorted(outcome.files)}
        (partial / name).write_text(to_json(listed), encoding='utf-8')
        if isinstance(outcome.result, IdentificationResult):
            (partial / 'parameters.csv').write_text(
                to_csv(outcome.result, {n: v.description for n, v in outcome.values.items()}),
                encoding='utf-8',
            )
            entries = covariance_entries(outcome.result.names, outcome.result.covariance)
            write_state(partial / 'covariance.npz', entries)
            write_result_bag(
                partial / BAG, outcome.system, outcome.result, outcome.verdict, outcome.series
            )
        for target, source in outcome.files.items():
            _place(partial / target, source)
        return _report(outcome, partial, out) if report and outcome.content is not None else ''


def _place(target: Path, source: bytes | Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, bytes):
        target.write_bytes(source)
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _report(outcome: Writable, partial: Path, out: Path) -> str:
    """Write the page and return the line to print.

    The page is the last thing that is written and the least: whatever goes wrong with it must not
    take the results along, so that it is told instead of raised.
    """
    try:
        from veh_identification.reporting.pages import write_report

        assert outcome.content is not None
        write_report(partial / REPORT, outcome.content, outcome.verdict)
    except ImportError as error:
        if (error.name or '').split('.')[0] not in ('plotly', 'jinja2', 'markupsafe'):
            raise
        return f'no report: {error.name} is not installed (pip install plotly jinja2)'
    except Exception as error:
        return f'no report: {type(error).__name__}: {one_line(error)}'
    return f'report: {out / REPORT}'
