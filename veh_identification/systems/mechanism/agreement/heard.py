"""Samples of the sensors that are compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.observation.streaming import Item
from veh_identification.signals.wrapping import ROUNDING, TURN
from veh_identification.systems.mechanism.configuration import Description, SensorEntries
from veh_identification.systems.mechanism.model import sensors_of
from veh_identification.types import Array

#: Seconds (n,) and values (n, parts) by sensor.
Heard = Mapping[str, tuple[Array, Array]]
#: Stamps that are further apart belong to another time (nanoseconds).
JUMP_NS = 5 * 10**9
#: A signal that moves by less than so many deviations says nothing.
MOVING = 3.0


@dataclass(frozen=True, eq=False)
class Case:
    """What was heard, and what describes the mechanism."""

    heard: Heard
    description: Description


class LastSeconds:
    """Samples of a node's sensors as they come, the newest of each."""

    def __init__(self, names: Sequence[str], most: int = 10_000) -> None:
        self._samples: dict[str, deque[tuple[int, tuple[float, ...]]]] = {
            name: deque(maxlen=most) for name in names
        }

    def take(self, name: str, time_ns: int, values: tuple[float, ...]) -> None:
        """Note a sample; one of another time begins anew."""
        samples = self._samples.get(name)
        if samples is None:
            return
        if samples and abs(time_ns - samples[-1][0]) > JUMP_NS:
            samples.clear()
        samples.append((time_ns, values))

    def copied(self) -> LastSeconds:
        """As it is now, for somebody who works beside."""
        made = LastSeconds(())
        made._samples = {name: samples.copy() for name, samples in self._samples.items()}
        return made

    def items(self) -> list[Item]:
        """All that it holds."""
        return [
            Item(time_ns, name, values)
            for name, samples in self._samples.items()
            for time_ns, values in samples
        ]


def heard_of(items: Sequence[Item], description: Description) -> Heard:
    """Samples of sensors in the order of their times, in seconds since the first."""
    rows: dict[str, list[Item]] = {name: [] for name in sensors_of(description)}
    for item in items:
        if item.key in rows:
            rows[item.key].append(item)
    first = min((one.time_ns for found in rows.values() for one in found), default=0)
    heard = {}
    for name, found in rows.items():
        if not found:
            continue
        found.sort(key=lambda one: one.time_ns)
        time = np.array([(one.time_ns - first) * 1e-9 for one in found])
        values = np.array([one.payload for one in found], dtype=float)
        if description.sensors[name].kind == 'encoder' and np.ptp(values) <= TURN + ROUNDING:
            values = np.unwrap(values, axis=0)  # it begins anew after each turn
        keep = np.append(True, np.diff(time) > 0.0)
        heard[name] = time[keep], values[keep]
    return heard


def shown_by(description: Description, heard: Heard) -> tuple[str, ...] | None:
    """The sensor that shows each independent coordinate, in their order; None: one is not."""
    places = {
        one.coordinate: name
        for name, one in reversed([*description.sensors.items()])
        if name in heard and one.kind in ('encoder', 'distance') and len(heard[name][0]) > 2
    }
    if not all(name in places for name in description.independent):
        return None
    return tuple(places[name] for name in description.independent)


def noise_of(sensor: SensorEntries) -> float:
    """Deviation of one sample."""
    return float(np.hypot(sensor.deviation, sensor.resolution / np.sqrt(12.0)))
