"""The compiled update of the car against the same update in parts."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from veh_identification.observation import ErrorEKF
from veh_identification.observation.streaming import OnlineObserver, OnlineOptions
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer import vehicle_filter
from veh_identification.systems.vehicle.observer.at_once import (
    CORRECTED,
    NOT_MADE,
    TO_JUDGE,
    step_at_once,
)
from veh_identification.systems.vehicle.observer.estimate import Odometry, known_row
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.vehicle_filter import VehicleErrorEKF

STEPS = 80
PLACE = (45.0, 7.0, 0.0)


def driven(name, wheels, *, known=False):
    """A car that stands among noisy sensors, with two messages that are wrong.

    `known`: after some steps place and heading count as known, as they do of a car that drives.
    """
    car, rng, innovations = load(share_directory() / 'config' / name), np.random.default_rng(3), []
    system = VehicleSystem(car, say=lambda finding: None)

    def made(session, end_ns, found):
        innovations.extend(found)
        bearings = session.filter.bearings
        if known and bearings.placed:
            bearings.aligned = bearings.confirmed = True

    observer = OnlineObserver(system, OnlineOptions(lag=0.004, window=0.02, settle=0.05), made)
    step_ns, nan = round(car.observer.step * 1e9), float('nan')
    latitude, longitude, height = car.datum or PLACE
    for k in range(STEPS):
        now = 1_000_000_000 + k * step_ns
        imu = np.array([0.0, 0.0, 0.0, 0.0, 0.0, car.gravity]) + 0.01 * rng.standard_normal(6)
        imu[2] += 3.0 * (k == 50)
        observer.push('imu', now, tuple(imu))
        if k % 4 == 0:
            off = 1e-7 * rng.standard_normal(2) + 1e-3 * (k == 60)
            observer.push('gps', now, (latitude + off[0], longitude + off[1], height, *3 * (nan,)))
            observer.push('gps_velocity', now, tuple(0.05 * rng.standard_normal(2)))
        observer.push(f'{wheels}:15', now, tuple(1e-3 * rng.standard_normal(4)))
        observer.push('rack', now, (0.0,))
        observer.poll()
    observer.finish()
    assert observer.session is not None
    return observer.session.filter, innovations


CARS = pytest.mark.parametrize(
    ('name', 'wheels'),
    [('buggy.yaml', 'wheel_angle'), ('road_drive.yaml', 'wheel_rate')],
)


def assert_same(compiled, in_parts):
    """Two filters and their innovations."""
    (filter_, found), (other, wanted) = compiled, in_parts
    model, same = filter_.vehicle.model, other.vehicle.model
    assert model.q == pytest.approx(same.q, rel=1e-9, abs=1e-9)
    assert model.qd == pytest.approx(same.qd, rel=1e-7, abs=1e-7)
    assert filter_.parameters == pytest.approx(other.parameters, rel=1e-7, abs=1e-9)
    deviation = np.sqrt(np.diag(other.P))
    gap = (filter_.P - other.P) / np.maximum(np.outer(deviation, deviation), 1e-30)
    assert np.abs(gap).max() < 1e-6
    counts = {one: asdict(many) for one, many in other.counts.items()}
    assert {one: asdict(many) for one, many in filter_.counts.items()} == counts
    assert counts['gyroscope']['rejected'] > 0 and counts['gps']['used'] > 0
    assert [one.sensor for one in found] == [one.sensor for one in wanted]
    for one, two in zip(found, wanted, strict=True):
        assert (one.time, one.degrees, one.accepted) == (two.time, two.degrees, two.accepted)
        assert one.value == pytest.approx(two.value, rel=1e-5, abs=1e-8, nan_ok=True)


@CARS
def test_the_compiled_update_is_the_update_in_parts(name, wheels, monkeypatch):
    at_once = driven(name, wheels)
    monkeypatch.setattr(VehicleErrorEKF, '_use_and_correct', ErrorEKF._use_and_correct)
    assert_same(at_once, driven(name, wheels))


@CARS
def test_the_compiled_step_is_prediction_and_update(name, wheels, monkeypatch):
    done = []

    def counted(*arguments):
        done.append(step_at_once(*arguments))
        return done[-1]

    monkeypatch.setattr(vehicle_filter, 'step_at_once', counted)
    at_once = driven(name, wheels, known=True)
    assert len(done) > STEPS // 2 and {CORRECTED, TO_JUDGE} <= set(done)
    monkeypatch.setattr(VehicleErrorEKF, 'step', ErrorEKF.step)
    assert_same(at_once, driven(name, wheels, known=True))


def test_a_step_that_cannot_be_made_at_once_is_made_in_parts(monkeypatch):
    monkeypatch.setattr(vehicle_filter, 'step_at_once', lambda *arguments: NOT_MADE)
    in_parts = driven('buggy.yaml', 'wheel_angle', known=True)
    monkeypatch.undo()
    assert_same(driven('buggy.yaml', 'wheel_angle', known=True), in_parts)


@pytest.mark.parametrize('beside', [[f'wheel_{c}' for c in CORNERS], ['gyroscope']])
def test_an_estimate_that_everyone_contradicts_is_given_up(beside):
    filter_, _ = driven('road_drive.yaml', 'wheel_rate')
    names = [*beside, 'gps', 'gps_velocity']
    trusts = {name: filter_.channels[name].trust for name in names}
    for name, trust in trusts.items():
        assert not filter_._stands_alone(filter_.time)
        trust.set_aside(filter_.time - 2.0, 'said so')
        filter_._write_down(filter_.channels[name])
    assert filter_._stands_alone(filter_.time) and not filter_._stands_alone(filter_.time - 1.5)
    filter_._judge(filter_.channels['gps_velocity'], filter_.time, 2)
    assert not filter_.bearings.aligned and not filter_.bearings.placed
    assert not any(trust.health.aside for trust in trusts.values())
    assert filter_.counts['gps_velocity'].believed == 1


def test_a_car_of_unknown_heading_may_be_on_any_side_of_its_antenna():
    """Nothing but the antenna is seen of a parked car: the place of base_link is not its fix."""
    parked, _ = driven('road_drive.yaml', 'wheel_rate')
    arm = np.hypot(*parked.antenna[:2])
    assert arm > 0.5 and parked.bearings.placed and not parked.bearings.aligned
    stated = Odometry.of(known_row(parked)).pose_covariance
    assert np.sqrt([stated[0, 0], stated[1, 1]]) == pytest.approx(arm, rel=0.2)
    headed, _ = driven('road_drive.yaml', 'wheel_rate', known=True)
    assert headed.swing == 0.0
