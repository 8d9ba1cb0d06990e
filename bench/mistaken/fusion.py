"""Mistakes in the input and the parameters of the node sensor_fusion, on drives of the road car.

The car's simulator shares no code with the fusion; the list of mistakes and the checks come from
the same hands. Offline is the node under the replay engine, as live is: both ways are one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mistaken.common import LEFT_OUT, Item, Mistake, Told, found
from veh_identification.errors import VehIdError
from veh_identification.nodes.sensor_fusion.node import SensorFusion
from veh_identification.orientations import matrix_of_rpy, rpy_of_quaternion
from veh_identification.runtime import messages
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.road_car.drive import RoadDrive, drive
from veh_identification.simulation.sensors import EPOCH_NS

NAME = 'fusion'
SECONDS = 40.0
#: From here on, every so many seconds, the estimate is judged.
SETTLED, EVERY = 15.0, 2.0
Edit = Callable[[Any], None]


@dataclass(frozen=True, eq=False)
class Case:
    """A drive, how its messages are changed, and parameters that differ."""

    drive: RoadDrive
    edits: Mapping[str, Edit] = field(default_factory=dict)  # by topic
    parameters: Mapping[str, Any] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)  # of a run that was made already


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another car, road, driver and errors of the sensors."""
    return Case(drive(500 + k, duration=seconds))


def edited(**edits: Edit) -> Callable[[Case], Case]:
    """Messages of some topics (their names with _ for /) changed in place."""
    by_topic = {name.replace('_', '/', 1): edit for name, edit in edits.items()}
    return lambda case: replace(case, edits=by_topic, told=[])


def joints(change: Callable[[Any], Any]) -> Callable[[Case], Case]:
    """Positions of the joints changed."""

    def edit(message: Any) -> None:
        message.position = change(np.array(message.position))

    return lambda case: replace(case, edits={'joint_states': edit}, told=[])


def given(**parameters: Any) -> Callable[[Case], Case]:
    """Parameters (with __ for the dot) that differ."""
    by_name = {name.replace('__', '.'): value for name, value in parameters.items()}
    return lambda case: replace(case, parameters=by_name, told=[])


@dataclass(frozen=True)
class Remembering:
    """An edit with a memory, which is of one reading of the messages."""

    fresh: Callable[[], Edit]

    def __call__(self, message: Any) -> None:
        """Never as it is: whoever reads the messages asks for a fresh one."""
        raise AssertionError('an edit with a memory was used as it is')


def seconds_of(message: Any) -> float:
    """The stamp of a message."""
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def after(seconds: float, edit: Edit) -> Edit:
    """An edit that begins so long after the first message."""

    def make() -> Edit:
        first: list[float] = []

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if seconds_of(message) - first[0] >= seconds:
                edit(message)

        return one

    return Remembering(make)


def repeating(period: float, *fields: str) -> Edit:
    """Fields whose values are repeated for so long, as a slower source behind the topic does."""

    def make() -> Edit:
        held: dict[str, Any] = {}
        since: list[float] = [-np.inf]

        def one(message: Any) -> None:
            if seconds_of(message) - since[0] >= period:
                since[0] = seconds_of(message)
                held.update({name: deepcopy(getattr(message, name)) for name in fields})
            for name in fields:
                setattr(message, name, deepcopy(held[name]))

        return one

    return Remembering(make)


def held(seconds: float, *fields: str) -> Edit:
    """Fields that keep their values from so long after the first message on."""

    def make() -> Edit:
        first: list[float] = []
        kept: dict[str, Any] = {}

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if seconds_of(message) - first[0] < seconds:
                return
            for name in fields:
                kept.setdefault(name, deepcopy(getattr(message, name)))
                setattr(message, name, deepcopy(kept[name]))

        return one

    return Remembering(make)


def drifting(share: float) -> Edit:
    """A clock that runs too fast by a share."""

    def make() -> Edit:
        first: list[float] = []

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            late(share * (seconds_of(message) - first[0]))(message)

        return one

    return Remembering(make)


