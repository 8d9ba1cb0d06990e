"""Navigation with satellites, odometry and speed sensor: heading, position, outages, gates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fusion_truth import Motion
from inertial_runs import (
    ANTENNA,
    DATUM,
    MOUNT,
    POINT,
    RPY,
    START,
    Car,
    fixes,
    gnss,
    ns,
    options,
    run,
)

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.geodesy import LocalFrame
from veh_identification.fusion.sensor_options import (
    GnssVelocityOptions,
    ImuOptions,
    NonholonomicOptions,
    OdometryOptions,
    SpeedOptions,
)


@pytest.mark.parametrize('source', ['odometry', 'course'])
def test_navigation_finds_heading_position_and_biases(source: str) -> None:
    car = Car(heading=2.0)
    rng = np.random.default_rng(7)
    duration = 60.0
    extra = fixes(car, duration, 0.2, rng)
    changes: dict[str, object] = {'gnss': gnss()}
    if source == 'odometry':
        changes['odometry'] = OdometryOptions(topic='odom', std=0.05)
        extra += [
            ('odometry', k / 20, (car.v + 0.05 * rng.normal(), 0.05 * rng.normal(), 0.0, 0.25))
            for k in range(int(duration * 20))
        ]
    else:
        # On a steady circle a wrong heading looks like a forward accelerometer bias; that the rear
        # axle does not slide tells them apart.
        changes['nonholonomic'] = NonholonomicOptions(axes='yz', std=0.1)
        changes['gnss_velocity'] = GnssVelocityOptions(topic='vel', std=0.05)
        for k in range(int(duration * 10)):
            t = k / 10
            v = car.velocity(t) + car.R(t) @ np.cross(car.omega(t), ANTENNA)
            extra.append(('gnss_velocity', t, tuple(v + 0.05 * rng.normal(size=3))))
    bias = np.array([0.01, -0.008, 0.012, 0.05, -0.04, 0.03])
    core = FusionCore(options(**changes))
    states = run(core, car, duration, imu_rate=100.0, bias=bias, noise=(2e-3, 2e-2), extra=extra)
    late = [s for s in states if s.stamp_ns > ns(30.0)]
    position, heading, speed = [], [], []
    for s in late:
        t, b = (s.stamp_ns - START) * 1e-9, s.base
        assert b.pose_valid and b.twist_valid
        position.append(math.dist(b.position[:2], car.position(t)[:2]))
        heading.append(math.remainder(rotation.yaw_of(b.orientation) - car.psi(t), 2 * math.pi))
        speed.append(b.velocity - car.body_velocity(t))
    print(source, np.sqrt(np.mean(np.square(position))), np.degrees(np.std(heading)))
    assert np.sqrt(np.mean(np.square(position))) < 0.2
    assert math.degrees(np.max(np.abs(heading))) < 1.5
    assert np.sqrt(np.mean(np.square(speed))) < 0.06
    gyro = core.navigator.filter.gyro_bias
    assert np.allclose(gyro, MOUNT @ bias[:3], atol=3e-3)


def test_optical_speed_sensor_off_centre() -> None:
    """Known position: errors below the sensor's own sigma; position left out: far above."""
    motion = Motion(amplitude=np.array([3.0, 2.0, 0.0]))
    position, std = [-1.0, 0.6, 0.1], 0.01
    extra = []
    for k in range(2000):
        t = k / 50
        v = motion.body_velocity(t) + np.cross(motion.omega(t), position)
        extra.append(('speed', t, tuple(v.tolist())))
    worst = {}
    for known in (True, False):
        point = position if known else [0.0, 0.0, 0.0]
        speed = SpeedOptions(topic='speed', position=point, axes='xyz', std=std)
        states = run(FusionCore(options(speed=speed)), motion, 40.0, imu_rate=100.0, extra=extra)
        # The start in full motion leaves a tilt of ten degrees that takes its time to die out.
        late = [s for s in states if s.stamp_ns > ns(30.0)]
        errors = [
            s.base.velocity - motion.body_velocity((s.stamp_ns - START) * 1e-9) for s in late
        ]
        worst[known] = float(np.max(np.abs(errors)))
        # no satellites: the world is where the vehicle started
        assert not known or all(s.base.pose_valid for s in late)
    print('speed', worst)
    assert worst[True] < std
    assert worst[False] > 10 * std


