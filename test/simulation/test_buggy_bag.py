from __future__ import annotations

import numpy as np
import pytest

from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.simulation.vehicle import bag as buggy_bag
from veh_identification.simulation.vehicle import drive as buggy_drive
from veh_identification.systems.vehicle.loading import load


def quiet(done: int, total: int) -> None:
    pass


def test_ramps_are_smooth():
    ramp = buggy_drive.Ramp(1.0, 2.0, 3.0)
    d = 1e-5
    for t in (1.3, 2.0, 2.7):
        _, rate, second = ramp(t)
        assert (ramp(t + d)[0] - ramp(t - d)[0]) / (2 * d) == pytest.approx(rate, rel=1e-6)
        assert (ramp(t + d)[1] - ramp(t - d)[1]) / (2 * d) == pytest.approx(second, abs=1e-5)
    assert ramp(0.5) == (0.0, 0.0, 0.0)
    assert ramp(9.0) == (3.0, 0.0, 0.0)


@pytest.fixture(scope='module')
def exact(tmp_path_factory):
    bag = tmp_path_factory.mktemp('buggy') / 'circle'
    with BagWriter(bag) as writer:
        truth = buggy_bag.write_circle(writer, 1.5, 0, 0.0, quiet)
    return bag, truth


def test_topics_of_the_contract(exact):
    bag, truth = exact
    with BagReader(bag) as reader:
        counts = {name: info.count for name, info in reader.topics.items()}
    assert counts['/imu/data'] == counts['/joint_states'] == 750
    assert counts['/gps/fix'] == counts['/gps/vel'] == 75
    assert counts['/brake/pressure'] == counts['/truth/odom'] == 150
    assert truth['true_tyre'] == truth['model_tyre']  # no noise: no disturbance either


def test_exact_sensors_fit_the_true_motion(exact):
    """IMU and GPS of a run without noise, checked against differences of the truth."""
    bag, _ = exact
    columns = read_columns(bag, {'imu/data': None, 'truth/odom': None, 'gps/vel': None})
    imu, odom = columns['imu/data'], columns['truth/odom']
    rates = np.interp(odom.stamps_ns, imu.stamps_ns, imu['angular_velocity.z'])
    assert np.abs(rates - odom['twist.twist.angular.z']).max() < 1e-9
    yaw = 2 * np.arctan2(odom['pose.pose.orientation.z'], odom['pose.pose.orientation.w'])
    time = (odom.stamps_ns - odom.stamps_ns[0]) * 1e-9
    slope = np.gradient(yaw, time)
    assert np.abs(slope - odom['twist.twist.angular.z'])[2:-2].max() < 3e-3
    assert imu['linear_acceleration.z'].mean() == pytest.approx(9.80665, abs=0.05)
    car = load()
    lever = car.sensors.gps.position
    gps = columns['gps/vel']
    speed = np.interp(gps.stamps_ns, odom.stamps_ns, odom['twist.twist.linear.x'])
    turn = np.interp(gps.stamps_ns, odom.stamps_ns, odom['twist.twist.angular.z'])
    side = np.interp(gps.stamps_ns, odom.stamps_ns, odom['twist.twist.linear.y'])
    pitch = np.interp(gps.stamps_ns, odom.stamps_ns, odom['twist.twist.angular.y'])
    wanted = np.hypot(speed + lever[2] * pitch, side + lever[0] * turn)
    found = np.hypot(gps['twist.linear.x'], gps['twist.linear.y'])
    assert np.abs(found - wanted)[3:].max() < 0.03


def test_same_seed_same_bytes(tmp_path):
    texts = []
    for k in range(2):
        with BagWriter(tmp_path / f'{k}') as writer:
            buggy_bag.write_straight(writer, 0.3, 5, 1.0, quiet)
        texts.append(read_columns(tmp_path / f'{k}', {'imu/data': None})['imu/data'])
    assert np.array_equal(texts[0]['linear_acceleration.x'], texts[1]['linear_acceleration.x'])
    assert texts[0]['linear_acceleration.x'].std() == pytest.approx(0.5, rel=0.2)


def test_parking_turns_three_times_clockwise():
    """The driver of the parking manoeuvre at a coarse step, on flat ground."""
    from dataclasses import replace

    car = load()
    coarse = replace(car, simulation=replace(car.simulation, step=0.002))
    truth = buggy_drive.simulate_truth(coarse, buggy_drive.parking(60.0), 60.0)
    turns = -(truth.yaw[-1] - truth.yaw[0]) / (2 * np.pi)
    assert 2.7 < turns < 3.8
    assert np.abs(truth.frame[-1, 1, :2]).max() < 0.01  # it stands at the end
    assert truth.pressure[-1] > 0.0
