"""The car's online observer over short recordings: one core for files and streams."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veh_identification.errors import InputError, ParameterError, VehIdError
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.messages import header, new, stamp_ns, time_from_ns
from veh_identification.simulation import buggy_bag
from veh_identification.systems.buggy import command, run
from veh_identification.systems.buggy.loading import load
from veh_identification.systems.buggy.observer import find_start, make_filter
from veh_identification.systems.buggy.recording import read
from veh_identification.systems.buggy.vehicle import Vehicle

SECONDS = 2.0
Change = Callable[[str, int, Any], Any]


@pytest.fixture(scope='module')
def circle(tmp_path_factory) -> Path:
    bag = tmp_path_factory.mktemp('buggy') / 'circle'
    with BagWriter(bag) as writer:
        buggy_bag.write_circle(writer, SECONDS, 5, 1.0, lambda done, total: None)
    return bag


def changed(bag: Path, out: Path, change: Change, seconds: float = 1.0) -> Path:
    """A copy of the start of a bag; `change` returns a message, None, or (time, message)."""
    with BagReader(bag) as reader, BagWriter(out) as writer:
        first = None
        rows = []
        for item in reader.messages():
            first = item.time_ns if first is None else first
            if item.time_ns - first > seconds * 1e9:
                break
            message = change(item.topic, item.time_ns, item.message)
            if isinstance(message, tuple):
                rows.append((message[0], item.topic, message[1]))
            elif message is not None:
                rows.append((item.time_ns, item.topic, message))
        for time_ns, topic, message in sorted(rows, key=lambda row: row[0]):
            writer.write_message(topic, message, time_ns)
    return out


def observed(bag: Path, out: Path, **options: Any) -> dict[str, Any]:
    command.observe(bag=bag, out=out, **options)
    result: dict[str, Any] = json.loads((out / 'metrics.json').read_text())
    return result


def odometry(out: Path) -> np.ndarray:
    columns = read_columns(out / 'observed', {'odometry/observed': None})['odometry/observed']
    return np.column_stack([columns.stamps_ns, columns['pose.pose.position.x'],
                            columns['pose.pose.position.y'], columns['twist.twist.linear.x']])


def test_a_given_filter_over_series_makes_the_same_steps(circle):
    """`run.observe` (sorted arrays) and the online observer (arrivals) agree to the last bit."""
    car = load()
    recording = read(circle, car, Vehicle(car).rack_per_angle())
    recording.notes.clear()
    start = find_start(car, recording)
    series = run.observe(car, recording, make_filter(car, recording, start))
    system = command.make_system(recording, None)
    online = run.observe_arrivals(system, recording, command.offline_options(system))
    assert online is not None
    np.testing.assert_allclose(series.time, online.run.time, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(series.frame, online.run.frame)
    np.testing.assert_array_equal(series.covariance, online.run.covariance)


def test_late_and_shuffled_messages_change_nothing(circle, tmp_path):
    """Header stamps count, not the order in the file; what is too late is counted."""
    generator = np.random.default_rng(1)

    def shuffle(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/tf_static':
            return message
        return time_ns + round(1e9 * generator.uniform(0.0, 0.5)), message

    straight = changed(circle, tmp_path / 'a', lambda t, s, m: m)
    mixed = changed(circle, tmp_path / 'b', shuffle)
    one, two = observed(straight, tmp_path / 'oa'), observed(mixed, tmp_path / 'ob')
    assert all(s['late'] == 0 for s in two['streams'].values())
    np.testing.assert_array_equal(odometry(tmp_path / 'oa'), odometry(tmp_path / 'ob'))
    assert one['sensors'] == two['sensors']


def test_what_is_too_late_or_twice_is_counted_and_said(circle, tmp_path):
    count = {'n': 0}

    def hold_back(topic: str, time_ns: int, message: Any) -> Any:
        if topic == '/gps/fix':
            count['n'] += 1
            if count['n'] % 10 == 0:
                return time_ns + 1_500_000_000, message
        return message

    bag = changed(circle, tmp_path / 'late', hold_back, SECONDS)
    with BagReader(bag) as reader, BagWriter(tmp_path / 'twice') as writer:
        for item in reader.messages():
            for _ in range(2 if item.topic == '/gps/vel' else 1):
                writer.write_message(item.topic, item.message, item.time_ns)
    text = command.observe(bag=tmp_path / 'twice', out=tmp_path / 'out')
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    # the last of them stand beyond the end, where nothing newer makes them late
    assert 2 <= metrics['streams']['gps']['late'] <= count['n'] // 10
    assert metrics['streams']['gps_velocity']['duplicate'] == 100
    assert 'gps: ' in text and 'late' in text
    assert '100 duplicate of 200 samples' in text
    assert metrics['coordinates']['x']['max_obs'] < 0.06


def test_an_input_that_falls_silent_is_replaced_by_an_estimate(circle, tmp_path):
    def cut(topic: str, time_ns: int, message: Any) -> Any:
        elapsed = stamp_ns(message) - buggy_bag.EPOCH_NS if hasattr(message, 'header') else 0
        if topic == '/joint_states' and elapsed > 0.6e9:
            message.effort = np.zeros(0)
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', cut, SECONDS), tmp_path / 'out')
    assert len(metrics['notes']) == 1
    assert metrics['notes'][0].startswith('from 1.1')
    assert 'no drive torque' in metrics['notes'][0]
    assert metrics['coordinates']['x']['max_obs'] < 0.06
    assert metrics['coordinates']['vx']['max_obs'] < 0.3


def test_sideslip_and_strokes_stand_in_the_result_bag(circle, tmp_path):
    observed(circle, tmp_path / 'out')
    virtual = read_columns(tmp_path / 'out' / 'observed', {
        'error_ekf/virtual_sensors': ['sideslip', 'suspension_strokes[0]', 'suspension_strokes[1]',
                                      'suspension_strokes[2]', 'suspension_strokes[3]',
                                      'tyre_forces[2].z']})['error_ekf/virtual_sensors']
    truth = read_columns(circle, {'truth/odom': None, 'truth/joint_states': [
        f'position[stroke_{c}]' for c in ('fl', 'fr', 'rl', 'rr')]})
    odom = truth['truth/odom']
    forward, side = odom['twist.twist.linear.x'], odom['twist.twist.linear.y']
    expected = np.interp(virtual.stamps_ns, odom.stamps_ns, np.arctan2(side, np.abs(forward)))
    known = np.isfinite(virtual['sideslip'])
    moving = np.interp(virtual.stamps_ns, odom.stamps_ns, np.abs(forward)) > 1.5
    assert known[moving].all()
    assert np.abs(virtual['sideslip'] - expected)[moving].max() < 0.02
    assert np.isnan(virtual['sideslip'][0])  # it stands
    strokes = truth['truth/joint_states']
    late = virtual.stamps_ns > virtual.stamps_ns[0] + 10**9
    for k, corner in enumerate(('fl', 'fr', 'rl', 'rr')):
        exact = np.interp(virtual.stamps_ns, strokes.stamps_ns,
                          strokes[f'position[stroke_{corner}]'])
        found = virtual[f'suspension_strokes[{k}]']
        assert np.abs(found - exact)[late].max() < 0.003
    load_rear = virtual['tyre_forces[2].z'][late]
    assert 1000.0 < load_rear.mean() < 2500.0


def moved_imu(circle: Path, out: Path, config: str, tmp_path: Path) -> list[str]:
    """Notes of a run whose /tf_static and configuration tell of the sensors' places."""
    (tmp_path / 'car.yaml').write_text(config)
    bag = changed(circle, out, lambda t, s, m: m, 0.3)
    notes: list[str] = observed(bag, tmp_path / 'o', config=tmp_path / 'car.yaml')['notes']
    return notes