def test_orientation_field_gives_heading_and_tilt() -> None:
    """The device knows its attitude; gravity is removed, so nothing else tells roll and pitch."""
    motion = Motion(amplitude=np.zeros(3), angles=np.array([0.3, 0.2, 0.8]))
    imu = ImuOptions(orientation_rpy=RPY, use_orientation=True, orientation_std=0.01)
    core = FusionCore(options(imu=imu))
    mount = orientations.quaternion_of_rpy(RPY)
    states = []
    for k in range(1000):
        t = k / 100
        q = orientations.multiply(motion.orientation(t), mount)
        values = motion.imu(t, np.zeros(3), MOUNT, gravity=False)
        core.push('imu', ns(t), (*values.tolist(), *q))
        states.extend(core.poll())
    assert core.navigator.filter.gravity_removed
    last = states[-1]
    truth = motion.orientation((last.stamp_ns - START) * 1e-9)
    error = orientations.multiply(orientations.conjugate(truth), last.base.orientation)
    assert np.linalg.norm(rotation.to_rotation_vector(error)) < 0.01


def test_a_remounted_imu_leads_to_a_restart_not_to_nonsense() -> None:
    """Somebody turns the IMU over while driving: the filter gives up its attitude."""
    car = Car(heading=0.0)
    core = FusionCore(options(odometry=OdometryOptions(topic='odom')))
    samples = [('odometry', k / 20, (car.v, 0.0, 0.0, 0.25)) for k in range(1200)]
    for k in range(6000):
        t = k / 100
        values = car.imu(t, np.array(POINT), MOUNT)
        if t > 20.0:
            values = values * [1, -1, -1, 1, -1, -1]
        samples.append(('imu', t, tuple(values.tolist())))
    states = []
    for name, t, values in sorted(samples, key=lambda s: s[1]):
        core.push(name, ns(t), values)
        states.extend(core.poll())
    assert core.navigator.restarts >= 1
    assert all(np.all(np.isfinite(s.base.velocity)) for s in states)
    assert all(
        np.allclose(s.base.velocity[:2], [5.0, 0.0], atol=1.0)
        for s in states
        if s.stamp_ns > ns(40.0) and s.base.twist_valid
    )


def test_a_swerving_car_with_its_imu_alone_knows_how_little_it_knows() -> None:
    """Started in a swerve of 4 m/s^2: the accelerometer shows no lean of that certainty."""
    core = FusionCore(options(imu=ImuOptions()))
    rng = np.random.default_rng(3)
    off = []
    for k in range(1500):
        t = k / 100
        side = 4.0 * math.cos(2.0 * math.pi * 0.45 * t)
        noise = rng.normal(size=6) * [*[2e-3] * 3, *[0.05] * 3]
        core.push('imu', ns(t), tuple(np.array([0.0, 0.0, 0.0, 0.0, side, 9.80665]) + noise))
        core.poll()
        state = core.navigator.filter
        if state.ready and t > 5.0:
            up = state.R[2]
            lean = math.atan2(up[1], up[2])  # the truth is none
            off.append(abs(lean) / math.sqrt(state.P[6, 6]))
    assert off and max(off) < 3.0
    assert math.sqrt(state.P[6, 6]) > 0.02
    assert np.max(np.abs(state.gyro_bias)) < 3.0 * math.sqrt(np.max(np.diag(state.P)[9:12]))


def test_imu_without_gravity_is_noticed() -> None:
    car = Car(heading=0.0)
    core = FusionCore(options(speed=SpeedOptions(topic='speed')))
    extra = [('speed', k / 50, (car.v, 0.0, 0.0)) for k in range(500)]
    states = run(core, car, 10.0, imu_rate=100.0, extra=extra, gravity=False)
    assert core.navigator.filter.gravity_removed
    b = states[-1].base
    t = (states[-1].stamp_ns - START) * 1e-9
    assert np.allclose(b.acceleration, car.body_acceleration(t), atol=0.02)
    assert b.acceleration_valid


def test_imu_silence_coasts_on_odometry_and_recovers() -> None:
    car = Car(heading=0.0)
    imu = ImuOptions(position=POINT, orientation_rpy=RPY, gyro_bias=1e-3)
    core = FusionCore(options(imu=imu, odometry=OdometryOptions(topic='odom')))
    extra = [('odometry', k / 20, (car.v, 0.0, 0.0, 0.25)) for k in range(600)]
    rng = np.random.default_rng(0)
    samples = [*extra]
    for k in range(3000):
        t = k / 100
        if not 10.0 < t < 20.0:
            values = car.imu(t, np.array(POINT), MOUNT) + rng.normal(size=6) * 1e-3
            samples.append(('imu', t, tuple(values.tolist())))
    states = []
    for name, t, values in sorted(samples, key=lambda s: s[1]):
        core.push(name, ns(t), values)
        states.extend(core.poll())
    gap = [s.base for s in states if ns(10.5) < s.stamp_ns < ns(19.5)]
    assert not any(b.acceleration_valid for b in gap)
    assert all(b.twist_valid for b in gap)
    assert all(np.allclose(b.velocity[:2], [5.0, 0.0], atol=0.1) for b in gap)
    after = [s.base for s in states if s.stamp_ns > ns(21.0)]
    assert all(b.acceleration_valid and b.twist_valid for b in after)
    # Dead reckoning has no absolute heading: compare the way from the pose at 2 s on.
    at_2 = next(s for s in states if s.stamp_ns >= ns(2.0))
    t0, t1 = (at_2.stamp_ns - START) * 1e-9, (states[-1].stamp_ns - START) * 1e-9
    truth = car.R(t0).T @ (car.position(t1) - car.position(t0))
    way = np.subtract(after[-1].position, at_2.base.position)
    way = rotation.matrix(at_2.base.orientation).T @ way
    print('coasting', way - truth)
    assert np.linalg.norm((way - truth)[:2]) < 1.0