def all_of(*edits: Edit) -> Edit:
    """One edit after the other."""

    def one(message: Any) -> None:
        for edit in edits:
            edit(message)

    return one


def shifted(metres: float) -> Edit:
    """Fixes to the north by so much: another base station, another datum."""

    def one(message: Any) -> None:
        message.latitude += metres / 111_000.0

    return one


def scattered(metres: float) -> Edit:
    """Fixes with noise that their covariance does not tell."""

    def make() -> Edit:
        rng = np.random.default_rng(5)

        def one(message: Any) -> None:
            east, north = metres * rng.standard_normal(2)
            message.latitude += north / 111_000.0
            message.longitude += east / (111_000.0 * np.cos(np.radians(message.latitude)))

        return one

    return Remembering(make)


def biased(rate: float) -> Edit:
    """Yaw rates that are off by a constant (rad/s)."""

    def one(message: Any) -> None:
        message.angular_velocity.z += rate

    return one


def late(seconds: float) -> Edit:
    """Stamps later than the values, and later by as much at the recorder."""

    def edit(message: Any) -> None:
        stamp = message.header.stamp
        total = stamp.sec * 10**9 + stamp.nanosec + round(seconds * 1e9)
        stamp.sec, stamp.nanosec = divmod(total, 10**9)

    return edit


def mapped(field_name: str, matrix: Any) -> Edit:
    """A vector of the inertial unit (or both) turned or scaled."""
    turn = np.array(matrix, float) if np.ndim(matrix) else float(matrix) * np.eye(3)

    def edit(message: Any) -> None:
        for name in field_name.split():
            v = getattr(message, name)
            v.x, v.y, v.z = (turn @ [v.x, v.y, v.z]).tolist()

    return edit


def glitch_after(seconds: float, field_name: str, size: float) -> Edit:
    """One sample of z of a vector that a bit on the bus made."""

    def make() -> Edit:
        first: list[float] = []
        made: list[float] = []

        def one(message: Any) -> None:
            first.append(seconds_of(message)) if not first else None
            if not made and seconds_of(message) - first[0] >= seconds:
                made.append(size)
                getattr(message, field_name).z += size

        return one

    return Remembering(make)


def _rounded(message: Any) -> None:
    """A stamp of whole tenths of a second."""
    stamp = message.header.stamp
    total = (stamp.sec * 10**9 + stamp.nanosec) // 10**8 * 10**8
    stamp.sec, stamp.nanosec = divmod(total, 10**9)


def velocity(factor: float) -> Edit:
    """Satellite velocity times a factor."""

    def edit(message: Any) -> None:
        v = message.twist.linear
        v.x, v.y, v.z = factor * v.x, factor * v.y, factor * v.z

    return edit


def without_gravity(message: Any) -> None:
    """Gravity removed by the sensor's own filter (the car is nearly level)."""
    message.linear_acceleration.z -= 9.80665


def frame(message: Any) -> None:
    """A frame that /tf_static does not know."""
    message.header.frame_id = 'imu_of_nowhere'


def no_covariance(message: Any) -> None:
    """The driver leaves the covariance all zero, yet says that it is known."""
    message.position_covariance = np.zeros(9)


def _digits(count: int) -> Edit:
    """Latitude and longitude with so many digits after the point."""

    def edit(message: Any) -> None:
        message.latitude = round(message.latitude, count)
        message.longitude = round(message.longitude, count)

    return edit


def _unsigned(message: Any) -> None:
    """Sizes of the velocities to east and north."""
    v = message.twist.linear
    v.x, v.y = abs(v.x), abs(v.y)


def places_exchanged(message: Any) -> None:
    """Latitude and longitude exchanged."""
    message.latitude, message.longitude = message.longitude, message.latitude


def in_minutes(message: Any) -> None:
    """Degrees and minutes with a point between, as receivers print them."""
    for name in ('latitude', 'longitude'):
        whole, part = divmod(getattr(message, name), 1.0)
        setattr(message, name, float(whole + 0.6 * part))


