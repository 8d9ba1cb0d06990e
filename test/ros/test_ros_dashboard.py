"""The dashboard on a real rclpy: latched results of before, and sensors that a node names."""

from __future__ import annotations

import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

from veh_identification.dashboard import Collector  # noqa: E402
from veh_identification.dashboard.collector import DIAGNOSTICS, ESTIMATES  # noqa: E402
from veh_identification.dashboard.intake import Intake  # noqa: E402
from veh_identification.dashboard.live import RosDashboard  # noqa: E402
from veh_identification.dashboard.view import head  # noqa: E402
from veh_identification.runtime import messages  # noqa: E402
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA, SYSTEM_DEFAULT  # noqa: E402
from veh_identification.runtime.ros import Loop, RosNode  # noqa: E402

IMU = 'sensor_msgs/msg/Imu'


@pytest.fixture
def nodes():
    messages.select_backend('rosbags')
    rclpy.init()
    made = [RosNode(rclpy.node.Node(name)) for name in ('car', 'dashboard')]
    yield made
    for one in made:
        one.destroy_node()
    rclpy.shutdown()


def test_live_nodes_are_seen(nodes) -> None:
    car, onlooker = nodes
    parameter = {'name': 'Mc', 'value': 1500.0, 'std': 2.0, 'excited': True}
    latched = car.create_publisher(messages.message_class(ESTIMATES), '~/parameters', LATCHED)
    latched.publish(messages.new(ESTIMATES, verdict='yes', parameters=[parameter]))
    told = car.create_publisher(
        messages.message_class(DIAGNOSTICS), '/diagnostics', SYSTEM_DEFAULT
    )
    imu = car.create_publisher(messages.message_class(IMU), 'imu/data', SENSOR_DATA)
    facts = {
        'car': {'verdict': 'yes'},
        'car: imu': {'topic': 'imu/data', 'received': '1', 'rate [Hz]': '10.0'},
    }
    report = messages.new(
        DIAGNOSTICS,
        status=[
            {'name': name, 'values': [{'key': k, 'value': v} for k, v in values.items()]}
            for name, values in facts.items()
        ],
    )
    collector = Collector()
    RosDashboard('dashboard', '', intake=Intake(collector)).create(onlooker)
    loop = Loop(onlooker)
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        told.publish(report)
        imu.publish(messages.new(IMU, header=messages.header(time.time_ns() - 40_000_000)))
        loop.spin_once()
        meter = collector.meters.get('/imu/data')
        if meter is not None and meter.received >= 5 and collector.estimates:
            break
    loop.close()
    (node,) = head(collector)['nodes']
    assert (node['name'], node['verdict']) == ('/car', 'yes')
    assert node['estimate']['parameters'][0]['value'] == 1500.0
    (sensor,) = node['sensors']
    assert 0.040 <= sensor['lag'] < 5.0
