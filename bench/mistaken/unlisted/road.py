"""Of drives, in the messages: for the vehicle observer and for sensor fusion alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mistaken.fusion import (
    ACCEL,
    BOTH,
    GYRO,
    Edit,
    Remembering,
    after,
    all_of,
    drifting,
    late,
    mapped,
    seconds_of,
    smoothed,
    velocity,
)


def between(begin: float, end: float, *fields: str) -> Edit:
    """Fields that are held for a while, seconds after the first message."""

    def make() -> Edit:
        first: list[float] = []
        kept: dict[str, Any] = {}

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if not begin <= seconds_of(message) - first[0] < end:
                return
            for name in fields:
                own = getattr(message, name)
                plain = own if isinstance(own, (float, np.ndarray)) else None
                value = own.copy() if isinstance(own, np.ndarray) else plain
                if plain is None:
                    v = own.linear if hasattr(own, 'linear') else own
                    x, y, z = kept.setdefault(name, (v.x, v.y, v.z))
                    v.x, v.y, v.z = x, y, z
                else:
                    setattr(message, name, kept.setdefault(name, value))

        return one

    return Remembering(make)


def other(edit: Edit) -> Edit:
    """Every other message is that of a second source on the topic."""

    def make() -> Edit:
        count = [0]

        def one(message: Any) -> None:
            count[0] += 1
            if count[0] % 2 == 0:
                edit(message)

        return one

    return Remembering(make)


def vector(field: str, change: Callable[[Any], Any]) -> Edit:
    """A vector of the inertial unit changed."""

    def edit(message: Any) -> None:
        v = getattr(message, field)
        v.x, v.y, v.z = (float(x) for x in change(np.array([v.x, v.y, v.z])))

    return edit


def course(change: Callable[[Any], Any]) -> Edit:
    """The satellites' velocity changed."""

    def edit(message: Any) -> None:
        v = message.twist.linear
        v.x, v.y, v.z = (float(x) for x in change(np.array([v.x, v.y, v.z])))

    return edit


def angles(change: Callable[[Any], Any]) -> Edit:
    """Angles of four wheels and the steering wheel changed."""

    def edit(message: Any) -> None:
        message.position = np.array(change(np.array(message.position)), dtype=float)

    return edit


def steps(step: float) -> Callable[[Any], Any]:
    """In steps of a converter."""
    return lambda v: step * np.round(np.asarray(v) / step)


def wheels(change: Callable[[Any], Any]) -> Edit:
    """Angles of the wheels alone."""
    return angles(lambda q: np.append(change(q[:4]), q[4:]))


def polar(v: Any) -> Any:
    """Speed, and the course clockwise from north in degrees."""
    return np.hypot(v[0], v[1]), np.degrees(np.arctan2(v[0], v[1])) % 360.0, v[2]


def frame(name: str) -> Edit:
    """The frame of another sensor."""

    def edit(message: Any) -> None:
        message.header.frame_id = name

    return edit


def covariances(factor: float) -> Edit:
    """Covariances of fixes in another unit."""

    def edit(message: Any) -> None:
        message.position_covariance = factor * np.array(message.position_covariance)

    return edit


