"""The loop that runs a node: one kept wait set, all queues emptied at every wake.

rclpy's executors build a wait set anew for every callback (175 us over some 32 entities) and take
one message at a time; at 1,800 messages a second that alone fills most of a core. Here sensor
subscriptions are waited for and emptied by ourselves, and /clock with them; timers, services,
clients and events stay with rclpy's executor, which is asked only when one of them is ready, and
twice a second for what the wait set does not hold (events, guards, entities made meanwhile).

The wait set and `take_message` are rclpy's inner workings: where they are missing or different
the executor does it all, slower and topic by topic.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import rclpy.executors
from rclpy.impl.implementation_singleton import rclpy_implementation

from veh_identification.runtime.inbox import Inlet
from veh_identification.runtime.ros.node import RosNode

#: Seconds between looks at the stop signal, and at what the wait set does not hold: the executor
#: takes a millisecond for it and leaves as much for the garbage collector.
LOOK, SELDOM = 0.1, 0.5
#: Seconds between looks at /clock, each of which costs as much as ten messages: timers need no
#: more.
TICK = 0.02
#: A wait that took no longer than this (seconds) found messages that were there already: the next
#: ones will be, too. To look into all queues costs a third of a wait, so this is done as long as
#: something is found, and waited again every `TICK` seconds, for timers and services.
AT_ONCE = 0.0002
#: New objects from which on garbage is looked for; Python does so from 700 on.
YOUNG = 300
NANOSECONDS = 1_000_000_000
CLOCK = '/clock'
#: What rclpy's inner workings raise when they are not what we know.
DIFFERENT = (AttributeError, TypeError, LookupError)


class Loop:
    """Runs the callbacks of one node in the thread that spins."""

    def __init__(self, node: RosNode) -> None:
        self._node = node
        self._executor = rclpy.executors.SingleThreadedExecutor(context=node.node.context)
        self._executor.add_node(node.node)
        self._looked = self._told_time = self._waited = self._woke = 0.0
        self._flowing = False  # messages come faster than the loop wakes
        # Young garbage is collected more often (`clean_up`). What has survived that are samples
        # and steps of the last seconds, which go without the collector's help: to look at them
        # takes ten milliseconds, for which messages have to wait.
        gc.set_threshold(700, 200, 5)
        self._waiting: Waiting | None = None
        try:
            self._waiting = known_inside(node)
        except DIFFERENT as error:
            node.get_logger().warning(
                f'this rclpy is another inside than those known ({error}): its own executor '
                'takes the messages, which costs more and does not keep the order of publishing'
            )
        node.held.held = self._waiting is not None

    def spin(
        self, stop: Callable[[], bool], heard: Callable[[int], None] = lambda messages: None
    ) -> None:
        """Run until `stop()` holds or the context ends; `heard` is told the messages of a wake."""
        context = self._node.node.context
        while not stop() and context.ok():
            heard(self.spin_once())

    def spin_once(self) -> int:
        """Wait at most `LOOK` seconds and run what is ready; returns how many messages came."""
        if self._waiting is None:
            return self._through_executor()
        load = self._node.load
        load.at_work = False
        begin = time.monotonic()
        if self._flowing and begin - self._waited < TICK:
            self._woke, others = begin, False
            messages = self._work_off(None)
            self._flowing = messages > 0
        else:
            messages, others = self._wait(begin)
        if others or begin - self._looked >= SELDOM:
            self._looked = begin
            self._serve()
        elif messages and time.monotonic() - self._woke < load.pause:
            clean_up()
            load.at_work = False
            time.sleep(max(load.pause - (time.monotonic() - self._woke), 0.0))
        return messages

    def _wait(self, since: float) -> tuple[int, bool]:
        """Wait for messages and hand them on: how many, and whether something else is ready."""
        assert self._waiting is not None
        ready = self._waiting.wait(round(LOOK * NANOSECONDS))
        self._waited = self._woke = woke = time.monotonic()
        self._flowing = bool(ready.inlets) and woke - since < AT_ONCE
        if woke - self._told_time >= TICK:
            self._told_time = woke
            for subscription in self._waiting.clocks:
                take_newest(subscription)
        return self._work_off(ready.inlets), ready.others

    def _work_off(self, heard: list[Inlet] | None) -> int:
        """Hand messages on, of all topics or of some, and count how long it takes."""
        load = self._node.load
        load.at_work = True
        messages = self._node.inbox.deliver(heard) if heard or heard is None else 0
        load.busy_seconds += time.monotonic() - self._woke
        return messages

    def close(self) -> None:
        """Let go of everything: the wait set must not outlive the context."""
        self._node.held.held = False
        self._waiting = None
        self._executor.remove_node(self._node.node)
        self._executor.shutdown()

    def _serve(self) -> None:
        """Let the executor run what is ready."""
        try:
            while True:
                handler, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=0)
                handler()
                handler.result()  # raises what the callback raised
        except (rclpy.executors.TimeoutException, rclpy.executors.ShutdownException):
            return

    def _through_executor(self) -> int:
        """The same by rclpy alone; how long it was at work is not known then."""
        before = self._node.inbox.handed_on()
        self._executor.spin_once(timeout_sec=LOOK)
        return self._node.inbox.handed_on() - before


def clean_up() -> None:
    """Collect young garbage while nothing waits: Python would do it in the midst of a callback.

    What has grown older is left to Python, which knows when it is worth while.
    """
    young, older, _ = gc.get_count()
    if young > YOUNG and older <= gc.get_threshold()[1]:
        gc.collect(0)


class Ready(NamedTuple):
    """What a wait found."""

    inlets: list[Inlet]  # of subscriptions that the executor leaves alone, where messages wait
    others: bool  # timers, services, clients, other subscriptions


class Waiting:
    """A wait set that is kept as long as the node's entities stay the same."""

    def __init__(self, node: RosNode) -> None:
        self._ours, self._node, self._held = node, node.node, node.held
        self._set: Any = None
        self._entities: tuple[tuple[Any, ...], ...] = ()
        self._inlets: dict[int, Inlet] = {}  # by their subscriptions
        #: Of /clock. Nobody is woken by them: they are looked at when messages come, and every
        #: `LOOK` seconds at the latest. To wake costs as much as ten messages.
        self.clocks: list[Any] = []

    def wait(self, timeout_ns: int) -> Ready:
        """Wait until something is ready."""
        node = self._node
        entities = (
            tuple(node.subscriptions),
            tuple(node.timers),
            tuple(node.clients),
            tuple(node.services),
        )
        if entities != self._entities:
            self._build(entities)
        kept = self._set
        kept.clear_entities()
        for add, group in zip(self._adders, self._handles, strict=True):
            for handle in group:
                add(handle)
        kept.wait(timeout_ns)
        heard = kept.get_ready_entities('subscription')
        inlets = [self._inlets[one] for one in heard if one in self._inlets]
        others = len(inlets) < len(heard) or any(
            kept.get_ready_entities(kind) for kind in ('timer', 'service', 'client')
        )
        return Ready(inlets, others)

    def _build(self, entities: tuple[tuple[Any, ...], ...]) -> None:
        self._entities = entities
        subscriptions, timers, clients, services = entities
        counts = len(subscriptions), 0, len(timers), len(clients), len(services), 0
        kept = rclpy_implementation.WaitSet(*counts, self._node.context.handle)
        self._set = kept
        self._adders = kept.add_subscription, kept.add_timer, kept.add_client, kept.add_service
        held = [one for one in subscriptions if one.callback_group is self._held]
        ours = zip(self._ours.subscriptions, self._ours.inbox.inlets, strict=True)
        self._inlets = {one.handle.pointer: inlet for one, inlet in ours}
        self.clocks = [one for one in subscriptions if one.topic_name == CLOCK and one not in held]
        waited = [one for one in subscriptions if one not in self.clocks]
        groups = (waited, *entities[1:])
        self._handles = [[one.handle for one in group] for group in groups]


def known_inside(node: RosNode) -> Waiting:
    """A wait set that works; one of `DIFFERENT` where rclpy is not as we know it."""
    for subscription in node.subscriptions:
        subscription.handle.take_message  # noqa: B018 (raises where it is missing)
    waiting = Waiting(node)
    waiting.wait(0)
    return waiting


def take_newest(subscription: Any) -> None:
    """What an executor does with the last message of a subscription; those before are dropped."""
    newest = None
    while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
        newest = taken
    if newest is not None:
        subscription.callback(newest[0])