def test_tf_static_gives_the_places_that_the_configuration_does_not(circle, tmp_path):
    notes = moved_imu(circle, tmp_path / 'bag', 'base: buggy.yaml\n', tmp_path)
    assert 'imu: mounted at (0.55, 0, 0.3) m by /tf_static (imu_link)' in notes
    assert 'gps: mounted at (0.5, 0, 0.95) m by /tf_static (gps_link)' in notes
    car = load(tmp_path / 'car.yaml')
    recording = read(tmp_path / 'bag', car, Vehicle(car).rack_per_angle())
    recording.frames.set('base_link', 'imu_link', recording.frames.lookup(
        'base_link', 'imu_link').__class__((1.0, 0.2, 0.4), (0.0, 0.0, 0.0, 1.0)))
    system = command.make_system(recording, tmp_path / 'car.yaml')
    found = run.observe_arrivals(system, recording, command.offline_options(system))
    assert found is not None
    assert found.session.car.sensors.imu.position == (1.0, 0.2, 0.4)


def test_the_configuration_wins_over_tf_static(circle, tmp_path):
    notes = moved_imu(circle, tmp_path / 'bag', 'base: buggy.yaml\nsensors:\n'
                      '  imu: {position: [0.5, 0.0, 0.3]}\n  gps: {position: [0.5, 0.0, 0.9]}\n',
                      tmp_path)
    assert notes == []


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
    assert any('quaternion' in note and 'ignored' in note for note in metrics['notes'])
    assert any('truth/odom' in note and 'no rotation' in note for note in metrics['notes'])
    assert metrics['sensors']['gyroscope']['used'] == 150
    assert 'coordinates' not in metrics


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
        command.observe(bag=bag, out=tmp_path / 'none', config=config)
    assert not (tmp_path / 'none').exists()


