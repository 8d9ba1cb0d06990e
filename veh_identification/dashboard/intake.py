"""Serialised messages of any topic into a collector: decoded only as often as anybody can see."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from veh_identification.dashboard.collector import ODOMETRY, Collector
from veh_identification.errors import MessageError
from veh_identification.runtime.messages import NANOSECONDS, deserialize, field_types

#: Nanoseconds between the poses of one topic that are looked at.
POSE_PERIOD = 50_000_000
_STAMP = struct.Struct('<iI')
_LITTLE_ENDIAN = 1

#: Hands on (topic, type, bytes, time) to somebody else.
Tap = Callable[[str, str, bytes, int], None]


class Intake:
    """Takes bytes; what cannot be read is counted. `tap` sees everything."""

    def __init__(self, collector: Collector, tap: Tap | None = None) -> None:
        self.collector = collector
        self.tap = tap
        self.unreadable = 0
        self._looked: dict[str, int] = {}
        self._stamped: dict[str, bool] = {}

    def wants(self, type_name: str) -> bool:
        """Whether messages of a type are wanted, whatever their topic."""
        return self.tap is not None or type_name in self.collector.types

    def take(
        self,
        topic: str,
        type_name: str,
        payload: bytes,
        time_ns: int,
        decode: Callable[[bytes, str], Any] = deserialize,
    ) -> None:
        """One message that came at `time_ns`: shown, or else only its stamp looked at."""
        if self.tap is not None:
            self.tap(topic, type_name, payload, time_ns)
        if type_name not in self.collector.types:
            self._meter(topic, type_name, payload, time_ns)
            return
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

    def _meter(self, topic: str, type_name: str, payload: bytes, time_ns: int) -> None:
        if type_name not in self._stamped:
            self._stamped[type_name] = has_header(type_name)
        if self._stamped[type_name]:
            self.collector.meter(topic, time_ns, header_stamp(payload))


def has_header(type_name: str) -> bool:
    """Whether messages of a type begin with a stamp; False for types that are not known here."""
    try:
        return next(iter(field_types(type_name).values()), '') == 'std_msgs/msg/Header'
    except MessageError:
        return False


def header_stamp(payload: bytes) -> int:
    """Nanoseconds of the header that a serialised message begins with; 0 where it cannot be."""
    if len(payload) < 12 or payload[1] != _LITTLE_ENDIAN:
        return 0
    seconds, nanoseconds = _STAMP.unpack_from(payload, 4)
    return int(seconds * NANOSECONDS + nanoseconds)
