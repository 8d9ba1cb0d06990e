"""How a node under real ROS ends, and what its launch makes of that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import FluidPressure  # noqa: E402

#: A node whose last word comes when its input is over.
PROGRAM = """
import sys
from veh_identification.runtime.cdr.fields import FieldCallback
from veh_identification.runtime.graph import NodeDescription
from veh_identification.runtime.messages import message_class, new
from veh_identification.runtime.qos import LATCHED
from veh_identification.runtime.ros import run_node

KIND = 'sensor_msgs/msg/FluidPressure'

class Summing:
    def __init__(self, node):
        self.total = 0.0
        self.result = node.create_publisher(message_class(KIND), 'result', LATCHED)
        callback = FieldCallback(['fluid_pressure'], self.add)
        node.create_subscription(message_class(KIND), 'input', callback, 10)

    def add(self, values):
        if values[0] < 0.0:
            raise RuntimeError('a callback fails')
        self.total += values[0]

    def finish(self):
        self.result.publish(new(KIND, fluid_pressure=self.total))
        print('finished', self.total, flush=True)

sys.exit(run_node(NodeDescription('summing', '__main__:Summing'), sys.argv))
"""


@pytest.fixture
def listener():
    """A node of the test: sends numbers, keeps results."""
    rclpy.init()
    node = rclpy.create_node('listener')
    node.heard = []
    qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(
        FluidPressure, 'result', lambda msg: node.heard.append(msg.fluid_pressure), qos
    )
    node.sender = node.create_publisher(FluidPressure, 'input', 10)
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def summing(tmp_path, listener):
    """The node in its own process, matched with the test's."""
    program = tmp_path / 'summing.py'
    program.write_text(PROGRAM, 'utf-8')
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:  # a node that outlives a set-up that failed is heard by all tests that follow
        assert process.stdout.readline() == 'summing: ready\n'
        spin(listener, lambda: listener.sender.get_subscription_count() == 1)
        yield process
    finally:
        process.kill()


def spin(node, until, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    assert until()


def send(listener, value: float) -> None:
    listener.sender.publish(FluidPressure(fluid_pressure=value))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_last_word_is_heard_and_the_status_is_zero(summing, listener, number) -> None:
    for value in (1.0, 2.0):
        send(listener, value)
    listener.sender.wait_for_all_acked()
    time.sleep(0.3)
    for _ in range(3):  # a second one does not break the end
        summing.send_signal(number)
        time.sleep(0.02)
    spin(listener, lambda: listener.heard)
    out, err = summing.communicate(timeout=30)
    assert summing.returncode == 0, err
    assert listener.heard == [3.0]
    assert out == 'finished 3.0\n'
    assert err == ''


def test_silence_is_an_end_after_which_input_may_go_on(summing, listener) -> None:
    send(listener, 1.0)
    spin(listener, lambda: listener.heard == [1.0])
    send(listener, 5.0)
    spin(listener, lambda: listener.heard == [1.0, 6.0])


def test_a_callback_that_fails_ends_the_node_with_a_status(summing, listener) -> None:
    send(listener, -1.0)
    _, err = summing.communicate(timeout=30)
    assert summing.returncode not in (0, -signal.SIGSEGV)
    assert 'a callback fails' in err


def test_a_node_that_fails_makes_the_launch_fail(tmp_path: Path) -> None:
    config = tmp_path / 'wrong.yaml'
    config.write_text('/**: {ros__parameters: {no_such_parameter: 1}}\n', 'utf-8')
    done = subprocess.run(
        ['ros2', 'launch', 'veh_identification', 'parallel_identification.launch.py']
        + [f'config:={config}'],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, 'ROS_LOG_DIR': str(tmp_path)},
        check=False,
    )
    assert done.returncode == 1
    assert 'failed with status' in done.stdout + done.stderr
    assert 'no_such_parameter' in done.stdout + done.stderr
