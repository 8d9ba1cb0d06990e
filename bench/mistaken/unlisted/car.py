"""Of a car with force-measuring wheels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mistaken.car import (
    Case,
    Change,
    Pair,
    _made,
    both,
    geometry,
    joints,
    of,
    scaled,
    stamped,
    wrenches,
)
from mistaken.common import Mistake
from mistaken.unlisted import arrays, further_car
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array


def _of(name: str, change: arrays.Change) -> Change:
    return of(name, lambda stamps, values: change(values))


def _speed_place(run: CarRecording, car: CarDescription) -> Pair:
    """Nobody has said that the speed sensor hangs at the front bumper."""
    speed = replace(car.sensors.speed, position=(0.0, 0.0, 0.0))
    return run, replace(car, sensors=replace(car.sensors, speed=speed))


def _turned_speed(values: Array) -> Array:
    c, s = np.cos(np.radians(5.0)), np.sin(np.radians(5.0))
    return np.column_stack([c * values[:, 0] + s * values[:, 1],
                            c * values[:, 1] - s * values[:, 0]])  # fmt: skip


def _both_fronts(run: CarRecording, car: CarDescription) -> Pair:
    """Two publishers on the topic of the front left wheel: the right one's as well."""
    own, other = run.wrenches['fl'], run.wrenches['fr']
    count = min(len(own.stamps), len(other.stamps))
    values = own.values.copy()
    values[1:count:2] = other.values[1:count:2]
    return replace(run, wrenches={**run.wrenches, 'fl': replace(own, values=values)}), car


SECOND_UNIT = arrays.times(-1.0, 0, 1, 3, 4)
LAG = ('sensor_lag', 'late')
CHANGES: dict[str, tuple[Change, tuple[str, ...]]] = {
    'y and z of the inertial unit exchanged': (
        _of('imu', arrays.order(0, 2, 1, 3, 5, 4)),
        ('imu_turned',),
    ),
    'x and z of the accelerometer exchanged': (
        _of('imu', arrays.order(0, 1, 2, 5, 4, 3)),
        ('imu_turned', 'accelerometer_axes'),
    ),
    'accelerometer of z down, gyroscope of z up': (
        _of('imu', arrays.times(-1.0, 4, 5)),
        ('imu_turned', 'accelerometer_sign', 'gyro_sign'),
    ),
    'gravity added once more': (_of('imu', arrays.plus(9.81, 5)), ('gravity_removed', 'scale')),
    'pitch rate 0.5 times': (_of('imu', arrays.times(0.5, 1)), ('scale', 'gyro_scale')),
    'gyroscope in steps of 0.1 rad/s': (_of('imu', arrays.rounded(0.1, [0, 1, 2])), ('coarse',)),
    'travels in steps of 5 mm': (_of('suspension', arrays.rounded(0.005)), ('coarse',)),
    'wheel forces in steps of 500 N': (
        _of('wrench', arrays.rounded(500.0, [0, 1, 2])),
        ('coarse',),
    ),
    'accelerometer and gyroscope smoothed over 0.1 s': (_of('imu', arrays.smoothed(20.0)), LAG),
    'wheel forces smoothed over 50 ms': (_of('wrench', arrays.smoothed(10.0)), LAG),
    'travels smoothed over 0.1 s': (_of('suspension', arrays.smoothed(20.0)), LAG),
    'travel rl smoothed over 0.1 s': (_of('suspension_rl', arrays.smoothed(20.0)), LAG),
    'Fz of wheel fr saturated at half its swing': (
        _of('wrench_fr', arrays.clipped(0.5, 2)),
        ('saturated',),
    ),
    'roll rate saturated at half its swing': (_of('imu', arrays.clipped(0.5, 0)), ('saturated',)),
    'wheel force rl freezes for 3 s': (
        _of('wrench_rl', arrays.frozen(0.4, 0.6)),
        ('stuck', 'repeated', 'dropped_out'),
    ),
    'inertial unit freezes for 1 s': (
        _of('imu', arrays.frozen(0.5, 0.5625)),
        ('stuck', 'repeated', 'dropped_out'),
    ),
    'speed freezes for 4 s': (_of('speed', arrays.frozen(0.5, 0.75)), ('stuck', 'repeated')),
    'speed sensor said to be at the rear axle': (_speed_place, ('speed_position', 'speed_place')),
    'speed sensor turned by 5 degrees': (_of('speed', _turned_speed), ('speed_turned',)),
    'wheel diameter as radius': (geometry(wheel_radius=2.0), ('geometry', 'unit')),
    'half tracks of another car (8 % less)': (
        geometry(half_track=0.92), ('geometry', 'half_track')),
    'Fz alone in kN': (wrenches('fl fr rl rr', [2], 1e-3), ('unit',)),
    'Mx of wheel fl alone in N mm': (wrenches('fl', [3], 1e3), ('unit',)),
    'Fx of all wheels of wrong sign': (wrenches('fl fr rl rr', [0], -1.0), ('wrench_axis_sign',)),
    'front right wheel on the topic of the front left one as well': (
        _both_fronts,
        ('two_sources', 'duplicates', 'changes', 'swapped_wrenches'),
    ),
    'a second inertial unit, half a turn about z, on the same topic': (
        _of('imu', arrays.alternating(SECOND_UNIT)),
        ('two_sources', 'duplicates', 'changes', 'imu_turned'),
    ),
    'steering 5 degrees off its zero': (
        _of('steering', arrays.plus(0.0873, 0)),
        ('steering_zero', 'offset'),
    ),
    'speed 1.15 times too large from two thirds on': (
        _of('speed', arrays.lately(0.67, arrays.times(1.15, 0, 1))),
        ('changes', 'scale', 'speed_scale'),
    ),
    'travels in mm from two thirds on': (
        _of('suspension', arrays.lately(0.67, arrays.times(1e3, 0))),
        ('unit', 'changes'),
    ),
    'steering 0.2 s late': (stamped('steering', lambda t: t + 0.2), LAG),
    'zero of Fz of wheel rr wanders by 400 N': (
        _of('wrench_rr', arrays.drifted(400.0, 2)),
        ('changes', 'drift', 'wrench_offset', 'offset'),
    ),
    'zero of the roll rate wanders by 0.1 rad/s': (
        _of('imu', arrays.drifted(0.1, 0)),
        ('changes', 'drift', 'gyro_zero'),
    ),
    'travels and wheel forces of the rear axle left and right exchanged': (
        both(
            lambda run, car: (
                replace(
                    run,
                    wrenches={**run.wrenches, 'rl': run.wrenches['rr'],
                              'rr': run.wrenches['rl']},
                    joints={**run.joints, 'suspension_rl': run.joints['suspension_rr'],
                            'suspension_rr': run.joints['suspension_rl']},
                ),
                car,
            ),
        ),
        ('swapped_corners', 'swapped_sides'),
    ),
    'camber in degrees': (joints('camber', 57.2958), ('unit',)),
    'lateral speed alone in km/h': (
        lambda run, car: (replace(run, speed=scaled(run.speed, [1], 3.6)), car),
        ('unit', 'scale'),
    ),
}  # fmt: skip
MISTAKES = {title: Mistake(_made(change), codes) for title, (change, codes) in CHANGES.items()}
MISTAKES |= further_car.MISTAKES
__all__ = ['MISTAKES', 'Case']
