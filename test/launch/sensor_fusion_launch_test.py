"""Under ROS: plays a bag through the launch file and compares with replay of the same bag.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
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
from ament_index_python.packages import get_package_share_directory
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from veh_identification.msg import FusedState
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader

#: What the test received, for the comparison after the launch has ended with the bag.
STATES: dict[int, list[float]] = {}
FOLDER = Path(tempfile.mkdtemp(prefix='veh_id_launch_test_'))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
BAG = FOLDER / 'drive'
SHARE = Path(get_package_share_directory('veh_identification'))
CONFIG = FOLDER / 'config.yaml'
DURATION = 6.0


def veh_id(*arguments: str) -> None:
    subprocess.run([sys.executable, '-m', 'veh_identification.cli.main', *arguments], check=True)


@pytest.mark.launch_test
def generate_test_description():
    veh_id('simulate', 'drive', '--out', str(BAG), '--duration', str(DURATION))
    # Reliable subscriptions, so that nothing is lost between player and node.
    config = yaml.safe_load((SHARE / 'config' / 'sensor_fusion_drive.yaml').read_text('utf-8'))
    config['/**']['ros__parameters']['reliable_sensors'] = True
    CONFIG.write_text(yaml.safe_dump(config), 'utf-8')
    veh_id(
        'replay',
        str(BAG),
        '--graph',
        'sensor_fusion',
        '--config',
        str(CONFIG),
        '--out',
        str(FOLDER / 'replayed'),
    )
    launch_file = SHARE / 'launch' / 'sensor_fusion.launch.py'
    return LaunchDescription(
        [
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(launch_file)),
                launch_arguments={
                    'bag': str(BAG),
                    'config': str(CONFIG),
                    'bag_delay': '5.0',
                }.items(),
            ),
            launch_testing.actions.ReadyToTest(),
        ]
    )


def vector(message: FusedState) -> list[float]:
    pose, twist, acceleration = message.pose, message.twist, message.acceleration
    parts = (pose.position, twist.linear, twist.angular, acceleration.linear, acceleration.angular)
    numbers = [getattr(part, axis) for part in parts for axis in 'xyz']
    numbers += [getattr(pose.orientation, axis) for axis in 'xyzw']
    return (
        numbers
        + list(message.joint_positions)
        + list(message.joint_velocities)
        + list(message.joint_accelerations)
    )


class TestSensorFusion(unittest.TestCase):
    """The node lives, answers and publishes while the bag plays."""

    @classmethod
    def setUpClass(cls) -> None:
        rclpy.init()
        cls.node = rclpy.create_node('sensor_fusion_test')
        cls.diagnostics: list[DiagnosticArray] = []
        cls.node.create_subscription(FusedState, 'fused/state', cls.take, QoSProfile(depth=1000))
        cls.node.create_subscription(
            DiagnosticArray, '/diagnostics', cls.diagnostics.append, QoSProfile(depth=10)
        )

    @classmethod
    def take(cls, message: FusedState) -> None:
        stamp = message.header.stamp
        STATES[stamp.sec * 1_000_000_000 + stamp.nanosec] = vector(message)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.node.destroy_node()
        rclpy.shutdown()

    def test_states_and_diagnostics_arrive(self) -> None:
        client = self.node.create_client(Trigger, 'sensor_fusion/reset')
        self.assertTrue(client.wait_for_service(timeout_sec=20.0))
        # The launch ends a second after the bag: stop when the last states are due.
        enough = DURATION - 0.5
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)
            if STATES and (max(STATES) - min(STATES)) * 1e-9 > enough:
                break
        self.assertGreater(len(STATES), 100)
        self.assertTrue(self.diagnostics, 'nothing on /diagnostics')


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """Everything ended cleanly."""

    def test_exit_codes(self, proc_info) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_same_as_replay(self) -> None:
        replayed = {}
        with BagReader(FOLDER / 'replayed') as reader:
            for item in reader.messages(['/fused/state']):
                replayed[messages.stamp_ns(item.message)] = vector(item.message)
        common = sorted(set(replayed) & set(STATES))
        self.assertGreater(len(common), 0.85 * len(replayed))
        differences = np.array(
            [np.abs(np.subtract(replayed[stamp], STATES[stamp])) for stamp in common]
        )
        # Where both have no value the difference is NaN minus NaN.
        worst = float(np.nanmax(differences))
        print(f'{len(common)} common stamps of {len(replayed)}, largest difference {worst:.3g}')
        self.assertLess(worst, 1e-9)
        missing = np.isnan(np.array([replayed[stamp] for stamp in common]))
        self.assertTrue(
            np.array_equal(missing, np.isnan(np.array([STATES[stamp] for stamp in common])))
        )
