"""Runs one node under rclpy: from its arguments to its exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rclpy
import rclpy.executors
import yaml
from rclpy.signals import SignalHandlerOptions

from veh_identification.errors import VehIdError
from veh_identification.runtime import messages
from veh_identification.runtime.graph import NodeDescription, find_node
from veh_identification.runtime.ros.loop import Loop
from veh_identification.runtime.ros.managed import Life
from veh_identification.runtime.stopping import StopRequest

#: Seconds for the last results to reach their subscribers; `ros2 launch` grants five in all.
FLUSH = 1.0


def run_node(description: NodeDescription, args: Sequence[str] | None = None) -> int:
    """Run one node until Ctrl-C, SIGTERM or a shutdown; the exit status is 0 then."""
    messages.select_backend('rosbags')
    with StopRequest() as stop:
        # rclpy's own handlers would end the context before the node could say its last word.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        life = Life(description, stop)
        try:
            _work(life, stop)
        except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
            pass
        except VehIdError as error:
            return error.exit_status
        finally:
            life.node.destroy_node()
            rclpy.try_shutdown()
    return 0


def _work(life: Life, stop: StopRequest) -> None:
    try:
        life.start()
    except Exception:
        # An interrupt while kernels are being compiled may come out as anything.
        if stop.asked:
            return
        raise
    loop = Loop(life.node)
    try:
        loop.spin(lambda: stop.asked or life.ended, life.heard)
        life.end()
        life.node.flush(FLUSH)
    finally:
        loop.close()


def command_line(
    files: Iterable[str | Path],
    values: Mapping[str, Any],
    remappings: Iterable[tuple[str, str]],
    namespace: str,
) -> list[str]:
    """ROS arguments that say the same as the options of `veh-id run`."""
    words = ['veh-id', '--ros-args', '-r', f'__ns:={namespace}']
    for path in files:
        words += ['--params-file', str(path)]
    for name, value in values.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000).splitlines()[0]
        words += ['-p', f'{name}:={text}']
    for source, target in remappings:
        words += ['-r', f'{source}:={target}']
    return words


def main(name: str, args: Sequence[str] | None = None) -> int:
    """Entry of the executables in scripts/."""
    return run_node(find_node(name), args)
