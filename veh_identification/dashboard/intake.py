"""Serialised messages into a collector: decoded only as often as anybody can see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veh_identification.dashboard.collector import ODOMETRY, Collector
from veh_identification.errors import MessageError
from veh_identification.runtime.messages import deserialize

#: Nanoseconds between the poses of one topic that are looked at.
POSE_PERIOD = 50_000_000


class Intake:
    """Takes bytes; what cannot be read is counted."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.unreadable = 0
        self._looked: dict[str, int] = {}

    def take(
        self,
        topic: str,
        type_name: str,
        payload: bytes,
        time_ns: int,
        decode: Callable[[bytes, str], Any] = deserialize,
    ) -> None:
        """One message that came at `time_ns`."""
        if type_name == ODOMETRY:
            if 0 <= time_ns - self._looked.get(topic, -POSE_PERIOD) < POSE_PERIOD:
                return
            self._looked[topic] = time_ns
        try:
            message = decode(payload, type_name)
        except MessageError:
            self.unreadable += 1
            return
        self.collector.take(topic, type_name, message, time_ns)
