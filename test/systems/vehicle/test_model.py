from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from veh_identification.errors import EstimationError, InputError, ModelError
from veh_identification.multibody.natural.views import body_derivatives
from veh_identification.runtime.share import share_directory
from veh_identification.systems.car.description.road import RoadMap, Waves
from veh_identification.systems.vehicle.configuration import CarDescription, Geometry
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model import assembly, forces
from veh_identification.systems.vehicle.model.ground import carry, turn_tilts
from veh_identification.systems.vehicle.model.road import road_height
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle


@pytest.fixture(scope='module')
def car() -> CarDescription:
    return load()


def test_a_step_ends_as_near_to_its_solution_as_the_tolerance_says(car, monkeypatch):
    quick, exact = Vehicle(car), Vehicle(car)
    for one in (quick, exact):
        one.place(np.zeros(3), 0.3, 8.0)
    worst = np.zeros(3)
    for k in range(200):
        inputs = Inputs(
            (0.0, 0.0, 80.0, 80.0), 0.0, 0.01 * np.sin(0.05 * k), 0.25 * np.cos(0.05 * k)
        )
        assert quick.step(0.002, inputs) <= 6
        monkeypatch.setattr('veh_identification.systems.vehicle.model.vehicle.TOLERANCE', 1e-13)
        exact.step(0.002, inputs)
        monkeypatch.undo()
        a, b = quick.model, exact.model
        gaps = [np.abs(a.q - b.q).max(), np.abs(a.qd - b.qd).max(), np.abs(a.qdd - b.qdd).max()]
        worst = np.maximum(worst, gaps)
        quick.restore(exact.state())
    # of one step: positions, and what the trapezoidal rule (2 / dt) makes of them in the rates
    assert np.all(worst < [5e-8, 5e-5, 5e-2]), worst


@pytest.fixture
def vehicle(car) -> Vehicle:
    return Vehicle(car)


def drive(vehicle: Vehicle, seconds: float, inputs: Inputs, dt: float = 0.002) -> None:
    for _ in range(round(seconds / dt)):
        vehicle.step(dt, inputs)


def test_cars_that_are_described_once_do_not_disturb_each_other(car):
    """A car is described anew only where its bodies or joints differ."""
    first, second = Vehicle(car), Vehicle(replace(car, name='another', gravity=9.81))
    again, driven = Vehicle(car), Inputs((0.0, 0.0, 80.0, 80.0))
    assert second.model.mass is not first.model.mass
    for one in (first, again):
        one.place(np.zeros(3), 0.3, 8.0)
    for _ in range(20):
        first.step(0.002, driven)
    second.step(0.002, driven)
    for _ in range(20):
        again.step(0.002, driven)
    assert np.array_equal(first.model.q, again.model.q)
    assert np.array_equal(Vehicle(car).static_loads, again.static_loads)
    heavy = replace(car, chassis=replace(car.chassis, mass=2.0 * car.chassis.mass))
    assert Vehicle(heavy).static_loads.sum() > 1.7 * first.static_loads.sum()
    assert second.static_loads.sum() == pytest.approx(
        first.static_loads.sum() * 9.81 / car.gravity, rel=1e-9
    )


def test_eighteen_bodies_and_fifteen_degrees_of_freedom(car):
    free = assembly.build(car, driven_rack=False)
    assert len(assembly.BODIES) + len(assembly.WISHBONES) == 18
    assert {b.name for b in free.description.bodies} == set(assembly.BODIES)
    jacobian = free.jacobian()
    assert jacobian.shape[1] - np.linalg.matrix_rank(jacobian) == 15
    assert len(free.independent) == 15


def test_total_mass_and_static_loads(car, vehicle):
    mass = (
        car.chassis.mass
        + car.rack.mass
        + 4 * (car.wheel.mass + car.hub.mass)
        + 4 * (car.wishbone.lower_mass + car.wishbone.upper_mass)
    )
    assert vehicle.model.reduced_mass(vehicle.model.r_matrices()[0])[0, 0] == pytest.approx(mass)
    assert vehicle.static_loads.sum() == pytest.approx(mass * car.gravity)
    assert np.abs(vehicle.model.zdd).max() < 1e-9


