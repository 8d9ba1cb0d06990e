"""Identification while the robot runs: period after period, no ROS in here."""

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
from veh_identification.systems.parallel.checks import judge, misfit
from veh_identification.systems.parallel.configuration import Configuration
from veh_identification.systems.parallel.estimation.effort_delay import (
    EffortDelay,
    estimate_effort_delay,
)
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    maximum_likelihood,
    pooled_force_covariance,
    with_cutoff,
)
from veh_identification.systems.parallel.identify import impossible_names
from veh_identification.systems.parallel.live.periods import (
    CollectedPeriod,
    PeriodCollector,
    PeriodGate,
    RunningPeriods,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.options import settings_of
from veh_identification.systems.parallel.plausibility import channel_findings, plausibility
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: Stamps from which the rate is found when it is not given.
RATE_SAMPLES = 200
JUMP_NS = 1_000_000_000
DRIFT_CYCLES = 0.01  # as signals.check_fundamental: about 3 % of a line's amplitude beside it
TOPIC = 'joint_states'


@dataclass(frozen=True)
class LiveOptions:
    """Zero means: from the configuration or the data."""

    rate: float = 0.0
    fundamental_hz: float = 0.0
    harmonics: int = 0
    cutoff_hz: float = 0.0
    estimator: str = 'gauss-markov'
    skip_periods: int = 0
    reconstruction_rate: float = 0.0  # Hz; 0: every sample of the mean period


class ParallelLive(LiveModel):
    """Takes samples, averages whole periods, estimates after each from the second on."""

    def __init__(self, configuration: Configuration, options: LiveOptions) -> None:
        super().__init__()
        excitation = configuration.excitation
        if excitation is None and not (options.fundamental_hz and options.harmonics):
            raise ParameterError(
                f'{configuration.source}: no excitation in it, so fundamental and harmonics must '
                'be given'
            )
        self.model = configuration.model()
        self.options = options
        self.fundamental_hz = options.fundamental_hz or excitation.fundamental_hz  # type: ignore[union-attr]
        self.harmonics = options.harmonics or excitation.harmonics  # type: ignore[union-attr]
        self.rate = options.rate
        self._given_delay = settings_of(configuration).effort_delay  # None: to be found
        self.effort_delay = self._given_delay or 0.0
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
        self._checked_periods = 0
        self.delay: EffortDelay | None = None
        self._judged_periods = 0
        self._unusable = False
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
        self._spoilt = 0  # periods with a glitch
        self._skipped = 0
        self._system: Equations | None = None
        self._newest_ns = 0
        if self.rate:
            self._collector = PeriodCollector(self.fundamental_hz, self.rate)

    def warm_up(self) -> None:
        """Compile and load all that an estimation needs, so that the first one is not late."""
        robot = self.model.robot
        angles = 2.0 * np.pi * np.arange(64) / 64.0
        pose = robot.home + 1e-3 * np.sin(np.outer(angles, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]))
        lengths = inverse_kinematics(robot, pose)
        for period in (0, 1):
            noise = 1e-6 * np.cos(angles * (7 + period))[:, None] * np.arange(1.0, 13.0)
            self._running.add(np.column_stack([lengths, np.ones_like(lengths)]) + noise)
        rate, self.rate = self.rate, 64.0 * self.fundamental_hz
        self._collector = PeriodCollector(self.fundamental_hz, self.rate)
        self._collector.push(0, np.zeros(12))
        # Nothing of it means anything: such a motion may well not excite every parameter.
        with suppress(VehIdError):
            self._estimate()
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
        if self._collector.rejected > before:
            self.last_rejected = True
        if period is None:
            return False
        self.last_rejected = False
        if self._skipped < self.options.skip_periods:
            self._skipped += 1
            return False
        taken = self._gated(CollectedPeriod(period, self._collector.raw))
        for one in taken:
            self._running.add(one.table, one.raw)
        if not taken or self._running.count < 2:
            return False
        try:
            self._estimate()
        except VehIdError as error:
            self.problem = str(error)
            return False
        self.problem = ''
        return True

    def _gated(self, period: CollectedPeriod) -> list[CollectedPeriod]:
        """Periods to be averaged now: those that do not differ from the others."""
        used, left_out = self._gate.push(period)
        if left_out:
            self._spoilt += left_out
            self.last_rejected = True
        return used

    def _find_rate(self, stamp_ns: int, values: Array) -> bool:
        self._waiting.append((stamp_ns, values))
        if len(self._waiting) < RATE_SAMPLES:
            return False
        steps = np.diff(np.array([stamp for stamp, _ in self._waiting]))
        self.rate = 1e9 / float(np.median(steps[steps > 0]))
        self._collector = PeriodCollector(self.fundamental_hz, self.rate)
        waiting, self._waiting = self._waiting, []
        made = False
        for stamp, sample in waiting:
            made = self.push(stamp, sample) or made
        return made

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
            effort_delay=self.effort_delay,
        )

    def _check_channels(self) -> list[Finding]:
        """Stuck and saturated legs, in every period."""
        times, values = self._running.samples(self.fundamental_hz)
        if len(times) < 3:
            return []
        names = tuple(f'{field}[{leg}]' for field in ('position', 'effort') for leg in LEGS)
        units = ('m',) * 6 + ('N',) * 6
        legs = TimeSeries(times, values, names, units, 0, TOPIC)
        return channel_findings(legs, TOPIC, self.fundamental_hz)

    def _check(self) -> None:
        """The offline checks, and the delay of the efforts: they take many estimations."""
        record = self._record()
        cutoff = self.options.cutoff_hz or None
        self._checked = plausibility(self.model, record, self.harmonics, cutoff)
        if self._given_delay is not None or any(one.level == 'bad' for one in self._checked):
            return
        plain = replace(record, effort_delay=0.0)
        found = estimate_effort_delay(self.model, [plain], self.harmonics, cutoff_hz=cutoff)
        self.delay = found
        if found is not None:
            self.effort_delay = found.value if found.applied else 0.0
            self._checked += found.findings(TOPIC)

    def _estimate(self) -> None:
        self._channels = self._check_channels()
        if self.periods >= 2 * self._checked_periods:
            self._checked_periods = self.periods
            self._check()
        record = self._record()
        cutoff = self.options.cutoff_hz or self.harmonics * self.fundamental_hz
        std = np.nan
        if self.options.estimator == 'maximum-likelihood':
            found = maximum_likelihood(self.model, [record], self.harmonics, start_hz=cutoff)
            cutoff, std = found.cutoff_hz, found.cutoff_std
        self._system = equations(self.model, [record], self.harmonics, cutoff_hz=cutoff)
        covariance = pooled_force_covariance([record])
        result = gauss_markov(self.model, self._system, covariance)
        if self.delay is not None:
            result = self.delay.widened(result)
        unusable = misfit(self._system, covariance, result.value).unusable
        # The search for a cause takes many estimations: when the answer may have changed.
        if unusable != self._unusable or self.periods >= 2 * self._judged_periods:
            self._unusable, self._judged_periods = unusable, self.periods
            self._judged = self._judge(record, cutoff, result.value)
        result.estimator, result.system = self.options.estimator, 'parallel'
        result.input = {
            'fundamental_hz': record.fundamental_hz,
            'periods': record.periods,
            'samples_per_period': record.samples,
            'cutoff_hz': cutoff,
            'force_covariance': covariance.tolist(),
        }
        complete = with_cutoff(result, cutoff, std)
        complete.impossible = impossible_names(self.model, complete)
        self._take(complete)
        self._reconstruct(record, result.value)

    def _judge(self, record: PeriodicRecord, cutoff: float, value: Array) -> list[Finding]:
        """As offline; what is refused there makes the values unusable here."""
        assert self._system is not None
        try:
            return judge(self.model, [record], self.harmonics, cutoff, self._system, value)
        except EstimationError as error:
            return [Finding('bad', 'forces_not_explained', str(error), TOPIC)]

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

    def _reconstruct(self, record: PeriodicRecord, value: Array) -> None:
        """Both sides over the mean period, at the stamps of the last one."""
        assert self._system is not None and self.solution is not None
        measured = self._system.Y[0]
        known = np.isfinite(measured).all(axis=1)
        wanted = self.options.reconstruction_rate
        stride = max(1, round(self.rate / wanted)) if wanted else 1
        rows = np.flatnonzero(known)[::stride]
        predicted = self._system.W[0][known] @ value
        self._sides.append(
            Sides(
                record.stamps_ns()[rows],
                measured[rows],
                predicted[::stride],
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
    def rejected(self) -> int:
        """Messages that were not used: incomplete, late, repeated."""
        return self.incomplete + self.dropped_samples

    def facts(self) -> dict[str, Any]:
        """Counts."""
        return {
            'incomplete': self.incomplete,
            'periods': self.periods,
            'dropped periods': self.rejected_periods,
            'late or duplicate': self.dropped_samples,
            'clock jumps': self.clock_jumps,
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
        """Values and deviations; a value or deviation that is not known is 0 and not flagged."""
        result = self.result
        if result is None:
            raise EstimationError('nothing is identified yet')
        std = np.sqrt(np.diag(result.covariance))
        return {
            'names': np.array(result.names),
            'value': np.nan_to_num(result.value, posinf=0.0, neginf=0.0),
            'value_known': np.isfinite(result.value),
            'std': np.nan_to_num(std, posinf=0.0, neginf=0.0),
            'std_known': np.isfinite(std),
            'samples': result.samples,
        }

    def restore(self, stored: SavedState) -> str:
        """Parameters of an earlier run, which stand until this one has its own."""
        result = self._stored_result(stored)
        self._take(result)
        self.convergence.reached = True
        return f'{len(result.names)} parameters loaded'

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
