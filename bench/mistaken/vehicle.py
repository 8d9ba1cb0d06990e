"""Mistakes in recordings and descriptions of the vehicle observer, on drives of the road car.

The car's simulator shares no code with the observer; the list of mistakes and the checks come from
the same hands, and tolerances were set on drives 500 to 506 of the same simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mistaken.common import LEFT_OUT, Item, Mistake, Told, found, observed
from mistaken.fusion import (
    ACCEL,
    BOTH,
    EXCHANGED,
    GYRO,
    QUARTER,
    Collected,
    Edit,
    OdometrySink,
    Remembering,
    after,
    aside,
    drifting,
    glitch_after,
    held,
    in_minutes,
    late,
    mapped,
    pose_deviations,
    rates_as_positions,
    repeating,
    shifted,
    smoothed,
    velocity,
    without_gravity,
)
from veh_identification.errors import VehIdError
from veh_identification.nodes.error_ekf.node import ErrorEkf
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.road_car.drive import RoadDrive, drive
from veh_identification.simulation.sensors import EPOCH_NS

NAME = 'vehicle'
SECONDS = 40.0
TOPIC = '/odometry/observed'


@dataclass(frozen=True, eq=False)
class Case:
    """A drive, how its messages are changed, and entries of the description that differ."""

    drive: RoadDrive
    edits: Mapping[str, Edit] = field(default_factory=dict)  # by topic
    entries: Mapping[str, Any] = field(default_factory=dict)  # by path with dots
    transforms: bool = True


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another car, road, driver and errors of the sensors."""
    return Case(drive(700 + k, duration=seconds))


def edited(**edits: Edit) -> Callable[[Case], Case]:
    """Messages of some topics (their names with _ for /) changed in place."""
    names = {'imu': 'imu/data', 'fix': 'gps/fix', 'vel': 'gps/vel', 'joints': 'joint_states'}
    by_topic = {names[name]: edit for name, edit in edits.items()}
    return lambda case: replace(case, edits=by_topic)


def joints(change: Callable[[Any], Any]) -> Callable[[Case], Case]:
    """Positions of the joints (four wheels, steering wheel) changed."""

    def edit(message: Any) -> None:
        message.position = change(np.array(message.position))

    return edited(joints=edit)


def wheels(change: Callable[[Any], Any]) -> Callable[[Case], Case]:
    """Angles of the wheels changed."""
    return joints(lambda q: np.append(change(q[:4]), q[4]))


def steering(change: Callable[[float], float]) -> Callable[[Case], Case]:
    """Angle of the steering wheel changed."""
    return joints(lambda q: np.append(q[:4], change(q[4])))


def _joint(k: int, seconds: float = 15.0) -> Edit:
    """One joint that keeps its value from so long after the first message on."""

    def make() -> Edit:
        whole = held(seconds, 'position').fresh()  # type: ignore[attr-defined]

        def one(message: Any) -> None:
            now = np.array(message.position)
            whole(message)
            now[k] = message.position[k]
            message.position = now

        return one

    return Remembering(make)


def described(transforms: bool = True, **entries: Any) -> Callable[[Case], Case]:
    """Entries of the description (with __ for the dot) that differ."""
    by_path = {name.replace('__', '.'): value for name, value in entries.items()}
    return lambda case: replace(case, entries=by_path, transforms=transforms)


def body_axes(message: Any) -> None:
    """Velocity forward and to the left instead of east and north."""
    v = message.twist.linear
    v.x, v.y = float(np.hypot(v.x, v.y)), 0.0


def east_for_north(message: Any) -> None:
    """North in x, east in y."""
    v = message.twist.linear
    v.x, v.y = v.y, v.x


def southwards(message: Any) -> None:
    """y counted to the south."""
    message.twist.linear.y *= -1.0


def one_wheel(k: int, factor: float) -> Callable[[Any], Any]:
    """One of four angles times a factor."""
    return lambda q: q * np.where(np.arange(4) == k, factor, 1.0)


