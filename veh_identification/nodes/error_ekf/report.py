"""Status and diagnostics of the node `error_ekf`.

WARN: a sensor never heard or silent beyond its timeout (the model goes on without it), inputs
missing (the force is estimated instead), more than 5 % of a sensor's last samples unusable, late
or rejected, a sensor that is set aside, was taken back or was given in to in the last ten
seconds, a correction that the model could not follow, a heading or place that is not known yet, a
restart in the last ten seconds, a queue that fills up, a node at work nearly all the time. ERROR:
nothing received for two seconds, IMU or fixes set aside, sensors that contradict each other or
the description of the car (unit, sign, axis, place, delay).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.fusion.statistics import NO_SUMMARY, WINDOW, Summary, summary_of
from veh_identification.nodes.observer_status import Report, SensorLine
from veh_identification.observation import Counts, Innovation
from veh_identification.observation.protocols import accepted
from veh_identification.observation.streaming import OnlineObserver
from veh_identification.observation.streaming.arrivals import StreamRecord
from veh_identification.observation.trust import SINGLE, glitches_text
from veh_identification.runtime.background import Background
from veh_identification.runtime.load import Load
from veh_identification.types import Array

BAD_SHARE = 0.05
MEMORY = 10  # reports in which a restart, or a sensor that is back, is told
MOST_TOLD = 100  # events that are kept to be told
PERIOD = 1.0  # of the reports [s]
CHECK_EVERY = 5  # reports between comparisons of the sensors
STANDS = 60  # reports


@dataclass
class _Before:
    received: int = 0
    used: int = 0
    bad: int = 0


#: Values and variances of all rows of a filter, and which of them a sensor has.
_Seen = tuple[Array, Array, slice]


def _whitened(last: Sequence[_Seen], stacked: dict[tuple[int, ...], Array]) -> Array:
    """Innovations of a sensor one after the other, in units of their deviations.

    Those before it had another number of components are left out. `stacked`: whole rows that were
    put together already, for sensors that were used in the same steps.
    """
    all_values, all_variances, places = zip(*last, strict=True)
    rows = places[-1]
    if all(one is rows for one in places):
        # Of one filter: whole rows are put together in a quarter of the time that parts take.
        key = tuple(map(id, all_values))
        whole = stacked.get(key)
        if whole is None:
            value, variance = (
                np.frombuffer(b''.join(of_all)).reshape(len(last), -1)
                for of_all in (all_values, all_variances)
            )
            with np.errstate(all='ignore'):  # rows of sensors that were not heard
                whole = stacked[key] = value / np.sqrt(variance)
        return np.asarray(whole[:, rows]).ravel()
    values = [value[rows] for value, _, rows in last]
    size = values[-1].size
    first = max((k + 1 for k, one in enumerate(values) if one.size != size), default=0)
    variances = [variance[rows] for _, variance, rows in last[first:]]
    return np.asarray(np.array(values[first:]) / np.sqrt(np.array(variances))).ravel()


@dataclass
class Totals:
    """Counters over all starts of the observer."""

    closed: dict[str, Counts] = field(default_factory=dict)
    session: Any = None
    innovations: dict[str, deque[_Seen]] = field(default_factory=dict)  # the last of a sensor

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

    def add(self, innovations: Iterable[Innovation]) -> None:
        """Take the innovations of a step; they are looked at when somebody asks for them."""
        last = self.innovations
        for sensor, value, variance, rows in accepted(innovations):
            kept = last.get(sensor)
            if kept is None:
                kept = last[sensor] = deque(maxlen=WINDOW)
            kept.append((value, variance, rows))

    def summaries(self) -> dict[str, Summary]:
        """Of the last innovations of each sensor."""
        stacked: dict[tuple[int, ...], Array] = {}
        found = {}
        for name, kept in self.innovations.items():
            whitened = _whitened(list(kept), stacked)
            found[name] = summary_of(whitened[np.isfinite(whitened)])
        return found

    def counts(self, name: str) -> tuple[int, int]:
        """Used and rejected measurements of a sensor; a model that declines rejects too."""
        total = self.closed.get(name, Counts())
        now = (
            self.session.filter.counts.get(name, Counts())
            if self.session is not None
            else Counts()
        )
        declined = total.unavailable + now.unavailable
        return total.used + now.used, total.rejected + now.rejected + declined


class ErrorEkfReport(Report):
    """Looks at all counters once a second."""

    def __init__(self, face: Any, observer: OnlineObserver, load: Load | None = None) -> None:
        """`load` of a live node, beside which sensors are compared."""
        super().__init__()
        self._comparison = Background[list[Finding]](
            load is not None, lambda: load is not None and load.at_work
        )
        self.face, self.observer = face, observer
        self.totals = Totals()
        self.lines: list[SensorLine] = []
        self._summaries: dict[str, Summary] = {}
        self.notes: list[Finding] = []  # said at the present start
        self._before: dict[str, _Before] = {}
        self._judged: dict[str, tuple[int, int]] = {}  # measurements, and how many were rejected
        self._last_ns: int | None = None
        self._silent = self._received = 0
        self._waiting: Counter[str] = Counter()  # samples by stream that no step was offered
        self._pending: Counter[str] = Counter()  # measurements by sensor that wait for a step
        self._told: list[tuple[int, Finding]] = []
        self._reports = 0
        self._channels: list[Finding] = []  # what sensors say of each other
        self._compared = 0  # report at which they last said something

    def tell(self, event: Finding) -> None:
        """Something happened that diagnostics should show for a while."""
        self._told = [one for one in self._told if self._reports - one[0] < MEMORY][-MOST_TOLD:]
        self._told.append((self._reports, event))

    def update(self, now_ns: int, enabled: bool, loaded: Sequence[Finding] = ()) -> None:
        """A new report; `loaded`: what there is to say about keeping up with the input."""
        self._reports += 1
        elapsed = 1.0 if self._last_ns is None else max(1e-3, (now_ns - self._last_ns) * 1e-9)
        self._last_ns = now_ns
        received = sum(r.received for r in self.observer.arrivals.records.values())
        stepper = self.observer.stepper
        self._waiting = self.observer.waiting()
        self._pending = Counter[str]() if stepper is None else stepper.pending()
        self._summaries = self.totals.summaries()
        self.lines = []
        listed: set[str] = set()
        for stream in sorted(self.face.streams, key=self._quiet):
            topic, timeout, sensors = self.face.streams[stream]
            # wheels have angles or speeds: the stream that is there stands for them
            if topic and not listed & set(sensors):
                listed.update(sensors)
                self._stream(stream, topic, timeout, sensors, elapsed)
        self._silent = 0 if received > self._received else self._silent + 1
        self._received = received
        self._judge_all(enabled)
        self.say(*loaded)
        self.judge()

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
        bad = record.invalid + record.late
        # what was refused before it was pushed is not among those received
        received = record.received + self.observer.arrivals.record(stream).invalid
        fresh = received - before.received
        # a sample may turn out to be late some reports after it came
        share = min((bad - before.bad) / fresh, 1.0) if fresh else 0.0
        for name in sensors or (stream,):
            used, rejected = self.totals.counts(name) if sensors else (0, 0)
            # Of those that the filter has looked at since: others still wait for their step.
            judged_before, rejected_before = self._judged.get(name, (0, 0))
            judged, refused = used + rejected - judged_before, rejected - rejected_before
            self._judged[name] = used + rejected, rejected
            line = self._line(name, topic, record, stream, bool(sensors))
            line.active, line.rate = active, fresh / elapsed
            if record.received == 0 and record.invalid == 0:
                line.find('warn', 'nothing_received', f'nothing received on {topic}')
            elif not active:
                line.find('warn', 'silent', f'silent for more than {timeout:g} s')
            elif share > BAD_SHARE:
                why = '; '.join(f'{k}: {v}' for k, v in sorted(record.reasons.items()))
                text = f'{100 * share:.0f} % of the last samples not used ({why or "late"})'
                line.find('warn', 'samples_not_used', text)
            elif refused > BAD_SHARE * judged:
                text = f'{100 * refused / judged:.0f} % of the last samples rejected'
                line.find('warn', 'measurements_rejected', text)
            elif 0 < rejected <= SINGLE:
                line.find('note', 'glitches_left_out', glitches_text(rejected))
            self.lines.append(line)
        self._before[stream] = _Before(received, 0, bad)

    def _line(
        self, name: str, topic: str, record: StreamRecord, stream: str, measured: bool
    ) -> SensorLine:
        """Counts of a sensor of the filter, or of what drives the model."""
        waiting = self._waiting[stream]
        absent = merged = unknown = 0
        if measured:
            wheels = getattr(self.face.system, 'wheels', None)
            if wheels is not None:
                merged, unknown = wheels.merged[name], wheels.unknown[stream, name]
            handed = self.observer.handed[stream] - self.observer.offered[stream, name]
            absent = handed - merged - unknown
            if stream == 'gps' and hasattr(self.face.system, 'refused'):
                absent -= self.face.system.refused.invalid  # counted there
            used, rejected = self.totals.counts(name)
            used += merged
            rejected += record.unused + self.observer.forgotten[name]
            waiting += self._pending[name]
        else:
            rejected = record.unused
            # Those whose stamps fit to nothing were received, the refused ones were not.
            stray = record.invalid - self.observer.arrivals.record(stream).invalid
            used = record.received - record.late - record.duplicate - waiting - rejected - stray
        return SensorLine(
            name,
            topic,
            # what was refused before it was pushed is not among those received
            received=record.received + self.observer.arrivals.record(stream).invalid,
            used=used,
            rejected=rejected,
            late=record.late,
            duplicate=record.duplicate,
            invalid=record.invalid + absent + unknown,
            waiting=waiting,
            clock_jumps=record.clock_jumps,
            reasons={
                **record.reasons,
                **({'not in the message': absent} if absent else {}),
                **({'silent at the start, no sensor since': unknown} if unknown else {}),
            },
            further={
                'belated, used': record.belated,
                **({'used, with a later sample': merged} if merged else {}),
            },
            innovations=self._summaries.get(name, NO_SUMMARY),
        )

    def _judge_all(self, enabled: bool) -> None:
        self.start('running')
        if not enabled:
            self.mode = 'disabled'
            return
        if self._silent >= 2:
            self.say(Finding('bad', 'silent_input', 'no sensor delivers anything'))
        if self.observer.session is None:
            self.mode = 'waiting'
            text = 'the observer has not started yet'
            level: Level = 'warn' if self._silent < 2 else 'bad'
            self.say(Finding(level, 'no_estimate', text))
        else:
            self._judge_running()
        self.say(*(event for since, event in self._told if self._reports - since < MEMORY))
        self.say(*self.notes)
        # What a comparison finds is told at the next report, live as in replay.
        self._take_comparison()
        if self._reports % CHECK_EVERY == 0:
            self._comparison.start(self.face.checks())
        self.say(*self._channels)
        for line in self.lines:
            # inputs that are missing are in the notes
            if line.received or line.name not in self.face.system.inputs:
                self.say_sensor(line)

    def _take_comparison(self) -> None:
        """A cause stands until a whole minute has passed in which it did not show again."""
        found = self._comparison.take()
        if found is None:
            return
        if any(one.level != 'note' for one in found):
            self._channels, self._compared = found, self._reports
        elif self._reports - self._compared > STANDS or not self._compared:
            self._channels = found

    def _judge_running(self) -> None:
        for stream in self.face.essential:
            topic, _, sensors = self.face.streams[stream]
            line = next((r for r in self.lines if r.name in sensors), None)
            if line is not None and not line.active:
                self.mode = 'model_only'
                text = f'{stream} is silent ({topic}): the model goes on alone'
                self.say(Finding('warn', 'model_only', text, topic))
        assert self.observer.session is not None
        filter_ = self.observer.session.filter
        self.say(*filter_.findings(since=filter_.time - MEMORY * PERIOD))

    # Messages -----------------------------------------------------------------------------------

    def status(self, now_ns: int, frame: str) -> Any:
        """veh_identification/msg/ObserverStatus."""
        return self.status_of(now_ns, frame, self.lines)

    def diagnostics(self, now_ns: int, name: str) -> Any:
        """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""
        stepper = self.observer.stepper
        whole = {
            'mode': self.mode,
            'starts': self.observer.starts,
            'steps': 0 if stepper is None else stepper.count,
            'steps computed again': 0 if stepper is None else stepper.repeated,
            **self.load,
        }
        return self.diagnostics_of(now_ns, name, whole, self.lines)
