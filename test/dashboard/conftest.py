"""Messages as the nodes publish them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from veh_identification.dashboard import Collector
from veh_identification.dashboard.collector import DIAGNOSTICS, ESTIMATES, ODOMETRY, STATUS
from veh_identification.runtime import messages

START = 1_700_000_000_000_000_000


def stamp(seconds: float) -> Any:
    return messages.header(START + round(seconds * 1e9), 'odom')


class Talker:
    """Tells a collector what a node would, at chosen times."""

    def __init__(self, collector: Collector, node: str = '/car') -> None:
        self.collector, self.node = collector, node

    def _take(self, topic: str, kind: str, message: Any, at: float) -> None:
        self.collector.take(topic, kind, message, START + round(at * 1e9))

    def estimate(self, at: float, values: Mapping[str, tuple[float, float]], **fields: Any) -> Any:
        entries = [
            {'name': name, 'unit': 'kg', 'value': value, 'std': std, 'a_priori': 1.0}
            | {'rel_std_percent': 1.0, 'well_identified': True, 'excited': True}
            for name, (value, std) in values.items()
        ]
        message = messages.new(ESTIMATES, header=stamp(at), parameters=entries, **fields)
        self._take(f'{self.node}/parameters', ESTIMATES, message, at)
        return message

    def diagnostics(
        self,
        at: float,
        facts: Mapping[str, str],
        sensors: Mapping[str, tuple[int, str, Mapping[str, str]]] | None = None,
        level: int = 0,
    ) -> Any:
        name = self.node.rpartition('/')[2]
        rows = {name: (level, 'text', facts)}
        rows |= {f'{name}: {sensor}': told for sensor, told in (sensors or {}).items()}
        message = messages.new(
            DIAGNOSTICS,
            header=stamp(at),
            status=[
                {
                    'name': key,
                    'level': severity,
                    'message': text,
                    'values': [{'key': k, 'value': v} for k, v in entries.items()],
                }
                for key, (severity, text, entries) in rows.items()
            ],
        )
        self._take('/diagnostics', DIAGNOSTICS, message, at)
        return message

    def status(self, at: float, **sensor: Any) -> Any:
        message = messages.new(STATUS, header=stamp(at), mode='running', sensors=[sensor])
        self._take(f'{self.node}/status', STATUS, message, at)
        return message

    def odometry(self, at: float, x: float, y: float, covariance: Any = None) -> Any:
        message = messages.new(ODOMETRY, header=stamp(at), child_frame_id='base_link')
        message.pose.pose.position.x, message.pose.pose.position.y = x, y
        message.pose.pose.orientation.w = 1.0
        if covariance is not None:
            message.pose.covariance = covariance
        self._take('/odometry/observed', ODOMETRY, message, at)
        return message


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def collector(clock: Clock) -> Collector:
    return Collector(clock)


@pytest.fixture
def talker(collector: Collector) -> Talker:
    return Talker(collector)


@pytest.fixture
def another(collector: Collector) -> Any:
    """Talkers of other nodes."""
    return lambda node: Talker(collector, node)
