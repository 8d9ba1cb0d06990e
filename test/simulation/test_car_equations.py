"""The simulated car obeys the ten identification equations of the 38-dof model exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from veh_identification.multibody.dynamics import ExternalWrench, inverse_dynamics
from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import (
    PRISMATIC,
    REVOLUTE,
    BodySpec,
    TreeModel,
    assemble,
)
from veh_identification.simulation.car.manoeuvres import Manoeuvre
from veh_identification.simulation.car.run import CarRecord, Surroundings, simulate_car
from veh_identification.simulation.car.scenarios import default_configuration
from veh_identification.simulation.car.vehicle import Vehicle, random_vehicle
from veh_identification.types import Array

CORNERS = ('fl', 'fr', 'rl', 'rr')


@pytest.fixture(scope='module')
def rough_run() -> CarRecord:
    """Another car than the default one, in a violent sine on a rough road."""
    vehicle = random_vehicle(4)
    vehicle = replace(vehicle, air=(0.4, 0.02, -0.01, 0.003, -0.02, 0.01))
    around = Surroundings(roughness=60e-6)
    return simulate_car(
        default_configuration(),
        Manoeuvre('sine', 33.0, lateral=5.0),
        6.0,
        3,
        vehicle=vehicle,
        surroundings=around,
    )


def tree_of(vehicle: Vehicle) -> TreeModel:
    """The 38-dof car without wheels and tyres, from bodies and joints (not from its table)."""
    p = vehicle.parameters()
    chassis = np.array(
        [p[name] for name in ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'XYc', 'XZc', 'YYc', 'YZc', 'ZZc')]
    )
    specs = [BodySpec('chassis', '', parameters=chassis)]
    x, y, z = np.eye(3)
    for i, corner in enumerate(CORNERS):
        parent = 'chassis'
        for kind, joint_type, axis in (
            ('y', PRISMATIC, y),
            ('x', PRISMATIC, x),
            ('z', PRISMATIC, z),
            ('beta', REVOLUTE, z),
            ('gamma', REVOLUTE, x),
            ('zeta', REVOLUTE, y),
        ):
            inertia = np.zeros(10)
            inertia[0] = p[f'M{i + 1}'] if kind == 'zeta' else 0.0
            name = f'{kind}_{corner}'
            specs.append(
                BodySpec(
                    name, parent, name, joint_type, axis=axis, coordinate=name, parameters=inertia
                )
            )
            parent = name
    return assemble('car', specs, floating=True)


def motion_of(record: CarRecord, tree: TreeModel) -> Motion:
    """Joint motion with exact derivatives of the axle kinematics."""
    q, qd, qdd = (np.zeros((len(record.t), tree.dof)) for _ in range(3))
    coefficients = record.vehicle.axle_array()
    s, sd, sdd = record.steer.T
    for i, corner in enumerate(CORNERS):
        z, zd = record.travel[:, i], record.travel_rate[:, i]
        zdd = record.travel_acceleration[:, i]
        k = tree.coordinate_index(f'z_{corner}')
        q[:, k], qd[:, k], qdd[:, k] = z, zd, zdd
        for row, kind in enumerate(('x', 'y', 'beta', 'gamma', 'zeta')):
            c = coefficients[i, row]
            k = tree.coordinate_index(f'{kind}_{corner}')
            over_z, over_s = c[1] + 2 * c[2] * z + c[5] * s, c[3] + 2 * c[4] * s + c[5] * z
            q[:, k] = c[0] + c[1] * z + c[2] * z**2 + c[3] * s + c[4] * s**2 + c[5] * z * s
            qd[:, k] = over_z * zd + over_s * sd
            qdd[:, k] = (
                over_z * zdd
                + over_s * sdd
                + 2 * c[2] * zd**2
                + 2 * c[4] * sd**2
                + 2 * c[5] * zd * sd
            )
    return floating_base_motion(q, qd, qdd, record.specific_force, record.omega, record.omega_dot)


def suspension_forces(record: CarRecord) -> Array:
    """The contract's formula with the true parameters; valid in the linear range."""
    p, forces = record.vehicle.parameters(), np.empty((len(record.t), 4))
    for i in range(4):
        q, qd, opposite = record.travel[:, i], record.travel_rate[:, i], record.travel[:, i ^ 1]
        bar = p['karf'] if i < 2 else p['karr']
        forces[:, i] = (
            p[f'k{i + 1}'] * q
            + p[f'h{i + 1}'] * qd
            + p[f'off{i + 1}']
            + p[f'fs{i + 1}'] * np.tanh(qd / record.vehicle.friction_speed)
            + bar * (q - opposite)
        )
    return forces


