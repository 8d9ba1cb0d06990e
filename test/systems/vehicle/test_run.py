"""The car's online observer over short recordings: one core for files and streams."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vehicle_cases import SECONDS, changed, codes, observed, odometry, write_circle

from veh_identification.observation import Innovation
from veh_identification.observation.streaming import OnlineObserver, OnlineOptions, Session
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.messages import stamp_ns
from veh_identification.simulation.vehicle import bag as simulated
from veh_identification.systems import driver
from veh_identification.systems.driver import configured
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.online import Known, VehicleSystem
from veh_identification.systems.vehicle.observer.run import observe_recording
from veh_identification.systems.vehicle.recording.reader import read
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.recording.samples import arrived


@pytest.fixture(scope='module')
def circle(tmp_path_factory) -> Path:
    return write_circle(tmp_path_factory.mktemp('vehicle') / 'circle')


def make_system(car: CarDescription, recording: Recording) -> Any:
    """What a node would drive, with the frames of a recording."""
    system = VehicleSystem(car, say=lambda finding: None)
    system.frames, system.frame_ids = recording.frames, dict(recording.frame_ids)
    return system


OFFLINE = OnlineOptions(settle=10.0)


def test_a_recording_that_was_read_gives_what_its_path_gives(circle, tmp_path):
    """Without `out` the observed bag waits until it is saved; reading is not repeated."""
    made, config = configured('vehicle')
    short = changed(circle, tmp_path / 'short', lambda t, s, m: m)
    recording = made.read(short, config)
    by_path = driver.run('observe', 'vehicle', [short], out=tmp_path / 'by_path')
    by_series = driver.run('observe', 'vehicle', [recording], config=config)
    again = driver.run('observe', 'vehicle', [recording], config=config)
    assert by_series.result.metrics['coordinates'] == by_path.result.metrics['coordinates']
    assert again.result.metrics['coordinates'] == by_path.result.metrics['coordinates']
    by_series.save(tmp_path / 'by_series')
    np.testing.assert_array_equal(odometry(tmp_path / 'by_path'), odometry(tmp_path / 'by_series'))


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
    text = driver.run('observe', 'vehicle', [tmp_path / 'twice'], out=tmp_path / 'out').text
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    # the last of them stand beyond the end, where nothing newer makes them late
    assert 2 <= metrics['streams']['gps']['late'] <= count['n'] // 10
    assert metrics['streams']['gps_velocity']['duplicate'] == 100
    assert 'gps: ' in text and 'late' in text
    assert '100 duplicate of 200 samples' in text
    assert metrics['coordinates']['x']['max_obs'] < 0.06


def test_an_input_that_falls_silent_is_replaced_by_an_estimate(circle, tmp_path):
    def cut(topic: str, time_ns: int, message: Any) -> Any:
        elapsed = stamp_ns(message) - simulated.EPOCH_NS if hasattr(message, 'header') else 0
        if topic == '/joint_states' and elapsed > 0.6e9:
            message.effort = np.zeros(0)
        return message

    metrics = observed(changed(circle, tmp_path / 'bag', cut, SECONDS), tmp_path / 'out')
    assert len(metrics['notes']) == 1
    assert metrics['notes'][0].startswith('from 1.1')
    assert 'no drive torque' in metrics['notes'][0]
    assert 'torque_lost' in codes(metrics)
    assert metrics['coordinates']['x']['max_obs'] < 0.06
    assert metrics['coordinates']['vx']['max_obs'] < 0.3


def test_sideslip_and_strokes_stand_in_the_result_bag(circle, tmp_path):
    observed(circle, tmp_path / 'out')
    virtual = read_columns(
        tmp_path / 'out' / 'observed',
        {
            'error_ekf/virtual_sensors': [
                'sideslip',
                'suspension_strokes[0]',
                'suspension_strokes[1]',
                'suspension_strokes[2]',
                'suspension_strokes[3]',
                'tyre_forces[2].z',
            ]
        },
    )['error_ekf/virtual_sensors']
    truth = read_columns(
        circle,
        {
            'truth/odom': None,
            'truth/joint_states': [f'position[stroke_{c}]' for c in ('fl', 'fr', 'rl', 'rr')],
        },
    )
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
        exact = np.interp(
            virtual.stamps_ns, strokes.stamps_ns, strokes[f'position[stroke_{corner}]']
        )
        found = virtual[f'suspension_strokes[{k}]']
        assert np.abs(found - exact)[late].max() < 0.003
    load_rear = virtual['tyre_forces[2].z'][late]
    assert 1000.0 < load_rear.mean() < 2500.0


def moved_imu(circle: Path, out: Path, config: str, tmp_path: Path) -> dict[str, Any]:
    """A run whose /tf_static and configuration tell of the sensors' places."""
    (tmp_path / 'car.yaml').write_text(config)
    bag = changed(circle, out, lambda t, s, m: m, 0.3)
    return observed(bag, tmp_path / 'o', config=tmp_path / 'car.yaml')


