"""The one driver of all designs: configuration, options, outcome, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from veh_identification.atomic import OutputError, refuse_inputs, write_text
from veh_identification.design import registry
from veh_identification.design.base import Design, DesignTask
from veh_identification.engines import cores, engine
from veh_identification.errors import VehIdError
from veh_identification.results import folder
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.graph import find_config
from veh_identification.systems.options import make_options
from veh_identification.types import Progress


def run(
    system: str,
    out: str | Path | None = None,
    config: Any = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Outcome[Any]:
    """Design a motion; with `out` the file or every file of the folder is written, all or none.

    `config` is a path, the name of a file in config/, or what the design's `configure` gave.
    """
    made = registry.find(system)
    given: Any = make_options(made.options, options or {}, f'design {made.name}')
    path = find_config(config) if isinstance(config, (str, Path)) else None
    arguments = (
        ('config', config if path is None else path),
        *((options or {}).items()),
        ('out', out),
    )
    task = DesignTask(
        made.configure(path) if config is None or path is not None else config,
        given,
        progress,
        tuple((name, value) for name, value in arguments if value is not None),
    )
    if out is None:
        return _designed(made, task)
    target = Path(out)
    _check(made, target, task)
    outcome = _designed(made, task)
    _write(made, target, outcome)
    return outcome.with_line(f'written to {target}')


def _designed(made: Design[Any, Any], task: DesignTask[Any]) -> Outcome[Any]:
    """The outcome; where several processes are asked for, of the best of their starts."""
    workers, starts = getattr(task.options, 'workers', 1), getattr(task.options, 'starts', 1)
    if workers == 1 or starts == 1:
        return made.design(task)
    jobs = [(made.name, replace(task, progress=None, only=index)) for index in range(starts)]
    found: list[Outcome[Any]] = []
    for _, one in engine(min(workers or cores(), starts))(_one_start, jobs):
        if isinstance(one, VehIdError):
            raise one
        found.append(one)
        if task.progress is not None:
            task.progress(len(found), starts)
    best = min(found, key=lambda one: made.cost(one.result))
    return best.with_line(f'the best of {starts} starts in several processes')


def _one_start(job: tuple[str, DesignTask[Any]]) -> Outcome[Any] | VehIdError:
    """One start of a search, in a process of its own; a refusal comes back as what it is."""
    name, task = job
    try:
        return registry.find(name).design(task)
    except VehIdError as error:
        return error


def _check(made: Design[Any, Any], target: Path, task: DesignTask[Any]) -> None:
    """Refuse an output that would destroy something, before the work begins."""
    if target.suffix not in made.single_file_endings:
        folder.check_target(target, task.inputs, made.files)
        return
    refuse_inputs(target, task.inputs)
    if target.is_dir():
        raise OutputError(f'{target} is a folder, expected a file to write.')


def _write(made: Design[Any, Any], target: Path, outcome: Outcome[Any]) -> None:
    if target.suffix in made.single_file_endings:
        write_text(target, made.single_file(outcome.result, target.suffix))
    else:
        folder.write(outcome, target, ours=made.files)
