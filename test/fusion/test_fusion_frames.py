import math

import numpy as np
import pytest

from veh_identification.fusion import rotation
from veh_identification.fusion.frames import FrameError, StaticFrames, Transform
from veh_identification.fusion.instruments import move_wrench, wrench_in_base
from veh_identification.fusion.mounts import MountTable


def matrix(t: Transform) -> np.ndarray:
    m = np.eye(4)
    m[:3, :3] = rotation.matrix(t.rotation)
    m[:3, 3] = t.translation
    return m


def random_transform(rng: np.random.Generator) -> Transform:
    q = rng.normal(size=4)
    return Transform(tuple(rng.normal(size=3)), tuple(q / np.linalg.norm(q)))


def test_lookup_along_a_tree_equals_matrix_products() -> None:
    rng = np.random.default_rng(1)
    a, b, c, d = (random_transform(rng) for _ in range(4))
    frames = StaticFrames()
    frames.set('base_link', 'mast', a)
    frames.set('/mast', 'imu_link', b)
    frames.set('base_link', 'arm', c)
    frames.set('arm', 'sensor', d)
    expected = np.linalg.inv(matrix(c) @ matrix(d)) @ matrix(a) @ matrix(b)
    assert np.allclose(matrix(frames.lookup('sensor', 'imu_link')), expected, atol=1e-14)
    assert frames.lookup('arm', '/arm') == Transform()
    assert frames.frames() == ['arm', 'base_link', 'imu_link', 'mast', 'sensor']


def test_missing_chain_and_cycle_are_named() -> None:
    frames = StaticFrames()
    frames.set('base_link', 'imu_link', Transform())
    with pytest.raises(FrameError, match=r"connects 'gps' with 'base_link'.*imu_link"):
        frames.lookup('base_link', 'gps')
    with pytest.raises(FrameError, match='cycle: imu_link -> base_link'):
        frames.set('imu_link', 'base_link', Transform())
    with pytest.raises(FrameError, match='no rotation'):
        frames.set('base_link', 'x', Transform((0, 0, 0), (0.0, 0.0, 0.0, 0.0)))


def test_repeating_a_transform_changes_nothing() -> None:
    frames = StaticFrames()
    t = Transform.from_rpy([1, 2, 3], [0.1, 0.2, 0.3])
    assert frames.set('a', 'b', t)
    version = frames.version
    assert not frames.set('a', 'b', t)
    assert frames.version == version


def test_rpy_is_the_urdf_convention() -> None:
    """R = Rz(yaw) Ry(pitch) Rx(roll), built from elementary matrices."""
    r, p, y = 0.3, -0.5, 1.1
    Rx = np.array([[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]])
    Ry = np.array([[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]])
    Rz = np.array([[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]])
    q = rotation.from_rpy(r, p, y)
    assert np.allclose(rotation.matrix(q), Rz @ Ry @ Rx, atol=1e-15)
    assert rotation.to_rpy(q) == pytest.approx((r, p, y))


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
