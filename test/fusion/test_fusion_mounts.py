"""Poses of sensors and what follows from them: wrenches moved to the base, who tells a pose."""

import math

import numpy as np
import pytest

from veh_identification.fusion.instruments import move_wrench, wrench_in_base
from veh_identification.fusion.mounts import MountTable
from veh_identification.runtime.transforms import StaticFrames, Transform


def matrix(t: Transform) -> np.ndarray:
    m = np.eye(4)
    m[:3, :3] = t.matrix
    m[:3, 3] = t.translation
    return m


def random_transform(rng: np.random.Generator) -> Transform:
    q = rng.normal(size=4)
    return Transform(tuple(rng.normal(size=3)), tuple(q / np.linalg.norm(q)))


def test_wrench_by_hand() -> None:
    """A plate 1 m ahead of the base, turned by 90 degrees about z, pushed along its x."""
    pose = Transform.from_rpy([1.0, 0.0, 0.0], [0.0, 0.0, math.pi / 2])
    force, torque = move_wrench(pose, (10.0, 0.0, 5.0), (1.0, 0.0, 0.0))
    assert force == pytest.approx((0.0, 10.0, 5.0))
    # x axis of the plate is y of the base: N = (0, 1, 0) + (1, 0, 0) x (0, 10, 5)
    assert torque == pytest.approx((0.0, 1.0 - 5.0, 10.0))


def test_plate_wrench_follows_the_base() -> None:
    """The robot stands 2 m from the plate, turned: compare with homogeneous matrices."""
    rng = np.random.default_rng(2)
    plate, base = random_transform(rng), random_transform(rng)
    values = rng.normal(size=6) * 100
    T = np.linalg.inv(matrix(base)) @ matrix(plate)
    F = T[:3, :3] @ values[:3]
    N = T[:3, :3] @ values[3:] + np.cross(T[:3, 3], F)
    force, torque = wrench_in_base(values, 'world', plate, base)
    assert np.allclose(force, F, atol=1e-10)
    assert np.allclose(torque, N, atol=1e-10)
    assert wrench_in_base(values, 'world', plate, None) is None
    assert wrench_in_base(values, 'link', plate, None) == (tuple(values[:3]), tuple(values[3:]))


def test_parameters_win_over_static_transforms() -> None:
    frames = StaticFrames()
    frames.set('base_link', 'imu_link', Transform((1.0, 0.0, 0.0)))
    table = MountTable(frames)
    table.add('given', 'auto', 'base_link', [0.0, 2.0, 0.0], [0.0] * 3)
    table.add('free', 'auto', 'base_link', [0.0] * 3, [0.0] * 3)
    table.add('zero', 'parameters', 'base_link', [0.0] * 3, [0.0] * 3)
    table.add('lost', 'tf', 'base_link', [0.0] * 3, [0.0] * 3)
    for name in ('given', 'free', 'zero'):
        table.set_frame_id(name, '/imu_link')
    table.set_frame_id('lost', 'nowhere')
    assert table.resolve('given').translation == (0.0, 2.0, 0.0)
    assert table.resolve('free').translation == (1.0, 0.0, 0.0)
    assert table.resolve('zero').translation == (0.0, 0.0, 0.0)
    assert table.resolve('lost') is None
    assert 'no static transform from nowhere' in table.notes['lost']


def test_parameters_win_over_transforms_but_not_without_a_word() -> None:
    frames = StaticFrames()
    frames.set('base_link', 'gps_link', Transform((1.2, 0.0, 1.2), (0.0, 0.0, 1.0, 0.0)))
    mounts = MountTable(frames)
    mounts.set_frame_id('gnss', 'gps_link')
    for place, told in (([1.2, 0.0, 1.2], False), ([-1.2, 0.0, 1.2], True)):
        mounts.add('gnss', 'auto', 'base_link', place, [0.0, 0.0, 0.0])
        found = mounts.resolve('gnss')
        assert found is not None and list(found.translation) == place
        assert bool(mounts.contradictions) == told
    assert '(-1.2, 0, 1.2) m against (1.2, 0, 1.2) m' in mounts.contradictions['gnss']
