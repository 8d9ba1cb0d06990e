"""Under ROS: torques for wanted motions from an identified arm, and what is refused.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import numpy as np
import pytest
import rclpy
import yaml
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import SHARE, veh_id

from veh_identification.systems.robot.feedforward import feedforward, load_feedforward

FOLDER = Path(tempfile.mkdtemp(prefix='veh_id_feedforward_'))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
URDF = SHARE / 'config' / 'models' / 'arm_6_axis.urdf'
#: A cold start compiles what the identification has not.
WAIT = 120.0


@pytest.mark.launch_test
def generate_test_description() -> LaunchDescription:
    """An arm is simulated and identified; the node answers from that result."""
    veh_id('simulate', 'arm-free', '--out', str(FOLDER / 'run'), '--duration', '20')
    veh_id(
        'identify',
        'robot',
        str(FOLDER / 'run'),
        '--urdf',
        str(URDF),
        '--out',
        str(FOLDER / 'found'),
    )
    loaded = yaml.safe_load((SHARE / 'config' / 'feedforward.yaml').read_text('utf-8'))
    parameters = loaded['/**']['ros__parameters']
    parameters |= {'result': str(FOLDER / 'found'), 'urdf': str(URDF)}
    (FOLDER / 'config.yaml').write_text(yaml.safe_dump(loaded), 'utf-8')
    launch_file = SHARE / 'launch' / 'feedforward.launch.py'
    return LaunchDescription(
        [
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(launch_file)),
                launch_arguments={'config': str(FOLDER / 'config.yaml')}.items(),
            ),
            launch_testing.actions.ReadyToTest(),
        ]
    )


def trajectory(joints: list[str], motion: tuple[Any, Any, Any], times: Any) -> JointTrajectory:
    """A motion (points, joints) as people send it."""
    made = JointTrajectory(joint_names=joints)
    made.header.frame_id = 'base_link'
    for k, seconds in enumerate(times):
        span = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))
        point = JointTrajectoryPoint(time_from_start=span)
        point.positions, point.velocities, point.accelerations = (
            side[k].tolist() for side in motion
        )
        made.points.append(point)
    return made


class TestFeedforward(unittest.TestCase):
    """Answers are those of the function; mistakes are refused and told."""

    @classmethod
    def setUpClass(cls) -> None:
        rclpy.init()

    @classmethod
    def tearDownClass(cls) -> None:
        rclpy.shutdown()

    def setUp(self) -> None:
        self.node = rclpy.create_node('feedforward_test')
        self.addCleanup(self.node.destroy_node)
        self.answers: list[Any] = []
        self.deviations: list[Any] = []
        self.statuses: list[Any] = []
        create = self.node.create_subscription
        create(JointTrajectory, '/feedforward/feedforward', self.answers.append, 10)
        create(JointTrajectory, '/feedforward/feedforward_deviation', self.deviations.append, 10)
        create(DiagnosticArray, '/diagnostics', self.told, 10)
        self.wanted = self.node.create_publisher(JointTrajectory, '/wanted', 10)
        self.spin(lambda: self.wanted.get_subscription_count() == 1)
        self.arm = load_feedforward(FOLDER / 'found', URDF)
        times = np.arange(40) / 50.0
        wave = 2.0 * np.pi * 0.4 * times[:, None] + np.arange(6)
        self.times = times
        self.motion = (
            0.4 * np.sin(wave),
            0.4 * 2.0 * np.pi * 0.4 * np.cos(wave),
            -0.4 * (2.0 * np.pi * 0.4) ** 2 * np.sin(wave),
        )

    def told(self, message: DiagnosticArray) -> None:
        self.statuses += [one for one in message.status if one.name.endswith('feedforward')]

    def spin(self, until: Callable[[], Any]) -> None:
        end = time.monotonic() + WAIT
        while not until() and time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)
        self.assertTrue(until())

    def ask(self, joints: list[str], motion: tuple[Any, Any, Any]) -> None:
        self.wanted.publish(trajectory(joints, motion, self.times))

    def test_answers_and_refusals(self) -> None:
        joints = list(self.arm.joints)
        self.ask(joints, self.motion)
        self.spin(lambda: self.answers and self.deviations)
        torque, sigma = feedforward(self.arm, *self.motion)
        (answer,), (deviation,) = self.answers, self.deviations
        self.assertEqual(list(answer.joint_names), joints)
        found = np.array([point.effort for point in answer.points])
        np.testing.assert_allclose(found, torque, rtol=1e-9, atol=1e-9)
        found = np.array([point.effort for point in deviation.points])
        np.testing.assert_allclose(found, sigma, rtol=1e-9, atol=1e-9)
        self.assertEqual(answer.points[-1].time_from_start.nanosec, round(1e9 * self.times[-1]))
        # Another order of the names is understood.
        self.ask(joints[::-1], tuple(side[:, ::-1] for side in self.motion))
        self.spin(lambda: len(self.answers) == 2)
        found = np.array([point.effort for point in self.answers[1].points])
        np.testing.assert_allclose(found, torque, rtol=1e-9, atol=1e-9)
        # Degrees, a joint that lacks, rates in degrees: refused, and the diagnostics say why.
        q, qd, qdd = self.motion
        for motion, names, words in (
            (tuple(np.degrees(side) for side in self.motion), joints, 'degrees'),
            (tuple(side[:, :5] for side in self.motion), joints[:5], 'lacks joint_6'),
            ((q, np.degrees(qd) / 20.0, qdd), joints, 'are not the rates'),
        ):
            self.statuses.clear()
            self.ask(names, motion)
            self.spin(lambda words=words: any(words in one.message for one in self.statuses))
        self.assertEqual(len(self.answers), 2)

    def test_load_reads_the_folder_anew(self) -> None:
        client = self.node.create_client(Trigger, '/feedforward/load')
        self.assertTrue(client.wait_for_service(WAIT))
        future = client.call_async(Trigger.Request())
        self.spin(future.done)
        self.assertTrue(future.result().success)
        self.assertIn('verdict', future.result().message)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """The node ended cleanly."""

    def test_exit_codes(self, proc_info: Any) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)
