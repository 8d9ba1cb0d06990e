"""Mistakes in a car's recordings and description.

The checks of the car were written beside this list and their tolerances set on this simulator, so
that the figures are no forecast for other mistakes or real cars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from mistaken.common import (
    LEFT_OUT,
    Item,
    Mistake,
    Told,
    deviations,
    found,
    glitch,
    live_told,
    repeated,
    write_bag,
)
from veh_identification.errors import VehIdError
from veh_identification.runtime.graph import find_config
from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.manoeuvres import KMH, Manoeuvre
from veh_identification.simulation.car.messages import readings, static_transforms
from veh_identification.simulation.car.scenarios import car_recording, default_configuration
from veh_identification.simulation.car.sensors import Stream
from veh_identification.simulation.car.vehicle import random_vehicle
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.identify import check_recording
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.reader import CarRecording, read_recording
from veh_identification.systems.driver import run

NAME = 'car'
SECONDS = 16.0
Pair = tuple[CarRecording, CarDescription]
Change = Callable[[CarRecording, CarDescription], Pair]
MANOEUVRES = (
    Manoeuvre('sine', 90.0 * KMH, frequency=0.45, lateral=4.0),
    Manoeuvre('sine', 120.0 * KMH, frequency=0.5, lateral=3.0),
    Manoeuvre('sine', 60.0 * KMH, frequency=0.6, lateral=3.5),
)


def scaled(series: TimeSeries | None, columns: Any, factor: float) -> TimeSeries:
    """Some channels of a series times a factor."""
    assert series is not None
    values = series.values.copy()
    values[:, columns] *= factor
    return replace(series, values=values)


def imu(columns: Any, factor: float) -> Change:
    """Channels of the inertial unit times a factor."""
    return lambda run, car: (replace(run, imu=scaled(run.imu, columns, factor)), car)


def joints(kind: str, factor: float) -> Change:
    """All joints of a kind (or one) times a factor."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed = {
            name: scaled(one, [0], factor) if name.startswith(kind) else one
            for name, one in run.joints.items()
        }
        return replace(run, joints=changed), car

    return make


def wrenches(corners: str, columns: Any, factor: float) -> Change:
    """Wheel forces times a factor."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed = {
            corner: scaled(one, columns, factor) if corner in corners.split() else one
            for corner, one in run.wrenches.items()
        }
        return replace(run, wrenches=changed), car

    return make


def swapped(a: str, b: str) -> Change:
    """Two wheel force sensors exchanged."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed = dict(run.wrenches)
        changed[a], changed[b] = changed[b], changed[a]
        return replace(run, wrenches=changed), car

    return make


def exchanged(a: str, b: str) -> Change:
    """Two joints exchanged."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed = dict(run.joints)
        changed[a], changed[b] = changed[b], changed[a]
        return replace(run, joints=changed), car

    return make


def geometry(**changes: Any) -> Change:
    """Entries of the geometry times a factor."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        found = {}
        for name, factor in changes.items():
            value = getattr(car.geometry, name)
            found[name] = (
                tuple(factor * one for one in value)
                if isinstance(value, tuple)
                else factor * value
            )
        return run, replace(car, geometry=replace(car.geometry, **found))

    return make


def without_gravity(run: CarRecording, car: CarDescription) -> Pair:
    """Gravity removed by the sensor's own filter."""
    assert run.imu is not None
    values = run.imu.values - np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81])
    return replace(run, imu=replace(run.imu, values=values)), car


def axes_exchanged(run: CarRecording, car: CarDescription) -> Pair:
    """x and y of the inertial unit exchanged."""
    assert run.imu is not None
    return replace(run, imu=replace(run.imu, values=run.imu.values[:, [1, 0, 2, 4, 3, 5]])), car


