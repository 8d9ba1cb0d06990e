"""The `ros` engine: rclpy itself behind the node interface. Only this file imports rclpy."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
import rclpy.executors
import rclpy.node
import rclpy.qos
import rclpy.subscription
import yaml
from rcl_interfaces.msg import FloatingPointRange, IntegerRange
from rcl_interfaces.msg import ParameterDescriptor as RosDescriptor

from veh_identification.errors import VehIdError
from veh_identification.runtime import messages
from veh_identification.runtime.graph import NodeDescription, find_node
from veh_identification.runtime.parameters import ParameterDescriptor, check, coerce
from veh_identification.runtime.qos import QoS, as_qos

_LARGEST = sys.float_info.max
_LARGEST_INTEGER = 2**63 - 1
#: Rounds over all queues before a batch is handed on.
PASSES = 4


def ros_qos(profile: QoS | int) -> rclpy.qos.QoSProfile:
    """Our quality of service as rclpy's."""
    qos = as_qos(profile)
    return rclpy.qos.QoSProfile(
        depth=qos.depth,
        reliability=(
            rclpy.qos.ReliabilityPolicy.RELIABLE
            if qos.reliable
            else rclpy.qos.ReliabilityPolicy.BEST_EFFORT
        ),
        durability=(
            rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL
            if qos.transient_local
            else rclpy.qos.DurabilityPolicy.VOLATILE
        ),
    )


def ros_descriptor(descriptor: ParameterDescriptor, default: Any) -> RosDescriptor:
    """Our descriptor as rcl_interfaces'."""
    text = descriptor.description
    if descriptor.unit:
        text += f' [{descriptor.unit}]'
    limits: dict[str, Any] = {}
    if descriptor.minimum is not None or descriptor.maximum is not None:
        low, high = descriptor.minimum, descriptor.maximum
        if isinstance(default, float):
            limits['floating_point_range'] = [
                FloatingPointRange(
                    from_value=float(-_LARGEST if low is None else low),
                    to_value=float(_LARGEST if high is None else high),
                )
            ]
        elif isinstance(default, int) and not isinstance(default, bool):
            limits['integer_range'] = [
                IntegerRange(
                    from_value=int(-_LARGEST_INTEGER if low is None else low),
                    to_value=int(_LARGEST_INTEGER if high is None else high),
                )
            ]
    return RosDescriptor(
        description=text,
        read_only=descriptor.read_only,
        additional_constraints=(
            f'one of {", ".join(descriptor.choices)}' if descriptor.choices else ''
        ),
        # An empty list has no type in ROS, and people write 100 where 100.0 is meant.
        dynamic_typing=default == [] or isinstance(default, (float, list)),
        **limits,
    )


class PublishOrder:
    """Hands on what has arrived on all subscriptions of a node in the order of publishing.

    rclpy's executors take one message of every topic in turn. When a node was kept waiting, a
    topic of 100 Hz would then run seconds ahead of one of 500 Hz, and what is late cannot be
    used. So the first message that wakes the node takes along all others that wait.
    """

    def __init__(self) -> None:
        self._queues: list[tuple[Any, Callable[[Any], None]]] = []

    def subscribe(
        self, node: rclpy.node.Node, msg_type: type, topic: str, callback: Any, qos: Any
    ) -> Any:
        """A subscription whose messages come in the order of publishing."""

        def wake(msg: Any, info: Any) -> None:
            self._deliver(callback, msg, info)

        subscription = node.create_subscription(msg_type, topic, wake, qos)
        self._queues.append((subscription, callback))
        return subscription

    def _deliver(self, callback: Callable[[Any], None], msg: Any, info: Any) -> None:
        batch = [(info['source_timestamp'], callback, msg)]
        # While the last queue is emptied the first fills again: a short last pass keeps the
        # topics in step. Bounded, for a node that falls behind must not only collect.
        for _ in range(PASSES):
            before = len(batch)
            for subscription, other in self._queues:
                self._empty(subscription, other, batch)
            if len(batch) == before:
                break
        batch.sort(key=lambda entry: entry[0])  # stable: one topic stays in its own order
        for _, receive, message in batch:
            receive(message)

    @staticmethod
    def _empty(subscription: Any, callback: Callable[[Any], None], batch: list[Any]) -> None:
        with subscription.handle:
            while True:
                taken = subscription.handle.take_message(subscription.msg_type, False)
                if taken is None:
                    return
                batch.append((taken[1]['source_timestamp'], callback, taken[0]))


