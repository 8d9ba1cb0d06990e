from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import inertia_matrix
from veh_identification.multibody.natural import NaturalBuilder, masses
from veh_identification.multibody.natural.packing import mass_matrix


def rigid_motion(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    R, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    R *= np.sign(np.linalg.det(R))
    omega, velocity = rng.standard_normal(3), rng.standard_normal(3)
    return R, omega, velocity


@pytest.mark.parametrize(
    'elements',
    [
        [
            ('vector', (1, 0, 0)),
            ('point', (0, 0, 0)),
            ('vector', (0, 1, 0)),
            ('vector', (0, 0, 1)),
        ],
        [
            ('point', (0.2, 0.1, -0.3)),
            ('point', (1, 0, 0)),
            ('vector', (0.1, 1, 0)),
            ('point', (0.3, 0.3, 1.2)),
        ],
        [('point', (0, 0, 0)), ('point', (1, 0, 0)), ('point', (0, 2, 0)), ('point', (0.5, 0, 3))],
    ],
)
def test_kinetic_energy_of_any_basis_is_that_of_the_rigid_body(elements, box):
    parameters = box(4.0, 0.7)
    J, m, moments = inertia_matrix(parameters), parameters[0], parameters[1:4]
    B = masses.basis_matrix('b', [e[1] for e in elements], [e[0] for e in elements])
    M = masses.spatial_mass('b', parameters, B)
    R, omega, velocity = rigid_motion(np.random.default_rng(3))
    rates = np.array([np.cross(omega, R @ B[:3, k]) + B[3, k] * velocity for k in range(4)])
    energy = 0.5 * np.einsum('ia,ij,ja->', rates, M, rates)
    local = R.T @ omega
    expected = (
        0.5 * m * velocity @ velocity
        + velocity @ np.cross(omega, R @ moments)
        + 0.5 * local @ J @ local
    )
    assert energy == pytest.approx(expected, rel=1e-12)


def test_the_planar_mass_matrix_is_equation_27():
    m, moment, L, x, y = 3.0, 5.0, 2.0, 0.7, 0.4
    b = NaturalBuilder(2, (0.0, 0.0))
    first, second = b.point('1', (0.0, 0.0)), b.point('2', (2.0, 0.0))
    b.planar_body('bar', first, second, L, mass=m, centre=(x, y), inertia=moment)
    a, c, d = m - 2 * m * x / L + moment / L**2, m * x / L - moment / L**2, m * y / L
    expected = [[a, 0, c, -d], [0, a, d, c], [c, d, moment / L**2, 0], [-d, c, 0, moment / L**2]]
    assert np.allclose(mass_matrix(b.description), expected, atol=1e-14)


def test_rod_and_lamina_integrate_their_mass():
    rng = np.random.default_rng(5)
    points = rng.random((4000, 2)) @ np.array([[1.0, 0.2], [0.1, 0.8]])
    corners = np.array([[0.0, 0.0], [1.1, 0.1], [0.3, 0.9]])
    mass = 2.0
    centre = points.mean(axis=0)
    spread = points - centre
    xx, xy, yy = mass * np.array(
        [(spread[:, 0] ** 2).mean(), spread.prod(axis=1).mean(), (spread[:, 1] ** 2).mean()]
    )
    M = masses.lamina_mass(mass, corners, centre, [xx, xy, yy])
    rates = rng.standard_normal((3, 3))
    weights = np.linalg.solve(
        np.vstack([corners.T, np.ones(3)]), np.vstack([points.T, np.ones(len(points))])
    )
    energy = 0.5 * mass * np.mean(np.sum((weights.T @ rates) ** 2, axis=1))
    assert 0.5 * np.einsum('ia,ij,ja->', rates, M, rates) == pytest.approx(energy, rel=1e-12)
    assert np.allclose(masses.rod_mass('r', 6.0, 1.0, 8.0, 2.0), [[2, 1], [1, 2]])


def test_a_spring_scale_weighs_the_whole_system(spatial):
    """Virtual power of gravity: lifting everything by 1 m costs the total weight."""
    R = spatial.r_matrices()[0]
    from veh_identification.multibody.natural.packing import gravity_force

    weight = gravity_force(spatial.description) @ R[:, 2]
    assert weight == pytest.approx(-9.81 * 24.5, rel=1e-12)


def test_impossible_bodies_are_refused():
    b = NaturalBuilder(3, (0.0, 0.0, -9.81))
    with pytest.raises(ModelError, match=r"'bad'.*no possible body"):
        b.free_body('bad', [1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 3.0], (0, 0, 0))
    with pytest.raises(ModelError, match=r"'flat'.*one plane"):
        masses.basis_matrix(
            'flat',
            [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)],
            ['point', 'vector', 'vector', 'vector'],
        )
    with pytest.raises(ModelError, match=r"'p'.*impossible"):
        masses.planar_mass('p', 2.0, (1.0, 0.0), 1.0)
    b2 = NaturalBuilder(2, (0.0, -9.81))
    with pytest.raises(ModelError, match=r'length must be positive, found 0'):
        b2.planar_body(
            'bar',
            b2.fixed((0, 0)),
            b2.point('1', (1, 0)),
            0.0,
            mass=1.0,
            centre=(0, 0),
            inertia=1.0,
        )
