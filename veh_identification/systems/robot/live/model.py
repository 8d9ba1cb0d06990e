"""The live estimate of an arm: the same rows as offline, made from the last seconds.

Every so often the last samples pass the offline code (grid, derivatives, regressor, one filter of
both sides); the rows that are new join the long-term knowledge, unless a payload is carried, and
the watch over the payload.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.checks.slices import Slices, finished
from veh_identification.errors import EstimationError, SignalError
from veh_identification.findings import Finding
from veh_identification.identification.accumulator import Information
from veh_identification.identification.factor import scaled_condition
from veh_identification.identification.least_squares import Estimate, weighted
from veh_identification.identification.live import Solution, Usable, extended, no_information
from veh_identification.identification.repetition import CLUSTER_SECONDS
from veh_identification.identification.rows import row_filter
from veh_identification.results.messages import Derived, Equations
from veh_identification.saved_state import SavedState, StateError
from veh_identification.signals import decimate
from veh_identification.signals.glitches import BEHIND
from veh_identification.signals.hygiene import possible
from veh_identification.signals.jitter import Evened, evened
from veh_identification.signals.sample_gate import CLOCK_JUMP_SAMPLES
from veh_identification.signals.segments import CATCH_UP, sent_segments, usual_step
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.live import LiveModel, SensorCounts, Sides
from veh_identification.systems.parallel.estimation.effort_delay import EffortDelay
from veh_identification.systems.robot.checks.delays import delay_at_its_limit
from veh_identification.systems.robot.checks.described import check_described
from veh_identification.systems.robot.checks.scale import scale_findings
from veh_identification.systems.robot.checks.untared import untared_findings
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.possible import SMALL_DELAY, impossible_names
from veh_identification.systems.robot.estimation.unknowns import SLOW_LIMIT, SLOW_SHARE
from veh_identification.systems.robot.feedforward import IdentifiedArm
from veh_identification.systems.robot.live.checking import (
    TOPIC,
    Block,
    Memory,
    channel_slices,
    delay_of,
    row_slices,
)
from veh_identification.systems.robot.live.payload_monitor import PayloadMonitor
from veh_identification.systems.robot.model import ArmModel, Dry, fixed_tree
from veh_identification.systems.robot.processing import (
    HIGHEST_SHARE,
    LONGEST_DELAY,
    Rows,
    Signals,
    equation_filter,
    rows_of,
)
from veh_identification.systems.robot.recording import glitch_finding, glitches
from veh_identification.types import Array, BoolArray, IntArray

#: Deviations of rows that a filter makes alike, over those of independent ones.
COLOUR = 1.5
#: Estimates are made once so many rows are there, and then each second of the data: not of a
#: clock, so that the same samples always give the same estimates.
ENOUGH_ROWS, PERIOD_NS = 200, 1_000_000_000
#: Times that a rate of the first samples may be wrong.
MISTIMED = 2.0
#: The last rows alone are tried with ever more of them.
GROWTH = 1.3
#: A pause is so many steps, or so many seconds at once; shorter ones may be messages that wait.
GAP_STEPS, LATEST = 5.0, 0.1
#: Blocks of rows that wait at most: factors are made anew for all of them at once.
MOST_WAITING = 50
DONE = object()
#: Seconds of motion after which the offline checks are made first, by which factor the time must
#: have grown until they are made again, and the longest time between two.
FIRST_CHECK, CHECKED_AGAIN, LONGEST_WAIT = 8.0, 1.5, 60.0
#: A delay is applied from so many deviations on, and steps towards it until one is smaller [ms].
DELAY_SURE, DELAY_FOUND, DELAY_STEPS = 5.0, 0.05, 4
#: Moments (0.4 s) whose residuals widen the deviations: the last ones, and how many at least.
MOMENTS, FEWEST_MOMENTS = 200, 15
#: Steps between looks at the buffer before there is a watch over the payload.
UNWATCHED = 3
#: Looks whose speeds are remembered, and the speed of a joint that rests [rad/s, m/s].
MOST_LOOKS, AT_REST = 100, 0.01
#: A sample so far behind the newest is no late one.
FAR_BACK_NS = 1_000_000_000


@dataclass(frozen=True)
class LiveOptions:
    """How the live estimate works."""

    cutoff_hz: float = 20.0  # at most; slow recordings allow less
    step: float = 0.1  # s between two looks at the buffer, each of which filters all of it
    memory: float = 0.4  # s of rows that show the payload
    least_mass: float = 0.1  # kg
    payload_link: str = ''
    learn: float = 30.0  # s of motion after which the own estimate serves the watch


class RobotLive(LiveModel):
    """Parameters and payload of an arm while its joint states come in."""

    estimator = 'recursive'

    def __init__(
        self,
        robot: Robot,
        configuration: Configuration,
        options: LiveOptions,
        reference: IdentifiedArm | None = None,
    ) -> None:
        super().__init__()
        self.options, self.reference = options, reference
        self.described = check_described(robot, configuration)
        if reference is None:
            tree = fixed_tree(robot, configuration.locked_joints)
            measured = np.array(
                [name not in configuration.without_effort for name in tree.coordinate_names]
            )
            self.arm = ArmModel(
                robot, tree, np.array(configuration.gravity), measured, configuration
            )
        else:
            self.arm = reference.model
        names = configuration.gains
        self.gains = np.array([names.get(name, 1.0) for name in self.arm.joints])
        if configuration.effort == 'current' and len(names) < len(self.arm.joints):
            raise EstimationError(
                'effort is current: the live estimate needs the gains of all joints, for gain and '
                'mass cannot be told apart'
            )
        self._given_delay = configuration.effort_delay
        width = configuration.friction.width or 0.02
        self.shapes = (
            reference.shapes if reference is not None else (Dry(width),) * len(self.arm.joints)
        )
        self.link = self.arm.load_link(options.payload_link)
        self.monitor = PayloadMonitor(options.memory, options.least_mass)
        self.equations = Equations(
            'robot',
            list(self.arm.names),
            list(self.arm.units),
            list(self.arm.joints),
            list(self.arm.effort_units),
            self.arm.a_priori(),
            [],
        )
        self.sensor = SensorCounts()
        self._all_measured = bool(self.arm.measured.all())
        self._clear()

    def _clear(self) -> None:
        self.solution: Solution | None = None
        self._waiting: list[Usable] = []
        self._information = no_information(len(self.arm.joints), len(self.arm.names))
        self._scores: deque[tuple[int, Array, int]] = deque(maxlen=MOMENTS)
        self._times: deque[int] = deque()
        self._values: deque[Array] = deque()
        self._last_row, self._last_look, self._last_estimate = 0, 0, 0
        self._steps = 0
        self._fresh = False  # something to tell that was not told
        self._late_in_a_row = 0  # samples far behind the newest
        # Samples until when were judged; glitches among them, and the stamp of the last one.
        self._judged, self._glitches, self._last_glitch = 0, 0, 0
        self._forgotten = False  # whether rows were that made all others count for nothing
        self._even = Evened(np.zeros(0))  # the last jitter of stamps that was taken out
        self._speed, self._rows_seen, self._failure = np.zeros(len(self.arm.joints)), 0, ''
        self._speeds: deque[Array] = deque(maxlen=MOST_LOOKS)  # of the last looks, NaN at rest
        self._rate, self._cutoff = 0.0, self.options.cutoff_hz
        self.delay = self._given_delay or 0.0
        self._delay_std, self._delay_factor = 0.0, 1.0
        self._memory, self._next_check = Memory(self.arm), FIRST_CHECK
        self._checked: list[Finding] = []
        self._checking: Slices[None] | None = None  # under way

    def warm_up(self) -> None:
        """Compile (or load) what the first rows would have to wait for."""
        low_pass = row_filter(100.0, 10.0)
        decimate(np.zeros((len(low_pass.taps), 1)), low_pass)

    # Samples ------------------------------------------------------------------------------------

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the columns of a sample."""
        return self.arm.joints

    @property
    def samples(self) -> int:
        """Rows in use."""
        return self.information.samples

    @property
    def rejected(self) -> int:
        """Messages that were not used."""
        return self.sensor.invalid + self.sensor.late + self.sensor.rejected

    def push(self, stamp_ns: int, position: Array, effort: Array) -> bool:
        """A sample of all joints; True where the payload changed."""
        self.sensor.received += 1
        # Efforts that nobody measures are used nowhere, whatever they hold.
        told = effort if self._all_measured else np.where(self.arm.measured, effort, 0.0)
        values = np.concatenate([position, told])
        if not possible(values).all():
            self.sensor.invalid += 1
            return False
        if self._times and stamp_ns <= self._times[-1] and not self._set_back(stamp_ns):
            self.sensor.late += 1
            return False
        self._late_in_a_row = 0
        self.sensor.used += 1
        changed = self._behind_a_gap(stamp_ns) and self._close()
        self._times.append(stamp_ns)
        values[len(position) :] *= self.gains
        self._values.append(values)
        if not self.monitor.loaded:  # what is carried is no mistake
            self._memory.sample(stamp_ns, values)
        # Looks may be ahead of the samples: those of a stored estimate of another day.
        if 0 <= stamp_ns - self._last_look < 1e9 * self.options.step:
            return changed
        self._last_look = stamp_ns
        self._go_on_checking()
        self._steps += 1
        # Nobody needs rows at once while there is no watch over the payload.
        if self.known is None and self._steps % UNWATCHED:
            return changed
        changed |= self._look()
        if abs(stamp_ns - self._last_estimate) >= PERIOD_NS:
            self._last_estimate = stamp_ns
            self.estimate()
        return changed

    def _set_back(self, stamp_ns: int) -> bool:
        """Some samples far behind in a row: the clock was set back, or a stamp was hours ahead."""
        far = self._times[-1] - stamp_ns > FAR_BACK_NS
        self._late_in_a_row = self._late_in_a_row + 1 if far else 0
        if self._late_in_a_row < CLOCK_JUMP_SAMPLES:
            return False
        self.interrupt()
        self._last_row, self._last_look, self._last_estimate, self._judged = 0, 0, 0, 0
        return True

    def _behind_a_gap(self, stamp_ns: int) -> bool:
        return bool(
            self._rate
            and self._times
            and stamp_ns - self._times[-1] > 1e9 * max(GAP_STEPS / self._rate, LATEST)
        )

    def _close(self) -> bool:
        """Nothing follows what is in the buffer: its last rows; True where the payload changed."""
        changed = self._look()
        self._times.clear()
        self._values.clear()
        self.monitor.interrupt()
        return changed

    def _look(self) -> bool:
        """New rows from the buffer, through the code of the offline identification."""
        rows = self._new_rows()
        if rows is None or not len(rows.stamps_ns):
            return False
        fresh = rows.stamps_ns > self._last_row
        if not fresh.any():
            return False
        W = np.concatenate([rows.linear, rows.friction(self.arm, self.shapes)], axis=2)
        Y = rows.effort(self.delay)
        speeds = np.concatenate([one.qd for one in rows.segments])
        self._learn_speed(np.sqrt(np.mean(speeds**2, axis=0)))
        slides = (rows.slow(SLOW_SHARE * self._speed) < SLOW_LIMIT) & self.arm.measured
        stamps, W, Y, slides = rows.stamps_ns[fresh], W[fresh], Y[fresh], slides[fresh]
        load = rows.load[fresh] if rows.load is not None else np.zeros((len(Y), Y.shape[1], 10))
        self._last_row = int(stamps[-1])
        self._rows_seen += len(stamps)
        changed = self._watch(stamps, W, Y, load[:, :, :4], slides)
        if not self.monitor.loaded:
            self._keep_scores(stamps, W, Y, slides)
            motion = tuple(side[fresh] for side in rows.motion())
            self._memory.rows(Block(stamps, motion, W, Y, slides))  # type: ignore[arg-type]
            self._extend(W, Y, slides)
        if self.solution is not None:
            self._sides.append(Sides(stamps, Y, W @ self.solution.value, self.solution.sigma))
        return changed

    def _learn_speed(self, rms: Array) -> None:
        """The usual speed of joints while they move: that of most looks, for positions may jump
        about for seconds, and the largest speed would then be remembered for minutes.
        """
        self._speeds.append(np.where(rms > AT_REST, rms, np.nan))
        kept = np.stack(self._speeds)
        moves = ~np.isnan(kept).all(axis=0)
        speed = self._speed.copy()  # the one before is part of states that were kept
        speed[moves] = np.nanmedian(kept[:, moves], axis=0)
        self._speed = speed

    def _extend(self, W: Array, Y: Array, slides: BoolArray) -> None:
        """Rows join the long-term knowledge."""
        W, Y = np.where(slides[:, :, None], W, 0.0), np.where(slides, Y, 0.0)
        self._waiting.append(Usable(W, Y, slides))
        if len(self._waiting) > MOST_WAITING:
            self._join()

    @property
    def information(self) -> Information:
        """The long-term knowledge; rows that wait join it when somebody asks, all at once."""
        if self._waiting:
            self._join()
        return self._information

    @information.setter
    def information(self, known: Information) -> None:
        self._information, self._waiting = known, []

    def _join(self) -> None:
        waiting, self._waiting = self._waiting, []
        W, Y, valid = (np.concatenate(one) for one in zip(*waiting, strict=True))
        self._information = extended(self._information, Usable(W, Y, valid))

    def _keep_scores(self, stamps: IntArray, W: Array, Y: Array, slides: BoolArray) -> None:
        """What the last estimate leaves of rows that it has not seen, by moments."""
        if self.solution is None:
            return
        value, sigma = self.solution.value, self.solution.sigma
        residual = np.where(slides, Y - W @ value, 0.0) / sigma**2
        moments = stamps // round(1e9 * CLUSTER_SECONDS)
        for one in np.unique(moments):
            place = moments == one
            score = np.einsum('nji,nj->i', W[place], residual[place])
            if self._scores and self._scores[-1][0] == one:
                before = self._scores.pop()
                score, count = score + before[1], before[2] + int(place.sum())
            else:
                count = int(place.sum())
            self._scores.append((int(one), score, count))

    def _widened(self, covariance: Array) -> Array:
        """Deviations that hold for residuals which moments share (friction, ripple, delay)."""
        if len(self._scores) < FEWEST_MOMENTS:
            return covariance * COLOUR**2
        effects = np.stack([score for _, score, _ in self._scores]) @ covariance
        seen = sum(count for _, _, count in self._scores)
        variance = np.sum(effects**2, axis=0) * self.information.samples / max(seen, 1)
        ratio = np.sqrt(np.maximum(variance / np.diag(covariance), COLOUR**2))
        return np.asarray(covariance * np.outer(ratio, ratio))

    def _new_rows(self) -> Rows | None:
        times = np.fromiter(self._times, np.int64, len(self._times))
        if len(times) < 50:
            return None
        arrival = np.asarray((times - times[0]) * 1e-9, float)
        # A rate that stray stamps of the first samples gave would never give a row.
        step = usual_step(arrival)
        off = self._rate * step
        if not self._rate or not (self._rows_seen or 1.0 / MISTIMED < off < MISTIMED):
            positions = np.stack(list(self._values))[:, : len(self.arm.joints)]
            self._rate = 1.0 / usual_step(evened(arrival, positions).stamps)
            self._cutoff = min(self.options.cutoff_hz, HIGHEST_SHARE * self._rate)
        begin = sent_segments(arrival, GAP_STEPS * step)[-1].start
        if begin and arrival[-1] - arrival[begin] < CATCH_UP:  # a pause, or a message that waited?
            return None
        for _ in range(begin):  # nothing before a gap belongs to what follows
            self._times.popleft()
            self._values.popleft()
        if begin:
            self.monitor.interrupt()
            return None
        epoch = int(times[0])
        count = len(self.arm.joints)
        stamps, values = self._without_glitches(times)
        grid = np.arange(stamps[0], stamps[-1], 1.0 / self._rate)
        even = np.stack([np.interp(grid, stamps, column) for column in values.T], axis=1)
        effort = np.where(self.arm.measured, even[:, count:], np.nan)
        whole = (slice(0, len(grid)),)
        # Which joints rest is told by speeds of minutes here, not by those of this second.
        rests = np.zeros((len(grid), count), dtype=bool)
        signals = Signals(
            'live', 'live', self._rate, epoch, grid, even[:, :count], effort, rests, whole
        )
        try:
            rows = rows_of(self.arm, signals, self._cutoff, None, self.link)
        except SignalError:  # not long enough yet
            return None
        self._trim(rows)
        return rows

    def _without_glitches(self, times: IntArray) -> tuple[Array, Array]:
        """Seconds and samples of the buffer that can be judged, and are what a joint does."""
        values, count = np.stack(list(self._values)), len(self.arm.joints)
        even = evened(np.asarray((times - times[0]) * 1e-9, float), values[:, :count])
        self._even = even if even.jitter else replace(self._even, stamps=even.stamps)
        stamps = even.stamps
        effort = np.where(self.arm.measured, values[:, count:], np.nan)
        # Samples that were among others when they were judged now stand at the begin, where a
        # jump behind them looks like a glitch.
        cut = glitches(stamps, values[:, :count], effort) & (times > self._judged)
        cut[-BEHIND:] = False
        self._judged = max(self._judged, int(times[-BEHIND - 1]))
        if cut.any():
            found, kept = times[cut], np.flatnonzero(~cut)
            self._glitches += len(found)
            self._last_glitch = int(found[-1])
            self.sensor.used -= len(found)
            self.sensor.rejected += len(found)
            self._memory.without(found)
            self._times = deque(times[kept].tolist())
            self._values = deque(values[kept])
        return stamps[~cut][:-BEHIND], values[~cut][:-BEHIND]

    def _trim(self, rows: Rows) -> None:
        """Keep what the next rows need: the length that gave none but the last ones."""
        if not len(rows.stamps_ns):
            return
        lead = int(rows.stamps_ns[0]) - self._times[0]
        oldest = int(rows.stamps_ns[-1]) - lead - int(1e9 * self.options.step)
        while self._times and self._times[0] < oldest:
            self._times.popleft()
            self._values.popleft()

    def _watch(self, stamps: IntArray, W: Array, Y: Array, load: Array, slides: BoolArray) -> bool:
        """Hand the residuals of a known arm to the watch over the payload."""
        known = self.known
        if known is None:
            return False
        value, covariance, sigma = known
        residual = np.where(slides, Y - W @ value, 0.0) / sigma
        columns = np.where(slides[:, :, None], load, 0.0) / sigma[:, None]
        doubt = np.sqrt(np.maximum(np.einsum('nji,ik,njk->nj', W, covariance, W), 0.0)) / sigma
        for k, stamp in enumerate(stamps):
            self.monitor.add(int(stamp), residual[k], columns[k], doubt[k])
        return bool(self.monitor.evaluate(int(stamps[-1])))

    @property
    def known(self) -> tuple[Array, Array, Array] | None:
        """Values, covariance and noise that the watch stands on: given, or learnt by now."""
        if self.reference is not None:
            noise = np.where(self.reference.noise > 0.0, self.reference.noise, 1.0)
            return self.reference.value, self.reference.covariance, noise
        if self.solution is None or self._seconds < self.options.learn:
            return None
        return self.solution.value, self.solution.covariance, self.solution.sigma

    def identified(self) -> IdentifiedArm:
        """The arm for predictions: as given, or as learnt by now."""
        if self.reference is not None:
            return self.reference
        known = self.known
        if known is None:
            raise EstimationError(
                f'the arm is not known yet: {self._seconds:.0f} of {self.options.learn:g} s of '
                'motion; give result, the folder of an identification'
            )
        value, covariance, noise = known
        return IdentifiedArm(self.arm, value, covariance, self.shapes, noise)

    @property
    def _seconds(self) -> float:
        """Of motion that was turned into rows."""
        if not self._rate:
            return 0.0
        return self._rows_seen / equation_filter(self._rate, self._cutoff).output_rate

    # Estimate -----------------------------------------------------------------------------------

    def tick(self, silent: int) -> bool:
        """Whether there is something that was not told yet."""
        fresh, self._fresh = self._fresh, False
        return fresh

    def estimate(self) -> None:
        """From all rows so far; while a payload is carried the parameters stay what they were."""
        self._fresh = self.solution is not None
        if self.information.samples < ENOUGH_ROWS or self.monitor.loaded:
            return
        try:
            made = weighted(self.information, self.arm.names, self.arm.joints)
        except EstimationError as error:
            alone = self._last_alone()
            if alone is None:
                self._failure, self._fresh = str(error), False
                return
            made = alone
        self._failure, self._fresh = '', True
        self._solve(made)
        if self._checking is None and self._seconds >= self._next_check:
            self._checking = self._check()

    def _last_alone(self) -> Estimate | None:
        """The estimate of the last rows where older ones make it impossible; these are forgotten.

        More rows never tell less, but for rounding: those of spoilt positions are so large that
        nothing shows beside them, for good.
        """
        recent = no_information(len(self.arm.joints), len(self.arm.names))
        wanted = ENOUGH_ROWS
        for block in reversed(self._memory.blocks):
            W = np.where(block.slides[:, :, None], block.W, 0.0)
            Y = np.where(block.slides, block.Y, 0.0)
            recent = extended(recent, Usable(W, Y, block.slides))
            if recent.samples < wanted:
                continue
            wanted = round(GROWTH * wanted)
            try:
                made = weighted(recent, self.arm.names, self.arm.joints)
            except EstimationError:
                continue
            self.information = recent
            self._scores.clear()
            self._forgotten = True
            return made
        return None

    def finish(self) -> bool:
        """Estimate and check once more with all that came."""
        self._look()
        self.estimate()
        if self.information.samples >= ENOUGH_ROWS and not self.monitor.loaded:
            finished(self._check())
        return self._fresh

    def _solve(self, made: Estimate) -> None:
        self.solution = Solution(
            made.value,
            self._widened(made.covariance),
            made.sigma,
            np.ones(len(made.value), bool),
            scaled_condition(made.factor.R),
        )
        self.convergence.update(self.solution, np.ones(len(made.value), bool))

    def _check(self) -> Slices[None]:
        """The offline checks on the last seconds: at the start, then ever more rarely."""
        wait = min((CHECKED_AGAIN - 1.0) * self._seconds, LONGEST_WAIT)
        self._next_check = self._seconds + wait
        found = yield from channel_slices(self._memory)
        if not any(one.level == 'bad' for one in found):  # the cause stands alone
            yield
            if self._given_delay is None and self.reference is None:
                self._seek_delay()
            yield
            if self.solution is not None:
                found += yield from row_slices(self._memory, self.solution.value)
        self._checked = found

    def _go_on_checking(self) -> None:
        """The next slice of a check that is under way."""
        if self._checking is not None and next(self._checking, DONE) is DONE:
            self._checking = None

    def _seek_delay(self) -> None:
        """The delay that the last seconds tell; their rows are then the knowledge."""
        begun = self.delay
        for _ in range(DELAY_STEPS):
            if self.solution is None:
                return
            found = delay_of(self._memory, self.solution.value)
            if found is None:
                return
            told, fitted = found
            self._delay_std = 1e-3 * told.std
            # What is known is given up for a delay that matters only; then it is found well.
            least = max(DELAY_SURE * told.std, 1e3 * SMALL_DELAY)
            if abs(told.value) < (least if self.delay == begun else DELAY_FOUND):
                return
            longest = self._longest_delay
            step = float(np.clip(self.delay + 1e-3 * told.value, -longest, longest)) - self.delay
            self.delay += step
            self._delay_factor *= told.factor
            self._memory.moved(fitted, step)
            self.information = no_information(len(self.arm.joints), len(self.arm.names))
            self._scores.clear()
            for block in self._memory.blocks:
                self._extend(block.W, block.Y, block.slides)
            try:
                self._solve(weighted(self.information, self.arm.names, self.arm.joints))
            except EstimationError as error:
                self._failure = str(error)
                return

    @property
    def impossible(self) -> list[str]:
        """Friction and drives below zero."""
        if self.solution is None:
            return []
        std = np.sqrt(np.maximum(np.diag(self.solution.covariance), 0.0))
        return impossible_names(self.arm, self.arm.names, self.solution.value, std)

    def derived(self) -> list[Derived]:
        """The payload."""
        found = self.monitor.weighed
        if found is None or not self.monitor.ready:
            return []
        return [Derived('payload.mass', 'kg', found.mass, found.std)]

    def doubts(self) -> list[Finding]:
        """What is carried, and why there may be no estimate."""
        findings = [*self._checked]
        findings += self._even.findings(TOPIC, TOPIC)
        if self._glitches:
            last = f'the last at {1e-9 * self._last_glitch:.3f} s'
            findings.append(glitch_finding(TOPIC, self._glitches, last, TOPIC))
        if self._forgotten:
            text = (
                f'{TOPIC} had values that no joint has, beside which nothing else could be told: '
                'what was learnt until then is forgotten'
            )
            findings.append(Finding('warn', 'rows_forgotten', text, TOPIC))
        if self.delay and self._given_delay is None and self.reference is None:
            findings += self._delayed()
        found = self.monitor.weighed
        if self.monitor.loaded and found is not None:
            text = f'a payload of {found.mass:.3g} +- {found.std:.2g} kg is carried at {self.link}'
            findings.append(Finding('note', 'load_changed', text, self.link))
        if self.solution is None or self.equations is None:
            if self._failure:
                findings.append(Finding('warn', 'not_excited', self._failure))
        else:
            findings += scale_findings((), self.arm.configuration)
            value, covariance = self.solution.value, self.solution.covariance
            findings += untared_findings(self.equations.names, value, covariance, TOPIC)
        return findings

    def _delayed(self) -> list[Finding]:
        """The delay that was found; at the limit of what is looked for nothing can be used."""
        if ended := delay_at_its_limit(self.delay, self._longest_delay, TOPIC):
            return ended
        sure, better = abs(self.delay) > SMALL_DELAY, self._delay_factor**2
        late = EffortDelay(self.delay, self._delay_std, True, sure, better, 1.0)
        return late.findings(TOPIC)

    @property
    def _longest_delay(self) -> float:
        return LONGEST_DELAY / self._cutoff

    def advice(self) -> str:
        """More motion, while values are weak."""
        if self.solution is None or self.convergence.reached or self.reference is not None:
            return ''
        return 'the estimate still moves: go on with motion of all joints at several speeds'

    @property
    def ready(self) -> str:
        """Nothing speaks against it."""
        return 'the estimate has settled'

    def facts(self) -> dict[str, Any]:
        """Payload and rows."""
        found = self.monitor.weighed
        return {
            'rows': self.samples,
            'payload': 'carried' if self.monitor.loaded else 'none',
            'payload_kg': '' if found is None else f'{found.mass:.4g} +- {found.std:.2g}',
            'payload_watch': 'on' if self.monitor.ready else 'learning',
        }

    def counts(self) -> dict[str, SensorCounts]:
        """Joint states."""
        return {'joint_states': self.sensor}

    # Control ------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """The next sample does not follow the last one."""
        self._times.clear()
        self._values.clear()
        self._memory.clear()
        self.monitor.interrupt()

    def reset(self) -> str:
        """Forget rows, estimate and payload."""
        self._clear()
        self.monitor.reset()
        self.convergence.forget()
        return 'all rows, the estimate and the payload'

    def state(self) -> dict[str, Any]:
        """The long-term knowledge."""
        if not self.information.samples:
            raise EstimationError('no rows so far: there is nothing to save')
        information = self.information
        return {
            'names': np.array(self.arm.names),
            'factors': information.factors,
            'samples': information.samples,
            'squares': information.squares,
            'delay': np.array([self.delay, self._delay_std, self._delay_factor]),
            'speed': self._speed,
            'speeds': np.nan_to_num(np.reshape(list(self._speeds), (-1, len(self.arm.joints)))),
            'rows_seen': self._rows_seen,
            'next_check': self._next_check,
            'score_moments': np.array([one for one, _, _ in self._scores], np.int64),
            'scores': np.reshape([one for _, one, _ in self._scores], (-1, len(self.arm.names))),
            'score_counts': np.array([one for _, _, one in self._scores], np.int64),
            'looks': np.array([self._last_row, self._last_look, self._last_estimate, self._steps]),
            'stamps': np.fromiter(self._times, np.int64, len(self._times)),
            'channels': np.reshape(list(self._values), (-1, 2 * len(self.arm.joints))),
        }

    def restore(self, stored: SavedState) -> str:
        """Go on from stored knowledge."""
        stored.expect_texts('names', self.arm.names, of='robot')
        delay = stored.array('delay', (3,))
        course = _Course.of(stored, self.arm)
        fresh = no_information(len(self.arm.joints), len(self.arm.names))
        before, self.information = (
            self.information,
            replace(
                fresh,
                factors=stored.array('factors', fresh.factors.shape),
                samples=stored.count('samples'),
                squares=stored.array('squares', fresh.squares.shape, low=0.0),
            ),
        )
        try:
            with stored.tried():
                self.estimate()
        except StateError:
            self.information = before
            raise
        if self._given_delay is None:
            self.delay, self._delay_std, self._delay_factor = (float(one) for one in delay)
        self._take_up(course)
        return f'{self.information.samples} rows of {len(self.arm.names)} parameters'

    def _take_up(self, course: _Course) -> None:
        """Go on from where stored samples had led, with the rows that no look had reached."""
        present = self._last_row, self._times, self._values
        self._last_row, self._last_look, self._last_estimate, self._steps = course.looks
        self._times, self._values = deque(course.stamps.tolist()), deque(course.channels)
        self._speed, self._rows_seen = course.speed, course.rows_seen
        self._speeds = deque(
            np.where(course.speeds > AT_REST, course.speeds, np.nan), maxlen=MOST_LOOKS
        )
        self._next_check, self._scores = course.next_check, deque(course.scores, MOMENTS)
        counts, self.sensor = self.sensor, SensorCounts()  # those of before were counted before
        judged, self._judged = self._judged, 0
        self._close()  # nothing follows them
        self.sensor, self._glitches, self._judged = counts, 0, judged
        reached = self._last_row
        self._last_row, self._times, self._values = present
        # Samples that are here already and were stored too count once.
        here = bool(self._times) and len(course.stamps) > 0
        if here and self._times[0] <= course.stamps[-1] <= self._times[-1]:
            self._last_row = max(self._last_row, reached)


