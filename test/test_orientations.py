"""Orientations: conventions by elementary matrices, values by scipy, both libraries."""

from __future__ import annotations

import importlib.util
import math
import sys
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from transforms3d import euler, quaternions

from veh_identification import orientations


def loaded_anew() -> ModuleType:
    """Another copy of the module, which looks for its library again."""
    spec = importlib.util.spec_from_file_location('orientations_anew', orientations.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ros_library(asked: list[str]) -> ModuleType:
    """What tf_transformations is: transforms3d with the scalar last and matrices (4, 4)."""

    def affine(matrix: np.ndarray) -> np.ndarray:
        whole = np.eye(4)
        whole[:3, :3] = matrix
        return whole

    def last(q: np.ndarray) -> np.ndarray:
        return np.array([q[1], q[2], q[3], q[0]])

    def first(q: np.ndarray) -> list[float]:
        return [q[3], q[0], q[1], q[2]]

    module = ModuleType('tf_transformations')
    functions = {
        'euler_from_matrix': lambda matrix, axes='sxyz': euler.mat2euler(matrix[:3, :3], axes),
        'euler_matrix': lambda *rpy, axes='sxyz': affine(euler.euler2mat(*rpy, axes)),
        'quaternion_from_euler': lambda *rpy, axes='sxyz': last(euler.euler2quat(*rpy, axes)),
        'quaternion_from_matrix': lambda matrix: last(quaternions.mat2quat(matrix[:3, :3])),
        'quaternion_matrix': lambda q: affine(quaternions.quat2mat(first(q))),
    }
    for name, function in functions.items():

        def counted(*arguments, name=name, function=function):
            asked.append(name)
            return function(*arguments)

        setattr(module, name, counted)
    return module


@pytest.fixture(params=['transforms3d', 'tf_transformations'])
def library(request, monkeypatch):
    """The module with one of its two libraries, and the calls of ROS' one."""
    asked: list[str] = []
    if request.param == 'transforms3d':
        monkeypatch.setitem(sys.modules, 'tf_transformations', None)
    else:
        monkeypatch.setitem(sys.modules, 'tf_transformations', ros_library(asked))
    yield loaded_anew()
    assert bool(asked) == (request.param == 'tf_transformations')


def test_rpy_is_the_urdf_convention(library) -> None:
    """R = Rz(yaw) Ry(pitch) Rx(roll), built from elementary matrices."""
    r, p, y = 0.3, -0.5, 1.1
    Rx = np.array([[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]])
    Ry = np.array([[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]])
    Rz = np.array([[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]])
    np.testing.assert_allclose(library.matrix_of_rpy((r, p, y)), Rz @ Ry @ Rx, atol=1e-15)
    quaternion = library.quaternion_of_rpy((r, p, y))
    np.testing.assert_allclose(library.matrix_of_quaternion(quaternion), Rz @ Ry @ Rx, atol=1e-15)
    assert library.rpy_of_quaternion(quaternion) == pytest.approx((r, p, y))


def test_values_are_those_of_scipy(library) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        turn = Rotation.from_quat(rng.normal(size=4))
        matrix, rpy = turn.as_matrix(), turn.as_euler('xyz')
        quaternion = turn.as_quat(canonical=True)
        np.testing.assert_allclose(library.quaternion_of_matrix(matrix), quaternion, atol=1e-12)
        np.testing.assert_allclose(
            library.matrix_of_quaternion(1e-9 * quaternion), matrix, atol=1e-12
        )
        np.testing.assert_allclose(library.rpy_of_matrix(matrix), rpy, atol=1e-12)
        np.testing.assert_allclose(library.matrix_of_rpy(rpy), matrix, atol=1e-12)
        found = np.array(library.quaternion_of_rpy(rpy))
        np.testing.assert_allclose(found * np.sign(found @ quaternion), quaternion, atol=1e-12)


def test_results_are_plain_floats(library) -> None:
    for values in (
        library.quaternion_of_matrix(np.eye(3)),
        library.quaternion_of_rpy([0, 0, 0]),
        library.rpy_of_quaternion([0, 0, 0, 2]),
    ):
        assert type(values) is tuple and {type(value) for value in values} == {float}


def test_products_of_floats_are_those_of_scipy() -> None:
    rng = np.random.default_rng(4)
    a, b = (Rotation.from_quat(rng.normal(size=4)) for _ in range(2))
    p, q = (tuple(one.as_quat().tolist()) for one in (a, b))
    vector = (1.0, -2.0, 3.0)
    product = Rotation.from_quat(orientations.multiply(p, q))
    np.testing.assert_allclose(product.as_matrix(), (a * b).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(orientations.rotate(p, vector), a.apply(vector), atol=1e-14)
    back = orientations.rotate(orientations.conjugate(p), orientations.rotate(p, vector))
    np.testing.assert_allclose(back, vector, atol=1e-14)
    doubled = (2 * p[0], 2 * p[1], 2 * p[2], 2 * p[3])
    assert not orientations.is_unit(doubled)
    assert not orientations.is_unit((math.nan, 0.0, 0.0, 1.0))
    assert orientations.normalise(doubled) == pytest.approx(p)
