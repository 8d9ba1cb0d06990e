"""Diagnostics and observer status of the sensor fusion.

Reasons for WARN (per sensor): silent for longer than its timeout; never received; more than 5 % of
the last second's samples invalid, late or rejected; set aside because its clock differs or has
stepped; everything of it late; slower
than the smoothing window; frame unknown; for the whole: no IMU (coasting on the other sensors),
a clock jump in the last 10 s, an attitude that suggests a turned IMU, the filter gave in to a
sensor.
Reasons for ERROR: everything that a sensor sent was unusable; for the whole: nothing received in
the last two seconds, or no state can be estimated at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.merge import NANOSECONDS, StreamCounters
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.nodes.sensor_fusion.messages import (
    ERROR,
    OK,
    WARN,
    DiagnosticWriter,
    SensorReport,
    StatusWriter,
)

BAD_SHARE = 0.05
JUMP_MEMORY = 10
NOTHING_FOR = 2


class FusionReport:
    """Compares the counters with those of the period before."""

    def __init__(self, core: FusionCore) -> None:
        self.core = core
        self.sensors: dict[str, SensorReport] = {}
        self.mode = 'waiting'
        self.level = ERROR
        self.messages: list[str] = []
        self._before: dict[str, tuple[int, int, int]] = {}
        self._last_ns: int | None = None
        self._epochs = 0
        self._recoveries = 0
        self._periods_since_jump = JUMP_MEMORY
        self._silent_periods = 0
        self._steps_told = 0
        self._diagnostics = DiagnosticWriter()
        self._status = StatusWriter()

    def update(self, now_ns: int, enabled: bool) -> None:
        """Look at all counters; call about once a second."""
        elapsed = 1.0 if self._last_ns is None else (now_ns - self._last_ns) / NANOSECONDS
        self._last_ns = now_ns
        received = 0
        streams: dict[str, list[str]] = {}
        for key in self.core.merge.counters:
            streams.setdefault(key.partition(':')[0], []).append(key)
        for record in self.core.records.values():
            if not record.topic:
                continue
            report = self._sensor(record, max(elapsed, 1e-3), streams.get(record.name, []))
            received += record.received - self._before.get(record.name, (0, 0, 0))[0]
            self.sensors[record.name] = report
            self._before[record.name] = (record.received, record.used, _bad(report))
        self._silent_periods = 0 if received else self._silent_periods + 1
        self._overall(enabled)

    def _sensor(self, record: SensorRecord, elapsed: float, streams: list[str]) -> SensorReport:
        merge = self._merged_counters(streams)
        report = SensorReport(record, merge)
        received, used, bad = self._before.get(record.name, (0, 0, 0))
        new_received = record.received - received
        report.rate = (record.used - used) / elapsed
        report.active = self.core.is_active(record.name)
        bad_share = (_bad(report) - bad) / new_received if new_received else 0.0
        reasons = '; '.join([f'{text}: {n}' for text, n in sorted(record.reasons.items())])
        note = self.core.mounts.notes.get(record.name, '')
        merged = self.core.merge
        offset = _first(merged.offset_of, streams)
        step = _first(merged.watch.step_of, streams)
        behind = _first(merged.watch.lag_of, streams)
        if record.received == 0:
            report.level, report.message = WARN, f'nothing received on {record.topic}'
        elif record.used == 0 and _bad(report) >= record.received:
            report.level, report.message = ERROR, f'no sample is usable ({reasons or "late"})'
        elif offset is not None:
            text = f'its stamps are {offset:+.1f} s off the others: set aside'
            report.level, report.message = WARN, text
        elif step is not None:
            text = f'its clock stepped by {step:+.3f} s against the others: set aside'
            report.level, report.message = WARN, text
        elif behind is not None:
            report.level, report.message = WARN, self._behind(streams, behind)
        elif not report.active:
            report.level, report.message = WARN, f'silent for more than {record.timeout:g} s'
        elif bad_share > BAD_SHARE:
            share = f'{100.0 * bad_share:.0f} % of the last samples not used'
            report.level, report.message = WARN, f'{share} ({reasons or "late or duplicate"})'
        elif note:
            report.level, report.message = WARN, note
        elif self.core.is_too_slow(record.name):
            report.level = WARN
            report.message = 'too slow for the smoothing window: lower filter.cutoff'
        return report

    def _behind(self, streams: list[str], behind: float) -> str:
        text = f'its stamps lie {behind:.3f} s behind the others: all late'
        back = [step for key, step in self.core.merge.watch.steps if key in streams and step < 0.0]
        return f'{text}, after its clock stepped by {back[-1]:+.3f} s' if back else text

    def new_clock_steps(self) -> list[str]:
        """Sentences about steps of single sensors' clocks since the last call."""
        steps = self.core.merge.watch.steps[self._steps_told :]
        self._steps_told += len(steps)
        return [
            f'{key.partition(":")[0]}: its clock stepped by {step:+.3f} s against the other '
            f'sensors; its samples {"are set aside" if step > 0.0 else "come too late"} until '
            'its stamps agree again'
            for key, step in steps
        ]

    def _merged_counters(self, streams: list[str]) -> StreamCounters:
        total = StreamCounters()
        for key in streams:
            counters = self.core.merge.counters[key]
            total.late += counters.late
            total.duplicate += counters.duplicate
            total.invalid += counters.invalid
            total.clock_jumps += counters.clock_jumps
        return total

    def _overall(self, enabled: bool) -> None:
        core = self.core
        self.messages = []
        self._periods_since_jump += 1
        if core.merge.epochs != self._epochs:
            self._epochs = core.merge.epochs
            self._periods_since_jump = 0
        self.level, self.mode = OK, 'running'
        if not enabled:
            self.mode = 'disabled'
            return
        if self._silent_periods >= NOTHING_FOR:
            self._say(ERROR, 'no sensor delivers anything')
        if not core.has_state():
            self.mode = 'waiting'
            self._say(ERROR, 'no attitude or pose can be estimated yet')
        elif core.options.imu.topic and not core.is_active('imu'):
            self.mode = 'model_only'
            self._say(WARN, 'the IMU is silent: coasting on the other sensors')
        if core.options.gnss.topic and core.has_state() and not core.navigator.heading_known:
            self._say(WARN, 'the heading is not known yet: drive on, or give gnss.heading')
        if self._periods_since_jump < JUMP_MEMORY:
            step = core.epoch_steps[-1]
            self._say(WARN, f'the stamps jumped by {step:+.3f} s: the filters were restarted')
        if core.navigator.recoveries != self._recoveries:
            self._recoveries = core.navigator.recoveries
            self._say(WARN, 'a sensor was rejected for too long: the filter gave in to it')
        turned = core.navigator.level_warning()
        if turned:
            self._say(WARN, turned)
        if core.navigator.filter.gravity_removed:
            self.messages.append('the IMU delivers accelerations without gravity')
        for report in self.sensors.values():
            if report.level != OK:
                self._say(WARN, f'{report.record.name}: {report.message}')

    def _say(self, level: int, text: str) -> None:
        self.level = max(self.level, level)
        self.messages.append(text)

    # Messages -----------------------------------------------------------------------------------

    def diagnostics(self, now_ns: int, node_name: str) -> Any:
        """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""
        whole = {
            'mode': self.mode,
            'latency [s]': f'{self.core.latency + self.core.merge.options.lag * 1e-9:.4f}',
            'clock jumps of all': str(self.core.merge.epochs),
            'recoveries': str(self.core.navigator.recoveries),
        }
        text = '; '.join(self.messages) or self.mode
        line = self._diagnostics.line
        statuses = [line(node_name, self.level, text, whole)]
        for report in self.sensors.values():
            record, merge = report.record, report.merge
            values = {
                'topic': record.topic,
                'rate [Hz]': f'{report.rate:.2f}',
                'received': str(record.received),
                'accepted': str(record.used),
                'rejected': str(record.rejected),
                'late': str(merge.late),
                'duplicate': str(merge.duplicate),
                'invalid': str(record.invalid + merge.invalid),
                'clock jumps': str(merge.clock_jumps),
            }
            for reason, count in sorted(record.reasons.items()):
                values[f'count: {reason}'] = str(count)
            name = f'{node_name}: {record.name}'
            statuses.append(line(name, report.level, report.message, values))
        return self._diagnostics.array(now_ns, statuses)

    def status(self, now_ns: int, frame: str) -> Any:
        """veh_identification/msg/ObserverStatus."""
        return self._status.fill(now_ns, frame, self.mode, self.sensors.values(), self.messages)


def _first(question: Callable[[str], float | None], streams: list[str]) -> float | None:
    answers = (question(key) for key in streams)
    return next((answer for answer in answers if answer is not None), None)


def _bad(report: SensorReport) -> int:
    record, merge = report.record, report.merge
    return record.invalid + record.rejected + merge.invalid + merge.late + merge.duplicate
