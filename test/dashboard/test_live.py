"""Looking on over zenoh: what is published before and after, and the stamps of named sensors."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from veh_identification.dashboard import Collector
from veh_identification.dashboard.collector import DIAGNOSTICS, ESTIMATES
from veh_identification.dashboard.intake import Intake, has_header, header_stamp
from veh_identification.dashboard.live import watch_zenoh
from veh_identification.dashboard.view import head
from veh_identification.runtime import messages
from veh_identification.runtime.qos import LATCHED, SENSOR_DATA
from veh_identification.runtime.zenoh import ZenohEngine, open_router

pytestmark = pytest.mark.zenoh
IMU = 'sensor_msgs/msg/Imu'


@pytest.fixture(scope='module')
def endpoint() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        free = f'tcp/127.0.0.1:{probe.getsockname()[1]}'
    with open_router(free):
        yield free


def test_live_nodes_are_seen(endpoint: str, talker: Any) -> None:
    estimate = talker.estimate(0.0, {'Mc': (1500.0, 2.0)}, verdict='yes', headline='Yes.')
    facts = {'topic': 'imu/data', 'received': '1', 'rate [Hz]': '10.0'}
    report = talker.diagnostics(0.0, {'verdict': 'yes'}, {'imu': (0, 'ok', facts)})
    collector = Collector()
    with ZenohEngine(endpoint=endpoint) as nodes, ZenohEngine(endpoint=endpoint) as onlooker:
        car = nodes.create_node('car')
        latched = car.create_publisher(messages.message_class(ESTIMATES), '~/parameters', LATCHED)
        latched.publish(estimate)  # long before anybody looks on
        watch_zenoh(onlooker, Intake(collector))
        assert onlooker.spin_until(lambda: bool(collector.estimates), 10.0)
        told = car.create_publisher(messages.message_class(DIAGNOSTICS), '/diagnostics', 10)
        imu = car.create_publisher(messages.message_class(IMU), 'imu/data', SENSOR_DATA)
        now = nodes.create_node('clock').get_clock()

        def heard() -> bool:
            told.publish(report)
            stamp = now.now().nanoseconds - 40_000_000
            imu.publish(messages.new(IMU, header=messages.header(stamp)))
            meter = collector.meters.get('/imu/data')
            return meter is not None and meter.received >= 5

        assert onlooker.spin_until(heard, 10.0)
    (node,) = head(collector)['nodes']
    assert (node['name'], node['verdict']) == ('/car', 'yes')
    assert node['estimate']['parameters'][0]['value'] == 1500.0
    (sensor,) = node['sensors']
    assert 0.040 <= sensor['lag'] < 2.0


def test_stamps_are_read_from_the_first_bytes() -> None:
    stamp = 1_700_000_000_123_456_789
    payload = messages.serialize(messages.new(IMU, header=messages.header(stamp, 'imu_link')))
    assert header_stamp(payload) == stamp
    assert header_stamp(payload[:11]) == 0
    assert header_stamp(b'\0\0\0\0' + struct.pack('>iI', 1, 2)) == 0, 'big-endian: not known'
    assert has_header(IMU)
    assert not has_header('geometry_msgs/msg/Twist')
    assert not has_header('nobody/msg/Knows')
