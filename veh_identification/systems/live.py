"""What an identification node drives: samples in, estimates, findings and counts out.

A live model knows neither messages nor topics. How samples go in differs from system to system;
what comes out has one shape, so that one node base publishes it for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.checks.possible import beside_causes, impossible_value
from veh_identification.findings import Finding
from veh_identification.identification.live import Solution
from veh_identification.results.messages import Derived, Equations
from veh_identification.saved_state import SavedState, read_state, write_state
from veh_identification.types import Array, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of the equations at some stamps, for `~/reconstruction`."""

    stamps_ns: IntArray
    measured: Array  # (n, equations)
    predicted: Array  # (n, equations)
    sigma: Array  # (equations,)


@dataclass
class SensorCounts:
    """What became of the samples of one sensor: received is the sum of all others."""

    received: int = 0
    used: int = 0
    rejected: int = 0
    late: int = 0
    invalid: int = 0
    waiting: int = 0

    def as_dict(self) -> dict[str, int]:
        """Entries of a diagnostic status, under the names that the observers use too."""
        return {
            'received': self.received,
            'accepted': self.used,
            'rejected': self.rejected,
            'late': self.late,
            'invalid': self.invalid,
            'waiting': self.waiting,
        }


class Convergence:
    """An estimate has converged when a further one lies within its deviation."""

    def __init__(self) -> None:
        self._previous: Array | None = None
        self.reached = False

    def forget(self) -> None:
        """The next estimate is the first one."""
        self._previous, self.reached = None, False

    def update(self, solution: Solution, known: BoolArray, watched: Sequence[int] = ()) -> None:
        """Compare with the estimate before; `watched` must be known to have converged."""
        before, self._previous = self._previous, solution.value.copy()
        self.reached = False
        if before is None or len(before) != len(solution.value) or not known.any():
            return
        std = np.sqrt(np.diag(solution.covariance))[known]
        moved = np.abs(solution.value - before)[known]
        self.reached = bool(np.all(moved < std)) and bool(known[list(watched)].all())


class LiveModel(ABC):
    """One system's estimate while data come in."""

    #: How the values are found, for ~/parameters.
    estimator: str = 'recursive'
    #: Code of the finding that `advice` becomes.
    advice_code: str = 'parameters_weak'
    #: None while the model is not known.
    equations: Equations | None = None
    #: None while there is no estimate.
    solution: Solution | None = None

    def __init__(self) -> None:
        self.convergence = Convergence()
        #: What the description says that no such machine has.
        self.described: list[Finding] = []
        self._sides: list[Sides] = []

    # Estimate -----------------------------------------------------------------------------------

    def tick(self, silent: int) -> bool:
        """Called at every report, `silent` reports after the last sample; True: tell it anew."""
        return False

    def finish(self) -> bool:
        """No more samples will come: use what waits; True where that changed the estimate."""
        return False

    @property
    @abstractmethod
    def samples(self) -> int:
        """Samples or rows in use."""

    @property
    @abstractmethod
    def rejected(self) -> int:
        """What came and was not used."""

    @property
    def progress(self) -> int:
        """A number that changes whenever there is something new to keep."""
        return self.samples

    @property
    def impossible(self) -> list[str]:
        """Parameters whose values cannot exist."""
        return []

    def derived(self) -> list[Derived]:
        """Further quantities with their deviations."""
        return []

    def advice(self) -> str:
        """What would help; empty when nothing is missing."""
        return ''

    @abstractmethod
    def doubts(self) -> list[Finding]:
        """What this system's checks say of data and estimate."""

    def findings(self) -> list[Finding]:
        """Everything that speaks for or against the estimate."""
        causes = [*self.described, *self.doubts()]
        found = beside_causes(causes, impossible_value(self.impossible))
        if self.solution is None:
            found.append(Finding('warn', 'no_estimate', 'no estimate yet'))
        elif advice := self.advice():
            found.append(Finding('warn', self.advice_code, advice))
        return found

    @property
    def ready(self) -> str:
        """What is said when nothing speaks against the estimate."""
        return 'all parameters are known'

    def facts(self) -> dict[str, Any]:
        """Further entries of the diagnostics."""
        return {}

    def counts(self) -> Mapping[str, SensorCounts]:
        """Samples by sensor, where the system has several."""
        return {}

    def take_sides(self) -> list[Sides]:
        """Both sides of the equations since the last call."""
        found, self._sides = self._sides, []
        return found

    # Control ------------------------------------------------------------------------------------

    @abstractmethod
    def interrupt(self) -> None:
        """The next sample does not follow the last one."""

    @abstractmethod
    def reset(self) -> str:
        """Forget what was estimated; returns what is forgotten, in words."""

    # Storage ------------------------------------------------------------------------------------

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The estimate as arrays, numbers and texts; EstimationError where there is none.

        The arrays are never changed afterwards: what was handed out stays what it was.
        """

    @abstractmethod
    def restore(self, stored: SavedState) -> str:
        """Go on from what `state` gave; returns what was found.

        A StateError leaves the estimate as it was.
        """

    def kept(self) -> dict[str, Any]:
        """What a restart goes on from: the estimate, and what waits where a model keeps that."""
        return self.state()

    def go_on(self, stored: SavedState) -> str:
        """After a restart: go on from what `kept` gave; returns what was found."""
        return self.restore(stored)

    def save(self, path: str) -> str:
        """Store the estimate; returns what was written. VehIdError where there is none."""
        write_state(path, self.state())
        return path

    def load(self, path: str) -> str:
        """Go on from a stored estimate; returns what was found."""
        return self.restore(read_state(path))
