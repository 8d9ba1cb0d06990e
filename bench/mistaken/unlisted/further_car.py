"""Of a car with force-measuring wheels: thought of after the first list was mended."""

from __future__ import annotations

from mistaken.car import (
    Change,
    _made,
    both,
    exchanged,
    geometry,
    halfway,
    joints,
    stamped,
    told_pose,
)
from mistaken.common import LEFT_OUT, Mistake
from mistaken.unlisted import arrays
from mistaken.unlisted.of_car import of_series as _of

STAMPS = ('stamps_jitter', 'repeated', 'duplicates', 'samples_lost', 'sensor_lag', 'late')
CROSS = ('cross_talk', 'wrench_turned', 'wrench_axes', 'wrench_scale', 'wrench_frame')
CHANGES: dict[str, tuple[Change, tuple[str, ...]]] = {
    'yaw rate 0.8 times': (_of('imu', arrays.times(0.8, 2)), ('scale', 'gyro_scale')),
    'roll rate 1.3 times': (_of('imu', arrays.times(1.3, 0)), ('scale', 'gyro_scale')),
    'ax 1.2 times too large': (
        _of('imu', arrays.times(1.2, 3)), ('scale', 'accelerometer_scale')),
    'stamps of the wheel forces on ticks of 10 ms': (
        stamped('wrench', arrays.on_ticks(0.01)), STAMPS),
    'stamps of the inertial unit on ticks of 20 ms': (
        stamped('imu', arrays.on_ticks(0.02)), STAMPS),
    'travel rr filtered by 60 ms': (
        _of('suspension_rr', arrays.smoothed(12.0)), ('sensor_lag', 'late')),
    'Fz of all wheels talks into Fy by 5 %': (_of('wrench', arrays.talking(0.05, 2, 1)), CROSS),
    'Fy of wheel rl talks into Fz by 10 %': (_of('wrench_rl', arrays.talking(0.1, 1, 2)), CROSS),
    'Fz of wheel rl with a play of 400 N': (
        _of('wrench_rl', arrays.played(400.0, 2)), ('hysteresis', 'uneven_fit', 'coarse')),
    'Fz of wheel fr zero for half a second': (
        _of('wrench_fr', arrays.dropped(0.4, 0.03, [2])),
        ('stuck', 'dropped_out', 'saturated', *LEFT_OUT)),
    'travel fl 1.15 times and Fz rr 250 N too large': (
        both(joints('suspension_fl', 1.15), _of('wrench_rr', arrays.plus(250.0, 2))),
        ('scale', 'travel_scale', 'wrench_offset', 'wrench_scale')),
    'wheelbase of another car (8 % more)': (geometry(wheelbase=1.08), ('geometry', 'scale')),
    'inertial unit 0.5 m further left than it is said': (
        told_pose(shift=(0.0, -0.5, 0.0)), ('imu_position', 'imu_place')),
    'inertial unit turned by 8 degrees about z': (
        told_pose(rpy=(0, 0, 8)), ('imu_angles', 'imu_turned')),
    'zero of ay wanders by 0.8 m/s^2': (
        _of('imu', arrays.drifted(0.8, 4)), ('drift', 'changes', 'scale')),
    'zero of travel fl wanders by 15 mm': (
        _of('suspension_fl', arrays.drifted(0.015, 0)), ('drift', 'changes', 'travel_zero')),
    'zero of the yaw rate wanders by 0.06 rad/s': (
        _of('imu', arrays.drifted(0.06, 2)), ('drift', 'changes', 'gyro_zero')),
    'steering 1.3 times too large': (
        joints('steering', 1.3), ('scale', 'steering_scale', 'unit', 'wrench_frame')),
    'travels as shares of a stroke of 0.2 m': (
        _of('suspension', lambda v: 0.5 + v / 0.2), ('unit', 'scale')),
    'travels fl and fr exchanged from the middle on': (
        halfway(exchanged('suspension_fl', 'suspension_fr')), ('swapped_travels', 'changes')),
    'spikes of 40 m/s^2 in az, one sample of fifty': (
        _of('imu', arrays.spiked(40.0, 5)), (*LEFT_OUT, 'outliers', 'spikes')),
    'zero of Fz of wheel fl jumps by 500 N in the middle': (
        _of('wrench_fl', arrays.stepped(500.0, 2)), ('changes', 'wrench_offset', 'drift')),
}  # fmt: skip
MISTAKES = {title: Mistake(_made(change), codes) for title, (change, codes) in CHANGES.items()}
