"""Status and diagnostics that the observer and the sensor fusion share.

The messages are made once and filled again every second: their structure hardly changes, and to
build hundreds of nested objects anew costs more than what they tell. Publishers serialise before
they return, so one message serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from veh_identification.findings import Finding, Level, Verdict, verdict_of
from veh_identification.fusion.statistics import NO_SUMMARY, Summary
from veh_identification.nodes.findings import verdict_facts
from veh_identification.results.messages import DIAGNOSTIC_LEVELS, ERROR, OK, WARN
from veh_identification.runtime.messages import (
    NANOSECONDS,
    header,
    message_class,
    new,
)


@dataclass
class SensorLine:
    """What became of the samples of one sensor, and what there is to say about it."""

    name: str
    topic: str
    received: int = 0
    used: int = 0
    rejected: int = 0
    late: int = 0
    duplicate: int = 0
    invalid: int = 0
    waiting: int = 0
    clock_jumps: int = 0
    active: bool = False
    rate: float = 0.0
    reasons: Mapping[str, int] = field(default_factory=dict)
    further: Mapping[str, int] = field(default_factory=dict)  # counts that are parts of others
    innovations: Summary = NO_SUMMARY
    finding: Finding | None = None

    @property
    def level(self) -> int:
        """Of its diagnostic status."""
        if self.finding is None:
            return OK
        return {'bad': ERROR, 'warn': WARN}.get(self.finding.level, OK)

    @property
    def message(self) -> str:
        """Of its diagnostic status."""
        return 'ok' if self.finding is None else self.finding.text

    def find(self, level: Level, code: str, text: str) -> None:
        """Say something about the sensor."""
        self.finding = Finding(level, code, text, self.topic)

    def values(self) -> dict[str, str]:
        """Of its diagnostic status: received is the sum of what follows it."""
        counts = {
            'received': self.received,
            'accepted': self.used,
            'rejected': self.rejected,
            'late': self.late,
            'duplicate': self.duplicate,
            'invalid': self.invalid,
            'waiting': self.waiting,
            'clock jumps': self.clock_jumps,
            **self.further,
            **{f'count: {reason}': n for reason, n in sorted(self.reasons.items())},
        }
        found = {} if self.finding is None else {f'finding: {self.finding.code}': self.message}
        return {
            'topic': self.topic,
            'rate [Hz]': f'{self.rate:.2f}',
            **{key: str(count) for key, count in counts.items()},
            **found,
        }


class Report:
    """What is said about the whole since the last look."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.mode = 'waiting'
        self.verdict = Verdict('no', '')
        self.load: dict[str, str] = {}  # how the node keeps up, entries of the diagnostics
        self._diagnostics = DiagnosticWriter()
        self._status = StatusWriter()

    @property
    def messages(self) -> list[str]:
        """Sentences in the order in which they were said."""
        return list(dict.fromkeys(one.text for one in self.findings))

    @property
    def level(self) -> int:
        """Of the diagnostic status of the whole."""
        return DIAGNOSTIC_LEVELS[self.verdict.level]

    def start(self, mode: str) -> None:
        """Nothing has been said yet."""
        self.findings, self.mode = [], mode

    def say(self, *findings: Finding) -> None:
        """Say something about the whole."""
        self.findings.extend(findings)

    def say_sensor(self, line: SensorLine) -> None:
        """What a sensor has to say: a reservation of the whole, or a note."""
        if line.finding is not None:
            text, level = f'{line.name}: {line.message}', line.finding.level
            kept: Level = 'warn' if line.level != OK else level
            self.say(Finding(kept, line.finding.code, text, line.name))

    def judge(self) -> None:
        """All has been said."""
        self.verdict = verdict_of(
            self.findings,
            yes='nothing speaks against using these estimates',
            no='put the findings right before using these estimates',
        )

    def diagnostics_of(
        self, now_ns: int, name: str, facts: Mapping[str, Any], lines: Iterable[SensorLine]
    ) -> Any:
        """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""
        whole = {**facts, **verdict_facts(self.verdict)}
        text = '; '.join(self.messages) or self.mode
        line = self._diagnostics.line
        values = {key: str(value) for key, value in whole.items()}
        statuses = [line(name, self.level, text, values)]
        statuses += [
            line(f'{name}: {one.name}', one.level, one.message, one.values()) for one in lines
        ]
        return self._diagnostics.array(now_ns, statuses)

    def status_of(self, now_ns: int, frame: str, lines: Iterable[SensorLine]) -> Any:
        """veh_identification/msg/ObserverStatus."""
        return self._status.fill(now_ns, frame, self.mode, lines, self.messages)


class DiagnosticLine:
    """One diagnostic_msgs/msg/DiagnosticStatus."""

    def __init__(self, name: str) -> None:
        self.message = new('diagnostic_msgs/msg/DiagnosticStatus', name=name)
        self._keys: list[str] = []

    def fill(self, level: int, text: str, values: Mapping[str, str]) -> Any:
        """Set everything but the name."""
        message = self.message
        message.level = level
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
        lines: Iterable[SensorLine],
        messages: list[str],
    ) -> Any:
        """The message; it stays valid until the next call."""
        message = self._message
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(now_ns, NANOSECONDS)
        message.header.frame_id = frame
        message.mode = mode
        message.sensors = [self._sensor(line) for line in lines]
        message.messages = messages
        return message

    def _sensor(self, line: SensorLine) -> Any:
        status = self._sensors.get(line.name)
        if status is None:
            status = self._sensors[line.name] = new(
                'veh_identification/msg/SensorStatus', name=line.name, topic=line.topic
            )
        status.topic = line.topic
        status.active = line.active
        status.rate = line.rate
        status.received = line.received
        status.accepted = line.used
        status.rejected = line.rejected
        status.late = line.late
        status.duplicate = line.duplicate
        status.invalid = line.invalid
        status.waiting = line.waiting
        status.clock_jumps = line.clock_jumps
        (
            status.innovation_mean,
            status.innovation_std,
            status.nis_mean,
            status.nis_lower,
            status.nis_upper,
        ) = line.innovations
        return status