def test_a_silence_of_the_imu_does_not_teach_its_biases() -> None:
    """Found by the campaign of bench/fuzz.py: half a second of silence made them certain."""
    core = FusionCore(options(speed=SpeedOptions(topic='speed')))
    car, told = Car(heading=0.0), []
    for k in range(400):
        t = k / 100
        if not 2.0 < t < 2.6:
            core.push('imu', ns(t), tuple(car.imu(t, np.array(POINT), MOUNT).tolist()))
        core.push('speed', ns(t + 0.003), (car.v, 0.0, 0.0))
        core.poll()
        if core.navigator.filter.ready:
            told.append((t, np.sqrt(np.diag(core.navigator.filter.P)[9:15])))
    before = next(sigma for t, sigma in reversed(told) if t < 2.0)
    after = next(sigma for t, sigma in told if t > 2.7)
    assert np.all(after > 0.9 * before)


def test_biases_that_no_imu_has_start_the_filter_anew() -> None:
    """Found by the campaign: a bias of 4 m/s^2, known to 0.1, and the pitch that went with it."""
    core = FusionCore(options(speed=SpeedOptions(topic='speed')))
    car = Car(heading=0.0)
    for k in range(1500):
        t = k / 100
        core.push('imu', ns(t), tuple(car.imu(t, np.array(POINT), MOUNT).tolist()))
        core.push('speed', ns(t + 0.003), (car.v, 0.0, 0.0))
        core.poll()
        if k == 500:
            state = core.navigator.filter
            state.x[13:16] = [-4.0, 0.0, 0.9]
            state.P[12:15, 12:15] = 0.1**2 * np.eye(3)
    assert core.navigator.restarts == 1
    assert 'biases' in core.navigator.restart_reason
    assert np.max(np.abs(core.navigator.filter.accel_bias)) < 0.5
    truth = car.R(15.0).T @ [0.0, 0.0, 1.0]
    assert np.allclose(core.navigator.filter.R[2], truth, atol=0.05)


def test_outlying_fixes_are_gated_and_a_lasting_shift_is_accepted() -> None:
    car = Car(heading=1.0)
    rng = np.random.default_rng(5)
    extra = []
    frame = LocalFrame(DATUM)
    for name, t, values in fixes(car, 60.0, 0.1, rng):
        # One outlier, a reflection that passes, and a shift that stays.
        if abs(t - 20.0) < 0.01 or 24.0 <= t < 29.0 or t > 40.0:
            p = np.array(frame.from_geodetic(*values[:3])) + [50.0, 0.0, 0.0]
            values = (*frame.to_geodetic(*p), *values[3:])
        extra.append((name, t, values))
    extra += [('odometry', k / 20, (car.v, 0.0, 0.0, 0.25)) for k in range(1200)]
    changes = {'gnss': gnss(), 'odometry': OdometryOptions(topic='odom')}
    core = FusionCore(options(recover_after=15, **changes))
    states = run(core, car, 60.0, imu_rate=100.0, extra=extra)
    record = core.records['gnss']
    # While the odometry carries on, a shift is believed after ten seconds (50 fixes), not before.
    assert 1 + 25 + 50 <= record.rejected <= 1 + 25 + 50 + 25
    assert core.navigator.recoveries == 1
    for second in (22.0, 28.0, 39.0):
        at = next(s for s in states if s.stamp_ns >= ns(second))
        assert math.dist(at.base.position[:2], car.position(second)[:2]) < 0.5
    t = (states[-1].stamp_ns - START) * 1e-9
    assert math.dist(states[-1].base.position[:2], car.position(t)[:2] + [50.0, 0.0]) < 1.0


