"""Under ROS: plays a drive of the buggy through the launch file and compares with its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

import launch_testing.actions
import launch_testing.asserts
import numpy as np
import pytest
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import SHARE, veh_id

from veh_identification.msg import ObserverStatus, VirtualSensors
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader

#: What the test received, for the comparison after the launch has ended with the bag.
STATES: dict[int, list[float]] = {}
FOLDER = Path(tempfile.mkdtemp(prefix='veh_id_launch_test_'))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
BAG, CONFIG, STORED = FOLDER / 'drive', FOLDER / 'config.yaml', FOLDER / 'state.npz'
DURATION = 5.0


@pytest.mark.launch_test
def generate_test_description():
    veh_id('simulate', 'buggy-circle', '--out', str(BAG), '--duration', str(DURATION))
    # Reliable subscriptions, so that nothing is lost between player and node, and a lag that
    # covers how far the topics of a busy machine come out of step: then stamps alone decide.
    config = yaml.safe_load((SHARE / 'config' / 'error_ekf_buggy.yaml').read_text('utf-8'))
    config['/**']['ros__parameters'] |= {
        'reliable_sensors': True,
        'file': str(STORED),
        'lag': 1.0,
        'window': 1.0,
    }
    CONFIG.write_text(yaml.safe_dump(config), 'utf-8')
    veh_id(
        'replay',
        str(BAG),
        '--graph',
        'error_ekf',
        '--config',
        str(CONFIG),
        '--out',
        str(FOLDER / 'replayed'),
    )
    launch_file = SHARE / 'launch' / 'error_ekf.launch.py'
    # Half speed: the test is about equality, whatever else this machine has to do.
    arguments = {'bag': str(BAG), 'config': str(CONFIG), 'bag_delay': '3.0', 'bag_rate': '0.5'}
    return LaunchDescription(
        [
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(launch_file)), launch_arguments=arguments.items()
            ),
            launch_testing.actions.ReadyToTest(),
        ]
    )


def vector(message: Odometry) -> list[float]:
    pose, twist = message.pose.pose, message.twist.twist
    parts = (pose.position, twist.linear, twist.angular)
    numbers = [getattr(part, axis) for part in parts for axis in 'xyz']
    numbers += [getattr(pose.orientation, axis) for axis in 'xyzw']
    return numbers + list(message.pose.covariance) + list(message.twist.covariance)


class TestErrorEkf(unittest.TestCase):
    """The node lives, answers and publishes while the bag plays."""

    @classmethod
    def setUpClass(cls) -> None:
        rclpy.init()
        cls.node = rclpy.create_node('error_ekf_test')
        cls.diagnostics: list[DiagnosticArray] = []
        cls.statuses: list[ObserverStatus] = []
        cls.virtual: list[VirtualSensors] = []
        subscribe, qos = cls.node.create_subscription, QoSProfile(depth=1000)
        subscribe(Odometry, 'odometry/observed', cls.take, QoSProfile(depth=5000))
        subscribe(DiagnosticArray, '/diagnostics', cls.diagnostics.append, qos)
        subscribe(ObserverStatus, 'error_ekf/status', cls.statuses.append, qos)
        subscribe(VirtualSensors, 'error_ekf/virtual_sensors', cls.virtual.append, qos)

    @classmethod
    def take(cls, message: Odometry) -> None:
        stamp = message.header.stamp
        STATES[stamp.sec * 1_000_000_000 + stamp.nanosec] = vector(message)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.node.destroy_node()
        rclpy.shutdown()

    def test_estimates_arrive_and_services_answer(self) -> None:
        clients = {
            name: self.node.create_client(Trigger, f'error_ekf/{name}')
            for name in ('save', 'load', 'reset')
        }
        self.assertTrue(clients['reset'].wait_for_service(timeout_sec=60.0))
        end, answer = time.monotonic() + 90.0, None
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)
            if STATES and answer is None:
                answer = clients['save'].call_async(Trigger.Request())
            finished = STATES and (max(STATES) - min(STATES)) * 1e-9 > DURATION - 1.5
            if finished and answer is not None and answer.done():
                break
        self.assertGreater(len(STATES), 1500)
        self.assertTrue(answer is not None and answer.done())
        self.assertTrue(answer.result().success, answer.result().message)
        self.assertTrue(STORED.exists())
        self.assertTrue(self.diagnostics, 'nothing on /diagnostics')
        self.assertTrue(self.virtual, 'no virtual sensors')
        gyroscope = next(s for s in self.statuses[-1].sensors if s.name == 'gyroscope')
        self.assertEqual(gyroscope.late + gyroscope.rejected + gyroscope.invalid, 0)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """Everything ended cleanly and equals the replay."""

    def test_exit_codes(self, proc_info) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_same_as_replay(self) -> None:
        replayed = {}
        with BagReader(FOLDER / 'replayed') as reader:
            for item in reader.messages(['/odometry/observed']):
                replayed[messages.stamp_ns(item.message)] = vector(item.message)
        common = sorted(set(replayed) & set(STATES))
        self.assertGreater(len(common), 0.8 * len(replayed))
        worst = max(
            float(np.abs(np.subtract(replayed[stamp], STATES[stamp])).max()) for stamp in common
        )
        print(f'{len(common)} common stamps of {len(replayed)}, largest difference {worst:.3g}')
        self.assertLess(worst, 1e-12)
