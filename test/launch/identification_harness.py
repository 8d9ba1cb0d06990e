"""What the launch tests of the identification nodes share: a bag played against its replay."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import launch_testing.actions
import numpy as np
import rclpy
import yaml
from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.qos import DurabilityPolicy, QoSProfile

from veh_identification.msg import ParameterEstimates
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader

SHARE = Path(get_package_share_directory('veh_identification'))


def veh_id(*arguments: str) -> None:
    """The command line of this very installation."""
    subprocess.run([sys.executable, '-m', 'veh_identification.cli.main', *arguments], check=True)


class PlayedBag:
    """One graph, one simulated bag; `estimates` by stamp as ROS delivered them."""

    def __init__(self, graph: str, config: str, scenario: str, duration: float) -> None:
        self.graph, self.scenario, self.duration = graph, scenario, duration
        self.folder = Path(tempfile.mkdtemp(prefix=f'veh_id_{graph}_'))
        self.bag, self.config = self.folder / 'bag', self.folder / 'config.yaml'
        # Reliable subscriptions, so that nothing is lost between player and node.
        loaded = yaml.safe_load((SHARE / 'config' / config).read_text('utf-8'))
        loaded['/**']['ros__parameters']['reliable_sensors'] = True
        self.config.write_text(yaml.safe_dump(loaded), 'utf-8')
        self.estimates: dict[int, list[float]] = {}

    def description(self) -> LaunchDescription:
        """Simulate, replay, and the launch file that plays the same bag."""
        veh_id('simulate', self.scenario, '--out', str(self.bag), '--duration', str(self.duration))
        veh_id(
            'replay', str(self.bag), '--graph', self.graph, '--config', str(self.config),
            '--out', str(self.folder / 'replayed'),
        )  # fmt: skip
        launch_file = SHARE / 'launch' / f'{self.graph}.launch.py'
        arguments = {'bag': str(self.bag), 'config': str(self.config), 'bag_delay': '5.0'}
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
        stamp = message.header.stamp
        self.estimates[stamp.sec * 1_000_000_000 + stamp.nanosec] = [
            number for p in message.parameters for number in (p.value, p.std)
        ]

    def receive(self, topic: str) -> None:
        """Listen until as many estimates came as the replay made, or the launch has ended."""
        wanted = len(self.replayed(topic))
        rclpy.init()
        node = rclpy.create_node(f'{self.graph}_test')
        qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(ParameterEstimates, topic, self.take, qos)
        end = time.monotonic() + self.duration + 60.0
        while time.monotonic() < end and len(self.estimates) < wanted:
            rclpy.spin_once(node, timeout_sec=0.05)
        node.destroy_node()
        rclpy.shutdown()

    def replayed(self, topic: str) -> dict[int, list[float]]:
        """The same from the replay."""
        found = {}
        with BagReader(self.folder / 'replayed') as reader:
            for item in reader.messages([topic]):
                found[messages.stamp_ns(item.message)] = [
                    number for p in item.message.parameters for number in (p.value, p.std)
                ]
        return found

    def worst_difference(self, topic: str) -> tuple[int, int, float]:
        """Common stamps, replayed stamps, largest relative difference at common stamps."""
        replayed = self.replayed(topic)
        common = sorted(set(replayed) & set(self.estimates))
        worst = 0.0
        for stamp in common:
            ours, theirs = np.array(replayed[stamp]), np.array(self.estimates[stamp])
            if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
                return len(common), len(replayed), np.inf
            scale = np.maximum(np.abs(ours), 1e-9)
            worst = max(worst, float(np.nanmax(np.abs(ours - theirs) / scale)))
        return len(common), len(replayed), worst
