"""The few methods of `rclpy.node.Node` that our nodes use, with rclpy's names and meaning.

A node is a plain class that is handed an object with this interface. Three engines provide it:
`runtime.ros` (rclpy itself), `runtime.replay` (bag in, bag out) and `runtime.zenoh` (live without
ROS). Nodes import nothing of an engine, so one source serves all three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from veh_identification.runtime.load import Load
from veh_identification.runtime.parameters import ParameterDescriptor
from veh_identification.runtime.qos import QoS

NANOSECONDS = 1_000_000_000


class Time(Protocol):
    """A point on the node clock."""

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the clock's epoch."""
        ...


class Clock(Protocol):
    """The node clock: the bag's time in replay, ROS time under rclpy."""

    def now(self) -> Time:
        """The present node time."""
        ...


class Logger(Protocol):
    """rclpy's logger; keyword options `once` and `throttle_duration_sec` are rclpy's."""

    def debug(self, message: str, **options: Any) -> bool | None:
        """Log for developers."""
        ...

    def info(self, message: str, **options: Any) -> bool | None:
        """Log a normal event."""
        ...

    def warning(self, message: str, **options: Any) -> bool | None:
        """Log something a user should look at."""
        ...

    def error(self, message: str, **options: Any) -> bool | None:
        """Log a failure."""
        ...


class Publisher(Protocol):
    """Publishes messages of one type on one topic."""

    def publish(self, msg: Any) -> None:
        """Send one message, or, as with rclpy, the bytes of a serialised one."""
        ...

    def get_subscription_count(self) -> int:
        """How many subscriptions are matched."""
        ...


class Timer(Protocol):
    """A periodic callback on node time."""

    def cancel(self) -> None:
        """Stop firing."""
        ...

    def reset(self) -> None:
        """Start a new period now."""
        ...


class Parameter(Protocol):
    """A declared parameter."""

    @property
    def value(self) -> Any:
        """Its value."""
        ...


class Node(Protocol):
    """What a node class may ask of the engine it runs under."""

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> Any:
        """Call `callback(message)` for every message on `topic`."""
        ...

    def create_publisher(self, msg_type: type, topic: str, qos_profile: QoS | int) -> Publisher:
        """Make a publisher."""
        ...

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Timer:
        """Call `callback()` every `timer_period_sec` of node time."""
        ...

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """Serve `callback(request, response) -> response`."""
        ...

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None
    ) -> Parameter:
        """Declare a parameter; an override from a YAML file or the command line wins."""
        ...

    def get_parameter(self, name: str) -> Parameter:
        """A declared parameter."""
        ...

    def when_changed(self, name: str, callback: Callable[[Any], None]) -> None:
        """Let a parameter be changed while the node runs; the callback is told its value."""
        ...

    def undeclared_overrides(self) -> list[str]:
        """Names given from outside that the node did not declare: most likely misspelt."""
        ...

    def get_load(self) -> Load | None:
        """How the node keeps up with its input; None where that is not measured (replay)."""
        ...

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        """All topics that are known of by now, each with its types."""
        ...

    def get_clock(self) -> Clock:
        """The node clock."""
        ...

    def get_logger(self) -> Logger:
        """The node's logger."""
        ...

    def get_name(self) -> str:
        """The node's name."""
        ...

    def get_namespace(self) -> str:
        """The node's namespace, with a leading slash."""
        ...

    def destroy_node(self) -> None:
        """Free everything the node created."""
        ...
