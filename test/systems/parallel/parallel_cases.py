"""Robots and motions for the hexapod tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.identification.trajectory import FourierTrajectory, pose_rates
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import Hexapod, LegInertia, PlatformInertia


def palida() -> Hexapod:
    return load_configuration().robot


def crooked(seed: int = 3) -> Hexapod:
    """PaLiDA with every joint moved, oblique alpha axes and a platform without symmetry."""
    rng = np.random.default_rng(seed)
    robot = palida()
    return replace(
        robot,
        name='crooked',
        base_joints=robot.base_joints + rng.normal(0.0, 0.03, (6, 3)),
        platform_joints=robot.platform_joints + rng.normal(0.0, 0.015, (6, 3)),
        alpha_axes=robot.alpha_axes + rng.normal(0.0, 0.3, (6, 3)),
        leg=LegInertia(0.011, 0.13, 0.02, 0.12, 0.7, 2.3, -1.1, 0.8, 0.81, 0.03),
        platform=PlatformInertia(4.5, 0.1, -0.2, 0.5, 0.07, 0.004, -0.003, 0.08, 0.002, 0.05),
        gravity=np.array([0.4, -0.3, -9.7]),
    )


def motion(robot: Hexapod, seed: int = 0, samples: int = 400, size: float = 0.15):
    """A smooth periodic motion: (times, pose, v, a) of equation (16)."""
    rng = np.random.default_rng(seed)
    amplitude = size * np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    trajectory = FourierTrajectory(
        robot.home, rng.normal(size=(5, 6)) * amplitude, rng.normal(size=(5, 6)) * amplitude, 0.4
    )
    times = trajectory.sample_times(samples)
    pose, pose_dot, pose_ddot = trajectory.evaluate(times)
    return times, pose, *pose_rates(pose, pose_dot, pose_ddot)
