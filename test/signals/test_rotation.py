from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import ZeroPhaseFilter
from veh_identification.signals.rotation import (
    align_sign,
    angular_rates,
    base_motion,
    filter_orientation,
    multiply,
    rotation_matrix,
    unwrap_quaternions,
)

RATE = 200.0
T = np.arange(4000) / RATE


def tumbling(t):
    """Orientation with large turns about all axes, its body rates and their derivative."""
    # Body rates of an intrinsic z-y-x sequence, by hand from the angles' derivatives.
    a = np.stack([2.0 * t, 0.8 * np.sin(1.1 * t), 1.5 * np.sin(0.7 * t + 0.3)])
    d = np.stack([np.full_like(t, 2.0), 0.88 * np.cos(1.1 * t), 1.05 * np.cos(0.7 * t + 0.3)])
    q = Rotation.from_euler('ZYX', a.T).as_quat()
    _, pitch, roll = a
    omega = np.stack(
        [
            d[2] - d[0] * np.sin(pitch),
            d[1] * np.cos(roll) + d[0] * np.cos(pitch) * np.sin(roll),
            -d[1] * np.sin(roll) + d[0] * np.cos(pitch) * np.cos(roll),
        ],
        axis=1,
    )
    return q, omega


def test_product_and_matrix_agree_with_scipy():
    rng = np.random.default_rng(0)
    p, q = (Rotation.from_quat(rng.standard_normal((20, 4))) for _ in range(2))
    np.testing.assert_allclose(
        rotation_matrix(multiply(p.as_quat(), q.as_quat())), (p * q).as_matrix(), atol=1e-14
    )
    np.testing.assert_allclose(rotation_matrix(3.0 * p.as_quat()), p.as_matrix(), atol=1e-14)


def test_large_turns_with_random_signs():
    rng = np.random.default_rng(1)
    q, omega = tumbling(T)
    flipped = q * rng.choice([-1.0, 1.0], len(q))[:, None]
    step = 1e-5
    alpha = (tumbling(T + step)[1] - tumbling(T - step)[1]) / (2 * step)
    low_pass = ZeroPhaseFilter(RATE, 12.0)
    smooth, got_omega, got_alpha, valid = filter_orientation(flipped, low_pass)
    assert valid.mean() > 0.9
    assert np.abs(got_omega - omega)[valid].max() < 1e-4
    assert np.abs(got_alpha - alpha)[valid].max() < 5e-3
    np.testing.assert_allclose(np.linalg.norm(smooth[valid], axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        rotation_matrix(smooth)[valid], rotation_matrix(q)[valid], atol=1e-5
    )


def test_steady_spin_passes_a_low_cutoff_unchanged():
    omega = np.array([1.0, -2.0, 3.0])
    q = Rotation.from_rotvec(np.outer(T, omega)).as_quat()
    # 0.6 Hz spin, half of it in the quaternion: the cut-off of 0.5 Hz takes amplitude, not rate.
    _, got, change, valid = filter_orientation(q, ZeroPhaseFilter(RATE, 0.5, order=2))
    assert np.abs(got - omega)[valid].max() < 5e-3
    assert np.abs(change)[valid].max() < 3e-2


def test_rates_in_world_and_body_axes_are_one_vector():
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.standard_normal((3, 10, 4))
    matrices = rotation_matrix(q)
    world, body = angular_rates(q, qd, qdd), angular_rates(q, qd, qdd, frame='body')
    for a, b in zip(world, body, strict=True):
        np.testing.assert_allclose(a, np.einsum('nij,nj->ni', matrices, b), atol=1e-12)


def test_base_motion_of_a_circle():
    radius, rate = 2.0, 0.9
    position = np.stack(
        [radius * np.cos(rate * T), radius * np.sin(rate * T), np.zeros_like(T)], axis=1
    )
    q = Rotation.from_euler('Z', rate * T[:, None]).as_quat()
    motion = base_motion(position, q, ZeroPhaseFilter(RATE, 8.0))
    kept = motion.valid
    expected = {
        'velocity_body': [0.0, radius * rate, 0.0],
        'acceleration_body': [-radius * rate**2, 0.0, 0.0],
        'angular_velocity': [0.0, 0.0, rate],
        'angular_acceleration': [0.0, 0.0, 0.0],
    }
    for name, want in expected.items():
        got = getattr(motion, name)[kept]
        # The transient's tolerance is 1e-3 of the signal.
        assert np.abs(got - np.array(want)).max() < 1e-3 * radius, name


def test_unwrap_keeps_gaps_and_refuses_empty_quaternions():
    q = tumbling(T[:100])[0]
    q[40:50] = np.nan
    valid = np.isfinite(q).all(axis=1)
    out = unwrap_quaternions(q, valid)
    assert np.isnan(out[40:50]).all()
    assert np.isfinite(out[valid]).all()
    q[10] = 0.0
    with pytest.raises(SignalError, match='quaternion 10 has no length'):
        unwrap_quaternions(q, valid)
    with pytest.raises(SignalError, match=r'\(N, 4\) expected'):
        unwrap_quaternions(np.zeros((3, 3)))
    with pytest.raises(SignalError, match="found 'sensor'"):
        angular_rates(q, q, q, frame='sensor')


def test_align_sign():
    np.testing.assert_array_equal(align_sign([0, 0, 0, 1.0], [0, 0, 0, -1.0]), [0, 0, 0, 1.0])
    np.testing.assert_array_equal(align_sign([0, 0, 0, 1.0], [0, 0, 0, 1.0]), [0, 0, 0, 1.0])
