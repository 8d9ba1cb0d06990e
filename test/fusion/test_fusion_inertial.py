"""The estimator on simulated sensors with exact truth, through FusionCore."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from fusion_truth import Motion

from veh_identification.fusion import measurements, rotation
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.frames import Transform
from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.fusion.inertial import InertialFilter, InertialNoise
from veh_identification.fusion.options import FilterOptions, FusionOptions, MergeParameters
from veh_identification.fusion.sensor_options import (
    GnssOptions,
    GnssVelocityOptions,
    ImuOptions,
    JointOptions,
    MocapOptions,
    NonholonomicOptions,
    OdometryOptions,
    SpeedOptions,
)

START = 1_700_000_000_000_000_000
POINT = [0.4, -0.3, 0.5]
RPY = [math.pi / 2, 0.1, -0.7]
MOUNT = rotation.matrix(rotation.from_rpy(*RPY))


def options(**changes: object) -> FusionOptions:
    base = FusionOptions(
        rate=50.0,
        filter=FilterOptions(cutoff=20.0),
        merge=MergeParameters(max_wait=0.02),
        imu=ImuOptions(position=POINT, orientation_rpy=RPY, gyro_noise=1e-3, accel_noise=1e-2),
        joints=JointOptions(topic=''),
    )
    return dataclasses.replace(base, **changes)


def ns(t: float) -> int:
    return START + round(t * 1e9)


def run(
    core: FusionCore,
    motion: Motion,
    duration: float,
    *,
    imu_rate: float = 200.0,
    bias: np.ndarray | None = None,
    noise: tuple[float, float] = (0.0, 0.0),
    extra: list[tuple[str, float, tuple[float, ...]]] | None = None,
    gravity: bool = True,
    seed: int = 0,
) -> list:
    rng = np.random.default_rng(seed)
    offset = np.zeros(6) if bias is None else bias
    sigma = np.repeat(noise, 3)
    samples = list(extra or [])
    for k in range(int(duration * imu_rate)):
        t = k / imu_rate
        values = motion.imu(t, np.array(POINT), MOUNT, gravity) + offset
        samples.append(('imu', t, tuple((values + sigma * rng.normal(size=6)).tolist())))
    samples.sort(key=lambda s: s[1])
    states = []
    for name, t, values in samples:
        core.push(name, ns(t), values)
        states.extend(core.poll())
    return states


def tilt_error(q: rotation.Quaternion, truth: rotation.Quaternion) -> float:
    up = rotation.rotate(rotation.conjugate(q), (0.0, 0.0, 1.0))
    other = rotation.rotate(rotation.conjugate(truth), (0.0, 0.0, 1.0))
    return math.acos(min(1.0, sum(a * b for a, b in zip(up, other, strict=True))))


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
    core = FusionCore(
        options(mocap=MocapOptions(topic='pose', std=1e-4, orientation_std=1e-4))
    )
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


class Car(Motion):
    """Planar driving: speed 5 m/s, heading psi(t); position by exact integration of a circle."""

    def __init__(self, heading: float = 2.0) -> None:
        super().__init__()
        self.heading, self.radius, self.v = heading, 20.0, 5.0

    def psi(self, t: float) -> float:
        return self.heading + self.v / self.radius * t

    def position(self, t: float) -> np.ndarray:
        a, b = self.psi(0.0), self.psi(t)
        return self.radius * np.array(
            [math.sin(b) - math.sin(a), math.cos(a) - math.cos(b), 0.0]
        )

    def velocity(self, t: float) -> np.ndarray:
        return self.v * np.array([math.cos(self.psi(t)), math.sin(self.psi(t)), 0.0])

    def acceleration(self, t: float) -> np.ndarray:
        return self.v**2 / self.radius * np.array(
            [-math.sin(self.psi(t)), math.cos(self.psi(t)), 0.0]
        )

    def orientation(self, t: float) -> rotation.Quaternion:
        return rotation.from_rpy(0.0, 0.0, self.psi(t))

    def omega(self, t: float) -> np.ndarray:
        return np.array([0.0, 0.0, self.v / self.radius])


DATUM = Datum(42.3758, -71.1474, 7.3)
ANTENNA = [0.8, 0.2, 1.1]


def fixes(car: Car, duration: float, sigma: float, rng: np.random.Generator) -> list:
    frame = LocalFrame(DATUM)
    out = []
    for k in range(int(duration * 5)):
        t = k / 5
        p = car.position(t) + car.R(t) @ ANTENNA + sigma * rng.normal(size=3)
        out.append(('gnss', t, (*frame.to_geodetic(*p), max(sigma, 0.01) ** 2, 1.0)))
    return out


def gnss(**changes: object) -> GnssOptions:
    return GnssOptions(
        topic='fix', position=ANTENNA, fixed_datum=True,
        datum=[DATUM.latitude, DATUM.longitude, DATUM.altitude], **changes,
    )  # fmt: skip


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
        heading.append(
            math.remainder(rotation.yaw_of(b.orientation) - car.psi(t), 2 * math.pi)
        )
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
    mount = rotation.from_rpy(*RPY)
    states = []
    for k in range(1000):
        t = k / 100
        q = rotation.multiply(motion.orientation(t), mount)
        values = motion.imu(t, np.zeros(3), MOUNT, gravity=False)
        core.push('imu', ns(t), (*values.tolist(), *q))
        states.extend(core.poll())
    assert core.navigator.filter.gravity_removed
    last = states[-1]
    truth = motion.orientation((last.stamp_ns - START) * 1e-9)
    error = rotation.multiply(rotation.conjugate(truth), last.base.orientation)
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


def test_outlying_fixes_are_gated_and_a_lasting_shift_is_accepted() -> None:
    car = Car(heading=1.0)
    rng = np.random.default_rng(5)
    extra = []
    frame = LocalFrame(DATUM)
    for name, t, values in fixes(car, 60.0, 0.1, rng):
        if abs(t - 20.0) < 0.01 or t > 40.0:
            p = np.array(frame.from_geodetic(*values[:3])) + [50.0, 0.0, 0.0]
            values = (*frame.to_geodetic(*p), *values[3:])
        extra.append((name, t, values))
    extra += [('odometry', k / 20, (car.v, 0.0, 0.0, 0.25)) for k in range(1200)]
    changes = {'gnss': gnss(), 'odometry': OdometryOptions(topic='odom')}
    core = FusionCore(options(recover_after=15, **changes))
    states = run(core, car, 60.0, imu_rate=100.0, extra=extra)
    record = core.records['gnss']
    assert 1 + 15 <= record.rejected <= 20
    assert core.navigator.recoveries == 1
    at_22 = next(s for s in states if s.stamp_ns >= ns(22.0))
    assert math.dist(at_22.base.position[:2], car.position(22.0)[:2]) < 0.5
    t = (states[-1].stamp_ns - START) * 1e-9
    assert math.dist(states[-1].base.position[:2], car.position(t)[:2] + [50.0, 0.0]) < 1.0


def numeric_jacobian(state: InertialFilter, model: object) -> np.ndarray:
    """-d residual / d error by central differences through the error injection."""
    columns = []
    for i in range(15):
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
                other._set_orientation(rotation.multiply(other.orientation, q))
            else:
                other.x[i if i < 6 else i + 1] += h
            sides.append(model(other)[0])
        columns.append(-(sides[0] - sides[1]) / 2e-6)
    return np.array(columns).T


@pytest.mark.parametrize(
    'model',
    [
        lambda s: measurements.position(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.world_velocity(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.body_velocity(s, np.ones(3), np.array([0.3, -0.2, 0.8])),
        lambda s: measurements.gravity(s, np.array([0.1, 0.2, 9.7])),
        lambda s: measurements.tilt(s, rotation.from_rpy(0.1, 0.2, 0.3)),
        lambda s: measurements.standstill_rate(s),
        lambda s: measurements.orientation(s, s_reference),
    ],
    ids=['position', 'world', 'body', 'gravity', 'tilt', 'standstill', 'orientation'],
)
def test_jacobians(model: object) -> None:
    state = InertialFilter(InertialNoise(), 9.80665)
    state.x[:6] = [1, 2, 3, 4, -1, 0.5]
    state._set_orientation(rotation.from_rpy(0.3, -0.2, 1.0))
    state.sample[:] = np.array([0.3, -0.5, 0.9, 0.0, 0.0, 0.0])
    state.x[10:] = [0.01, 0.02, -0.01, 0.1, -0.1, 0.2]
    assert np.allclose(model(state)[1], numeric_jacobian(state, model), atol=1e-6)


s_reference = rotation.from_rpy(0.3, -0.2, 1.0)


def test_delay_is_taken_off_the_stamps() -> None:
    """A speed sensor that stamps 0.14 s late shows in the estimate unless its delay is given."""

    class Braking(Car):
        def body_velocity(self, t: float) -> np.ndarray:
            return np.array([5.0 + math.sin(2.0 * t), 0.0, 0.0])

    errors = {}
    for delay in (0.0, 0.14):
        core = FusionCore(
            options(imu=ImuOptions(topic=''), rate=20.0,
                    odometry=OdometryOptions(topic='odom', delay=delay, std=0.01))
        )  # fmt: skip
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