IMU, FIX, VEL, JOINTS = 'imu/data', 'gps/fix', 'gps/vel', 'joint_states'
HELD = ('stuck', 'repeated', 'set_aside')
TWO = ('two_sources', 'duplicates', 'changes')
#: Title: edits by topic, accepted codes, codes that count as a note.
EDITS: dict[str, tuple[dict[str, Edit], tuple[str, ...], tuple[str, ...]]] = {
    'y and z of the accelerometer exchanged': (
        {IMU: mapped(ACCEL, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])}, ('axis', 'imu_turned'), ()),
    'x of the inertial unit backwards (left-handed)': (
        {IMU: mapped(BOTH, np.diag([-1, 1, 1]))}, ('sign', 'imu_turned'), ()),
    'accelerometer of z down, gyroscope of z up': (
        {IMU: mapped(ACCEL, np.diag([1, -1, -1]))}, ('sign', 'imu_turned'), ()),
    'gravity added once more': (
        {IMU: vector(ACCEL, lambda a: a + [0.0, 0.0, 9.80665])},
        ('gravity_removed', 'scale', 'unit'), ()),
    'gyro in mrad/s': ({IMU: mapped(GYRO, 1e3)}, ('unit',), ()),
    'gyro in turns a minute': ({IMU: mapped(GYRO, 9.5493)}, ('unit', 'scale'), ()),
    'acceleration in ft/s^2': ({IMU: mapped(ACCEL, 3.28084)}, ('unit', 'scale'), ()),
    'yaw rate alone in deg/s': ({IMU: mapped(GYRO, np.diag([1, 1, 57.29578]))}, ('unit',), ()),
    'inertial unit pitched by 8 degrees': (
        {IMU: mapped(BOTH, [[0.99027, 0, 0.13917], [0, 1, 0], [-0.13917, 0, 0.99027]])},
        ('imu_turned', 'imu_pitch_found'), ('imu_pitch_found',)),
    'inertial unit in steps of 0.1': (
        {IMU: all_of(vector(GYRO, steps(0.1)), vector(ACCEL, steps(0.1)))}, ('coarse',), ()),
    'accelerometer in steps of 2 m/s^2': ({IMU: vector(ACCEL, steps(2.0))}, ('coarse',), ()),
    'inertial unit freezes for 4 s': ({IMU: between(20.0, 24.0, GYRO, ACCEL)}, HELD, ()),
    'yaw rate saturated at 0.1 rad/s': (
        {IMU: vector(GYRO, lambda w: np.clip(w, -0.1, 0.1))}, ('saturated',), ()),
    'a second inertial unit, upside down, on the topic': (
        {IMU: other(mapped(BOTH, np.diag([1, -1, -1])))}, (*TWO, 'imu_turned', 'sign'), ()),
    'a second inertial unit that stands still on the topic': (
        {IMU: other(all_of(mapped(GYRO, 0.0), vector(ACCEL, lambda a: [0.0, 0.0, 9.81])))},
        TWO, ()),
    'inertial unit in the frame of the antenna': (
        {IMU: frame('gps_link')}, ('poses_disagree', 'imu_place', 'imu_position'), ()),
    'satellite velocity as speed and course in degrees': (
        {VEL: course(polar)}, ('unit', 'axis', 'sign'), ()),
    'satellite velocity to the west': (
        {VEL: course(lambda v: v * [-1, 1, 1])}, ('sign', 'axis'), ()),
    'satellite velocity of the other direction': (
        {VEL: course(lambda v: -v)}, ('sign',), ()),
    'satellite velocity in mph': ({VEL: velocity(2.23694)}, ('unit',), ()),
    'satellite velocity a quarter turn aside': (
        {VEL: course(lambda v: np.array([-v[1], v[0], v[2]]))},
        ('axis', 'velocity_turned', 'sign'), ()),
    'satellite velocity freezes for 6 s': ({VEL: between(20.0, 26.0, 'twist')}, HELD, ()),
    'satellite velocity in steps of 3 m/s': ({VEL: course(steps(3.0))}, ('coarse',), ()),
    'fixes freeze for 6 s': (
        {FIX: between(20.0, 26.0, 'latitude', 'longitude', 'altitude')}, HELD, ()),
    'clock of the satellites 1 % fast': (
        {FIX: drifting(0.01), VEL: drifting(0.01)},
        ('clock_drift', 'clock', 'late', 'clock_ahead', 'clock_off'), ()),
    'covariances of fixes in mm^2': (
        {FIX: covariances(1e6)}, ('quieter_than_stated', 'covariance_unit', 'unit'), ()),
    'covariances of fixes a ten thousandth': (
        {FIX: covariances(1e-4)}, ('noisier_than_stated', 'covariance_unit', 'unit'), ()),
    'satellites one hour ahead': (
        {FIX: late(3600.0), VEL: late(3600.0)}, ('clock_off', 'late'), ()),
    'wheel angles in turns': (
        {JOINTS: wheels(lambda q: q / (2.0 * np.pi))}, ('unit', 'scale'), ()),
    'wheel angles in ticks of 1024': (
        {JOINTS: wheels(lambda q: 1024.0 * q / (2.0 * np.pi))}, ('unit',), ()),
    'wheels in steps of 2 rad': ({JOINTS: wheels(steps(2.0))}, ('coarse',), ()),
    'wheels freeze for 5 s': ({JOINTS: between(20.0, 25.0, 'position')}, HELD, ()),
    'wheels count without sign of a step (absolute values)': (
        {JOINTS: wheels(lambda q: -np.abs(q))}, ('sign',), ()),
    'front wheels 1.1 times too fast': (
        {JOINTS: wheels(lambda q: q * [1.1, 1.1, 1, 1])},
        ('scale', 'wheel_scale_found', 'wheel_radius'), ()),
    'gyro smoothed over 0.2 s, accelerometer not': (
        {IMU: smoothed(0.2, GYRO)}, ('late', 'imu_delay_found'), ('imu_delay_found',)),
    'inertial unit 60 ms late': (
        {IMU: late(0.06)}, ('late', 'imu_delay_found', 'clock_ahead'), ('imu_delay_found',)),
    'yaw rate wanders by 0.1 rad/s': (
        {IMU: Remembering(lambda: _wander())}, ('gyro_zero', 'bias', 'drift', 'changes',
                                                'sensors_disagree', 'gyro_bias_found'), ()),
}  # fmt: skip


