"""Forces of springs in space, and the matrix M + dt/2 C + dt^2/4 K against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.multibody.natural import NaturalBuilder, NaturalModel, forces, kinematics
from veh_identification.multibody.natural import packing as pk

BY_RATE, BY_POSITION = 0.03, 0.4


def test_a_spring_in_space_pulls_along_its_line():
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))
    p = b.point('p', (1.0, 2.0, -2.0))
    b.point_mass(p, 2.0)
    b.spring('s', b.fixed((0.0, 0.0, 1.0)), p, stiffness=50.0, damping=3.0, free_length=1.5)
    model = NaturalModel(b, ['p.x', 'p.y', 'p.z'])
    place, speed = np.array([1.0, 2.0, -2.0]), np.array([0.3, -0.2, 0.7])
    model.assemble(place, speed)
    line = place - np.array([0.0, 0.0, 1.0])
    length = np.sqrt(1.0 + 4.0 + 9.0)
    pull = 50.0 * (length - 1.5) + 3.0 * (line @ speed) / length
    exact = np.array([0.0, 0.0, -9.81]) - pull * line / length / 2.0
    assert model.qdd == pytest.approx(exact, abs=1e-10)


def applied(model: NaturalModel, wrenches: np.ndarray) -> np.ndarray:
    """Generalised forces, of which a Newton-Euler test of its own is sure."""
    kinematics.evaluate(model.memory, model.drive, model.q)
    kinematics.evaluate_forms(model.memory, model.qd, False, pk.RATE)
    zero = np.zeros(model.q.size)
    forces.generalised_forces(model.memory, model.q, model.qd, zero, wrenches, model.loads.bodies)
    return model._scratch(pk.FORCE).copy()


def point_rows(model: NaturalModel, number: int, point: np.ndarray) -> np.ndarray:
    """d(point)/dq (3, n) of a loaded body, by the forces that unit forces there are."""
    plain = np.zeros_like(model.loads.wrenches)
    still, rows = applied(model, plain), []
    for axis in range(3):
        one = plain.copy()
        one[number, axis], one[number, 3:6] = 1.0, point
        rows.append(applied(model, one) - still)
    return np.array(rows)


@pytest.fixture
def loaded(spatial, rng=11):
    """Bushings at points of two bodies, a stiffness of every coordinate; and what D must be."""
    model, draw = spatial, np.random.default_rng(rng)
    n = model.q.size
    wrenches, tangents = np.zeros_like(model.loads.wrenches), draw.uniform(1.0, 5.0, (2, n))
    exact = model.mass + np.diag(BY_POSITION * tangents[0] + BY_RATE * tangents[1])
    for number, point in enumerate(([0.2, -0.3, 0.5], [0.0, 0.4, -0.1])):
        halves = draw.uniform(-1.0, 1.0, (2, 3, 3))
        stiffness, damping = (20.0 * half @ half.T for half in halves)
        wrenches[number, 3:6] = point
        wrenches[number, 9:18], wrenches[number, 18:27] = stiffness.ravel(), damping.ravel()
        rows = point_rows(model, number, np.array(point))
        exact = exact + rows.T @ (BY_POSITION * stiffness + BY_RATE * damping) @ rows
    # the strut: stiffness and damping along its line
    slider, tip = (
        np.array([model.names.index(f'{p}.{x}') for x in 'xyz']) for p in ('slider', 'tip')
    )
    line = model.q[tip] - model.q[slider]
    along = np.zeros(n)
    along[tip], along[slider] = line / np.linalg.norm(line), -line / np.linalg.norm(line)
    exact = exact + BY_POSITION * 300.0 * np.outer(along, along)
    kinematics.evaluate(model.memory, model.drive, model.q)
    forces.assemble_dynamic_part(
        model.memory, BY_RATE, BY_POSITION, tangents, wrenches, model.loads.bodies
    )
    return model, exact


def test_the_product_is_that_of_the_definition(loaded):
    model, exact = loaded
    n = model.q.size
    found, out = np.empty((n, n)), np.empty(n)
    for column, unit in enumerate(np.eye(n)):
        forces.dynamic_part_times(model.memory, model.loads.bodies, unit, out)
        found[:, column] = out
    assert found == pytest.approx(exact, rel=1e-10, abs=1e-10)


def test_the_matrix_that_is_factorised_is_the_same(loaded):
    model, exact = loaded
    assert kinematics.factorise(model.memory, 1e-12, 0.0) < 0
    wanted, found = np.random.default_rng(2).standard_normal(model.q.size), np.empty(model.q.size)
    kinematics.solve(model.memory, exact @ wanted, found)
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-8)
