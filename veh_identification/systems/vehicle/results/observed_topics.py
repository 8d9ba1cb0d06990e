"""The observed topics: odometry, tf, joints and virtual sensors, as messages and as a bag."""

from __future__ import annotations

from typing import Any

from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import NANOSECONDS, header, new
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.estimate import (
    JOINTS,
    Odometry,
    VirtualSensors,
    joints,
    odometry,
    virtual_sensors,
)
from veh_identification.systems.vehicle.observer.online import VehicleSession

#: Every so many steps the slower topics are written.
SLOW = 5


class OdometryWriter:
    """Fills one nav_msgs/msg/Odometry again and again.

    To make all its nested messages anew costs as much as a tenth of a step of the observer.
    Publishers serialise before they return, so one message serves them all.
    """

    def __init__(self, world: str, base: str) -> None:
        self._message = m = new(
            'nav_msgs/msg/Odometry', header=header(0, world), child_frame_id=base
        )
        self._parts = (
            m.pose.pose.position,
            m.pose.pose.orientation,
            m.twist.twist.linear,
            m.twist.twist.angular,
        )

    def __call__(self, found: Odometry, stamp_ns: int) -> Any:
        """The message of an estimate; it stays valid until the next call."""
        m, stamp = self._message, self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
        p, q, v, w = self._parts
        p.x, p.y, p.z = found.position
        q.x, q.y, q.z, q.w = found.orientation
        v.x, v.y, v.z = found.linear
        w.x, w.y, w.z = found.angular
        m.pose.covariance = found.pose_covariance.ravel()
        m.twist.covariance = found.twist_covariance.ravel()
        return m


def transform_message(found: Odometry, stamp_ns: int, world: str, base: str) -> Any:
    """tf2_msgs/msg/TFMessage: the base link in the world."""
    return new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            new(
                'geometry_msgs/msg/TransformStamped',
                header=header(stamp_ns, world),
                child_frame_id=base,
                transform=(found.position, found.orientation),
            )
        ],
    )


def joints_message(positions: list[float], rates: list[float], stamp_ns: int) -> Any:
    """sensor_msgs/msg/JointState of wheels, suspension and rack."""
    return new(
        'sensor_msgs/msg/JointState',
        header=header(stamp_ns),
        name=list(JOINTS),
        position=positions,
        velocity=rates,
    )


def virtual_message(found: VirtualSensors, stamp_ns: int, base: str) -> Any:
    """veh_identification/msg/VirtualSensors."""
    return new(
        'veh_identification/msg/VirtualSensors',
        header=header(stamp_ns, base),
        wheels=list(CORNERS),
        tyre_forces=[
            new('geometry_msgs/msg/Vector3', x=row[0], y=row[1], z=row[2])
            for row in found.tyre_forces.tolist()
        ],
        suspension_strokes=found.strokes,
        sideslip=found.sideslip,
        unknown_force=(found.force, (0.0, 0.0, found.yaw_moment)),
        unknown_wheel_torques=found.wheel_torques,
    )


class ObservedBag:
    """Writes the observed topics step by step."""

    def __init__(self, writer: BagWriter) -> None:
        self._writer = writer
        self._odometry = OdometryWriter('odom', 'base_link')
        self._count = 0

    def step(self, session: VehicleSession, stamp_ns: int) -> None:
        """One step of the observer."""
        write, observed = self._writer.write_message, session.observed
        found = odometry(observed, session.filter.P)
        write('odometry/observed', self._odometry(found, stamp_ns), stamp_ns)
        self._count += 1
        if (self._count - 1) % SLOW:
            return
        write('/tf', transform_message(found, stamp_ns, 'odom', 'base_link'), stamp_ns)
        write('joint_states/observed', joints_message(*joints(observed), stamp_ns), stamp_ns)
        write(
            'error_ekf/virtual_sensors',
            virtual_message(virtual_sensors(observed, found), stamp_ns, 'base_link'),
            stamp_ns,
        )