def test_ten_minutes_of_standstill_do_not_drift(car):
    """After a push on a slope, with the brake on: it settles and then stays."""
    slope = RoadMap('waves', (Waves(10.0, 2000.0, 0.4, 0.3),))  # 3 % around the origin
    vehicle = Vehicle(replace(car, road=slope))
    hold = Inputs(pressure=3e6)
    vehicle.place(np.array([0.0, 0.0, 0.28]), 0.0, 1.0)
    drive(vehicle, 6.0, hold)
    start = vehicle.model.z.copy()
    drive(vehicle, 600.0, hold, dt=0.05)
    assert np.abs(vehicle.model.z - start)[:10].max() < 1e-3
    middle = vehicle.model.z.copy()
    drive(vehicle, 60.0, hold, dt=0.05)
    assert np.abs(vehicle.model.z - middle)[:10].max() < 1e-6
    assert np.abs(vehicle.model.residual()).max() < 1e-9


def test_standing_on_a_plane_it_stays_exactly(vehicle):
    start = vehicle.model.z.copy()
    drive(vehicle, 600.0, Inputs(), dt=0.05)
    assert np.abs(vehicle.model.z - start).max() < 1e-7


def test_straight_acceleration_follows_from_newton(car, vehicle):
    drive(vehicle, 3.0, Inputs((0.0, 0.0, 60.0, 60.0)))
    frame = vehicle.frame()
    speed = frame[1, 0]
    mass = vehicle.static_loads.sum() / car.gravity
    radius = [0.0] * 4
    for i in range(4):
        radius[i] = speed / vehicle.model.qd[vehicle.spins[i]]
    r = float(np.mean(radius))
    effective = mass + 4 * car.wheel.spin_inertia / r**2
    wanted = (
        120.0 / r - car.tyre.rolling_resistance * mass * car.gravity - car.air.drag * speed**2
    ) / effective
    assert frame[2, 0] == pytest.approx(wanted, rel=0.02)
    assert abs(frame[0, 1]) < 1e-6
    assert abs(vehicle.model.q[12]) < 1e-6
    assert np.abs(vehicle.model.residual()).max() < 1e-9
    assert np.abs(vehicle.model.jacobian() @ vehicle.model.qd).max() < 1e-8


def test_slow_circle_has_the_radius_of_the_geometry(car, vehicle):
    rack = 0.02
    for k in range(2500):
        share = min(1.0, k / 500)
        vehicle.step(
            0.002,
            Inputs(
                (0.0, 0.0, 20.0 * (k < 800), 20.0 * (k < 800)),
                0.0,
                rack * share,
                rack / 1.0 * (k < 500),
            ),
        )
    frame = vehicle.frame()
    speed = float(np.hypot(frame[1, 0], frame[1, 1]))
    yaw_rate = float(frame[0, 6:9] @ frame[1, 3:6])
    angle = rack / vehicle.rack_per_angle()
    assert speed < 2.0
    assert yaw_rate > 0.0  # rack to the left turns left
    assert speed / yaw_rate == pytest.approx(car.geometry.wheelbase / np.tan(angle), rel=0.05)


def test_tyre_force_saturates_with_load_and_friction(car, vehicle):
    drive(vehicle, 0.3, Inputs((0.0, 0.0, 800.0, 800.0)))  # wheels spin
    force = np.hypot(vehicle.report[:, forces.FORCE_X], vehicle.report[:, forces.FORCE_Y])
    limit = car.tyre.friction * vehicle.report[:, forces.LOAD]
    assert np.all(force <= limit)
    assert np.all(force[2:] > 0.9 * limit[2:])


def test_suspension_stops(vehicle):
    row = vehicle._suspension[0]
    inside, stiff_inside = forces.suspension_force(row, row[0] - 0.05, 0.0, 0.0)
    beyond, stiff_beyond = forces.suspension_force(row, row[0] - 0.07, 0.0, 0.0)
    assert stiff_beyond - stiff_inside == pytest.approx(row[forces.STOP])
    assert beyond - inside == pytest.approx(0.02 * stiff_inside + 0.015 * row[forces.STOP])
    rebound, _ = forces.suspension_force(row, row[0] + 0.08, 0.0, 0.0)
    assert rebound < 0.0