@dataclass(frozen=True, eq=False)
class _Course:
    """Where a stored estimate stood among its samples."""

    looks: tuple[int, ...]  # last row, last look, last estimate, steps
    stamps: IntArray
    channels: Array
    speed: Array
    speeds: Array  # of the last looks, 0 at rest
    rows_seen: int
    next_check: float
    scores: list[tuple[int, Array, int]]

    @classmethod
    def of(cls, stored: SavedState, arm: ArmModel) -> _Course:
        """What is stored; StateError where it cannot be."""
        looks, stamps = stored.stamps('looks'), stored.stamps('stamps')
        if len(looks) != 4 or (np.diff(stamps) <= 0).any():
            raise stored.refused('stamps', 'do not grow, or looks are not four')
        channels = stored.array('channels', (len(stamps), 2 * len(arm.joints)))
        if not possible(channels).all():
            raise stored.refused('channels', 'hold values that no sensor gives')
        moments = stored.stamps('score_moments').tolist()
        scores = stored.array('scores', (len(moments), len(arm.names)))
        counts = stored.counts('score_counts', (len(moments),)).tolist()
        return cls(
            tuple(looks.tolist()),
            stamps,
            channels,
            stored.array('speed', (len(arm.joints),), low=0.0),
            stored.array('speeds', (None, len(arm.joints)), low=0.0),
            stored.count('rows_seen'),
            stored.number('next_check', low=0.0),
            list(zip(moments, scores, counts, strict=True)),
        )
