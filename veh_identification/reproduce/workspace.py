"""What the tables of one run share: recordings, results, the seed, and how thorough to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from veh_identification.api import simulate
from veh_identification.types import Progress

T = TypeVar('T')
#: Called with what begins now; gives what is told how far it is.
Tell = Callable[[str], AbstractContextManager[Progress]]


def silent(what: str) -> AbstractContextManager[Progress]:
    """Nobody wants to know."""
    return nullcontext(lambda done, total: None)


@dataclass
class Workspace:
    """Every recording is simulated once and every result computed once, whoever asks first."""

    folder: Path
    seed: int = 0
    quick: bool = False
    tell: Tell = silent
    commands: list[str] = field(default_factory=list)
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def pick(self, thorough: T, quick: T) -> T:
        """A number of trials or seconds."""
        return quick if self.quick else thorough

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """The result of that name, made when it is first asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        made: T = self._kept[name]
        return made

    def recording(self, scenario: str, seconds: float, seed: int = 0, noise: float = 1.0) -> Path:
        """The bag of a scenario; `seed` counts from that of the run."""
        number, exact = self.seed + seed, noise != 1.0
        bag = self.folder / f'{scenario}_{number}_{seconds:g}_{noise:g}'

        def make() -> Path:
            with self.tell(f'simulating {scenario}') as progress:
                simulate(
                    scenario, bag, duration=seconds, seed=number, noise=noise, progress=progress
                )
            self.commands.append(
                f'veh-id simulate {scenario} --duration {seconds:g} --seed {number}'
                f'{f" --noise {noise:g}" if exact else ""} --out BAG'
            )
            return bag

        return self.once(('recording', bag.name), make)

    def truth(self, bag: Path) -> dict[str, Any]:
        """What the simulation knew."""
        known: dict[str, Any] = json.loads((bag / 'truth.json').read_text('utf-8'))
        return known
