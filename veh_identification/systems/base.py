"""The one shape of a system: what the command line, the API, nodes, reports and demo rely on.

A system is one folder that defines a subclass of `System` and one line in `registry.py`.
Refusals are exceptions (`VehIdError`); everything else that speaks against a result is a finding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from veh_identification.errors import UsageError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.results.observation import ObserverRun
from veh_identification.results.outcome import Outcome
from veh_identification.types import Progress

C = TypeVar('C')  # what a system's configuration is read into
S = TypeVar('S')  # what a recording of it is read into


@dataclass(frozen=True, eq=False)
class Task(Generic[C]):
    """What somebody wants identified or observed."""

    #: Paths, or what `System.read` made of them: both are taken alike.
    recordings: tuple[Any, ...]
    config: C
    options: Any  # of the class that the system names for the verb
    validation: Any = None  # a path, or what `System.read` made of it
    progress: Progress | None = None
    #: Name and value of everything as typed, for provenance.
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files and folders that went in: an output never replaces one of them."""
        given = (
            *self.recordings,
            self.validation,
            *(v for name, v in self.arguments if name != 'out'),
        )
        return tuple(dict.fromkeys(Path(one) for one in given if isinstance(one, Path)))


class System(ABC, Generic[C, S]):
    """One kind of machine: how its recordings are read, checked, identified or observed."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]  # in reports: 'car', 'parallel robot'
    summary: ClassVar[str]  # one line of help
    #: Verbs with the class of their options (see `options.py`); of identify and observe.
    verbs: ClassVar[Mapping[str, type]]
    #: What the names of parameters and states mean.
    glossary: ClassVar[Mapping[str, str]] = {}
    #: The name of the node that does the same live.
    node: ClassVar[str] = ''
    #: Description that `veh-id init` writes, below config/; empty: there is none.
    template: ClassVar[str] = ''
    #: Whether a recording can be used without a configuration file.
    config_optional: ClassVar[bool] = True

    @abstractmethod
    def configure(self, path: Path | None, options: Any = None) -> C:
        """The configuration of a file, or the defaults; every error of the file at once."""

    @abstractmethod
    def read(self, bag: Path, config: C, progress: Progress | None = None) -> S:
        """One recording as plain series."""

    @abstractmethod
    def checks(self, recording: S, config: C) -> list[Finding]:
        """Is the recording what it says it is? Before anything is fitted to it."""

    def described(self, config: C) -> list[Finding]:
        """What the description says that no such machine has: told without any recording.

        `checks` says it as well, so that whatever uses a recording does.
        """
        return []

    def identify(self, task: Task[C]) -> Outcome[IdentificationResult]:
        """Parameters from one or several recordings."""
        raise UsageError(f'{self.name} cannot be identified')

    def observe(self, task: Task[C]) -> Outcome[ObserverRun]:
        """States over one recording."""
        raise UsageError(f'{self.name} cannot be observed')

    def live(self, config: C) -> Any:
        """What the node drives: samples in, estimates, findings and counts out (`live.py`)."""
        raise UsageError(f'{self.name} has no live estimate')

    def series(self, recording: Any, task: Task[C]) -> S:
        """A recording that may have been read already."""
        if isinstance(recording, (str, Path)):
            return self.read(Path(recording), task.config, task.progress)
        known: S = recording
        return known


def paths_of(recordings: Sequence[Any]) -> list[Path]:
    """The recordings that are paths, and the sources of those that were read already."""
    found = []
    for one in recordings:
        source = one if isinstance(one, (str, Path)) else getattr(one, 'source', None)
        if source:
            found.append(Path(source))
    return found
