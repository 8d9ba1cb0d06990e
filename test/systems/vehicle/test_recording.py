"""Bad input of `veh-id observe vehicle`: counted, said in a sentence, survived."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vehicle_cases import SECONDS, changed, codes, observed, odometry, write_circle

from veh_identification.errors import BagError, InputError, ParameterError, VehIdError
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.messages import header, new, stamp_ns, time_from_ns
from veh_identification.signals.wrapping import continuous
from veh_identification.simulation.scenarios import simulate
from veh_identification.simulation.vehicle import bag as simulated
from veh_identification.systems.driver import configured, run
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.recording.reader import counters_findings, read


@pytest.fixture(scope='module')
def circle(tmp_path_factory) -> Path:
    return write_circle(tmp_path_factory.mktemp('vehicle') / 'circle')


def test_transforms_that_are_none_are_ignored(circle, tmp_path):
    def zero(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/tf_static':
            for item in message.transforms:
                q = item.transform.rotation
                q.x = q.y = q.z = q.w = 0.0
        if topic == '/truth/odom':
            q = message.pose.pose.orientation
            q.x = q.y = q.z = q.w = 0.0
        if topic == '/imu/data':
            message.orientation.w = 0.0  # no orientation: rates and forces are good all the same
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', zero, 0.3), tmp_path / 'out')
    assert {'transform_ignored', 'truth_without_rotation'} <= set(codes(metrics))
    assert any('quaternion' in note and 'ignored' in note for note in metrics['notes'])
    assert metrics['sensors']['gyroscope']['used'] == 150
    assert 'coordinates' not in metrics


def test_encoders_that_begin_anew_each_turn_are_continuous(circle, tmp_path):
    def faster(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/joint_states':
            wheels = np.array([name.startswith('wheel_') for name in message.name])
            turned = 20e-9 * (stamp_ns(message.header.stamp) % 10**10)
            message.position = np.where(wheels, turned, message.position)
        return message

    def wrapped(topic: str, time_ns: int, message: Any) -> Any:
        message = faster(topic, time_ns, message)
        if topic == '/joint_states':
            message.position = (np.array(message.position) + np.pi) % (2.0 * np.pi) - np.pi
        return message

    system, car = configured('vehicle')
    plain = system.read(changed(circle, tmp_path / 'plain', faster), car).wheel_angle.value
    found = system.read(changed(circle, tmp_path / 'bag', wrapped), car).wheel_angle.value
    assert np.ptp(plain, axis=0).min() > 2.0 * np.pi
    np.testing.assert_allclose(np.diff(found, axis=0), np.diff(plain, axis=0), atol=1e-9)


def test_messages_without_covariance_use_the_configured_noise(circle, tmp_path):
    def forget(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/gps/fix':
            message.position_covariance_type = 0
            message.position_covariance = np.zeros(9)
        if topic == '/imu/data':
            message.angular_velocity_covariance = np.zeros(9)
            message.linear_acceleration_covariance = np.zeros(9)
        return message

    bag = changed(circle, tmp_path / 'bag', forget)
    metrics = observed(bag, tmp_path / 'out')
    assert metrics['sensors']['gps']['used'] == 50
    assert 0.6 < metrics['consistency']['nis']['gps']['nis'] < 1.5
    config = tmp_path / 'car.yaml'
    config.write_text('base: buggy.yaml\nsensors: {gps: {deviation: 0.0}}\n')
    with pytest.raises(ParameterError, match=r"'gps'.*standard deviation must be positive"):
        run('observe', 'vehicle', [bag], out=tmp_path / 'none', config=config)
    assert not (tmp_path / 'none').exists()


@pytest.mark.parametrize(
    ('config', 'words'),
    [
        ('geometry: {wheel_radius: 0.0}', 'geometry.wheel_radius: expected a positive length'),
        ('geometry: {wheelbase: -2.0}', 'geometry.wheelbase: expected a positive length'),
        ('geometry: {wheelbase: 2700.0}', 'geometry.wheelbase: .* in mm'),
        ('chassis: {centre: [5.0, 0.0, 0.2]}', 'wheel .* carries no load'),
        ('sensors: {gps: {position: [0.5, 0.0]}}', 'position: expected 3 lengths'),
        ('datum: [10.0, 100.0, 0.0]', 'km from the datum'),
    ],
)
def test_impossible_cars_are_refused_in_a_sentence(circle, tmp_path, config, words):
    file = tmp_path / 'car.yaml'
    file.write_text(f'base: buggy.yaml\n{config}\n')
    bag = changed(circle, tmp_path / 'bag', lambda t, s, m: m, 0.1)
    with pytest.raises(VehIdError, match=words) as caught:
        run('observe', 'vehicle', [bag], out=tmp_path / 'out', config=file)
    assert '\n' not in str(caught.value)
    assert not (tmp_path / 'out').exists()


def test_fixes_far_away_are_counted_and_the_observer_goes_on(circle, tmp_path):
    """One fix on another continent after the start; the first ones decide about the datum."""
    count = {'n': 0}

    def move(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/gps/fix':
            count['n'] += 1
            if count['n'] % 7 == 0:
                message.latitude += 20.0
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', move), tmp_path / 'out')
    stream = metrics['streams']['gps']
    assert stream['invalid'] == count['n'] // 7
    assert stream['reasons'] == {'more than 200 km from the datum': count['n'] // 7}
    assert metrics['coordinates']['x']['max_obs'] < 0.05


def test_a_clock_that_jumps_an_hour_starts_anew(circle, tmp_path):
    def jump(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/tf_static' or not hasattr(message, 'header'):
            return message
        stamp = stamp_ns(message)
        if stamp - simulated.EPOCH_NS > 0.5e9:
            message.header.stamp = time_from_ns(stamp + 3600 * 10**9)
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', jump, SECONDS), tmp_path / 'out')
    assert 'clock_jumped' in codes(metrics) or metrics['streams']['imu']['clock_jumps'] == 1
    assert np.isfinite(odometry(tmp_path / 'out')).all()


def test_zero_stamps_and_unmeasured_imu_are_counted(circle, tmp_path):
    count = {'n': 0}

    def spoil(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/imu/data':
            count['n'] += 1
            if count['n'] % 5 == 0:
                message.header = header(0)
            elif count['n'] % 5 == 1:
                unknown = np.array([-1.0, *([0.0] * 8)])
                message.angular_velocity_covariance = unknown
                message.linear_acceleration_covariance = unknown
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', spoil, 0.5), tmp_path / 'out')
    assert metrics['unusable_messages']['imu/data'] == 100
    assert metrics['sensors']['gyroscope']['used'] == 150


def test_sensors_of_one_axis_are_used_and_drop_outs_counted(circle, tmp_path):
    """A car of which only yaw rate and lateral acceleration are measured."""
    count = {'n': 0}

    def spoil(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/imu/data':
            count['n'] += 1
            rate, force = message.angular_velocity, message.linear_acceleration
            rate.x = rate.y = force.x = force.z = np.nan
            if count['n'] % 5 == 0:
                force.y = np.nan
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', spoil, 0.5), tmp_path / 'out')
    sent = count['n']
    assert metrics['unusable_messages']['imu/data'] == sent // 5
    assert metrics['sensors']['gyroscope']['used'] == sent
    assert metrics['sensors']['accelerometer']['used'] == sent - sent // 5


def test_topics_of_the_description_are_read(circle, tmp_path):
    with BagReader(circle) as reader, BagWriter(tmp_path / 'bag') as writer:
        end = reader.info()[0].start_ns + 10**9
        for item in reader.messages(['/imu/data', '/gps/fix'], stop_ns=end):
            topic = {'/imu/data': '/my_imu', '/gps/fix': '/receiver/fix'}[item.topic]
            writer.write_message(topic, item.message, item.time_ns)
    car = load(None)
    named = replace(car, topics={**car.topics, 'imu': 'my_imu', 'gps_fix': '/receiver/fix'})
    found = read(tmp_path / 'bag', named, Vehicle(car).rack_per_angle())
    assert len(found.gyro) > 100 and len(found.fix) > 5
    with pytest.raises(BagError, match='none of the topics imu/data, gps/fix'):
        read(tmp_path / 'bag', car, Vehicle(car).rack_per_angle())


def test_wheels_in_two_messages_of_one_stamp_are_no_duplicates(circle, tmp_path):
    """Front and rear wheels may come from two controllers."""
    bag = changed(circle, tmp_path / 'bag', lambda t, s, m: m, 0.3)
    with BagReader(bag) as reader, BagWriter(tmp_path / 'split') as writer:
        for item in reader.messages():
            if item.topic != '/joint_states':
                writer.write_message(item.topic, item.message, item.time_ns)
                continue
            m = item.message
            for part in (slice(0, 2), slice(2, 5)):
                writer.write_message(
                    '/joint_states',
                    new(
                        'sensor_msgs/msg/JointState',
                        header=header(stamp_ns(m)),
                        name=list(m.name)[part],
                        position=m.position[part],
                        effort=m.effort[part],
                    ),
                    item.time_ns,
                )
    one = observed(bag, tmp_path / 'o1')
    two = observed(tmp_path / 'split', tmp_path / 'o2')
    assert two['streams']['wheel_angle']['duplicate'] == 0
    assert one['sensors'] == two['sensors']
    np.testing.assert_array_equal(odometry(tmp_path / 'o1'), odometry(tmp_path / 'o2'))


def test_no_usable_message_is_an_input_error(tmp_path):
    with BagWriter(tmp_path / 'bag') as writer:
        for k in range(10):
            writer.write_message(
                'imu/data',
                new('sensor_msgs/msg/Imu', header=header(0), angular_velocity=(0.0, 0.0, 0.0)),
                k + 1,
            )
    with pytest.raises(InputError, match='stamp'):
        run('observe', 'vehicle', [tmp_path / 'bag'], out=tmp_path / 'out')


def test_messages_of_other_joints_are_not_unusable(tmp_path: Path) -> None:
    """A car with travel and camber sensors publishes them in messages of their own."""
    simulate('car-sine-steer', tmp_path / 'drive', duration=3.0, seed=0)
    system, car = configured('vehicle', 'car_peugeot_406')
    recording = system.read(tmp_path / 'drive', car)
    assert 'joint_states' not in recording.unusable
    # a rolling car: speeds from its angles, over 50 ms each
    assert len(recording.wheel_rate.time) > 50


def test_wheels_that_begin_anew_are_named() -> None:
    """After each turn, or when a counter overflows: what is put right is told."""
    angle = np.outer(np.linspace(0.0, 60.0, 1500), np.ones(4))
    each_turn, overflowing = angle.copy(), angle.copy()
    each_turn[:, 1] %= 2.0 * np.pi
    overflowing[:, 2] %= 25.0
    for angles, code, wheel in (
        (each_turn, 'wrapped', 'wheel_fr (9 times)'),
        (overflowing, 'counters_anew', 'wheel_rl (2 times)'),
    ):
        (found,) = counters_findings(continuous(angles)[1])
        assert (found.level, found.code) == ('note', code)
        assert found.text.endswith(f': {wheel}')
    assert counters_findings(continuous(angle)[1]) == []
