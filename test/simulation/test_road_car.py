"""The road car against what a text book says: it shares no equation with the observed model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid

from veh_identification.simulation.road_car.car import GRAVITY, NOMINAL, RoadCar, draw_car
from veh_identification.simulation.road_car.dynamics import ALPHA, OUTER, QD, QDD, Q
from veh_identification.simulation.road_car.road import draw_waves
from veh_identification.simulation.road_car.run import (
    RATE,
    STATE_SIZE,
    Record,
    Task,
    WheelEvent,
    simulate,
)

COAST = float('nan')


def held(angle: float, speed: float) -> Task:
    return Task(manoeuvres=((1e9, angle, speed),), speed=speed)


def without_resistance() -> RoadCar:
    return replace(
        NOMINAL,
        tyre_front=replace(NOMINAL.tyre_front, rolling_resistance=0.0),
        tyre_rear=replace(NOMINAL.tyre_rear, rolling_resistance=0.0),
        drag=0.0,
        side_drag=0.0,
    )


def corner_places(record: Record) -> np.ndarray:
    car, q = record.car, record.travel
    x = np.array([car.wheelbase, car.wheelbase, 0.0, 0.0])
    y = np.array([1.0, -1.0, 1.0, -1.0]) * np.repeat(
        [car.half_track_front, car.half_track_rear], 2
    )
    return np.stack([np.broadcast_to(x, q.shape), np.broadcast_to(y, q.shape), q], axis=-1)


def momentum(record: Record) -> np.ndarray:
    """Of body and corners in the world, from velocities alone."""
    car, rates = record.car, record.rates
    body = np.cross(rates, np.array(car.centre))
    total = car.mass * (record.velocity + np.einsum('nij,nj->ni', record.rotation, body))
    for i in range(4):
        moving = np.cross(rates, corner_places(record)[:, i])
        moving[:, 2] += record.table[:, QD + i]
        carried = np.einsum('nij,nj->ni', record.rotation, moving)
        total = total + car.unsprung * (record.velocity + carried)
    return total


def test_at_rest_the_wheels_carry_the_weight():
    for car in (NOMINAL, draw_car(3)):
        record = simulate(car, Task(manoeuvres=((1e9, 0.0, COAST),)), 0.5)
        load = record.load[-1]
        assert load.sum() == pytest.approx(car.total_mass * GRAVITY, rel=1e-4)
        expected = car.static_loads() + car.unsprung * GRAVITY
        assert load[:2].sum() == pytest.approx(expected[:2].sum(), rel=2e-3)
        # the roll stiffnesses share the offset of the centre between the axles
        assert load[[0, 2]].sum() == pytest.approx(expected[[0, 2]].sum(), rel=5e-3)
        force = record.acceleration + GRAVITY * record.rotation[:, 2, :]
        assert np.linalg.norm(force, axis=1) == pytest.approx(GRAVITY, abs=2e-3)
        assert abs(record.speed[-1]) < 1e-4
    assert (
        np.abs(simulate(NOMINAL, Task(manoeuvres=((1e9, 0.0, COAST),)), 0.2).travel).max() < 1e-4
    )


@pytest.mark.parametrize('speed', [6.0, 15.0, 25.0])
def test_steady_turn_follows_the_understeer_formula(speed):
    # the formula knows no resistance, whose drive moves load to the rear
    car = without_resistance()
    angle = 0.25 * car.wheelbase / speed**2 + car.understeer() * 0.25  # 0.25 m/s^2
    record = simulate(car, held(angle, speed), 12.0)
    v, rate = record.speed[-1], record.rates[-1, 2]
    expected = v * angle / (car.wheelbase + car.understeer() * v**2)
    assert rate == pytest.approx(expected, rel=0.01)
    assert abs(record.angular_acceleration[-1, 2]) < 1e-3


def test_load_moves_to_the_outer_wheels():
    record = simulate(NOMINAL, held(0.03, 15.0), 10.0)
    force = record.acceleration + GRAVITY * record.rotation[:, 2, :]
    load = record.load[-1]
    moved = 0.5 * ((load[1] + load[3]) - (load[0] + load[2]))
    height = NOMINAL.mass * (NOMINAL.centre[2] + 0.322) + 4 * NOMINAL.unsprung * 0.322
    sideways = record.rates[-1, 2] * record.speed[-1]
    roll = np.arcsin(record.rotation[-1, 2, 1])
    lean = NOMINAL.mass * GRAVITY * (NOMINAL.centre[2]) * roll
    track = NOMINAL.half_track_front + NOMINAL.half_track_rear
    assert roll > 0.01  # a left turn leans to the right
    assert force[-1, 1] > 0.5
    assert moved == pytest.approx((height * sideways + lean) / track, rel=0.02)


def test_coast_down():
    """Rolling resistance and drag slow the car and its wheels, nothing else does."""
    record = simulate(NOMINAL, Task(manoeuvres=((1e9, 0.0, COAST),), speed=25.0), 4.0)
    speed = record.speed
    inertia = NOMINAL.total_mass + 4 * NOMINAL.spin_inertia / 0.332**2
    expected = -(
        0.011 * NOMINAL.total_mass * GRAVITY * NOMINAL.radius[0] / 0.332 + 0.42 * speed[2000] ** 2
    )
    measured = (speed[2500] - speed[1500]) * inertia
    assert measured == pytest.approx(expected, rel=0.02)


@pytest.fixture(scope='module')
def rough() -> Record:
    """A drawn car that turns and brakes on hills and bumps."""
    task = Task(manoeuvres=((2.0, 0.04, 14.0), (4.0, -0.05, 18.0), (9.0, 0.02, 5.0)), speed=12.0)
    return simulate(draw_car(5), task, 6.0, draw_waves(5))


def test_sum_of_forces_is_change_of_momentum(rough):
    outer = np.einsum(
        'nij,nj->ni', rough.rotation, rough.table[:, STATE_SIZE + OUTER : STATE_SIZE + OUTER + 3]
    )
    outer = outer - [0.0, 0.0, rough.car.total_mass * GRAVITY]
    change = momentum(rough)
    for begin in range(0, 5000, 1000):
        given = trapezoid(outer[begin : begin + 1001], dx=1.0 / RATE, axis=0)
        assert change[begin + 1000] - change[begin] == pytest.approx(given, abs=25.0)
    assert np.abs(np.diff(change[::1000], axis=0)).max() > 1500.0  # so 25 N s are little


def test_accelerations_are_those_of_the_velocities(rough):
    step = 1.0 / RATE
    slope = (rough.rates[2:] - rough.rates[:-2]) / (2 * step)
    assert np.abs(slope - rough.angular_acceleration[1:-1]).mean() < 0.02
    carried = np.einsum('nji,nj->ni', rough.rotation, np.gradient(rough.velocity, step, axis=0))
    assert np.abs(carried - rough.acceleration).mean() < 0.02
    hub = rough.table[:, STATE_SIZE + QDD]
    assert np.abs(np.gradient(rough.table[:, QD], step) - hub).mean() < 0.02 * np.abs(hub).max()
    assert np.abs(np.gradient(rough.table[:, Q], step) - rough.table[:, QD]).mean() < 2e-3
    yaw = np.unwrap(np.arctan2(rough.rotation[:, 1, 0], rough.rotation[:, 0, 0]))
    assert np.gradient(yaw, step) == pytest.approx(rough.rates[:, 2], abs=0.03)
    assert rough.columns(STATE_SIZE + ALPHA, 3).std() > 0.05
    assert rough.rotation @ np.swapaxes(rough.rotation, 1, 2) == pytest.approx(
        np.broadcast_to(np.eye(3), rough.rotation.shape), abs=1e-9
    )


def test_energy_over_hills():
    """Without resistance, speed is what height makes of it."""
    car = without_resistance()
    hill = np.array([[2.0, 2 * np.pi / 300.0, 0.0, 0.0]])
    record = simulate(car, Task(manoeuvres=((1e9, 0.0, COAST),), speed=20.0), 14.0, hill)
    moving = car.total_mass + 4 * car.spin_inertia / 0.332**2
    kinetic = 0.5 * moving * record.speed**2
    height = car.total_mass * GRAVITY * record.position[:, 2]
    total = (kinetic + height)[500:]
    assert np.ptp(record.position[:, 2]) > 3.5
    assert np.ptp(total) < 0.03 * np.ptp(height)


@pytest.mark.parametrize(('factor', 'grip'), [(1.3, 0.4), (0.0, 0.4)])
def test_torque_makes_wheels_slip(factor, grip):
    task = Task(
        manoeuvres=((1e9, 0.0, 14.0),),
        speed=14.0,
        events=(WheelEvent(1.0, 1.0, (2, 3), factor, grip),),
    )
    record = simulate(NOMINAL, task, 4.0)
    ratio = record.wheel_rate * 0.332 / record.speed[:, None]
    assert record.events[0] == pytest.approx(1.0, abs=1e-3)
    assert ratio[1500:1900, 2:] == pytest.approx(factor, abs=0.06)
    assert ratio[1500:1900, :2] == pytest.approx(1.0, abs=0.02)
    assert ratio[[900, 3500]] == pytest.approx(1.0, abs=0.02)
