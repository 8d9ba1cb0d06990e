from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel, cholesky, joints
from veh_identification.multibody.natural.symbolic import adjacency, analyse, minimum_degree

FREE = ['b.origin.x', 'b.origin.y', 'b.origin.z', 'b.e1.y', 'b.e1.z', 'b.e2.z']


def ground_and_body(box) -> tuple[NaturalBuilder, object]:
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))
    return b, b.free_body('b', box(2.0, 0.3), (0.0, 0.0, 0.0))


def freedom(b: NaturalBuilder, independent: list[str]) -> int:
    model = NaturalModel(b, independent)
    model.assemble()
    return model.q.size - np.linalg.matrix_rank(model.jacobian())


@pytest.mark.parametrize(
    ('kind', 'left'),
    [
        ('spherical', ['b.e1.y', 'b.e1.z', 'b.e2.z']),
        ('revolute', ['b.e1.y']),
        ('universal', ['b.e1.y', 'b.e2.z']),
        ('cylindrical', ['b.origin.z', 'b.e1.y']),
        ('prismatic', ['b.origin.z']),
        ('distance', [*FREE[1:]]),
    ],
)
def test_joints_leave_the_right_freedom(kind, left, box):
    b, body = ground_and_body(box)
    o, x, y, z = (b.fixed(v) for v in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)))
    e = [body.vector(v) for v in np.eye(3)]
    if kind == 'spherical':
        joints.spherical(b, 'j', o, body.origin)
    elif kind == 'revolute':
        joints.revolute(b, 'j', o, body.origin, e[2], (x, y))
    elif kind == 'universal':
        joints.universal(b, 'j', o, body.origin, z, e[0])
    elif kind == 'cylindrical':
        joints.cylindrical(b, 'j', o, (x, y), body.origin, e[2])
    elif kind == 'prismatic':
        joints.prismatic(b, 'j', o, (x, y), body.origin, e[2], (x, e[1]))
    else:
        joints.constant_distance(b, 'j', b.fixed((1, 0, 0)), body.origin, 1.0)
    assert freedom(b, left) == len(left)


def test_planar_slider_crank_moves_as_its_formula():
    b = NaturalBuilder(2, (0.0, 0.0))
    o, p, s = b.fixed((0, 0)), b.point('p', (1, 0.1)), b.point('s', (3.9, 0))
    q = b.point('q', (4.9, 0.0))
    b.planar_body('crank', o, p, 1.0, mass=1.0, centre=(0.5, 0), inertia=1 / 3)
    b.planar_body('rod', p, s, 3.0, mass=1.0, centre=(1.5, 0), inertia=3.0)
    b.planar_body('slider', s, q, 1.0, mass=1.0, centre=(0.5, 0), inertia=1 / 3)
    joints.prismatic(b, 'guide', o, (b.fixed((0, 1)),), s, q - s)
    b.angle('crank', (b.fixed((1, 0)), b.fixed((0, 1))), p - o, 0.1)
    model = NaturalModel(b, ['crank'])
    model.assemble([0.7], [2.0])
    a = 0.7
    root = np.sqrt(9 - np.sin(a) ** 2)
    assert model.q[2] == pytest.approx(np.cos(a) + root, abs=1e-12)
    assert model.qd[2] == pytest.approx(2 * (-np.sin(a) - np.sin(a) * np.cos(a) / root), abs=1e-12)


def test_sharing_a_vector_needs_no_second_unit_constraint(spatial):
    names = spatial.constraint_names
    assert 'arm rigid 11' not in names  # base.e2 is already a unit vector
    assert [c.name for c in spatial.description.implied] == ['arm rigid 11']


def test_a_redundant_constraint_is_named(box):
    b, body = ground_and_body(box)
    joints.spherical(b, 'ball', b.fixed((0, 0, 0)), body.origin)
    b.dot('again', body.vector((1, 1, 0)), body.vector((1, 1, 0)), 2.0)
    with pytest.raises(ModelError, match=r"constraint 'again' is redundant.*'b rigid"):
        NaturalModel(b, ['b.e1.y', 'b.e1.z', 'b.e2.z']).assemble()


def test_bodies_that_disagree_about_a_shared_vector_are_refused(box):
    b, body = ground_and_body(box)
    b.body(
        'wheel',
        [
            (body.origin, 'point', (0, 0, 0)),
            (body.vector((0, 1, 0)), 'vector', (0, 1.5, 0)),
            (b.vector('w1', (1, 0, 0)), 'vector', (1, 0, 0)),
            (b.vector('w3', (0, 0, 1)), 'vector', (0, 0, 1)),
        ],
        box(1.0, 0.2),
    )
    with pytest.raises(ModelError, match=r"'wheel rigid 11' asks for 2.25"):
        NaturalModel(b, [*FREE, 'w1.z']).assemble()


def test_impossible_geometry_names_the_constraint():
    b = NaturalBuilder(2, (0.0, -9.81))
    p = b.point('p', (1.0, 1.0))
    joints.constant_distance(b, 'left', b.fixed((0, 0)), p, 1.0)
    joints.constant_distance(b, 'right', b.fixed((5, 0)), p, 1.0)
    b.point_mass(p, 1.0)
    with pytest.raises(ModelError, match=r"cannot be assembled: constraint '(left|right) length'"):
        NaturalModel(b, []).assemble()
    with pytest.raises(ModelError, match=r"link 'x' must be a positive length.*found 0"):
        joints.constant_distance(b, 'x', b.fixed((0, 0)), p, 0.0)


