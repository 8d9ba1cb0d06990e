"""Sensors against those that show the independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from veh_identification.errors import VehIdError
from veh_identification.systems.mechanism.agreement.changes import (
    added,
    scaled,
    steadied,
    turning_point,
)
from veh_identification.systems.mechanism.agreement.geometry import Geometry
from veh_identification.systems.mechanism.agreement.heard import (
    MOVING,
    Case,
    noise_of,
    shown_by,
)
from veh_identification.systems.mechanism.configuration import SensorEntries
from veh_identification.systems.mechanism.streams import brought_by
from veh_identification.types import Array

#: Seconds between two places that are compared, at least and unless samples are rarer; and how
#: many of them, the last ones.
SPACING, LONGEST_SPACING, MOST, FEWEST = 0.02, 0.04, 400, 25
#: Part of a signal that may be missing beside its noise, and deviations of that: units of misfit.
ALLOWED, DEVIATIONS = 0.04, 2.0
#: Factors near one that are tried: ten turns are a tenth of a turn further at each.
SHARES = tuple(1.0 + 0.001 * k for k in (*range(-100, -3), *range(4, 101)))
#: Share of the errors that count, the smallest: glitches are no matter of units.
COUNTED = 0.95


class Comparison:
    """Sensors against those that show the independent coordinates, as they are and changed."""

    def __init__(self, case: Case, shown: Mapping[str, str], others: Sequence[str]) -> None:
        """`shown`: the sensor of each independent coordinate; `others` are compared with them."""
        self.case, self.shown, self.others = case, shown, others
        times = [case.heard[name][0] for name in (*shown.values(), *others)]
        slowest = max(float(np.median(np.diff(time))) for time in times)
        begin, end = max(time[0] for time in times), min(time[-1] for time in times)
        self.spacing = max(SPACING, 2.0 * slowest, min((end - begin) / MOST, LONGEST_SPACING))
        grid = np.arange(begin, end, self.spacing)[-MOST:]
        self.grid = np.asarray(grid)
        self._geometry = Geometry(others, self.spacing)

    @classmethod
    def of(cls, case: Case) -> Comparison | None:
        """None where nothing can be compared."""
        description, heard = case.description, case.heard
        names = shown_by(description, heard)
        if names is None:
            return None
        shown = dict(zip(description.independent, names, strict=True))
        others = [
            name
            for name, (time, _) in heard.items()
            if name not in shown.values()
            and description.sensors[name].kind != 'accelerometer'
            and len(time) > 2
        ]
        if not others:
            return None
        made = cls(case, shown, others)
        return made if len(made.grid) >= FEWEST else None

    def misfit(self, case: Case) -> float:
        """Root mean square of what each sensor misses, in units of what it may miss."""
        predicted = self._geometry.predicted(case.description, self._z(case))
        each = [np.sort(self._missed(case, name, predicted[name])) for name in self.others]
        squares = [one[: max(1, int(COUNTED * len(one)))].mean() for one in each]
        return float(np.sqrt(np.mean(squares)))

    def change_time(self) -> float:
        """The time from which on the sensors fit better, or worse, than before."""
        try:
            predicted = self._geometry.predicted(self.case.description, self._z(self.case))
        except VehIdError:
            return float(self.grid[len(self.grid) // 2])
        each = [self._missed(self.case, name, predicted[name]) for name in self.others]
        squares = np.sum([one[: len(self.grid) - 1] for one in each], axis=0)
        return float(self.grid[turning_point(squares)])

    def _z(self, case: Case) -> Array:
        """The independent coordinates (n, count) at the times of the grid."""
        names = [self.shown[one] for one in case.description.independent]
        return np.column_stack([self._at(case, name) for name in names])

    def _at(self, case: Case, name: str) -> Array:
        """A sensor at the times of the grid."""
        time, values = case.heard[name]
        return np.asarray(np.interp(self.grid, time, values[:, 0]))

    def _shown(self, case: Case, name: str) -> Array:
        """What a sensor shows (n, parts): at the times of the grid, or between two of them."""
        time, values = case.heard[name]
        if case.description.sensors[name].kind in ('gyro', 'rate'):
            steps = 0.5 * (values[1:] + values[:-1]) * np.diff(time)[:, None]
            turned = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
            at = np.column_stack([np.interp(self.grid, time, one) for one in turned.T])
            return np.asarray(np.diff(at, axis=0) / self.spacing)
        return np.column_stack([np.interp(self.grid, time, one) for one in values.T])

    def _missed(self, case: Case, name: str, predicted: Array) -> Array:
        """Squares (n,) of what a sensor misses, in units of what it may miss."""
        sensor, measured = case.description.sensors[name], self._shown(case, name)
        error = measured - predicted
        if sensor.kind == 'encoder':
            error = np.angle(np.exp(1j * error))
            size = float(np.hypot(np.std(np.exp(1j * measured)), np.std(np.exp(1j * predicted))))
        else:
            size = float(np.sqrt(measured.var(axis=0).sum() + predicted.var(axis=0).sum()))
        if sensor.bias_deviation > 0.0:
            most = 3.0 * sensor.bias_deviation
            error = error - np.clip(np.median(error, axis=0), -most, most)
        noise = noise_of(sensor)
        if size < MOVING * noise:
            return np.zeros(len(error))  # nothing moves
        noise = float(np.hypot(noise, self._coarse(case, name, predicted)))
        return np.asarray(
            np.square(error).sum(axis=1) / (ALLOWED * size + DEVIATIONS * noise) ** 2
        )

    def _coarse(self, case: Case, name: str, predicted: Array) -> float:
        """What ticks of the encoders that show the places make of a rate between two of them."""
        if case.description.sensors[name].kind not in ('gyro', 'rate'):
            return 0.0
        ticks = [noise_of(case.description.sensors[one]) for one in self.shown.values()]
        way = float(np.sqrt(np.mean(np.square(np.diff(self._z(case), axis=0)))))
        gain = float(np.sqrt(np.mean(np.square(predicted)))) / max(way, 1e-12)
        return float(np.sqrt(2.0) * np.linalg.norm(ticks)) * gain

    def sensors(self) -> list[tuple[str, str, SensorEntries]]:
        """Name, place and entries of all that take part."""
        description = self.case.description
        return [
            (name, f'{name} ({brought_by(description, name)})', description.sensors[name])
            for name in (*self.shown.values(), *self.others)
        ]

    def slope(self, name: str) -> tuple[float, ...]:
        """The factor with which a sensor fits the others best, if there is one."""
        try:
            predicted = self._geometry.predicted(self.case.description, self._z(self.case))[name]
        except VehIdError:
            return ()
        shown = self._shown(self.case, name)
        if self.case.description.sensors[name].kind in ('gyro', 'rate'):
            shown, predicted = shown - shown.mean(axis=0), predicted - predicted.mean(axis=0)
        slope = float(np.sum(shown * predicted) / max(float(np.sum(shown * shown)), 1e-30))
        return (slope,) if slope > 0.0 else ()

    def share(self, name: str) -> tuple[float, ...]:
        """The factor near one with which a sensor of an angle fits best, if it fits better so.

        Counts that are lost, or a wheel that slips, add up over many turns, where no slope tells.
        """
        found = []
        for factor in SHARES:
            try:
                found.append(self.misfit(scaled(name, factor)(self.case)))
            except VehIdError:
                found.append(float('inf'))
        least = int(np.argmin(found))
        return (SHARES[least],) if np.isfinite(found[least]) else ()

    def shifted_to_fit(self, case: Case, name: str) -> Case:
        """With the zero of a sensor where it fits the others best."""
        if name in self.shown.values():
            return case
        predicted = self._geometry.predicted(case.description, self._z(case))[name]
        shift = np.median(predicted - self._shown(case, name), axis=0)
        return added(name, shift)(case)

    def zeros(self, name: str) -> tuple[float, float, float, float]:
        """How far a sensor is off in both halves of the time; its size; deviation of a mean."""
        try:
            predicted = self._geometry.predicted(self.case.description, self._z(self.case))[name]
        except VehIdError:
            return 0.0, 0.0, 0.0, 0.0
        off = (self._shown(self.case, name) - predicted)[:, 0]
        half = len(off) // 2
        size = float(np.sqrt(np.mean(np.square(predicted))))
        # Neighbours share the places between them.
        sigma = 1.25 * float(np.std(off)) / np.sqrt(max(half / 4.0, 1.0))
        return float(np.median(off[:half])), float(np.median(off[half:])), size, sigma

    def steadied_to_fit(self, case: Case, name: str) -> Case:
        """Without the line over time that its zero follows, as the others tell it."""
        first, second, _, _ = self.zeros(name)
        time = self.grid
        rate = 2.0 * (second - first) / max(float(time[-1] - time[0]), 1e-9)
        return self.shifted_to_fit(steadied(name, rate, float(time.mean()))(case), name)
