"""Sensors, faults and bag of the road car."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.drive import DATUM, drive
from veh_identification.simulation.road_car.faults import CATALOGUE, Faults, faults_of
from veh_identification.simulation.road_car.sensors import Sensors, fault_windows
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.vehicle.loading import load

SECONDS = 40.0


@pytest.fixture(scope='module')
def nominal():
    return drive(2, duration=SECONDS)


def sensed(nominal, faults: Faults) -> dict:
    """The streams of the same motion with other faults of the sensors."""
    motion = {name: getattr(nominal.faults, name) for name in ('slipping', 'heading', 'distance')}
    again = nominal.sensed_again(replace(faults, **motion), SECONDS)
    return {one.topic: one for one in again.streams}


def test_without_noise_the_sensors_tell_the_motion():
    found = drive(2, duration=15.0, noise=0.0)
    streams, record = {one.topic: one for one in found.streams}, found.record
    imu, velocity, fix = streams['imu/data'], streams['gps/vel'], streams['gps/fix']
    rates = [np.interp(imu.stamps, record.time, record.rates[:, k]) for k in range(3)]
    assert pytest.approx(np.array(rates), abs=5e-3) == imu.values[:, :3].T
    # specific force, gravity taken off in the true attitude, integrates to the speed of the IMU
    arm = np.array(found.sensors.imu_position)
    rotation = record.rotation[np.round(imu.stamps * 1000).astype(int)]
    world = np.einsum('nij,nj->ni', rotation, imu.values[:, 3:]) - [0.0, 0.0, 9.80665]
    speed = np.cumsum(world, axis=0) * 0.01
    carried = record.velocity + np.einsum(
        'nij,nj->ni', record.rotation, np.cross(record.rates, arm)
    )
    true = carried[np.round((imu.stamps + 0.005) * 1000).astype(int)]
    assert speed - speed[0] == pytest.approx(true - true[0], abs=0.02)
    middle = 0.5 * (velocity.values[1:] + velocity.values[:-1])
    assert np.diff(fix.values, axis=0) / 0.1 == pytest.approx(middle, abs=0.05)
    # driven wheels slip a little, those in front roll
    wheels = np.gradient(streams['joint_states'].values[:, 0], 0.01)
    expected = np.interp(streams['joint_states'].stamps, record.time, record.wheel_rate[:, 0])
    assert wheels[2:-2] == pytest.approx(expected[2:-2], abs=0.1)


def test_a_drive_is_a_drive(nominal):
    speed = nominal.record.speed
    assert speed.max() > 8.0
    assert nominal.summary()['way'] > 200.0
    assert nominal.record.load.min() > 500.0
    assert np.abs(nominal.record.travel).max() < 0.08
    other = drive(3, duration=5.0)
    assert other.car != nominal.car
    assert drive(3, duration=5.0).streams[0].values == pytest.approx(
        other.streams[0].values, abs=0
    )


def test_faults_of_stamps(nominal):
    plain = sensed(nominal, Faults())
    late = sensed(nominal, Faults(velocity_delay=0.15))
    assert late['imu/data'].values == pytest.approx(plain['imu/data'].values, abs=0)
    gap = late['gps/vel'].stamps - late['gps/vel'].measured
    assert gap == pytest.approx(0.15)
    shaken = sensed(nominal, faults_of(['jitter']))['imu/data']
    assert np.std(shaken.stamps - shaken.measured) == pytest.approx(1e-3, rel=0.1)
    lost = sensed(nominal, faults_of(['dropped']))
    assert lost['imu/data'].stamps.size == pytest.approx(0.9 * SECONDS * 100, rel=0.03)
    cut = sensed(nominal, Faults(skip=12.0))
    assert min(one.stamps[0] for one in cut.values()) >= 12.0


def test_faults_of_wheels(nominal):
    count = sensed(nominal, faults_of(['ticks']))['joint_states'].values[:, :4]
    tooth = 2 * np.pi / 96
    assert count / tooth == pytest.approx(np.round(count / tooth), abs=1e-6)
    true = sensed(nominal, Faults())['joint_states'].values[:, :4]
    assert sensed(nominal, faults_of(['turned-wheels']))['joint_states'].values[
        :, :4
    ] == pytest.approx(true + 100.0, abs=0.01)
    stuck = sensed(nominal, faults_of(['stuck-wheel']))['joint_states'].values
    assert np.ptp(stuck[2520:, 2]) == 0.0
    assert np.ptp(stuck[2520:, 3]) > 1.0
    false = sensed(nominal, faults_of(['false-spin']))['joint_states'].values[:, :4]
    windows = fault_windows(nominal.record, faults_of(['false-spin']), 1.5)
    assert windows
    begin, end = (int(100 * t) for t in windows[0])
    way = (true[end] - true[begin])[2]
    assert (false[end] - false[begin])[2] == pytest.approx(1.3 * way, rel=0.02)
    assert false[:, :2] == pytest.approx(true[:, :2], abs=0.01)


def test_wheel_speeds_instead_of_angles(nominal):
    told = sensed(nominal, faults_of(['wheel-speeds']))['joint_states']
    true = np.interp(told.stamps, nominal.record.time, nominal.record.wheel_rate[:, 1])
    assert np.std(told.values[5:, 1] - true[5:]) == pytest.approx(0.05, rel=0.3)


def test_faults_of_satellites(nominal):
    assert len(sensed(nominal, faults_of(['gnss-1hz']))['gps/fix'].stamps) == SECONDS
    gone = sensed(nominal, Faults(outage=10.0, outage_time=20.0))
    for topic in ('gps/fix', 'gps/vel'):
        assert np.diff(gone[topic].stamps).max() == pytest.approx(10.1, abs=0.1)
    wild = sensed(nominal, Faults(outliers=0.3))['gps/fix'].values
    off = np.linalg.norm(wild - sensed(nominal, Faults())['gps/fix'].values, axis=1)
    assert 0.02 < np.mean(off > 1.5) < 0.6
    assert 'gps/vel' not in sensed(nominal, faults_of(['no-gnss-velocity']))


@pytest.mark.parametrize('name', sorted(CATALOGUE))
def test_every_fault_does_something(nominal, name):
    chosen = faults_of([name])
    assert chosen != Faults()
    streams = sensed(nominal, chosen)
    for stream in streams.values():
        assert np.isfinite(stream.values).all()


def test_the_same_motion_again(nominal):
    again = nominal.sensed_again(Faults(skip=5.0), 20.0)
    assert again.record is nominal.record
    truth = again.truth()
    assert (truth['time'][0], truth['time'][-1]) == (5.0, 20.0)
    assert max(one.stamps[-1] for one in again.streams) < 20.0
    with pytest.raises(UsageError, match='needs a drive of its own'):
        nominal.sensed_again(['spin'], 20.0)
    with pytest.raises(UsageError, match='the drive lasts'):
        nominal.sensed_again([], 2 * SECONDS)


def test_faults_are_put_together_and_refused():
    both = faults_of(['jitter', 'ticks'])
    assert (both.jitter, both.ticks) == (0.001, 96)
    with pytest.raises(UsageError, match='there is no fault'):
        faults_of(['rain'])


def test_bag_of_the_contract(tmp_path):
    truth = simulate('road-drive', tmp_path / 'bag', duration=3.0, seed=4, faults=['north'])
    assert json.loads((tmp_path / 'bag' / 'truth.json').read_text())['car'] == json.loads(
        json.dumps(truth['car'])
    )
    with BagReader(tmp_path / 'bag') as reader:
        counts = {name: info.count for name, info in reader.topics.items()}
    assert counts['/imu/data'] == counts['/joint_states'] == 300
    assert counts['/gps/fix'] == counts['/gps/vel'] == 30
    assert counts['/truth/odom'] == counts['/truth/joint_states'] == 301
    with pytest.raises(UsageError, match='takes no faults'):
        simulate('drive', tmp_path / 'other', duration=1.0, faults=['north'])


def test_the_description_is_that_of_the_nominal_car():
    car, sensors = load(share_directory() / 'config' / 'road_drive.yaml'), Sensors()
    assert car.datum == (DATUM.latitude, DATUM.longitude, DATUM.altitude)
    assert car.sensors.imu.position == sensors.imu_position
    assert car.sensors.gps.position == sensors.antenna_position
    assert car.sensors.wheels.resolution == pytest.approx(2 * np.pi / sensors.ticks, rel=1e-3)
    wheels = sensors.wheels
    assert car.sensors.suspension.offset == (wheels.travel_offset,)
    assert car.sensors.wheel_force.offset == (wheels.force_offset, wheels.moment_offset)
