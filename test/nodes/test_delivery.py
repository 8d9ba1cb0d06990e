"""What a node publishes comes a fixed lag of the data later, and no estimate costs a sample."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from live_harness import Sink
from mistaken.common import Item

from veh_identification.nodes.delivery import BURST, LONG_PAUSE, PAUSE, DeliveringNode
from veh_identification.nodes.services import create_services
from veh_identification.runtime import messages
from veh_identification.runtime.background import Worker
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.interface import Node
from veh_identification.runtime.load import Load
from veh_identification.runtime.qos import SYSTEM_DEFAULT
from veh_identification.runtime.replay.engine import ReplayEngine

START = 1_000_000_000_000
STEP = 10_000_000  # of the samples
RANGE, TEXT = 'sensor_msgs/msg/Range', 'std_msgs/msg/String'


class Echo:
    """Says each sample's number, many times where told, and what a timer saw."""

    def __init__(
        self,
        node: Node,
        lag: float,
        times: Callable[[int], int] = lambda number: 1,
        before: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.delivery = DeliveringNode(node, lag)
        self.times, self.before = times, before
        self.taken: list[int] = []
        inner = cast(Node, self.delivery)
        self.said = inner.create_publisher(messages.message_class(TEXT), 'said', SYSTEM_DEFAULT)
        callback = FieldCallback((*STAMP, 'range'), self.on_sample)
        inner.create_subscription(messages.message_class(RANGE), 'range', callback, SYSTEM_DEFAULT)
        inner.create_subscription(
            messages.message_class(TEXT), 'ask', self.on_question, SYSTEM_DEFAULT
        )
        inner.create_timer(0.5, self.on_timer)
        create_services(inner, reset=self.reset, enable=lambda on: None)

    def say(self, text: str) -> None:
        self.said.publish(messages.new(TEXT, data=text))

    def on_sample(self, fields: tuple[Any, ...]) -> None:
        number = round(fields[2])
        self.before(number)
        self.taken.append(number)
        for _ in range(self.times(number)):
            self.say(str(number))

    def on_question(self, msg: Any) -> None:
        self.say(f'answer {msg.data}')

    def on_timer(self) -> None:
        at = int(self.delivery.get_clock().now().nanoseconds) - START
        self.say(f'timer {at / 1e9:g} {len(self.taken)}')

    def reset(self) -> str:
        return f'{len(self.taken)} samples'


def sample(number: int, stamp_ns: int) -> Any:
    return messages.new(RANGE, header=messages.header(stamp_ns), range=float(number))


def source(count: int) -> list[Item]:
    return [
        Item(START + k * STEP, '/range', sample(k, START + k * STEP), RANGE) for k in range(count)
    ]


def replayed(items: list[Item], **options: Any) -> tuple[Echo, list[tuple[float, str]], Any]:
    sink = Sink()
    engine = ReplayEngine(START, sink=sink, log_level='fatal')
    echo = Echo(cast(Node, engine.create_node('echo')), **options)
    engine.run(items)
    said = [((ns - START) / STEP, one.data) for ns, one in sink.timed('/said')]
    return echo, said, engine


def test_replay_publishes_what_a_sample_brought_when_the_data_are_a_lag_further() -> None:
    _, said, _ = replayed(source(100), lag=0.2)
    told = {text: at for at, text in said}
    assert told['0'] == 20.0
    assert all(told[str(k)] == k + 20.0 for k in range(79))
    assert '80' not in told


def test_a_lag_of_zero_publishes_with_the_sample() -> None:
    _, said, _ = replayed(source(20), lag=0.0)
    assert said == [(float(k), str(k)) for k in range(20)]


def test_a_timer_sees_its_own_time_and_its_word_comes_a_lag_later() -> None:
    _, said, _ = replayed(source(100), lag=0.2)
    (at,) = (at for at, text in said if text.startswith('timer 0.5 '))
    assert at == 70.0
    assert 'timer 0.5 51' in [text for _, text in said]


def test_the_end_and_a_service_send_what_waits() -> None:
    echo, _, engine = replayed(source(30), lag=0.2)
    sink = engine._sink
    assert engine.call_service('/echo/reset').message == '30 samples'
    assert [one.data for one in sink.of('/said')] == [str(k) for k in range(30)]
    echo.delivery.settle(lambda: echo.say('end'), stop=True)
    assert sink.of('/said')[-1].data == 'end'


def test_an_answer_does_not_wait() -> None:
    items = source(40)
    items.insert(11, Item(items[10].time_ns, '/ask', messages.new(TEXT, data='now'), TEXT))
    _, said, _ = replayed(items, lag=0.2)
    assert (10.0, 'answer now') in said


def test_silent_input_and_stamps_that_step_back_send_what_waits() -> None:
    first = source(30)
    behind = [Item(START + 10**9, '/range', sample(99, START + 10**9), RANGE)]
    _, said, _ = replayed(first + behind, lag=0.2)
    # The last sample came at 0.29 s: between 0.4 and 0.6 s nothing comes any more.
    assert max(at for at, text in said if text.isdigit()) == 60.0
    again = [
        Item(one.time_ns + 30 * STEP, one.topic, one.message, RANGE)
        for one in source(30)  # stamps of the start again
    ]
    _, said, _ = replayed(first + again, lag=0.2)
    numbers = [text for _, text in said if text.isdigit()]
    assert numbers[:30] == [str(k) for k in range(30)]
    assert (30.0, '29') in said
    assert (50.0, '0') in said


def test_many_messages_of_one_callback_are_spread() -> None:
    many = 5 * BURST
    _, said, _ = replayed(source(60), lag=0.2, times=lambda number: many if number == 0 else 0)
    at = [at for at, text in said if text == '0']
    assert len(at) == many
    assert at == sorted(at)
    assert max(at.count(time) for time in set(at)) == BURST
    assert (at[0], at[-1]) == (20.0, 24.0)


class LiveNode:
    """A node of a live engine, driven by hand; published bytes are kept with what was taken."""

    def __init__(self) -> None:
        self.load = Load(now_ns=lambda: self.now_ns)
        self.now_ns = START
        self.callbacks: dict[str, Any] = {}
        self.timers: list[Callable[[], None]] = []
        self.sent: list[tuple[int, str]] = []
        self.received = 0

    def get_load(self) -> Load:
        return self.load

    def create_publisher(self, kind: Any, topic: str, qos: Any) -> Any:
        return self

    def publish(self, payload: bytes) -> None:
        self.sent.append((self.received - 1, messages.deserialize(payload, TEXT).data))
        self.load.published()

    def create_subscription(self, kind: Any, topic: str, callback: Any, qos: Any) -> None:
        self.callbacks[topic] = callback

    def create_timer(self, period: float, callback: Callable[[], None]) -> None:
        self.timers.append(callback)

    def create_service(self, kind: Any, name: str, callback: Any) -> None:
        self.callbacks[name] = callback

    def get_clock(self) -> Any:
        return self

    def now(self) -> Any:
        return self

    @property
    def nanoseconds(self) -> int:
        return self.now_ns

    def receive(self, item: Item) -> None:
        self.received += 1
        self.now_ns = self.load.arrival_ns = item.time_ns
        self.callbacks[item.topic.strip('/')](item.message)
        self.load.arrival_ns = 0


def test_live_the_same_messages_are_sent_behind_the_same_samples_as_in_replay() -> None:
    _, expected, _ = replayed(source(100), lag=0.2)
    node = LiveNode()
    echo = Echo(cast(Node, node), lag=0.2)
    for item in source(100):
        # The machine has time between samples: what was due with earlier ones is computed.
        echo.delivery._worker.drain()
        node.receive(item)
    assert echo.delivery.late == 0
    assert [(float(at), text) for at, text in node.sent] == [
        (at, text) for at, text in expected if text.isdigit()
    ]
    echo.delivery.settle(lambda: None, stop=True)
    assert echo.delivery._worker._thread is None


def test_a_slow_estimate_loses_no_sample_blocks_none_and_is_counted_late() -> None:
    go_on = threading.Event()
    ran_in: set[int] = set()

    def slow(number: int) -> None:
        ran_in.add(threading.get_ident())
        if number == 10:
            assert go_on.wait(60.0)

    node = LiveNode()
    echo = Echo(cast(Node, node), lag=0.2, before=slow)
    items = source(200)
    for item in items[:10]:
        node.receive(item)
    echo.delivery._worker.drain()
    for item in items[10:150]:  # returns although sample 10 is not done
        node.receive(item)
    assert echo.taken == list(range(10))
    assert [text for _, text in node.sent] == [str(k) for k in range(10)]
    go_on.set()
    echo.delivery._worker.drain()
    for item in items[150:]:
        echo.delivery._worker.drain()
        node.receive(item)
    node.callbacks['~/reset'](None, Response())
    assert echo.taken == list(range(200))
    assert [text for _, text in node.sent] == [str(k) for k in range(200)]
    assert ran_in == {echo.delivery._worker._thread.ident}  # type: ignore[union-attr]
    # Samples 10 to 129 were due with 30 to 149 and came with 150: 120 messages too late.
    assert echo.delivery.late == 120
    assert node.load.worst_ns == 120 * STEP
    echo.delivery.settle(lambda: None, stop=True)


def _wait(event: threading.Event) -> None:
    assert event.wait(60.0)


def test_the_engine_pauses_longer_while_nothing_can_be_due_soon() -> None:
    go_on = threading.Event()
    node = LiveNode()
    echo = Echo(
        cast(Node, node),
        lag=1.0,
        times=lambda number: int(number == 20),
        before=lambda number: None if number < 60 else _wait(go_on),
    )
    pauses = []
    items = source(200)
    for item in items[:60]:
        echo.delivery._worker.drain()
        node.receive(item)
        pauses.append(node.load.pause)
    assert set(pauses[2:]) == {LONG_PAUSE}
    echo.delivery._worker.drain()
    for item in items[60:]:  # nobody knows what sample 60 will bring: due with 160
        node.receive(item)
        pauses.append(node.load.pause)
    assert [k for k, pause in enumerate(pauses) if pause == PAUSE and k > 1] == [
        *range(111, 120),  # the message of sample 20 is sent with 120
        *range(150, 200),
    ]
    go_on.set()
    echo.delivery.settle(lambda: None, stop=True)


class Response:
    """Of a service."""

    message, success = '', False


def test_more_work_than_may_wait_holds_whoever_gives_it_and_loses_nothing() -> None:
    done: list[int] = []
    worker = Worker(beside=True, most=10)
    for k in range(1000):
        worker.give(done.append, k)
        assert worker.waiting <= 10
    worker.stop()
    assert done == list(range(1000))


def test_what_work_raises_reaches_who_gave_it_and_the_rest_is_done() -> None:
    done: list[int] = []
    worker = Worker(beside=True)

    def work(k: int) -> None:
        if k == 1:
            raise ArithmeticError('no')
        done.append(k)

    for k in range(3):
        worker.give(work, k, begin=False)
    with pytest.raises(ArithmeticError):
        worker.drain()
    worker.stop()
    assert done == [0, 2]
