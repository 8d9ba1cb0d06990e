"""A road car without torque and brake sensors, its errors unknown: `config/road_car.yaml`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import road_car_cases as cases

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.observation.streaming import OnlineOptions
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import observe_recording
from veh_identification.systems.vehicle.recording.reader import rack_travel, read
from veh_identification.systems.vehicle.recording.wheel_speeds import WheelSpeeds
from veh_identification.systems.vehicle.results.metrics import errors

TEMPLATE = share_directory() / 'config' / 'road_car.yaml'


def observed(bag: Path, folder: Path, text: str = cases.CONFIG):
    """Times, errors, the filter and the run of a recording."""
    config = folder / 'car.yaml'
    config.write_text(text)
    car = load(config)
    recording = read(bag, car, Vehicle(car).rack_per_angle())
    said: list[Finding] = []
    system = VehicleSystem(car, say=said.append)
    # everything waits as long as any message may be late
    wait = 1.0 + max(system.delays_ns.values()) * 1e-9
    options = OnlineOptions(lag=wait, window=wait, settle=10.0)
    found = observe_recording(system, recording, options)
    assert found is not None
    # such a car is described as one without torque and pressure: that questions nothing
    assert {f.code: f.level for f in said}['no_torque'] == 'note'
    truth, run = recording.truth, found.run
    time = truth['time'][(truth['time'] >= run.time[0]) & (truth['time'] <= run.time[-1])]
    gaps = errors(run, truth)
    gaps['yaw'] = np.angle(np.exp(1j * gaps['yaw']))
    return time, gaps, found.session.filter, found


def cruise(t):
    return 20.0 + 2.0 * np.sin(t / 2.0)


def bends(t):
    # gentle: the tyres of this car do not slip, those of the observed one do
    return 0.004 * np.sin(2 * np.pi * t / 6.0)


@pytest.mark.parametrize('yaw', [3.1, -1.0])
def test_a_car_that_is_already_driving(tmp_path, yaw):
    """Starts at 20 m/s; gyro bias 0.07 rad/s, wheels 0.9 % larger, gps/vel 0.14 s late."""
    bag = cases.write(tmp_path / 'bag', cases.drive(14.0, cruise, bends, yaw))
    time, gaps, filter_, found = observed(bag, tmp_path)
    assert found.observer.starts == 1 and filter_.failed_corrections == 0
    late = time > 5.0
    assert np.abs(gaps['yaw'][late]).max() < np.radians(1.0)
    assert np.hypot(gaps['x'], gaps['y'])[late].max() < 1.5
    assert np.sqrt(np.mean(np.hypot(gaps['vx'], gaps['vy'])[late] ** 2)) < 0.15
    assert np.abs(gaps['z'][late]).max() < 2.5
    assert filter_.parameter('gyroscope.bias_z') == pytest.approx(0.07, abs=0.003)
    for corner in ('fl', 'fr', 'rl', 'rr'):
        assert filter_.parameter(f'wheel_{corner}.radius') == pytest.approx(
            1.009 * cases.RADIUS, rel=0.004
        )
    assert all(count.rejected == 0 for count in filter_.counts.values())


@pytest.mark.parametrize(
    ('seconds', 'said'), [(2.5, ('warn', 'heading_unknown')), (16.0, ('note', 'heading_found'))]
)
def test_an_unknown_heading_is_said_as_long_as_it_is_true(tmp_path, seconds, said):
    """The car stands longer than a start waits: a warning while it is, then a note."""

    def speed(t):
        return np.interp(t, [11.0, 14.0], [0.0, 8.0])

    bag = cases.write(tmp_path / 'bag', cases.drive(seconds, speed, bends, 2.0))
    _, _, filter_, found = observed(bag, tmp_path)
    assert found.session.sources['heading'] == 'unknown until the car moves'
    told = [(one.level, one.code) for one in filter_.findings() if 'heading' in one.code]
    assert told == [said]
    assert not [one for one in found.session.start.findings if 'heading' in one.code]


def test_an_outage_drifts_less_than_dead_reckoning(tmp_path):
    drive = cases.drive(20.0, cruise, bends, 0.4)
    bag = cases.write(tmp_path / 'bag', drive, silent=[(10.0, 20.0)])
    time, gaps, _, _ = observed(bag, tmp_path)
    before, after = np.searchsorted(time, [10.0, 19.9])
    drift = np.hypot(gaps['x'][after] - gaps['x'][before], gaps['y'][after] - gaps['y'][before])
    # dead reckoning with the configured radius and the bare gyroscope, from the true pose
    k = (drive.time >= 10.0) & (drive.time <= 19.9)
    yaw = drive.yaw[k][0] + np.cumsum(drive.yaw_rate[k] + cases.GYRO_BIAS[2]) * 1e-3
    speed = drive.speed[k] / 1.009
    way = np.array([np.sum(speed * np.cos(yaw)), np.sum(speed * np.sin(yaw))]) * 1e-3
    alone = np.hypot(*(way - (drive.place[k][-1, :2] - drive.place[k][0, :2])))
    assert alone > 50.0
    assert drift < 0.03 * alone


def test_a_car_that_backs_out_first(tmp_path):
    """Standing, then backwards around a corner, then forward: the heading is found, whatever."""

    def speed(t):
        return np.interp(t, [0.0, 3.0, 5.0, 8.0, 10.0, 11.0, 14.0], [0, 0, -2, -2, 0, 0, 5])

    def steer(t):
        return np.interp(t, [5.0, 6.0, 8.0, 9.5, 11.0], [0.0, 0.3, 0.3, 0.0, 0.0])

    bag = cases.write(tmp_path / 'bag', cases.drive(14.0, speed, steer, -2.6))
    time, gaps, filter_, found = observed(bag, tmp_path)
    assert found.observer.starts == 1
    assert filter_.bearings.aligned and filter_.bearings.placed
    late = time > 6.0
    assert np.abs(gaps['yaw'][late]).max() < np.radians(5.0)
    assert np.hypot(gaps['x'], gaps['y'])[late].max() < 2.0
    assert filter_.parameter('gyroscope.bias_z') == pytest.approx(0.07, abs=0.003)
    assert filter_.counts['standstill'].used > 100


def test_the_first_fix_comes_late(tmp_path):
    bag = cases.write(tmp_path / 'bag', cases.drive(14.0, cruise, bends, 2.0), silent=[(0.0, 7.0)])
    time, gaps, filter_, _ = observed(bag, tmp_path)
    late = time > 9.0
    assert filter_.bearings.aligned and filter_.bearings.placed
    assert np.hypot(gaps['x'], gaps['y'])[late].max() < 2.0
    assert np.abs(gaps['yaw'][late]).max() < np.radians(3.0)


def test_wheel_angles_do_as_well_as_speeds(tmp_path):
    drive = cases.drive(8.0, cruise, bends, 1.0)
    bag = cases.write(tmp_path / 'bag', drive, angles=True)
    time, gaps, filter_, _ = observed(bag, tmp_path)
    assert filter_.counts['wheel_rl'].used > 100  # increments of at least 50 ms
    assert np.hypot(gaps['vx'], gaps['vy'])[time > 4.0].max() < 0.5


def test_a_late_velocity_is_found_out(tmp_path):
    def shuttle(t):
        return 12.0 + 5.0 * np.sin(1.2 * t)

    bag = cases.write(tmp_path / 'bag', cases.drive(16.0, shuttle, bends, 0.0))
    *_, filter_, _ = observed(
        bag,
        tmp_path,
        cases.CONFIG.replace(
            'velocity_delay: 0.14, velocity_delay_deviation: 0.0',
            'velocity_delay: 0.0, velocity_delay_deviation: 0.1',
        ),
    )
    assert filter_.parameter('gps_velocity.delay') == pytest.approx(0.14, abs=0.04)


def test_the_car_can_be_put_down_in_any_direction():
    vehicle = Vehicle(load(TEMPLATE))
    for yaw in (0.0, 1.5, 3.1, 3.14159265, -3.1, 6.0, 40.0):
        vehicle.place(np.array([3.0, -2.0, 0.33]), yaw, 7.0)
        frame = vehicle.frame()
        assert frame[0, 3:6] == pytest.approx([np.cos(yaw), np.sin(yaw), 0.0], abs=1e-9)
        assert frame[1, 0:2] == pytest.approx([7 * np.cos(yaw), 7 * np.sin(yaw)], abs=1e-9)
        assert frame[0, 9:12] == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)


def test_a_larger_rolling_radius_lets_the_wheels_turn_slower():
    vehicle = Vehicle(load(TEMPLATE))
    for corner in range(4):
        vehicle.set_rolling_radius(corner, 1.02 * 0.33)
    vehicle.place(np.array([0.0, 0.0, 0.33]), 0.0, 10.0)
    for _ in range(100):
        vehicle.step(0.005)
    forward = vehicle.frame()[1, 0]
    assert vehicle.model.qd[vehicle.spins] * 1.02 * 0.33 == pytest.approx(forward, rel=2e-3)


def test_steering_wheel_to_rack():
    car = load(TEMPLATE)
    rack = replace(car.sensors.rack, steering_ratio=-16.0, offset=0.1)
    right = replace(car, sensors=replace(car.sensors, rack=rack))
    wheel = np.full((2, 4), np.nan)
    wheel[:, 3] = 0.1, 0.9
    travel, words = rack_travel(right, 0.12, wheel)
    assert words == 'the steering wheel'
    assert travel == pytest.approx([0.0, -0.006])
    rack = replace(rack, wheel_ratio=0.01, offset=0.0)
    direct = replace(car, sensors=replace(car.sensors, rack=rack))
    wheel[:, 3] = 0.5
    assert rack_travel(direct, 0.12, wheel)[0] == pytest.approx([0.005, 0.005])
    wheel[:, 1:3] = 0.02, 0.04
    travel, words = rack_travel(direct, 0.12, wheel)
    assert words == 'the road wheel angles'
    assert travel == pytest.approx(0.12 * 0.03)
    without = replace(car, sensors=replace(car.sensors, rack=replace(rack, wheel_ratio=0.0)))
    without = replace(
        without,
        sensors=replace(without.sensors, rack=replace(without.sensors.rack, steering_ratio=0.0)),
    )
    wheel[:, 1:3] = np.nan
    assert rack_travel(without, 0.12, wheel)[1] == ''


def pushed(converter, times, angles):
    """What a converter makes of a wheel angle over time, the same for all wheels."""
    found = [converter.push(t, np.full(4, a)) for t, a in zip(times, angles, strict=True)]
    return [one for one in found if one is not None]


def test_speeds_from_angles():
    converter = WheelSpeeds(load(TEMPLATE))
    times = 0.01 * np.arange(100)
    found = pushed(converter, times, 100.0 + 20.0 * times)
    assert 15 <= len(found) <= 20  # increments of at least 50 ms
    assert all(one.age >= 0.0249 for one in found)
    assert [one.speeds[0] for one in found] == pytest.approx([20.0] * len(found))
    assert converter.push(5.0, np.zeros(4)) is None  # too long ago to say anything


def test_ticks_and_jitter_are_in_the_variance_of_a_speed():
    tick, times = 2.0 * np.pi / 96, 0.01 * np.arange(300)
    angles = np.floor((3.0 + 20.0 * times) / tick) * tick
    found = pushed(WheelSpeeds(load(TEMPLATE)), times, angles)[5:]
    gaps = np.array([one.speeds[0] - 20.0 for one in found])
    stated = np.array([one.variances[0] for one in found])
    assert np.sqrt(stated).max() < 0.5 and 0.2 < np.mean(gaps**2 / stated) < 2.0
    jittered = times + 1e-3 * np.random.default_rng(1).standard_normal(times.size)
    found = pushed(WheelSpeeds(load(TEMPLATE)), jittered, 20.0 * times)[20:]
    gaps = np.array([one.speeds[0] - 20.0 for one in found])
    stated = np.array([one.variances[0] for one in found])
    assert gaps.std() > 0.2 and 0.4 < np.mean(gaps**2 / stated) < 2.5


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('road: {kind: steep}', 'road.kind: expected .*flat.*waves.*unknown'),
        ('sensors: {wheels: {driven: left}}', 'driven: expected .*front.*rear.*all'),
        ('sensors: {gps: {drift: -1.0}}', 'sensors.gps.drift: expected'),
        ('geometry: {wheel_radius: 0.0}', 'wheel_radius: expected a positive'),
    ],
)
def test_mistakes_in_a_configuration_are_said(tmp_path, text, words):
    config = tmp_path / 'car.yaml'
    config.write_text(f'base: road_car.yaml\n{text}\n')
    with pytest.raises(InputError, match=words):
        load(config)
