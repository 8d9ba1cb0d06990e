from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multibody_trees import random_rotation

from veh_identification.multibody import inertia

BALL = inertia.from_centre_of_mass(2.0, [0.1, -0.2, 0.3], np.diag([0.4, 0.5, 0.6]))


def point_cloud(seed: int, count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))


def parameters_of_points(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The definition: sums over point masses."""
    x, y, z = points.T
    return np.array(
        [
            masses.sum(),
            *(masses @ points),
            masses @ (y * y + z * z),
            -masses @ (x * y),
            -masses @ (x * z),
            masses @ (x * x + z * z),
            -masses @ (y * z),
            masses @ (x * x + y * y),
        ]
    )


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_pseudo_inertia_is_the_second_moment_of_points(seed: int) -> None:
    masses, points = point_cloud(seed)
    homogeneous = np.hstack([points, np.ones((len(points), 1))])
    parameters = parameters_of_points(masses, points)
    expected = (homogeneous.T * masses) @ homogeneous
    assert np.allclose(inertia.pseudo_inertia(parameters), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(inertia.from_pseudo_inertia(expected), parameters, rtol=1e-12, atol=1e-12)
    assert inertia.consistency_violation(parameters) == ''


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_transport_moves_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses, points = point_cloud(seed)
    rotation, translation = random_rotation(rng), rng.normal(size=3)
    moved = parameters_of_points(masses, points @ rotation.T + translation)
    before = parameters_of_points(masses, points)
    assert np.allclose(inertia.transport(before, rotation, translation), moved, atol=1e-11)
    assert np.allclose(inertia.transport_matrix(rotation, translation) @ before, moved, atol=1e-11)


def test_merge_adds_point_clouds() -> None:
    rng = np.random.default_rng(3)
    first, second = point_cloud(1), point_cloud(2)
    poses = [(random_rotation(rng), rng.normal(size=3)) for _ in range(2)]
    points = np.vstack(
        [cloud[1] @ R.T + t for cloud, (R, t) in zip((first, second), poses, strict=True)]
    )
    expected = parameters_of_points(np.concatenate([first[0], second[0]]), points)
    bodies = np.array([parameters_of_points(*first), parameters_of_points(*second)])
    merged = inertia.merge(
        bodies, np.array([pose[0] for pose in poses]), np.array([pose[1] for pose in poses])
    )
    assert np.allclose(merged, expected, atol=1e-11)


def test_centre_of_mass_undoes_from_centre_of_mass() -> None:
    mass, centre, matrix = inertia.centre_of_mass(BALL)
    assert mass == pytest.approx(2.0)
    assert np.allclose(centre, [0.1, -0.2, 0.3])
    assert np.allclose(matrix, np.diag([0.4, 0.5, 0.6]))


def test_log_cholesky_round_trip_and_always_consistent() -> None:
    theta = np.random.default_rng(0).normal(0.0, 1.0, (500, 10))
    parameters = inertia.from_log_cholesky(theta)
    assert inertia.is_consistent(parameters).all()
    assert np.allclose(inertia.log_cholesky(parameters), theta, atol=1e-8)


def test_log_cholesky_refuses_an_impossible_body() -> None:
    broken = inertia.from_centre_of_mass(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.5]))
    with pytest.raises(np.linalg.LinAlgError):
        inertia.log_cholesky(broken)


@pytest.mark.parametrize(
    ('principal', 'mass', 'reason'),
    [
        ([0.4, 0.5, 0.6], 0.0, 'mass'),
        ([0.4, 0.5, 0.6], -1.0, 'mass'),
        ([-0.1, 0.5, 0.5], 1.0, 'smallest principal moment'),
        ([1.0, 1.0, 2.5], 1.0, 'triangle'),
        ([np.nan, 1.0, 1.0], 1.0, 'not finite'),
    ],
)
def test_violations_are_named(principal: list[float], mass: float, reason: str) -> None:
    body = inertia.from_centre_of_mass(mass, [0.3, 0.2, 0.1], np.diag(principal))
    assert reason in inertia.consistency_violation(body)
    assert not inertia.is_consistent(body)


def test_consistency_is_positive_definiteness_of_the_pseudo_inertia() -> None:
    rng = np.random.default_rng(5)
    bodies = inertia.from_log_cholesky(rng.normal(0.0, 0.7, (400, 10)))
    bodies += rng.normal(0.0, 1.0, bodies.shape) * 0.4
    smallest = np.linalg.eigvalsh(inertia.pseudo_inertia(bodies))[:, 0]
    verdict = inertia.is_consistent(bodies)
    assert np.array_equal(verdict, smallest > 0.0)
    assert 0 < verdict.sum() < len(bodies)