def test_a_singular_pose_says_what_can_still_move():
    b = NaturalBuilder(2, (0.0, 0.0))
    o, p, s = b.fixed((0, 0)), b.point('p', (0.75, 0.6)), b.point('s', (1.5, 0))
    b.planar_body('crank', o, p, 1.0, mass=1.0, centre=(0.5, 0), inertia=1 / 3)
    b.planar_body('rod', p, s, 1.0, mass=1.0, centre=(0.5, 0), inertia=1 / 3)
    b.linear('guide', s, 1)
    model = NaturalModel(b, ['s.x'])
    model.assemble([1.5], [0.0])
    with pytest.raises(EstimationError, match=r'singular: with s.x given, p.y can still move'):
        model.set_independent(np.array([2.0]), np.zeros(1), np.zeros(1))
        model.r_matrices()


def test_too_few_independent_coordinates_are_refused(box):
    b, _ = ground_and_body(box)
    with pytest.raises(ModelError, match=r'leave 6 degrees of freedom, but only 2'):
        NaturalModel(b, FREE[:2])
    with pytest.raises(ModelError, match=r"no coordinate 'b.e9.x'"):
        NaturalModel(b, ['b.e9.x'])


def test_names_and_numbers_are_checked():
    b = NaturalBuilder(2, (0.0, 0.0))
    b.point('p', (0, 0))
    with pytest.raises(ModelError, match=r"'p.x' is defined twice"):
        b.point('p', (0, 0))
    with pytest.raises(ModelError, match=r'must be finite'):
        b.point('n', (float('nan'), 0))
    with pytest.raises(ModelError, match=r'needs 2 components, found 3'):
        b.point('t', (0, 0, 0))
    with pytest.raises(ModelError, match=r'dimension must be 2 or 3'):
        NaturalBuilder(4, (0, 0))
    with pytest.raises(ModelError, match=r'start above zero'):
        b.distance('d', b.fixed((0, 0)), b.fixed((1, 0)), 0.0)


def test_the_sparse_factor_solves_like_the_dense_one(spatial):
    from veh_identification.multibody.natural import kinematics

    spatial.r_matrices()
    J = spatial.jacobian()
    B = np.eye(spatial.q.size)[spatial.independent]
    right = np.random.default_rng(0).standard_normal(spatial.q.size)
    result = np.empty_like(right)
    kinematics.solve(spatial.memory, right, result)
    assert np.allclose(result, np.linalg.solve(J.T @ J + B.T @ B, right), atol=1e-9)


def test_the_factor_of_a_chain_has_no_fill():
    order, later = minimum_degree(adjacency(10, [(k, k + 1) for k in range(9)]))
    assert sorted(order) == list(range(10))
    assert sum(len(others) for others in later) == 9


def test_fronts_solve_a_matrix_of_overlapping_cliques():
    # four chains of ten that meet in a common block of six: corners and a chassis
    rng, size = np.random.default_rng(5), 46
    cliques = [
        [10 * corner + k + i for i in range(3)] for corner in range(4) for k in range(8)
    ] + [[10 * corner + 9, 10 * corner + 8, *range(40, 46)] for corner in range(4)]
    pattern = analyse(size, cliques)
    matrix, A = np.zeros(pattern.entries), np.eye(size)
    for clique in cliques:
        row = np.zeros(size)
        row[clique] = rng.standard_normal(len(clique))
        A += np.outer(row, row)
    for i in range(size):
        for j in range(i + 1):
            if A[i, j] != 0.0:
                matrix[pattern.slot(i, j)] = A[i, j]
    assert len(pattern.fronts) > 4 and pattern.fronts[:, 1].sum() == size
    diagonal = np.diag(A)[pattern.permutation].copy()
    fronts, right = pattern.fronts.ravel(), rng.standard_normal(size)
    assert cholesky.factorise(fronts, pattern.handed, matrix, diagonal, 1e-14, 0.0) == -1
    found, work, buffer = np.empty(size), np.empty(size), np.empty(size)
    cholesky.solve(
        fronts,
        pattern.border.astype(np.uint64),
        matrix,
        pattern.permutation.astype(np.uint64),
        right,
        work,
        buffer,
        found,
    )
    assert np.allclose(found, np.linalg.solve(A, right), rtol=1e-12, atol=1e-13)


def test_a_pivot_that_vanishes_is_named():
    pattern = analyse(3, [(0, 1), (1, 2)])
    matrix, A = np.zeros(pattern.entries), np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    for i in range(3):
        for j in range(i + 1):
            if A[i, j] != 0.0:
                matrix[pattern.slot(i, j)] = A[i, j]
    bad = cholesky.factorise(
        pattern.fronts.ravel(),
        pattern.handed,
        matrix,
        np.diag(A)[pattern.permutation].copy(),
        1e-12,
        0.0,
    )
    assert bad >= 0 and pattern.permutation[bad] in (0, 1)
