"""Of a car without force-measuring wheels, in a handling test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mistaken.common import Mistake
from mistaken.handling import Case, Change, geometry, imu, joints, late, torque, velocity
from mistaken.unlisted.arrays import (
    alternating,
    clipped,
    drifted,
    frozen,
    lately,
    order,
    plus,
    rounded,
    smoothed,
    times,
)
from veh_identification.signals import TimeSeries
from veh_identification.types import Array


def _both(*changes: Change) -> Change:
    def make(case: Case) -> Case:
        for one in changes:
            case = one(case)
        return case

    return make


def _steering(change: Callable[[Array], Array]) -> Change:
    return joints(lambda one: replace(one, values=change(one.values)))


def _late_torque(seconds: float) -> Change:
    def make(case: Case) -> Case:
        made = {
            name: replace(one, stamps=one.stamps + seconds)
            for name, one in case.recording.torques.items()
        }
        return replace(case, recording=replace(case.recording, torques=made))

    return make


def _fast_clock(share: float) -> Change:
    """The inertial unit's clock runs too fast."""

    def make(case: Case) -> Case:
        one = case.recording.imu
        assert one is not None
        stamps = one.stamps + share * (one.stamps - one.stamps[0])
        return replace(case, recording=replace(case.recording, imu=replace(one, stamps=stamps)))

    return make


def _wheel(corner: str, factor: float) -> Change:
    def scaled(one: TimeSeries) -> TimeSeries:
        return replace(one, values=factor * one.values)

    def make(case: Case) -> Case:
        made = {
            name: scaled(one) if name == corner else one
            for name, one in case.recording.wheel_speeds.items()
        }
        return replace(case, recording=replace(case.recording, wheel_speeds=made))

    return make


def _polar(v: Array) -> Array:
    return np.column_stack([np.hypot(*v.T), np.degrees(np.arctan2(v[:, 0], v[:, 1])) % 360.0])


def _still(values: Array) -> Array:
    made = np.zeros_like(values)
    made[:, 5] = 9.81
    return made


COARSE, HELD = ('coarse',), ('stuck', 'repeated')
TWO = ('two_sources', 'duplicates')
DELAY = ('delay', 'late', 'velocity_delay')
MISTAKES: dict[str, Mistake] = {
    'yaw rate in steps of 0.05 rad/s': Mistake(imu(rounded(0.05, [2])), COARSE),
    'sideways force in steps of 1 m/s^2': Mistake(imu(rounded(1.0, [4])), COARSE),
    'yaw rate saturated at half of its range': Mistake(imu(clipped(0.5, 2)), ('saturated',)),
    'sideways force saturated at half of its range': Mistake(imu(clipped(0.5, 4)), ('saturated',)),
    'inertial unit freezes for 5 s': Mistake(imu(frozen(0.4, 0.4833)), HELD),
    'inertial unit smoothed over 0.1 s': Mistake(imu(smoothed(10.0)), DELAY),
    'roll and pitch rate exchanged': Mistake(
        imu(order(1, 0, 2, 3, 4, 5)), ('axis', 'exchanged', 'imu_turned')
    ),
    'pitch and yaw rate exchanged': Mistake(
        imu(order(0, 2, 1, 3, 4, 5)), ('axis', 'exchanged', 'imu_turned')
    ),
    'forward and sideways force exchanged': Mistake(
        imu(order(0, 1, 2, 4, 3, 5)), ('axis', 'exchanged', 'imu_turned')
    ),
    'inertial unit upside down': Mistake(
        imu(times(-1.0, 1, 2, 4, 5)), ('imu_turned', 'sign', 'exchanged')
    ),
    'yaw rate in turns a minute': Mistake(imu(times(9.5493, 2)), ('unit', 'scale')),
    'yaw rate twice from the middle on': Mistake(
        imu(lately(0.5, times(2.0, 2))), ('scale', 'changes')
    ),
    'sideways force of wrong sign from the middle on': Mistake(
        imu(lately(0.5, times(-1.0, 4))), ('sign', 'changes')
    ),
    'yaw rate wanders by 0.1 rad/s': Mistake(
        imu(drifted(0.1, 2)), ('gyro_zero', 'drift', 'bias', 'changes', 'offset')
    ),
    'a second inertial unit that stands still on the topic': Mistake(
        imu(alternating(_still)), TWO
    ),
    'yaw rate dead': Mistake(imu(times(0.0, 2)), ('stuck', 'scale', 'unit')),
    'sideways force dead': Mistake(imu(times(0.0, 4)), ('stuck', 'scale', 'unit')),
    'clock of the inertial unit 0.5 % fast': Mistake(
        _fast_clock(0.005), (*DELAY, 'clock_drift', 'clock')
    ),
    'satellites in knots': Mistake(velocity(times(1.94384, 0, 1)), ('unit', 'speed_unit')),
    'satellites to the west': Mistake(
        velocity(times(-1.0, 0)), ('sign', 'axis', 'sensors_disagree')
    ),
    'satellites as speed and course': Mistake(
        velocity(_polar), ('unit', 'axis', 'sign', 'sensors_disagree')
    ),
    'satellites in steps of 2 m/s': Mistake(velocity(rounded(2.0)), COARSE),
    'satellites freeze for 6 s': Mistake(velocity(frozen(0.4, 0.5)), HELD),
    'every other satellite velocity in km/h': Mistake(
        velocity(alternating(times(3.6, 0, 1))), TWO
    ),
    'steering saturated at half of its range': Mistake(_steering(clipped(0.5, 0)), ('saturated',)),
    'steering in steps of 10 degrees': Mistake(_steering(rounded(0.1745)), COARSE),
    'steering freezes for 6 s': Mistake(_steering(frozen(0.4, 0.5)), HELD),
    'steering 20 degrees off its zero': Mistake(
        _steering(plus(0.349, 0)), ('offset', 'steering_zero'), corrected=('steering_zero',)
    ),
    'steering backlash: of wrong sign from the middle on': Mistake(
        _steering(lately(0.5, times(-1.0, 0))), ('sign', 'changes')
    ),
    'steering smoothed over 0.15 s': Mistake(_steering(smoothed(15.0)), DELAY),
    'torque of the engine (a fourth)': Mistake(torque(0.25), ('mass_by_torque',)),
    'torque of one wheel alone': Mistake(torque(0.0, 'rl'), ('mass_by_torque', 'stuck')),
    'torque 0.5 s late': Mistake(_late_torque(0.5), ('mass_by_torque', *DELAY)),
    'wheel radius 6 % too large': Mistake(
        geometry(wheel_radius=1.06), ('scale', 'unit', 'geometry')
    ),
    'wheelbase in feet': Mistake(geometry(wheelbase=3.28084), ('unit', 'geometry')),
    'one wheel twice as fast': Mistake(_wheel('rl', 2.0), ('scale', 'unit')),
    'satellites 1.05 times and yaw rate 0.95 times': Mistake(
        _both(velocity(times(1.05, 0, 1)), imu(times(0.95, 2))), ('scale',)
    ),
    'steering 30 ms and satellites 100 ms late': Mistake(
        _both(joints(lambda one: replace(one, stamps=one.stamps + 0.03)), late('velocity', 0.1)),
        DELAY,
        corrected=('velocity_delay', 'delay'),
    ),
}
