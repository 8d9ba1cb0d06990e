"""The program that uses the observer's state without ROS: it relies on nothing old or unsure."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest
from mistaken.common import Item

from veh_identification.runtime import messages
from veh_identification.runtime.replay.engine import ReplayEngine

START, STEP = 1_000_000_000, 10_000_000
FLOAT = 'std_msgs/msg/Float64'


def usable_speed() -> Any:
    pytest.importorskip('zenoh')
    path = Path(__file__).parents[2] / 'examples' / 'speed_without_ros.py'
    spec = importlib.util.spec_from_file_location('speed_without_ros', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.UsableSpeed


def odometry(time_ns: int, variance: float, age_ns: int = 0) -> Item:
    kind = 'nav_msgs/msg/Odometry'
    covariance = [variance] + [0.0] * 35
    message = messages.new(
        kind,
        header=messages.header(time_ns - age_ns, 'odom'),
        twist={'twist': {'linear': (12.5, 0.0, 0.0)}, 'covariance': covariance},
    )
    return Item(time_ns, '/odometry/observed', message, kind)


def status(time_ns: int, mode: str) -> Item:
    kind = 'veh_identification/msg/ObserverStatus'
    message = messages.new(kind, header=messages.header(time_ns, 'odom'), mode=mode)
    return Item(time_ns, '/error_ekf/status', message, kind)


class Sink:
    """Keeps the speeds."""

    def __init__(self) -> None:
        self.speeds: list[float] = []

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        if topic == '/speed/usable':
            self.speeds.append(messages.deserialize(payload, FLOAT).data)


@pytest.mark.parametrize(
    ('mode', 'variance', 'age_ns', 'usable'),
    [
        ('running', 0.01, 0, True),
        ('waiting', 0.01, 0, False),
        ('running', 1.0, 0, False),
        ('running', math.nan, 0, False),
        ('running', 0.01, 500_000_000, False),
    ],
)
def test_speed_is_told_while_it_is_to_be_relied_on(
    mode: str, variance: float, age_ns: int, usable: bool
) -> None:
    create, sink = usable_speed(), Sink()
    engine = ReplayEngine(START, sink=sink, log_level='fatal')
    create(engine.create_node('usable_speed'))
    stamps = [START + k * STEP for k in range(1, 60)]
    engine.run([status(stamps[0], mode), *(odometry(one, variance, age_ns) for one in stamps)])
    assert len(sink.speeds) > 5
    assert all(one == 12.5 for one in sink.speeds[2:]) is usable
    assert all(math.isnan(one) for one in sink.speeds) is not usable
