"""The continuous frame of REP-105, and covariances that are true."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from inertial_runs import DATUM, START, Car, fixes, gnss, ns, options, run

from veh_identification import orientations
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.geodesy import LocalFrame
from veh_identification.fusion.sensor_options import OdometryOptions


def test_a_shift_of_the_satellites_moves_the_map_not_the_vehicle() -> None:
    car = Car(heading=1.0)
    frame = LocalFrame(DATUM)
    extra = []
    for name, t, values in fixes(car, 45.0, 0.1, np.random.default_rng(5)):
        if t > 25.0:
            p = np.array(frame.from_geodetic(*values[:3])) + [50.0, 0.0, 0.0]
            values = (*frame.to_geodetic(*p), *values[3:])
        extra.append((name, t, values))
    extra += [('odometry', k / 20, (car.v, 0.0, 0.0, 0.25)) for k in range(900)]
    core = FusionCore(
        options(gnss=gnss(), odometry=OdometryOptions(topic='odom'), odom_frame='odom')
    )
    states = run(core, car, 45.0, imu_rate=50.0, extra=extra)
    known = [s for s in states if s.continuous is not None]
    way = np.array([s.continuous[:3] for s in known])
    corrected = np.array([s.base.position for s in known])
    step = np.linalg.norm(np.diff(way, axis=0), axis=1)
    assert np.max(step) < 1.5 * car.v / 50.0
    assert np.max(np.linalg.norm(np.diff(corrected, axis=0), axis=1)) > 5.0
    # Both transforms together are the corrected pose.
    for s in known[::50]:
        origin, turn = s.continuous[43:46], tuple(s.continuous[46:50].tolist())
        there = np.add(origin, orientations.rotate(turn, tuple(s.continuous[:3].tolist())))
        assert np.allclose(there, s.base.position, atol=1e-9)
        q = orientations.multiply(turn, tuple(s.continuous[3:7].tolist()))
        assert abs(np.dot(q, s.base.orientation)) > 1.0 - 1e-12
    sigma = np.array([math.sqrt(s.continuous[7]) for s in known])
    assert np.all(np.diff(sigma) >= 0.0)
    # It is a bound on how far dead reckoning went astray.
    a, b = known[100], known[-1]
    t0, t1 = ((s.stamp_ns - START) * 1e-9 for s in (a, b))
    length = np.linalg.norm(car.position(t1)[:2] - car.position(t0)[:2])
    drift = abs(np.linalg.norm((b.continuous - a.continuous)[:2]) - length)
    assert drift < 3.0 * sigma[-1]


def test_covariances_are_true() -> None:
    """Mean normalised squares of the errors of position, heading and speed over many drives."""
    squares = []
    for seed in range(5):
        car = Car(heading=0.5 * seed)
        rng = np.random.default_rng(seed)
        extra = fixes(car, 32.0, 0.3, rng)
        extra += [
            ('odometry', k / 20, (car.v + 0.1 * rng.normal(), 0.1 * rng.normal(), 0.0, 0.25))
            for k in range(640)
        ]
        core = FusionCore(
            options(
                rate=5.0,
                imu=dataclasses.replace(options().imu, mounting_std=0.0),  # exact here
                gnss=gnss(position_std=0.0),
                odometry=OdometryOptions(topic='odom'),
                publish_odometry=True,
            )
        )
        noise = (7e-3, 7e-2)  # the densities of `options` at 50 Hz
        states = run(core, car, 32.0, imu_rate=50.0, noise=noise, extra=extra, seed=seed)
        for s in states:
            t = (s.stamp_ns - START) * 1e-9
            if s.stamp_ns < ns(16.0) or not s.base.pose_valid:
                continue
            pose = s.base.covariance[:36].reshape(6, 6)
            twist = s.base.covariance[36:].reshape(6, 6)
            assert np.all(np.linalg.eigvalsh(pose) > 0.0)
            place = np.subtract(s.base.position, car.position(t))
            yaw = orientations.rpy_of_quaternion(s.base.orientation)[2] - car.psi(t)
            speed = s.base.velocity[:2] - car.body_velocity(t)[:2]
            squares.append(
                [
                    *(place[:2] ** 2 / np.diag(pose)[:2]),
                    math.remainder(yaw, 2.0 * math.pi) ** 2 / pose[5, 5],
                    *(speed**2 / np.diag(twist)[:2]),
                ]
            )
    mean = np.mean(squares, axis=0)
    print('NEES', mean)
    assert np.all(mean > 0.25)
    assert np.all(mean < 2.5)
