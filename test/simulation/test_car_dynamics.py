"""The simulated car obeys conservation laws, statics, and the signs of the contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.simulation.car.integrate import COMMANDS, FIELDS, Driver, integrate
from veh_identification.simulation.car.manoeuvres import Manoeuvre, Shaking
from veh_identification.simulation.car.road import flat_road
from veh_identification.simulation.car.run import (
    CarRecord,
    Surroundings,
    simulate_car,
    start_state,
)
from veh_identification.simulation.car.scenarios import default_configuration
from veh_identification.simulation.car.state import (
    OMEGA,
    POSITION,
    SPIN_RATE,
    TRAVEL_RATE,
    VELOCITY,
)
from veh_identification.simulation.car.vehicle import GRAVITY, Vehicle, pack
from veh_identification.types import Array

QUIET = Surroundings(shaking=Shaking(0.0, 0.0))


def fly(vehicle: Vehicle, steps: int) -> Array:
    """Throw the car through the air with all motions at once; no driver, no road."""
    state = start_state(vehicle, 12.0)
    state[POSITION + 2] = 100.0
    state[OMEGA : OMEGA + 3] = 0.4, -0.3, 0.6
    state[VELOCITY + 1 : VELOCITY + 3] = 1.0, 4.0
    state[TRAVEL_RATE : TRAVEL_RATE + 4] = 0.2, -0.1, 0.15, -0.2
    state[SPIN_RATE : SPIN_RATE + 4] = 35.0, 20.0, -15.0, 40.0
    out = np.zeros((steps, FIELDS))
    idle = Driver(0.0, 1e-9, 0.0, 0.0, 0.0, 1e9, 1e-9, 0.0)
    road = flat_road()
    state[41:43] = 0.0
    filled = integrate(
        pack(vehicle),
        road.coefficients,
        road.start,
        idle,
        np.zeros((2 * steps + 1, COMMANDS)),
        1e-3,
        0,
        state,
        out,
    )
    assert filled == steps
    return out


def body_sums(record: CarRecord) -> tuple[Array, Array, Array, Array]:
    """Mass centre times mass, momentum, angular momentum (world), and total energy."""
    vehicle, p, R = record.vehicle, record.vehicle.parameters(), record.rotation
    first = np.array([p['MXc'], p['MYc'], p['MZc']])
    J = np.array(
        [
            [p['XXc'], p['XYc'], p['XZc']],
            [p['XYc'], p['YYc'], p['YZc']],
            [p['XZc'], p['YZc'], p['ZZc']],
        ]
    )
    v, w = record.velocity, record.omega
    momentum = p['Mc'] * v + np.cross(w, first)
    spin = np.cross(first, v) + w @ J
    centre = np.tile(first, (len(record.t), 1))
    energy = 0.5 * (v * (p['Mc'] * v + 2 * np.cross(w, first))).sum(1) + 0.5 * (w * (w @ J)).sum(1)
    rates = record.axle_rates
    for i in range(4):
        axles = record.axles[:, i]
        place = np.stack([axles[:, 0], axles[:, 1], record.travel[:, i]], axis=1)
        moving = np.stack([rates[:, i, 0], rates[:, i, 1], record.travel_rate[:, i]], axis=1)
        mass = p[f'M{i + 1}'] + vehicle.wheel_mass
        speed = v + np.cross(w, place) + moving
        turns = Rotation.from_euler('ZXY', axles[:, 2:5])
        axis = turns.apply([0.0, 1.0, 0.0])
        lean = Rotation.from_euler('Z', axles[:, [2]]).apply([1.0, 0.0, 0.0])
        hub = (
            w + rates[:, i, 2:3] * [0, 0, 1] + rates[:, i, 3:4] * lean + (rates[:, i, 4:5] * axis)
        )
        along = (hub * axis).sum(1)
        absolute = record.rows[:, SPIN_RATE + i]
        across = hub - along[:, None] * axis
        wheel = (
            vehicle.wheel_turn_inertia * across
            + (vehicle.wheel_spin_inertia * absolute)[:, None] * axis
        )
        momentum, centre = momentum + mass * speed, centre + mass * place
        spin = spin + np.cross(place, mass * speed) + wheel
        q = record.travel[:, i]
        bar = vehicle.anti_roll_front if i < 2 else vehicle.anti_roll_rear
        energy = (
            energy
            + 0.5 * mass * (speed**2).sum(1)
            + 0.5
            * (
                vehicle.wheel_turn_inertia * (across**2).sum(1)
                + vehicle.wheel_spin_inertia * absolute**2
            )
        )
        energy = energy + 0.5 * p[f'k{i + 1}'] * q**2 + p[f'off{i + 1}'] * q
        energy = energy + 0.25 * bar * (q - record.travel[:, i ^ 1]) ** 2
    mass = total_mass(vehicle)
    world = np.einsum('nij,nj->ni', R, centre) + mass * record.position
    energy = energy + GRAVITY * world[:, 2]
    turned = np.einsum('nij,nj->ni', R, momentum)
    about_origin = np.einsum('nij,nj->ni', R, spin)
    # Angular momentum about the common centre of mass.
    centred = about_origin - np.cross(world / mass - record.position, turned)
    return world, turned, centred, energy


def total_mass(vehicle: Vehicle) -> float:
    return vehicle.inertia.mass + sum(c.unsprung + vehicle.wheel_mass for c in vehicle.corners)


@pytest.mark.parametrize('linkage', [0.0, 1.0])
def test_momentum_and_energy_are_conserved_in_the_air(linkage: float) -> None:
    frictionless = tuple(
        replace(c, damping=0.0, friction=0.0, bump=1.0, rebound=1.0) for c in Vehicle().corners
    )
    vehicle = replace(
        Vehicle(),
        corners=frictionless,
        air=(0.0,) * 6,
        linkage=linkage,
        geometry=default_configuration().geometry,
    )
    rows = fly(vehicle, 300)
    t = np.arange(len(rows)) * 1e-3
    record = CarRecord(t, rows, vehicle, flat_road(), np.zeros((len(t), 3)))
    assert np.abs(record.tyre[:, :, 1]).max() == 0.0
    world, momentum, spin, energy = body_sums(record)
    mass = total_mass(vehicle)
    falling = momentum[0] - np.outer(t, [0.0, 0.0, mass * GRAVITY])
    np.testing.assert_allclose(momentum, falling, atol=1e-6 * mass)
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), atol=2e-5)
    np.testing.assert_allclose(np.gradient(world[:, 0], t)[1:-1], momentum[1:-1, 0], rtol=1e-6)
    if linkage == 1.0:  # the freedoms of the 38-dof model are driven: they may do work
        moved = np.ptp(record.travel, axis=0).min()
        assert moved > 0.05
        assert np.ptp(energy) < 1e-8 * np.abs(energy[0])


def standing(duration: float = 2.0) -> CarRecord:
    manoeuvre = Manoeuvre('brake', 10.0, from_rest=True)
    return simulate_car(
        default_configuration(), manoeuvre, duration, 0, surroundings=QUIET, road=flat_road()
    )


def test_standing_car_carries_its_weight() -> None:
    record = standing()
    first = slice(500, 1500)  # before it drives off
    vehicle = record.vehicle
    loads = record.tyre[first, :, 1].sum(axis=1)
    np.testing.assert_allclose(loads, total_mass(vehicle) * GRAVITY, rtol=1e-4)
    above = vehicle.inertia.mass + sum(c.unsprung for c in vehicle.corners)
    assert record.wrench[first, :, 2].sum(axis=1).mean() == pytest.approx(
        above * GRAVITY, rel=1e-3
    )
    assert np.abs(record.velocity[first]).max() < 1e-3
    np.testing.assert_allclose(record.specific_force[first].mean(axis=0)[2], GRAVITY, rtol=1e-3)
    standing_travel = [c.standing for c in vehicle.corners]
    np.testing.assert_allclose(record.travel[first].mean(axis=0), standing_travel, atol=2e-3)


def test_straight_coast_slows_down_by_air_and_rolling() -> None:
    around = replace(QUIET, driver=Driver(speed_gain=0.0, speed_integral=0.0, drive_limit=1e-9))
    record = simulate_car(
        default_configuration(),
        Manoeuvre('sine', 30.0, lateral=0.0),
        3.0,
        0,
        surroundings=around,
        road=flat_road(),
    )
    vehicle, v = record.vehicle, record.velocity[:, 0]
    effective = total_mass(vehicle) + 4 * vehicle.wheel_spin_inertia / vehicle.tyre.radius**2
    expected = (
        -(vehicle.air[0] * v**2 + vehicle.tyre.rolling * total_mass(vehicle) * GRAVITY) / effective
    )
    slowing = np.gradient(v, record.t)
    assert slowing[500:-500].mean() == pytest.approx(expected[500:-500].mean(), rel=0.03)
    assert np.abs(record.velocity[:, 1]).max() < 0.1


@pytest.mark.parametrize('lateral', [4.0, -4.0])
def test_steady_cornering_signs(lateral: float) -> None:
    manoeuvre = Manoeuvre('ramp', 25.0, lateral=lateral, heading_gain=0.0)
    record = simulate_car(
        default_configuration(), manoeuvre, 16.0, 0, surroundings=QUIET, road=flat_road()
    )
    held = (record.t > 10.0) & (record.t < 11.0)
    side = np.sign(lateral)
    roll = Rotation.from_matrix(record.rotation[held]).as_euler('ZYX')[:, 2].mean()
    travel = record.travel[held].mean(axis=0)
    steering = record.axles[held][:, :2, 2].mean()
    assert side * steering > 0.01  # left is positive
    yaw_rate, speed = record.omega[held, 2].mean(), record.velocity[held, 0].mean()
    assert side * yaw_rate > 0.0
    assert record.specific_force[held, 1].mean() == pytest.approx(yaw_rate * speed, rel=0.08)
    assert side * yaw_rate * speed == pytest.approx(abs(lateral), rel=0.15)
    # The body leans outwards (left side up in a left bend): left springs extend.
    assert side * roll > 0.01
    assert side * travel[0] < -0.01 and side * travel[1] > 0.01
    assert side * travel[2] < -0.01 and side * travel[3] > 0.01
    lateral_force = record.wrench[held][:, :, 1].sum(axis=1).mean()
    assert side * lateral_force == pytest.approx(
        (total_mass(record.vehicle) - 4 * record.vehicle.wheel_mass) * abs(yaw_rate * speed),
        rel=0.1,
    )


def test_braking_compresses_the_front_and_stops() -> None:
    record = simulate_car(
        default_configuration(),
        Manoeuvre('brake', 20.0, deceleration=5.0),
        9.0,
        0,
        surroundings=QUIET,
        road=flat_road(),
    )
    start = Manoeuvre('brake', 20.0, deceleration=5.0).brake_time(9.0)
    middle = (record.t > start + 1.5) & (record.t < start + 3.0)
    assert record.specific_force[middle, 0].mean() == pytest.approx(-5.0, rel=0.15)
    travel = record.travel[middle].mean(axis=0)
    assert travel[:2].min() > 0.01 and travel[2:].max() < -0.01
    assert np.abs(record.velocity[-500:, 0]).max() < 0.02
    # Brake torque: the wheel turns the hub forwards about y when it is slowed down.
    assert record.wrench[middle][:, :, 4].mean() > 100.0
    assert record.wrench[middle][:, :, 0].mean() < -500.0


def test_runs_repeat_exactly_by_seed() -> None:
    configuration, manoeuvre = default_configuration(), Manoeuvre('sine')
    first, again, other = (simulate_car(configuration, manoeuvre, 0.5, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert np.abs(first.rows - other.rows).max() > 1e-3
