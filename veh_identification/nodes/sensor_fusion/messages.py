"""Diagnostics and observer status as messages.

The messages are made once and filled again every second: their structure hardly changes, and to
build hundreds of nested objects anew costs more than what they tell. Publishers serialise before
they return, so one message serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from veh_identification.fusion.merge import StreamCounters
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.runtime.messages import (
    NANOSECONDS,
    backend_name,
    header,
    message_class,
    new,
)

OK, WARN, ERROR = 0, 1, 2


@dataclass
class SensorReport:
    """What the last period showed of one sensor."""

    record: SensorRecord
    merge: StreamCounters
    active: bool = False
    rate: float = 0.0
    level: int = OK
    message: str = 'ok'


class DiagnosticLine:
    """One diagnostic_msgs/msg/DiagnosticStatus."""

    def __init__(self, name: str) -> None:
        self.message = new('diagnostic_msgs/msg/DiagnosticStatus', name=name)
        self._bytes = backend_name() == 'ros'  # rosidl wants a `byte` as bytes
        self._keys: list[str] = []

    def fill(self, level: int, text: str, values: Mapping[str, str]) -> Any:
        """Set everything but the name."""
        message = self.message
        message.level = bytes([level]) if self._bytes else level
        message.message = text
        keys = list(values)
        if keys != self._keys:
            self._keys = keys
            pair = message_class('diagnostic_msgs/msg/KeyValue')
            message.values = [pair(key=key, value='') for key in keys]
        for item, value in zip(message.values, values.values(), strict=True):
            item.value = value
        return message


class DiagnosticWriter:
    """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""

    def __init__(self) -> None:
        self._message = new('diagnostic_msgs/msg/DiagnosticArray', header=header(0))
        self._lines: dict[str, DiagnosticLine] = {}

    def line(self, name: str, level: int, text: str, values: Mapping[str, str]) -> Any:
        """The status of a name; it stays valid until the next call with that name."""
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = DiagnosticLine(name)
        return line.fill(level, text, values)

    def array(self, now_ns: int, statuses: list[Any]) -> Any:
        """The message; it stays valid until the next call."""
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(now_ns, NANOSECONDS)
        self._message.status = statuses
        return self._message


class StatusWriter:
    """veh_identification/msg/ObserverStatus."""

    def __init__(self) -> None:
        self._message = new('veh_identification/msg/ObserverStatus', header=header(0))
        self._sensors: dict[str, Any] = {}

    def fill(
        self,
        now_ns: int,
        frame: str,
        mode: str,
        reports: Iterable[SensorReport],
        messages: list[str],
    ) -> Any:
        """The message; it stays valid until the next call."""
        message = self._message
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(now_ns, NANOSECONDS)
        message.header.frame_id = frame
        message.mode = mode
        message.sensors = [self._sensor(report) for report in reports]
        message.messages = messages
        return message

    def _sensor(self, report: SensorReport) -> Any:
        record, merge = report.record, report.merge
        status = self._sensors.get(record.name)
        if status is None:
            status = self._sensors[record.name] = new(
                'veh_identification/msg/SensorStatus', name=record.name, topic=record.topic
            )
        status.active = report.active
        status.rate = report.rate
        status.received = record.received
        status.accepted = record.used
        status.rejected = record.rejected
        status.late = merge.late
        status.duplicate = merge.duplicate
        status.invalid = record.invalid + merge.invalid
        status.clock_jumps = merge.clock_jumps
        (
            status.innovation_mean,
            status.innovation_std,
            status.nis_mean,
            status.nis_lower,
            status.nis_upper,
        ) = record.innovations.summary()
        return status