@pytest.mark.parametrize(('config', 'words'), [
    ('geometry: {wheel_radius: 0.0}', r'geometry.wheel_radius must be positive, found 0.0'),
    ('geometry: {wheelbase: -2.0}', 'geometry.wheelbase must be positive'),
    ('chassis: {centre: [5.0, 0.0, 0.2]}', 'wheel .* carries no load'),
    ('sensors: {gps: {position: [0.5, 0.0]}}', 'position must hold 3 values'),
    ('datum: [10.0, 100.0, 0.0]', 'km from the datum'),
])  # fmt: skip
def test_impossible_cars_are_refused_in_a_sentence(circle, tmp_path, config, words):
    file = tmp_path / 'car.yaml'
    file.write_text(f'base: buggy.yaml\n{config}\n')
    bag = changed(circle, tmp_path / 'bag', lambda t, s, m: m, 0.1)
    with pytest.raises(VehIdError, match=words) as caught:
        command.observe(bag=bag, out=tmp_path / 'out', config=file)
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
        if stamp - buggy_bag.EPOCH_NS > 0.5e9:
            message.header.stamp = time_from_ns(stamp + 3600 * 10**9)
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', jump, SECONDS), tmp_path / 'out')
    assert any('jumped by +3600' in note for note in metrics['notes']) or (
        metrics['streams']['imu']['clock_jumps'] == 1)
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
                writer.write_message('/joint_states', new(
                    'sensor_msgs/msg/JointState', header=header(stamp_ns(m)),
                    name=list(m.name)[part], position=m.position[part],
                    effort=m.effort[part]), item.time_ns)
    one = observed(bag, tmp_path / 'o1')
    two = observed(tmp_path / 'split', tmp_path / 'o2')
    assert two['streams']['wheel_angle']['duplicate'] == 0
    assert one['sensors'] == two['sensors']
    np.testing.assert_array_equal(odometry(tmp_path / 'o1'), odometry(tmp_path / 'o2'))


def test_a_known_heading_is_taken_over(circle):
    """What ~/load gives: the heading and the sensor parameters of an earlier run."""
    from veh_identification.systems.buggy.online import Known
    from veh_identification.systems.buggy.samples import arrived

    car = load()
    sensors = replace(car.sensors, imu=replace(car.sensors.imu, gyroscope_bias=0.05))
    car = replace(car, sensors=sensors)
    recording = read(circle, car, Vehicle(car).rack_per_angle())
    system = command.make_system(recording, None)
    system.car = car
    system.known = Known(0.3, {'gyroscope.bias_z': (0.01, 1e-6)})
    session = system.start(arrived(recording, car)[:500])
    assert session.vehicle.model.q[12] == pytest.approx(0.3)
    assert session.filter.parameter('gyroscope.bias_z') == pytest.approx(0.01)
    assert not math.isnan(session.filter.P.sum())


def test_no_usable_message_is_an_input_error(tmp_path):
    with BagWriter(tmp_path / 'bag') as writer:
        for k in range(10):
            writer.write_message('imu/data', new(
                'sensor_msgs/msg/Imu', header=header(0), angular_velocity=(0.0, 0.0, 0.0)), k + 1)
    with pytest.raises(InputError, match='stamp'):
        command.observe(bag=tmp_path / 'bag', out=tmp_path / 'out')
