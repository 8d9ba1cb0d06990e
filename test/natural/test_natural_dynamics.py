from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from veh_identification.errors import EstimationError
from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.systems.four_bar import model as four_bar


def run(model: NaturalModel, dt: float, count: int) -> np.ndarray:
    energies = []
    for _ in range(count):
        model.step(dt)
        energies.append(sum(model.energy()))
    return np.array(energies)


def test_pendulum_energy_and_constraints(pendulum):
    pendulum.assemble([0.0], [3.0])
    start = sum(pendulum.energy())
    scale = 2 * 2 * 9.806  # height difference of the motion times weight
    energies = run(pendulum, 0.002, 5000)
    assert np.abs(energies - start).max() < 2e-5 * scale
    assert np.abs(pendulum.residual()).max() < 1e-9
    assert np.abs(pendulum.jacobian() @ pendulum.qd).max() < 1e-9


def test_the_energy_error_is_of_second_order(pendulum):
    errors = []
    for dt in (0.01, 0.005):
        pendulum.q[:] = [2.0, 0.0, 0.0]
        pendulum.multipliers[:] = 0.0
        pendulum.assemble([0.0], [3.0])
        start = sum(pendulum.energy())
        errors.append(np.abs(run(pendulum, dt, round(5.0 / dt)) - start).max())
    assert 3.0 < errors[0] / errors[1] < 5.5


def test_pendulum_period_from_the_elliptic_integral(pendulum):
    pendulum.assemble([0.0], [0.0])  # released from the horizontal: amplitude 90 degrees
    period = 4 * np.sqrt(8.0 / 3.0 / (2.0 * 9.806)) * ellipk(0.5)
    dt = period / 4000
    for _ in range(4000):
        pendulum.step(dt)
    assert pendulum.z[0] == pytest.approx(0.0, abs=2e-5)
    assert pendulum.zd[0] == pytest.approx(0.0, abs=2e-4)


def test_four_bar_against_an_independent_lagrangian():
    """One degree of freedom, closed-form geometry, no natural coordinates at all."""
    setup = four_bar.load()
    g, truth = setup.geometry, setup.truth
    masses = np.array(truth.masses)

    def points(a: float) -> np.ndarray:
        return np.array([g.crank * np.cos(a), g.crank * np.sin(a), *g.rocker_pin(a)])

    def slope(a: float, h: float = 1e-5) -> np.ndarray:
        return (points(a + h) - points(a - h)) / (2 * h)

    def inertia(a: float) -> float:
        d = slope(a)
        p, r = d[:2], d[2:]
        return (masses[0] * p @ p + masses[1] * (p @ p + p @ r + r @ r) + masses[2] * r @ r) / 3.0

    def acceleration(_: float, y: np.ndarray) -> list[float]:
        h = 1e-4
        change = (inertia(y[0] + h) - inertia(y[0] - h)) / (2 * h)
        d = slope(y[0])
        torque = truth.torque - truth.gravity * 0.5 * (
            masses[0] * d[1] + masses[1] * (d[1] + d[3]) + masses[2] * d[3]
        )
        return [y[1], (torque - 0.5 * change * y[1] ** 2) / inertia(y[0])]

    model = four_bar.build(g, truth)
    exact = solve_ivp(acceleration, (0.0, 2.0), [truth.angle, truth.rate], rtol=1e-9, atol=1e-10)
    for _ in range(4000):
        model.step(0.0005)
    assert model.z[0] == pytest.approx(exact.y[0, -1], abs=1e-4)
    assert model.zd[0] == pytest.approx(exact.y[1, -1], abs=1e-4)


def test_spatial_energy_momentum_and_constraints(spatial):
    """No external force but gravity: energy stays, and so do horizontal momentum and drift."""
    start = sum(spatial.energy())
    momentum = spatial.qd @ spatial.mass @ spatial.r_matrices()[0][:, :2]
    energies = run(spatial, 0.001, 1000)
    kinetic = spatial.energy()[0]
    assert np.abs(energies - start).max() < 2e-4 * kinetic
    after = spatial.qd @ spatial.mass @ spatial.r_matrices()[0][:, :2]
    assert np.allclose(after, momentum, atol=1e-4 * np.abs(momentum).max())
    assert np.abs(spatial.residual()).max() < 1e-9
    assert np.abs(spatial.jacobian() @ spatial.qd).max() < 1e-9


def test_torque_free_body_turns_as_euler_says():
    inertia = np.diag([1.0, 2.0, 2.5])
    b = NaturalBuilder(3, (0.0, 0.0, 0.0))
    b.free_body('top', from_centre_of_mass(3.0, np.zeros(3), inertia), (0, 0, 0))
    model = NaturalModel(
        b, ['top.origin.x', 'top.origin.y', 'top.origin.z', 'top.e1.y', 'top.e1.z', 'top.e2.z']
    )
    omega = np.array([0.3, 2.0, 0.1])
    model.assemble()
    # at the identity: e1' = w x e1 and so on
    model.set_rates(np.array([0, 0, 0, omega[2], -omega[1], omega[0]]))
    model.update_acceleration()
    exact = solve_ivp(
        lambda _, w: np.linalg.solve(inertia, np.cross(inertia @ w, w)),
        (0, 0.4),
        omega,
        rtol=1e-10,
        atol=1e-12,
    )
    for _ in range(400):
        model.step(0.001)
    E, D = model.q[3:].reshape(3, 3), model.qd[3:].reshape(3, 3)
    local = np.array([E[2] @ D[1], E[0] @ D[2], E[1] @ D[0]])
    assert np.allclose(local, exact.y[:, -1], atol=2e-5)