DEGREES = 57.29578
MISTAKES = {
    'gyro in deg/s': Mistake(edited(imu=mapped(GYRO, DEGREES)), ('unit',)),
    'acceleration in g': Mistake(edited(imu=mapped(ACCEL, 1.0 / 9.80665)), ('unit',)),
    'gravity removed': Mistake(edited(imu=without_gravity), ('gravity_removed',)),
    'gyro z of wrong sign': Mistake(
        edited(imu=mapped(GYRO, np.diag([1, 1, -1]))), ('sign', 'gyro_sign')
    ),
    'acceleration of wrong sign': Mistake(edited(imu=mapped(ACCEL, -1.0)), ('imu_turned', 'sign')),
    'acceleration x and y exchanged': Mistake(
        edited(imu=mapped(ACCEL, EXCHANGED)), ('axis', 'imu_turned')
    ),
    'inertial unit turned by 90 degrees': Mistake(
        edited(imu=mapped(BOTH, QUARTER)), ('axis', 'imu_turned')
    ),
    'inertial unit turned by 180 degrees': Mistake(
        edited(imu=mapped(BOTH, np.diag([-1, -1, 1]))), ('sign', 'imu_turned')
    ),
    'inertial unit upside down': Mistake(
        edited(imu=mapped(BOTH, np.diag([1, -1, -1]))), ('imu_turned',)
    ),
    'inertial unit 0.2 s late': Mistake(edited(imu=late(0.2)), ('late',)),
    'gyro stuck': Mistake(
        edited(imu=held(15.0, GYRO)),
        ('stuck', 'set_aside'),
    ),
    'satellite speed in km/h': Mistake(edited(vel=velocity(3.6)), ('unit',)),
    'satellite speed in knots': Mistake(edited(vel=velocity(1.94384)), ('unit',)),
    'satellite velocity in body axes': Mistake(edited(vel=body_axes), ('axis',)),
    'satellite velocity north and east exchanged': Mistake(edited(vel=east_for_north), ('axis',)),
    'satellite velocity to the south': Mistake(edited(vel=southwards), ('sign',)),
    'satellite velocity 0.3 s late': Mistake(
        edited(vel=late(0.3)), ('late',), corrected=('gps_velocity_delay_found',)
    ),
    'fixes 0.3 s late': Mistake(edited(fix=late(0.3)), ('late', 'calibration_off')),
    'fixes stuck': Mistake(
        edited(fix=held(15.0, 'latitude', 'longitude', 'altitude')),
        ('stuck', 'set_aside'),
    ),
    'wheel angles in degrees': Mistake(wheels(lambda q: DEGREES * q), ('unit',)),
    'wheel angles begin anew each turn': Mistake(
        wheels(lambda q: (q + np.pi) % (2.0 * np.pi) - np.pi), ('wrapped',), corrected=('wrapped',)
    ),
    'wheels turn backwards': Mistake(wheels(lambda q: -q), ('sign',)),
    'front right wheel turns backwards': Mistake(wheels(one_wheel(1, -1.0)), ('sign',)),
    'rear left wheel counts 1.3 times': Mistake(wheels(one_wheel(2, 1.3)), ('scale',)),
    'wheels swapped left and right': Mistake(
        wheels(lambda q: q[[1, 0, 3, 2]]), ('wheels_exchanged',)
    ),
    'wheels swapped front and rear': Mistake(
        wheels(lambda q: q[[2, 3, 0, 1]]), ('wheels_exchanged',)
    ),
    'front left and rear right wheel swapped': Mistake(
        wheels(lambda q: q[[3, 1, 2, 0]]), ('wheels_exchanged',)
    ),
    'rear left wheel stuck': Mistake(edited(joints=_joint(2)), ('stuck', 'set_aside')),
    'wheels and steering 0.3 s late': Mistake(edited(joints=late(0.3)), ('late',)),
    'steering wheel in degrees': Mistake(steering(lambda a: DEGREES * a), ('unit',)),
    'steering to the right positive': Mistake(steering(lambda a: -a), ('sign',)),
    'steering is that of the road wheels': Mistake(steering(lambda a: a / 15.0), ('scale',)),
    'steering stuck': Mistake(edited(joints=_joint(4)), ('stuck',)),
    'wheel radius in mm': Mistake(
        described(geometry__wheel_radius=332.0), ('unit',), ('wheel_radius',)
    ),
    'wheel radius 10 % too large': Mistake(
        described(geometry__wheel_radius=0.365), ('scale', 'unit')
    ),
    'wheel radius 10 % too small': Mistake(
        described(geometry__wheel_radius=0.299), ('scale', 'unit')
    ),
    'wheel diameter as radius': Mistake(
        described(geometry__wheel_radius=0.664), ('unit', 'scale'), ('wheel_radius',)
    ),
    'full track as half track': Mistake(
        described(geometry__half_track_front=1.56, geometry__half_track_rear=1.54),
        ('geometry',),
        ('track',),
    ),
    'wheelbase in mm': Mistake(described(geometry__wheelbase=2700.0), ('unit',), ('wheelbase',)),
    'mounting angle in degrees': Mistake(
        described(sensors__imu__rpy=[0.0, 0.0, 90.0]),
        ('imu_turned', 'axis', 'unit', 'sign', 'poses_disagree'),
        ('rpy',),
    ),
    'antenna on the wrong side, transforms right': Mistake(
        described(sensors__gps__position=[1.2, 0.6, 1.2]), ('poses_disagree', 'antenna_place')
    ),
    'antenna at the origin, no transform': Mistake(
        described(transforms=False, sensors__gps__position=[0.0, 0.0, 0.0]),
        ('antenna_place', 'mounting_unknown'),
        noted=('antenna_untold',),
    ),
    'antenna ahead given as behind, no transform': Mistake(
        described(transforms=False, sensors__gps__position=[-1.2, 0.0, 1.2]),
        ('antenna_place',),
        noted=('antenna_untold',),
    ),
    'gyro in deg/s from the middle on': Mistake(
        edited(imu=after(20.0, mapped(GYRO, DEGREES))), ('unit', 'changes')
    ),
    'gyro z of wrong sign from the middle on': Mistake(
        edited(imu=after(20.0, mapped(GYRO, np.diag([1, 1, -1])))), ('sign', 'changes')
    ),
    'ax alone in g': Mistake(edited(imu=mapped(ACCEL, np.diag([1 / 9.81, 1, 1]))), ('unit',)),
    'az alone in g': Mistake(edited(imu=mapped(ACCEL, np.diag([1, 1, 1 / 9.81]))), ('unit',)),
    'ay of wrong sign': Mistake(edited(imu=mapped(ACCEL, np.diag([1, -1, 1]))), ('sign',)),
    'gyro 1.2 times too large': Mistake(
        edited(imu=mapped(GYRO, 1.2)), ('scale', 'gyro_scale', 'gyro_scale_found')
    ),
    'gyro y and z exchanged': Mistake(
        edited(imu=mapped(GYRO, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])), ('axis', 'imu_turned')
    ),
    'one glitch of the gyroscope of 10 rad/s': Mistake(
        edited(imu=glitch_after(20.0, GYRO, 10.0)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'one glitch of the accelerometer of 80 m/s^2': Mistake(
        edited(imu=glitch_after(20.0, ACCEL, 80.0)), LEFT_OUT, corrected=LEFT_OUT
    ),
    'inertial unit 20 ms late': Mistake(edited(imu=late(0.02)), ('late', 'imu_delay_found')),
    'inertial unit repeats its values for 0.1 s': Mistake(
        edited(imu=repeating(0.1, GYRO, ACCEL)), ('repeated',)
    ),
    'clock of the inertial unit 1 % fast': Mistake(
        edited(imu=drifting(0.01)), ('late', 'clock_drift', 'clock')
    ),
    'wheels repeat their values for 0.5 s': Mistake(
        edited(joints=repeating(0.5, 'position')), ('repeated',)
    ),
    'wheels in degrees from the middle on': Mistake(
        edited(joints=after(20.0, lambda m: setattr(m, 'position', DEGREES * m.position))),
        ('unit', 'changes', 'set_aside'),
    ),
    'fixes 8 m aside from the middle on': Mistake(
        edited(fix=after(20.0, shifted(8.0))), ('jump', 'changes', 'set_aside')
    ),
    'satellite velocity stuck': Mistake(edited(vel=held(15.0, 'twist')), ('stuck', 'set_aside')),
    'satellite velocity 1.1 times too large': Mistake(edited(vel=velocity(1.1)), ('scale',)),
    'steering ratio 1.6 times too large': Mistake(steering(lambda a: 1.6 * a), ('scale',)),
    'steering 40 degrees off its zero': Mistake(
        steering(lambda a: a + 0.7), ('offset', 'steering_zero'), corrected=('steering_zero',)
    ),
    'front left wheel 6 % larger': Mistake(wheels(one_wheel(0, 1 / 1.06)), ('scale',)),
    'wheelbase 20 % too long': Mistake(described(geometry__wheelbase=3.24), ('geometry', 'scale')),
    'inertial unit said to be in mm': Mistake(
        described(transforms=False, sensors__imu__position=[300.0, 0.0, 400.0]),
        ('unit', 'geometry'),
        ('sensors.imu.position',),
    ),
    'antenna in mm': Mistake(
        described(transforms=False, sensors__gps__position=[1200.0, 0.0, 1200.0]),
        ('unit', 'geometry', 'antenna_place'),
        ('sensors.gps.position',),
    ),
    'gyro in deg/s and wheels backwards': Mistake(
        edited(
            imu=mapped(GYRO, DEGREES),
            joints=lambda m: setattr(m, 'position', -np.array(m.position)),
        ),
        ('unit', 'sign'),
    ),
    'acceleration in cm/s^2': Mistake(edited(imu=mapped(ACCEL, 100.0)), ('unit',)),
    'fixes in degrees and minutes': Mistake(edited(fix=in_minutes), ('unit',)),
    'satellite velocity 5 degrees aside': Mistake(edited(vel=aside(5.0)), ('velocity_turned',)),
    'gyro smoothed over 0.5 s': Mistake(edited(imu=smoothed(0.5, GYRO)), ('late',)),
    'inertial unit smoothed over 0.3 s': Mistake(
        edited(imu=smoothed(0.3, GYRO, ACCEL)), ('late',)
    ),
    'satellites 18 s ahead': Mistake(
        edited(fix=late(18.0), vel=late(18.0)), ('clock_off', 'late')
    ),
    'speeds of the wheels as their angles': Mistake(
        edited(joints=rates_as_positions()), ('unit',)
    ),
    'antenna x and y exchanged, no transform': Mistake(
        described(transforms=False, sensors__gps__position=[0.0, 1.2, 1.2]),
        ('antenna_place',),
        noted=('antenna_untold',),
    ),
    'steering ratio 1.3 times too large': Mistake(steering(lambda a: 1.3 * a), ('scale',)),
}


def _items(case: Case) -> list[Item]:
    collected = Collected(case.edits)
    case.drive.write(collected, truth=False)  # type: ignore[arg-type]
    return [one for one in collected.items if case.transforms or one.topic != '/tf_static']


def _description(case: Case, folder: Path) -> Path:
    """The file of the nominal car with the entries that differ."""
    data = yaml.safe_load(find_config('road_drive.yaml').read_text('utf-8'))
    for name, value in case.entries.items():
        *path, last = name.split('.')
        place = data
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    target = folder / 'vehicle.yaml'
    target.write_text(yaml.safe_dump(data), 'utf-8')
    return target


def offline(case: Case, folder: Path) -> Told:
    """The checks of `veh-id observe vehicle`, and the observer where they do not forbid it."""
    items, described = _items(case), _description(case, folder)
    recording, outcome = observed(NAME, items, described, folder, compare_model=False)
    if isinstance(outcome, Told):
        return outcome
    seen = outcome.result.details.run
    begin = (recording.start_ns - EPOCH_NS) * 1e-9
    variances = seen.covariance[:, [0, 1, 2], [0, 1, 2]]
    rows = np.column_stack([begin + seen.time, seen.frame[:, 0, :2], seen.yaw, variances])
    return Told(found(outcome.findings), '', pose_deviations(case.drive, map(tuple, rows)))


def live(case: Case, folder: Path) -> Told:
    """The node over the messages of the drive."""
    items, sink = _items(case), OdometrySink(TOPIC)
    engine = ReplayEngine(items[0].time_ns, sink=sink, log_level='fatal')
    parameters = {'model': str(_description(case, folder)), 'publish_tf': False}
    try:
        node = ErrorEkf(engine.create_node('error_ekf', parameters=parameters))
        engine.run(items)
    except VehIdError as error:
        return Told(refusal=str(error))
    return Told(found(node.report.findings), '', pose_deviations(case.drive, sink.rows()))
