"""The node object of the ros engine: a real rclpy node, read and written as bytes.

Node classes work on the same messages as under replay (rosbags' classes): what arrives is taken
as bytes and read field by field (or decoded), what is published is encoded here. That is several
times faster than rclpy's conversion of whole messages, and one code for all engines. Message
classes that rosidl made are taken as well; then rclpy converts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import rclpy.callback_groups
import rclpy.duration
import rclpy.node
import rclpy.subscription
from rcl_interfaces.msg import SetParametersResult
from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.cdr.fields import FieldCallback, FieldReader
from veh_identification.runtime.inbox import Inbox, Inlet, Take
from veh_identification.runtime.load import Load, QueueLoad
from veh_identification.runtime.messages.ros import create as create_ros_backend
from veh_identification.runtime.parameters import ParameterDescriptor, check, coerce
from veh_identification.runtime.qos import QoS, as_qos
from veh_identification.runtime.ros.logger import logger_of
from veh_identification.runtime.ros.translation import ros_descriptor, ros_qos, same_definition
from veh_identification.runtime.settable import Settable

Read = Callable[[bytes], Any]


class HeldGroup(rclpy.callback_groups.MutuallyExclusiveCallbackGroup):
    """Subscriptions that an executor leaves alone while `held`: our own loop takes them."""

    held = False

    def can_execute(self, entity: Any) -> bool:
        """Whether an executor may run the entity's callback now; events it always may."""
        if self.held and isinstance(entity, rclpy.subscription.Subscription):
            return False
        return bool(super().can_execute(entity))


class RosPublisher:
    """Publishes as bytes and measures the latency."""

    def __init__(self, publisher: Any, type_name: str, load: Load, qos: QoS) -> None:
        self.publisher = publisher
        self.qos = qos
        self._type_name = type_name
        self._load = load

    def publish(self, msg: Any) -> None:
        """Send one message, or the bytes of a serialised one."""
        if type(msg) is not bytes and hasattr(msg, '__msgtype__'):
            if msg.__msgtype__ != self._type_name:
                raise MessageError(
                    f'{self.publisher.topic_name} takes {self._type_name}, got {msg.__msgtype__}'
                )
            msg = messages.rosbags_backend().serialize(msg, self._type_name)
        self.publisher.publish(msg)
        self._load.published()

    def get_subscription_count(self) -> int:
        """How many subscriptions are matched."""
        return int(self.publisher.get_subscription_count())