def in_linear_range(record: CarRecord, i: int) -> NDArray[np.bool_]:
    c, q, qd = record.vehicle.corners[i], record.travel[:, i], record.travel_rate[:, i]
    return (q < c.bump) & (q > -c.rebound) & (qd < c.knee_bump) & (qd > -c.knee_rebound)


def test_ten_equations_hold_exactly(rough_run: CarRecord) -> None:
    tree = tree_of(rough_run.vehicle)
    motion = motion_of(rough_run, tree)
    wheels = [
        ExternalWrench(tree.frame(f'zeta_{corner}'), rough_run.wrench[:, i])
        for i, corner in enumerate(CORNERS)
    ]
    speed = (rough_run.velocity[:, :2] ** 2).sum(axis=1)
    air = ExternalWrench(tree.frame('chassis'), -np.array(rough_run.vehicle.air) * speed[:, None])
    needed = inverse_dynamics(tree, motion)
    left = inverse_dynamics(tree, motion, wrenches=[*wheels, air])
    size = np.abs(needed[:, :6]).max(axis=0)
    assert np.all(np.abs(left[:, :6]).max(axis=0) < 1e-10 * size)
    push = suspension_forces(rough_run)
    for i, corner in enumerate(CORNERS):
        row = left[:, 6 + tree.coordinate_index(f'z_{corner}')] + push[:, i]
        linear = in_linear_range(rough_run, i)
        assert linear.mean() > 0.95
        assert np.abs(row[linear]).max() < 1e-10 * np.abs(push[:, i]).max()


def test_all_33_parameters_follow_from_the_exact_record(rough_run: CarRecord) -> None:
    """Least squares on exact kinematics: nothing of the truth is hidden or mislabelled."""
    tree = tree_of(rough_run.vehicle)
    motion = motion_of(rough_run, tree)
    wheels = [
        ExternalWrench(tree.frame(f'zeta_{corner}'), rough_run.wrench[:, i])
        for i, corner in enumerate(CORNERS)
    ]
    truth = rough_run.vehicle.parameters()
    p = np.zeros_like(tree.parameters)
    empty = -inverse_dynamics(tree, motion, p, wrenches=wheels)  # what the wheels supply
    rows = [*range(6), *(6 + tree.coordinate_index(f'z_{corner}') for corner in CORNERS)]
    columns, names = [], []
    order = ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'XYc', 'XZc', 'YYc', 'YZc', 'ZZc')
    places = [(0, k) for k in range(10)] + [
        (tree.body_index(f'zeta_{corner}'), 0) for corner in CORNERS
    ]
    for name, place in zip((*order, 'M1', 'M2', 'M3', 'M4'), places, strict=True):
        p[:] = 0.0
        p[place] = 1.0
        columns.append(inverse_dynamics(tree, motion, p)[:, rows])
        names.append(name)
    for i in range(4):
        q, qd = rough_run.travel[:, i], rough_run.travel_rate[:, i]
        sign = np.tanh(qd / rough_run.vehicle.friction_speed)
        for kind, values in (('k', q), ('h', qd), ('fs', sign), ('off', np.ones_like(q))):
            column = np.zeros_like(columns[0])
            column[:, 6 + i] = values
            columns.append(column)
            names.append(f'{kind}{i + 1}')
    for name, (left, right) in (('karf', (0, 1)), ('karr', (2, 3))):
        column = np.zeros_like(columns[0])
        column[:, 6 + left] = rough_run.travel[:, left] - rough_run.travel[:, right]
        column[:, 6 + right] = -column[:, 6 + left]
        columns.append(column)
        names.append(name)
    speed = (rough_run.velocity[:, :2] ** 2).sum(axis=1)
    for k in range(6):
        column = np.zeros_like(columns[0])
        column[:, k] = speed
        columns.append(column)
        names.append(('Cx', 'Cy', 'Cz', 'Cl', 'Cm', 'Cn')[k])
    keep = np.all([in_linear_range(rough_run, i) for i in range(4)], axis=0)
    W = np.stack(columns, axis=2)[keep].reshape(-1, len(names))
    Y = empty[:, rows][keep].reshape(-1)
    scale = np.linalg.norm(W, axis=0)
    found = dict(zip(names, np.linalg.lstsq(W / scale, Y, rcond=None)[0] / scale, strict=True))
    assert set(truth) == set(names) - {'Cy', 'Cz', 'Cl', 'Cm', 'Cn'}
    for name, value in truth.items():
        assert found[name] == pytest.approx(value, rel=1e-6, abs=1e-4), name
    assert found['Cz'] == pytest.approx(-0.01, abs=1e-6)