def _wander() -> Edit:
    """A zero that grows by 0.1 rad/s in 40 s."""
    first: list[float] = []

    def one(message: Any) -> None:
        first.append(seconds_of(message)) if not first else None
        message.angular_velocity.z += 0.1 * (seconds_of(message) - first[0]) / 40.0

    return one


def older(lag: float, *columns: int) -> Edit:
    """Some joints that are older than the message that brings them."""

    def make() -> Edit:
        shown: list[tuple[float, Any]] = []

        def one(message: Any) -> None:
            now, values = seconds_of(message), np.array(message.position)
            shown.append((now, values.copy()))
            while len(shown) > 1 and shown[1][0] <= now - lag:
                shown.pop(0)
            values[list(columns)] = shown[0][1][list(columns)]
            message.position = values

        return one

    return Remembering(make)


def stamped(seconds: float) -> Edit:
    """Stamps rounded to so much."""

    def edit(message: Any) -> None:
        stamp, step = message.header.stamp, round(seconds * 1e9)
        total = (stamp.sec * 10**9 + stamp.nanosec + step // 2) // step * step
        stamp.sec, stamp.nanosec = divmod(total, 10**9)

    return edit


def lost_ticks(seconds: float, share: float, column: int) -> Edit:
    """An encoder that loses a share of its ticks from so long after the first message on."""

    def make() -> Edit:
        first: list[tuple[float, float]] = []

        def one(message: Any) -> None:
            now, values = seconds_of(message), np.array(message.position)
            begin = first[0][0] if first else now
            if not first or now - begin < seconds:
                first[:] = [(begin, float(values[column]))]
            values[column] = first[0][1] + (1.0 - share * (now - begin >= seconds)) * (
                values[column] - first[0][1]
            )
            message.position = values

        return one

    return Remembering(make)


def now_and_then(period: float, lasting: float, edit: Edit) -> Edit:
    """An edit for a while in each period."""

    def make() -> Edit:
        first: list[float] = []

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if (seconds_of(message) - first[0]) % period > period - lasting:
                edit(message)

        return one

    return Remembering(make)


def narrowed(message: Any) -> None:
    """Longitudes of a local map whose metres were divided by those of the equator."""
    message.longitude = 11.5 + (message.longitude - 11.5) * np.cos(np.radians(48.1))


def nowhere(message: Any) -> None:
    """A receiver without satellites that says it has a fix."""
    message.latitude = message.longitude = message.altitude = 0.0


def mean_fixes(seconds: float) -> Edit:
    """Fixes behind a first-order filter."""

    def make() -> Edit:
        kept: list[Any] = []

        def one(message: Any) -> None:
            now = seconds_of(message)
            value = np.array([message.latitude, message.longitude, message.altitude])
            then, last = kept[0] if kept else (now, value)
            value = last + (1.0 - np.exp(-(now - then) / seconds)) * (value - last)
            kept[:] = [(now, value)]
            message.latitude, message.longitude, message.altitude = map(float, value)

        return one

    return Remembering(make)


def rates_for_forces(message: Any) -> None:
    """The two vectors of the inertial unit in the fields of each other."""
    message.angular_velocity, message.linear_acceleration = (
        message.linear_acceleration,
        message.angular_velocity,
    )


NOISY = ('noisier_than_stated', 'covariance_unit', 'unit')
LATE = ('late', 'clock_drift', 'clock', 'clock_ahead', 'clock_off', 'all_late')
#: Thought of later still, and run on recording 21 for the first time. Also what the observer of a
#: car and the fusion have in common alone.
FURTHER: dict[str, tuple[dict[str, Edit], tuple[str, ...], tuple[str, ...]]] = {
    'mounting mirrored left to right': (
        {IMU: all_of(mapped(ACCEL, np.diag([1, -1, 1])), mapped(GYRO, np.diag([-1, 1, -1])))},
        ('sign', 'imu_turned', 'gyro_sign'), ()),
    'forward-right-down, gravity positive': (
        {IMU: all_of(mapped(ACCEL, np.diag([-1, 1, 1])), mapped(GYRO, np.diag([1, -1, -1])))},
        ('sign', 'imu_turned', 'gyro_sign'), ()),
    'gyroscope and accelerometer in the fields of each other': (
        {IMU: rates_for_forces}, ('unit', 'exchanged', 'axis', 'gravity_removed'), ()),
    'accelerometer x dead': (
        {IMU: vector(ACCEL, lambda a: a * [0, 1, 1])}, ('stuck', 'scale', 'unit', 'axis'), ()),
    'accelerometer y dead': (
        {IMU: vector(ACCEL, lambda a: a * [1, 0, 1])}, ('stuck', 'scale', 'unit', 'axis'), ()),
    'yaw rate dead': (
        {IMU: vector(GYRO, lambda w: w * [1, 1, 0])}, ('stuck', 'scale', 'unit', 'axis'), ()),
    'yaw rate 0.3 times': ({IMU: vector(GYRO, lambda w: w * [1, 1, 0.3])}, ('scale', 'unit'), ()),
    'yaw rate 1.3 times from the middle on': (
        {IMU: after(20.0, vector(GYRO, lambda w: w * [1, 1, 1.3]))},
        ('scale', 'changes', 'gyro_scale_found'), ('gyro_scale_found',)),
    'ay of wrong sign from the middle on': (
        {IMU: after(20.0, vector(ACCEL, lambda a: a * [1, -1, 1]))}, ('sign', 'changes'), ()),
    'inertial unit turns by 90 degrees in the middle': (
        {IMU: after(20.0, mapped(BOTH, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]))},
        ('axis', 'imu_turned', 'changes', 'jump'), ()),
    'inertial unit rolled by 10 degrees': (
        {IMU: mapped(BOTH, [[1, 0, 0], [0, 0.98481, 0.17365], [0, -0.17365, 0.98481]])},
        ('imu_turned',), ()),
    'inertial unit yawed by 6 degrees': (
        {IMU: mapped(BOTH, [[0.99452, 0.10453, 0], [-0.10453, 0.99452, 0], [0, 0, 1]])},
        ('imu_turned', 'imu_yaw_found'), ('imu_yaw_found',)),
    'inertial unit sends zeros for 0.3 s every 5 s': (
        {IMU: now_and_then(5.0, 0.3, mapped(BOTH, 0.0))},
        ('stuck', 'repeated', 'glitches_left_out', 'jump', 'two_sources'), ('glitches_left_out',)),
    'stamps of the inertial unit in steps of 50 ms': (
        {IMU: stamped(0.05)}, ('stamps_jitter', 'duplicates', 'repeated', 'late'), ()),
    'delay of the inertial unit grows to 0.2 s': (
        {IMU: drifting(0.005)}, (*LATE, 'imu_delay_found'), ()),
    'clock of the inertial unit 200 ppm fast': (
        {IMU: drifting(2e-4)}, (*LATE, 'imu_delay_found'), ('imu_delay_found',)),
    'stamps of the satellites in whole seconds': (
        {FIX: stamped(1.0), VEL: stamped(1.0)},
        ('stamps_jitter', 'duplicates', 'repeated', 'fix_early', 'late'), ()),
    'two receivers 3 m apart on the topic of fixes': (
        {FIX: other(lambda m: setattr(m, 'latitude', m.latitude + 3.0 / 111e3))},
        (*TWO, 'noisier_than_stated'), ()),
    'every other satellite velocity in km/h': ({VEL: other(velocity(3.6))}, TWO, ()),
    'fixes of the car in front, 2 s ahead': (
        {FIX: late(-2.0)},
        (*LATE, 'fix_early', 'antenna_place'), ()),
    'fixes smoothed over 1 s': ({FIX: mean_fixes(1.0)}, (*LATE, 'fix_delay_found'), ()),
    'covariances of fixes in degrees^2': ({FIX: covariances(1.0 / 111e3**2)}, NOISY, ()),
    'longitudes of a local map without the cosine': (
        {FIX: narrowed}, ('unit', 'scale', 'axis'), ()),
    'altitudes 47 m lower from the middle on': (
        {FIX: after(20.0, lambda m: setattr(m, 'altitude', m.altitude - 47.0))},
        ('jump', 'changes', 'set_aside'), ()),
    'fixes at 0 N 0 E for 3 s': (
        {FIX: now_and_then(25.0, 3.0, nowhere)},
        ('jump', 'changes', 'set_aside', 'glitches_left_out', 'datum_far'),
        ('glitches_left_out',)),
    'satellite velocity 1.06 times and wheels 0.95 times': (
        {VEL: velocity(1.06), JOINTS: wheels(lambda q: 0.95 * q)},
        ('scale', 'wheel_scale_found', 'wheel_radius'), ('wheel_scale_found',)),
    'wheels of the left side backwards': (
        {JOINTS: wheels(lambda q: q * [-1, 1, -1, 1])}, ('sign',), ()),
    'winter tyres, 4 % smaller': (
        {JOINTS: wheels(lambda q: 1.04 * q)},
        ('scale', 'wheel_scale_found', 'wheel_radius'), ('wheel_scale_found',)),
    'rear wheels 0.2 s older than the front ones': (
        {JOINTS: older(0.2, 2, 3)}, ('late', 'wheel_delay_found'), ()),
    'rear left wheel loses a fifth of its ticks from the middle on': (
        {JOINTS: lost_ticks(20.0, 0.2, 2)},
        ('scale', 'changes', 'set_aside', 'sensors_disagree'), ()),
    'steering to the right positive from the middle on': (
        {JOINTS: after(20.0, angles(lambda q: np.append(q[:4], -q[4])))},
        ('sign', 'changes'), ()),
}  # fmt: skip