def test_moment_and_force_loads_accelerate_by_newton_and_euler():
    inertia = np.diag([1.0, 2.0, 2.5])
    b = NaturalBuilder(3, (0.0, 0.0, 0.0))
    b.free_body('top', from_centre_of_mass(4.0, np.zeros(3), inertia), (0, 0, 0))
    model = NaturalModel(
        b,
        ['top.origin.x', 'top.origin.y', 'top.origin.z', 'top.e1.y', 'top.e1.z', 'top.e2.z'],
        loaded_bodies=['top'],
    )
    force, point, moment = (
        np.array([1.0, -2, 3]),
        np.array([0.2, 0.1, -0.3]),
        np.array([4.0, 5, 6]),
    )
    model.loads.wrenches[0, :9] = np.concatenate([force, point, moment])
    model.assemble()
    alpha = np.linalg.solve(inertia, moment + np.cross(point, force))
    assert np.allclose(model.qdd[:3], force / 4.0, atol=1e-12)
    E = model.qdd[3:].reshape(3, 3)
    assert np.allclose([E[1, 2], E[2, 0], E[0, 1]], alpha, atol=1e-12)


def test_spring_mass_damper_follows_its_formula():
    b = NaturalBuilder(2, (0.0, 0.0))
    p = b.point('p', (1.3, 0.0))
    b.point_mass(p, 2.0)
    b.linear('guide', p, 1)
    b.spring('s', b.fixed((0.0, 0.0)), p, stiffness=50.0, damping=1.0, free_length=1.0)
    model = NaturalModel(b, ['p.x'])
    model.assemble([1.3], [0.0])
    for _ in range(2000):
        model.step(0.001)
    decay, omega = 1.0 / 4.0, np.sqrt(25.0 - 1.0 / 16.0)
    exact = 1.0 + 0.3 * np.exp(-decay * 2) * (
        np.cos(omega * 2) + decay / omega * np.sin(omega * 2)
    )
    assert model.q[0] == pytest.approx(exact, abs=2e-5)


def test_a_driven_coordinate_follows_its_input_and_moves_the_rest(
    spatial_builder, spatial_independent
):
    b = spatial_builder()
    name = b.drive(b.index('travel'))
    model = NaturalModel(b, [c for c in spatial_independent if c != 'travel'])
    model.assemble()
    time = 0.0
    for _ in range(300):
        time += 0.001
        model.set_drive(
            name, 0.1 * np.sin(3 * time), 0.3 * np.cos(3 * time), -0.9 * np.sin(3 * time)
        )
        model.step(0.001)
    k = model.names.index('travel')
    assert model.q[k] == pytest.approx(0.1 * np.sin(0.9), abs=1e-10)
    assert model.qd[k] == pytest.approx(0.3 * np.cos(0.9), abs=1e-9)
    assert np.abs(model.residual()).max() < 1e-9


def test_a_force_hook_gives_the_same_motion_as_a_built_in_spring():
    def build(hook: bool) -> NaturalModel:
        b = NaturalBuilder(2, (0.0, -9.81))
        pivot, end = b.fixed((0.0, 0.0)), b.point('1', (2.0, 0.0))
        b.planar_body('bar', pivot, end, 2.0, mass=2.0, centre=(1.0, 0.0), inertia=8.0 / 3.0)
        k = b.angle('swing', (b.fixed((1.0, 0.0)), b.fixed((0.0, 1.0))), end - pivot, 0.0)
        if not hook:
            b.coordinate_spring('s', k, stiffness=40.0, damping=2.0)
            return NaturalModel(b, ['swing'])

        def torque(model: NaturalModel, loads) -> None:
            loads.coordinate_force[k] = -40.0 * model.q[k] - 2.0 * model.qd[k]
            loads.tangents[:, k] = 40.0, 2.0

        return NaturalModel(b, ['swing'], force_hook=torque)

    models = [build(False), build(True)]
    for model in models:
        model.assemble([0.0], [1.0])
        for _ in range(500):
            model.step(0.002)
    assert models[0].z[0] == pytest.approx(models[1].z[0], abs=1e-9)


def test_a_bad_time_step_is_refused(pendulum):
    pendulum.assemble()
    with pytest.raises(EstimationError, match='positive, found nan'):
        pendulum.step(float('nan'))


def test_far_from_the_origin_the_model_still_runs(spatial_builder, spatial_independent):
    """Ten kilometres away rounding alone exceeds the tolerance of the constraints."""
    model = NaturalModel(spatial_builder(), spatial_independent)
    z = model.z
    z[:2] += 10_000.0
    model.assemble(z, np.full(8, 0.2))
    for _ in range(50):
        model.step(0.002)
    assert np.abs(model.residual()).max() < 1e-9
    model.set_independent(model.z + 1e-3, model.zd, model.zdd)
    assert np.abs(model.residual()).max() < 1e-9


def test_a_failed_step_leaves_the_state(pendulum):
    pendulum.assemble([0.0], [1.0])
    before = pendulum.state()
    pendulum.loads.coordinate_force[:] = np.nan
    with pytest.raises(EstimationError, match='fails: '):
        pendulum.step(0.01)
    assert np.array_equal(pendulum.q, before.q) and np.array_equal(pendulum.qd, before.qd)


def test_a_twin_goes_its_own_way_from_the_same_state(pendulum):
    pendulum.assemble([0.5], [1.0])
    run(pendulum, 0.01, 10)
    twin, alone = pendulum.twin(), pendulum.twin()
    for _ in range(50):  # by turns: nothing that one keeps may reach the other
        pendulum.step(0.01)
        twin.force_error[0] = 3.0
        twin.step(0.01)
    assert not np.allclose(twin.q, pendulum.q)
    run(alone, 0.01, 50)
    assert np.array_equal(alone.q, pendulum.q) and np.array_equal(alone.qdd, pendulum.qdd)
