"""Diagnostics and observer status of the sensor fusion.

Reasons for WARN (per sensor): set aside because it disagrees with the others (which says why),
scatters more than stated; silent for longer than its timeout; never received; more than 5 % of
the last second's samples invalid, late or rejected; set aside because its clock differs or has
stepped; everything of it late; slower
than the smoothing window; frame unknown; for the whole: no IMU (coasting on the other sensors),
a clock jump or a restart in the last 10 s, an attitude that suggests a turned IMU, the filter gave
in to a sensor, fixes that were found to be late, a queue that fills up, a node at work nearly all
the time.
Reasons for ERROR: a wrong unit, sign or axis (see `checks`); everything that a sensor sent was
unusable; for the whole: nothing received in the last two seconds, or no state can be estimated at
all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veh_identification.checks.satellites import check_datum
from veh_identification.findings import Finding, Level
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import (
    ANTENNA_Y,
    FIX_DELAY,
    GYRO_BIAS,
    MOUNT_YAW,
    SIDE_SLIP,
    VELOCITY_DELAY,
    WHEEL_DELAY,
    WHEEL_SCALE,
    InertialFilter,
)
from veh_identification.fusion.merge import NANOSECONDS, StreamCounters
from veh_identification.fusion.statistics import GLITCH, SensorRecord
from veh_identification.fusion.wheel_aiding import IMPOSSIBLE
from veh_identification.nodes.observer_status import Report, SensorLine
from veh_identification.nodes.sensor_fusion.checks import channel_checks
from veh_identification.nodes.sensor_fusion.input import NOT_FINITE, TOO_FAST, TOO_LARGE
from veh_identification.runtime.background import Background
from veh_identification.runtime.load import Load

BAD_SHARE = 0.05
JUMP_MEMORY = 10
NOTHING_FOR = 2
#: Good samples that cannot be used yet; the findings of the whole tell that.
BEFORE_THE_START = ('no attitude yet', 'heading not known yet')
#: The channels are compared every so many reports.
CHECK_EVERY = 5
#: Name, error, parameter that holds it, size worth a word, unit.
CALIBRATIONS = (
    ('wheel scale', WHEEL_SCALE, 'wheels.radius', 0.01, ''),
    ('wheel delay', WHEEL_DELAY, 'joints.delay', 0.02, 's'),
    ('fix delay', FIX_DELAY, 'gnss.delay', 0.02, 's'),
    ('velocity delay', VELOCITY_DELAY, 'gnss_velocity.delay', 0.02, 's'),
    ('rear slip', SIDE_SLIP, 'nonholonomic.slip_std', 0.05, 'rad s^2/m'),
    ('imu yaw', MOUNT_YAW, 'imu.orientation_rpy', 0.01, 'rad'),
    ('antenna y', ANTENNA_Y, 'gnss.position', 0.03, 'm'),
)
#: Bias of the gyroscope that is worth a word (rad/s): a degree a second.
LARGE_BIAS = 0.02
#: These cost what is not known about them or about their neighbours; others only calibrate.
COSTLY = frozenset({FIX_DELAY, MOUNT_YAW, ANTENNA_Y})
#: Wheels that are late by this share of the velocities' delay at least tell the same story.
ALSO_LATE = 0.4


#: Samples after which a sensor counts.
HEARD = 20
#: Sensors of one clock.
RECEIVER = ('gnss', 'gnss_velocity')


def clock_ahead(sensors: Sequence[SensorLine]) -> list[Finding]:
    """The one topic whose stamps lie so far ahead that all others come too late beside it."""
    heard = [one for one in sensors if one.received > HEARD or one.late > HEARD]
    late = {one.topic for one in heard if _behind_others(one)}
    ahead = {one.topic for one in heard} - late
    receiver = {one.topic for one in heard if one.name in RECEIVER}  # which has one clock
    if len(late) < 2 or not (len(ahead) == 1 or ahead == receiver):
        return []
    topic, others = ' and '.join(sorted(ahead)), ', '.join(sorted(late))
    text = (
        f'{topic}: its stamps lie ahead of those of {others}, which all come too late beside it '
        'and cannot be used: correct its stamps or its clock, or give the delay of its values'
    )
    return [Finding('bad', 'clock_ahead', text, topic)]


def _behind_others(line: SensorLine) -> bool:
    """Whether all that a sensor says now is late."""
    code = '' if line.finding is None else line.finding.code
    unused = code == 'nothing_usable' and line.late > 0.5 * line.received
    return code == 'all_late' or unused


class FusionReport(Report):
    """Compares the counters with those of the period before."""

    def __init__(self, core: FusionCore, load: Load | None = None) -> None:
        """`load` of a live node, beside which the channels are compared."""
        super().__init__()
        self._comparison = Background[list[Finding]](
            load is not None, lambda: load is not None and load.at_work
        )
        self.core = core
        self.sensors: dict[str, SensorLine] = {}
        self._before: dict[str, tuple[int, int, int]] = {}
        self._last_ns: int | None = None
        self._epochs = 0
        self._recoveries = 0
        self._periods_since_jump = JUMP_MEMORY
        self._silent_periods = 0
        self._restarts = 0
        self._periods_since_restart = JUMP_MEMORY
        self._reports = 0
        self._channel_findings: list[Finding] = []

    def update(self, now_ns: int, enabled: bool, loaded: Sequence[Finding] = ()) -> None:
        """Look at all counters; call about once a second. `loaded`: findings about the load."""
        elapsed = 1.0 if self._last_ns is None else (now_ns - self._last_ns) / NANOSECONDS
        self._last_ns = now_ns
        received = 0
        streams: dict[str, list[str]] = {}
        for key in self.core.merge.counters:
            streams.setdefault(key.partition(':')[0], []).append(key)
        waiting = self.core.merge.waiting()
        for record in self.core.records.values():
            if not record.topic:
                continue
            keys = streams.get(record.name, [])
            line = self._sensor(record, max(elapsed, 1e-3), keys, waiting)
            received += record.received - self._before.get(record.name, (0, 0, 0))[0]
            self.sensors[record.name] = line
            self._before[record.name] = (
                record.received,
                record.used,
                _bad(line) - _excused(record),
            )
        self._silent_periods = 0 if received else self._silent_periods + 1
        self._overall(enabled)
        self.say(*loaded)
        self.judge()

    def _sensor(
        self, record: SensorRecord, elapsed: float, streams: list[str], waiting: Counter[str]
    ) -> SensorLine:
        merge = self._merged_counters(streams)
        received, used, _ = self._before.get(record.name, (0, 0, 0))
        line = SensorLine(
            record.name,
            record.topic,
            received=record.received,
            used=record.used,
            rejected=record.rejected,
            late=merge.late,
            duplicate=merge.duplicate,
            invalid=record.invalid + merge.invalid,
            waiting=sum(waiting[key] for key in streams),
            clock_jumps=merge.clock_jumps,
            active=self.core.is_active(record.name),
            rate=(record.used - used) / elapsed,
            reasons=record.reasons,
            further=_health_counts(record),
            innovations=record.innovations.summary(),
        )
        self._judge_sensor(line, record, streams, record.received - received)
        return line

    def _judge_sensor(
        self, line: SensorLine, record: SensorRecord, streams: list[str], new_received: int
    ) -> None:
        bad = self._before.get(record.name, (0, 0, 0))[2]
        excused = _excused(record)
        # Some that came before the last report may have been judged since.
        fresh = _bad(line) - excused - bad
        bad_share = min(fresh / new_received, 1.0) if new_received else 0.0
        reasons = '; '.join([f'{text}: {n}' for text, n in sorted(record.reasons.items())])
        note = self.core.mounts.notes.get(record.name, '')
        merged = self.core.merge
        offset = _first(merged.offset_of, streams)
        step = _first(merged.watch.step_of, streams)
        behind = _first(merged.watch.lag_of, streams)
        if record.name == 'mocap' and (speed := self.core.pose_speed):
            text = f'its positions move at {speed:.3g} m/s in the median, faster than '
            text += 'mocap.max_speed: are they in metres?'
            line.find('bad', 'unit', text)
        elif record.received == 0:
            line.find('warn', 'nothing_received', f'nothing received on {record.topic}')
        elif record.used == 0 and _bad(line) - excused >= record.received:
            text = f'no sample is usable ({reasons or "late"})'
            late = line.late > 0.5 * record.received
            if record.name == 'imu' and NOT_FINITE in record.reasons:
                text += '; name the axes that hold numbers in imu.axes'
            # So large all the time: no machine moves like that.
            other_unit = 2 * _beyond(record) > record.received
            text += f': {_units(record)}' * other_unit
            text += ': its stamps lie behind those of all others' * late
            code = 'unit' if other_unit else 'all_late' if late else 'nothing_usable'
            line.find('bad', code, text)
        elif 2 * _beyond(record) > record.received > HEARD:
            line.find(
                'bad', 'unit', f'most of its samples are refused ({reasons}): {_units(record)}'
            )
        elif offset is not None:
            text = f'its stamps are {offset:+.1f} s off the others: set aside'
            line.find('warn', 'clock_off', text)
        elif step is not None:
            text = f'its clock stepped by {step:+.3f} s against the others: set aside'
            line.find('warn', 'clock_stepped', text)
        elif behind is not None:
            line.find('warn', 'all_late', self._behind(streams, behind))
        elif (aside := self._aside(record)) is not None:
            line.find(aside.level, aside.code, aside.text)
        elif bad_share > BAD_SHARE:
            text = f'{100.0 * bad_share:.0f} % of the last samples not used '
            text += f'({reasons or "late or duplicate"})'
            twice = line.duplicate > 0.5 * _bad(line)
            text += ': several of them bear one stamp, which are rounded, or sent twice' * twice
            line.find('warn', 'duplicates' if twice else 'samples_not_used', text)
        elif not line.active and not (excused and not self.core.navigator.heading_known):
            line.find('warn', 'silent', f'silent for more than {record.timeout:g} s')
        elif note:
            line.find('warn', 'pose_unknown', note)
        elif self.core.is_too_slow(record.name):
            text = 'too slow for the smoothing window: lower filter.cutoff'
            line.find('warn', 'too_slow', text)
        elif record.unmeasured:
            text = f'no number (NaN) for {", ".join(record.unmeasured)}; the rest is used'
            line.find('note', 'no_number', text)
        elif record.assumed:
            line.find('note', 'covariance_unknown', record.assumed)
        elif record.name == 'joints' and (anew := self.core.wheels_begun_anew()):
            text = f'angles begin anew after each turn, turns are added: {", ".join(anew)}'
            line.find('note', 'wrapped', text)
        elif glitches := record.reasons.get(GLITCH):
            text = (
                f'{glitches} samples stand alone, far from their neighbours, and were left out: '
                'a bit on the bus, a loose cable?'
            )
            line.find('note', 'glitches_left_out', text)

    def _aside(self, record: SensorRecord) -> Finding | None:
        """What its health says, worst first."""
        found = [one for health in record.healths.values() for one in health.findings('')]
        if not found:
            return None
        code = min(one.code != 'set_aside' for one in found)
        worst = [one for one in found if (one.code != 'set_aside') == code]
        text = '; '.join(one.text for one in worst)
        return Finding(worst[0].level, worst[0].code, text, record.topic)

    def _behind(self, streams: list[str], behind: float) -> str:
        text = f'its stamps lie {behind:.3f} s behind the others: all late'
        back = [step for key, step in self.core.merge.watch.steps if key in streams and step < 0.0]
        return f'{text}, after its clock stepped by {back[-1]:+.3f} s' if back else text

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
        self._periods_since_jump += 1
        if core.merge.epochs != self._epochs:
            self._epochs = core.merge.epochs
            self._periods_since_jump = 0
        self.start('running')
        if not enabled:
            self.mode = 'disabled'
            return
        if self._silent_periods >= NOTHING_FOR:
            self._find('bad', 'silent_input', 'no sensor delivers anything')
        if not core.has_state():
            self.mode = 'waiting'
            self._find('bad', 'no_estimate', 'no attitude or pose can be estimated yet')
        elif core.options.imu.topic and not core.is_active('imu'):
            self.mode = 'model_only'
            text = 'the IMU is silent: coasting on the other sensors'
            self._find('warn', 'imu_silent', text)
        if core.options.gnss.topic and core.has_state() and not core.navigator.heading_known:
            text = 'the heading is not known yet: drive on, or give gnss.heading'
            self._find('warn', 'heading_unknown', text)
        if self._periods_since_jump < JUMP_MEMORY:
            step = core.epoch_steps[-1]
            text = f'the stamps jumped by {step:+.3f} s: the filters were restarted'
            self._find('warn', 'clock_jump', text)
        if core.navigator.recoveries != self._recoveries:
            self._recoveries = core.navigator.recoveries
            text = 'a sensor was rejected for too long: the filter gave in to it'
            self._find('warn', 'gave_in', text)
        if core.navigator.restarts != self._restarts:
            self._restarts = core.navigator.restarts
            self._periods_since_restart = 0
        if self._periods_since_restart < JUMP_MEMORY:
            self._periods_since_restart += 1
            text = f'the fusion was restarted: {core.navigator.restart_reason}'
            self._find('warn', 'restarted', text)
        self._calibration()
        self.say(*clock_ahead([*self.sensors.values()]))
        for name, text in core.mounts.contradictions.items():
            self.say(Finding('warn', 'poses_disagree', text, name))
        # What a comparison finds is told at the next report; a live one does not wait for it.
        if (found := self._comparison.take()) is not None:
            self._channel_findings = found
        self._reports += 1
        if self._reports % CHECK_EVERY == 0:
            self._comparison.start(channel_checks(core))
        self.say(*self._channel_findings)
        turned, leans = core.navigator.level_warning(), core.navigator.lean_warning()
        # An attitude that contradicting sensors have made says nothing of a mounting.
        contradicted = any(one.level != 'note' for one in self._channel_findings)
        if turned or (leans and not contradicted):
            self._find('warn', 'imu_turned', turned or leans)
        if core.navigator.filter.gravity_removed:
            text = 'the IMU delivers accelerations without gravity'
            self._find('note', 'gravity_removed', text)
        for line in self.sensors.values():
            self.say_sensor(line)

    def _calibration(self) -> None:
        """Delays and scales that the filter has found to differ clearly from what was given."""
        state, options = self.core.navigator.filter, self.core.options
        frame = self.core.satellites.local_frame
        if frame is not None and not options.gnss.fixed_datum:
            origin = frame.datum
            text = (
                'the origin is the first fix: '
                f'{origin.latitude:.7f} {origin.longitude:.7f} {origin.altitude:.2f}'
            )
            self._find('note', 'datum_first_fix', text)
        self.say(*self._datum())
        for name, index, entry, least, what in CALIBRATIONS:
            value = float(state.x[index + 1])
            sigma = _sigma(state, index)
            if sigma > 0.0 and abs(value) > max(least, 4.0 * sigma):
                text = (
                    f'{name}: {value:+.4g} +- {sigma:.2g} {what} was found and is applied; '
                    f'correct {entry}'
                )
                level: Level = 'warn' if index in COSTLY else 'note'
                self.say(Finding(level, f'{name.replace(" ", "_")}_found', text, entry))
        self.say(*self._gyro_bias(), *self._early_fixes())

    def _datum(self) -> list[Finding]:
        """An origin that was given, so far from the fixes that it is that of another site."""
        fixes = self.core.navigator.journal.of('gnss')
        if not self.core.options.gnss.fixed_datum or fixes is None:
            return []
        return check_datum(float(np.hypot(*fixes[1][-1, :2])), 'gnss.datum')

    def _gyro_bias(self) -> list[Finding]:
        """A large one; where sensors contradict each other it has taken up their mistakes."""
        state = self.core.navigator.filter
        bias = state.gyro_bias
        sigma = np.sqrt(np.maximum(np.diag(state.P)[GYRO_BIAS], 0.0))
        large = (sigma > 0.0) & (np.abs(bias) > np.maximum(LARGE_BIAS, 4.0 * sigma))
        if self._channel_findings or not large.any():
            return []
        shown = ', '.join(f'{value:+.3g}' for value in bias)
        text = (
            f'a bias of the gyroscope of ({shown}) rad/s was found and is taken off: let it '
            'calibrate while it rests'
        )
        return [Finding('note', 'gyro_bias_found', text, self.core.records['imu'].topic)]

    def _early_fixes(self) -> list[Finding]:
        """Fixes count as punctual, so all that differ from them look late, wheels, too."""
        state = self.core.navigator.filter
        late, wheels = (float(state.x[index + 1]) for index in (VELOCITY_DELAY, WHEEL_DELAY))
        sigma, doubt = _sigma(state, VELOCITY_DELAY), _sigma(state, WHEEL_DELAY)
        sure = sigma > 0.0 and late > max(0.02, 4.0 * sigma) and doubt > 0.0
        if not (sure and wheels > max(ALSO_LATE * late, 1.5 * doubt)):
            return self._perhaps_early()
        text = (
            f'satellite velocities and wheels both seem to be {late:.3f} s late against the '
            'fixes: rather the stamps of the fixes are early (rounded, or of another clock), '
            f'which puts the place {late:.3f} m ahead for each m/s; correct gnss.delay'
        )
        return [Finding('warn', 'fix_early', text, 'gnss.delay', size=late / sigma)]

    def _perhaps_early(self) -> list[Finding]:
        """Of fixes that may be early where nothing decides it."""
        early = self.core.navigator.filter.fixes_early
        if not early > 0.0:
            return []
        text = (
            f'satellite velocities seem to be {early:.3f} s late against the fixes, or the stamps '
            'of the fixes are early by as much: nothing decides it, and the place is stated as '
            f'uncertain by {early:.3f} m for each m/s; correct gnss.delay or gnss_velocity.delay'
        )
        return [Finding('note', 'fix_early', text, 'gnss.delay')]

    def _find(self, level: Level, code: str, text: str) -> None:
        self.say(Finding(level, code, text))

    # Messages -----------------------------------------------------------------------------------

    def diagnostics(self, now_ns: int, node_name: str) -> Any:
        """diagnostic_msgs/msg/DiagnosticArray: the whole, then each sensor."""
        whole = {
            'mode': self.mode,
            'latency [s]': f'{self.core.latency + self.core.merge.options.lag * 1e-9:.4f}',
            'clock jumps of all': str(self.core.merge.epochs),
            'recoveries': str(self.core.navigator.recoveries),
            'restarts': str(self.core.navigator.restarts),
            **self._calibration_facts(),
            **self.load,
        }
        return self.diagnostics_of(now_ns, node_name, whole, self.sensors.values())

    def _calibration_facts(self) -> dict[str, str]:
        state = self.core.navigator.filter
        facts = {}
        for name, index, _, _, what in CALIBRATIONS:
            sigma = _sigma(state, index)
            if sigma > 0.0:
                label = f'{name} [{what}]' if what else name
                facts[label] = f'{float(state.x[index + 1]):.5f} +- {sigma:.5f}'
        return facts

    def status(self, now_ns: int, frame: str) -> Any:
        """veh_identification/msg/ObserverStatus."""
        return self.status_of(now_ns, frame, self.sensors.values())


def _first(question: Callable[[str], float | None], streams: list[str]) -> float | None:
    answers = (question(key) for key in streams)
    return next((answer for answer in answers if answer is not None), None)


def _health_counts(record: SensorRecord) -> dict[str, int]:
    """What the judgement of a sensor did: parts of `accepted` and `rejected`, and events."""
    healths = record.healths.values()
    return {
        'weighted down': sum(health.weighted for health in healths),
        'quarantines': sum(health.quarantines for health in healths),
        'recoveries': sum(health.recoveries for health in healths),
    }


def _sigma(state: InertialFilter, index: int) -> float:
    """Of a calibration; the delay of fixes is known by that of the velocities."""
    if index == FIX_DELAY and state.P[index, index] == 0.0:
        index = VELOCITY_DELAY
    return float(np.sqrt(max(state.P[index, index], 0.0)))


def _beyond(record: SensorRecord) -> int:
    """Samples that are larger than anything that moves can show."""
    return sum(record.reasons.get(reason, 0) for reason in {*TOO_LARGE, TOO_FAST, IMPOSSIBLE})


def _units(record: SensorRecord) -> str:
    """What they must be in."""
    if record.name == 'imu':
        return 'it must be in rad/s and m/s^2, not deg/s, mg or counts'
    if record.name in ('wheels', 'joints'):
        return 'angles must be in rad and rates in rad/s, not degrees or ticks'
    return 'it must be in m/s along x and y, not a course, a count or another unit'


def _excused(record: SensorRecord) -> int:
    """Samples that had to wait for others: the whole says why."""
    return sum(record.reasons.get(reason, 0) for reason in BEFORE_THE_START)


def _bad(line: SensorLine) -> int:
    return line.invalid + line.rejected + line.late + line.duplicate
