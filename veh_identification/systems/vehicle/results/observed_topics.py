"""The observed topics: odometry, tf, joints and virtual sensors, as messages and as a bag."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import NANOSECONDS, header, new
from veh_identification.runtime.messages.rows import RowWriter
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.estimate import (
    JOINTS,
    POSE_COVARIANCE,
    ROW,
    Odometry,
    VirtualSensors,
    joints,
    known_row,
    virtual_sensors,
)
from veh_identification.systems.vehicle.observer.online import VehicleSession
from veh_identification.types import Array

ODOMETRY, TRANSFORMS = 'nav_msgs/msg/Odometry', 'tf2_msgs/msg/TFMessage'
#: Every so many steps the slower topics are written.
SLOW = 5


class _Row(NamedTuple):
    stamp_ns: int
    row: Array


def _odometry_writer(world: str, base: str) -> RowWriter[_Row]:
    def make(state: _Row) -> Any:
        return new(ODOMETRY, header=header(state.stamp_ns, world), child_frame_id=base)

    runs = {'pose.pose.position.x': (ROW, lambda state: state.row)}
    return RowWriter(make, ['header.stamp'], runs)


def _transform_writer(world: str, base: str) -> RowWriter[_Row]:
    def make(state: _Row) -> Any:
        moved = new(
            'geometry_msgs/msg/TransformStamped',
            header=header(state.stamp_ns, world),
            child_frame_id=base,
        )
        return new(TRANSFORMS, transforms=[moved])

    pose = (POSE_COVARIANCE, lambda state: state.row[:POSE_COVARIANCE])
    runs = {'transforms[0].transform.translation.x': pose}
    return RowWriter(make, ['transforms[0].header.stamp'], runs)


class ObservedMessages:
    """Fills one message of each topic again and again; each stays valid until it is filled anew.

    To make nested messages anew costs as much as a tenth of a step of the observer. Publishers
    serialise before they return, so one message serves them all.
    """

    def __init__(self, world: str, base: str) -> None:
        self._odometry = _odometry_writer(world, base)
        self._transform = _transform_writer(world, base)
        self._joints = new('sensor_msgs/msg/JointState', header=header(0), name=list(JOINTS))
        self._virtual = new(
            'veh_identification/msg/VirtualSensors',
            header=header(0, base),
            wheels=list(CORNERS),
            tyre_forces=[new('geometry_msgs/msg/Vector3') for _ in CORNERS],
        )

    def odometry(self, row: Array, stamp_ns: int) -> bytes:
        """nav_msgs/msg/Odometry of an estimate (`known_row`), serialised."""
        return self._odometry(_Row(stamp_ns, row))

    def transform(self, row: Array, stamp_ns: int) -> bytes:
        """tf2_msgs/msg/TFMessage: the base link in the world, serialised."""
        return self._transform(_Row(stamp_ns, row))

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
        writer, observed, made = self._writer, session.observed, self._made
        row = known_row(session.filter)
        writer.write('odometry/observed', ODOMETRY, made.odometry(row, stamp_ns), stamp_ns)
        self._count += 1
        if (self._count - 1) % SLOW:
            return
        writer.write('/tf', TRANSFORMS, made.transform(row, stamp_ns), stamp_ns)
        write = writer.write_message
        write('joint_states/observed', made.joints(*joints(observed), stamp_ns), stamp_ns)
        sensors = virtual_sensors(observed, Odometry.of(row))
        write('error_ekf/virtual_sensors', made.virtual(sensors, stamp_ns), stamp_ns)