def stuck(name: str) -> Change:
    """A joint that holds its value from the middle on."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        one = run.joints[name]
        values = one.values.copy()
        half = len(values) // 2
        values[half:] = values[half]
        return replace(run, joints={**run.joints, name: replace(one, values=values)}), car

    return make


def told_pose(
    shift: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0, 0, 0)
) -> Change:
    """The description of the inertial unit's place and axes is off."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        imu = car.sensors.imu
        changed = replace(
            imu,
            position=tuple(a + b for a, b in zip(imu.position, shift, strict=True)),
            rpy=tuple(a + np.radians(b) for a, b in zip(imu.rpy, rpy, strict=True)),
        )
        return run, replace(car, sensors=replace(car.sensors, imu=changed))

    return make


def at_origin(run: CarRecording, car: CarDescription) -> Pair:
    """Nobody has measured where the inertial unit sits."""
    imu = replace(car.sensors.imu, position=(0.0, 0.0, 0.0))
    return run, replace(car, sensors=replace(car.sensors, imu=imu))


def imu_late(seconds: float) -> Change:
    """Stamps of the inertial unit are late."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        assert run.imu is not None
        return replace(run, imu=run.imu.delayed(-seconds)), car

    return make


def wheel_late(corner: str, seconds: float) -> Change:
    """Stamps of one wheel force sensor are late."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        late = run.wrenches[corner].delayed(-seconds)
        return replace(run, wrenches={**run.wrenches, corner: late}), car

    return make


def unturned(run: CarRecording, car: CarDescription) -> Pair:
    """Wheel forces that somebody has turned by the steering already."""
    moved = {}
    for corner, one in run.wrenches.items():
        steered = run.joints.get(f'steering_{corner}')
        if steered is None:
            moved[corner] = one
            continue
        angle = np.interp(one.stamps, steered.stamps, steered.values[:, 0])
        turn = Rotation.from_euler('z', angle[:, None])
        parts = [turn.apply(one.values[:, k : k + 3]) for k in (0, 3)]
        moved[corner] = replace(one, values=np.column_stack(parts))
    return replace(run, wrenches=moved), car


def wheels_turned(axis: str, degrees: float) -> Change:
    """Wheel force sensors that are all mounted turned alike."""
    matrix = Rotation.from_euler(axis, degrees, degrees=True).as_matrix()

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed = {
            corner: replace(
                one,
                values=np.hstack([one.values[:, :3] @ matrix.T, one.values[:, 3:] @ matrix.T]),
            )
            for corner, one in run.wrenches.items()
        }
        return replace(run, wrenches=changed), car

    return make


def at_contact(run: CarRecording, car: CarDescription) -> Pair:
    """Wheel forces about the points of contact, as tyre people have them."""
    radius = car.geometry.wheel_radius
    moved = {}
    for corner, one in run.wrenches.items():
        values = one.values.copy()
        values[:, 3] -= radius * values[:, 1]
        values[:, 4] += radius * values[:, 0]
        moved[corner] = replace(one, values=values)
    return replace(run, wrenches=moved), car


def without(kind: str) -> Change:
    """Joints of a kind are not recorded."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        kept = {name: one for name, one in run.joints.items() if not name.startswith(kind)}
        return replace(run, joints=kept), car

    return make


def _each(run: CarRecording, change: Callable[[str, TimeSeries], TimeSeries]) -> CarRecording:
    """Every series of a recording changed by its name."""
    return replace(
        run,
        imu=None if run.imu is None else change('imu', run.imu),
        speed=None if run.speed is None else change('speed', run.speed),
        joints={name: change(name, one) for name, one in run.joints.items()},
        wrenches={corner: change(f'wrench_{corner}', one) for corner, one in run.wrenches.items()},
    )


def _series(run: CarRecording) -> dict[str, TimeSeries]:
    found: dict[str, TimeSeries] = {}

    def note(name: str, one: TimeSeries) -> TimeSeries:
        found[name] = one
        return one

    _each(run, note)
    return found


def halfway(change: Change) -> Change:
    """A change of values that begins in the middle of the recording."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        changed, car = change(run, car)
        wrong = _series(changed)

        def half(name: str, one: TimeSeries) -> TimeSeries:
            values, later = one.values.copy(), wrong[name].values
            middle, count = len(values) // 2, min(len(values), len(later))  # sensors of a pair
            values[middle:count] = later[middle:count]
            return replace(one, values=values)

        return _each(run, half), car

    return make


