"""The ros engine on a real rclpy: parameters, quality of service, messages, services."""

from __future__ import annotations

import inspect
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

from rcl_interfaces.msg import Log  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from veh_identification.errors import ParameterError  # noqa: E402
from veh_identification.runtime import messages  # noqa: E402
from veh_identification.runtime.cdr.fields import FieldCallback  # noqa: E402
from veh_identification.runtime.parameters import ParameterDescriptor, refuse_unknown  # noqa: E402
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, QoS  # noqa: E402
from veh_identification.runtime.ros import Loop, RosNode, command_line, ros_qos  # noqa: E402
from veh_identification.runtime.ros import loop as loop_module  # noqa: E402
from veh_identification.runtime.ros.translation import same_definition  # noqa: E402


@pytest.fixture
def ros_backend():
    messages.select_backend('ros')
    yield
    messages.select_backend('rosbags')


@pytest.fixture
def make_node(ros_backend):
    nodes = []
    rclpy.init()

    def make(**overrides) -> RosNode:
        parameter = rclpy.parameter.Parameter
        values = [parameter(name, value=value) for name, value in overrides.items()]
        node = rclpy.node.Node(f'test_{len(nodes)}', parameter_overrides=values)
        nodes.append(node)
        return RosNode(node)

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def test_quality_of_service() -> None:
    sensor, latched = ros_qos(SENSOR_DATA), ros_qos(LATCHED)
    assert sensor.reliability == rclpy.qos.ReliabilityPolicy.BEST_EFFORT
    assert latched.durability == rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL
    assert ros_qos(7).depth == 7


def test_parameters_are_declared_checked_and_described(make_node) -> None:
    node = make_node(rate=50, names=['a', 'b'])
    descriptor = ParameterDescriptor('output rate', 'Hz', minimum=1.0, maximum=1000.0)
    assert node.declare_parameter('rate', 100.0, descriptor).value == 50
    assert list(node.declare_parameter('names', [], ParameterDescriptor()).value) == ['a', 'b']
    described = node.node.describe_parameter('rate')
    assert described.description == 'output rate [Hz]'
    assert described.read_only


def test_wrong_parameters_are_named(make_node) -> None:
    node = make_node(rate=5000.0, mode=3, misspelt=1)
    with pytest.raises(ParameterError, match='rate: 5000 Hz is above its maximum 1000 Hz'):
        node.declare_parameter('rate', 100.0, ParameterDescriptor('', 'Hz', 1.0, 1000.0))
    with pytest.raises(ParameterError, match='mode: expected a string'):
        node.declare_parameter('mode', 'auto')
    with pytest.raises(ParameterError, match='unknown parameters misspelt, mode, rate'):
        refuse_unknown(node)


def test_publish_subscribe_and_service(make_node) -> None:
    node = make_node()
    heard = []
    kind = messages.message_class('veh_identification/msg/FusedState')
    node.create_subscription(kind, 'state', heard.append, 10)
    publisher = node.create_publisher(kind, 'state', 10)
    message = messages.new(
        'veh_identification/msg/FusedState',
        header=messages.header(5_000_000_007, 'odom'),
        joint_names=['a'],
        joint_positions=[1.5],
        joint_valid=[True],
    )
    node.create_service(
        messages.service_class('std_srvs/srv/Trigger'),
        '~/reset',
        lambda request, response: response,
    )
    publisher.publish(message)
    for _ in range(50):  # also an executor of rclpy takes them while no loop does
        if heard:
            break
        rclpy.spin_once(node.node, timeout_sec=0.1)
    assert messages.stamp_ns(heard[0]) == 5_000_000_007
    assert list(heard[0].joint_positions) == [1.5]
    copy = messages.deserialize(messages.serialize(message), messages.type_name(message))
    assert copy == message


@pytest.fixture
def own_messages():
    """Nodes under the engine work on our own message classes."""
    messages.select_backend('rosbags')


def spin(loop: Loop, until) -> int:
    """Run the loop; returns how many messages it counted."""
    count = 0
    for _ in range(100):
        count += loop.spin_once()
        if until():
            break
    assert until()
    return count


