"""Sensors that fail and starts from anywhere, on a truth that shares no code with the observer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from veh_identification.observation.streaming import OnlineOptions
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.drive import drive
from veh_identification.simulation.road_car.faults import Faults
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import observe_recording
from veh_identification.systems.vehicle.recording.reader import read
from veh_identification.systems.vehicle.results.metrics import errors

CONFIG = share_directory() / 'config' / 'road_drive.yaml'
SECONDS, SETTLED = 17.0, 8.0
SPUN = {'fault_time': 11.0, 'false_wheels': (2, 3), 'false_duration': 1.5}


def observed(folder, faults: Faults, settle: float = 10.0, **changes):
    """Errors after the start, the filter, and the codes of what it found."""
    with BagWriter(folder / 'bag') as writer:
        drive(5, faults, duration=SECONDS).write(writer)
    car = replace(load(CONFIG), **changes)
    recording = read(folder / 'bag', car, Vehicle(car).rack_per_angle())
    system = VehicleSystem(car, say=lambda finding: None)
    options = OnlineOptions(lag=1.0, window=1.0, settle=settle)
    found = observe_recording(system, recording, options)
    assert found is not None and found.observer.starts == 1
    time = recording.truth['time']
    time = time[(time >= found.run.time[0]) & (time <= found.run.time[-1])]
    gaps = {name: gap[time > SETTLED] for name, gap in errors(found.run, recording.truth).items()}
    filter_ = found.session.filter
    return gaps, filter_, {(one.code, one.where) for one in filter_.findings()}


CASES = {
    'wheels that seem to spin': (Faults(false_factor=1.3, **SPUN), {'wheel_rl', 'wheel_rr'}),
    'wheels that seem to lock': (Faults(false_factor=0.0, **SPUN), {'wheel_rl', 'wheel_rr'}),
    'a stuck wheel, jitter': (Faults(stuck=(2,), fault_time=11.0, jitter=1e-3), {'wheel_rl'}),
    # as on a real road (comma2k19): both wheels of an axle turn faster for 0.05 s
    'a bump under an axle': (
        Faults(
            speeds=True,
            fault_time=11.0,
            false_wheels=(0, 1),
            false_factor=1.08,
            false_duration=0.05,
        ),
        set(),
    ),
    '96 ticks, turned wheels, 1 Hz': (Faults(ticks=96, wheel_start=100.0, gnss_rate=1.0), set()),
}


@pytest.mark.parametrize('case', CASES)
def test_a_fault_hardly_moves_the_estimate_and_is_said(tmp_path, case):
    faults, guilty = CASES[case]
    gaps, filter_, found = observed(tmp_path, faults)
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.4
    assert np.abs(np.angle(np.exp(1j * gaps['yaw']))).max() < np.radians(1.0)
    assert {where for code, where in found if 'set_aside' in code} == guilty
    assert filter_.counts['gyroscope'].rejected == 0


def test_a_late_fix_and_a_gyro_bias_are_found(tmp_path):
    faults = Faults(fix_delay=0.05, gyro_bias=(0.0, 0.0, 0.005))
    gaps, filter_, _ = observed(tmp_path, faults)
    assert filter_.parameter('gps.delay') == pytest.approx(0.05, abs=0.015)
    assert filter_.parameter('gyroscope.bias_z') == pytest.approx(0.005, abs=0.0015)
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.3


def test_wheels_that_are_late_do_not_rule_the_clock(tmp_path):
    """Satellites that seem early are on time: the delay belongs to the wheels."""
    gaps, filter_, found = observed(tmp_path, Faults(wheel_delay=0.05))
    assert filter_.parameter('wheels.delay') == pytest.approx(0.05, abs=0.015)
    assert filter_.parameter('gps.delay') == pytest.approx(0.0, abs=0.008)
    assert ('calibration_off', 'sensors.wheels.delay') in found
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.2


def test_a_heading_that_is_wrong_is_found_out_on_the_way(tmp_path):
    """The configuration says east, the car heads north, and the start sees it standing."""
    car = load(CONFIG)
    given = replace(car.observer, initial_yaw=0.0)
    faults = Faults(heading=np.pi / 2, distance=0.9)
    gaps, filter_, found = observed(tmp_path, faults, settle=0.3, observer=given)
    assert 'heading_contradicted' in {code for code, _ in found}
    assert filter_.bearings.confirmed
    assert np.hypot(gaps['x'], gaps['y'])[-200:].max() < 0.5
    assert np.abs(np.angle(np.exp(1j * gaps['yaw'])))[-200:].max() < np.radians(2.0)


def test_a_start_at_speed_is_where_the_car_is(tmp_path):
    """No part of the way to the first fix may be missing: the delay of fixes would explain it."""
    gaps, filter_, _ = observed(tmp_path, Faults(skip=6.0))
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.1
    assert filter_.parameter('gps.delay') == pytest.approx(0.0, abs=0.006)


@pytest.mark.parametrize(('mounting', 'said'), [((0.0, 0.0, 0.0), 0), ((0.02, -0.03, 0.02), 1)])
def test_an_inertial_unit_that_is_mounted_askew_is_said(tmp_path, mounting, said):
    gaps, filter_, found = observed(tmp_path, Faults(mounting=mounting))
    assert (('imu_turned', 'sensors.imu.rpy') in found) == said
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.2
    if said:
        assert filter_.parameter('gyroscope.leak_x') == pytest.approx(0.03, abs=0.015)


def test_an_inertial_unit_that_is_turned_about_its_vertical_axis_is_said(tmp_path):
    """In bends it feels the car speed up: no sensor is late because of that."""
    gaps, filter_, found = observed(tmp_path, Faults(mounting=(0.0, 0.0, 0.087)))
    assert ('imu_turned', 'sensors.imu.rpy') in found and 'late' not in {code for code, _ in found}
    assert filter_.parameter('accelerometer.turn') == pytest.approx(0.087, abs=0.015)
    assert np.hypot(gaps['x'], gaps['y']).max() < 0.2


@pytest.mark.slow
def test_tilts_survive_braking_bends_and_crests(tmp_path):
    """What dives, sways and heaves must not be taken for a bias of the accelerometer."""
    truth_of = drive(41, duration=25.0)
    with BagWriter(tmp_path / 'bag') as writer:
        truth_of.write(writer, truth=False)
    car = load(CONFIG)
    recording = read(tmp_path / 'bag', car, Vehicle(car).rack_per_angle())
    system = VehicleSystem(car, say=lambda finding: None)
    run = observe_recording(system, recording, OnlineOptions(settle=10.0)).run
    truth = truth_of.truth()
    pitch, roll = (np.interp(run.time, truth['time'], truth[name]) for name in ('pitch', 'roll'))
    late = run.time > 12.0  # the first bend, after the first braking
    for place, variance, true in (
        (5, run.tilting[:, 2], -np.sin(pitch)),
        (8, run.tilting[:, 3], np.cos(pitch) * np.sin(roll)),
    ):
        gap = (run.frame[:, 0, place] - true)[late]
        assert np.sqrt(np.mean(gap**2)) < 0.006
        assert np.mean(gap**2 / variance[late]) < 2.0
