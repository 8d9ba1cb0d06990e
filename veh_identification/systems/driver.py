"""The one driver of all verbs: configuration, recordings, options, outcome, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veh_identification.errors import UsageError
from veh_identification.results.folder import check_target
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.graph import find_config
from veh_identification.systems import registry
from veh_identification.systems.base import Task
from veh_identification.systems.options import make_options
from veh_identification.types import Progress


def run(
    verb: str,
    system: str,
    recordings: Sequence[Any],
    *,
    out: str | Path | None = None,
    config: Any = None,
    validate: Any = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Outcome[Any]:
    """Identify or observe; with `out` every file is written, all or none.

    `recordings` and `validate` are paths or what the system's `read` made of them; `config` is a
    path, the name of a file in config/, or what the system's `configure` gave.
    """
    made = registry.find(verb, system)
    what = f'{verb} {made.name}'
    given = make_options(made.verbs[verb], options or {}, what)
    if not recordings:
        raise UsageError(f'{what} needs at least one recording')
    if verb == 'observe' and len(recordings) > 1:
        raise UsageError(f'{what} takes one recording, found {len(recordings)}')
    path = find_config(config) if isinstance(config, (str, Path)) else None
    arguments = (
        *(('bag', one) for one in recordings),
        ('validate', validate),
        ('config', path),
        *((options or {}).items()),
        ('out', out),
    )
    task = Task(
        tuple(Path(one) if isinstance(one, str) else one for one in recordings),
        made.configure(path, given) if config is None or path is not None else config,
        given,
        Path(validate) if isinstance(validate, str) else validate,
        progress,
        tuple((name, value) for name, value in arguments if value is not None),
    )
    if out is not None:
        check_target(Path(out), task.inputs)
    outcome: Outcome[Any] = getattr(made, verb)(task)
    if out is not None:
        line = outcome.save(out)
        outcome = outcome.with_line(line)
    return outcome