@pytest.fixture(params=['kept wait set', 'executor of rclpy'])
def make_loop(request, monkeypatch):
    """The loop as it is, and where rclpy's inner workings are missing."""
    if request.param == 'executor of rclpy':
        monkeypatch.delattr(loop_module.rclpy_implementation, 'WaitSet')
    loops = []

    def make(node: RosNode) -> Loop:
        if request.param == 'executor of rclpy':
            # What its own executor needs is put back when the loop has looked for it.
            loop = Loop(node)
            monkeypatch.undo()
        else:
            loop = Loop(node)
        assert node.held.held == (request.param == 'kept wait set')
        loops.append(loop)
        return loop

    yield make
    for loop in loops:
        loop.close()


def test_fields_messages_and_bytes(make_node, own_messages, make_loop) -> None:
    node = make_node()
    fields, whole = [], []
    kind = messages.message_class('sensor_msgs/msg/JointState')
    callback = FieldCallback(['header.stamp.nanosec', 'name', 'position[]'], fields.append)
    node.create_subscription(kind, 'joints', callback, 10)
    node.create_subscription(kind, 'joints', whole.append, 10)
    publisher = node.create_publisher(kind, 'joints', 10)
    loop = make_loop(node)
    message = messages.new(
        'sensor_msgs/msg/JointState', header=messages.header(7), name=['a'], position=[1.5]
    )
    publisher.publish(message)
    publisher.publish(messages.serialize(message))
    assert spin(loop, lambda: len(fields) == 2 and len(whole) == 2) == 4
    assert [tuple(one) for one in fields] == [(7, ['a'], (1.5,))] * 2
    assert messages.type_name(whole[0]) == 'sensor_msgs/msg/JointState'
    assert whole[0].position.tolist() == [1.5]


def test_messages_that_waited_come_in_the_order_of_publishing(make_node, own_messages) -> None:
    node, heard = make_node(), []
    kind = messages.message_class('sensor_msgs/msg/FluidPressure')
    publishers = []
    for topic in ('a', 'b'):
        callback = FieldCallback(['fluid_pressure'], lambda values: heard.append(values[0]))
        node.create_subscription(kind, topic, callback, 100)
        publishers.append(node.create_publisher(kind, topic, 100))
    loop = Loop(node)
    for k in range(20):
        publishers[k // 3 % 2].publish(
            messages.new('sensor_msgs/msg/FluidPressure', fluid_pressure=float(k))
        )
    spin(loop, lambda: len(heard) == 20)
    loop.close()
    assert heard == sorted(heard)
    assert node.get_load().report().facts['queue /a'] == '11 of 100'


def test_timers_services_and_later_entities_are_served(make_node, own_messages, make_loop) -> None:
    node, other = make_node(), make_node()
    fired, heard, answers = [], [], []
    loop = make_loop(node)
    node.create_timer(0.05, lambda: fired.append(1))

    def answer(_request, response):
        response.message, response.success = 'done', True
        return response

    service = messages.service_class('std_srvs/srv/Trigger')
    node.create_service(service, '~/reset', answer)
    kind = messages.message_class('sensor_msgs/msg/FluidPressure')
    callback = FieldCallback(['fluid_pressure'], heard.append)
    node.create_subscription(kind, 'later', callback, 10)
    client = other.node.create_client(Trigger, f'{node.get_name()}/reset')
    spin(loop, client.service_is_ready)
    future = client.call_async(client.srv_type.Request())
    future.add_done_callback(lambda done: answers.append(done.result().message))
    node.create_publisher(kind, 'later', 10).publish(
        messages.new('sensor_msgs/msg/FluidPressure', fluid_pressure=2.0)
    )

    def all_served() -> bool:
        rclpy.spin_once(other.node, timeout_sec=0)
        return bool(fired and heard and answers)

    spin(loop, all_served)
    assert heard == [(2.0,)]
    assert answers == ['done']


