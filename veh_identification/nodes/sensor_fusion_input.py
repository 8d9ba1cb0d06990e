"""From sensor messages to checked tuples of floats; a sentence part says why a sample is refused.

Each parser returns a tuple for `FusionCore.push` or the reason (a string) for which the sample
cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veh_identification.fusion.geodesy import is_plausible_fix
from veh_identification.fusion.rotation import is_unit
from veh_identification.fusion.sensor_options import GnssOptions, ImuOptions

Parsed = tuple[float, ...] | str
Parser = Callable[[Any], Parsed]

NOT_FINITE = 'NaN or infinite'
NOT_UNIT = 'quaternion is not of unit length'


def imu_parser(options: ImuOptions) -> Parser:
    """sensor_msgs/Imu: angular velocity, linear acceleration, and the orientation if known."""
    max_rate, max_acceleration = options.max_rate, options.max_acceleration

    def parse(msg: Any) -> Parsed:
        w, a = msg.angular_velocity, msg.linear_acceleration
        wx, wy, wz, ax, ay, az = w.x, w.y, w.z, a.x, a.y, a.z
        # A sum is finite only if every term is.
        if not math.isfinite(wx + wy + wz + ax + ay + az):
            return NOT_FINITE
        if max(abs(wx), abs(wy), abs(wz)) > max_rate:
            return 'angular velocity out of range'
        if max(abs(ax), abs(ay), abs(az)) > max_acceleration:
            return 'acceleration out of range'
        # REP-145: -1 in the first covariance entry marks a quantity that is not measured.
        if msg.angular_velocity_covariance[0] == -1.0 or (
            msg.linear_acceleration_covariance[0] == -1.0
        ):
            return 'angular velocity or acceleration not measured'
        if msg.orientation_covariance[0] == -1.0:
            return (wx, wy, wz, ax, ay, az)
        o = msg.orientation
        q = (o.x, o.y, o.z, o.w)
        if is_unit(q):
            return (wx, wy, wz, ax, ay, az, *q)
        if options.use_orientation or not math.isfinite(sum(q)):
            return NOT_UNIT
        # Drivers without orientation often leave it all zero; the rest of the sample is good.
        return (wx, wy, wz, ax, ay, az) if not any(q) else NOT_UNIT

    return parse


def gnss_parser(options: GnssOptions) -> Parser:
    """sensor_msgs/NavSatFix: latitude, longitude, altitude, horizontal and vertical variance."""

    def parse(msg: Any) -> Parsed:
        if msg.status.status < 0:
            return 'no fix'
        latitude, longitude, altitude = msg.latitude, msg.longitude, msg.altitude
        if not options.use_altitude and not math.isfinite(altitude):
            altitude = 0.0
        if not is_plausible_fix(latitude, longitude, altitude):
            finite = math.isfinite(latitude + longitude + altitude)
            return 'impossible position' if finite else NOT_FINITE
        horizontal, vertical = options.std**2, options.std_up**2
        if msg.position_covariance_type > 0:
            c = msg.position_covariance
            known = max(float(c[0]), float(c[4])), float(c[8])
            scale = options.std_scale**2
            if math.isfinite(known[0]) and known[0] > 0.0:
                horizontal = max(known[0] * scale, 1e-6)
            if math.isfinite(known[1]) and known[1] > 0.0:
                vertical = max(known[1] * scale, 1e-6)
        return (latitude, longitude, altitude, horizontal, vertical)

    return parse


def parse_twist(msg: Any) -> Parsed:
    """geometry_msgs/TwistStamped: linear velocity."""
    v = msg.twist.linear
    # Receivers without vertical velocity leave it NaN.
    z = v.z if math.isfinite(v.z) else 0.0
    return (v.x, v.y, z) if math.isfinite(v.x + v.y) else NOT_FINITE


def parse_odometry(msg: Any) -> Parsed:
    """nav_msgs/Odometry: linear velocity and turn rate of its twist."""
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    values = (v.x, v.y, v.z, w.z)
    return values if math.isfinite(sum(values)) else NOT_FINITE


def parse_pose(msg: Any) -> Parsed:
    """geometry_msgs/PoseStamped."""
    p, o = msg.pose.position, msg.pose.orientation
    if not math.isfinite(p.x + p.y + p.z + o.x + o.y + o.z + o.w):
        return NOT_FINITE
    q = (o.x, o.y, o.z, o.w)
    return (p.x, p.y, p.z, *q) if is_unit(q) else NOT_UNIT


def parse_wrench(msg: Any) -> Parsed:
    """geometry_msgs/WrenchStamped."""
    f, t = msg.wrench.force, msg.wrench.torque
    values = (f.x, f.y, f.z, t.x, t.y, t.z)
    return values if math.isfinite(sum(values)) else NOT_FINITE


def parse_range(msg: Any) -> Parsed:
    """sensor_msgs/Range; REP-117: infinite or outside its limits means nothing was measured."""
    value = float(msg.range)
    if not math.isfinite(value):
        return NOT_FINITE
    if msg.max_range > msg.min_range and not msg.min_range <= value <= msg.max_range:
        return 'outside the sensor range'
    return (value,)


def parse_pressure(msg: Any) -> Parsed:
    """sensor_msgs/FluidPressure."""
    value = float(msg.fluid_pressure)
    return (value,) if math.isfinite(value) else NOT_FINITE


class JointLayout:
    """What is taken of JointState messages with certain names, and the stream it belongs to."""

    def __init__(
        self, names: Sequence[str], chosen: list[int], has_position: bool, has_velocity: bool
    ) -> None:
        """`chosen` are the places of the wanted joints in the order of the stream."""
        self.names = [names[i] for i in chosen]
        self.has_position = has_position
        self.has_velocity = has_velocity
        flags = f'{int(not has_position)}{int(not has_velocity)}'
        self.key = f'joints:{flags}:' + ','.join(self.names)
        self._chosen = chosen

    def values(self, msg: Any) -> Parsed:
        """Positions then velocities of the wanted joints."""
        values: list[float] = []
        if self.has_position:
            numbers = np.asarray(msg.position).tolist()
            values = [numbers[i] for i in self._chosen]
        if self.has_velocity:
            numbers = np.asarray(msg.velocity).tolist()
            values += [numbers[i] for i in self._chosen]
        return tuple(values) if math.isfinite(sum(values)) else NOT_FINITE


class JointParser:
    """sensor_msgs/JointState: the wanted joints of a message and the stream they belong to."""

    def __init__(self, wanted: list[str], use_velocity: bool) -> None:
        self._wanted = frozenset(wanted)
        self._use_velocity = use_velocity
        self._layouts: dict[tuple[Any, ...], JointLayout] = {}

    def layout(self, msg: Any) -> JointLayout | str:
        """What to take of a message, or why nothing."""
        names = tuple(msg.name)
        n, positions, velocities = len(names), len(msg.position), len(msg.velocity)
        if positions not in (0, n) or velocities not in (0, n):
            return 'arrays of unequal length'
        has_velocity = velocities == n and (self._use_velocity or positions == 0)
        if not n or (positions == 0 and not has_velocity):
            return 'no positions'
        shape = (names, positions > 0, has_velocity)
        layout = self._layouts.get(shape)
        if layout is None:
            if len(set(names)) != n:
                return 'a joint is named twice'
            chosen = [i for i, x in enumerate(names) if not self._wanted or x in self._wanted]
            chosen.sort(key=lambda i: names[i])
            layout = self._layouts[shape] = JointLayout(
                names, chosen, positions > 0, has_velocity
            )
        return layout if layout.names else 'no wanted joint'
