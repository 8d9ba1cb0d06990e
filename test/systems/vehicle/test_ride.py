"""How rough the ride is, and how old the samples of averaging sensors are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.observation import Innovation, Parameter
from veh_identification.observation.sequential import LATER, NEVER, NOW
from veh_identification.observation.streaming import Item
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer.online import averaged_ns
from veh_identification.systems.vehicle.observer.ride import Ride, heave_density, stated_density
from veh_identification.systems.vehicle.observer.timekeeping import Timekeeper
from veh_identification.systems.vehicle.observer.vehicle_filter import VehicleErrorEKF


@pytest.mark.parametrize('shake', [0.2, 1.5])
def test_the_shake_of_a_road_is_learnt_within_seconds(shake):
    ride, noise = Ride(1.0), np.random.default_rng(3)
    assert not ride.learnt and heave_density(ride.shake) == pytest.approx(stated_density(1.0))
    told = [ride.learn(0.01 * k, shake * noise.standard_normal()) for k in range(1500)]
    assert ride.learnt and ride.shake == pytest.approx(shake, rel=0.25)
    assert sum(told) < 100  # matrices are made anew now and then only


def test_what_is_learnt_of_a_road_has_bounds_and_goes_back_with_a_snapshot():
    ride = Ride(1.0)
    for k in range(1000):
        ride.learn(0.01 * k, 0.0)
    kept, quiet = ride.state(), ride.shake
    assert quiet == pytest.approx(0.1, rel=0.06)
    for k in range(1000, 3000):
        ride.learn(0.01 * k, 50.0)
    assert ride.shake == pytest.approx(2.0, rel=0.06)
    assert not ride.learn(40.0, float('nan'))
    ride.restore(kept)
    assert ride.shake == quiet


def test_nothing_is_learnt_of_sensors_while_the_car_stands():
    groups = np.array([[0, 3, 0, NOW], [3, 3, 0, NEVER], [6, 1, 0, NOW]])
    filter_ = SimpleNamespace(_stack=SimpleNamespace(groups=groups), _learners=np.array([0, 2]))
    VehicleErrorEKF._let_learn(filter_, moving=False)
    assert groups[:, 3].tolist() == [LATER, NEVER, LATER] and not filter_._moving
    VehicleErrorEKF._let_learn(filter_, moving=True)
    assert groups[:, 3].tolist() == [NOW, NEVER, NOW] and filter_._moving


def samples(name: str, period_ns: int) -> list[Item]:
    return [Item(period_ns * k, name, (0.0,)) for k in range(9)]


def test_wheel_speeds_are_half_a_period_old():
    car = load(share_directory() / 'config' / 'road_car.yaml')
    items = samples('imu', 10_000_000) + samples('gps', 100_000_000)
    # wheels that speak one by one
    items += samples('wheel_rate:1', 20_000_000) + samples('wheel_rate:2', 20_000_000)
    assert averaged_ns(car, items) == {'wheel_rate': 10_000_000}
    wheels = replace(car.sensors.wheels, delay=0.002)
    told = replace(car, sensors=replace(car.sensors, wheels=wheels))
    assert averaged_ns(told, items) == {}  # a delay that is described is the whole of it
    assert averaged_ns(load(share_directory() / 'config' / 'buggy.yaml'), items) == {}


@pytest.mark.parametrize(
    ('aside', 'accepted', 'forgotten'),
    [
        (('wheel_rl', 'wheel_rr'), False, [20, 21]),
        (('wheel_rl', 'wheel_rr'), True, []),
        (('wheel_fl', 'wheel_rr'), False, []),
        ((), False, []),
    ],
)
def test_a_jump_of_the_force_is_believed_while_an_axle_slips(aside, accepted, forgotten):
    found = []
    channels = {
        f'wheel_{corner}': SimpleNamespace(
            trust=SimpleNamespace(health=SimpleNamespace(aside=f'wheel_{corner}' in aside))
        )
        for corner in ('fl', 'fr', 'rl', 'rr')
    }
    filter_ = SimpleNamespace(
        orders=3,
        model=SimpleNamespace(size=10),
        _channels=channels,
        forget=lambda state, variance: found.append(state),
    )
    none = np.zeros(3)
    results = [Innovation('accelerometer', 0.0, none, none, 99.0, 3, accepted)]
    VehicleErrorEKF._look_at_force(filter_, results)
    assert found == forgotten


@pytest.mark.parametrize(
    ('delays', 'deviation', 'late'),
    [
        ((-0.04, -0.036, 0.0), 0.0015, 'joint_states or imu/data'),
        ((-0.01, -0.01, -0.01), 0.0015, 'imu/data'),
        ((-0.04, 0.1, 0.0), 0.0015, ''),  # the velocity alone is late, as they are
        ((-0.04, -0.036, -0.001), 0.0199, ''),  # not known well enough
        ((-0.003, -0.002, -0.002), 0.0003, ''),
    ],
)
def test_satellites_that_seem_early_say_that_the_car_is_late(delays, deviation, late):
    filter_ = SimpleNamespace(
        parameter_names=('gps.delay', 'gps_velocity.delay', 'wheels.delay'),
        parameters=np.array(delays),
        orders=1,
        model=SimpleNamespace(size=0),
        P=np.eye(3) * deviation**2,
        sensors={
            'gps': SimpleNamespace(parameters=(Parameter('delay', 0.0, 0.03),)),
            'gps_velocity': SimpleNamespace(parameters=(Parameter('delay', 0.0, 0.05),)),
        },
    )
    found = Timekeeper(filter_).finding()
    assert (found.where if found else '') == late
    if found is not None:
        assert (found.level, found.code) == ('bad', 'late')
        # without the belief that wheels are on time 10 ms are more
        assert found.size == pytest.approx(0.038 if delays[0] == -0.04 else 0.0229, rel=0.01)