class RosNode:
    """Hands the methods of a real rclpy node to a node class.

    Everything is rclpy's own; only quality of service and descriptors are translated, and
    messages that wait are handed on in the order of publishing.
    """

    def __init__(self, node: rclpy.node.Node) -> None:
        self.node = node
        # Callbacks with message information came after Humble.
        known = hasattr(rclpy.subscription.Subscription, 'CallbackType')
        self._order = PublishOrder() if known else None

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> Any:
        """rclpy's create_subscription."""
        qos = ros_qos(qos_profile)
        if self._order is None:
            return self.node.create_subscription(msg_type, topic, callback, qos)
        return self._order.subscribe(self.node, msg_type, topic, callback, qos)

    def create_publisher(self, msg_type: type, topic: str, qos_profile: QoS | int) -> Any:
        """rclpy's create_publisher."""
        return self.node.create_publisher(msg_type, topic, ros_qos(qos_profile))

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Any:
        """rclpy's create_timer."""
        return self.node.create_timer(timer_period_sec, callback)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """rclpy's create_service."""
        return self.node.create_service(srv_type, srv_name, callback)

    def _override(self, name: str) -> Any:
        # rclpy has no public look at the overrides; without it a wrong value gives its own
        # exception, which is right but less clear.
        given = getattr(self.node, '_parameter_overrides', {}).get(name)
        return None if given is None else given.value

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None
    ) -> Any:
        """rclpy's declare_parameter, after a check that names the parameter and its range."""
        descriptor = descriptor or ParameterDescriptor()
        given = self._override(name)
        if given is not None and value is not None:
            check(name, coerce(name, given, value), descriptor)
        return self.node.declare_parameter(name, value, ros_descriptor(descriptor, value))

    def get_parameter(self, name: str) -> Any:
        """rclpy's get_parameter."""
        return self.node.get_parameter(name)

    def undeclared_overrides(self) -> list[str]:
        """Names given from outside that the node did not declare."""
        overrides = getattr(self.node, '_parameter_overrides', {})
        # qos_overrides.* belong to rclpy and are declared only when a topic allows them.
        return sorted(
            name
            for name in overrides
            if not self.node.has_parameter(name) and not name.startswith('qos_overrides.')
        )

    def get_clock(self) -> Any:
        """rclpy's get_clock."""
        return self.node.get_clock()

    def get_logger(self) -> Any:
        """rclpy's get_logger."""
        return self.node.get_logger()

    def get_name(self) -> str:
        """rclpy's get_name."""
        return self.node.get_name()

    def get_namespace(self) -> str:
        """rclpy's get_namespace."""
        return self.node.get_namespace()

    def destroy_node(self) -> None:
        """rclpy's destroy_node."""
        self.node.destroy_node()


def _watch_interrupt() -> Callable[[], bool]:
    """Tells later whether Ctrl-C came; rclpy calls the handler that it finds at its init."""
    seen: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        # Ctrl-C reaches all processes of a terminal, and `ros2 launch` passes it on once more: the
        # second one must not break what ends because of the first.
        if len(seen) == 1:
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, on_signal)
    return lambda: bool(seen)


def run_node(description: NodeDescription, args: Sequence[str] | None = None) -> int:
    """Run one node until Ctrl-C or a shutdown; the exit status is 0 then."""
    messages.select_backend('ros')
    interrupted = _watch_interrupt()
    rclpy.init(args=args)
    node = rclpy.node.Node(description.name)
    try:
        description.create(RosNode(node))
        # A launch file waits for this line before it plays a bag; a logger could be silenced.
        print(description.ready_line, flush=True)
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    except VehIdError as error:
        node.get_logger().fatal(str(error))
        return error.exit_status
    except Exception:
        # Ctrl-C while the node is being made ends its context under it, and while a message is
        # being converted it comes out of the C++ layer as a RuntimeError: neither is a failure.
        if rclpy.ok() and not interrupted():
            raise
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


def command_line(
    files: Iterable[str | Path],
    values: Mapping[str, Any],
    remappings: Iterable[tuple[str, str]],
    namespace: str,
) -> list[str]:
    """ROS arguments that say the same as the options of `veh-id run`."""
    words = ['veh-id', '--ros-args', '-r', f'__ns:={namespace}']
    for path in files:
        words += ['--params-file', str(path)]
    for name, value in values.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000).splitlines()[0]
        words += ['-p', f'{name}:={text}']
    for source, target in remappings:
        words += ['-r', f'{source}:={target}']
    return words


def main(name: str, args: Sequence[str] | None = None) -> int:
    """Entry of the executables in scripts/."""
    return run_node(find_node(name), args)
