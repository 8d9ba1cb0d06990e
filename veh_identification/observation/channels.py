"""Sensors of a filter and their rows in arrays stacked over all sensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.observation.protocols import (
    Counts,
    Measurement,
    Reading,
    Sensor,
    common_of,
    is_pseudo,
    parameters_of,
    reading_views,
)
from veh_identification.observation.trust import HOT, MOST_COMPONENTS, Trust
from veh_identification.types import Array

#: Columns of the tally of a compiled update; the last column is the time of the last one used.
TALLY = ('used', 'rejected', 'weighted', 'unavailable', 'invalid')


@dataclass
class Channel:
    """A sensor, its rows in the stacked arrays and the place of its parameters."""

    sensor: Sensor
    reading: Reading
    rows: slice
    own: slice  # place of its parameters among all parameters
    common: list[int]  # and of those that it shares
    counts: Counts
    number: int
    last_time: float | None = None
    receive: Any = None  # the sensor's own view of a message, see `Sensor`
    aged: Any = None  # tells the sensor how old its message is, see `Sensor`
    trust: Trust | None = None  # None: it is never judged

    def __post_init__(self) -> None:
        self.size, self.order = self.sensor.size, self.sensor.order  # asked for at every message
        self.pseudo = is_pseudo(self.sensor)

    def mine(self, parameters: Array) -> Array:
        """Of all parameters its own, and then those that it shares."""
        own = parameters[self.own]
        return np.concatenate([own, parameters[self.common]]) if self.common else own


@dataclass
class Stack:
    """Arrays stacked over the components of all sensors."""

    H: Array
    predicted: Array
    measured: Array
    variance: Array
    available: NDArray[np.bool_]
    innovation: Array
    total: Array
    whitened: Array
    scatter: Array  # per sensor: its noise over what is stated; infinity: set aside
    groups: NDArray[np.int64]  # per sensor: first row, rows, wrap, learns its noise
    noise: Array  # (rows, 5) what is known of it, see `sequential.noise_factor`
    judged: NDArray[np.bool_]  # per sensor: `trust.judge_groups` may do it
    hot: Array  # per sensor: what changes at every measurement, see `trust.judge_quietly`
    tally: Array  # (sensors, 6) what `Counts` have not been told yet, see `TALLY`


def tell_counts(stack: Stack, channels: Iterable[Channel]) -> None:
    """Hand what compiled updates have counted to the counters of the sensors."""
    if not stack.tally.any():
        return
    tally = stack.tally.tolist()
    for channel in channels:
        used, rejected, weighted, unavailable, invalid, last = tally[channel.number]
        counts = channel.counts
        if used:
            counts.used += int(used)
            counts.weighted += int(weighted)
            if last > counts.last_used:
                counts.last_used = last
        if rejected or unavailable or invalid:
            counts.rejected += int(rejected)
            counts.unavailable += int(unavailable)
            counts.invalid += int(invalid)
    stack.tally[:] = 0.0


def trusting(stack: Stack, channel: Channel, trust: Trust) -> None:
    """Have a sensor judged."""
    channel.trust = trust
    stack.judged[channel.number] = channel.size <= MOST_COMPONENTS
    trust.write(stack.hot[channel.number])


def refusal(measurement: Measurement, channels: dict[str, Channel]) -> EstimationError:
    """Why a measurement cannot be of any of these sensors."""
    channel = channels.get(measurement.sensor)
    if channel is None:
        return EstimationError(
            f'there is no sensor {measurement.sensor!r} in this observer; it '
            f'has {", ".join(channels)}'
        )
    return EstimationError(
        f'sensor {measurement.sensor!r} needs {channel.size} values, found '
        f'{measurement.value.size}'
    )


def connect(
    sensors: Sequence[Sensor], coordinates: int, orders: int, states: int
) -> tuple[Stack, dict[str, Channel]]:
    """Give every sensor its rows of the stacked arrays and its parameters their place."""
    count = sum(sensor.size for sensor in sensors)
    stack = Stack(
        np.zeros((count, states)),
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.ones(count, dtype=bool),
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.ones(len(sensors)),
        np.zeros((len(sensors), 4), dtype=np.int64),
        np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (count, 1)),
        np.zeros(len(sensors), dtype=bool),
        np.zeros((len(sensors), HOT)),
        np.zeros((len(sensors), len(TALLY) + 1)),
    )
    channels: dict[str, Channel] = {}
    first, names = orders * coordinates, list(parameters_of(sensors))
    row = place = 0
    for sensor in sensors:
        if sensor.name in channels:
            raise ParameterError(f'two sensors are called {sensor.name!r}')
        rows = slice(row, row + sensor.size)
        own = slice(place, place + len(sensor.parameters))
        common = [names.index(one.name) for one in common_of(sensor)]
        reading = reading_views(
            stack.H[rows],
            stack.predicted[rows],
            stack.variance[rows],
            stack.available[rows],
            coordinates,
            orders,
            slice(first + own.start, first + own.stop),
            slice(first, states),
            common,
        )
        number = len(channels)
        learns = bool(getattr(sensor, 'learns', False))
        stack.groups[number] = row, sensor.size, sensor.wrap, learns
        channels[sensor.name] = Channel(
            sensor,
            reading,
            rows,
            own,
            common,
            Counts(),
            number,
            receive=getattr(sensor, 'receive', None),
            aged=getattr(sensor, 'aged', None),
        )
        row, place = rows.stop, own.stop
    return stack, channels
