"""Spoilt messages to nodes that run live under ROS 2, as serialised bytes over the middleware."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hostile.network import KINDS, PASSING, REPORT, spoilt_payload, try_live
from hostile.spoiling import Item
from hostile.streams import Plan
from hostile.watch import Tally
from veh_identification.runtime import messages
from veh_identification.runtime.graph import find_graph, graph_parameters
from veh_identification.runtime.qos import LATCHED

#: Graphs of one node each, which take sensors directly.
GRAPHS = ('parallel_identification', 'robot_identification', 'sensor_fusion', 'error_ekf')
#: The header that tells the order of bytes: no middleware delivers less.
HEADER = bytes((0, 1, 0, 0))


def try_ros(rng: random.Random, folder: Path, go_on: Callable[[], bool]) -> Tally:
    """Batches of spoilt messages to nodes that run live; without ROS there is nothing to do."""
    if not find_spec('rclpy'):
        return Tally()
    return try_live(rng, folder, go_on, GRAPHS, _live)


class Live:
    """A node under the ros engine, and a stranger who sends bytes to it."""

    def __init__(self, life: Any, loop: Any, stranger: Any) -> None:
        from veh_identification.runtime.messages.ros import create
        from veh_identification.runtime.ros import ros_qos

        self.life, self.loop = life, loop
        self.inlets = [one for one in life.node.inbox.inlets if one.topic != '/clock']
        backend, told = create(), {one.topic_name: one for one in life.node.subscriptions}
        self.types = {
            one.topic: messages.type_name(told[one.topic].msg_type) for one in self.inlets
        }
        offered = ros_qos(LATCHED)  # which any subscription can do with
        self.publishers = {
            topic: stranger.create_publisher(backend.message_class(name), topic, offered)
            for topic, name in self.types.items()
        }
        self.reported = 0
        diagnostics = backend.message_class('diagnostic_msgs/msg/DiagnosticArray')
        self._heard = stranger.create_subscription(diagnostics, '/diagnostics', self._hear, 10)
        self._stranger = stranger

    def _hear(self, _message: Any) -> None:
        self.reported += 1

    def sending(self, rng: random.Random, source: list[Item], tally: Tally) -> tuple[str, bytes]:
        """Topic and payload of one message to a random subscription."""
        topic = rng.choice(sorted(self.types))
        kind = rng.choice(KINDS)
        tally.messages[kind] += 1
        payload = spoilt_payload(rng, kind, topic, self.types[topic], source)
        return topic, payload if len(payload) > len(HEADER) else HEADER + payload

    def passed(self) -> int:
        """Messages that the node has taken or refused."""
        return sum(inlet.count for inlet in self.inlets)

    def pass_on(self, batch: list[tuple[str, bytes]]) -> None:
        """Send one by one, each accounted for before the next; no callback may fail."""
        for topic, payload in batch:
            wanted = self.passed() + 1
            self.publishers[topic].publish(payload)
            self._until(lambda wanted=wanted: self.passed() >= wanted)
            assert self.passed() == wanted, f'{topic}: {self.passed() - wanted + 1} of 1 accounted'
        guard = self.life._instance._guard
        assert not guard.failures, guard.findings()[0].text

    def reports(self) -> None:
        """The node still says how it is."""
        before = self.reported
        self._until(lambda: self.reported > before, 5.0 * REPORT + PASSING)
        assert self.reported > before, 'the node does not report any more'

    def matched(self) -> bool:
        """Whether what the stranger sends arrives."""
        return all(one.get_subscription_count() for one in self.publishers.values())

    def _until(self, done: Callable[[], bool], seconds: float = PASSING) -> None:
        import rclpy

        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            self.loop.spin_once()
            rclpy.spin_once(self._stranger, timeout_sec=0)


@contextmanager
def _live(plan: Plan) -> Iterator[Live]:
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from veh_identification.runtime.ros import Loop, command_line
    from veh_identification.runtime.ros.managed import Life
    from veh_identification.runtime.stopping import StopRequest

    found = find_graph(plan.graph)
    (description,) = found.nodes
    file, machine = graph_parameters(found, plan.config)
    values = {**description.parameters, **machine, 'checkpoint.file': ''}
    words = command_line([file], values, description.remappings, '/')
    rclpy.init(
        args=[*words, '--log-level', 'fatal'], signal_handler_options=SignalHandlerOptions.NO
    )
    life = Life(description, StopRequest())
    stranger = rclpy.create_node('stranger', use_global_arguments=False)
    loop = None
    try:
        life.start()
        loop = Loop(life.node)
        live = Live(life, loop, stranger)
        live._until(live.matched)
        assert live.matched(), 'ROS carries nothing'
        yield live
    finally:
        if loop is not None:
            loop.close()
        stranger.destroy_node()
        life.node.destroy_node()
        rclpy.try_shutdown()
