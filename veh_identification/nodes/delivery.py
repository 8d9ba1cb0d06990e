"""Callbacks beside the node, and what they publish a fixed lag of the data later.

An estimate takes longer than a sample can wait. `DeliveringNode` stands before the engine's node
object: live, the callbacks of its samples and timers run in a thread, in the order in which they
came, and the thread that takes samples only hands them on. What a callback publishes is kept and
sent when the data have gone on by `lag`, so that replay, where everything is computed at once,
sends the same messages behind the same samples. Not a sample is dropped or overtaken when an
estimate takes longer than the lag: its messages come as soon as they are there, and their latency
counts from the sample with which they were due.

Time is that of the header stamps. Stamps that step back by more than the lag, and input that is
silent for a lag, make everything due that waits. Many messages of one callback are spread, for to
send a thousand takes longer than a sample can wait, too. Answers (to a message without a stamp, to
a service) are due at once. A lag of zero computes and publishes inside the callback.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.background import MOST, Worker
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback, parse_path
from veh_identification.runtime.interface import NANOSECONDS, Clock, Node, Publisher
from veh_identification.runtime.load import Load

STAMP_FIELDS = tuple(parse_path(path) for path in STAMP)
#: Of data that are handed on together: each wake of the other thread costs as much as a sample.
TOGETHER_NS = 20_000_000
#: Seconds between wakes of the engine, when messages may be due within so much of the data, and
#: else: samples are in no hurry when results come a lag later, and each wake costs as much as ten.
PAUSE, LONG_PAUSE = 0.003, 0.015
SOON_NS = 100_000_000
#: So many messages of one callback are sent together; the next ones so much later.
BURST, BURST_NS = 20, 10_000_000


class _Event(NamedTuple):
    """A callback that is to run."""

    call: Callable[..., None]
    arguments: tuple[Any, ...]
    due_ns: int  # time of the data at which its messages are due
    era: int  # due_ns counts only while no step came since; -1: at once
    arrival_ns: int = 0  # of the message, where its answer is due at once
    clock_ns: int | None = None  # time of the node for what happens at a time of its own


class _Output(NamedTuple):
    """A message that waits to be sent."""

    publisher: Publisher
    payload: bytes
    due_ns: int
    era: int
    arrival_ns: int


@dataclass(frozen=True)
class _Now:
    nanoseconds: int


class _Publisher:
    """Keeps what a callback publishes."""

    def __init__(self, node: DeliveringNode, publisher: Publisher, type_name: str) -> None:
        self._node, self._publisher, self._type_name = node, publisher, type_name

    def publish(self, msg: Any) -> None:
        """Send one message later, or the bytes of a serialised one."""
        if type(msg) is not bytes:
            found = getattr(msg, '__msgtype__', type(msg).__name__)
            if found != self._type_name:
                raise MessageError(f'a publisher of {self._type_name} got {found}')
            msg = messages.active_backend().serialize(msg, self._type_name)
        self._node.keep(self._publisher, msg)

    def get_subscription_count(self) -> int:
        """How many subscriptions are matched."""
        return self._publisher.get_subscription_count()


class DeliveringNode:
    """A node object whose callbacks run beside it and publish a lag later."""

    def __init__(self, node: Node, lag: float) -> None:
        self._node = node
        self._lag_ns = round(lag * NANOSECONDS)
        self._load: Load | None = node.get_load()
        live = self._load is not None and self._lag_ns > 0
        self._worker = Worker(beside=live)
        self._queue = None
        if live and self._load is not None:
            self._queue = self._load.add_queue('work', MOST + 1)
            self._load.pause = PAUSE
        self._worked = 0.0
        self._newest_ns = self._handed_ns = 0
        self._era = 0
        self._samples = self._looked = 0
        self._event = _Event(lambda: None, (), 0, -1)  # whose callback runs
        self._published = 0  # by the callback that runs
        self._over = (-1, 0)  # era and due time of the last callback that is over
        # Two queues: an answer does not wait behind an estimate.
        self._answers: deque[_Output] = deque()
        self._outputs: deque[_Output] = deque()
        #: Stamps with which something may have become due, and when they arrived.
        self._arrivals: deque[tuple[int, int]] = deque()
        #: Messages that were not there when they were due.
        self.late = 0
        if self._lag_ns > 0:
            node.create_timer(lag, self._look)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the engine's."""
        return getattr(self._node, name)

    # The node's making --------------------------------------------------------------------------

    def create_publisher(self, msg_type: type, topic: str, qos_profile: Any) -> _Publisher:
        """Make a publisher."""
        made = self._node.create_publisher(msg_type, topic, qos_profile)
        return _Publisher(self, made, messages.type_name(msg_type))

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: Any
    ) -> Any:
        """Call `callback(message)` for every message on `topic`."""
        if isinstance(callback, FieldCallback) and callback.fields[:2] == STAMP_FIELDS:
            handing = copy.copy(callback)
            handing.function = self._of_sample(callback.function)
            return self._node.create_subscription(msg_type, topic, handing, qos_profile)
        return self._node.create_subscription(
            msg_type, topic, self._of_message(callback), qos_profile
        )

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Any:
        """Call `callback()` every `timer_period_sec` of node time."""

        def fire() -> None:
            due_ns, era = self._due()
            self._hand_on(_Event(callback, (), due_ns, era, clock_ns=self._clock_ns()))
            self._deliver()

        return self._node.create_timer(timer_period_sec, fire)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """Serve `callback(request, response) -> response`, behind all samples that came."""

        def serve(request: Any, response: Any) -> Any:
            return self.settle(lambda: callback(request, response))

        return self._node.create_service(srv_type, srv_name, serve)

    def get_clock(self) -> Clock:
        """The node clock; in the callback of a timer the time for which it was called."""
        return self

    def now(self) -> Any:
        """The present node time."""
        at = self._event.clock_ns
        return self._node.get_clock().now() if at is None else _Now(at)

    # At work ------------------------------------------------------------------------------------

    def settle(self, work: Callable[[], Any], stop: bool = False) -> Any:
        """Do something when all callbacks are over and what they published is sent.

        `stop`: the input is over, the thread ends.
        """
        if stop:
            self._worker.stop()
        else:
            self._worker.drain()
        self._new_era()
        self._deliver()
        self._event = _Event(lambda: None, (), 0, -1)
        try:
            return work()
        finally:
            self._deliver()

    def facts(self) -> dict[str, str]:
        """Entries of the diagnostics."""
        told = {'lag [s]': f'{self._lag_ns / NANOSECONDS:g}'}
        if self._worker.beside:
            told['messages later than the lag'] = str(self.late)
        return told

    def keep(self, publisher: Publisher, payload: bytes) -> None:
        """A callback publishes something."""
        event = self._event
        if event.era < 0:
            self._answers.append(_Output(publisher, payload, 0, -1, event.arrival_ns))
            return
        due_ns = event.due_ns
        if self._lag_ns > 0:
            due_ns += self._published // BURST * BURST_NS
        self._published += 1
        self._outputs.append(_Output(publisher, payload, due_ns, event.era, 0))

    def _of_sample(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def receive(fields: tuple[Any, ...]) -> None:
            self._advance(fields[0] * NANOSECONDS + fields[1])
            due_ns, era = self._due()
            self._hand_on(_Event(take, (fields,), due_ns, era))
            self._deliver()

        return receive

    def _of_message(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            arrival_ns = 0 if self._load is None else self._load.arrival_ns
            self._hand_on(_Event(take, (message,), 0, -1, arrival_ns))
            self._deliver()

        return receive

    def _clock_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _due(self) -> tuple[int, int]:
        """When messages of a callback that is called now are due: time of the data, and era."""
        if not self._samples:
            return 0, -1
        return self._newest_ns + self._lag_ns, self._era

    def _advance(self, stamp_ns: int) -> None:
        """The data have come to this stamp."""
        self._samples += 1
        if self._newest_ns - stamp_ns > self._lag_ns or self._samples == 1:
            self._new_era()
        elif stamp_ns <= self._newest_ns:
            return
        self._newest_ns = stamp_ns
        if self._worker.beside and self._load is not None:
            self._arrivals.append((stamp_ns, self._load.arrival_ns))

    def _new_era(self) -> None:
        """What waits is due."""
        self._era += 1
        self._arrivals.clear()

    def _forget_arrivals(self, before_ns: int) -> None:
        """Nothing more becomes due with stamps before this one."""
        while len(self._arrivals) > 1 and self._arrivals[0][0] < before_ns:
            self._arrivals.popleft()

    def _hand_on(self, event: _Event) -> None:
        worker = self._worker
        ahead_ns = self._newest_ns - self._handed_ns
        # Only samples wait for company: nobody knows when the next timer or message comes.
        begin = event.clock_ns is not None or event.era < 0 or not 0 <= ahead_ns < TOGETHER_NS
        if begin:
            self._handed_ns = self._newest_ns
        worker.give(self._run, event, begin)
        if self._queue is not None and worker.waiting > self._queue.peak:
            self._queue.peak = worker.waiting

    def _run(self, event: _Event) -> None:
        self._event, self._published = event, 0
        event.call(*event.arguments)
        self._over = event.era, event.due_ns

    def _look(self) -> None:
        """Is the input silent? Then nothing else will make due what waits."""
        if self._samples == self._looked:
            self._worker.give(lambda nothing: None, None)  # begins what waited for company
            self._new_era()
        self._looked = self._samples
        self._deliver()
        era, first_ns = self._over
        if era == self._era and not self._outputs:
            self._forget_arrivals(first_ns)

    def _deliver(self) -> None:
        """Send what is due and there."""
        load, before_ns = self._load, 0
        if load is not None:
            before_ns = load.arrival_ns
            load.busy_seconds += self._worker.busy_seconds - self._worked
            self._worked = self._worker.busy_seconds
        while self._answers:
            output = self._answers.popleft()
            if load is not None:
                load.arrival_ns = output.arrival_ns
            output.publisher.publish(output.payload)
        outputs = self._outputs
        while outputs and (outputs[0].era != self._era or outputs[0].due_ns <= self._newest_ns):
            output = outputs.popleft()
            if load is not None and self._arrivals:
                load.arrival_ns = self._due_arrival(output)
            output.publisher.publish(output.payload)
        if load is not None:
            load.arrival_ns = before_ns
            if self._worker.beside:
                load.pause = PAUSE if self._due_soon() else LONG_PAUSE

    def _due_soon(self) -> bool:
        """Whether the next message may be due soon: one that waits, or of a callback to come."""
        if self._outputs:
            era, due_ns = self._outputs[0].era, self._outputs[0].due_ns
        else:
            era, due_ns = self._over
        return era != self._era or due_ns - self._newest_ns < SOON_NS

    def _due_arrival(self, output: _Output) -> int:
        """Arrival of the sample with which a message was due."""
        arrivals = self._arrivals
        if output.era == self._era:
            self._forget_arrivals(output.due_ns)
        self.late += len(arrivals) > 1
        return arrivals[0][1]
