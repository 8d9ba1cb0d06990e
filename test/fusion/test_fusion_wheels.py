"""Wheel speeds: what they are worth, and wheels that spin, lock or are stuck do no harm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inertial_runs import START, Car, fixes, gnss, ns, options, run

from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import WHEEL_SCALE
from veh_identification.fusion.sensor_options import (
    JointOptions,
    NonholonomicOptions,
    WheelOptions,
)
from veh_identification.fusion.wheels import Wheel, WheelGroup, WheelSpeed

NAMES = ['wheel_fl', 'wheel_fr', 'wheel_rl', 'wheel_rr']
RADIUS, TRACK, BASE = 0.3, 1.5, 2.5
STEERING = math.atan(BASE / 20.0)


def test_speed_of_a_coarse_encoder_says_how_coarse_it_is() -> None:
    """96 ticks a turn at 100 Hz: the mean is right, the errors are those that are stated."""
    tick = 2.0 * math.pi / 96.0
    group = WheelGroup([Wheel('w', 0.0, 0.0, RADIUS)], [0], [None], are_angles=True)
    errors, stated = [], []
    for k in range(3000):
        t = k / 100
        # From 2 to 8 m/s: at one constant speed the ticks fall into a pattern.
        angle = (2.0 * t + 0.1 * t * t) / RADIUS
        found = group.add(t, (math.floor(angle / tick) * tick,))
        if found is not None and t > 1.0:
            assert found[0] == pytest.approx(0.05, abs=1e-9)
            errors.append(found[1][0].speed - (2.0 + 0.2 * (t - 0.025)))
            stated.append(found[1][0].variance)
    assert abs(np.mean(errors)) < 0.01
    assert 0.8 < np.mean(np.square(errors)) / np.mean(stated) < 1.2


def test_jitter_of_stamps_is_noticed() -> None:
    rng = np.random.default_rng(2)
    group = WheelGroup([Wheel('w', 0.0, 0.0, RADIUS)], [0], [None], are_angles=True)
    errors, stated = [], []
    for k in range(4000):
        t = k / 100
        found = group.add(t + 1e-3 * rng.normal(), (20.0 / RADIUS * t,))
        if found is not None and t > 2.0:
            errors.append(found[1][0].speed - 20.0)
            stated.append(found[1][0].variance)
    ratio = np.mean(np.square(errors)) / np.mean(stated)
    assert 0.4 < ratio < 1.5


def wheel_speeds(car: Car, t: float) -> list[float]:
    """Ground speeds at the four wheels of a car on a circle, along the wheels."""
    rate = car.v / car.radius
    found = []
    for x, y in ((BASE, 0.75), (BASE, -0.75), (0.0, 0.75), (0.0, -0.75)):
        forward, left = car.v - rate * y, rate * x
        angle = STEERING if x else 0.0
        found.append(forward * math.cos(angle) + left * math.sin(angle))
    return found


def drive(fault: str, scale: float = 1.0) -> tuple[FusionCore, list, Car]:
    """32 s, the last 12 without satellites; the fault from 22 s on."""
    car = Car(heading=1.0)
    wheels = WheelOptions(
        rear=NAMES[2:],
        front=NAMES[:2],
        front_steering=['steering'],
        radius=RADIUS,
        track=TRACK,
        wheelbase=BASE,
    )
    core = FusionCore(
        options(
            gnss=gnss(),
            wheels=wheels,
            joints=JointOptions(),
            nonholonomic=NonholonomicOptions(axes='yz', std=0.05),
        )
    )
    core.add_joint_group('joints:00:a', [*NAMES, 'steering'], True, False)
    rng = np.random.default_rng(3)
    extra = [one for one in fixes(car, 32.0, 0.1, rng) if one[1] < 20.0]
    angles = [11.0, 200.0, 0.0, -30.0]
    for k in range(1600):
        t = k / 50
        for i, speed in enumerate(wheel_speeds(car, t)):
            turn = speed / (scale * RADIUS)
            if fault == 'spin' and i >= 2 and 22.0 <= t < 23.5:
                turn *= 1.3
            if fault == 'lock' and i >= 2 and 22.0 <= t < 23.0:
                turn = 0.0
            if fault == 'stuck' and i == 3 and t >= 22.0:
                turn = 0.0
            angles[i] += turn * 0.02
        ticks = [math.floor(a / 0.003) * 0.003 for a in angles]
        if fault == 'wrapped':
            ticks = [math.remainder(a, 2.0 * math.pi) for a in ticks]
        extra.append(('joints:00:a', t, (*ticks, STEERING)))
    states = run(core, car, 32.0, imu_rate=50.0, noise=(1e-3, 2e-2), extra=extra)
    return core, states, car


@pytest.fixture(autouse=True)
def _streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `run` push a stream of joints by its key."""
    plain = FusionCore.push

    def push(self: FusionCore, name: str, stamp: int, values: tuple, key: str | None = None):
        return plain(self, name.partition(':')[0], stamp, values, key or name)

    monkeypatch.setattr(FusionCore, 'push', push)


