"""The estimator on simulated sensors with exact truth, through FusionCore."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fusion_truth import Motion
from inertial_runs import MOUNT, RPY, START, Car, ns, options, run, tilt_error

from veh_identification import orientations
from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.inertial import ERRORS, InertialFilter, InertialNoise
from veh_identification.fusion.sensor_options import (
    ImuOptions,
    MocapOptions,
    OdometryOptions,
)
from veh_identification.runtime.transforms import Transform


def test_attitude_only_converges_and_finds_the_gyro_bias() -> None:
    """Only an IMU that turns in place: tilt from gravity, bias of the tilting axes."""
    motion = Motion(amplitude=np.zeros(3), angles=np.array([0.3, 0.2, 0.5]))
    point = np.zeros(3)
    bias = np.concatenate([MOUNT.T @ [0.02, -0.03, 0.01], np.zeros(3)])
    core = FusionCore(options(imu=ImuOptions(orientation_rpy=RPY)))
    rng = np.random.default_rng(3)
    states = []
    for k in range(60 * 100):
        t = k / 100
        values = motion.imu(t, point, MOUNT) + bias + rng.normal(size=6) * [2e-3] * 6
        core.push('imu', ns(t), tuple(values.tolist()))
        states.extend(core.poll())
    late = [s for s in states if s.stamp_ns > ns(30.0)]
    errors = [
        tilt_error(s.base.orientation, motion.orientation((s.stamp_ns - START) * 1e-9))
        for s in late
    ]
    print('tilt', math.degrees(max(errors)), core.navigator.filter.gyro_bias)
    assert math.degrees(max(errors)) < 0.5
    assert np.allclose(core.navigator.filter.gyro_bias[:2], [0.02, -0.03], atol=2e-3)
    assert all(s.base.orientation_valid for s in late)
    assert not any(s.base.pose_valid or s.base.twist_valid for s in states)


def test_lever_arm_and_mounting_give_the_acceleration_of_the_base() -> None:
    """A rotating body, IMU far off and turned; the pose is captured, the IMU does the rest."""
    motion = Motion()
    capture = [
        ('mocap', k / 100, (*motion.position(k / 100), *motion.orientation(k / 100)))
        for k in range(800)
    ]
    core = FusionCore(options(mocap=MocapOptions(topic='pose', std=1e-4, orientation_std=1e-4)))
    states = [s for s in run(core, motion, 8.0, extra=capture) if s.stamp_ns > ns(3.0)]
    assert len(states) > 200
    worst = {'acceleration': 0.0, 'velocity': 0.0, 'omega': 0.0, 'alpha': 0.0, 'position': 0.0}
    for s in states:
        t, b = (s.stamp_ns - START) * 1e-9, s.base
        assert b.pose_valid and b.twist_valid and b.acceleration_valid
        for name, value, truth in (
            ('acceleration', b.acceleration, motion.body_acceleration(t)),
            ('velocity', b.velocity, motion.body_velocity(t)),
            ('omega', b.angular_velocity, motion.omega(t)),
            ('alpha', b.angular_acceleration, motion.alpha(t)),
            ('position', b.position, motion.position(t)),
        ):
            worst[name] = max(worst[name], float(np.max(np.abs(np.subtract(value, truth)))))
    print(worst)
    assert worst['acceleration'] < 1e-3
    assert worst['velocity'] < 1e-4
    assert worst['omega'] < 1e-4
    assert worst['alpha'] < 1e-3
    assert worst['position'] < 1e-5


def test_capture_alone_gives_pose_twist_and_acceleration() -> None:
    motion = Motion()
    core = FusionCore(options(imu=ImuOptions(topic=''), mocap=MocapOptions(topic='pose')))
    states = []
    for k in range(600):
        t = k / 100
        q = motion.orientation(t)
        sign = -1.0 if k % 7 == 0 else 1.0  # q and -q are the same orientation
        core.push('mocap', ns(t), (*motion.position(t), *(sign * x for x in q)))
        states.extend(core.poll())
    checked = 0
    for s in states[10:-10]:
        t, b = (s.stamp_ns - START) * 1e-9, s.base
        checked += 1
        assert b.pose_valid and b.twist_valid and b.acceleration_valid
        assert np.allclose(b.velocity, motion.body_velocity(t), atol=1e-4)
        assert np.allclose(b.angular_velocity, motion.omega(t), atol=1e-3)
        assert np.allclose(b.acceleration, motion.body_acceleration(t), atol=2e-3)
        assert np.allclose(b.angular_acceleration, motion.alpha(t), atol=5e-2)
        assert np.allclose(b.gravity, motion.R(t).T @ [0, 0, -9.80665], atol=1e-4)
    assert checked > 200


def numeric_jacobian(state: InertialFilter, model: object) -> np.ndarray:
    """-d residual / d error by central differences through the error injection."""
    columns = []
    for i in range(ERRORS):
        sides = []
        for sign in (1.0, -1.0):
            other = InertialFilter(InertialNoise(), 9.80665)
            other.x[:] = state.x
            other.R[:] = state.R
            other.sample[:] = state.sample
            h = 1e-6 * sign
            if 6 <= i < 9:
                turn = [0.0, 0.0, 0.0]
                turn[i - 6] = h
                q = rotation.from_rotation_vector(*turn)
                other._set_orientation(orientations.multiply(other.orientation, q))
            else:
                other.x[i if i < 6 else i + 1] += h
            sides.append(model(other)[0])
        columns.append(-(sides[0] - sides[1]) / 2e-6)
    return np.array(columns).T


#: x of the base link in the world, as `test_jacobians` turns it.
FORWARD = rotation.matrix(orientations.quaternion_of_rpy((0.3, -0.2, 1.0)))[:, 0]


def wheel_model(state: InertialFilter) -> tuple[np.ndarray, np.ndarray]:
    """At the IMU: elsewhere the column of the gyroscope's bias is left out on purpose."""
    wheel = np.array([[0.3, 0.0, 0.0, 0.0, 2.0, 1.0]])
    residuals, H, _ = state.wheel_rows(wheel, 1.5, np.full(1, np.nan))
    return residuals, H


