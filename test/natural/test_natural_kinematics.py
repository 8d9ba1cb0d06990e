from __future__ import annotations

import numpy as np
import pytest

from veh_identification.multibody.natural import NaturalModel

STEP = 1e-6


def moved(model: NaturalModel, state, z, zd, zdd) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    model.restore(state)
    model.set_independent(z, zd, zdd)
    return model.q.copy(), model.qd.copy(), model.qdd.copy()


def test_the_assembled_state_meets_all_constraints(spatial):
    J = spatial.jacobian()
    assert spatial.q.size == 24
    assert J.shape[0] == 24 - 8
    assert np.abs(spatial.residual()).max() < 1e-11
    assert np.abs(J @ spatial.qd).max() < 1e-11


def test_the_jacobian_is_the_derivative_of_the_residual(spatial):
    J = spatial.jacobian()
    q = spatial.q.copy()
    for k in range(q.size):
        spatial.q[:] = q
        spatial.q[k] += STEP
        upper = spatial.residual()
        spatial.q[k] -= 2 * STEP
        lower = spatial.residual()
        assert np.allclose((upper - lower) / (2 * STEP), J[:, k], atol=1e-8)


def test_the_r_matrix_is_the_derivative_of_the_pose(spatial):
    R = spatial.r_matrices()[0]
    assert np.abs(spatial.jacobian() @ R).max() < 1e-10
    assert np.allclose(R[spatial.independent], np.eye(8), atol=1e-12)
    state, z, zd, zdd = spatial.state(), spatial.z, spatial.zd, spatial.zdd
    for k in range(8):
        unit = STEP * np.eye(8)[k]
        difference = (
            moved(spatial, state, z + unit, zd, zdd)[0]
            - moved(spatial, state, z - unit, zd, zdd)[0]
        ) / (2 * STEP)
        assert np.allclose(difference, R[:, k], atol=1e-7)


def test_rates_and_accelerations_depend_on_z_through_the_derivatives_of_r(spatial):
    """dq'/dz = R' (107), dq''/dz = R'', dq''/dz' = 2 R', dq''/dz'' = R."""
    R, Rd, Rdd = spatial.r_matrices(order=2)
    state, z, zd, zdd = spatial.state(), spatial.z, spatial.zd, spatial.zdd
    for k in range(8):
        unit = STEP * np.eye(8)[k]
        up, down = (moved(spatial, state, z + s * unit, zd, zdd) for s in (1, -1))
        assert np.allclose((up[1] - down[1]) / (2 * STEP), Rd[:, k], atol=1e-6)
        assert np.allclose((up[2] - down[2]) / (2 * STEP), Rdd[:, k], atol=1e-5)
        up, down = (moved(spatial, state, z, zd + s * unit, zdd) for s in (1, -1))
        assert np.allclose((up[1] - down[1]) / (2 * STEP), R[:, k], atol=1e-6)
        assert np.allclose((up[2] - down[2]) / (2 * STEP), 2 * Rd[:, k], atol=1e-5)
        up, down = (moved(spatial, state, z, zd, zdd + s * unit) for s in (1, -1))
        assert np.allclose((up[2] - down[2]) / (2 * STEP), R[:, k], atol=1e-6)


def test_the_acceleration_problem_is_the_second_derivative_of_the_constraints(spatial):
    """q + h q' + h^2/2 q'' leaves the constraints only in third order."""
    h = 1e-4
    spatial.q += h * spatial.qd + 0.5 * h**2 * spatial.qdd
    assert np.abs(spatial.residual()).max() < 1e-9


def test_r_matrices_of_chosen_columns_are_columns_of_all(spatial):
    chosen = np.array([6, 1])
    some = spatial.r_matrices(chosen, 2)
    whole = spatial.r_matrices(order=2)
    for part, full in zip(some, whole, strict=True):
        assert np.allclose(part, full[:, chosen], atol=1e-12)


def test_a_failed_position_problem_leaves_the_state(spatial):
    from veh_identification.errors import EstimationError

    state = spatial.state()
    z = spatial.z
    z[3:6] = 3.0  # components of unit vectors cannot be this long
    with pytest.raises(EstimationError, match=r'constraint|diverges'):
        spatial.set_independent(z, spatial.zd, spatial.zdd)
    assert np.array_equal(spatial.q, state.q)
    assert np.array_equal(spatial.qd, state.qd)
