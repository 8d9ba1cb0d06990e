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

from veh_identification.runtime.ros.node import HeldGroup, RosNode

#: Seconds between looks at the stop signal, and at what the wait set does not hold: the executor
#: takes a millisecond for it and leaves as much for the garbage collector.
LOOK, SELDOM = 0.1, 0.5
#: Seconds between looks at /clock, each of which costs as much as ten messages: timers need no
#: more.
TICK = 0.02
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
        self._looked = self._told_time = 0.0
        # Young garbage is collected more often (`clean_up`): the older no more often than before.
        gc.set_threshold(700, 50, 10)
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
        ready = self._waiting.wait(round(LOOK * NANOSECONDS))
        load.at_work = True
        begin = time.monotonic()
        if begin - self._told_time >= TICK:
            self._told_time = begin
            for subscription in self._waiting.clocks:
                take_newest(subscription)
        messages = self._node.inbox.deliver() if ready.messages else 0
        used = time.monotonic() - begin
        load.busy_seconds += used
        if ready.others or begin - self._looked >= SELDOM:
            self._looked = begin
            self._serve()
        elif messages and used < load.pause:
            clean_up()
            load.at_work = False
            time.sleep(max(load.pause - (time.monotonic() - begin), 0.0))
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

    messages: bool  # of subscriptions that the executor leaves alone
    others: bool  # timers, services, clients, other subscriptions


class Waiting:
    """A wait set that is kept as long as the node's entities stay the same."""

    def __init__(self, node: Any, held: HeldGroup) -> None:
        self._node, self._held = node, held
        self._set: Any = None
        self._entities: tuple[tuple[Any, ...], ...] = ()
        self._messages: set[int] = set()
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
        heard = set(kept.get_ready_entities('subscription'))
        return Ready(
            not self._messages.isdisjoint(heard),
            bool(heard - self._messages)
            or any(kept.get_ready_entities(kind) for kind in ('timer', 'service', 'client')),
        )

    def _build(self, entities: tuple[tuple[Any, ...], ...]) -> None:
        self._entities = entities
        subscriptions, timers, clients, services = entities
        counts = len(subscriptions), 0, len(timers), len(clients), len(services), 0
        kept = rclpy_implementation.WaitSet(*counts, self._node.context.handle)
        self._set = kept
        self._adders = kept.add_subscription, kept.add_timer, kept.add_client, kept.add_service
        held = [one for one in subscriptions if one.callback_group is self._held]
        self._messages = {one.handle.pointer for one in held}
        self.clocks = [one for one in subscriptions if one.topic_name == CLOCK and one not in held]
        waited = [one for one in subscriptions if one not in self.clocks]
        groups = (waited, *entities[1:])
        self._handles = [[one.handle for one in group] for group in groups]


def known_inside(node: RosNode) -> Waiting:
    """A wait set that works; one of `DIFFERENT` where rclpy is not as we know it."""
    for subscription in node.subscriptions:
        subscription.handle.take_message  # noqa: B018 (raises where it is missing)
    waiting = Waiting(node.node, node.held)
    waiting.wait(0)
    return waiting


def take_newest(subscription: Any) -> None:
    """What an executor does with the last message of a subscription; those before are dropped."""
    newest = None
    while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
        newest = taken
    if newest is not None:
        subscription.callback(newest[0])
