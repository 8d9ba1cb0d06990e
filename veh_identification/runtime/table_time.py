"""The time of a CSV file, and whether its steps are those of what the file is said to hold.

A time in ms that is read as seconds makes an inertial unit of 0.1 Hz, and nothing that comes after
can tell: so a rate that no such sensor has is refused, with the unit that would make it usual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.configuration.units import parse_unit
from veh_identification.errors import InputError
from veh_identification.runtime.csv_files import CsvColumns
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.terms import read_term
from veh_identification.types import Array

#: Where files begin whose time is one since their start: a stamp of zero means that there is none.
EPOCH = 1_000_000_000
#: A time beyond is one since 1970 [s], below it one since the start.
SINCE_1970 = 1e8
#: What the seconds of a stamp can hold (int32): the year 2038.
LATEST = 2.0**31
#: Messages per second that there are. Sensors of 1000 Hz whose time is in ms seem to have 1 Hz.
FAST, SLOW = (4.0, 5e4), (0.5, 5e3)
RATES: Mapping[str, tuple[float, float]] = {
    'sensor_msgs/msg/Imu': FAST,
    'sensor_msgs/msg/JointState': FAST,
    'sensor_msgs/msg/FluidPressure': FAST,
    'sensor_msgs/msg/Range': FAST,
    'geometry_msgs/msg/WrenchStamped': FAST,
    'geometry_msgs/msg/PoseStamped': SLOW,
    'geometry_msgs/msg/TwistStamped': SLOW,
    'geometry_msgs/msg/TwistWithCovarianceStamped': SLOW,
    'sensor_msgs/msg/NavSatFix': SLOW,
}
#: Units that loggers count in, the usual ones first.
UNITS = ('s', 'ms', 'us', 'ns', 'min', 'h')


@dataclass(frozen=True)
class TableTime:
    """When the rows of a file were, and what its mapping says of that."""

    columns: CsvColumns
    time: str
    rate_hz: float
    seconds: Array

    @property
    def dated(self) -> bool:
        """Whether the seconds count since 1970, or from the start of the file."""
        return self.rate_hz == 0.0 and bool(self.seconds[0] > SINCE_1970)

    @property
    def stamps(self) -> list[int]:
        """Nanoseconds; files without a date begin at a second that stands for their start."""
        epoch = 0 if self.dated else EPOCH * NANOSECONDS
        return [epoch + round(1e9 * one) for one in self.seconds.tolist()]

    @property
    def said(self) -> str:
        """Where the time comes from, for sentences."""
        given = f'rate_hz {self.rate_hz:g}' if self.rate_hz > 0.0 else f'time {self.time!r}'
        return f'{self.columns.path}: {given}'


def table_time(columns: CsvColumns, time: str, rate_hz: float) -> TableTime:
    """The time of a file; rows without one and one that runs backwards are refused."""
    if rate_hz > 0.0:
        return TableTime(columns, time, rate_hz, np.arange(columns.rows) / rate_hz)
    term = read_term(time, 'time')
    if term.source not in columns:
        raise InputError(
            f'{columns.path}: there is no column {term.source!r} of the time, found '
            f'{", ".join(columns)}'
        )
    seconds = term.factor * columns[term.source]
    for what, wrong in (
        ('is missing', np.isnan(seconds)),
        ('runs backwards', np.diff(seconds, prepend=seconds[0]) < 0.0),
    ):
        if wrong.any():
            line = columns.lines[int(np.argmax(wrong))]
            raise InputError(f'{columns.path}: line {line}: the time {time!r} {what}')
    return TableTime(columns, time, rate_hz, seconds)


def refuse_strange_steps(when: TableTime, topics: Sequence[tuple[str, str, Array]]) -> list[str]:
    """Refuse steps of time that no sensor of a type has; what is told of them otherwise.

    Args:
        when: The time of a file.
        topics: Name, type and seconds of the messages that the file fills.
    """
    told = [
        sentence
        for topic, typename, seconds in topics
        if len(seconds) > 1 and typename in RATES
        for sentence in _strange_steps(when, topic, typename, seconds)
    ]
    if when.dated and not when.seconds[-1] < LATEST:
        raise InputError(
            f'{when.said}: {when.seconds[-1]:.4g} s since 1970 lie beyond 2038, which no stamp '
            'can hold: expected its unit before the column, such as ms * Time'
        )
    return told


def _strange_steps(when: TableTime, topic: str, typename: str, seconds: Array) -> list[str]:
    steps = np.diff(seconds)
    same = int(np.count_nonzero(steps == 0.0))
    if 2 * same > len(steps):
        raise InputError(
            f'{when.said} is the same as before in {same} of {len(steps)} rows of {topic}: '
            'expected a time as fine as the rows, or rate_hz'
        )
    slowest, fastest = RATES[typename]
    step = float(np.median(steps[steps > 0.0]))
    if slowest <= 1.0 / step <= fastest:
        return []
    text = (
        f'{when.said}: its step of {step:.4g} s makes {1.0 / step:.4g} messages of {topic} a '
        f'second, expected {slowest:g} to {fastest:g} of {typename}'
    )
    if when.rate_hz > 0.0:
        raise InputError(f'{text}: rate_hz is rows per second')
    if 1.0 / step < slowest and _stated_seconds(when.time):
        return [f'{text}; taken so, as the mapping says s']
    raise InputError(f'{text}: {_advice(when, step, slowest, fastest)}')


def _stated_seconds(time: str) -> bool:
    return [part.strip() for part in time.split('*')][:-1] == ['s']


def _advice(when: TableTime, step: float, slowest: float, fastest: float) -> str:
    """The units that would make it usual."""
    term = read_term(when.time, 'time')
    fitting: dict[bool, list[str]] = {True: [], False: []}  # with a date, without
    for name in UNITS:
        unit = parse_unit(name)
        scale = (unit.factor if unit else 1.0) / term.factor
        rate, last = 1.0 / (step * scale), float(when.seconds[-1]) * scale
        if slowest <= rate <= fastest and last < LATEST:
            fitting[last > SINCE_1970].append(f'time: {name} * {term.source} ({rate:.4g} Hz)')
    best = fitting[when.dated] or fitting[False]
    if not best:
        return 'is it a time, and in which unit (ms * Time)?'
    return f'write {" or ".join(best)}'
