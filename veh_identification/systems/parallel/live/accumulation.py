"""Identification while the robot runs: period after period, no ROS in here.

The estimate is that of `systems.parallel.identify`, with what came so far: by mean periods where
the motion repeats and ends with its harmonics, else by filtered rows. The search for cut-off,
delay, way of processing and causes of a misfit takes many estimations: it is made anew each time
the data have doubled, and at the end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import atomic_file
from veh_identification.errors import EstimationError, InputError, ParameterError, VehIdError
from veh_identification.files import read_json
from veh_identification.findings import Finding, verdict_of
from veh_identification.identification import IdentificationResult
from veh_identification.identification.live import Solution
from veh_identification.results.folder import to_json
from veh_identification.results.messages import Equations as Unknowns
from veh_identification.results.tables import to_csv
from veh_identification.saved_state import SavedState
from veh_identification.signals import TimeSeries
from veh_identification.systems.live import LiveModel, Sides
from veh_identification.systems.parallel.checks.channels import channel_findings
from veh_identification.systems.parallel.checks.described import check_described
from veh_identification.systems.parallel.checks.fit import SCALE_NOT_CHECKED, misfit
from veh_identification.systems.parallel.checks.plausibility import plausibility
from veh_identification.systems.parallel.configuration import Configuration
from veh_identification.systems.parallel.estimation.band import EvenLegs, even_legs
from veh_identification.systems.parallel.estimation.likelihood import pooled_force_covariance
from veh_identification.systems.parallel.identify import (
    EXACT,
    Estimate,
    Recordings,
    estimate,
    with_more_periods,
)
from veh_identification.systems.parallel.live.blocks import (
    BLOCK_SAMPLES,
    Blocks,
    NewestSamples,
)
from veh_identification.systems.parallel.live.periods import (
    CollectedPeriod,
    PeriodCollector,
    PeriodGate,
    RunningPeriods,
    Standing,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.options import ESTIMATORS, PROCESSING, settings_of
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.systems.parallel.recording.reader import (
    NotRepeatingError,
    require_repetition,
)
from veh_identification.types import Array

#: Stamps from which the rate is found when it is not given.
RATE_SAMPLES = 200
JUMP_NS = 1_000_000_000
DRIFT_CYCLES = 0.01  # as signals.check_fundamental: about 3 % of a line's amplitude beside it
TOPIC = 'joint_states'
#: Seconds in which samples are collected where nobody says that the motion repeats.
PIECE = 2.5
CHANNELS = tuple(f'{field}[{leg}]' for field in ('position', 'effort') for leg in LEGS)
UNITS = ('m',) * 6 + ('N',) * 6


@dataclass(frozen=True)
class LiveOptions:
    """Zero means: from the configuration or the data; auto: as the configuration says."""

    rate: float = 0.0
    fundamental_hz: float = 0.0
    harmonics: int = 0
    cutoff_hz: float = 0.0
    estimator: str = ESTIMATORS[0]
    skip_periods: int = 0
    reconstruction_rate: float = 0.0  # Hz; 0: every sample of the mean period
    processing: str = PROCESSING[0]


class ParallelLive(LiveModel):
    """Takes samples, averages whole periods, estimates after each from the second on."""

    def __init__(self, configuration: Configuration, options: LiveOptions) -> None:
        super().__init__()
        told = settings_of(configuration)
        processing = options.processing
        if processing == PROCESSING[0]:
            processing = told.processing
        fundamental = options.fundamental_hz or told.fundamental_hz
        self._repeats = bool(fundamental)
        if not fundamental and processing != 'band':
            raise ParameterError(
                f'{configuration.source}: no excitation in it, so fundamental and harmonics must '
                'be given'
            )
        self.model = configuration.model()
        self.described = check_described(configuration.robot)
        self.options = options
        self.fundamental_hz = fundamental or 1.0 / PIECE
        self.harmonics = options.harmonics or told.harmonics
        self.settings = replace(
            told,
            estimator=options.estimator,
            processing=processing,
            fundamental_hz=self.fundamental_hz,
            harmonics=self.harmonics,
            cutoff_hz=options.cutoff_hz or told.cutoff_hz,
            topic=TOPIC,
        )
        self.rate = options.rate
        self.clock_jumps = 0
        self.reset()

    def reset(self) -> str:
        """Forget everything but the rate."""
        self.result: IdentificationResult | None = None
        self.equations, self.solution = None, None
        self._sides = []
        self.convergence.forget()
        self.problem = ''  # why the last estimation failed
        self._judged: list[Finding] = []
        self._checked: list[Finding] = []
        self._channels: list[Finding] = []
        self.incomplete = 0  # messages that lacked a leg or held no number
        self._restart()
        return 'all periods are forgotten'

    def _restart(self) -> None:
        """Forget the periods; the last estimate stays until there is another."""
        self.last_rejected = False
        self._waiting: list[tuple[int, Array]] = []
        self._collector: PeriodCollector | None = None
        self._running = RunningPeriods()
        self._gate = PeriodGate()
        self._standing = Standing()
        self._blocks = Blocks()
        self._newest = NewestSamples(self.rate)
        self._rows_of = 0  # samples that the last filtered rows were made of
        self._spoilt = 0  # periods with a glitch
        self._skipped = 0
        self._made: Estimate | None = None  # the last one with everything searched for
        self._searched_periods = self._checked_periods = 0
        self._unusable = False
        self._newest_ns = self._finished_ns = 0
        if self.rate:
            self._collector = PeriodCollector(self.fundamental_hz, self.rate)

    def warm_up(self) -> None:
        """Compile and load all that an estimation needs, so that the first one is not late."""
        robot = self.model.robot
        # As long as filtered rows need it: four periods of 256 samples.
        angles = 2.0 * np.pi * np.arange(256) / 256.0
        pose = robot.home + 1e-3 * np.sin(np.outer(angles, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]))
        lengths = inverse_kinematics(robot, pose)
        rate, self.rate = self.rate, 256.0 * self.fundamental_hz
        self._collector = PeriodCollector(self.fundamental_hz, self.rate)
        step = round(1e9 / self.rate)
        for period in range(4):
            noise = 1e-6 * np.cos(angles * (7 + period))[:, None] * np.arange(1.0, 13.0)
            table = np.column_stack([lengths, np.ones_like(lengths)]) + noise
            for k, row in enumerate(table):
                done = self._collector.push((256 * period + k) * step, row)
                if done is not None:
                    self._running.add(done, self._collector.raw)
                    self._newest.add(self._collector.raw)
        # Nothing of it means anything: such a motion may well not excite every parameter.
        for processing in ('band', 'frequency'):
            with suppress(VehIdError):
                settings = replace(self.settings, processing=processing)
                estimate(self.model, Recordings((self._legs(),), (self._record(),)), settings)
        self.rate = rate
        self.reset()

    def interrupt(self) -> None:
        """Samples were not taken for a while: the next one must keep the phase of the periods."""
        # Averaging needs one phase for all periods, so an interruption starts over.
        self._restart()

    def push(self, stamp_ns: int, values: Array) -> bool:
        """Take lengths and forces (12,); True when a new estimate was made."""
        if stamp_ns < self._newest_ns - JUMP_NS:
            # The clock was set back (a bag that is played again): nothing before it fits.
            self._restart()
            self.clock_jumps += 1
        self._newest_ns = max(self._newest_ns, stamp_ns)
        if self._collector is None:
            return self._find_rate(stamp_ns, values)
        before = self._collector.rejected
        period = self._collector.push(stamp_ns, values)
        dropped = self._collector.rejected > before
        self.last_rejected = dropped or (self.last_rejected and period is None)
        if period is None and not dropped:
            return False
        if self._skipped < self.options.skip_periods:
            self._skipped += 1
            return False
        raw = self._collector.raw
        if self._standing.push(raw):
            return False
        if self._newest.pause(raw.begin_ns) > BLOCK_SAMPLES / 4:
            self._leave_block()  # equal steps over a long pause would take memory for nothing
        if len(raw.stamps_ns):
            self._newest.add(raw)  # filtered rows go round a gap
        if period is None:
            return False
        taken = self._gated(CollectedPeriod(period, raw))
        for one in taken:
            self._running.add(one.table, one.raw)
        if self._running.count < 2:
            return False
        return self._tried(self._search_due(), more=bool(taken))

    def finish(self) -> bool:
        """Search for everything once more with all that came, the period under way included."""
        if self.periods < 2 or self._finished_ns == self._newest_ns:
            return False
        by_rows = self._made is None or self._made.method == 'band'
        if self._searched_periods == self.periods and not by_rows:
            return False
        self._finished_ns = self._newest_ns
        return self._tried(True, over=True)

    def _tried(self, search: bool, *, more: bool = True, over: bool = False) -> bool:
        if not (search or more):
            return False
        try:
            made = self._estimate(search, over)
        except VehIdError as error:
            self.problem = str(error)
            if self._newest.full:
                self._leave_block()
            return False
        self.problem = ''
        return made

    def _gated(self, period: CollectedPeriod) -> list[CollectedPeriod]:
        """Periods to be averaged now: those that do not differ from the others."""
        used, left_out = self._gate.push(period)
        self._spoilt += left_out
        if left_out > 0:
            self.last_rejected = True
        return used

    def _find_rate(self, stamp_ns: int, values: Array) -> bool:
        self._waiting.append((stamp_ns, values))
        if len(self._waiting) < RATE_SAMPLES:
            return False
        steps = np.diff(np.array([stamp for stamp, _ in self._waiting]))
        self.rate = self._newest.rate = 1e9 / float(np.median(steps[steps > 0]))
        self._collector = PeriodCollector(self.fundamental_hz, self.rate)
        waiting, self._waiting = self._waiting, []
        made = False
        for stamp, sample in waiting:
            made = self.push(stamp, sample) or made
        return made

    # Estimate -----------------------------------------------------------------------------------

    def _record(self) -> PeriodicRecord:
        assert self._collector is not None
        # Interpolated forces would smear dry friction: off the grid each stays at its moment.
        own = self._running.phased(self.fundamental_hz)
        lengths, forces, phased = own or (
            self._running.average(slice(0, 6)),
            self._running.average(slice(6, 12)),
            None,
        )
        return PeriodicRecord(
            lengths,
            forces,
            self._collector.samples * self.fundamental_hz,
            self.fundamental_hz,
            start_ns=self._collector.period_start_ns,
            phased=phased,
            source=TOPIC,
        )

    def _records(self) -> tuple[PeriodicRecord, ...]:
        """The mean period; none where the motion does not repeat and need not."""
        if not self._repeats:
            return ()
        record = self._record()
        try:
            require_repetition(record)
        except NotRepeatingError:
            if self.settings.processing not in ('auto', 'band'):
                raise
            return ()
        return (record,)

    def _legs(self, over: bool = False) -> EvenLegs:
        """Samples that are in no finished block; glitches are gaps in them."""
        assert self._collector is not None
        under_way = self._collector.under_way() if over else None
        stamps, values = self._newest.series(under_way)
        series = TimeSeries.from_nanoseconds(stamps, values, CHANNELS, UNITS, label=TOPIC)
        return even_legs(series)

    def _search_due(self) -> bool:
        """Whether there are twice as many data as at the last search."""
        if self.periods >= 2 * self._searched_periods:
            return True
        if self._made is None or self._made.method != 'band':
            return False
        least = max(2 * self._rows_of, BLOCK_SAMPLES // 4 if self._blocks.count else 0)
        return self._newest.samples >= least or self._newest.full

    def _check_channels(self) -> list[Finding]:
        """Stuck and saturated legs, in every period."""
        times, values = self._running.samples(self.fundamental_hz)
        if len(times) < 3:
            return []
        legs = TimeSeries(times, values, CHANNELS, UNITS, 0, TOPIC)
        fundamental = self.fundamental_hz if self._repeats else None
        return channel_findings(self.model.robot, legs, TOPIC, fundamental)

    def _estimate(self, search: bool, over: bool) -> bool:
        """Everything anew, or mean periods with what the last search found; False: neither."""
        self._channels = self._check_channels()
        records = self._records()
        if search:
            self._search(records, over)
            return True
        if not records or (self._made is not None and self._made.method == 'band'):
            return False  # filtered rows take long: when a search is due
        made = with_more_periods(self.model, records, self.settings, self._made)
        if self._misfits(made) != self._unusable:  # the answer may have changed
            self._search(records, over)
        else:
            self._take_estimate(made)
        return True

    def _search(self, records: tuple[PeriodicRecord, ...], over: bool) -> None:
        """The offline estimation and its checks; what is refused there is unusable here."""
        deciding = over or self.periods >= 2 * self._searched_periods
        settings = self.settings
        if not deciding and self._made is not None:
            settings = replace(settings, processing=self._made.method)
        if deciding:
            self._searched_periods = self.periods
        # It takes many estimations where it finds a misfit.
        wrong = any(one.level == 'bad' for one in self._checked)
        if self.periods >= (2 if wrong else 4) * self._checked_periods:
            self._checked_periods = self.periods
            cutoff = settings.cutoff_hz
            self._checked = [
                found
                for one in records
                for found in plausibility(self.model, one, self.harmonics, cutoff)
            ]
        if any(one.level == 'bad' for one in self._checked):
            self._made, self._judged = None, []
            self._take_estimate(with_more_periods(self.model, records, settings))
            return
        legs = self._legs(over)
        try:
            made = estimate(self.model, Recordings((legs,), records), settings)
        except EstimationError as error:
            if not records:
                raise
            self._made = None
            refused = Finding('bad', 'forces_not_explained', str(error), TOPIC)
            made = replace(with_more_periods(self.model, records, settings), findings=(refused,))
        else:
            self._made = made
        self._unusable = self._misfits(made)
        self._judged = list(made.findings)
        self._take_estimate(made)
        if made.band is not None:
            self._rows_of = self._newest.samples
            if self._newest.full and not over:
                self._leave_block()

    def _misfits(self, made: Estimate) -> bool:
        if made.method not in EXACT:
            return False
        covariance = pooled_force_covariance(made.records)
        return misfit(made.system, covariance, made.parameters).unusable

    def _leave_block(self) -> None:
        """What the last filtered rows said stands; the samples that they were made of may go."""
        made, count = self._made, len(self.model.names)
        if self._rows_of and made is not None and made.band is not None:
            covariance = made.result.covariance[:count, :count]
            if np.isfinite(covariance).all():
                samples = made.result.samples
                self._blocks = self._blocks.and_this(made.parameters, covariance, samples)
        self._newest.forget()
        self._rows_of = 0

    def _take_estimate(self, made: Estimate) -> None:
        """Publish an estimate, blocks before it included where it is one of filtered rows."""
        result = made.result
        if made.band is not None:
            result = self._blocks.joined(result)
        facts: dict[str, Any] = {
            'processing': made.method,
            'cutoff_hz': made.cutoff_hz,
            'effort_delay': made.effort_delay,
            'periods': self.periods,
        }
        if made.records:
            facts |= {
                'fundamental_hz': self.fundamental_hz,
                'samples_per_period': made.records[0].samples,
                'force_covariance': pooled_force_covariance(made.records).tolist(),
            }
        result = replace(result, input=facts)
        self._take(result)
        self._reconstruct(made)

    @property
    def effort_delay(self) -> float:
        """Seconds by which efforts are taken as late."""
        given = self.settings.effort_delay or 0.0
        return given if self._made is None else self._made.effort_delay

    @property
    def delay(self) -> Any:
        """The delay of the efforts that the last search found."""
        return None if self._made is None else self._made.delay

    def _take(self, result: IdentificationResult) -> None:
        """A result as equations and solution."""
        self.result, self.estimator = result, result.estimator
        assert result.a_priori is not None
        self.equations = Unknowns(
            'parallel',
            result.names,
            result.units,
            list(LEGS),
            ['N'] * len(LEGS),
            result.a_priori,
            [],
        )
        excited = np.isfinite(result.value)
        excited &= ~np.isin(result.names, result.unexcited)
        self.solution = Solution(
            result.value, result.covariance, result.sigma, excited, result.condition_number
        )
        known = np.arange(len(result.names)) < len(result.names) - 1  # fc is not estimated alike
        self.convergence.update(self.solution, known)

    def _reconstruct(self, made: Estimate) -> None:
        """Both sides over the mean period, at the stamps of the last one, or of the rows."""
        assert self.solution is not None
        measured, W = made.system.Y[-1], made.system.W[-1]
        known = np.isfinite(measured).all(axis=1)
        wanted = self.options.reconstruction_rate
        steps = np.diff(made.stamps_ns)
        rate = 1e9 / float(np.median(steps)) if len(steps) else self.rate
        stride = max(1, round(rate / wanted)) if wanted else 1
        rows = np.flatnonzero(known)[::stride]
        self._sides.append(
            Sides(
                made.stamps_ns[rows],
                measured[rows],
                W[rows] @ made.parameters,
                self.solution.sigma,
            )
        )

    # What it says -------------------------------------------------------------------------------

    @property
    def impossible(self) -> list[str]:
        """Masses, inertias and frictions surely below zero."""
        return [] if self.result is None else self.result.impossible

    def advice(self) -> str:
        """Parameters that are not well known."""
        if self.result is None or self.estimator == 'loaded':
            return ''
        well = self.result.deviations.well_identified[:-1]
        weak = [name for name, good in zip(self.result.names[:-1], well, strict=True) if not good]
        if not weak:
            return ''
        return f'{", ".join(weak)}: more periods, or an excitation by `veh-id design parallel`'

    def doubts(self) -> list[Finding]:
        """The estimation that failed, the model, messages, periods and the fundamental."""
        # A channel that is stuck makes others look wrong: what is surest stands alone.
        found = list(self._channels or self._checked)
        if not any(one.level == 'bad' for one in found):
            found += self._judged  # the best cause stands alone
        if self.problem and not any(one.level == 'bad' for one in found):
            found.append(Finding('bad', 'estimation_failed', self.problem))
        if self.result is not None:
            found.append(SCALE_NOT_CHECKED)
        if self.incomplete:
            text = f'{self.incomplete} messages lacked a leg or held no number'
            found.append(Finding('warn', 'incomplete_messages', text, TOPIC))
        if self.rejected_periods and self.last_rejected:
            text = f'the last period was dropped: {self.reason}'
            found.append(Finding('warn', 'period_dropped', text, TOPIC))
        if abs(self.drift) > DRIFT_CYCLES:
            text = (
                f'the last period is {self.drift:+.3g} cycles of the highest harmonic off '
                f'the mean: the fundamental is not {self.fundamental_hz:g} Hz'
            )
            found.append(Finding('warn', 'fundamental_off', text, 'fundamental'))
        if self._standing.now:
            text = 'the robot stands: its periods at rest are not used'
            found.append(Finding('note', 'stands_left_out', text, TOPIC))
        if self.periods < 2:
            whole = self.periods + self._gate.waiting
            text = f'{whole} whole periods so far, two are needed'
            if whole > 1:
                text = 'the first two periods differ: a third must tell which of them is spoilt'
            found.append(Finding('warn', 'few_periods', text))
        return found

    @property
    def ready(self) -> str:
        """What is said when nothing speaks against the estimate."""
        return f'{self.periods} periods averaged'

    @property
    def samples(self) -> int:
        """Samples of the mean period."""
        return 0 if self.result is None else self.result.samples

    @property
    def progress(self) -> int:
        """Whole periods that came: the mean period always has the same samples."""
        return self.periods

    @property
    def rejected(self) -> int:
        """Messages that were not used: incomplete, late, repeated."""
        return self.incomplete + self.dropped_samples

    def facts(self) -> dict[str, Any]:
        """Counts."""
        return {
            'incomplete': self.incomplete,
            'periods': self.periods,
            'dropped periods': self.rejected_periods,
            'periods at rest': self._standing.count,
            'late or duplicate': self.dropped_samples,
            'clock jumps': self.clock_jumps,
            'processing': 'none yet' if self._made is None else self._made.method,
            'samples cut as glitches': self._newest.cut,
        }

    @property
    def periods(self) -> int:
        """Averaged periods."""
        return self._running.count

    @property
    def drift(self) -> float:
        """Cycles of the highest harmonic by which the last period is off the mean."""
        if self._collector is None:
            return 0.0
        return self._running.shift / self._collector.samples * self.harmonics

    @property
    def rejected_periods(self) -> int:
        """Dropped periods: with gaps, or with a glitch."""
        return self._spoilt + (0 if self._collector is None else self._collector.rejected)

    @property
    def reason(self) -> str:
        """Why the last dropped period was dropped."""
        if self._gate.reason:
            return self._gate.reason
        return '' if self._collector is None else self._collector.reason

    @property
    def dropped_samples(self) -> int:
        """Late and repeated samples."""
        collector = self._collector
        return 0 if collector is None else collector.late + collector.duplicates

    # Storage ------------------------------------------------------------------------------------

    def save(self, path: str) -> str:
        """parameters.json and parameters.csv in the folder `path`."""
        if self.result is None:
            raise EstimationError('nothing is identified yet')
        verdict = verdict_of(self.findings(), yes=self.ready)
        texts = {
            'parameters.json': to_json({**self.result.as_dict(), 'verdict': verdict.as_dict()}),
            'parameters.csv': to_csv(self.result),
        }
        written = [Path(path) / name for name in texts]
        for target, text in zip(written, texts.values(), strict=True):
            with atomic_file(target) as partial:
                partial.write_text(text, encoding='utf-8')
        return ', '.join(map(str, written))

    def load(self, path: str) -> str:
        """Parameters of an earlier run, which stand until this one has its own."""
        return self.restore(self._read(Path(path) / 'parameters.json'))

    def state(self) -> dict[str, Any]:
        """The estimate, and the periods that it and those to come rest on.

        A value or deviation that is not known is 0 and not flagged.
        """
        if self._collector is None:
            raise EstimationError('nothing was taken yet')
        counts = [self._spoilt, self._skipped, self.incomplete, self.clock_jumps]
        return {
            **({} if self.result is None else _stored(self.result)),
            'rate': self.rate,
            'counts': np.array(counts, np.int64),
            'newest_ns': np.array([self._newest_ns], np.int64),
            **self._collector.state(),
            **self._running.state(),
            **self._gate.state(),
            **self._newest.state(),
            **self._blocks.state(),
        }

    def restore(self, stored: SavedState) -> str:
        """Go on with the periods; parameters alone stand until this run has its own."""
        result = self._stored_result(stored) if 'names' in stored else None
        told = [] if result is None else [f'{len(result.names)} parameters']
        if 'rate' in stored:
            self._restore_periods(stored)
            told.append(f'{self.periods} periods')
        if result is not None:
            self._take(result)
            self.convergence.reached = True
        return f'{" and ".join(told)} loaded'

    def _restore_periods(self, stored: SavedState) -> None:
        rate = stored.number('rate', low=1e-3, high=1e6)
        with stored.tried():
            collector = PeriodCollector(self.fundamental_hz, rate)
        collector.restore(stored)
        running = RunningPeriods.restored(stored, collector.samples)
        gate = PeriodGate.restored(stored, collector.samples)
        blocks = Blocks.restored(stored, len(self.model.names))
        newest = NewestSamples.restored(stored, rate)
        counts = stored.counts('counts', (4,))
        stamp = stored.stamps('newest_ns')
        if len(stamp) != 1:
            raise stored.refused('newest_ns', 'is not one stamp')
        self._restart()
        self.rate, self._collector, self._running, self._gate = rate, collector, running, gate
        self._blocks, self._newest, self._newest_ns = blocks, newest, int(stamp[0])
        self._spoilt, self._skipped, self.incomplete, self.clock_jumps = map(int, counts)

    def _read(self, path: Path) -> SavedState:
        """The state that a parameters.json holds, in the model's order."""
        try:
            data = read_json(path)
            found = {p['name']: p for p in data['parameters']}
            wanted = [*self.model.names, 'fc']
            missing = [name for name in wanted if name not in found]
            if missing:
                raise EstimationError(f'{path}: the parameter {missing[0]} is missing')
            value = [found[name]['value'] for name in wanted]
            std = [found[name]['std'] for name in wanted]
            state = {
                'names': np.array(wanted),
                'value': np.array([0.0 if one is None else float(one) for one in value]),
                'value_known': np.array([one is not None for one in value]),
                'std': np.array([float(one or 0.0) for one in std]),
                'std_known': np.array([bool(one) for one in std]),
                'samples': data.get('samples', 0),
            }
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(f'{path}: not a parameters.json of a hexapod ({error})') from None
        return SavedState(state, str(path))

    def _stored_result(self, stored: SavedState) -> IdentificationResult:
        wanted = [*self.model.names, 'fc']
        stored.expect_texts('names', wanted, of='hexapod')
        shape = (len(wanted),)
        known = stored.flags('value_known', shape)
        if not known[: len(self.model.names)].any():
            raise stored.refused('value', 'is not known for any parameter')
        value = np.where(known, stored.array('value', shape), np.nan)
        std_known = stored.flags('std_known', shape)
        std = np.where(std_known, stored.array('std', shape, low=0.0, high=1e150), np.nan)
        nan = np.full(6, np.nan)
        return IdentificationResult(
            names=wanted,
            units=[*self.model.units, 'Hz'],
            value=value,
            covariance=np.diag(std**2),
            equations=list(LEGS),
            estimator='loaded',
            samples=stored.count('samples'),
            excluded_samples=0,
            condition_number=np.nan,
            correlation_condition=np.nan,
            sigma=nan,
            residual_rms=nan,
            residual_rms_relative=nan,
            a_priori=np.append(self.model.a_priori(), np.nan),
            system='parallel',
        )


def _stored(result: IdentificationResult) -> dict[str, Any]:
    """Names, values and deviations for a saved state."""
    std = np.sqrt(np.diag(result.covariance))
    return {
        'names': np.array(result.names),
        'value': np.nan_to_num(result.value, posinf=0.0, neginf=0.0),
        'value_known': np.isfinite(result.value),
        'std': np.nan_to_num(std, posinf=0.0, neginf=0.0),
        'std_known': np.isfinite(std),
        'samples': result.samples,
    }