@pytest.mark.parametrize('fault', ['none', 'wrapped', 'spin', 'lock', 'stuck'])
def test_dead_reckoning_on_wheels(fault: str) -> None:
    """Twelve seconds and 60 m without satellites, radii 2 % smaller than configured."""
    core, states, car = drive(fault, scale=0.98)
    last = states[-1]
    t = (last.stamp_ns - START) * 1e-9
    error = math.dist(last.base.position[:2], car.position(t)[:2])
    assert last.base.pose_valid
    assert last.stamp_ns > ns(31.5)
    assert error < 0.4
    assert core.navigator.filter.x[WHEEL_SCALE + 1] == pytest.approx(0.0204, abs=0.003)
    assert sorted(core.wheels_begun_anew()) == (NAMES if fault == 'wrapped' else [])
    record = core.records['wheels']
    assert record.received == record.used + record.rejected + record.invalid
    aside = {name for name, health in record.healths.items() if health.quarantines}
    assert (
        aside
        == {
            'none': set(),
            'wrapped': set(),
            'spin': {'wheel_rl', 'wheel_rr'},
            'lock': {'wheel_rl', 'wheel_rr'},
            'stuck': {'wheel_rr'},
        }[fault]
    )
    if fault == 'stuck':
        assert 'stuck' in record.healths['wheel_rr'].reason
    elif fault in ('spin', 'lock'):
        assert all(health.recoveries == health.quarantines for health in record.healths.values())


def test_a_rate_that_stays_while_the_speed_does_is_not_stuck() -> None:
    """Rates off a bus come in steps: at an even speed several in turn are the same."""
    car = Car(heading=1.0)
    wheels = WheelOptions(
        rear=NAMES[2:], front=NAMES[:2], radius=RADIUS, track=TRACK, wheelbase=BASE
    )
    core = FusionCore(options(gnss=gnss(), wheels=wheels, joints=JointOptions()))
    core.add_joint_group('joints:00:a', NAMES, False, True)
    rng = np.random.default_rng(3)
    extra = fixes(car, 16.0, 0.1, rng)
    for k in range(1600):
        rates = [speed / RADIUS + rng.normal(0.0, 0.03) for speed in wheel_speeds(car, k / 100)]
        extra.append(('joints:00:a', k / 100, tuple(round(20.0 * one) / 20.0 for one in rates)))
    run(core, car, 16.0, imu_rate=50.0, noise=(1e-3, 2e-2), extra=extra)
    healths = core.records['wheels'].healths
    assert {name: one.reason for name, one in healths.items() if one.quarantines} == {}
    # It is where the speed goes on without it.
    wheel = core.wheels.wheels[3]
    for speed, stuck in ((5.0, False), (5.2, False), (7.0, True)):
        one = WheelSpeed(wheel, 5.0, 0.0, 0.0, 5.0 / RADIUS, is_angle=False)
        assert core.wheels._stuck(20.0, one, 5.0 - speed) == stuck
