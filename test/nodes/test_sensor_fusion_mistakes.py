"""Ordinary mistakes in the input of the fusion: the cause is named; on good data nothing is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fusion_harness import START, Recorded, Result, joints, pose, prepare, run

from veh_identification.runtime.bags import BagReader
from veh_identification.simulation.scenarios import simulate

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / 'config' / 'sensor_fusion_drive.yaml'
DURATION = 20.0


@pytest.fixture(scope='module')
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('mistakes') / 'drive'
    simulate('drive', path, duration=DURATION, seed=4)
    return path


def findings(drive: Path, change: Callable[[str, Any], None] | None, **parameters: Any) -> set:
    """Level and code of all findings that the diagnostics tell in the end."""
    result = run_over(drive, change, parameters)
    return {(one.level, one.code) for one in result.node.report.findings}


def run_over(
    drive: Path, change: Callable[[str, Any], None] | None, parameters: dict[str, Any]
) -> Result:
    """The node over the drive with its messages changed."""
    with BagReader([drive]) as reader:
        start = min(info.start_ns for info in reader.info())
        result = prepare({'rate': 20.0, **parameters}, files=[CONFIG], start=start)
        wanted = [t for t in result.engine.input_topics() if t in reader.topics]
        source = []
        for raw in reader.raw(wanted):
            message = raw.decode()
            if change is not None:
                change(raw.topic, message)
            source.append(Recorded(raw.time_ns, raw.topic, raw.typename, message))
    result.engine.run(source)
    return result


def scale(vector: Any, factor: float) -> None:
    vector.x, vector.y, vector.z = factor * vector.x, factor * vector.y, factor * vector.z


def degrees(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        scale(message.angular_velocity, 57.29578)


def in_g(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        scale(message.linear_acceleration, 1.0 / 9.80665)


def in_mg(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        scale(message.linear_acceleration, 1000.0 / 9.80665)


def kilometres(topic: str, message: Any) -> None:
    if topic == '/correvit/velocity':
        scale(message.twist.linear, 3.6)


def backwards(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        message.angular_velocity.z *= -1.0


def exchanged(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        a = message.linear_acceleration
        a.x, a.y = a.y, a.x


def imu_ahead(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        stamp = message.header.stamp
        total = stamp.sec * 10**9 + stamp.nanosec + 250_000_000
        stamp.sec, stamp.nanosec = divmod(total, 10**9)


def rate_on_x(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        w = message.angular_velocity
        w.x, w.z = w.z, w.x


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        (degrees, 'unit'),
        (in_g, 'unit'),
        (kilometres, 'unit'),
        (backwards, 'sign'),
        (exchanged, 'axis'),
        (rate_on_x, 'axis'),
        (imu_ahead, 'clock_ahead'),
    ],
)
def test_mistake_is_named(drive: Path, change: Callable[[str, Any], None], code: str) -> None:
    assert ('bad', code) in findings(drive, change)


def no_covariance(topic: str, message: Any) -> None:
    if topic == '/gps/fix':
        message.position_covariance = np.zeros(9)
        message.position_covariance_type = 2


def biased(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        message.angular_velocity.z += 0.05


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        (no_covariance, 'covariance_unknown'),
        (biased, 'gyro_bias_found'),
    ],
)
def test_what_is_put_right_is_told(
    drive: Path, change: Callable[[str, Any], None], code: str
) -> None:
    found = findings(drive, change)
    assert ('note', code) in found
    assert not {one for level, one in found if level in ('warn', 'bad')}
    assert ('note', code) not in findings(drive, None)


def test_values_that_are_all_too_large_are_of_another_unit(drive: Path) -> None:
    assert 'unit' in {code for _, code in findings(drive, in_mg)}


def test_an_origin_of_another_site_is_told(drive: Path) -> None:
    place = {'gnss.fixed_datum': True, 'gnss.datum': [48.6, 11.5, 520.0]}
    assert ('warn', 'datum_far') in findings(drive, None, **place)


def test_gravity_said_to_be_removed_though_it_is_there(drive: Path) -> None:
    told = findings(drive, None, **{'imu.gravity': 'removed'})
    assert ('bad', 'gravity_present') in told


def empty_at_times() -> Callable[[str, Any], None]:
    """Every fifth second the driver sends zeros for 0.3 s."""
    heard = itertools.count()

    def change(topic: str, message: Any) -> None:
        if topic == '/imu/data' and next(heard) % 500 > 470:
            scale(message.angular_velocity, 0.0)
            scale(message.linear_acceleration, 0.0)

    return change


def test_samples_of_zeros_are_left_out(drive: Path) -> None:
    assert ('note', 'glitches_left_out') in findings(drive, empty_at_times())
    states, _ = places(drive, empty_at_times())
    clean, _ = places(drive, None)
    assert np.abs(states[-1, :2] - clean[-1, :2]).max() < 0.3


def test_good_data_raise_nothing(drive: Path) -> None:
    assert not {code for level, code in findings(drive, None) if level in ('warn', 'bad')}


def test_a_late_velocity_is_found(drive: Path) -> None:
    def late(topic: str, message: Any) -> None:
        if topic == '/gps/vel':
            stamp = message.header.stamp
            total = stamp.sec * 10**9 + stamp.nanosec + 120_000_000
            stamp.sec, stamp.nanosec = divmod(total, 10**9)

    options = {'merge.max_wait': 0.3, 'speed.topic': ''}
    assert ('note', 'velocity_delay_found') in findings(drive, late, **options)


def one_axis(topic: str, message: Any) -> None:
    if topic == '/imu/data':
        message.angular_velocity.x = message.angular_velocity.y = 0.0


def test_axes_that_are_not_measured_are_not_stuck(drive: Path) -> None:
    told = findings(drive, one_axis)
    assert ('bad', 'stuck') in told
    axes = ['wz', 'ax', 'ay', 'az']
    assert not {code for level, code in findings(drive, one_axis, **{'imu.axes': axes})} & {
        'stuck'
    }


def glitches() -> Callable[[str, Any], None]:
    """One sample of the gyroscope and one of the accelerometer that a bit on the bus made."""
    heard = itertools.count()

    def change(topic: str, message: Any) -> None:
        if topic == '/imu/data':
            number = next(heard)
            message.angular_velocity.z += 10.0 * (number == 800)
            message.linear_acceleration.x += 50.0 * (number == 1200)

    return change


def places(drive: Path, change: Callable[[str, Any], None] | None) -> tuple[Any, str]:
    """Position and quaternion of all states, and what is told of the inertial unit."""
    result = run_over(drive, change, {})
    rows = [
        [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
        for p, q in ((s.pose.position, s.pose.orientation) for s in result.states)
    ]
    told = result.node.report.sensors['imu'].finding
    return np.array(rows), '' if told is None else told.code


def test_single_samples_that_no_vehicle_makes_move_nothing(drive: Path) -> None:
    clean, before = places(drive, None)
    spoilt, told = places(drive, glitches())
    assert (before, told) == ('', 'glitches_left_out')
    assert clean.shape == spoilt.shape
    # A glitch that is used turns the vehicle by 0.1 rad, or makes it 0.25 m/s faster.
    assert np.abs(clean - spoilt).max() < 0.01


@pytest.mark.parametrize('slow', ['', 'joint_states', 'base/pose'])
def test_joints_and_poses_behind_which_a_slower_source_stands(slow: str) -> None:
    """Each value comes twelve times; others of the same run are not blamed."""
    source = []
    for k in range(2000):
        stamp = START + 5_000_000 * k
        now = {
            name: 0.005 * (12 * (k // 12) if name == slow else k)
            for name in ('base/pose', 'joint_states')
        }
        angle = now['joint_states']
        source.append(joints(stamp, ['hip', 'knee'], [np.sin(angle), np.cos(1.7 * angle)]))
        place = now['base/pose']
        position = (0.2 * np.sin(place), 0.1 * np.cos(2.0 * place), 1.0 + 0.05 * np.sin(place))
        source.append(pose(stamp, position, (0.0, 0.0, np.sin(0.1 * place), np.cos(0.1 * place))))
    parameters = {'imu.topic': '', 'joints.topic': 'joint_states', 'mocap.topic': 'base/pose'}
    told = run({'rate': 20.0, **parameters}, source).node.report.findings
    repeated = [one for one in told if one.code == 'repeated']
    assert [one.where.split()[0] for one in repeated] == ([slow] if slow else [])
    assert all('repeats each value for 0.06 s' in one.text for one in repeated)


@pytest.mark.parametrize('bad', ['joint_states', 'base/pose'])
def test_stamps_of_arrival_are_told(bad: str) -> None:
    """Samples every 5 ms whose stamps are those of a driver that is busy now and then."""
    rng = np.random.default_rng(7)
    times = START + 5_000_000 * np.arange(2000)
    arrivals = np.maximum.accumulate(times + rng.exponential(6e6, times.size).astype(np.int64))
    arrivals += np.arange(times.size)
    source = []
    for k, (time, arrival) in enumerate(zip(times.tolist(), arrivals.tolist(), strict=True)):
        t = 0.005 * k
        stamps = {name: arrival if name == bad else time for name in ('joint_states', 'base/pose')}
        angles = [np.sin(3.0 * t), np.cos(5.0 * t)]
        place = (0.2 * np.sin(3.0 * t), 0.1 * np.cos(4.0 * t), 1.0 + 0.05 * np.sin(5.0 * t))
        source.append(joints(stamps['joint_states'], ['hip', 'knee'], angles, arrival=arrival))
        source.append(pose(stamps['base/pose'], place, (0.0, 0.0, 0.0, 1.0)))
    source.sort(key=lambda one: one.time_ns)
    parameters = {'imu.topic': '', 'joints.topic': 'joint_states', 'mocap.topic': 'base/pose'}
    told = run({'rate': 20.0, **parameters}, source).node.report.findings
    assert [one.where for one in told if one.code == 'stamps_jitter'] == [bad]


def test_a_second_inertial_unit_on_the_topic_is_named(drive: Path) -> None:
    """Its messages come between those of the first; thinned out they would look like one."""
    count = itertools.count()

    def resting(topic: str, message: Any) -> None:
        if topic == '/imu/data' and next(count) % 2:
            scale(message.angular_velocity, 0.0)
            scale(message.linear_acceleration, 0.0)
            message.linear_acceleration.z = 9.81

    assert ('bad', 'two_sources') in findings(drive, resting)
