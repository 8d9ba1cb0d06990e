"""A car's parameters while it drives: chunks, what they add up to, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.checks.possible import beside_causes
from veh_identification.errors import EstimationError, VehIdError
from veh_identification.findings import Finding, Level
from veh_identification.identification.rows import Skipped, row_filter
from veh_identification.results.messages import Derived, Equations, change_rows, load_finding
from veh_identification.saved_state import SavedState
from veh_identification.signals import decimate, decimated_stamps
from veh_identification.systems.car.checks.described import check_described
from veh_identification.systems.car.checks.possible import impossible_values
from veh_identification.systems.car.checks.sides import unequal_sides
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.live.accumulation import CarLive
from veh_identification.systems.car.live.advice import advice
from veh_identification.systems.car.live.chunks import CarChunks
from veh_identification.systems.car.live.kept import chunk_of, entries_of
from veh_identification.systems.car.model import EQUATION_UNITS, EQUATIONS
from veh_identification.systems.car.parameters import unit
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.live import (
    LiveModel,
    SensorCounts,
    Sides,
)

#: Both sides are shown below this.
RECONSTRUCTION_HZ = 3.0


class CarLiveModel(LiveModel):
    """Collects samples into chunks and tells what all chunks so far say."""

    equations: Equations

    def __init__(
        self,
        configuration: CarDescription,
        method: CarMethod,
        *,
        significance: float,
        seconds: float,
        reconstruction: bool = True,
    ) -> None:
        """`seconds` of data are treated together."""
        super().__init__()
        self.described = check_described(configuration)
        self.core = CarLive(configuration, method, significance)
        self.chunks = CarChunks(seconds)
        self.skipped = Skipped()
        self.last_skip = ''  # why the last chunk was not used
        self._shows = reconstruction
        self._impossible: list[str] = []
        self._inertia: list[Finding] = []
        self._sides_differ: list[Finding] = []
        self.equations = Equations(
            'car',
            list(method.names),
            [unit(name) for name in method.names],
            list(EQUATIONS),
            list(EQUATION_UNITS),
            configuration.a_priori_array(method.names),
            self.core.watched,
        )

    # Samples ------------------------------------------------------------------------------------

    def push(self, name: str, stamp_ns: int, values: Sequence[float]) -> None:
        """One sample of one sensor."""
        chunk = self.chunks.push(name, stamp_ns, values)
        if chunk is not None:
            self._take(chunk)

    def finish(self) -> bool:
        """Use the chunk that is not full."""
        chunk = self.chunks.rest()
        return chunk is not None and self._take(chunk)

    def _take(self, chunk: CarRecording) -> bool:
        try:
            self.last_skip = self.core.add(chunk)
            if not self.last_skip:
                self._solve()
        except VehIdError as error:
            self.last_skip = str(error)
        except Exception:  # whoever catches it goes on, and every sample is accounted for
            self.chunks.settle(False)
            raise
        if self.last_skip:
            self.skipped.add(self.last_skip)
        self.chunks.settle(not self.last_skip)
        return not self.last_skip

    def _solve(self) -> None:
        solution = self.solution = self.core.solve()
        self.convergence.update(solution, solution.excited, self.core.watched)
        self._judge()
        self._reconstruct()

    def _judge(self) -> None:
        assert self.solution is not None
        names = self.equations.names
        value, covariance = self.solution.value, np.nan_to_num(self.solution.covariance)
        self._impossible, self._inertia = impossible_values(names, value, covariance)
        self._sides_differ = unequal_sides(names, value, covariance)

    def _reconstruct(self) -> None:
        """Both sides over the longest stretch of the latest chunk."""
        model, piece = self.core.model, self.core.latest
        if not self._shows or piece is None or model is None or self.solution is None:
            return
        low_pass = row_filter(piece.rate, RECONSTRUCTION_HZ)
        if len(piece) < len(low_pass.taps):
            return
        W, Y = model.matrices(piece)
        value = np.concatenate([np.nan_to_num(self.solution.value), self.core.further])
        stamps = np.rint(1e9 * decimated_stamps(piece.stamps, low_pass)).astype(np.int64)
        self._sides.append(
            Sides(
                piece.epoch_ns + stamps,
                decimate(np.ascontiguousarray(Y), low_pass),
                decimate(W @ value, low_pass),
                self.solution.sigma,
            )
        )

    # What it says -------------------------------------------------------------------------------

    def tick(self, silent: int) -> bool:
        """The estimate is told at every report."""
        return self.solution is not None

    @property
    def samples(self) -> int:
        """Samples in use."""
        return self.core.samples

    @property
    def rejected(self) -> int:
        """Chunks that were not used."""
        return self.skipped.total

    @property
    def impossible(self) -> list[str]:
        """Negative masses and springs, inertias that no body has."""
        return self._impossible

    def derived(self) -> list[Derived]:
        """A change of the load, and the centre of gravity of the chassis."""
        assert self.solution is not None
        places = self.core.watched
        value = self.solution.value[places]
        covariance = self.solution.covariance[np.ix_(places, places)]
        found = change_rows(self.equations, self.core.change)
        for k, axis in enumerate('xyz', start=1):
            centre = value[k] / value[0]
            gradient = np.zeros(4)
            gradient[k], gradient[0] = 1.0 / value[0], -centre / value[0]
            std = float(np.sqrt(gradient @ covariance @ gradient))
            found.append(Derived(f'centre_of_gravity.{axis}', 'm', float(centre), std))
        return found

    def advice(self) -> str:
        """Manoeuvres that would show what is not well known."""
        if self.solution is None:
            return ''
        std = np.sqrt(np.diag(self.solution.covariance))
        return advice(self.equations.names, self.solution.value, std)

    def doubts(self) -> list[Finding]:
        """The checks of the chunks in use, whether the latest was, a load change, the inertia."""
        found = beside_causes(
            [*self.core.found, *self.core.uneven.findings(), *self.core.doubted],
            [*self._inertia, *self._sides_differ],
        )
        if self.last_skip:
            text = f'the last chunk was not used: {self.last_skip}'
            level: Level = 'note' if self.core.stands else 'warn'
            found.append(Finding(level, 'chunk_not_used', text))
        return [*found, *load_finding(self.core.change, self.core.changed)]

    def facts(self) -> dict[str, Any]:
        """Counts, and the statistic of the load."""
        core = self.core
        facts: dict[str, Any] = {
            **{f'received {name}': one.received for name, one in self.counts().items()},
            'chunks': core.chunks,
            'chunks held back': core.held_chunks,
            'chunks not used': self.skipped.total,
            'seconds used': f'{core.seconds:.1f}',
            **{f'not used: {reason}': n for reason, n in self.skipped.reasons.items()},
            'clock jumps': self.chunks.clock_jumps,
            'noise level': f'{core.level:.3g}',
        }
        if core.change is not None:
            facts['change statistic'] = f'{core.change.test.statistic:.4g}'
            facts['change threshold'] = f'{core.change.test.threshold:.4g}'
        return facts

    def counts(self) -> Mapping[str, SensorCounts]:
        """Samples by sensor."""
        return self.chunks.counts()

    # Control ------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Throw away the chunk that is being filled."""
        self.chunks.interrupt()

    def reset(self) -> str:
        """Forget everything."""
        self.chunks.interrupt()
        self.core.reset()
        self.solution = None
        self.convergence.forget()
        self.last_skip = ''
        self._impossible, self._inertia, self._sides_differ = [], [], []
        return 'all rows are forgotten'

    def state(self) -> dict[str, Any]:
        """The sums of all chunks."""
        if self.core.samples == 0:
            raise EstimationError('nothing is identified yet')
        return self.core.state()

    def restore(self, stored: SavedState) -> str:
        """Take a stored estimate as the long-term one: later chunks add to it or contradict it."""
        self.core.restore(stored)
        self.chunks.interrupt()
        self.solution, self.last_skip = self.core.reference, ''
        self._judge()
        return f'{self.core.samples} rows of {len(self.core.names)} parameters'

    def kept(self) -> dict[str, Any]:
        """Also the chunk that is being filled, without which a restart loses its seconds."""
        waiting = entries_of(self.chunks)
        try:
            return {**self.state(), **waiting}
        except EstimationError:
            if not waiting:
                raise
            return waiting

    def go_on(self, stored: SavedState) -> str:
        """From the estimate, where there was one, and in the chunk that was being filled."""
        chunk = chunk_of(stored)
        found = 'no estimate yet'
        if chunk is None or 'version' in stored:
            found = self.restore(stored)
        if chunk is not None:
            self.chunks.go_on(chunk.begin_ns, chunk.newest_ns, chunk.cut, chunk.sensors)
            seconds = 1e-9 * (chunk.newest_ns - chunk.begin_ns)
            found += f', {seconds:.1f} s of the next chunk'
        return found
