"""The one shape of a design: a search for a motion or manoeuvre that excites what is wanted.

A design is a folder that defines a subclass of `Design` and one line in `registry.py`. It prints
nothing and writes no files: it returns an `Outcome`, which `driver.py` writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from veh_identification.errors import UsageError
from veh_identification.findings import Finding
from veh_identification.results.outcome import Outcome
from veh_identification.types import Progress

C = TypeVar('C')  # what a design's configuration is read into
R = TypeVar('R')  # what it finds


@dataclass(frozen=True, eq=False)
class DesignTask(Generic[C]):
    """What somebody wants designed."""

    config: C
    options: Any  # of the class that the design names
    progress: Progress | None = None
    #: Name and value of everything as typed, for provenance.
    arguments: tuple[tuple[str, Any], ...] = ()
    #: The one start of the search that is made here; None: all of them.
    only: int | None = None

    @property
    def described(self) -> bool:
        """Whether a configuration was given, rather than the default taken."""
        return any(name == 'config' for name, _ in self.arguments)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files and folders that went in: an output never replaces one of them."""
        given = [value for name, value in self.arguments if name != 'out']
        given += vars(self.options).values()
        return tuple(dict.fromkeys(one for one in given if isinstance(one, Path)))


class Design(ABC, Generic[C, R]):
    """One kind of machine: what excites it within its limits."""

    name: ClassVar[str]
    #: The class of its options (see `systems/options.py`).
    options: ClassVar[type]
    #: Every name that it may write into a folder: a folder of these alone may be replaced.
    files: ClassVar[tuple[str, ...]]
    #: Endings of `--out` for which one file is written instead of a folder.
    single_file_endings: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def configure(self, path: Path | None) -> C:
        """The configuration of a file, or the defaults; every error of the file at once."""

    @abstractmethod
    def design(self, task: DesignTask[C]) -> Outcome[R]:
        """Search, and judge what was found."""

    def cost(self, result: R) -> float:
        """What the search brought down: the least of several starts is the best."""
        raise NotImplementedError(f'design {self.name} has no starts')

    def single_file(self, result: R, ending: str) -> str:
        """Content of the one file with such an ending."""
        raise UsageError(f'design {self.name} writes a folder, not a file {ending}')


def time_ran_out(seconds: float, done: str) -> Finding:
    """A search that its time limit ended; `done` says how far it came."""
    return Finding(
        'warn',
        'time_ran_out',
        f'the time limit of {seconds:g} s ended the search after {done}: a longer one may find '
        'better (--time-limit, 0: none)',
        'time_limit',
    )
