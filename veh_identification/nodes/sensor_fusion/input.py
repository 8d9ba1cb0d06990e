"""From sensor messages to checked tuples of floats; a sentence part says why a sample is refused.

Each parser takes the fields of a message that stand beside it (see `runtime.fields`; the three of
the header come first) and returns a tuple for `FusionCore.push` or the reason (a string) for which
the sample cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from veh_identification.fusion.geodesy import HIGHEST, is_plausible_fix
from veh_identification.fusion.sensor_options import GnssOptions, ImuOptions
from veh_identification.fusion.statistics import SensorRecord
from veh_identification.nodes.joint_order import remember
from veh_identification.orientations import is_unit
from veh_identification.signals.hygiene import LARGEST

Parsed = tuple[float, ...] | str
Parser = Callable[[tuple[Any, ...]], Parsed]

#: What stands for an axis that is not measured: level, no turn, no acceleration.
UNMEASURED = (0.0, 0.0, 0.0, 0.0, 0.0, 9.80665)
TOO_FAST = 'speed beyond what can be'
NOT_FINITE = 'NaN or infinite'
TOO_LARGE = ('angular velocity out of range', 'acceleration out of range')
BEYOND = 'value beyond what can be'
#: Of a car or robot [rad/s].
FASTEST_TURN = 1e3
NOT_UNIT = 'quaternion is not of unit length'
HEADER = ('header.stamp.sec', 'header.stamp.nanosec', 'header.frame_id')


def _vector(path: str, axes: str = 'xyz') -> tuple[str, ...]:
    return tuple(f'{path}.{axis}' for axis in axes)


class Input(NamedTuple):
    """What is read of a kind of message, and how."""

    typename: str
    fields: tuple[str, ...]
    parse: Parser


IMU_FIELDS = (
    *HEADER,
    *_vector('angular_velocity'),
    *_vector('linear_acceleration'),
    'angular_velocity_covariance[0]',
    'linear_acceleration_covariance[0]',
    'orientation_covariance[0]',
    *_vector('orientation', 'xyzw'),
)


def imu_input(options: ImuOptions) -> Input:
    """sensor_msgs/Imu: angular velocity, linear acceleration, and the orientation if known."""
    max_rate, max_acceleration = options.max_rate, options.max_acceleration
    measured = options.measured
    all_axes = all(measured)

    def parse(values: tuple[Any, ...]) -> Parsed:
        (
            _,
            _,
            _,
            wx,
            wy,
            wz,
            ax,
            ay,
            az,
            rate_known,
            force_known,
            turn_known,
            qx,
            qy,
            qz,
            qw,
        ) = values
        if not all_axes:
            wx, wy, wz, ax, ay, az = (
                value if known else missing
                for value, known, missing in zip(
                    (wx, wy, wz, ax, ay, az), measured, UNMEASURED, strict=True
                )
            )
        # A sum is finite only if every term is.
        if not math.isfinite(wx + wy + wz + ax + ay + az):
            return NOT_FINITE
        if max(wx, wy, wz) > max_rate or min(wx, wy, wz) < -max_rate:
            return TOO_LARGE[0]
        if max(ax, ay, az) > max_acceleration or min(ax, ay, az) < -max_acceleration:
            return TOO_LARGE[1]
        # REP-145: -1 in the first covariance entry marks a quantity that is not measured.
        if rate_known == -1.0 or force_known == -1.0:
            return 'angular velocity or acceleration not measured'
        if turn_known == -1.0:
            return (wx, wy, wz, ax, ay, az)
        q = (qx, qy, qz, qw)
        if is_unit(q):
            return (wx, wy, wz, ax, ay, az, *q)
        if options.use_orientation or not math.isfinite(sum(q)):
            return NOT_UNIT
        # Drivers without orientation often leave it all zero; the rest of the sample is good.
        return (wx, wy, wz, ax, ay, az) if not any(q) else NOT_UNIT

    return Input('sensor_msgs/msg/Imu', IMU_FIELDS, parse)


def gnss_input(options: GnssOptions, record: SensorRecord | None = None) -> Input:
    """sensor_msgs/NavSatFix: latitude, longitude, altitude, horizontal and vertical variance.

    `record` hears of variances that cannot be.
    """

    def parse(values: tuple[Any, ...]) -> Parsed:
        _, _, _, status, latitude, longitude, altitude, kind, east, north, up = values
        if status < 0:
            return 'no fix'
        if not options.use_altitude and not abs(altitude) <= HIGHEST:
            altitude = 0.0
        if not is_plausible_fix(latitude, longitude, altitude):
            finite = math.isfinite(latitude + longitude + altitude)
            return 'impossible position' if finite else NOT_FINITE
        horizontal, vertical = options.std**2, options.std_up**2
        if kind > 0:
            known = max(float(east), float(north)), float(up)
            scale = options.std_scale**2
            if math.isfinite(known[0]) and known[0] > 0.0:
                horizontal = min(max(known[0] * scale, 1e-6), LARGEST)
            elif record is not None:
                record.assumed = (
                    f'its covariance is said to be known, and is {known[0]:g} m^2: a deviation of '
                    f'{options.std:g} m is taken (gnss.std)'
                )
            if math.isfinite(known[1]) and known[1] > 0.0:
                vertical = min(max(known[1] * scale, 1e-6), LARGEST)
        return (latitude, longitude, altitude, horizontal, vertical)

    covariance = tuple(f'position_covariance[{index}]' for index in (0, 4, 8))
    fields = (
        *HEADER,
        'status.status',
        'latitude',
        'longitude',
        'altitude',
        'position_covariance_type',
        *covariance,
    )
    return Input('sensor_msgs/msg/NavSatFix', fields, parse)


def twist_input(message: str, max_speed: float, yaw_rate: bool = False) -> Input:
    """Velocities (x, y, z), the yaw rate if wanted, and their standard deviation if it is known.

    `message`: TwistStamped, TwistWithCovarianceStamped or Odometry.
    """
    path = 'twist' if message == 'TwistStamped' else 'twist.twist'
    turn = (f'{path}.angular.z',) if yaw_rate else ()
    # Odometry of wheels often holds placeholders as covariances: its deviation is a parameter.
    with_covariance = message == 'TwistWithCovarianceStamped'
    diagonal = tuple(f'twist.covariance[{k}]' for k in (0, 7)) if with_covariance else ()
    count = 3 + len(turn)

    def parse(values: tuple[Any, ...]) -> Parsed:
        x, y, z = values[3:6]
        # Receivers without vertical velocity leave it NaN.
        z = z if math.isfinite(z) else 0.0
        rest = values[6 : 3 + count]
        if not math.isfinite(x + y + sum(rest)):
            return NOT_FINITE
        if abs(x) + abs(y) + abs(z) > max_speed:
            return TOO_FAST
        if rest and abs(rest[0]) > FASTEST_TURN:
            return 'yaw rate out of range'
        if with_covariance:
            variance = max(values[3 + count :])
            if math.isfinite(variance) and 0.0 < variance < 1e4:
                return (x, y, z, *rest, math.sqrt(variance))
        return (x, y, z, *rest)

    package = 'nav_msgs' if message == 'Odometry' else 'geometry_msgs'
    fields = (*HEADER, *_vector(f'{path}.linear'), *turn, *diagonal)
    return Input(f'{package}/msg/{message}', fields, parse)


def _parse_numbers(values: tuple[Any, ...]) -> Parsed:
    return _checked(values[3:])


def _checked(numbers: tuple[float, ...]) -> Parsed:
    if not math.isfinite(sum(numbers)):
        return NOT_FINITE
    if max(numbers) > LARGEST or min(numbers) < -LARGEST:
        return BEYOND
    return numbers


def pose_input(max_distance: float) -> Input:
    """geometry_msgs/PoseStamped: position and orientation."""

    def parse(values: tuple[Any, ...]) -> Parsed:
        numbers = values[3:]
        if not math.isfinite(sum(numbers)):
            return NOT_FINITE
        if max(map(abs, numbers[:3])) > max_distance:
            return 'position beyond mocap.max_distance'
        return numbers if is_unit((numbers[3], numbers[4], numbers[5], numbers[6])) else NOT_UNIT

    fields = (*HEADER, *_vector('pose.position'), *_vector('pose.orientation', 'xyzw'))
    return Input('geometry_msgs/msg/PoseStamped', fields, parse)


def _parse_range(values: tuple[Any, ...]) -> Parsed:
    # REP-117: infinite or outside its limits means nothing was measured.
    value, least, most = float(values[3]), values[4], values[5]
    if not math.isfinite(value):
        return NOT_FINITE
    if most > least and not least <= value <= most:
        return 'outside the sensor range'
    return (value,) if abs(value) <= LARGEST else BEYOND


WRENCH = Input(
    'geometry_msgs/msg/WrenchStamped',
    (*HEADER, *_vector('wrench.force'), *_vector('wrench.torque')),
    _parse_numbers,
)
RANGE = Input('sensor_msgs/msg/Range', (*HEADER, 'range', 'min_range', 'max_range'), _parse_range)
PRESSURE = Input('sensor_msgs/msg/FluidPressure', (*HEADER, 'fluid_pressure'), _parse_numbers)
JOINTS = 'sensor_msgs/msg/JointState'
#: Joints without a number in so many messages in a row are not measured; before that it may be a
#: single bad sample.
UNMEASURED_FOR = 5
JOINT_FIELDS = ('header.stamp.sec', 'header.stamp.nanosec', 'name', 'position[]', 'velocity[]')


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
        self.blank: tuple[int, ...] = ()  # places without a number in the last such message
        self.blank_for = 0  # messages in a row with these
        self.silent: tuple[int, ...] = ()  # of these the ones without a velocity either
        count = len(chosen)
        self._everything = chosen == list(range(len(names)))
        self._choose = itemgetter(*chosen) if count > 1 else lambda x: tuple(x[i] for i in chosen)

    def values(self, positions: tuple[float, ...], velocities: tuple[float, ...]) -> Parsed:
        """Positions then velocities of the wanted joints."""
        values: tuple[float, ...] = ()
        if self.has_position:
            values = positions if self._everything else self._choose(positions)
        if self.has_velocity:
            values += velocities if self._everything else self._choose(velocities)
        return _checked(values)


class JointParser:
    """sensor_msgs/JointState: the wanted joints of a message and the stream they belong to."""

    def __init__(self, wanted: list[str], use_velocity: bool) -> None:
        self._wanted = frozenset(wanted)
        self._use_velocity = use_velocity
        self._layouts: dict[tuple[Any, ...], JointLayout] = {}
        self._last: tuple[Any, int, int] = (None, -1, -1)
        self._last_layout: JointLayout | str = ''

    def measured(
        self, names: Sequence[str], positions: tuple[float, ...], velocities: tuple[float, ...]
    ) -> list[tuple[JointLayout, tuple[float, ...]]] | str:
        """Streams and values of a message, or why nothing of it can be used.

        Drivers fill NaN where a joint has no encoder: once that has lasted for a few messages,
        the other joints are used, and the velocities of those that have nothing else.
        """
        layout = self.layout(names, len(positions), len(velocities))
        if isinstance(layout, str):
            return layout
        values = layout.values(positions, velocities)
        if values != NOT_FINITE:
            layout.blank, layout.blank_for, layout.silent = (), 0, ()
            return values if isinstance(values, str) else [(layout, values)]
        numbers = positions if layout.has_position else velocities
        blank = tuple(k for k, value in enumerate(numbers) if not math.isfinite(value))
        layout.blank_for = layout.blank_for + 1 if blank == layout.blank else 1
        layout.blank = blank
        if layout.blank_for < UNMEASURED_FOR:
            return NOT_FINITE
        missing = frozenset(blank)
        left = [k for k in range(len(names)) if k not in missing]
        turning = [k for k in blank if len(velocities) and math.isfinite(velocities[k])]
        turning = turning if layout.has_position else []
        layout.silent = tuple(k for k in blank if k not in turning)
        found = [
            self._part(part, names, numbers, rates)
            for part, numbers, rates in ((left, positions, velocities), (turning, (), velocities))
            if part
        ]
        used = [one for one in found if not isinstance(one, str)]
        return used or next((one for one in found if isinstance(one, str)), NOT_FINITE)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """Joints that hold no number, of every sender."""
        found = {
            names[k]
            for (names, *_), layout in self._layouts.items()
            if layout.blank_for >= UNMEASURED_FOR
            for k in layout.silent
        }
        return tuple(sorted(found))

    def _part(
        self,
        left: Sequence[int],
        names: Sequence[str],
        positions: tuple[float, ...],
        velocities: tuple[float, ...],
    ) -> tuple[JointLayout, tuple[float, ...]] | str:
        """The same of some joints; velocities only where all of them are known."""
        kept = tuple(positions[k] for k in left) if len(positions) else ()
        rates = tuple(velocities[k] for k in left) if len(velocities) else ()
        if kept and not math.isfinite(sum(rates)):
            rates = ()
        layout = self._find(tuple(names[k] for k in left), len(kept), len(rates))
        if isinstance(layout, str):
            return layout
        values = layout.values(kept, rates)
        return values if isinstance(values, str) else (layout, values)

    def layout(self, names: Sequence[str], positions: int, velocities: int) -> JointLayout | str:
        """What to take of a message with so many positions and velocities, or why nothing."""
        last = self._last
        # Messages of one structure share their list of names.
        if names is not last[0] or positions != last[1] or velocities != last[2]:
            self._last_layout = self._find(tuple(names), positions, velocities)
            self._last = (names, positions, velocities)
        return self._last_layout

    def _find(self, names: tuple[str, ...], positions: int, velocities: int) -> JointLayout | str:
        n = len(names)
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
            layout = JointLayout(names, chosen, positions > 0, has_velocity)
            remember(self._layouts, shape, layout)
        return layout if layout.names else 'no wanted joint'