def test_road_slopes_are_derivatives():
    table = RoadMap('waves', (Waves(0.05, 7.0, 0.7, 0.2), Waves(0.02, 3.0, 2.0, 1.0))).table()
    assert road_height(table, 0.0, 0.0)[0] == pytest.approx(0.0, abs=1e-15)
    h, d = road_height(table, 1.3, -0.4), 1e-6
    assert h[1] == pytest.approx(
        (road_height(table, 1.3 + d, -0.4)[0] - road_height(table, 1.3 - d, -0.4)[0]) / (2 * d),
        abs=1e-8,
    )
    assert h[2] == pytest.approx(
        (road_height(table, 1.3, -0.4 + d)[0] - road_height(table, 1.3, -0.4 - d)[0]) / (2 * d),
        abs=1e-8,
    )


def test_correction_and_jacobians_agree_with_the_general_solution(vehicle):
    observed = ObservedVehicle(vehicle)
    for k in range(400):
        share = min(1.0, k / 200)
        observed.predict(0.002, Inputs((0.0, 0.0, 100.0, 100.0), 0.0, 0.01 * share))
    model, generator = vehicle.model, np.random.default_rng(3)
    change = [generator.standard_normal(10) * s for s in (0.01, 0.1, 0.5)]
    state = observed.snapshot()
    z, zd, zdd = model.z, model.zd, model.zdd
    for vector, delta in zip((z, zd, zdd), change, strict=True):
        vector[:10] += delta
    model.set_independent(z, zd, zdd)
    wanted = model.q.copy(), model.qd.copy(), model.qdd.copy()
    observed.restore(state)
    observed.correct(*change)
    for found, right, scale in zip(
        (model.q, model.qd, model.qdd), wanted, (1e-9, 1e-8, 1e-6), strict=True
    ):
        assert np.abs(found - right).max() < scale
    observed.restore(state)
    general = np.zeros((3, 12, 10))
    body_derivatives(
        model.memory, vehicle.chassis, 2, *model.r_matrices(np.arange(10), 2), general
    )
    view = observed.body('chassis', 2)
    assert np.abs(view.derivatives - general).max() < 1e-9


def test_a_correction_that_no_chassis_can_follow_leaves_the_car_as_it_was(vehicle):
    observed, model = ObservedVehicle(vehicle), vehicle.model
    before = [model.q.copy(), model.qd.copy(), model.qdd.copy(), model.force_error.copy()]
    impossible = np.zeros(10)
    impossible[4] = 1.5  # the height of a unit vector
    with pytest.raises(EstimationError):
        observed.correct(impossible, np.zeros(10), np.ones(10))
    for found, kept in zip((model.q, model.qd, model.qdd, model.force_error), before, strict=True):
        assert np.array_equal(found, kept)
    observed.correct(np.full(10, 1e-3), np.zeros(10), np.zeros(10))
    assert model.q[0] == pytest.approx(before[0][0] + 1e-3, abs=1e-12)


def test_a_failed_step_leaves_the_car_as_it_was(vehicle):
    before = vehicle.model.q.copy()
    with pytest.raises(InputError, match='converge'):
        vehicle.step(0.002, Inputs((0.0, 0.0, np.nan, 0.0)))
    assert np.array_equal(vehicle.model.q, before)


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('geometry: {wheel_radius: 0}', 'geometry.wheel_radius: expected a positive length'),
        ('geometry: {wheelbase: -2}', 'geometry.wheelbase: expected a positive length'),
        ('tyre: {friction: .nan}', 'tyre.friction: expected a positive number, found nan'),
        ('chassis: {mass: heavy}', 'chassis.mass: expected a positive mass'),
        ('wheels: 4', r'wheels: is not known; did you mean .wheel.'),
        ('chassis: {centre: [1, 2]}', 'chassis.centre: expected 3 lengths'),
        ('road: {kind: moon}', '.flat., .waves. or .unknown.'),
        ('[1, 2', 'not YAML'),
    ],
)
def test_wrong_configurations_are_named(tmp_path, text, sentence):
    file = tmp_path / 'car.yaml'
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load(file)


def test_base_configuration_is_changed_field_by_field(tmp_path):
    file = tmp_path / 'car.yaml'
    file.write_text('base: buggy.yaml\ngeometry: {wheelbase: 2.5}\n')
    found = load(file)
    assert found.geometry.wheelbase == 2.5
    assert found.geometry.half_track_front == load().geometry.half_track_front


