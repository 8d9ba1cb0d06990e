"""Identification while data come in: all rows for good, recent rows apart, are the two at odds?

Rows of Y = W X + rho (both sides low-passed alike and decimated) go two ways. The recent ones are
kept: those of the last `memory` seconds show the present, those up to HOLD times as old the noise.
The same rows wait as long before they join the long-term factors, so that the two are independent,
and what comes after a change never reaches the long-term estimate: it stops taking rows while a
change is seen.

The change is looked for where a load acts: in the mass and the first moments of one body, all
other parameters held at their long-term values x: d minimises the weighted |W_s d - (Y - W x)|, a
few numbers instead of a hundred, so that seconds of data are enough. Its covariance comes from the
residuals of the rows between, with their correlation (Newey-West), plus what the errors of x add.
How much larger than expected the statistic has been so far (model errors) scales it down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import Information
from veh_identification.identification.change import ChangeTest, change_test
from veh_identification.identification.factor import triangular_factor
from veh_identification.saved_state import SavedState
from veh_identification.types import Array, BoolArray

STATE_VERSION = 1
#: Rows older than this many times the memory become long-term knowledge.
HOLD = 3.0
#: Seconds over which the correlation of the residuals is allowed for.
CORRELATED_SECONDS = 0.5
#: Statistics that must have been seen before changes are believed, and how many are remembered.
CALIBRATION, REMEMBERED = 5, 40
#: Evaluations in a row that must show a change (or none again) before it is believed.
CONFIRM = 2


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver makes of the long-term factors."""

    value: Array
    covariance: Array
    sigma: Array  # noise per equation
    excited: NDArray[np.bool_]
    condition_number: float


@dataclass(frozen=True, eq=False)
class Change:
    """How the recent rows differ from the long-term estimate."""

    test: ChangeTest
    value: Array  # change of the watched parameters
    std: Array


Solver = Callable[[Information], Solution]


def no_information(equations: int, columns: int) -> Information:
    """Nothing known yet."""
    width = columns + 1
    return Information(np.zeros((equations, width, width)), 0, 0, np.zeros(equations))


class Usable(NamedTuple):
    """Rows of which some equations may be missing: these hold zeros and are not `valid`."""

    W: Array  # (n, equations, columns)
    Y: Array  # (n, equations)
    valid: BoolArray  # (n, equations)


def usable(W: Array, Y: Array) -> Usable:
    """Rows with the equations set aside that hold something not finite, as offline."""
    valid: BoolArray = np.isfinite(Y) & np.isfinite(W).all(axis=2)
    if valid.all():
        return Usable(W, Y, valid)
    return Usable(np.where(valid[:, :, None], W, 0.0), np.where(valid, Y, 0.0), valid)


