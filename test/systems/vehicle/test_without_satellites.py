"""Cars that nobody tells where they are: yaw rate, accelerations, wheels and steering alone.

The truth is the independent road car, which shares no code with the observed model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from veh_identification.errors import EstimationError
from veh_identification.observation.streaming import OnlineOptions
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.chassis_frame import E3Z
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.estimate import (
    ROW,
    STATES,
    Odometry,
    known_row,
    write_odometry,
)
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import Run, observe_recording
from veh_identification.systems.vehicle.recording.reader import read

SECONDS = 25.0
CONFIG = share_directory() / 'config' / 'road_drive.yaml'
NAN = float('nan')


@pytest.fixture(name='drive', scope='module')
def _drive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp('drive') / 'bag'
    simulate('road-drive', path, duration=SECONDS, seed=21)
    return path


def on_a_can_bus(drive: Path, out: Path) -> Path:
    """The same without satellites; of the inertial unit yaw rate, ax and ay."""
    with BagReader(drive) as reader, BagWriter(out) as writer:
        for one in reader.messages():
            message, topic = one.message, one.topic
            if 'gps' in topic:
                continue
            if topic.endswith('imu/data'):
                rates, force = message.angular_velocity, message.linear_acceleration
                rates.x = rates.y = force.z = NAN
            writer.write_message(topic, message, one.time_ns)
    return out


@dataclass
class Sideslip:
    """Errors [rad] of the direction in which the rear axle moves, and what is stated of them."""

    errors: np.ndarray
    stated: np.ndarray
    rate: np.ndarray  # errors of the yaw rate [rad/s]
    filter: object
    starts: int


def observed(bag: Path, config: Path) -> Sideslip:
    """From the fifth second on, where the car goes faster than 3 m/s."""
    car = load(config)
    recording = read(bag, car, Vehicle(car).rack_per_angle())
    rows: list[tuple[int, Odometry]] = []

    def sink(session, stamp_ns: int) -> None:
        rows.append((stamp_ns, Odometry.of(known_row(session.filter))))

    system = VehicleSystem(car, say=lambda finding: None)
    found = observe_recording(system, recording, OnlineOptions(settle=10.0), sink=sink)
    assert found is not None
    truth = recording.truth
    time = np.array([(stamp - recording.start_ns) * 1e-9 for stamp, _ in rows])
    twist = np.array([[*one.linear[:2], one.angular[2]] for _, one in rows])
    stated = np.array([one.twist_covariance[1, 1] for _, one in rows]) ** 0.5
    yaw = np.interp(time, truth['time'], np.unwrap(truth['yaw']))
    vx, vy = (np.interp(time, truth['time'], truth[name]) for name in ('vx', 'vy'))
    ahead, aside = vx * np.cos(yaw) + vy * np.sin(yaw), vy * np.cos(yaw) - vx * np.sin(yaw)
    rate = np.interp(time, truth['time'], truth['yaw_rate'])
    use = (time > 5.0) & (ahead > 3.0)
    errors = (np.arctan2(twist[:, 1], twist[:, 0]) - np.arctan2(aside, ahead))[use]
    return Sideslip(
        errors,
        (stated / ahead)[use],
        (twist[:, 2] - rate)[use],
        found.session.filter,
        found.observer.starts,
    )


def test_sideslip_of_a_can_bus_is_as_good_as_it_is_stated(drive: Path, tmp_path: Path) -> None:
    """Without this being so: 1.8 rad stated, or biases and tyres learnt from nothing."""
    found = observed(on_a_can_bus(drive, tmp_path / 'can'), CONFIG)
    assert found.starts == 1
    assert np.sqrt(np.mean(found.errors**2)) < np.radians(0.5)
    assert np.sqrt(np.mean(found.rate**2)) < 0.01
    assert np.mean((found.errors / found.stated) ** 2) < 2.0
    assert found.stated.max() < np.radians(3.0)
    assert 'tyres_untold' in {one.code for one in found.filter.findings()}
    assert found.filter.parameter('rear_slip.softness') == 0.0
    radii = [found.filter.parameter(f'wheel_{one}.radius') for one in ('fl', 'fr', 'rl', 'rr')]
    assert np.mean(radii) == pytest.approx(load(CONFIG).geometry.wheel_radius, rel=1e-5)
    assert np.ptp(radii) > 1e-5  # how they differ is told


def test_what_satellites_tell_is_learnt_with_them(drive: Path) -> None:
    found = observed(drive, CONFIG)
    assert 'tyres_untold' not in {one.code for one in found.filter.findings()}
    assert found.filter.parameter('rear_slip.softness') != 0.0


def test_a_velocity_is_known_in_the_car_while_its_heading_is_not() -> None:
    """Whatever it heads to, it moves ahead: of the twist the heading tells nothing then."""
    frame = np.zeros((2, 12))
    frame[0, 3] = frame[0, 7] = frame[0, 11] = 1.0
    frame[1, 0] = 20.0
    P, row = np.eye(STATES) * 1e-4, np.empty(ROW)
    P[3, 3] = 3.0
    assert write_odometry(frame, P, False, row)
    found = Odometry.of(row)
    assert found.pose_covariance[5, 5] == 3.0
    np.testing.assert_allclose(found.twist_covariance[1, 1], 1e-4)
    assert write_odometry(frame, P, True, row)
    np.testing.assert_allclose(Odometry.of(row).twist_covariance[1, 1], 1e-4 + 400.0 * 3.0)


@pytest.mark.parametrize(('gravity', 'felt'), [('present', -9.80665), ('removed', 0.0)])
def test_gravity_is_felt_unless_it_was_removed(tmp_path: Path, gravity: str, felt: float) -> None:
    config = tmp_path / 'car.yaml'
    config.write_text(f'base: {CONFIG}\nsensors: {{imu: {{gravity: {gravity}}}}}\n')
    sensor = driven(tmp_path, config).sensors['accelerometer']
    assert sensor.packed({}).reals[-1] == pytest.approx(felt)


def driven(folder: Path, config: Path):
    """The filter of a road car that has driven for some seconds."""
    car, bag = load(config), folder / 'bag'
    simulate('road-drive', bag, duration=4.0, seed=22)
    recording = read(bag, car, Vehicle(car).rack_per_angle())
    system = VehicleSystem(car, say=lambda finding: None)
    found = observe_recording(system, recording, OnlineOptions(settle=10.0))
    assert found is not None
    return found.session.filter


@pytest.fixture(name='filter_')
def _filter(tmp_path: Path):
    return driven(tmp_path, CONFIG)


def test_velocities_in_the_world_err_with_a_heading_that_is_unknown() -> None:
    run = Run.empty(np.zeros(1))
    run.covariance[0] = np.diag([1.0, 1.0, 3.0, 0.01, 0.01, 1e-4])
    run.frame[0, 1, :2] = 20.0, 5.0
    run.tell_unknown_heading(0)
    found = run.covariance[0]
    np.testing.assert_allclose(found[3:5, 3:5], [[0.01 + 75.0, -300.0], [-300.0, 1200.01]])
    np.testing.assert_allclose(found[2, 2:], [3.0, -15.0, 60.0, 0.0])
    assert np.linalg.eigvalsh(found).min() > 0.0


def test_a_car_that_has_turned_over_is_given_up(filter_) -> None:
    filter_._look_whether_it_stands()
    filter_.vehicle.model.q[E3Z] = 0.3
    with pytest.raises(EstimationError, match='turned over'):
        filter_._look_whether_it_stands()


def test_an_estimate_that_nobody_heard_supports_is_given_up(filter_) -> None:
    """Sensors that are silent, or were never there, do not support it."""
    now = filter_.time
    channels = filter_.channels
    for name, channel in channels.items():
        trust = filter_._look_up(channel)
        if trust is None:
            continue
        silent = name.startswith('gps')
        trust.health._time = now - 60.0 if silent else now
        if not silent:
            trust.health.aside_since = now - 2.0
        filter_._write_down(channel)
    assert filter_._supported_by_none(channels['gyroscope'], now)
    wheel = channels['wheel_fl']
    wheel.trust.health.aside_since = NAN
    filter_._write_down(wheel)
    assert not filter_._supported_by_none(channels['gyroscope'], now)


def test_what_is_held_is_not_learnt_but_can_be_doubted(filter_) -> None:
    place = filter_.parameter_names.index('gyroscope.bias_z')
    state = filter_.orders * filter_.model.size + place
    value, variance = filter_.parameters[place], filter_.P[state, state]
    untold = filter_._untold
    untold.holds = True
    untold.keep(moving=True)
    filter_.parameters[place], filter_.P[state, state] = 0.5, 0.25 * variance
    untold.put_back()
    assert (filter_.parameters[place], filter_.P[state, state]) == (value, variance)
    untold.keep(moving=True)
    filter_.doubt([place])
    doubted = filter_.P[state, state]
    untold.put_back()
    assert filter_.P[state, state] == doubted >= variance
