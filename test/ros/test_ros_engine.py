"""The ros engine on a real rclpy: parameters, quality of service, messages, services."""

from __future__ import annotations

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

from veh_identification.errors import ParameterError  # noqa: E402
from veh_identification.runtime import messages  # noqa: E402
from veh_identification.runtime.parameters import ParameterDescriptor, refuse_unknown  # noqa: E402
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA  # noqa: E402
from veh_identification.runtime.ros import RosNode, command_line, ros_qos  # noqa: E402


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
    for _ in range(50):
        if heard:
            break
        rclpy.spin_once(node.node, timeout_sec=0.1)
    assert messages.stamp_ns(heard[0]) == 5_000_000_007
    assert list(heard[0].joint_positions) == [1.5]
    copy = messages.deserialize(messages.serialize(message), messages.type_name(message))
    assert copy == message


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
