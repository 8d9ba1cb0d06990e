"""Quality of service, the part of it that our nodes choose."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class QoS:
    """Reliability, durability and queue depth of a publisher or subscription."""

    depth: int = 10
    reliable: bool = True
    transient_local: bool = False

    def with_reliability(self, reliable: bool) -> QoS:
        """The same profile with another reliability."""
        return replace(self, reliable=reliable)


#: Sensors: best effort as rclpy's sensor-data profile, but deep enough for two seconds at 500 Hz:
#: on a machine that is full of other work a process may wait so long.
SENSOR_DATA = QoS(depth=1000, reliable=False)
#: Outputs.
SYSTEM_DEFAULT = QoS(depth=10)
#: Results that a late subscriber wants too.
LATCHED = QoS(depth=1, transient_local=True)
#: /tf_static has many publishers, each with a latched message of its own.
STATIC_TF = QoS(depth=100, transient_local=True)


def as_qos(profile: QoS | int) -> QoS:
    """Accept a bare depth as rclpy does."""
    return profile if isinstance(profile, QoS) else QoS(depth=int(profile))


def incompatibility(offered: QoS, requested: QoS) -> str:
    """Why a subscription does not match a publisher (empty when it does), by the DDS rules."""
    if requested.reliable and not offered.reliable:
        return 'the publisher offers best effort but the subscription requests reliable'
    if requested.transient_local and not offered.transient_local:
        return 'the publisher is volatile but the subscription requests transient local'
    return ''