@pytest.mark.parametrize(
    'model',
    [
        lambda s: measurements.position(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.world_velocity(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.body_velocity(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.scaled_velocity(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.fix(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.satellite_velocity(s, np.ones(3), np.ones(3), 2.0 * FORWARD),
        lambda s: wheel_model(s),
        lambda s: measurements.gravity(s, np.array([0.1, 0.2, 9.7])),
        lambda s: measurements.tilt(s, orientations.quaternion_of_rpy((0.1, 0.2, 0.3))),
        lambda s: measurements.standstill_rate(s),
        lambda s: measurements.orientation(s, s_reference),
    ],
    ids=[
        'position',
        'world',
        'body',
        'scaled',
        'fix',
        'satellite',
        'wheel',
        'gravity',
        'tilt',
        'standstill',
        'orientation',
    ],
)
def test_jacobians(model: object) -> None:
    state = InertialFilter(InertialNoise(), 9.80665)
    state.x[:6] = [1, 2, 3, 4, -1, 0.5]
    state._set_orientation(orientations.quaternion_of_rpy((0.3, -0.2, 1.0)))
    state.sample[:] = np.array([0.3, -0.5, 0.9, 0.0, 0.0, 0.0])
    state.x[10:16] = [0.01, 0.02, -0.01, 0.1, -0.1, 0.2]
    state.calibration[:] = [0.02, 0.004, 0.02, 0.001, 0.03, 0.05, -0.04, 0.1, -0.2]
    assert np.allclose(model(state)[1], numeric_jacobian(state, model), atol=1e-6)


s_reference = orientations.quaternion_of_rpy((0.3, -0.2, 1.0))


def test_delay_is_taken_off_the_stamps() -> None:
    """A speed sensor that stamps 0.14 s late shows in the estimate unless its delay is given."""

    class Braking(Car):
        def body_velocity(self, t: float) -> np.ndarray:
            return np.array([5.0 + math.sin(2.0 * t), 0.0, 0.0])

    errors = {}
    for delay in (0.0, 0.14):
        core = FusionCore(
            options(
                imu=ImuOptions(topic=''),
                rate=20.0,
                odometry=OdometryOptions(topic='odom', delay=delay, std=0.01),
            )
        )
        states = []
        car = Braking()
        for k in range(500):
            t = k / 50
            v = car.body_velocity(t)
            core.push('odometry', ns(t + 0.14), (v[0], 0.0, 0.0, 0.0))
            states.extend(core.poll())
        worst = [
            abs(s.base.velocity[0] - car.body_velocity((s.stamp_ns - START) * 1e-9)[0])
            for s in states[40:]
        ]
        errors[delay] = max(worst)
    assert errors[0.0] > 0.2
    assert errors[0.14] < 0.1


def test_imu_pose_change_by_static_transform_restarts() -> None:
    core = FusionCore(options(imu=ImuOptions()))
    for k in range(200):
        core.push('imu', ns(k / 100), (0.0, 0.0, 0.0, 0.0, 9.80665, 0.0))
        list(core.poll())
    assert 'points along +y' in core.navigator.level_warning()
    core.set_frame_id('imu', 'imu_link')
    mount = Transform.from_rpy([0.0] * 3, [math.pi / 2, 0.0, 0.0])
    core.frames.set('base_link', 'imu_link', mount)
    for k in range(200, 400):
        core.push('imu', ns(k / 100), (0.0, 0.0, 0.0, 0.0, 9.80665, 0.0))
        list(core.poll())
    assert core.navigator.level_warning() == ''
    assert core.navigator.filter.R[2, 2] == pytest.approx(1.0, abs=1e-6)
