"""Sensors of the simulated car: bandwidth, stamps, mounting, noise, topics and truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import freqz
from scipy.spatial.transform import Rotation

from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.simulation.car import scenarios as car_scenarios
from veh_identification.simulation.car.manoeuvres import Manoeuvre
from veh_identification.simulation.car.messages import truth_joints
from veh_identification.simulation.car.run import CarRecord, simulate_car
from veh_identification.simulation.car.sensors import (
    CarSensors,
    band_limit,
    interpolate,
    linear_phase_taps,
    ride_heights,
    sensor_streams,
    true_signals,
)
from veh_identification.simulation.car.truth import axle_tables
from veh_identification.systems.car.configuration import (
    CarDescription,
    Sensor,
    Sensors,
    parse_configuration,
)
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.recording.reader import read_recording

DURATION = 4.0
CUTOFFS = {
    'imu': 10.0,
    'suspension': 20.0,
    'speed': 15.0,
    'steering': 10.0,
    'wheel_force': 100.0,
    'ride_height': 20.0,
}


@pytest.fixture(scope='module')
def configuration() -> CarDescription:
    """The shipped car with its IMU turned and all sensors off the origin."""
    car = car_scenarios.default_configuration()
    imu = replace(
        car.sensors.imu,
        position=(1.3, 0.2, 0.4),
        pose_given=True,
        rpy=(0.02, -0.03, 0.5),
    )
    speed = replace(car.sensors.speed, position=(3.0, 0.3, -0.1))
    return replace(car, sensors=replace(car.sensors, imu=imu, speed=speed))


@pytest.fixture(scope='module')
def record(configuration: CarDescription) -> CarRecord:
    return simulate_car(configuration, Manoeuvre('sine', 28.0), DURATION, 6)


def world_velocity_of(record: CarRecord, point: Any) -> np.ndarray:
    place = record.position + np.einsum('nij,j->ni', record.rotation, np.asarray(point))
    return np.gradient(place, 1e-3, axis=0)


def test_true_signals_agree_with_the_motion(
    configuration: CarDescription, record: CarRecord
) -> None:
    signals = {
        topic + kind: values for topic, kind, _, values, _ in true_signals(record, configuration)
    }
    imu, speed = configuration.sensors.imu, configuration.sensors.speed
    inner = slice(5, -5)
    velocity = world_velocity_of(record, imu.position)
    specific = np.gradient(velocity, 1e-3, axis=0) + [0.0, 0.0, 9.80665]
    to_sensor = np.einsum('nij,jk->nik', record.rotation, imu.matrix)
    shown = np.einsum('nij,nj->ni', to_sensor, signals['imu/dataimu'][:, 3:])
    assert np.std(shown[inner] - specific[inner], axis=0).max() < 0.02
    turn = Rotation.from_matrix(to_sensor)
    steps = (turn[:-2].inv() * turn[2:]).as_rotvec() / 2e-3
    np.testing.assert_allclose(steps, signals['imu/dataimu'][1:-1, :3], atol=2e-4)
    seen = np.einsum('nji,nj->ni', record.rotation, world_velocity_of(record, speed.position))
    np.testing.assert_allclose(
        signals['correvit/velocityspeed'][inner], seen[inner, :2], atol=2e-4
    )


def test_joint_velocities_of_the_truth_are_derivatives(record: CarRecord) -> None:
    names, positions, rates = truth_joints(record)
    assert len(names) == 32
    numeric = np.gradient(positions, 1e-3, axis=0)
    inner = slice(5, -5)
    for k, name in enumerate(names):
        size = max(np.std(rates[:, k]), 1e-3)
        assert np.std(numeric[inner, k] - rates[inner, k]) < 0.01 * size, name


def test_signs_of_the_contract(record: CarRecord) -> None:
    names, positions, _ = truth_joints(record)
    at = {name: positions[:, k] for k, name in enumerate(names)}
    # Compression: the hub rises towards the body, so the body sinks over the wheel.
    heights = ride_heights(record)
    for i, corner in enumerate(('fl', 'fr', 'rl', 'rr')):
        assert np.corrcoef(at[f'suspension_{corner}'], heights[:, i])[0, 1] < -0.8
        assert at[f'half_track_{corner}'].min() > 0.7
        assert at[f'wheel_{corner}'][-1] > at[f'wheel_{corner}'][0] + 300.0  # rolls forwards
        assert at[f'tyre_{corner}'].mean() > 0.01  # positive in compression
    assert at['wheelbase_fl'].mean() == pytest.approx(2.7, abs=0.01)
    assert abs(at['wheelbase_rl'].mean()) < 0.01
    assert np.corrcoef(at['steering_fl'], record.omega[:, 2])[0, 1] > 0.8
    above = record.vehicle.inertia.mass + sum(c.unsprung for c in record.vehicle.corners)
    assert record.wrench[:, :, 2].sum(axis=1).mean() == pytest.approx(above * 9.80665, rel=0.01)


@pytest.mark.parametrize('cutoff', [10.0, 15.0, 20.0, 100.0])
def test_linear_phase_low_pass(cutoff: float) -> None:
    taps = linear_phase_taps(cutoff)
    np.testing.assert_allclose(taps, taps[::-1], atol=1e-15)
    _, response = freqz(taps, worN=[0.01, 0.7 * cutoff, cutoff, 1.5 * cutoff], fs=1000.0)
    gains = np.abs(response)
    assert gains[0] == pytest.approx(1.0, abs=1e-3)
    assert gains[1] == pytest.approx(1.0, abs=0.01)
    assert gains[2] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert gains[3] < 0.01


def test_low_passes_keep_ramps_and_the_stated_phase() -> None:
    t = np.arange(3000) * 1e-3
    ramp = np.stack([40.0 * t, np.sin(2 * np.pi * 3.0 * t)], axis=1)
    linear = band_limit(ramp, 10.0, Sensor())
    np.testing.assert_allclose(linear[500:-500], ramp[500:-500], atol=2e-3)
    causal = band_limit(ramp, 10.0, Sensor(bandwidth_hz=10.0, order=2))
    # A Butterworth low-pass of second order delays slow signals by sqrt(2) / (2 pi bandwidth).
    late = (ramp[2000, 0] - causal[2000, 0]) / 40.0
    assert late == pytest.approx(np.sqrt(2.0) / (2 * np.pi * 10.0), rel=0.01)


def test_streams_have_their_rates_and_uneven_stamps(
    configuration: CarDescription, record: CarRecord
) -> None:
    streams = sensor_streams(record, configuration, DURATION, 6)
    sensors = CarSensors()
    starts = set()
    for stream in streams:
        rate = getattr(sensors, stream.kind).rate
        assert len(stream.stamps) == pytest.approx(DURATION * rate, abs=3)
        gaps = np.diff(stream.stamps)
        assert gaps.min() > 0.9 / rate and np.ptp(gaps) > 1e-6
        assert np.all(np.diff(stream.logged) >= 0.0)
        delay = stream.logged - stream.stamps
        assert delay.min() > 0.0 and delay.max() < 0.05
        assert np.all(np.isfinite(stream.values))
        starts.add(float(stream.stamps[0]))
    assert len(starts) == len(streams)
    assert {kind: getattr(sensors, kind).cutoff for kind in CUTOFFS} == CUTOFFS


def test_noise_scales_and_repeats_by_seed(
    configuration: CarDescription, record: CarRecord
) -> None:
    runs = [
        sensor_streams(record, configuration, DURATION, seed, CarSensors().scaled(factor))
        for seed, factor in ((1, 0.0), (1, 1.0), (1, 1.0), (2, 1.0))
    ]
    for clean, noisy, again, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(noisy.values, again.values)
        np.testing.assert_array_equal(noisy.stamps, again.stamps)
        assert not np.array_equal(noisy.stamps[:50], other.stamps[:50])
        assert np.all(clean.offset == 0.0)
        error = noisy.values - clean.values
        sigma = np.array(getattr(CarSensors(), clean.kind).noise)
        assert np.all(np.std(error, axis=0) > 0.8 * sigma.min())
        assert np.all(np.std(error, axis=0) < 3.0 * sigma.max() + 1e-12)


def test_delay_of_a_sensor_shifts_its_values(
    configuration: CarDescription, record: CarRecord
) -> None:
    sensors: Sensors = configuration.sensors
    slow = replace(
        configuration, sensors=replace(sensors, suspension=replace(sensors.suspension, delay=0.02))
    )
    quiet = CarSensors().scaled(0.0)
    prompt, late = (
        next(s for s in sensor_streams(record, car, DURATION, 0, quiet) if s.kind == 'suspension')
        for car in (configuration, slow)
    )
    np.testing.assert_array_equal(prompt.stamps, late.stamps)
    earlier = np.interp(late.stamps - 0.02, prompt.stamps, prompt.values[:, 0])
    np.testing.assert_allclose(late.values[20:, 0], earlier[20:], atol=2e-4)
    assert np.abs(late.values[20:, 0] - prompt.values[20:, 0]).max() > 1e-3


def test_interpolation_between_samples() -> None:
    t = np.arange(-200, 1000) * 1e-3
    values = np.sin(2 * np.pi * 20.0 * t)[:, None]
    times = np.linspace(0.1, 0.7, 333)
    shown = interpolate(t[0], values, times)[:, 0]
    np.testing.assert_allclose(shown, np.sin(2 * np.pi * 20.0 * times), atol=1e-5)


def test_axle_tables_describe_the_axles(configuration: CarDescription, record: CarRecord) -> None:
    told = parse_configuration({'axle_kinematics': axle_tables(record.vehicle)})
    names, positions, _ = truth_joints(record)
    at = {name: positions[:, k] for k, name in enumerate(names)}
    for (quantity, corner), table in told.axle_tables.items():
        rest = {
            'half_track': configuration.geometry.half_track,
            'camber': (0.0,) * 4,
            'wheelbase': configuration.geometry.wheel_x,
            'kingpin': (0.0,) * 4,
        }[quantity]
        place = ('fl', 'fr', 'rl', 'rr').index(corner)
        shown = rest[place] + table(at[f'suspension_{corner}'], at[f'steering_{corner}'])
        np.testing.assert_allclose(shown, at[f'{quantity}_{corner}'], atol=1e-4)


def write(folder: Path, function: Any, duration: float, seed: int, noise: float) -> dict[str, Any]:
    seen: list[int] = []
    with BagWriter(folder) as writer:
        truth: dict[str, Any] = function(
            writer, duration, seed, noise, lambda done, total: seen.append(done)
        )
        writer.add_file('truth.json', json.dumps(truth))
    assert seen and seen == sorted(seen) and seen[-1] == round(duration)
    return truth


def test_bag_holds_the_topics_of_the_contract(tmp_path: Path) -> None:
    truth = write(tmp_path / 'sine', car_scenarios.write_sine_steer, 2.0, 0, 1.0)
    assert tuple(truth['parameters']) == NAMES
    configuration = parse_configuration(truth['configuration'])
    recording = read_recording(tmp_path / 'sine', configuration)
    assert recording.imu is not None and recording.speed is not None
    assert set(recording.wrenches) == set(recording.ride_heights) == {'fl', 'fr', 'rl', 'rr'}
    assert len(recording.joints) == 32
    assert set(recording.frames.frames()) >= {'imu_link', 'correvit_link'}
    direct, parameters = car_scenarios.car_recording(
        car_scenarios.default_configuration(), car_scenarios.sine_steer(0), 2.0, 0
    )
    assert parameters == truth['parameters']
    np.testing.assert_allclose(recording.wrenches['rl'].values, direct.wrenches['rl'].values)
    np.testing.assert_allclose(
        recording.joint('camber', 'fr').values, direct.joint('camber', 'fr').values
    )
    with BagReader(tmp_path / 'sine') as reader:
        counts = {name: info.count for name, info in reader.topics.items()}
    assert counts['/truth/odom'] == counts['/truth/joint_states'] == 200
    assert counts['/tf_static'] == 1
    assert counts['/wheel_fl/wrench'] == pytest.approx(400, abs=2)


@pytest.mark.parametrize('function', [car_scenarios.write_ramp_steer, car_scenarios.write_braking])
def test_other_scenarios_write_bags(tmp_path: Path, function: Any) -> None:
    truth = write(tmp_path / 'run', function, 1.0, 1, 1.0)
    assert truth['manoeuvre']['kind'] in ('ramp', 'brake')
    assert set(truth['beyond_linear_range']) == {'fl', 'fr', 'rl', 'rr'}


def test_noise_zero_is_the_same_drive_without_noise(tmp_path: Path) -> None:
    """Neither another car nor another manoeuvre: only noise, offsets and shaking are gone."""
    config = car_scenarios.default_configuration()
    clean = write(tmp_path / 'clean', car_scenarios.write_sine_steer, 2.0, 0, 0.0)
    noisy = write(tmp_path / 'noisy', car_scenarios.write_sine_steer, 2.0, 0, 1.0)
    assert clean['parameters'] == noisy['parameters']
    assert clean['manoeuvre'] == noisy['manoeuvre']
    assert not any(clean['sensors']['drawn_offsets'].values())
    still, shaken = (read_recording(tmp_path / name, config) for name in ('clean', 'noisy'))
    assert still.speed is not None and shaken.speed is not None
    np.testing.assert_allclose(still.speed.values, shaken.speed.values, atol=0.15)
    again = write(tmp_path / 'again', car_scenarios.write_sine_steer, 2.0, 0, 0.0)
    assert again == clean
    braked = write(tmp_path / 'braked', car_scenarios.write_braking, 2.0, 0, 0.0)
    assert braked['parameters'] == clean['parameters']
    standing = read_recording(tmp_path / 'braked', config).speed
    assert standing is not None
    assert np.abs(standing.values).max() < 0.1 < 20.0 < still.speed.values[:, 0].min()


def test_seeds_choose_the_manoeuvres_of_the_documents() -> None:
    speeds = [round(3.6 * car_scenarios.sine_steer(seed).speed) for seed in range(4)]
    assert speeds == [90, 110, 130, 160]
    left, right = car_scenarios.ramp_steer(0), car_scenarios.ramp_steer(1)
    assert left.lateral > 0.0 > right.lateral
    assert (round(3.6 * left.speed), round(3.6 * right.speed)) == (90, 110)
