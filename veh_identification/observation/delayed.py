"""Late and out-of-order measurements: a short history of states and re-propagation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from veh_identification.errors import ParameterError
from veh_identification.observation.error_ekf import ErrorEKF, Snapshot
from veh_identification.observation.protocols import Innovation, Measurement


@dataclass
class _Step:
    """One step of the past: where it ended, how it was made and what came after it."""

    time: float
    dt: float
    inputs: Any
    measurements: list[Measurement]
    before: Snapshot


@dataclass
class History:
    """Statistics of the re-propagation."""

    replays: int = 0
    replayed_steps: int = 0
    early: list[Measurement] = field(default_factory=list)


class DelayedErrorEKF:
    """Runs an `ErrorEKF` and puts every measurement at the step in which it was taken.

    The time of a measurement is its stamp minus the delay of its sensor. Measurements up to
    `window` seconds old are put into the step nearest in time and everything since is computed
    again; older ones are counted as late. Measurements from the future wait.
    """

    def __init__(self, filter_: ErrorEKF, window: float) -> None:
        if not window >= 0.0:
            raise ParameterError(f'the window must not be negative, found {window}')
        self.filter = filter_
        self.window = window
        self.statistics = History()
        self._steps: deque[_Step] = deque()

    def taken_at(self, measurement: Measurement) -> float:
        """When the measured quantity had its value."""
        sensor = self.filter.sensors.get(measurement.sensor)
        return measurement.time - (sensor.delay if sensor is not None else 0.0)

    def step(
        self, dt: float, inputs: Any, measurements: Iterable[Measurement]
    ) -> list[Innovation]:
        """Advance by dt, using whatever has arrived; innovations of the newest step only."""
        now = self.filter.time + dt
        waiting = [*self.statistics.early, *measurements]
        self.statistics.early = []
        present: list[Measurement] = []
        oldest: int | None = None
        for measurement in waiting:
            time = self.taken_at(measurement)
            if time > now + 0.5 * dt:
                self.statistics.early.append(measurement)
            elif time > now - 0.5 * dt:
                present.append(measurement)
            else:
                index = self._place(measurement, time, now)
                if index is not None:
                    oldest = index if oldest is None else min(oldest, index)
        if oldest is not None:
            self._replay(oldest)
        return self._advance(dt, inputs, present)

    def _place(self, measurement: Measurement, time: float, now: float) -> int | None:
        """Put a late measurement into its step; returns the step's index or None if too late."""
        if (
            now - time > self.window
            or not self._steps
            or (time < self._steps[0].time - 0.5 * self._steps[0].dt)
        ):
            counts = self.filter.counts.get(measurement.sensor)
            if counts is not None:
                counts.late += 1
            return None
        index = len(self._steps) - 1
        while index > 0 and time <= self._steps[index].time - 0.5 * self._steps[index].dt:
            index -= 1
        self._steps[index].measurements.append(measurement)
        # the same set of measurements gives the same estimate in whatever order it arrives
        self._steps[index].measurements.sort(key=lambda m: (m.time, m.sensor))
        return index

    def _replay(self, index: int) -> None:
        self.statistics.replays += 1
        self.filter.restore(self._steps[index].before)
        for number in range(index, len(self._steps)):
            step = self._steps[number]
            step.before = self.filter.snapshot() if number > index else step.before
            self.filter.step(step.dt, step.inputs, step.measurements)
            self.statistics.replayed_steps += 1

    def _advance(self, dt: float, inputs: Any, present: list[Measurement]) -> list[Innovation]:
        present.sort(key=lambda m: (m.time, m.sensor))
        before = self.filter.snapshot()
        result = self.filter.step(dt, inputs, present)
        self._steps.append(_Step(self.filter.time, dt, inputs, present, before))
        while self._steps and self._steps[0].time < self.filter.time - self.window - dt:
            self._steps.popleft()
        return result
