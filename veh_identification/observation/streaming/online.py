"""The observer as a stream: push samples as they arrive, estimates come out step by step.

Nothing here knows ROS or clocks. Files, replay and live nodes push the same samples into it and so
get the same numbers: the estimate at a stamp depends on samples and stamps alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.findings import Finding
from veh_identification.fusion.merge import EPOCH
from veh_identification.observation import ErrorEKF, Innovation, Measurement
from veh_identification.observation.streaming.arrivals import (
    NANOSECONDS,
    STEPPED,
    Arrivals,
    Item,
    is_marker,
    stream_of,
)
from veh_identification.observation.streaming.kept import (
    end_of,
    kept_start,
    kept_state,
    start_of,
    take_over,
)
from veh_identification.observation.streaming.steps import Stepper
from veh_identification.saved_state import SavedState, StateError

#: Long queues of samples are worked off in pieces [ns of stamps].
CHUNK_NS = 50_000_000
#: For so long behind a silence of all sensors their majority is believed, not the model, which
#: had nobody's support [ns of stamps].
PROBATION_NS = 3 * NANOSECONDS


@dataclass(frozen=True)
class OnlineOptions:
    """Times [s] of stamp time.

    `lag`: how long samples wait for each other. `window`: how old a sample may be to be used at
    all; beyond the lag the observer goes back in time for it. `settle`: data that is looked at
    before the start. `bridge`: longest common silence over which the model goes on alone; a
    longer one starts anew.
    """

    lag: float = 1.0
    window: float = 1.0
    settle: float = 1.0
    bridge: float = 10.0

    def __post_init__(self) -> None:
        for name in ('lag', 'window', 'settle', 'bridge'):
            if not getattr(self, name) >= 0.0:
                raise ParameterError(f'{name} must not be negative, found {getattr(self, name)}')


class Session(Protocol):
    """A system that has started: its filter and how samples become measurements and inputs."""

    origin_ns: int
    step_ns: int

    @property
    def late_ns(self) -> Mapping[str, int]:
        """By stream: how much older its samples are than their times say."""

    @property
    def filter(self) -> ErrorEKF:
        """What estimates."""

    @property
    def outgrown(self) -> str:
        """Why a start now would know more than this one did; empty: it would not."""

    def measurements(self, item: Item) -> list[Measurement]:
        """Measurements of a sample; times are seconds since the origin."""

    def take_input(self, item: Item) -> None:
        """Keep a sample of what drives the model."""

    def inputs(self, k: int, end_ns: int) -> Any:
        """What drives step k."""

    def pseudo(self, k: int, time: float) -> list[Measurement]:
        """Measurements that the model itself brings."""

    def held(self) -> dict[str, Any]:
        """What drives the model now: numbers, texts, lists of them."""

    def hold(self, held: Mapping[str, Any]) -> None:
        """Drive the model by what an earlier session held."""


class ObservedSystem(Protocol):
    """What can be observed: a car, a linkage."""

    inputs: frozenset[str]  # streams that drive the model

    def start(self, items: list[Item]) -> Session:
        """Start at the first of these samples."""

    def remember(self, session: Session) -> None:
        """Let the next start know what stays true of a session that ends."""


Made = Callable[[Session, int, Sequence[Innovation]], None]


class OnlineObserver:
    """Starts, steps, goes back for belated samples and starts anew when the clock jumps.

    `made(session, end_ns, innovations)` is called after every step.
    """

    def __init__(self, system: ObservedSystem, options: OnlineOptions, made: Made) -> None:
        self.system, self.options = system, options
        self.arrivals = Arrivals(options.lag, options.window)
        self.session: Session | None = None
        self.stepper: Stepper | None = None
        self.starts = 0
        self.events: list[Finding] = []  # what a user should know, in order
        self.forgotten: Counter[str] = Counter()  # measurements that a restart came before
        # Samples of a stream that were used, and those that held something for a sensor: one IMU
        # message may hold rates and no accelerations.
        self.handed: Counter[str] = Counter()
        self.offered: Counter[tuple[str, str]] = Counter()
        self._offered_before: Counter[tuple[str, str]] = Counter()  # at the present start
        self._made = made
        self._waiting: list[Item] = []
        self._began: list[Item] = []  # what the session was started with
        self._began_kept: dict[str, Any] | None = None  # the same as arrays, once it is asked for
        self._kept: SavedState | None = None  # of a process that has ended
        self._last_ns = self._next_ns = 0
        self._probation_ns = 0  # until then the model is a guess over a silence

    # -- samples --------------------------------------------------------------------------------

    def push(self, key: str, time_ns: int, payload: tuple[float, ...]) -> None:
        """Take one sample (taken at `time_ns`); `poll` uses what is due."""
        self.arrivals.push(key, time_ns, payload)

    @property
    def is_due(self) -> bool:
        """Whether `poll` would make a step or has to look at something out of order."""
        arrivals, stepper = self.arrivals, self.stepper
        watermark = arrivals.merge.watermark
        if watermark is None:
            return False
        return stepper is None or watermark >= stepper.due_ns or arrivals.has_news

    def poll(self) -> None:
        """Use everything that is due."""
        self.take(self.arrivals.drain(), self.arrivals.belated())
        watermark = self.arrivals.watermark_ns
        if self.stepper is not None and watermark is not None:
            self._run(watermark)

    def take(self, items: Iterable[Item], belated: Iterable[Item] = ()) -> None:
        """Use samples that are in order, and some that are not."""
        for item in items:
            if is_marker(item.key):
                self._take_marker(item)
                continue
            self._last_ns = item.time_ns
            if self.session is None:
                self._wait(item)
                continue
            self._use(item)
            if item.time_ns >= self._next_ns:
                # whatever follows is not older
                self._run(item.time_ns - 1)
                self._next_ns = item.time_ns + CHUNK_NS
                self._look_at_start()
        for item in belated:
            if self.session is not None:
                self._use(item, belated=True)
            else:
                self._waiting.append(item)
                self._waiting.sort(key=lambda i: i[:2])

    def _take_marker(self, item: Item) -> None:
        step_ns = int(item.payload[0])
        if item.key == EPOCH:
            self._jump(step_ns)
            return
        stream = item.key.removeprefix(STEPPED)
        if self.stepper is not None:
            self._run(self._last_ns)
        text = f'the clock of {stream} stepped by {step_ns * 1e-9:+.3g} s against the others'
        self.restart(f'{text}: the observer starts anew', 'clock_stepped')

    def _look_at_start(self) -> None:
        """A filter that was built without sensors that speak now is built anew."""
        if self.session is not None and self.session.outgrown:
            self.restart(f'{self.session.outgrown}: the observer starts anew', 'start_outgrown')

    def waiting(self) -> Counter[str]:
        """Samples by stream that no step has been offered yet."""
        held = Counter(stream_of(item.key) for item in self._waiting)
        for key, count in self.arrivals.waiting().items():
            held[stream_of(key)] += count
        return held

    def finish(self) -> None:
        """The recording has ended: use all that still waits."""
        self.take(self.arrivals.flush(), self.arrivals.belated())
        if self.session is None and self._waiting:
            self._start()
        if self.stepper is not None:
            self._run(self._last_ns + self.stepper.step_ns + self._hold_ns)

    def _use(self, item: Item, belated: bool = False) -> None:
        assert self.session is not None and self.stepper is not None
        stream = stream_of(item.key)
        if stream in self.system.inputs:
            self.session.take_input(item)
            return
        item = self._taken(item, stream)
        measurements = self.session.measurements(item)
        if not self.stepper.add(measurements, item.time_ns):
            record = self.arrivals.record(stream)
            record.belated -= belated
            record.late += 1
            return
        self.handed[stream] += 1
        for measurement in measurements:
            self.offered[stream, measurement.sensor] += 1

    @property
    def _hold_ns(self) -> int:
        return 0 if self.session is None else max(self.session.late_ns.values(), default=0)

    def _taken(self, item: Item, stream: str) -> Item:
        """A sample with the time that the session knows better; none is before the first step."""
        session = self.session
        assert session is not None
        late = session.late_ns.get(stream, 0)
        if not late:
            return item
        first = session.origin_ns + session.step_ns
        return item._replace(time_ns=max(item.time_ns - late, min(item.time_ns, first)))

    # -- start ----------------------------------------------------------------------------------

    def _wait(self, item: Item) -> None:
        self._waiting.append(item)
        if item.time_ns - self._waiting[0].time_ns >= self.options.settle * NANOSECONDS:
            self._start()

    def _start(self) -> None:
        count = self._go_on()
        if self.session is None:
            self.session, self._began = self.system.start(self._waiting), self._waiting
        self._began_kept = None
        session, memory = self.session, 0
        if self.arrivals.window_ns > self.arrivals.lag_ns:
            # belated samples may have to wait for their turn to be computed again
            memory = 3 * self.arrivals.window_ns // session.step_ns
        self.stepper = Stepper(
            session.filter,
            session.origin_ns,
            session.step_ns,
            session.inputs,
            session.pseudo,
            memory,
            self._hold_ns,
            count,
        )
        self.starts += 1
        self._offered_before = self.offered.copy()
        waiting, self._waiting = self._waiting, []
        for item in waiting:
            self._use(item)

    # -- after the end of a process -------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What `go_on_from` takes in another process; EstimationError: nothing is observed."""
        if self.session is None or self.stepper is None:
            raise EstimationError('nothing is observed yet')
        if self._began_kept is None:
            self._began_kept = kept_start(self._began)
        return kept_state(self.session, self.stepper.count, self._began_kept)

    def go_on_from(self, state: SavedState) -> None:
        """The next start goes on from what `state` gave, if the samples follow it soon."""
        self._kept = state

    def _go_on(self) -> int:
        """Take the state of an earlier process over, if there is one; returns its steps."""
        kept, self._kept = self._kept, None
        if kept is None:
            return 0
        try:
            first_ns = self._waiting[0].time_ns
            gap = (first_ns - end_of(kept)) * 1e-9
            if not -1.0 <= gap <= self.options.bridge:
                text = f'the stored state ends {gap:.3g} s before the samples: it starts anew'
                self.events.append(Finding('note', 'observer_not_resumed', text))
                return 0
            start = start_of(kept)
            with kept.tried():
                session = self.system.start(start)
            count = take_over(kept, session)
        except (StateError, EstimationError) as error:
            text = f'the stored state cannot be gone on from ({error}): it starts anew'
            self.events.append(Finding('warn', 'observer_not_resumed', text))
            return 0
        self.session, self._began = session, start
        self._probation_ns = first_ns + PROBATION_NS
        text = f'the observer goes on where it was {max(gap, 0.0):.3g} s before the first sample'
        self.events.append(Finding('note', 'observer_resumed', text))
        return count

    def restart(self, reason: str, code: str = 'observer_restarted') -> None:
        """Start anew with the samples that come now."""
        if self.session is not None:
            self.events += self.session.filter.findings()
        self.events.append(Finding('warn', code, reason))
        for item in self._waiting:
            self.arrivals.record(stream_of(item.key)).unused += 1
        if self.session is not None:
            self._forget(self.session)
        self.session = self.stepper = None
        self._waiting = []
        self._next_ns = self._probation_ns = 0

    def _forget(self, session: Session) -> None:
        """What was offered to a session and never counted by its filter is forgotten with it:
        what waits for its step, and what belonged to the step that failed.
        """
        offered: Counter[str] = Counter()
        for (_, sensor), count in (self.offered - self._offered_before).items():
            offered[sensor] += count
        for sensor, count in offered.items():
            seen = session.filter.counts[sensor]
            counted = seen.used + seen.rejected + seen.unavailable + seen.invalid
            self.forgotten[sensor] += count - counted

    def reset(self, reason: str) -> None:
        """Forget what waits, and start anew."""
        for key, count in self.arrivals.waiting().items():
            self.arrivals.record(stream_of(key)).unused += count
        self.arrivals.reset()
        self._kept = None
        self.restart(reason)

    def _jump(self, step_ns: int) -> None:
        """All sensors moved to another time: bridge a short pause, else start anew."""
        seconds = step_ns * 1e-9
        if self.stepper is not None:
            self._run(self._last_ns)
        if self.session is not None and 0.0 < seconds <= self.options.bridge:
            text = f'no sensor for {seconds:.3g} s: the model goes on alone'
            self.events.append(Finding('warn', 'all_sensors_silent', text))
            self._probation_ns = self._last_ns + step_ns + PROBATION_NS
        else:
            text = f'the stamps jumped by {seconds:+.6g} s: the observer starts anew'
            self.restart(text, 'clock_jumped')

    # -- steps ----------------------------------------------------------------------------------

    def _run(self, watermark_ns: int) -> None:
        stepper, session = self.stepper, self.session
        assert stepper is not None and session is not None
        try:
            stepper.run(
                watermark_ns, lambda k, found: self._step(session, stepper.end_ns(k), found)
            )
        except EstimationError as error:
            text = f'the model cannot go on ({error}): the observer starts anew'
            self.restart(text, 'model_failed')

    def _step(self, session: Session, end_ns: int, found: Sequence[Innovation]) -> None:
        """A step is made; a model that a silence has led astray ends with it."""
        self._made(session, end_ns, found)
        if end_ns >= self._probation_ns:
            return
        if session.filter.lost:
            self.system.remember(session)
            raise EstimationError('the silence of all sensors was too long for it')
        if session.filter.contradicted_by_most:
            raise EstimationError('most sensors contradict it behind a silence of all')