def sources(metrics: dict[str, Any]) -> dict[str, str]:
    """Where the inputs of a run came from."""
    return {one['what']: one['from'] for one in metrics['provenance']['inputs']}


def test_tf_static_gives_the_places_that_the_configuration_does_not(circle, tmp_path):
    metrics = moved_imu(circle, tmp_path / 'bag', 'base: buggy.yaml\n', tmp_path)
    notes = metrics['notes']
    assert codes(metrics).count('mounted_by_transform') == 2
    assert 'imu: mounted at (0.55, 0, 0.3) m by /tf_static (imu_link)' in notes
    assert 'gps: mounted at (0.5, 0, 0.95) m by /tf_static (gps_link)' in notes
    assert sources(metrics)['imu: position in base_link'] == '/tf_static (imu_link)'
    car = load(tmp_path / 'car.yaml')
    recording = read(tmp_path / 'bag', car, Vehicle(car).rack_per_angle())
    recording.frames.set(
        'base_link',
        'imu_link',
        recording.frames.lookup('base_link', 'imu_link').__class__(
            (1.0, 0.2, 0.4), (0.0, 0.0, 0.0, 1.0)
        ),
    )
    system = make_system(car, recording)
    found = observe_recording(system, recording, OFFLINE)
    assert found is not None
    assert found.session.car.sensors.imu.position == (1.0, 0.2, 0.4)


def test_the_configuration_wins_over_tf_static(circle, tmp_path):
    metrics = moved_imu(
        circle,
        tmp_path / 'bag',
        'base: buggy.yaml\nsensors:\n'
        '  imu: {position: [0.5, 0.0, 0.3]}\n  gps: {position: [0.5, 0.0, 0.9]}\n',
        tmp_path,
    )
    # Both places are named, and which of them counts.
    (note,) = metrics['notes']
    assert note.startswith('sensors.imu: the configuration and /tf_static (imu_link) disagree')
    assert 'the configuration is used' in note
    assert sources(metrics)['imu: position in base_link'] == f'{tmp_path / "car.yaml"}:3'


def test_a_known_heading_is_taken_over(circle):
    """What ~/load gives: the heading and the sensor parameters of an earlier run."""

    car = load()
    sensors = replace(car.sensors, imu=replace(car.sensors.imu, gyroscope_bias=0.05))
    car = replace(car, sensors=sensors)
    recording = read(circle, car, Vehicle(car).rack_per_angle())
    system = make_system(car, recording)
    system.known = Known(0.3, {'gyroscope.bias_z': (0.01, 1e-6)})
    session = system.start(arrived(recording, car)[:500])
    assert session.vehicle.model.q[12] == pytest.approx(0.3)
    assert session.filter.parameter('gyroscope.bias_z') == pytest.approx(0.01)
    assert not math.isnan(session.filter.P.sum())
    assert session.sources['heading'] == 'an earlier run'


def test_a_receiver_that_is_always_late_is_followed_live(circle):
    """Fixes arrive 80 ms after their stamps: a live observer goes back for each of them."""

    car = load()
    recording = read(circle, car, Vehicle(car).rack_per_angle())
    system = make_system(car, recording)
    found: list[tuple[float, float]] = []

    def made(session: Session, end_ns: int, innovations: list[Innovation]) -> None:
        found.append(
            (
                (end_ns - recording.start_ns) * 1e-9,
                float(session.filter.model.vehicle.frame()[0, 0]),
            )
        )  # type: ignore[attr-defined]

    observer = OnlineObserver(system, OnlineOptions(lag=0.01, window=0.5, settle=0.1), made)
    items = [
        (item.time_ns + (80_000_000 if item.key == 'gps' else 0), item)
        for item in arrived(recording, car)
    ]
    for _, item in sorted(
        (row for row in items if row[0] < recording.start_ns + 1.2e9), key=lambda row: row[0]
    ):
        observer.push(item.key, item.time_ns, item.payload)
        observer.poll()
    gps = observer.arrivals.summary('gps')
    assert gps.late == 0
    assert gps.belated > 45
    assert observer.session is not None and observer.stepper is not None
    assert observer.session.filter.counts['gps'].used > 40
    assert observer.stepper.repeated < 1.7 * observer.stepper.count
    times, x = np.array(found).T
    exact = np.interp(times, recording.truth['time'], recording.truth['x'])
    assert np.abs(x - exact).max() < 0.06
