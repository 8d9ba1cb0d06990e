"""Status and diagnostics of the node `error_ekf`.

WARN: a sensor never heard or silent beyond its timeout (the model goes on without it), inputs
missing (the force is estimated instead), more than 5 % of a sensor's last samples unusable or
late, a heading or place that is not known yet, a restart in the last ten seconds. ERROR: nothing
received for two seconds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.fusion.statistics import WINDOW, InnovationStatistics
from veh_identification.observation import Counts, Innovation
from veh_identification.observation.streaming import OnlineObserver
from veh_identification.observation.streaming.arrivals import StreamRecord
from veh_identification.results.messages import ERROR, OK, WARN
from veh_identification.runtime.messages import header, new

BAD_SHARE = 0.05
MEMORY = 10  # reports in which a restart is told


@dataclass
class SensorRow:
    """One line of the status."""

    name: str
    topic: str
    record: StreamRecord
    active: bool
    rate: float
    used: int
    rejected: int
    innovations: InnovationStatistics
    level: int = OK
    text: str = 'ok'


@dataclass
class _Before:
    received: int = 0
    used: int = 0
    bad: int = 0


@dataclass
class Totals:
    """Counters over all starts of the observer."""

    closed: dict[str, Counts] = field(default_factory=dict)
    session: Any = None
    innovations: dict[str, deque[Innovation]] = field(default_factory=dict)

    def watch(self, session: Any) -> None:
        """Keep the counters of a session that is over."""
        if session is self.session:
            return
        if self.session is not None:
            for name, counts in self.session.filter.counts.items():
                total = self.closed.setdefault(name, Counts())
                total.used += counts.used
                total.rejected += counts.rejected
                total.unavailable += counts.unavailable
        self.session = session

    def add(self, innovations: list[Innovation]) -> None:
        """Take the innovations of a step."""
        for item in innovations:
            if item.accepted:
                kept = self.innovations.get(item.sensor)
                if kept is None:
                    kept = self.innovations[item.sensor] = deque(maxlen=WINDOW)
                kept.append(item)

    def statistics(self, name: str) -> InnovationStatistics:
        """Of the last innovations of a sensor, each in units of its deviation."""
        found = InnovationStatistics()
        for item in self.innovations.get(name, ()):
            whitened = item.value / np.sqrt(item.variance)
            found.add(whitened[np.isfinite(whitened)])
        return found

    def counts(self, name: str) -> tuple[int, int]:
        """Used and rejected measurements of a sensor of the filter."""
        total = self.closed.get(name, Counts())
        now = (
            self.session.filter.counts.get(name, Counts())
            if self.session is not None
            else Counts()
        )
        return total.used + now.used, total.rejected + now.rejected


class ErrorEkfReport:
    """Looks at all counters once a second."""

    def __init__(self, face: Any, observer: OnlineObserver) -> None:
        self.face, self.observer = face, observer
        self.totals = Totals()
        self.rows: list[SensorRow] = []
        self.mode, self.level = 'waiting', ERROR
        self.messages: list[str] = []
        self.notes: list[Finding] = []  # said at the present start
        self._before: dict[str, _Before] = {}
        self._last_ns: int | None = None
        self._silent = self._received = 0
        self._told: list[tuple[int, Finding]] = []
        self._reports = 0

    def tell(self, event: Finding) -> None:
        """Something happened that diagnostics should show for a while."""
        self._told.append((self._reports, event))

    def update(self, now_ns: int, enabled: bool) -> None:
        """A new report."""
        self._reports += 1
        elapsed = 1.0 if self._last_ns is None else max(1e-3, (now_ns - self._last_ns) * 1e-9)
        self._last_ns = now_ns
        received = sum(r.received for r in self.observer.arrivals.records.values())
        self.rows = []
        listed: set[str] = set()
        for stream in sorted(self.face.streams, key=self._quiet):
            topic, timeout, sensors = self.face.streams[stream]
            # wheels have angles or speeds: the stream that is there stands for them
            if topic and not listed & set(sensors):
                listed.update(sensors)
                self._stream(stream, topic, timeout, sensors, elapsed)
        self._silent = 0 if received > self._received else self._silent + 1
        self._received = received
        self._judge(enabled)

    def _quiet(self, stream: str) -> bool:
        return self.observer.arrivals.record(stream).received == 0

    def _stream(
        self, stream: str, topic: str, timeout: float, sensors: tuple[str, ...], elapsed: float
    ) -> None:
        record = self.observer.arrivals.summary(stream)
        if stream == 'gps' and hasattr(self.face.system, 'refused'):
            record.invalid += self.face.system.refused.invalid
            record.reasons = {**record.reasons, **self.face.system.refused.reasons}
        newest = self.observer.arrivals.newest_ns
        active = (
            record.newest_ns is not None
            and newest is not None
            and (newest - record.newest_ns <= timeout * 1e9)
        )
        before = self._before.setdefault(stream, _Before())
        rate = (record.received - before.received) / elapsed
        bad = record.invalid + record.late
        for name in sensors or (stream,):
            used, rejected = (
                self.totals.counts(name)
                if sensors
                else (record.received - record.late - record.duplicate, 0)
            )
            row = SensorRow(
                name, topic, record, active, rate, used, rejected, self.totals.statistics(name)
            )
            fresh = record.received - before.received
            share = (bad - before.bad) / fresh if fresh else 0.0
            if record.received == 0 and record.invalid == 0:
                row.level, row.text = WARN, f'nothing received on {topic}'
            elif not active:
                row.level, row.text = WARN, f'silent for more than {timeout:g} s'
            elif share > BAD_SHARE:
                why = '; '.join(f'{k}: {v}' for k, v in sorted(record.reasons.items()))
                row.level = WARN
                row.text = f'{100 * share:.0f} % of the last samples not used ({why or "late"})'
            self.rows.append(row)
        self._before[stream] = _Before(record.received, 0, bad)

    def _judge(self, enabled: bool) -> None:
        self.level, self.mode, self.messages = OK, 'running', []
        if not enabled:
            self.mode = 'disabled'
            return
        if self._silent >= 2:
            self._say(ERROR, 'no sensor delivers anything')
        if self.observer.session is None:
            self.mode = 'waiting'
            self._say(WARN if self._silent < 2 else ERROR, 'the observer has not started yet')
        else:
            for stream in self.face.essential:
                topic, _, sensors = self.face.streams[stream]
                row = next((r for r in self.rows if r.name in sensors), None)
                if row is not None and not row.active:
                    self.mode = 'model_only'
                    self._say(WARN, f'{stream} is silent ({topic}): the model goes on alone')
            for finding in getattr(self.observer.session, 'unknown', ()):
                self._say(WARN, finding.text)
        for since, event in self._told:
            if self._reports - since < MEMORY:
                self._say(WARN, event.text)
        for note in self.notes:
            self._say(WARN if note.level in ('warn', 'bad') else OK, note.text)
        for row in self.rows:
            # inputs that are missing are in the notes
            noted = row.record.received == 0 and row.name in self.face.system.inputs
            if row.level != OK and not noted:
                self._say(WARN, f'{row.name}: {row.text}')

    def _say(self, level: int, text: str) -> None:
        self.level = max(self.level, level)
        if text not in self.messages:
            self.messages.append(text)

    # Messages -----------------------------------------------------------------------------------

    def status(self, now_ns: int, frame: str) -> Any:
        """veh_identification/msg/ObserverStatus."""
        return new(
            'veh_identification/msg/ObserverStatus',
            header=header(now_ns, frame),
            mode=self.mode,
            sensors=[_sensor(row) for row in self.rows],
            messages=self.messages,
        )

    def diagnostics(self, now_ns: int, name: str) -> Any:
        """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""
        stepper = self.observer.stepper
        whole = {
            'mode': self.mode,
            'starts': self.observer.starts,
            'steps': 0 if stepper is None else stepper.count,
            'steps computed again': 0 if stepper is None else stepper.repeated,
        }
        statuses = [_status(name, self.level, '; '.join(self.messages) or self.mode, whole)]
        for row in self.rows:
            r = row.record
            statuses.append(
                _status(
                    f'{name}: {row.name}',
                    row.level,
                    row.text,
                    {
                        'topic': row.topic,
                        'rate [Hz]': f'{row.rate:.2f}',
                        'received': r.received,
                        'accepted': row.used,
                        'rejected': row.rejected,
                        'late': r.late,
                        'belated, used': r.belated,
                        'duplicate': r.duplicate,
                        'invalid': r.invalid,
                        'clock jumps': r.clock_jumps,
                        **{f'count: {why}': n for why, n in sorted(r.reasons.items())},
                    },
                )
            )
        return new('diagnostic_msgs/msg/DiagnosticArray', header=header(now_ns), status=statuses)


def _status(name: str, level: int, text: str, values: dict[str, Any]) -> Any:
    return new(
        'diagnostic_msgs/msg/DiagnosticStatus',
        level=level,
        name=name,
        message=text,
        hardware_id='',
        values=[
            new('diagnostic_msgs/msg/KeyValue', key=k, value=str(v)) for k, v in values.items()
        ],
    )


def _sensor(row: SensorRow) -> Any:
    mean, std, nis, lower, upper = row.innovations.summary()
    r = row.record
    return new(
        'veh_identification/msg/SensorStatus',
        name=row.name,
        topic=row.topic,
        active=row.active,
        rate=row.rate,
        received=r.received + r.invalid,
        accepted=row.used,
        rejected=row.rejected,
        late=r.late,
        duplicate=r.duplicate,
        invalid=r.invalid,
        clock_jumps=r.clock_jumps,
        innovation_mean=mean,
        innovation_std=std,
        nis_mean=nis,
        nis_lower=lower,
        nis_upper=upper,
    )