def _joined(parts: Iterable[Usable]) -> Usable:
    return Usable(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def extended(information: Information, new: Usable) -> Information:
    """The factors after further rows."""
    rows = np.concatenate([new.W, new.Y[:, :, None]], axis=2)
    factors = np.stack(
        [
            triangular_factor(np.vstack([factor, rows[:, j]]))
            for j, factor in enumerate(information.factors)
        ]
    )
    used = int(np.count_nonzero(new.valid.any(axis=1)))
    return Information(
        factors,
        information.samples + used,
        information.excluded + len(new.Y) - used,
        information.squares + np.square(new.Y).sum(axis=0),
        information.counts + np.count_nonzero(new.valid, axis=0),
    )


class LiveIdentification:
    """Long-term and recent knowledge of the same unknowns."""

    def __init__(
        self,
        names: Sequence[str],
        equations: Sequence[str],
        watched: Sequence[int],
        solver: Solver,
        *,
        row_rate: float,
        memory: float,
        significance: float,
    ) -> None:
        """`watched` are the columns that a load changes; `memory` [s] is what counts as recent."""
        self.names, self.equations = list(names), list(equations)
        self.watched = np.asarray(watched, np.int64)
        self.row_rate, self.memory, self.significance = row_rate, memory, significance
        self._solver = solver
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.information = no_information(len(self.equations), len(self.names))
        self.reference: Solution | None = None  # of rows older than the recent ones
        self.change: Change | None = None
        self.changed = False
        self.held_rows = 0
        self._streak = 0
        self._waiting: deque[Usable] = deque()
        self._waiting_rows = 0
        self._everything: Information | None = None  # None: to be made anew
        self._recent: deque[Usable] = deque()
        self._recent_rows = 0
        # Variance of the watched parameters over that of white noise; 0 while not measured.
        self._colour = 0.0
        self._statistics: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def samples(self) -> int:
        """Rows in use, those that wait included."""
        return self.information.samples + self._waiting_rows

    def add(self, W: Array, Y: Array) -> None:
        """Take rows in time order; equations with anything not finite do not count."""
        if not len(Y):
            return
        new = usable(W, Y)
        self._recent.append(new)
        self._recent_rows += len(Y)
        while self._recent_rows - len(self._recent[0].Y) >= self._span:
            self._recent_rows -= len(self._recent.popleft().Y)
        if self.changed:
            self.held_rows += len(Y)
            return
        self._waiting.append(new)
        self._waiting_rows += len(Y)
        self._everything = None

    def solve(self) -> Solution:
        """Estimate of all rows before a change; also looks for a change. EstimationError early."""
        self._absorb()
        everything = self._all_rows()
        if everything.samples == 0:
            raise EstimationError('no rows so far')
        self._look_for_change()
        if self.changed and self.reference is not None:
            return self.reference
        return self._solver(everything)

    # Long-term knowledge ------------------------------------------------------------------------

    def _all_rows(self) -> Information:
        """Long-term knowledge with the rows that wait, made once for these rows."""
        if not self._waiting:
            return self.information
        if self._everything is None:
            self._everything = extended(self.information, _joined(self._waiting))
        return self._everything

    def _absorb(self) -> None:
        """Rows that have waited long enough become long-term knowledge."""
        ready: list[Usable] = []
        while self._waiting and self._waiting_rows - len(self._waiting[0].Y) >= self._span:
            ready.append(self._waiting.popleft())
            self._waiting_rows -= len(ready[-1].Y)
        if not ready:
            return
        self.information = extended(self.information, _joined(ready))
        self._everything = None
        try:
            self.reference = self._solver(self.information)
        except EstimationError:
            self.reference = None

    @property
    def _span(self) -> float:
        """Rows that wait."""
        return HOLD * self.memory * self.row_rate

    @property
    def level(self) -> float:
        """Mean of the statistic over its expectation as far as nothing changed, at least 1."""
        if not self._statistics:
            return 1.0
        return max(1.0, float(np.mean(self._statistics)) / len(self.watched))

    # Change -------------------------------------------------------------------------------------

    def _look_for_change(self) -> None:
        reference = self.reference
        if reference is None or self._recent_rows < self._span:
            return
        if not np.all(reference.excited[self.watched]):
            return
        level = self.level
        calibrated = len(self._statistics) >= CALIBRATION
        change = self._compare(reference, level)
        if not calibrated or not (self.changed or change.test.changed):
            self._statistics.append(level * min(change.test.statistic, change.test.threshold))
        if not calibrated:
            return
        self.change = change
        if change.test.changed == self.changed:
            self._streak = 0
            return
        self._streak += 1
        if self._streak < CONFIRM:
            return
        self._streak = 0
        self.changed = not self.changed
        if self.changed:
            # The rows that wait may already belong to the new state.
            self.held_rows += self._waiting_rows
            self._waiting.clear()
            self._waiting_rows = 0
            self._everything = None

    def _compare(self, reference: Solution, level: float) -> Change:
        W, Y, _ = _joined(self._recent)  # rows that are missing are zero and say nothing
        residual = (Y - W @ np.nan_to_num(reference.value)) / reference.sigma
        W = W / reference.sigma[:, None]
        columns = W[:, :, self.watched]
        newest = len(Y) - round(self.memory * self.row_rate)
        colour = self._colour or self._measure_colour(columns[:newest], residual[:newest])
        rows, left = W[newest:], columns[newest:]
        inverse = np.linalg.pinv(np.einsum('nji,njk->ik', left, left), hermitian=True)
        d = inverse @ np.einsum('nji,nj->i', left, residual[newest:])
        # Errors of the long-term estimate reach d through the recent motion.
        through = inverse @ np.einsum('nji,njk->ik', left, rows)
        known = level * (through @ np.nan_to_num(reference.covariance) @ through.T)
        noise = level * colour * inverse
        names = [self.names[k] for k in self.watched]
        test = change_test(d, noise, np.zeros(len(d)), known, names, self.significance)
        if not (self.changed or test.changed):  # else the rows between hold both states
            self._colour = self._measure_colour(columns[:newest], residual[:newest])
        return Change(test, d, np.sqrt(np.diag(noise + known)))

    def _measure_colour(self, columns: Array, residual: Array) -> float:
        """Variance of estimates of d over (W_s' W_s)^-1, from correlated residuals."""
        inverse = np.linalg.pinv(np.einsum('nji,njk->ik', columns, columns), hermitian=True)
        d = inverse @ np.einsum('nji,nj->i', columns, residual)
        scores = np.einsum('nji,nj->ni', columns, residual - columns @ d)
        lags = round(CORRELATED_SECONDS * self.row_rate)
        return float(np.trace(inverse @ long_run_covariance(scores, lags))) / len(d)

    # Storage ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Plain arrays of the long-term knowledge, rows that wait included unless a change shows.

        Fit for np.savez and back through `restore`.
        """
        information = self._all_rows()
        return {
            'version': STATE_VERSION,
            'names': np.array(self.names),
            'equations': np.array(self.equations),
            'factors': information.factors,
            'samples': information.samples,
            'excluded': information.excluded,
            'squares': information.squares,
            'counts': information.counts,
            'statistics': np.array(self._statistics),
            'colour': self._colour,
            'row_rate': self.row_rate,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over stored knowledge as the long-term estimate; EstimationError if it is other."""
        stored = SavedState.of(state)
        stored.expect_version(STATE_VERSION)
        stored.expect_texts('names', self.names)
        stored.expect_texts('equations', self.equations)
        equations = (len(self.equations),)
        information = Information(
            stored.array('factors', self.information.factors.shape),
            stored.count('samples'),
            stored.count('excluded'),
            stored.array('squares', equations, low=0.0),
            # Estimates stored before rows had masks hold all equations of all rows.
            stored.counts('counts', equations) if 'counts' in stored else None,
        )
        statistics = stored.array('statistics', (None,), low=0.0)
        colour = stored.number('colour', low=0.0)
        with stored.tried():
            reference = self._solver(information)  # may refuse: nothing is replaced before
        self.reset()
        self.information = information
        self._statistics.extend(statistics.tolist())
        self._colour = colour
        self.reference = reference


def long_run_covariance(scores: Array, lags: int) -> Array:
    """Newey-West estimate of the covariance of the sum of correlated vectors (n, k)."""
    total = scores.T @ scores
    for lag in range(1, min(lags, len(scores) - 1) + 1):
        part = (1.0 - lag / (lags + 1.0)) * (scores[lag:].T @ scores[:-lag])
        total += part + part.T
    return np.asarray(total)