class RosNode:
    """Hands the methods of a real rclpy node to a node class."""

    def __init__(self, node: rclpy.node.Node, managed: bool = False) -> None:
        """`managed`: parameters may be set while the node is not configured."""
        self.node = node
        self._logger = logger_of(node.get_logger())
        self.load = Load()
        self.inbox = Inbox(self.load)
        self.held = HeldGroup()
        self.configured = False
        self.subscriptions: list[Any] = []  # in the order of the inbox's inlets
        self._publishers: list[RosPublisher] = []
        self._timers: list[Any] = []
        self._services: list[Any] = []
        self._ros = create_ros_backend()
        self._settable = Settable(node.get_name()) if managed else None
        if self._settable is not None:
            node.add_on_set_parameters_callback(self._on_set)

    # Messages -----------------------------------------------------------------------------------

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> Any:
        """rclpy's create_subscription; messages that wait come in the order of publishing."""
        name = messages.type_name(msg_type)
        return self._take_in(name, topic, *self._reader(msg_type, name, callback), qos_profile)

    def create_raw_subscription(
        self,
        type_name: str,
        topic: str,
        callback: Callable[[bytes], None],
        qos_profile: QoS | int,
    ) -> Any:
        """Call `callback(bytes)` for every message, still serialised (onlookers)."""
        return self._take_in(type_name, topic, lambda data: data, callback, qos_profile)

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        """All topics that the graph knows by now."""
        return [(topic, list(types)) for topic, types in self.node.get_topic_names_and_types()]

    def offers(self) -> dict[str, tuple[str, QoS]]:
        """Topics that somebody publishes: type, and what a subscription to all may ask for."""
        found = {}
        for topic, types in self.node.get_topic_names_and_types():
            profiles = [one.qos_profile for one in self.node.get_publishers_info_by_topic(topic)]
            if profiles and types:
                reliable = all(one.reliability.name == 'RELIABLE' for one in profiles)
                latched = all(one.durability.name == 'TRANSIENT_LOCAL' for one in profiles)
                found[topic] = (types[0], QoS(reliable=reliable, transient_local=latched))
        return found

    def _take_in(
        self,
        name: str,
        topic: str,
        read: Read,
        receive: Callable[[Any], None],
        qos_profile: QoS | int,
    ) -> Any:
        qos = as_qos(qos_profile)
        resolved = self.node.resolve_topic_name(topic)
        queue = self.load.add_queue(resolved, qos.depth)
        inlet = Inlet(resolved, lambda: None, read, receive, queue, self._complain)

        def arrive(data: bytes) -> None:
            if self.inbox.open:
                inlet.hand_on(data)

        subscription = self._subscribe(self._ros.message_class(name), topic, arrive, qos, queue)
        inlet.take = taker(subscription)
        self.inbox.inlets.append(inlet)
        self.subscriptions.append(subscription)
        return subscription

    def _subscribe(
        self,
        ros_class: type,
        topic: str,
        callback: Callable[[bytes], None],
        qos: QoS,
        queue: QueueLoad,
    ) -> Any:
        def lost(event: Any) -> None:
            queue.lost += max(0, int(event.total_count_change))

        def create(events: SubscriptionEventCallbacks) -> Any:
            return self.node.create_subscription(
                ros_class,
                topic,
                callback,
                ros_qos(qos),
                callback_group=self.held,
                event_callbacks=events,
                raw=True,
            )

        try:
            return create(SubscriptionEventCallbacks(message_lost=lost))
        except UnsupportedEventTypeError:
            return create(SubscriptionEventCallbacks())

    def _reader(
        self, msg_type: type, type_name: str, callback: Callable[[Any], None]
    ) -> tuple[Read, Callable[[Any], None]]:
        """From bytes to what the callback wants, and the function that takes it."""
        backend = messages.rosbags_backend()
        own = hasattr(msg_type, '__msgtype__')
        if not own or not same_definition(type_name, backend, self._ros):
            return (lambda data: self._ros.deserialize(data, type_name)), callback

        def decode(data: bytes) -> Any:
            return backend.deserialize(data, type_name)

        if isinstance(callback, FieldCallback):
            reader = FieldReader(backend.templates(type_name), callback.fields, decode)
            return reader, callback.function
        return decode, callback

    def _complain(self, text: str) -> None:
        self._logger.error(text, throttle_duration_sec=5.0)

    def create_publisher(self, msg_type: type, topic: str, qos_profile: QoS | int) -> RosPublisher:
        """rclpy's create_publisher."""
        name, qos = messages.type_name(msg_type), as_qos(qos_profile)
        own = hasattr(msg_type, '__msgtype__')
        if own and not same_definition(name, messages.rosbags_backend(), self._ros):
            raise MessageError(
                f'topic {topic}: {name} of this ROS installation has other fields than that of '
                'ROS 2 Jazzy, which this node publishes'
            )
        made = self.node.create_publisher(self._ros.message_class(name), topic, ros_qos(qos))
        publisher = RosPublisher(made, name, self.load, qos)
        self._publishers.append(publisher)
        return publisher

    def flush(self, seconds: float) -> None:
        """Wait until all subscribers have what was published reliably, at most so long."""
        end = time.monotonic() + seconds
        for one in self._publishers:
            left = end - time.monotonic()
            if one.qos.reliable and left > 0.0:
                one.publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=left))

    # The rest is rclpy's own --------------------------------------------------------------------

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Any:
        """rclpy's create_timer; it stands still while nothing is let in."""
        timer = self.node.create_timer(timer_period_sec, callback)
        if not self.inbox.open:
            timer.cancel()
        self._timers.append(timer)
        return timer

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """rclpy's create_service; requests and responses are rosidl's objects."""
        name = getattr(srv_type, '__srvtype__', None)
        kind = srv_type if name is None else self._ros.service_class(name)
        service = self.node.create_service(kind, srv_name, callback)
        self._services.append(service)
        return service

    # Transitions of a managed node --------------------------------------------------------------

    def let_in(self, samples: bool) -> None:
        """Take samples and run timers, or do not."""
        self.inbox.deliver()  # of the time before: dropped, or used while they still are
        self.inbox.open = samples
        for timer in self._timers:
            if samples:
                timer.reset()
            else:
                timer.cancel()

    def clear(self) -> None:
        """Take away all that was made; what was set of parameters stays."""
        for subscription in self.subscriptions:
            self.node.destroy_subscription(subscription)
        for publisher in self._publishers:
            self.node.destroy_publisher(publisher.publisher)
        for timer in self._timers:
            self.node.destroy_timer(timer)
        for service in self._services:
            self.node.destroy_service(service)
        for made in (self.subscriptions, self._publishers, self._timers, self._services):
            made.clear()
        self.load = Load()
        self.inbox = Inbox(self.load)
        self.inbox.open = self.configured = False
        if self._settable is not None:
            self._settable.changes.clear()

    # Parameters ---------------------------------------------------------------------------------

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
        if self._settable is None:
            return self.node.declare_parameter(name, value, ros_descriptor(descriptor, value))
        if not self.node.has_parameter(name):
            # Free while not configured; what names a file is never.
            free = dataclasses.replace(descriptor, read_only=descriptor.path)
            self.node.declare_parameter(name, value, ros_descriptor(free, value))
            self._settable.declared[name] = value, descriptor
        return self.node.get_parameter(name)

    def when_changed(self, name: str, callback: Callable[[Any], None]) -> None:
        """Let a parameter be changed while the node runs; the callback is told its value."""
        if self._settable is not None:
            self._settable.changes[name] = callback

    def _on_set(self, parameters: list[Any]) -> SetParametersResult:
        assert self._settable is not None
        values = {one.name: one.value for one in parameters}
        reason = self._settable.set(values, self.configured)
        if reason:
            self.get_logger().warning(reason)
        return SetParametersResult(successful=not reason, reason=reason)

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

    def get_load(self) -> Load:
        """How the node keeps up."""
        return self.load

    def get_clock(self) -> Any:
        """rclpy's get_clock."""
        return self.node.get_clock()

    def get_logger(self) -> Any:
        """rclpy's get_logger, faster."""
        return self._logger

    def get_name(self) -> str:
        """rclpy's get_name."""
        return self.node.get_name()

    def get_namespace(self) -> str:
        """rclpy's get_namespace."""
        return self.node.get_namespace()

    def destroy_node(self) -> None:
        """rclpy's destroy_node."""
        self.node.destroy_node()


def taker(subscription: Any) -> Take:
    """Takes the bytes of the next message that waits, and when it was published."""
    handle, kind = subscription.handle, subscription.msg_type

    def take() -> tuple[Any, int] | None:
        taken = handle.take_message(kind, True)
        return None if taken is None else (taken[0], taken[1]['source_timestamp'])

    return take