def of(name: str, change: Callable[[Any, Any], Any]) -> Change:
    """Values of a series (a part of its name) by stamps and values."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        def one(own: str, series: TimeSeries) -> TimeSeries:
            if not own.startswith(name):
                return series
            return replace(series, values=change(series.stamps, series.values.copy()))

        return _each(run, one), car

    return make


def stamped(name: str, change: Callable[[Any], Any]) -> Change:
    """Stamps of a series (seconds after the first) changed."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        def one(own: str, series: TimeSeries) -> TimeSeries:
            if not own.startswith(name):
                return series
            begin = series.stamps[0]
            return replace(series, stamps=begin + change(series.stamps - begin))

        return _each(run, one), car

    return make


def _hastened(run: CarRecording) -> Callable[[str, TimeSeries], TimeSeries]:
    """Stamps of a player that ran at twice the speed."""
    assert run.imu is not None
    begin = run.imu.stamps[0]
    return lambda name, one: replace(one, stamps=begin + 0.5 * (one.stamps - begin))


def column(k: int, change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """One column of the values."""

    def make(stamps: Any, values: Any) -> Any:
        values[:, k] = change(values[:, k])
        return values

    return make


def both(*changes: Change) -> Change:
    """One mistake after the other."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        for change in changes:
            run, car = change(run, car)
        return run, car

    return make


def weighed(change: Change) -> Change:
    """A car that stood on scales, axle by axle, before the mistake was made."""

    def make(run: CarRecording, car: CarDescription) -> Pair:
        loads = [run.wrenches[one].values[:, 2].mean() / car.gravity for one in CORNERS]
        front, rear = (sum(loads[k : k + 2]) + 2.0 * car.weighed.beyond for k in (0, 2))
        scales = replace(car.weighed, front=float(front), rear=float(rear))
        return change(run, replace(car, weighed=scales))

    return make


#: Name, the mistake, and the codes that name it rightly.
CHANGES: dict[str, tuple[Change, tuple[str, ...]]] = {
    'speed in km/h': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [0, 1], 3.6)), car),
        ('unit',),
    ),
    'speed in mph': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [0, 1], 2.237)), car),
        ('unit',),
    ),
    'speed backwards': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [0, 1], -1.0)), car),
        ('sign',),
    ),
    'gyro in deg/s': (imu([0, 1, 2], 57.2958), ('unit',)),
    'gyro x of wrong sign': (imu([0], -1.0), ('gyro_sign',)),
    'gyro y of wrong sign': (imu([1], -1.0), ('gyro_sign',)),
    'gyro z of wrong sign': (imu([2], -1.0), ('gyro_sign', 'sign')),
    'acceleration in g': (imu([3, 4, 5], 1.0 / 9.80665), ('unit',)),
    'acceleration of wrong sign': (imu([3, 4, 5], -1.0), ('imu_turned', 'accelerometer_sign')),
    'ay of wrong sign': (imu([4], -1.0), ('accelerometer_sign',)),
    'gravity removed': (without_gravity, ('gravity_removed',)),
    'inertial unit upside down': (imu([1, 2, 4, 5], -1.0), ('imu_turned',)),
    'axes x and y exchanged': (axes_exchanged, ('imu_turned',)),
    'travel in mm': (joints('suspension', 1000.0), ('unit',)),
    'travel in cm': (joints('suspension', 100.0), ('unit',)),
    'travel of wrong sign': (joints('suspension', -1.0), ('sign', 'travel_sign')),
    'travel fl of wrong sign': (joints('suspension_fl', -1.0), ('travel_sign',)),
    'steering in degrees': (joints('steering', 57.2958), ('unit',)),
    'steering of wrong sign': (joints('steering', -1.0), ('sign', 'steering_sign')),
    'wheel forces in kN': (wrenches('fl fr rl rr', list(range(6)), 1e-3), ('unit',)),
    'wheel forces of wrong sign': (
        wrenches('fl fr rl rr', list(range(6)), -1.0),
        ('sign', 'wrench_sign'),
    ),
    'wheel force rr of wrong sign': (wrenches('rr', list(range(6)), -1.0), ('wrench_sign',)),
    'wheel forces fl and fr swapped': (swapped('fl', 'fr'), ('swapped_wrenches',)),
    'wheel forces rl and rr swapped': (swapped('rl', 'rr'), ('swapped_wrenches',)),
    'wheel forces fl and rl swapped': (swapped('fl', 'rl'), ('swapped_wrenches',)),
    'travels fl and fr exchanged': (
        exchanged('suspension_fl', 'suspension_fr'),
        ('swapped_travels',),
    ),
    'wheelbase in mm': (geometry(wheelbase=1000.0), ('unit', 'geometry')),
    'half tracks in mm': (geometry(half_track=1000.0), ('unit', 'geometry')),
    'full track as half track': (geometry(half_track=2.0), ('geometry',)),
    'travel sensor stuck': (stuck('suspension_fl'), ('stuck',)),
    'inertial unit said to be at the origin': (at_origin, ('imu_position',)),
    'lever arm 0.3 m off along x': (told_pose((0.3, 0.0, 0.0)), ('imu_position',)),
    'lever arm 0.3 m off along z': (told_pose((0.0, 0.0, 0.3)), ('imu_position',)),
    'inertial unit turned by 3 degrees about x': (told_pose(rpy=(3, 0, 0)), ('imu_angles',)),
    'inertial unit turned by 3 degrees about z': (told_pose(rpy=(0, 0, 3)), ('imu_angles',)),
    'inertial unit turned by 90 degrees about z': (
        told_pose(rpy=(0, 0, 90)),
        ('imu_turned', 'imu_angles'),
    ),
    'inertial unit turned by 90 degrees about x': (
        told_pose(rpy=(90, 0, 0)),
        ('imu_turned', 'imu_angles'),
    ),
    'inertial unit 15 ms late': (imu_late(0.015), ('sensor_lag',)),
    'wheel force fr 6 ms late': (wheel_late('fr', 0.006), ('sensor_lag',)),
    'camber untold': (without('camber'), ('untold_camber',)),
    'wheelbase 10 % too long': (geometry(wheelbase=1.1), ('geometry', 'wheelbase')),
    'wheel force fl 1.2 times too large': (
        wrenches('fl', list(range(6)), 1.2),
        ('scale', 'wrench_scale'),
    ),
    'gyro 1.1 times too large': (imu([0, 1, 2], 1.1), ('scale', 'gyro_scale')),
    'gyro z in deg/s from the middle on': (halfway(imu([2], 57.2958)), ('unit', 'changes')),
    'ay of wrong sign from the middle on': (
        halfway(imu([4], -1.0)),
        ('accelerometer_sign', 'changes'),
    ),
    'wheel forces fl and fr swapped from the middle on': (
        halfway(swapped('fl', 'fr')),
        ('swapped_wrenches', 'changes'),
    ),
    'az alone in g': (imu([5], 1.0 / 9.80665), ('unit',)),
    'ay alone in g': (imu([4], 1.0 / 9.80665), ('unit',)),
    'gyro x alone in deg/s': (imu([0], 57.2958), ('unit',)),
    'ay 1.2 times too large': (imu([4], 1.2), ('scale', 'accelerometer_scale')),
    'speed 1.1 times too large': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [0, 1], 1.1)), car),
        ('scale', 'speed_scale'),
    ),
    'speed repeats its value for 0.5 s': (of('speed', repeated(0.5)), ('repeated', 'stuck')),
    'travel rl repeats its value for 0.2 s': (
        of('suspension_rl', repeated(0.2)),
        ('repeated', 'stuck'),
    ),
    'inertial unit repeats its value for 50 ms': (
        of('imu', repeated(0.05)),
        ('repeated', 'stuck'),
    ),
    'clock of the inertial unit 0.2 % fast': (
        stamped('imu', lambda t: 1.002 * t),
        ('clock', 'sensor_lag', 'clock_drift'),
    ),
    'clock of wheel force rl 0.2 % fast': (
        stamped('wrench_rl', lambda t: 1.002 * t),
        ('clock', 'sensor_lag', 'clock_drift'),
    ),
    'all wheel forces 30 ms late': (stamped('wrench', lambda t: t + 0.03), ('sensor_lag',)),
    'all travels 40 ms late': (stamped('suspension', lambda t: t + 0.04), ('sensor_lag',)),
    'speed 0.3 s late': (stamped('speed', lambda t: t + 0.3), ('sensor_lag', 'late')),
    'Fz of wheel rl 400 N not tared': (
        of('wrench_rl', column(2, lambda f: f + 400.0)),
        ('offset', 'wrench_offset'),
    ),
    'wheel force fr zero from the middle on': (
        halfway(wrenches('fr', list(range(6)), 0.0)),
        ('stuck', 'dropped_out', 'changes'),
    ),
    'Fy of wheel rl of wrong sign': (wrenches('rl', [1], -1.0), ('wrench_axis_sign',)),
    'Fx and Fy of wheel fl exchanged': (
        of('wrench_fl', lambda t, v: v[:, [1, 0, 2, 3, 4, 5]]),
        ('wrench_axes', 'wrench_turned'),
    ),
    'wheel forces in the axes of the car': (unturned, ('wrench_frame',)),
    'wheel forces turned by 5 degrees about x': (wheels_turned('x', 5.0), ('wrench_turned',)),
    'wheel forces turned by 5 degrees about y': (wheels_turned('y', 5.0), ('wrench_turned',)),
    'wheel forces turned by 5 degrees about z': (wheels_turned('z', 5.0), ('wrench_turned',)),
    'moments about the points of contact': (at_contact, ('wrench_point',)),
    'moments of the wheels in N mm': (
        wrenches('fl fr rl rr', [3, 4, 5], 1000.0),
        ('unit',),
    ),
    'travel rl in mm': (joints('suspension_rl', 1000.0), ('unit',)),
    'travel fr 1.4 times too large': (joints('suspension_fr', 1.4), ('scale', 'travel_scale')),
    'travels front and rear exchanged': (
        both(
            exchanged('suspension_fl', 'suspension_rl'),
            exchanged('suspension_fr', 'suspension_rr'),
        ),
        ('swapped_travels',),
    ),
    'all corners left and right exchanged': (
        both(
            swapped('fl', 'fr'),
            swapped('rl', 'rr'),
            exchanged('suspension_fl', 'suspension_fr'),
            exchanged('suspension_rl', 'suspension_rr'),
        ),
        ('swapped_corners', 'swapped_sides'),
    ),
    'steering fl alone in degrees': (joints('steering_fl', 57.2958), ('unit',)),
    'gravity removed and gyro in deg/s': (
        both(without_gravity, imu([0, 1, 2], 57.2958)),
        ('gravity_removed', 'unit'),
    ),
    'speed in km/h and steering of wrong sign': (
        both(
            lambda run, car: (replace(run, speed=scaled(run.speed, [0, 1], 3.6)), car),
            joints('steering', -1.0),
        ),
        ('unit', 'sign', 'steering_sign'),
    ),
    'inertial unit turned by 10 degrees about y': (told_pose(rpy=(0, 10, 0)), ('imu_angles',)),
    'all travels 0.8 times what they are': (joints('suspension', 0.8), ('scale',)),
    'travels of the front measured at the dampers': (
        both(joints('suspension_fl', 0.6), joints('suspension_fr', 0.6)),
        ('scale',),
    ),
    'all wheel forces 1 s late': (stamped('wrench', lambda t: t + 1.0), ('late',)),
    'speed stands at zero': (of('speed', lambda stamps, values: 0.0 * values), ('stuck',)),
    'gyro x and y exchanged': (
        of('imu', lambda stamps, values: values[:, [1, 0, 2, 3, 4, 5]]),
        ('gyro_axes',),
    ),
    'Fy of all wheels 1.15 times too large': (
        wrenches('fl fr rl rr', [1], 1.15),
        ('wrench_scale', 'scale'),
    ),
    'My of all wheels of wrong sign': (
        wrenches('fl fr rl rr', [4], -1.0),
        ('wrench_axis_sign',),
    ),
    'Mx of all wheels of wrong sign': (
        wrenches('fl fr rl rr', [3], -1.0),
        ('wrench_axis_sign',),
    ),
    'az 1.03 times too large': (imu([5], 1.03), ('scale',)),
    'all wheel forces 1.05 times too large, car weighed': (
        weighed(wrenches('fl fr rl rr', list(range(6)), 1.05)),
        ('weight_against_scale',),
    ),
    'rear wheel forces 1.1 times too large, car weighed': (
        weighed(wrenches('rl rr', list(range(6)), 1.1)),
        ('weight_against_scale',),
    ),
    'one glitch of Fz of wheel fl of 1e5 N': (
        of('wrench_fl', lambda stamps, values: glitch(1e5, 2)(values)),
        LEFT_OUT,
    ),
    'one glitch of ay of 1000 m/s^2': (
        of('imu', lambda stamps, values: glitch(1e3, 4)(values)),
        LEFT_OUT,
    ),
    'one glitch of travel fl of 5 cm': (
        of('suspension_fl', lambda stamps, values: glitch(0.05, 0)(values)),
        LEFT_OUT,
    ),
    'one glitch of the speed of 1000 m/s': (
        of('speed', lambda stamps, values: glitch(1e3, 0)(values)),
        LEFT_OUT,
    ),
    'travel fl 20 mm off its zero': (of('suspension_fl', lambda t, v: v + 0.02), ('travel_zero',)),
    'travels zero at droop': (of('suspension', lambda t, v: v + 0.08), ('travel_zero',)),
    'inertial unit of left-handed axes': (
        imu([1, 4], -1.0),
        ('accelerometer_sign', 'gyro_sign', 'imu_turned'),
    ),
    'corners counted side by side instead of axle by axle': (
        both(swapped('fr', 'rl'), exchanged('suspension_fr', 'suspension_rl')),
        ('swapped_corners',),
    ),
    'wheel force rr in lbf': (
        wrenches('rr', list(range(6)), 0.2248),
        ('unit', 'scale', 'wrench_scale'),
    ),
    'steering of the steering wheel': (joints('steering', 16.0), ('unit', 'scale')),
    'steering of the rack in m': (joints('steering', 0.15), ('unit', 'scale')),
    'wheel forces of the right side half a turn about z': (
        wrenches('fr rr', [0, 1, 3, 4], -1.0),
        ('wrench_turned',),
    ),
    'Fz of all wheels tared under the car': (
        of('wrench', column(2, lambda f: f - f.mean())),
        ('offset', 'wrench_offset', 'tared_under_load'),
    ),
    'wheel force fl tared under the car': (
        of('wrench_fl', lambda _, f: f - f[0]),
        ('tared_under_load',),
    ),
    'camber of wrong sign': (joints('camber', -1.0), ('camber_sign',)),
    'yaw rate 0.1 rad/s off its zero': (of('imu', column(2, lambda w: w + 0.1)), ('gyro_zero',)),
    'lateral speed of wrong sign': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [1], -1.0)), car),
        ('sign',),
    ),
    'all stamps at twice the speed': (
        lambda run, car: (_each(run, _hastened(run)), car),
        ('clock', 'weight_against_inertia', 'stamps'),
    ),
    'az saturated at 11 m/s^2': (
        of('imu', column(5, lambda a: np.minimum(a, 11.0))),
        ('saturated',),
    ),
}


@dataclass(frozen=True)
class Case:
    """A recording, the car's description, and the truth."""

    recording: CarRecording
    car: CarDescription
    truth: dict[str, float]


def _made(change: Change) -> Callable[[Case], Case]:
    def make(case: Case) -> Case:
        recording, car = change(case.recording, case.car)
        return Case(recording, car, case.truth)

    return make


MISTAKES = {
    name: Mistake(_made(change), codes, corrected=tuple(one for one in codes if one in LEFT_OUT))
    for name, (change, codes) in CHANGES.items()
}


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another car, manoeuvre, noise and road."""
    description = default_configuration()
    recording, truth = car_recording(
        description,
        MANOEUVRES[k % 3],
        seconds,
        1000 + k,
        vehicle=random_vehicle(k, description.geometry),
    )
    return Case(recording, description, truth)


def offline(case: Case, folder: Path) -> Told:
    """Checks, and the identification where they do not forbid it."""
    bag = folder / 'car'
    write_bag(bag, _messages(case))
    try:
        recording = read_recording(bag, case.car)
        findings = found(check_recording(recording, case.car))
        if any(level == 'bad' for level, _, _ in findings):
            return Told(findings)
        outcome = run('identify', NAME, [recording], config=case.car)
        result = outcome.result
        z = deviations(result.names, result.value, result.std, case.truth)
        return Told((*findings, *found(outcome.findings)), '', z, case.truth)
    except VehIdError as error:
        return Told(refusal=str(error))


def live(case: Case, folder: Path) -> Told:
    """The identification node over the same samples as messages."""
    path = folder / 'car.yaml'
    data = yaml.safe_load(find_config('car_peugeot_406.yaml').read_text('utf-8'))
    geometry = case.car.geometry
    data['car']['geometry'].update(
        wheelbase=float(geometry.wheelbase),
        half_track=dict(zip(CORNERS, map(float, geometry.half_track), strict=True)),
    )
    imu = case.car.sensors.imu
    data['car']['sensors']['imu'].update(
        position=[float(one) for one in imu.position], rpy=[float(one) for one in imu.rpy]
    )
    scales = case.car.weighed
    if scales.front is not None and scales.rear is not None:
        data['car']['weighed'] = {'front': scales.front, 'rear': scales.rear}
    path.write_text(yaml.safe_dump(data), 'utf-8')
    try:
        return live_told(
            'car_identification',
            _messages(case),
            case.truth,
            parameters={'car': str(path), 'reconstruction': False, 'chunk': 15.0},
        )
    except VehIdError as error:
        return Told(refusal=str(error))


def _messages(case: Case) -> list[Item]:
    source = [Item(r.log_ns, r.topic, r.message) for r in readings(_streams(case.recording))]
    return [Item(source[0].time_ns, '/tf_static', static_transforms(case.car)), *source]


def _streams(one_run: CarRecording) -> list[Stream]:
    """The recording as streams of messages; late ones are no matter here."""

    def stream(topic: str, kind: str, one: TimeSeries, names: tuple[str, ...]) -> Stream:
        none = np.zeros(0)
        return Stream(topic, kind, names, one.stamps, one.stamps, one.values, none)

    found = []
    if one_run.imu is not None:
        found.append(stream('imu/data', 'imu', one_run.imu, ()))
    if one_run.speed is not None:
        found.append(stream('correvit/velocity', 'speed', one_run.speed, ()))
    found += [stream('joint_states', 'axle', one, (name,)) for name, one in one_run.joints.items()]
    for corner, one in one_run.wrenches.items():
        found.append(stream(f'wheel_{corner}/wrench', 'wheel_force', one, ()))
    return found
