"""Fixes alone: the heading is that of the way between them, however the vehicle turns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inertial_runs import START, Car, fixes, gnss, options, run

from veh_identification import orientations
from veh_identification.fusion.core import FusionCore


@pytest.mark.xfail(reason='on a steady circle the heading is still 0.12 rad off after 17 s')
def test_heading_of_fixes_alone() -> None:
    car = Car(heading=2.0)
    core = FusionCore(options(gnss=gnss(), rate=10.0))
    extra = fixes(car, 20.0, 0.05, np.random.default_rng(4))
    states = run(core, car, 20.0, imu_rate=50.0, noise=(1e-3, 2e-2), extra=extra)
    valid = [s for s in states if s.base.pose_valid]
    assert valid
    assert (valid[0].stamp_ns - START) * 1e-9 < 6.0
    for s in [s for s in valid if s.stamp_ns > START + 17 * 10**9]:
        t = (s.stamp_ns - START) * 1e-9
        yaw = orientations.rpy_of_quaternion(s.base.orientation)[2]
        assert abs(math.remainder(yaw - car.psi(t), 2.0 * math.pi)) < 0.1
        assert math.dist(s.base.position[:2], car.position(t)[:2]) < 0.2


def test_a_vehicle_that_stands_finds_no_heading() -> None:
    car = Car(heading=2.0)
    where = fixes(car, 3.0, 0.0, np.random.default_rng(4))[0][2]
    rng = np.random.default_rng(5)
    scattered = [
        ('gnss', k / 10, (where[0] + 2e-6 * rng.normal(), where[1], *where[2:]))
        for k in range(100)
    ]
    core = FusionCore(options(gnss=gnss(), rate=10.0))
    still = [('imu', k / 50, (0.0, 0.0, 0.0, 0.0, 0.0, 9.80665)) for k in range(500)]
    for name, t, values in sorted([*still, *scattered], key=lambda one: one[1]):
        core.push(name, START + round(t * 1e9), values)
        core.poll()
    assert not core.navigator.heading_known
