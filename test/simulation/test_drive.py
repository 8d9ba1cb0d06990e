"""The drive's analytic derivatives agree with differences of its positions and rotations."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.simulation.drive import GRAVITY, Drive


def test_motion_is_consistent_with_its_own_pose() -> None:
    h = 1e-4
    t = np.arange(0.0, 4.0, h)
    motion = Drive.example(3).at(t)
    world_velocity = np.gradient(motion.position, h, axis=0)
    velocity = np.einsum('nji,nj->ni', motion.rotation, world_velocity)
    inner = slice(2, -2)
    np.testing.assert_allclose(velocity[inner], motion.velocity[inner], atol=1e-6)
    world_acceleration = np.gradient(world_velocity, h, axis=0)
    acceleration = np.einsum('nji,nj->ni', motion.rotation, world_acceleration)
    np.testing.assert_allclose(acceleration[inner], motion.acceleration[inner], atol=1e-5)
    step = Rotation.from_matrix(motion.rotation[:-2]).inv() * Rotation.from_matrix(
        motion.rotation[2:]
    )
    np.testing.assert_allclose(
        step.as_rotvec() / (2 * h), motion.angular_velocity[1:-1], atol=1e-6
    )
    rate = np.gradient(motion.angular_velocity, h, axis=0)
    np.testing.assert_allclose(rate[inner], motion.angular_acceleration[inner], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(motion.gravity, axis=1), GRAVITY, rtol=1e-12)


def test_position_does_not_depend_on_the_sampling() -> None:
    drive = Drive.example(1)
    coarse = drive.at(np.linspace(0.5, 30.0, 60))
    fine = drive.at(np.linspace(0.5, 30.0, 5901))
    np.testing.assert_allclose(coarse.position, fine.position[::100], atol=1e-8)
