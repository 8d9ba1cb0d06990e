"""The observed topics: odometry, tf, joints and virtual sensors, as messages and as a bag."""

from __future__ import annotations

from typing import Any

import numpy as np

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


class ObservedMessages:
    """Fills one message of each topic again and again; each stays valid until it is filled anew.

    To make nested messages anew costs as much as a tenth of a step of the observer. Publishers
    serialise before they return, so one message serves them all.
    """

    def __init__(self, world: str, base: str) -> None:
        self._odometry = m = new(
            'nav_msgs/msg/Odometry', header=header(0, world), child_frame_id=base
        )
        self._parts = (
            m.pose.pose.position,
            m.pose.pose.orientation,
            m.twist.twist.linear,
            m.twist.twist.angular,
        )
        moved = new(
            'geometry_msgs/msg/TransformStamped', header=header(0, world), child_frame_id=base
        )
        self._transform, self._moved = new('tf2_msgs/msg/TFMessage', transforms=[moved]), moved
        self._joints = new('sensor_msgs/msg/JointState', header=header(0), name=list(JOINTS))
        self._virtual = new(
            'veh_identification/msg/VirtualSensors',
            header=header(0, base),
            wheels=list(CORNERS),
            tyre_forces=[new('geometry_msgs/msg/Vector3') for _ in CORNERS],
        )

    def odometry(self, found: Odometry, stamp_ns: int) -> Any:
        """nav_msgs/msg/Odometry of an estimate."""
        m = self._odometry
        _stamp(m.header, stamp_ns)
        p, q, v, w = self._parts
        p.x, p.y, p.z = found.position
        q.x, q.y, q.z, q.w = found.orientation
        v.x, v.y, v.z = found.linear
        w.x, w.y, w.z = found.angular
        m.pose.covariance = found.pose_covariance.ravel()
        m.twist.covariance = found.twist_covariance.ravel()
        return m

    def transform(self, found: Odometry, stamp_ns: int) -> Any:
        """tf2_msgs/msg/TFMessage: the base link in the world."""
        _stamp(self._moved.header, stamp_ns)
        p, q = self._moved.transform.translation, self._moved.transform.rotation
        p.x, p.y, p.z = found.position
        q.x, q.y, q.z, q.w = found.orientation
        return self._transform

    def joints(self, positions: list[float], rates: list[float], stamp_ns: int) -> Any:
        """sensor_msgs/msg/JointState of wheels, suspension and rack."""
        m = self._joints
        _stamp(m.header, stamp_ns)
        m.position, m.velocity = np.array(positions), np.array(rates)
        return m

    def virtual(self, found: VirtualSensors, stamp_ns: int) -> Any:
        """veh_identification/msg/VirtualSensors."""
        m = self._virtual
        _stamp(m.header, stamp_ns)
        for vector, row in zip(m.tyre_forces, found.tyre_forces.tolist(), strict=True):
            vector.x, vector.y, vector.z = row
        m.suspension_strokes, m.sideslip = found.strokes, found.sideslip
        force = m.unknown_force.force
        force.x, force.y, force.z = found.force
        m.unknown_force.torque.z = found.yaw_moment
        m.unknown_wheel_torques = found.wheel_torques
        return m


def _stamp(of: Any, stamp_ns: int) -> None:
    of.stamp.sec, of.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)


class ObservedBag:
    """Writes the observed topics step by step."""

    def __init__(self, writer: BagWriter) -> None:
        self._writer = writer
        self._made = ObservedMessages('odom', 'base_link')
        self._count = 0

    def step(self, session: VehicleSession, stamp_ns: int) -> None:
        """One step of the observer."""
        write, observed = self._writer.write_message, session.observed
        found = odometry(observed, session.filter.P)
        made = self._made
        write('odometry/observed', made.odometry(found, stamp_ns), stamp_ns)
        self._count += 1
        if (self._count - 1) % SLOW:
            return
        write('/tf', made.transform(found, stamp_ns), stamp_ns)
        write('joint_states/observed', made.joints(*joints(observed), stamp_ns), stamp_ns)
        sensors = virtual_sensors(observed, found)
        write('error_ekf/virtual_sensors', made.virtual(sensors, stamp_ns), stamp_ns)
