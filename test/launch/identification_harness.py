"""What the launch tests of the identification nodes share: a bag played against its replay.

A launch test is a module with `generate_test_description` and test cases; `launch_test_of` makes
both for one graph.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
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
from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.qos import DurabilityPolicy, QoSProfile

from veh_identification.msg import ParameterEstimates
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.messages import stamp_ns

#: Slower than it happened: the launch ends with its bag, and what a busy machine has not worked
#: off by then is lost.
RATE = 0.4
SHARE = Path(get_package_share_directory('veh_identification'))


def veh_id(*arguments: str) -> None:
    """The command line of this very installation."""
    subprocess.run([sys.executable, '-m', 'veh_identification.cli.main', *arguments], check=True)


def numbers(message: Any) -> list[float]:
    """Values and deviations."""
    return [number for p in message.parameters for number in (p.value, p.std)]


def by_samples(message: Any) -> int:
    """The same samples must give the same estimate, whenever the process got to report it."""
    return int(message.sample_count)


def by_stamp(message: Any) -> int:
    """For estimates whose stamp is that of their last sample."""
    return stamp_ns(message)


class PlayedBag:
    """One graph, one simulated bag; `estimates` as ROS delivered them, under their key."""

    def __init__(
        self,
        graph: str,
        config: str,
        scenario: str,
        duration: float,
        key: Callable[[Any], int] = by_samples,
    ) -> None:
        self.graph, self.scenario, self.duration, self.key = graph, scenario, duration, key
        self.folder = Path(tempfile.mkdtemp(prefix=f'veh_id_{graph}_'))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.bag, self.config = self.folder / 'bag', self.folder / 'config.yaml'
        # Reliable subscriptions, so that nothing is lost between player and node.
        loaded = yaml.safe_load((SHARE / 'config' / config).read_text('utf-8'))
        section = loaded.get('/**') or loaded['sensor_fusion']
        section['ros__parameters']['reliable_sensors'] = True
        self.config.write_text(yaml.safe_dump(loaded), 'utf-8')
        self.estimates: dict[int, list[float]] = {}

    def description(self) -> LaunchDescription:
        """Simulate, replay, and the launch file that plays the same bag."""
        veh_id('simulate', self.scenario, '--out', str(self.bag), '--duration', str(self.duration))
        veh_id(
            'replay',
            str(self.bag),
            '--graph',
            self.graph,
            '--config',
            str(self.config),
            '--out',
            str(self.folder / 'replayed'),
        )
        launch_file = SHARE / 'launch' / f'{self.graph}.launch.py'
        arguments = {
            'bag': str(self.bag),
            'config': str(self.config),
            'bag_delay': '5.0',
            'bag_rate': str(RATE),
        }
        return LaunchDescription(
            [
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(str(launch_file)),
                    launch_arguments=arguments.items(),
                ),
                launch_testing.actions.ReadyToTest(),
            ]
        )

    def take(self, message: ParameterEstimates) -> None:
        """Keep one message."""
        if message.parameters:
            self.estimates[self.key(message)] = numbers(message)

    def receive(self, topic: str) -> None:
        """Listen until the last estimate that the replay made, or until it is overdue."""
        last = max(self.replayed(topic))
        rclpy.init()
        node = rclpy.create_node(f'{self.graph}_test')
        qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(ParameterEstimates, topic, self.take, qos)
        end = time.monotonic() + self.duration / RATE + 60.0
        while time.monotonic() < end and last not in self.estimates:
            rclpy.spin_once(node, timeout_sec=0.05)
        node.destroy_node()
        rclpy.shutdown()

    def replayed(self, topic: str) -> dict[int, list[float]]:
        """The same from the replay."""
        found = {}
        with BagReader(self.folder / 'replayed') as reader:
            for item in reader.messages([topic]):
                if item.message.parameters:
                    found[self.key(item.message)] = numbers(item.message)
        return found

    def worst_difference(self, topic: str) -> tuple[int, int, float]:
        """Common estimates, replayed ones, largest relative difference of the common ones.

        Infinite where the last one did not come, or where only one side has a number.
        """
        replayed = self.replayed(topic)
        common = sorted(set(replayed) & set(self.estimates))
        if max(replayed) not in common:
            return len(common), len(replayed), np.inf
        worst = 0.0
        for samples in common:
            ours, theirs = np.array(replayed[samples]), np.array(self.estimates[samples])
            if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
                return len(common), len(replayed), np.inf
            scale = np.maximum(np.abs(ours), 1e-9)
            worst = max(worst, float(np.nanmax(np.abs(ours - theirs) / scale)))
        return len(common), len(replayed), worst


def launch_test_of(
    played: PlayedBag, topic: str
) -> tuple[Callable[[], LaunchDescription], type[unittest.TestCase], type[unittest.TestCase]]:
    """generate_test_description, the test while the bag plays, the tests after the shutdown."""

    @pytest.mark.launch_test
    def generate_test_description() -> LaunchDescription:
        return played.description()

    class TestIdentification(unittest.TestCase):
        """Estimates arrive while the bag plays."""

        def test_estimates_arrive(self) -> None:
            played.receive(topic)
            self.assertTrue(played.estimates, f'nothing on {topic}')

    @launch_testing.post_shutdown_test()
    class TestShutdown(unittest.TestCase):
        """Everything ended cleanly and equals the replay."""

        def test_exit_codes(self, proc_info: Any) -> None:
            launch_testing.asserts.assertExitCodes(proc_info)

        def test_same_as_replay(self) -> None:
            common, replayed, worst = played.worst_difference(topic)
            print(f'{common} of {replayed} estimates, largest relative difference {worst:.3g}')
            self.assertLess(worst, 1e-9)

    return generate_test_description, TestIdentification, TestShutdown