def aside(degrees: float) -> Edit:
    """Velocities of another north: of a compass, of a map."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))

    def edit(message: Any) -> None:
        v = message.twist.linear
        v.x, v.y = c * v.x - s * v.y, s * v.x + c * v.y

    return edit


def smoothed(seconds: float, *fields: str) -> Edit:
    """Vectors behind a first-order low pass with such a time constant."""

    def make() -> Edit:
        kept: dict[str, Any] = {}
        before: list[float] = []

        def one(message: Any) -> None:
            now = seconds_of(message)
            share = 1.0 - np.exp(-(now - (before or [now])[-1]) / seconds)
            before[:] = [now]
            for name in fields:
                v = getattr(message, name)
                value = np.array([v.x, v.y, v.z])
                last = kept.setdefault(name, value)
                kept[name] = last + share * (value - last)
                v.x, v.y, v.z = kept[name].tolist()

        return one

    return Remembering(make)


def rates_as_positions() -> Edit:
    """Speeds of the wheels where their angles belong."""

    def make() -> Edit:
        before: list[tuple[float, Any]] = []

        def one(message: Any) -> None:
            now, angles = seconds_of(message), np.array(message.position)
            then, last = before[-1] if before else (now - 1.0, angles)
            before[:] = [(now, angles)]
            rates = (angles[:4] - last[:4]) / max(now - then, 1e-6)
            message.position = np.append(rates, angles[4:])

        return one

    return Remembering(make)


def _in_radians(message: Any) -> None:
    message.latitude, message.longitude = np.radians([message.latitude, message.longitude])


GYRO, ACCEL = 'angular_velocity', 'linear_acceleration'
BOTH = f'{GYRO} {ACCEL}'
ROLLED = matrix_of_rpy((np.radians(5.0), 0.0, 0.0))
EXCHANGED = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
QUARTER = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]

MISTAKES = {
    'gyro in deg/s': Mistake(edited(imu_data=mapped(GYRO, 57.2958)), ('unit',)),
    'acceleration in g': Mistake(edited(imu_data=mapped(ACCEL, 1.0 / 9.80665)), ('unit',)),
    'gravity removed': Mistake(
        edited(imu_data=without_gravity), ('gravity_removed',), corrected=('gravity_removed',)
    ),
    'gyro z of wrong sign': Mistake(
        edited(imu_data=mapped(GYRO, np.diag([1, 1, -1]))), ('sign', 'gyro_sign')
    ),
    'acceleration of wrong sign': Mistake(
        edited(imu_data=mapped(ACCEL, -1.0)), ('imu_turned', 'sign')
    ),
    'axes x and y exchanged': Mistake(
        edited(imu_data=mapped(ACCEL, EXCHANGED)), ('axis', 'imu_turned')
    ),
    'inertial unit turned by 90 degrees': Mistake(
        edited(imu_data=mapped(BOTH, QUARTER)), ('axis', 'imu_turned')
    ),
    'inertial unit upside down': Mistake(
        edited(imu_data=mapped(BOTH, np.diag([1, -1, -1]))), ('imu_turned',)
    ),
    'frame of the inertial unit unknown': Mistake(edited(imu_data=frame), ('pose_unknown',)),
    'satellite speed in km/h': Mistake(edited(gps_vel=velocity(3.6)), ('unit',)),
    'satellite speed in knots': Mistake(edited(gps_vel=velocity(1.94384)), ('unit',)),
    'covariance of fixes zero': Mistake(
        edited(gps_fix=no_covariance), ('covariance_unknown',), corrected=('covariance_unknown',)
    ),
    'latitude and longitude exchanged': Mistake(
        edited(gps_fix=places_exchanged), ('datum_far', 'set_aside', 'axis')
    ),
    'fixes 0.15 s late': Mistake(edited(gps_fix=late(0.15)), ('fix_delay_found', 'all_late')),
    'velocities 0.3 s late': Mistake(
        edited(gps_vel=late(0.3)),
        ('velocity_delay_found', 'all_late'),
        corrected=('velocity_delay_found',),
    ),
    'wheel radius in mm': Mistake(given(wheels__radius=332.0), (), ('wheels.radius',)),
    'wheel radius in cm': Mistake(given(wheels__radius=33.2), (), ('wheels.radius',)),
    'wheel diameter as radius': Mistake(
        given(wheels__radius=0.664), ('unit', 'wheel_scale_found', 'sensors_disagree')
    ),
    'wheel angles in degrees': Mistake(joints(lambda q: 57.2958 * q), ('unit',)),
    'wheels turn backwards': Mistake(joints(lambda q: -q), ('sign',)),
    'antenna on the wrong side': Mistake(
        given(gnss__position=[1.2, 0.6, 1.2]),
        ('antenna_place', 'antenna_y_found', 'poses_disagree'),
    ),
    'antenna ahead given as behind': Mistake(
        given(gnss__position=[-1.2, 0.0, 1.2]),
        ('antenna_place', 'poses_disagree'),
        noted=('antenna_untold',),
    ),
    'gyro in deg/s from the middle on': Mistake(
        edited(imu_data=after(20.0, mapped(GYRO, 57.2958))), ('unit', 'changes')
    ),
    'gyro z of wrong sign from the middle on': Mistake(
        edited(imu_data=after(20.0, mapped(GYRO, np.diag([1, 1, -1])))), ('sign', 'changes')
    ),
    'gyro stuck': Mistake(edited(imu_data=held(20.0, GYRO)), ('stuck', 'set_aside')),
    'ax alone in g': Mistake(edited(imu_data=mapped(ACCEL, np.diag([1 / 9.81, 1, 1]))), ('unit',)),
    'az alone in g': Mistake(edited(imu_data=mapped(ACCEL, np.diag([1, 1, 1 / 9.81]))), ('unit',)),
    'ay of wrong sign': Mistake(edited(imu_data=mapped(ACCEL, np.diag([1, -1, 1]))), ('sign',)),
    'gyro 1.2 times too large': Mistake(
        edited(imu_data=mapped(GYRO, 1.2)), ('scale', 'gyro_scale', 'gyro_scale_found')
    ),
    'gyro y and z exchanged': Mistake(
        edited(imu_data=mapped(GYRO, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])), ('axis', 'imu_turned')
    ),
    'inertial unit 20 ms late': Mistake(
        edited(imu_data=late(0.02)), ('late', 'imu_delay_found', 'clock_ahead')
    ),
    'inertial unit 0.1 s late': Mistake(
        edited(imu_data=late(0.1)), ('late', 'imu_delay_found', 'clock_ahead')
    ),
    'inertial unit repeats its values for 0.1 s': Mistake(
        edited(imu_data=repeating(0.1, GYRO, ACCEL)), ('repeated',)
    ),
    'clock of the inertial unit 1 % fast': Mistake(
        edited(imu_data=drifting(0.01)), ('late', 'clock_ahead')
    ),
    'wheels repeat their values for 0.5 s': Mistake(
        lambda case: replace(case, edits={'joint_states': repeating(0.5, 'position')}, told=[]),
        ('repeated', 'stuck'),
    ),
    'wheels stuck': Mistake(
        lambda case: replace(case, edits={'joint_states': held(15.0, 'position')}, told=[]),
        ('stuck', 'set_aside'),
    ),
    'wheels 0.3 s late': Mistake(
        lambda case: replace(case, edits={'joint_states': late(0.3)}, told=[]),
        ('late', 'wheel_delay_found', 'clock_ahead'),
        corrected=('wheel_delay_found',),
    ),
    'fixes 8 m aside from the middle on': Mistake(
        edited(gps_fix=after(20.0, shifted(8.0))), ('jump', 'changes', 'set_aside')
    ),
    'satellite velocity stuck': Mistake(
        edited(gps_vel=held(15.0, 'twist')), ('stuck', 'set_aside')
    ),
    'fixes stuck': Mistake(
        edited(gps_fix=held(15.0, 'latitude', 'longitude', 'altitude')), ('stuck', 'set_aside')
    ),
    'satellite velocity 1.1 times too large': Mistake(edited(gps_vel=velocity(1.1)), ('scale',)),
    'satellite velocity in km/h from the middle on': Mistake(
        edited(gps_vel=after(20.0, velocity(3.6))), ('unit', 'changes', 'set_aside')
    ),
    'gyro 0.9 times too small': Mistake(edited(imu_data=mapped(GYRO, 0.9)), ('scale',)),
    'gyro with a bias of 3 deg/s': Mistake(
        edited(imu_data=biased(0.05)), ('bias',), corrected=('gyro_bias_found',)
    ),
    'one glitch of the gyroscope of 10 rad/s': Mistake(
        edited(imu_data=glitch_after(20.0, GYRO, 10.0)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'one glitch of the accelerometer of 80 m/s^2': Mistake(
        edited(imu_data=glitch_after(20.0, ACCEL, 80.0)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'fixes 50 ms early': Mistake(edited(gps_fix=late(-0.05)), ('fix_early',)),
    'stamps of fixes rounded down to 0.1 s': Mistake(edited(gps_fix=_rounded), ('fix_early',)),
    'inertial unit rolled by 5 degrees': Mistake(
        edited(imu_data=mapped(BOTH, ROLLED)), ('imu_turned',)
    ),
    'fixes that scatter by 3 m, 2 cm stated': Mistake(
        edited(gps_fix=scattered(3.0)), ('noisier_than_stated',)
    ),
    'fixes with four digits after the point': Mistake(
        edited(gps_fix=_digits(4)), ('coarse', 'noisier_than_stated')
    ),
    'fixes with five digits after the point': Mistake(
        edited(gps_fix=_digits(5)), ('coarse', 'noisier_than_stated')
    ),
    'gyro x of wrong sign': Mistake(
        edited(imu_data=mapped(GYRO, np.diag([-1, 1, 1]))), ('sign', 'gyro_sign')
    ),
    'gyro y of wrong sign': Mistake(
        edited(imu_data=mapped(GYRO, np.diag([1, -1, 1]))), ('sign', 'gyro_sign')
    ),
    'gyro x alone in deg/s': Mistake(
        edited(imu_data=mapped(GYRO, np.diag([57.2958, 1, 1]))), ('unit',)
    ),
    'inertial unit of left-handed axes': Mistake(
        edited(imu_data=mapped(BOTH, np.diag([1, -1, 1]))), ('sign', 'imu_turned')
    ),
    'inertial unit yawed by 15 degrees': Mistake(
        edited(imu_data=mapped(BOTH, matrix_of_rpy((0.0, 0.0, np.radians(15.0))))),
        ('imu_yaw_found', 'imu_turned'),
        corrected=('imu_yaw_found',),
    ),
    'satellite velocity without signs': Mistake(edited(gps_vel=_unsigned), ('sign', 'axis')),
    'latitude and longitude in radians': Mistake(edited(gps_fix=_in_radians), ('unit',)),
    'altitudes in feet': Mistake(
        edited(gps_fix=lambda m: setattr(m, 'altitude', m.altitude / 0.3048)), ('unit', 'scale')
    ),
    'wheel angles begin anew each turn': Mistake(
        joints(lambda q: (q + np.pi) % (2.0 * np.pi) - np.pi), ('wrapped',), corrected=('wrapped',)
    ),
    'gyro in deg/s and wheels backwards': Mistake(
        lambda case: replace(
            case,
            edits={
                'imu/data': mapped(GYRO, 57.2958),
                'joint_states': lambda m: setattr(m, 'position', -np.array(m.position)),
            },
            told=[],
        ),
        ('unit', 'sign'),
    ),
    'acceleration in mg': Mistake(edited(imu_data=mapped(ACCEL, 1000.0 / 9.80665)), ('unit',)),
    'fixes in degrees and minutes': Mistake(edited(gps_fix=in_minutes), ('unit',)),
    'velocities 5 degrees aside': Mistake(edited(gps_vel=aside(5.0)), ('velocity_turned',)),
    'gyro smoothed over 0.5 s': Mistake(edited(imu_data=smoothed(0.5, GYRO)), ('late',)),
    'inertial unit smoothed over 0.3 s': Mistake(
        edited(imu_data=smoothed(0.3, GYRO, ACCEL)), ('late',)
    ),
    'satellites 18 s ahead': Mistake(
        edited(gps_fix=late(18.0), gps_vel=late(18.0)), ('clock_off', 'late')
    ),
    'longitudes positive to the west': Mistake(
        edited(gps_fix=lambda m: setattr(m, 'longitude', -m.longitude)), ('sign', 'axis')
    ),
}


class Collected:
    """Takes messages as a bag writer does, changed by a case."""

    def __init__(self, edits: Mapping[str, Edit]) -> None:
        self.items: list[Item] = []
        # A memory is of one reading.
        self._edits = {
            topic: edit.fresh() if isinstance(edit, Remembering) else edit
            for topic, edit in edits.items()
        }

    def write_message(self, topic: str, message: Any, time_ns: int) -> None:
        """Keep a message."""
        edit = self._edits.get(topic)
        if edit is not None:
            edit(message)
        self.items.append(Item(time_ns, f'/{topic.lstrip("/")}', message))


class OdometrySink:
    """Keeps the odometry that a node publishes on a topic."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.messages: list[Any] = []

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        """Keep a message of the topic."""
        if topic == self._topic:
            self.messages.append(messages.deserialize(payload, typename))

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Time, x, y, yaw and their variances."""
        for one in self.messages:
            stamp, p, q = one.header.stamp, one.pose.pose.position, one.pose.pose.orientation
            t = stamp.sec - EPOCH_NS // 10**9 + (stamp.nanosec - EPOCH_NS % 10**9) * 1e-9
            variance = np.reshape(one.pose.covariance, (6, 6)).diagonal()[[0, 1, 5]]
            yield (t, p.x, p.y, rpy_of_quaternion((q.x, q.y, q.z, q.w))[2], *variance)


def pose_deviations(driven: RoadDrive, rows: Iterable[tuple[float, ...]]) -> dict[str, float]:
    """Errors of x, y and yaw over their deviations, now and then."""
    truth, found_z, last = driven.truth(), {}, -np.inf
    for t, x, y, yaw, *variances in rows:
        if t < SETTLED or t < last + EVERY:
            continue
        last = t
        for name, value, variance in zip(('x', 'y', 'yaw'), (x, y, yaw), variances, strict=True):
            error = value - float(np.interp(t, truth['time'], truth[name]))
            if name == 'yaw':
                error = float(np.angle(np.exp(1j * error)))
            found_z[f'{name} at {t:.1f} s'] = error / float(np.sqrt(max(variance, 1e-18)))
    return found_z


def live(case: Case, folder: Path) -> Told:
    """The node over the messages of the drive."""
    if not case.told:
        case.told.append(_run(case))
    return case.told[0]


offline = live


def _run(case: Case) -> Told:
    collected = Collected(case.edits)
    case.drive.write(collected, truth=False)  # type: ignore[arg-type]
    sink = OdometrySink('/odometry/fused')
    engine = ReplayEngine(collected.items[0].time_ns, sink=sink, log_level='fatal')
    try:
        node = SensorFusion(
            engine.create_node(
                'sensor_fusion',
                parameter_files=[find_config('sensor_fusion_road_drive.yaml')],
                parameters={'rate': 10.0, 'publish_tf': False, **case.parameters},
            )
        )
        engine.run(collected.items)
    except VehIdError as error:
        return Told(refusal=str(error))
    return Told(found(node.report.findings), '', pose_deviations(case.drive, sink.rows()))