def test_messages_that_flow_are_not_waited_for_each_time(
    make_node, own_messages, monkeypatch
) -> None:
    """A wait costs three times as much as a look into all queues; timers are served as well."""
    node, other = make_node(), make_node()
    heard, fired, waits = [], [], []
    kind = messages.message_class('sensor_msgs/msg/FluidPressure')
    node.create_subscription(kind, 'flow', heard.append, 100)
    node.create_timer(0.05, lambda: fired.append(1))
    publisher = other.create_publisher(kind, 'flow', 100)
    loop = Loop(node)
    wait = loop_module.Waiting.wait
    monkeypatch.setattr(
        loop_module.Waiting, 'wait', lambda self, most: waits.append(1) or wait(self, most)
    )
    # However slow the machine is: a wait counts as one that found messages at once.
    monkeypatch.setattr(loop_module, 'AT_ONCE', 10.0)
    monkeypatch.setattr(loop_module, 'TICK', 0.2)
    for _ in range(300):
        publisher.publish(messages.new('sensor_msgs/msg/FluidPressure'))
        loop.spin_once()
    spin(loop, lambda: len(heard) == 300 and fired)
    loop.close()
    assert len(waits) < 150


def test_events_of_subscriptions_are_served(make_node, own_messages, make_loop) -> None:
    node, other, events = make_node(), make_node(), []
    kind = messages.message_class('sensor_msgs/msg/FluidPressure')
    subscription = node.create_subscription(kind, 'best', lambda message: None, QoS(10))
    for handler in subscription.event_handlers:
        handler.callback = events.append
    other.create_publisher(kind, 'best', QoS(10, reliable=False))
    spin(make_loop(node), lambda: events)


def test_the_clock_of_a_bag_drives_time_and_timers(make_node, own_messages) -> None:
    node, other = make_node(use_sim_time=True), make_node()
    fired = []
    node.create_timer(1.0, lambda: fired.append(node.get_clock().now().nanoseconds))
    loop = Loop(node)
    clock = other.create_publisher(messages.message_class('rosgraph_msgs/msg/Clock'), '/clock', 1)
    seconds = iter(range(10, 1000))

    def go_on() -> bool:
        stamp = messages.time_from_ns(next(seconds) * 500_000_000)
        clock.publish(messages.new('rosgraph_msgs/msg/Clock', clock=stamp))
        return len(fired) >= 3

    spin(loop, go_on)
    loop.close()
    assert fired[0] >= 5_000_000_000


def test_an_exception_of_a_callback_comes_out(make_node, own_messages, make_loop) -> None:
    node = make_node()

    def fail() -> None:
        raise ParameterError('as it should')

    node.create_timer(0.01, fail)
    loop = make_loop(node)
    with pytest.raises(ParameterError, match='as it should'):
        spin(loop, lambda: False)


def test_definitions_are_those_of_this_installation(make_node) -> None:
    node = make_node()
    ours, theirs = messages.rosbags_backend(), messages.active_backend()
    for name in ('sensor_msgs/msg/Imu', 'diagnostic_msgs/msg/DiagnosticArray'):
        assert same_definition(name, ours, theirs)
    assert node.get_load() is node.load


def test_the_log_asks_nobody_which_module_logs(make_node, monkeypatch) -> None:
    def dear(*_: object) -> None:
        raise AssertionError('looks at every module that is loaded')

    node = make_node()
    heard = []
    node.node.create_subscription(Log, '/rosout', heard.append, 10)
    monkeypatch.setattr(inspect, 'getframeinfo', dear)
    log = node.get_logger()
    for _ in range(3):
        log.warning('a sensor is stuck', once=True)
    log.debug('not at this level')
    end = time.monotonic() + 20.0
    while not heard and time.monotonic() < end:
        rclpy.spin_once(node.node, timeout_sec=0.1)
    rclpy.spin_once(node.node, timeout_sec=0.3)
    (one,) = heard
    assert (one.name, one.msg, one.level) == (node.get_name(), 'a sensor is stuck', 30)
    assert one.function == 'test_the_log_asks_nobody_which_module_logs' and one.line > 0


def test_command_line_says_the_same_as_the_options() -> None:
    words = command_line(['a.yaml'], {'rate': 5, 'names': ['x', 'y']}, [('in', 'out')], '/car')
    assert words == [
        'veh-id',
        '--ros-args',
        '-r',
        '__ns:=/car',
        '--params-file',
        'a.yaml',
        '-p',
        'rate:=5',
        '-p',
        'names:=[x, y]',
        '-r',
        'in:=out',
    ]
