"""A managed node on real ROS: transitions, what is taken when, and which parameters may be set."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import FluidPressure  # noqa: E402

#: Sums what it hears times `gain`; `offset` may be changed while it runs.
PROGRAM = """
import sys
from veh_identification.errors import UsageError
from veh_identification.runtime.graph import NodeDescription
from veh_identification.runtime.messages import message_class, new
from veh_identification.runtime.parameters import ParameterDescriptor
from veh_identification.runtime.qos import LATCHED
from veh_identification.runtime.ros import run_node

KIND = 'sensor_msgs/msg/FluidPressure'

class Summing:
    def __init__(self, node):
        self.total, self.offset = 0.0, 0.0
        limits = ParameterDescriptor('factor', minimum=0.0, maximum=100.0)
        self.gain = node.declare_parameter('gain', 1.0, limits).value
        node.declare_parameter('offset', 0.0, ParameterDescriptor(read_only=False))
        node.when_changed('offset', self.change)
        if self.gain == 13.0:
            raise UsageError('a gain of 13 does not work')
        if self.gain == 14.0:
            raise RuntimeError('nobody thought of 14')
        self.result = node.create_publisher(message_class(KIND), 'result', LATCHED)
        node.create_subscription(message_class(KIND), 'input', self.add, 10)
        node.create_timer(0.05, lambda: print('tick', flush=True))

    def change(self, value):
        self.offset = value

    def add(self, message):
        self.total += self.gain * message.fluid_pressure + self.offset

    def finish(self):
        self.result.publish(new(KIND, fluid_pressure=self.total))

sys.exit(run_node(NodeDescription('summing', '__main__:Summing'), sys.argv))
"""


class Manager:
    """What a lifecycle manager does, and a sender and listener beside it."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('manager')
        self.heard: list[float] = []
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(
            FluidPressure, 'result', lambda msg: self.heard.append(msg.fluid_pressure), latched
        )
        self.sender = self.node.create_publisher(FluidPressure, 'input', 10)
        create = self.node.create_client
        self._change = create(ChangeState, '/summing/change_state')
        self._state = create(GetState, '/summing/get_state')
        self._set = create(SetParameters, '/summing/set_parameters')

    def call(self, client, request):
        assert client.wait_for_service(30.0)
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=30.0)
        assert future.result() is not None
        return future.result()

    def change(self, transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return self.call(self._change, request).success

    def state(self) -> str:
        return self.call(self._state, GetState.Request()).current_state.label

    def set(self, name: str, value: float) -> str:
        """The reason of a refusal."""
        kind = ParameterType.PARAMETER_DOUBLE
        one = Parameter(name=name, value=ParameterValue(type=kind, double_value=value))
        (result,) = self.call(self._set, SetParameters.Request(parameters=[one])).results
        assert result.successful == (not result.reason)
        return result.reason

    def send(self, value: float) -> None:
        self.spin(lambda: self.sender.get_subscription_count() == 1)
        self.sender.publish(FluidPressure(fluid_pressure=value))
        assert self.sender.wait_for_all_acked()
        time.sleep(0.3)

    def spin(self, until) -> None:
        end = time.monotonic() + 30.0
        while not until() and time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)
        assert until()


@pytest.fixture
def manager():
    rclpy.init()
    made = Manager()
    yield made
    made.node.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def start(tmp_path):
    """The node in its own process."""
    program = tmp_path / 'summing.py'
    program.write_text(PROGRAM, 'utf-8')
    started = []

    def run(*arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, str(program), '--ros-args', *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()


def test_a_manager_takes_it_through_its_life(manager, start) -> None:
    process = start('-p', 'autostart:=false', '-p', 'gain:=2.0')
    assert manager.state() == 'unconfigured'
    assert not manager.change(Transition.TRANSITION_ACTIVATE)  # not possible now: said, no end
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.state() == 'inactive'
    manager.send(100.0)  # nobody takes it
    assert manager.change(Transition.TRANSITION_ACTIVATE)
    manager.send(1.0)
    assert manager.change(Transition.TRANSITION_DEACTIVATE)
    manager.spin(lambda: manager.heard == [2.0])
    manager.send(100.0)
    assert manager.change(Transition.TRANSITION_ACTIVATE)  # goes on where it was
    manager.send(3.0)
    assert manager.change(Transition.TRANSITION_DEACTIVATE)
    manager.spin(lambda: manager.heard == [2.0, 8.0])
    assert manager.change(Transition.TRANSITION_CLEANUP)
    assert manager.state() == 'unconfigured'
    assert manager.set('gain', 5.0) == ''
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.change(Transition.TRANSITION_ACTIVATE)
    manager.send(1.0)
    assert manager.change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    manager.spin(lambda: manager.heard == [2.0, 8.0, 5.0])
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out.startswith('summing: ready\n'), 'timers do not run before it is active'
    assert 'transition 3 is refused' in err


def test_parameters_of_a_running_node(manager, start) -> None:
    process = start()
    manager.spin(lambda: manager.sender.get_subscription_count() == 1)
    assert manager.state() == 'active'
    reason = manager.set('gain', 7.0)
    assert 'gain: is read when the node is configured' in reason
    assert 'may be changed: offset' in reason
    assert manager.set('offset', 10.0) == ''
    manager.send(1.0)
    process.send_signal(signal.SIGINT)
    manager.spin(lambda: manager.heard == [11.0])
    assert process.wait(30) == 0


def test_a_configuration_that_fails_can_be_mended(manager, start) -> None:
    process = start('-p', 'autostart:=false', '-p', 'gain:=13.0')
    assert not manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.state() == 'unconfigured'
    assert manager.set('gain', 101.0)
    assert manager.set('gain', 14.0) == ''
    assert not manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.state() == 'unconfigured'
    assert manager.set('gain', 4.0) == ''
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.change(Transition.TRANSITION_INACTIVE_SHUTDOWN)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert 'a gain of 13 does not work' in err
    assert 'nobody thought of 14' in err


@pytest.mark.parametrize(('gain', 'words'), [('13.0', 'a gain of 13'), ('14.0', 'nobody')])
def test_by_itself_a_failure_ends_it_with_a_status(start, gain, words) -> None:
    process = start('-p', f'gain:={gain}')
    _, err = process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert words in err
