"""One run of a paper: every table in turn, then reproduce.json and the page, both or none."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.atomic import atomic_folder
from veh_identification.errors import UsageError, VehIdError, one_line
from veh_identification.reproduce.page import write
from veh_identification.reproduce.paper import MARKS, Item, Made, Paper
from veh_identification.reproduce.workspace import Tell, Workspace, silent
from veh_identification.results.folder import REPORT, check_target, to_json

DOCUMENT = 'reproduce.json'
FILES = (DOCUMENT, REPORT)


@dataclass(frozen=True)
class Done:
    """One table or figure as it came out; `failed` says why it did not."""

    item: Item
    made: Made
    seconds: float
    failed: str = ''


@dataclass(frozen=True)
class Reproduction:
    """A whole run."""

    paper: Paper
    done: tuple[Done, ...]
    quick: bool
    seed: int
    seconds: float
    commands: tuple[str, ...]

    def counted(self, mark: str) -> int:
        """Figures of that mark."""
        return sum(row.mark == mark for one in self.done for row in one.made.rows)

    def document(self) -> dict[str, Any]:
        """reproduce.json."""
        return {
            'paper': self.paper.name,
            'reference': self.paper.reference,
            'data': self.paper.data,
            'quick': self.quick,
            'seed': self.seed,
            'seconds': self.seconds,
            'version': __version__,
            'created': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
            'marks': {mark: self.counted(mark) for mark in MARKS},
            'recordings': list(self.commands),
            'items': [_entry(one) for one in self.done],
        }


def _entry(one: Done) -> dict[str, Any]:
    return {
        'key': one.item.key,
        'title': one.item.title,
        'where': one.item.where,
        'data': one.item.data,
        'remark': one.item.remark,
        'seconds': one.seconds,
        'failed': one.failed or None,
        'columns': [{'title': c.title, 'side': c.side} for c in one.made.columns],
        'rows': [{'cells': list(row.cells), 'mark': row.mark} for row in one.made.rows],
        'statements': [statement.as_dict() for statement in one.made.statements],
    }


def chosen(paper: Paper, only: Sequence[str]) -> list[Item]:
    """The items that were asked for, in the order of the paper; all where none was."""
    for name in only:
        if not any(item.answers_to(name) for item in paper.items):
            known = ', '.join(item.key for item in paper.items)
            raise UsageError(f'{paper.name} has no {name!r} here; there are: {known}')
    return [
        item for item in paper.items if not only or any(item.answers_to(name) for name in only)
    ]


def run_items(items: Sequence[Item], workspace: Workspace) -> Iterator[Done]:
    """Item after item; one that fails leaves the others alone."""
    for item in items:
        begin = time.perf_counter()
        made, failed = Made(), ''
        try:
            made = item.make(workspace)
        except VehIdError as error:
            failed = one_line(error)
        yield Done(item, made, time.perf_counter() - begin, failed)


def reproduce(
    paper: Paper,
    out: str | Path | None = None,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    seed: int = 0,
    tell: Tell = silent,
    show: Callable[[Done, int, int], None] | None = None,
) -> Reproduction:
    """Run a paper; `show` gets every item as it is done, with its number and how many there are.

    Recordings are simulated into a temporary folder; `out` gets reproduce.json and report.html.
    """
    if seed < 0:
        raise UsageError(f'the seed must not be negative, got {seed}')
    items = chosen(paper, only)
    if out is not None:
        check_target(Path(out), (), FILES)
    begin = time.perf_counter()
    done = []
    with tempfile.TemporaryDirectory(prefix='reproduce_') as name:
        workspace = Workspace(Path(name), seed, quick, tell)
        for number, one in enumerate(run_items(items, workspace), start=1):
            done.append(one)
            if show is not None:
                show(one, number, len(items))
        commands = tuple(workspace.commands)
    whole = Reproduction(paper, tuple(done), quick, seed, time.perf_counter() - begin, commands)
    if out is not None:
        save(whole, Path(out))
    return whole


def save(whole: Reproduction, out: Path) -> None:
    """reproduce.json and report.html; a folder of something else is not touched."""
    check_target(out, (), FILES)
    document = whole.document()
    with atomic_folder(out, overwrite=True, replaceable=FILES) as partial:
        (partial / DOCUMENT).write_text(to_json(document), encoding='utf-8')
        write(partial / REPORT, whole.paper, document, [one.made.figures for one in whole.done])