def test_a_speed_behind_an_outage_leads_where_it_says_though_the_heading_is_unknown() -> None:
    """A velocity in body axes is not linear in the heading: one step along the tangent left
    residuals of a hundred deviations with a covariance that knew nothing of them, and the sensor
    was then set aside.
    """
    rng = np.random.default_rng(4)
    core = FusionCore(options(speed=SpeedOptions(topic='speed', axes='xy', std=0.05)))
    navigator = core.navigator
    state = navigator.filter
    squares = []
    for k in range(40):
        time, yaw = 10.0 * k, 0.6 * rng.normal()
        state.start(time, orientations.IDENTITY, 0.01, 0.6)
        state.start_navigation(np.zeros(3), 1.0, np.array([10.0, 0.0, 0.0]), 3.0)
        truth = state.velocity + 3.0 * rng.normal(size=3)
        turn = rotation.matrix(rotation.from_rotation_vector(0.0, 0.0, yaw))
        measured = turn.T @ truth + 0.05 * rng.normal(size=3)
        navigator.body_velocity('speed', time, tuple(measured), 'xy', [0.0] * 3, 0.05, 0.999)
        left = (state.R.T @ state.velocity - measured)[:2]
        assert np.abs(left).max() < 0.25, k
        off = truth[:2] - state.velocity[:2]
        squares.append(off @ np.linalg.solve(state.P[3:5, 3:5], off) / 2.0)
    assert np.mean(squares) < 2.0


def test_heights_that_contradict_a_climb_are_believed_where_nothing_else_tells_it() -> None:
    """An accelerometer whose bias jumps: the climb ran away while heights were set aside, since
    sensors of the horizontal velocity carried the place on.
    """
    car, rng, duration, jump = Car(), np.random.default_rng(2), 50.0, 25.0
    samples = fixes(car, duration, 0.2, rng)
    for k in range(int(duration * 10)):
        v = car.velocity(k / 10) + car.R(k / 10) @ np.cross(car.omega(k / 10), ANTENNA)
        samples.append(('gnss_velocity', k / 10, tuple(v + 0.05 * rng.normal(size=3))))
    for k in range(int(duration * 100)):
        values = car.imu(k / 100, np.array(POINT), MOUNT, True)
        values += np.repeat([1e-3, 1e-2], 3) * rng.normal(size=6)
        values[3:] += MOUNT.T @ [0.0, 0.0, 0.6 * (k / 100 > jump)]
        samples.append(('imu', k / 100, tuple(values.tolist())))
    velocity = GnssVelocityOptions(topic='vel', std=0.05)
    core = FusionCore(options(gnss=gnss(), gnss_velocity=velocity))
    states = []
    for name, t, values in sorted(samples, key=lambda one: one[1]):
        core.push(name, ns(t), values)
        states += core.poll()
    health = core.records['gnss'].healths['height']
    assert health.quarantines == health.recoveries == 1
    late = [abs(s.base.velocity[2]) for s in states if s.stamp_ns > ns(jump + 16.0)]
    assert max(late) < 0.3


def test_biases_learnt_until_the_stamps_jumped_are_doubted() -> None:
    """Messages that lied until then: a rate of -0.07 rad/s was believed ten seconds later."""
    car, core = Car(heading=0.0), FusionCore(options(odometry=OdometryOptions(topic='odom')))
    filter_, started = core.navigator.filter, None
    for begin in (0.0, 3600.0):
        for k in range(300):
            values = car.imu(k / 100, np.array(POINT), MOUNT, True)
            core.push('imu', ns(begin + k / 100), tuple(values.tolist()))
            core.push('odometry', ns(begin + k / 100), (car.v, 0.0, 0.0, 0.25))
            core.poll()
            if started is None and filter_.ready:
                started = np.diagonal(filter_.P)[9:12].copy()
        if not begin:  # it is sure of what is not true
            filter_.gyro_bias[:] = 0.01, 0.0, -0.07
            filter_.P[9:12] = filter_.P[:, 9:12] = 0.0
            filter_.P[range(9, 12), range(9, 12)] = 1e-8
    assert core.epoch_steps and started is not None
    assert filter_.P[11, 11] > 0.5 * started[2]  # what a circle does not tell stays open
    assert abs(filter_.gyro_bias[2]) < 0.02


def test_where_velocities_contradict_the_estimate_as_the_place_does_it_starts_anew() -> None:
    velocity, speed = GnssVelocityOptions(topic='vel'), SpeedOptions(topic='speed')
    core = FusionCore(options(gnss=gnss(), gnss_velocity=velocity, speed=speed))
    navigator = core.navigator
    record = core.records['gnss']
    healths = [navigator.health(name, '', 0.999) for name in ('gnss_velocity', 'speed')]
    assert not navigator._stands_alone(record, 10.0)  # nobody else is heard
    for health in healths:
        health.judge(10.0, (0.0,))
    healths[0].set_aside(8.0, 'said so')
    assert not navigator._stands_alone(record, 10.0)  # one agrees
    healths[1].set_aside(9.5, 'said so')
    assert not navigator._stands_alone(record, 10.0)  # not for long
    healths[1].aside_since = 8.5
    assert navigator._stands_alone(record, 10.0)
    assert not navigator._stands_alone(record, 100.0)  # long silent
