"""The one driver of all verbs: configuration, recordings, options, outcome, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from veh_identification.errors import EstimationError, UsageError, VehIdError
from veh_identification.findings import Finding
from veh_identification.findings.finding import worst_first
from veh_identification.results.folder import check_target
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.graph import find_config
from veh_identification.systems import registry
from veh_identification.systems.base import System, Task
from veh_identification.systems.options import make_options
from veh_identification.systems.same import same_recording
from veh_identification.types import Progress


def configured(
    system: str, config: Any = None, options: Mapping[str, Any] | None = None
) -> tuple[System[Any, Any], Any]:
    """A system by its name, and its configuration."""
    verb = registry.main_verb(system)
    made, description, _ = _prepared(verb, system, config, options or {})
    return made, description


def _prepared(
    verb: str, system: str, config: Any, options: Mapping[str, Any]
) -> tuple[System[Any, Any], Any, Any]:
    """System, configuration and options."""
    made = registry.find(verb, system)
    given: Any = make_options(made.verbs[verb], options, f'{verb} {made.name}')
    if config is None or isinstance(config, (str, Path)):
        path = None if config is None else find_config(config)
        return made, made.configure(path, given), given
    return made, config, given


def _refuse_twice(recordings: Sequence[Any]) -> None:
    """The noise of a recording that comes twice would count as twice as much knowledge."""
    for k, one in enumerate(recordings):
        for other in recordings[:k]:
            if same_recording(one, other):
                first, second = (getattr(each, 'source', each) for each in (other, one))
                raise UsageError(
                    f'{first} and {second} are the same recording: give each once, for its noise '
                    'would count as twice as much knowledge'
                )


def _caused(system: System[Any, Any], task: Task[Any], error: VehIdError) -> VehIdError:
    """The refusal, behind what description and recordings say that it comes from."""
    told = [one for one in system.described(task.config) if one.level == 'bad']
    if not told and isinstance(error, EstimationError):
        told = _told_by_checks(system, task)
    if not told or told[0].text in str(error):
        return error
    return EstimationError(f'{told[0].text} ({error})')


def _told_by_checks(system: System[Any, Any], task: Task[Any]) -> list[Finding]:
    """What the checks say of recordings of which nothing could be estimated, the worst first."""
    found: list[Finding] = []
    for one in task.recordings:
        with suppress(VehIdError):
            found += system.checks(system.series(one, task), task.config)
    return [one for one in worst_first(found) if one.level in ('bad', 'warn')]


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
    what = f'{verb} {registry.find(verb, system).name}'
    if not recordings:
        raise UsageError(f'{what} needs at least one recording')
    if verb == 'observe' and len(recordings) > 1:
        raise UsageError(f'{what} takes one recording, found {len(recordings)}')
    _refuse_twice(recordings)
    if any(same_recording(validate, one) for one in recordings):
        validate = None  # its own data: the outcome says that nothing else judged it
    made, description, given = _prepared(verb, system, config, options or {})
    path = find_config(config) if isinstance(config, (str, Path)) else None
    arguments = (
        *(('bag', getattr(one, 'source', one)) for one in recordings),
        ('validate', getattr(validate, 'source', validate)),
        ('config', path),
        *((options or {}).items()),
        ('out', out),
    )
    task = Task(
        tuple(Path(one) if isinstance(one, str) else one for one in recordings),
        description,
        given,
        Path(validate) if isinstance(validate, str) else validate,
        progress,
        tuple((name, value) for name, value in arguments if value is not None),
    )
    if out is not None:
        check_target(Path(out), task.inputs)
    try:
        outcome: Outcome[Any] = getattr(made, verb)(task)
    except VehIdError as error:
        raise _caused(made, task, error) from None
    if out is not None:
        line = outcome.save(out)
        outcome = outcome.with_line(line)
    return outcome
