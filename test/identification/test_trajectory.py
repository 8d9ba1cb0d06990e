from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError, SignalError, UsageError
from veh_identification.identification.trajectory import (
    FourierTrajectory,
    MotionLimits,
    pose_rates,
)
from veh_identification.signals.periodic import spectral_derivatives


def random_trajectory(seed=0, channels=6, harmonics=5):
    rng = np.random.default_rng(seed)
    return FourierTrajectory(
        rng.standard_normal(channels),
        rng.standard_normal((harmonics, channels)),
        rng.standard_normal((harmonics, channels)),
        0.2,
    )


def test_derivatives_agree_with_the_exact_spectral_ones():
    trajectory = random_trajectory()
    truth = trajectory.evaluate(trajectory.sample_times(400))
    got = spectral_derivatives(truth[0], 400 * 0.2)
    for a, b in zip(got, truth, strict=True):
        assert np.abs(a - b).max() / np.abs(b).max() < 1e-10


def test_it_is_periodic_and_starts_as_equation_12_says():
    trajectory = random_trajectory()
    for a, b in zip(trajectory.evaluate(0.7), trajectory.evaluate(0.7 + 5.0), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    k = np.arange(1, 6)[:, None]
    start = trajectory.offset - (trajectory.nu / (k * 2 * np.pi * 0.2)).sum(axis=0)
    np.testing.assert_allclose(trajectory.evaluate(0.0)[0][0], start)
    np.testing.assert_allclose(trajectory.evaluate(0.0)[1][0], trajectory.mu.sum(axis=0))


def test_from_rest_to_rest():
    rest = random_trajectory().at_rest()
    for t in (0.0, 5.0, 10.0):
        q, qd, qdd = rest.evaluate(t)
        np.testing.assert_allclose(q[0], rest.offset, atol=1e-9)
        np.testing.assert_allclose(qd, 0.0, atol=1e-9)
        np.testing.assert_allclose(qdd, 0.0, atol=1e-9)
    again = rest.at_rest()
    np.testing.assert_allclose(again.vector(), rest.vector(), atol=1e-12)
    with pytest.raises(SignalError, match='three harmonics'):
        random_trajectory(harmonics=2).at_rest()


def test_vector_round_trip_has_the_papers_length():
    trajectory = random_trajectory()
    assert len(trajectory.vector()) == 6 * (2 * 5 + 1)
    again = FourierTrajectory.from_vector(trajectory.vector(), 6, 0.2)
    np.testing.assert_array_equal(again.mu, trajectory.mu)
    np.testing.assert_array_equal(again.nu, trajectory.nu)


@pytest.mark.parametrize('name', ['t.yaml', 't.json'])
def test_files_keep_every_digit(tmp_path, name):
    trajectory = random_trajectory()
    trajectory.save(tmp_path / name)
    again = FourierTrajectory.load(tmp_path / name)
    np.testing.assert_array_equal(again.vector(), trajectory.vector())
    assert again.names == trajectory.names
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_files_that_are_wrong_are_named(tmp_path):
    path = tmp_path / 'bad.json'
    with pytest.raises(InputError, match=r'bad\.json: cannot be read'):
        FourierTrajectory.load(path)
    path.write_text('{"kind": "spline"}')
    with pytest.raises(InputError, match=r"bad\.json:1: expected kind: 'fourier', found 'sp"):
        FourierTrajectory.load(path)
    data = random_trajectory().to_dict()
    del data['nu']
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r'bad\.json:1: nu: is missing'):
        FourierTrajectory.load(path)
    data['nu'] = [[1.0]]
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r'bad\.json:1: a trajectory needs'):
        FourierTrajectory.load(path)
    path.write_text('{')
    with pytest.raises(InputError, match='not YAML'):
        FourierTrajectory.load(path)


def test_pose_rates_are_those_of_the_rotation():
    trajectory = random_trajectory(3)
    times = np.linspace(0.1, 4.0, 50)
    step = 1e-5

    def orientation(t):
        return Rotation.from_euler('XYZ', trajectory.evaluate(t)[0][:, 3:])

    velocity, acceleration = pose_rates(*trajectory.evaluate(times))
    before, after = orientation(times - step), orientation(times + step)
    omega = (after * before.inv()).as_rotvec() / (2 * step)
    np.testing.assert_allclose(velocity[:, 3:], omega, atol=1e-5)
    np.testing.assert_array_equal(velocity[:, :3], trajectory.evaluate(times)[1][:, :3])
    later = pose_rates(*trajectory.evaluate(times + step))[0]
    earlier = pose_rates(*trajectory.evaluate(times - step))[0]
    np.testing.assert_allclose(acceleration, (later - earlier) / (2 * step), atol=1e-5)


def test_limit_matrix_says_what_the_trajectory_does():
    limits = MotionLimits([-1.0, 0.0], [1.0, 4.0], 2.0, 3.0)

    def make(z):
        return FourierTrajectory.from_vector(z, 2, 0.3)

    rng = np.random.default_rng(5)
    a, b = limits.matrix(make, 14, 40)
    for _ in range(20):
        z = rng.standard_normal(14)
        slack = (b - a @ z).min()
        # what a grid of 40 points hides of three harmonics
        shown = np.cos(np.pi * 3 / 40)
        assert (1.0 - slack) / shown == pytest.approx(limits.worst_use(make(z), 40), rel=1e-12)


def test_limits_hold_between_the_points_of_the_grid():
    limits = MotionLimits(-1.0, 1.0, np.inf, np.inf)
    rng = np.random.default_rng(8)
    for _ in range(20):
        wild = FourierTrajectory.from_vector(3.0 * rng.standard_normal(7), 1, 0.3)
        inside = wild.scaled(limits.largest_scale(wild, np.zeros(1), 13), np.zeros(1))
        dense = np.abs(inside.evaluate(inside.sample_times(5000))[0]).max()
        assert 0.7 < dense <= 1.0
        assert limits.worst_use(inside, 13) >= dense


def test_impossible_limits_are_refused():
    with pytest.raises(UsageError, match='position_min < position_max'):
        MotionLimits(1.0, -1.0, 1.0, 1.0).arrays(3)