def test_impossible_cars_are_refused(car):
    with pytest.raises(ModelError, match='carries no load'):
        Vehicle(replace(car, chassis=replace(car.chassis, centre=(-1.0, 0.0, 0.2))))
    front = replace(car.suspension.front, lower_pivots=(car.suspension.front.lower_pivots[0],) * 2)
    with pytest.raises(ModelError, match='lower_fl'):
        Vehicle(replace(car, suspension=replace(car.suspension, front=front)))


def test_road_car_geometry_is_enough():
    """A road car by its geometry, mass and centre only: hardpoints follow the wheel centres."""
    car = CarDescription(
        geometry=Geometry(2.65, (0.76, 0.76, 0.75, 0.75), 0.31),
        chassis=replace(
            CarDescription().chassis,
            mass=1200.0,
            centre=(1.45, 0.0, 0.25),
            inertia=(400.0, 0.0, 0.0, 1800.0, 0.0, 2000.0),
        ),
    )
    vehicle = Vehicle(car)
    drive(vehicle, 1.0, Inputs((0.0, 0.0, 100.0, 100.0)))
    assert 0.2 < vehicle.frame()[1, 0] < 1.0


def test_the_slope_stays_in_the_world_and_its_uncertainty_with_it():
    rng = np.random.default_rng(2)
    samples = rng.standard_normal((20000, 4)) * [0.0, 0.02, 0.005, 1.0]
    samples[:, 3] += 20.0 * samples[:, 1]
    P = np.cov(samples.T)
    steps = 1000  # of half a degree or less, as those of the observer
    for _ in range(steps):
        turn_tilts(P, 1, 0.5 * np.pi / steps)
    for row in samples[:20]:
        ground = np.zeros((2, 3))
        ground[0] = row[:3]
        for _ in range(steps):
            carry(ground, 0.5 * np.pi / steps, 0.01)
        # after a quarter to the left what was across is along, what was along falls to the left
        assert ground[0, 1] == pytest.approx(row[2], abs=3e-4)
        assert ground[0, 2] == pytest.approx(-row[1], abs=3e-4)
    assert np.sqrt(np.diag(P))[1:3] == pytest.approx([0.005, 0.02], rel=0.03)
    assert P[2, 3] == pytest.approx(-np.cov(samples.T)[1, 3], rel=0.02)


def test_rows_of_the_ground_are_derivatives_of_the_lifted_frame():
    car = replace(load(), road=RoadMap(kind='unknown'))
    observed = ObservedVehicle(Vehicle(car))
    vehicle = observed.vehicle
    vehicle.place(
        np.array([1.0, 2.0, 0.3]), 0.7, 8.0, 8.0 * np.array([np.cos(0.7), np.sin(0.7)]), 0.4
    )
    vehicle.ground[0] = 0.3, 0.02, -0.03
    view = observed.body('chassis', 1)
    values, rows = view.values[:2].copy(), view.derivatives[:2].copy()
    for column, tilt in ((4, 1), (5, 2)):
        vehicle.ground[0, tilt] += 1e-6
        observed._order = -1
        change = (observed.body('chassis', 1).values[:2] - values) / 1e-6
        vehicle.ground[0, tilt] -= 1e-6
        assert np.allclose(rows[:, 3:, column], change[:, 3:], atol=0.02 * np.abs(change).max())


@pytest.mark.parametrize('name', ['buggy.yaml', 'road_drive.yaml'])
def test_a_car_is_put_down_upright_whatever_its_heading_and_its_wheels(name):
    # a heading of 0.317 rad once turned the right-hand hubs of a road car inside out
    vehicle, rng = Vehicle(load(share_directory() / 'config' / name)), np.random.default_rng(7)
    place = np.array([-7.4, 3.7, vehicle.model.q[2]])
    for yaw in [0.317, *rng.uniform(-np.pi, np.pi, 40)]:
        wheels = rng.uniform(-200.0, 200.0, 4)
        vehicle.place(place, yaw, rack=2e-4, wheels=wheels)
        q = vehicle.model.q
        assert q[:2] == pytest.approx(place[:2], abs=1e-9)
        assert np.cos(q[12] - yaw) == pytest.approx(1.0, abs=1e-12)
        assert q[vehicle.spins] == pytest.approx(wheels, abs=1e-9)
        across = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        for row in vehicle.spokes:
            assert q[row[0] : row[0] + 3] @ across > 0.99
        assert np.abs(vehicle.travel).max() < 1e-9
