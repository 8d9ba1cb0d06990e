"""Quality of service as recordings store it: YAML, with numbers up to version 8, words after."""

from __future__ import annotations

from typing import Any

from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.configuration.reading import parse
from veh_identification.runtime.qos import QoS

#: What rmw writes for "no limit".
INFINITE = QosTime(9223372036, 854775807)
TRANSIENT_LOCAL = (1, 'transient_local')
BEST_EFFORT = (2, 'best_effort')
KEEP_ALL = (2, 'keep_all')
#: What the field of a profile can hold.
LARGEST_DEPTH = 2**31 - 1


def parse_qos(profiles: str | list[dict[str, Any]]) -> QoS:
    """Profile of a topic; of several publishers the most demanding offer that all make."""
    try:
        entries = parse(profiles, 'profiles').data if isinstance(profiles, str) else profiles
    except ConfigurationError:
        entries = None
    listed = entries if isinstance(entries, list) else []
    entries = [entry for entry in listed if isinstance(entry, dict)]
    if not entries:
        return QoS()
    return QoS(
        depth=max(_depth(entry) for entry in entries),
        reliable=all(entry.get('reliability') not in BEST_EFFORT for entry in entries),
        transient_local=all(entry.get('durability') in TRANSIENT_LOCAL for entry in entries),
    )


def _depth(entry: dict[str, Any]) -> int:
    if entry.get('history') in KEEP_ALL:
        return 1000
    try:
        return min(max(int(entry.get('depth', 10)), 1), LARGEST_DEPTH)
    except (TypeError, ValueError, OverflowError):
        return 10


def rosbags_qos(qos: QoS) -> Qos:
    """Profile in the form that rosbags' writer takes."""
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=qos.depth,
        reliability=QosReliability.RELIABLE if qos.reliable else QosReliability.BEST_EFFORT,
        durability=(
            QosDurability.TRANSIENT_LOCAL if qos.transient_local else QosDurability.VOLATILE
        ),
        deadline=INFINITE,
        lifespan=INFINITE,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=INFINITE,
        avoid_ros_namespace_conventions=False,
    )
