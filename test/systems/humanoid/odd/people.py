"""Recordings as laboratories make them: smooth motion, exact wrenches (by Pinocchio), plates.

Nothing of other people's data is used; the troubles are those that their recordings showed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.types import Array

TRUE, CAD = robot_path(), robot_path(cad=True)
EPOCH_NS = 1_700_000_000_000_000_000
GRAVITY = 9.80665
RATE = 500.0  # of the plates


@dataclass(frozen=True, eq=False)
class Motion:
    """Joints by name, base poses and the total wrench about the world's origin over time."""

    t: Array
    joints: dict[str, Array]
    position: Array
    rotation: Array
    wrench: Array  # (N, 6) in world axes
    mass: float


@dataclass(frozen=True, eq=False)
class Lab:
    """What the laboratory writes; the defaults are right."""

    every: int = 5  # samples of the plates per frame of the motion capture
    prefix: str = '/'
    plates: int = 1
    poses: tuple[tuple[float, float, float], ...] = ((0.0, 0.0, 0.0),)
    angle_unit: float = 1.0
    length_unit: float = 1.0
    moment_unit: float = 1.0
    moments_about: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in the plate's frame
    world: Array = field(default_factory=lambda: np.eye(3))  # turns everything
    plate_delay: float = 0.0
    plate_stamps: bool = True
    lost: tuple[float, float, float] | None = None  # share that another support carries, from, to
    noise: float = 1.0


@lru_cache(maxsize=4)
def moving(seconds: float = 6.0, seed: int = 3, bounce: float = 0.0) -> Motion:
    """Sums of sines in all joints and the base; `bounce` adds vertical acceleration over g."""
    model = pin.buildModelFromUrdf(str(TRUE), pin.JointModelFreeFlyer())
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    data, rng = model.createData(), np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    base = np.array([_sines(t, rng, size) for size in (0.05, 0.05, 0.03, 0.15, 0.15, 0.2)])
    if bounce:
        w = 2.0 * np.pi * 1.5
        base[2] += (
            bounce * GRAVITY * np.array([-np.cos(w * t) / w**2, np.sin(w * t) / w, np.cos(w * t)])
        )
    joints = {name: _sines(t, rng, 0.5) for name in list(model.names)[2:]}
    rotation = Rotation.from_euler('XYZ', base[3:, 0].T)
    omega, alpha = _angular(base[3:])
    q, v, a = (np.zeros((len(t), model.nq if k == 0 else model.nv)) for k in range(3))
    matrix = rotation.as_matrix()
    q[:, :3], q[:, 3:7] = base[:3, 0].T + [0.0, 0.0, 0.3], rotation.as_quat()
    local = [
        np.einsum('nji,nj->ni', matrix, one)
        for one in (base[:3, 1].T, omega, base[:3, 2].T, alpha)
    ]
    v[:, :6] = np.hstack(local[:2])
    a[:, :6] = np.hstack([local[2] - np.cross(local[1], local[0]), local[3]])
    for k, series in enumerate(joints.values()):
        q[:, 7 + k], v[:, 6 + k], a[:, 6 + k] = series
    total = np.array([pin.rnea(model, data, *row)[:6] for row in zip(q, v, a, strict=True)])
    force, moment = (np.einsum('nij,nj->ni', matrix, part) for part in np.split(total, 2, axis=1))
    wrench = np.hstack([force, moment + np.cross(q[:, :3], force)])
    return Motion(
        t,
        {name: one[0] for name, one in joints.items()},
        q[:, :3],
        matrix,
        wrench,
        float(pin.computeTotalMass(model)),
    )


def _sines(t: Array, rng: np.random.Generator, size: float) -> Array:
    """(3, N): value, first and second derivative."""
    w = 2.0 * np.pi * rng.uniform(0.15, 1.5, 3)
    share, phase = size * rng.uniform(0.1, 0.33, 3), rng.uniform(0.0, 2.0 * np.pi, 3)
    angle = np.outer(t, w) + phase
    return np.array(
        [np.sin(angle) @ share, np.cos(angle) @ (share * w), -np.sin(angle) @ (share * w**2)]
    )


def _angular(euler: Array) -> tuple[Array, Array]:
    """Angular velocity and acceleration (N, 3) in the world for Rx Ry Rz, (3 angles, 3, N)."""
    step = 1e-4

    def velocity(angle: Array, rate: Array) -> Array:
        first = Rotation.from_euler('x', angle[0][:, None])
        second = first * Rotation.from_euler('y', angle[1][:, None])
        axes = (
            np.tile([1.0, 0.0, 0.0], (angle.shape[1], 1)),
            first.as_matrix()[:, :, 1],
            second.as_matrix()[:, :, 2],
        )
        return np.asarray(sum(axis * one[:, None] for axis, one in zip(axes, rate, strict=True)))

    e, de, dde = euler[:, 0], euler[:, 1], euler[:, 2]
    later, sooner = (velocity(e + s * de + 0.5 * s**2 * dde, de + s * dde) for s in (step, -step))
    return velocity(e, de), (later - sooner) / (2.0 * step)


def record(path: Path, lab: Lab | None = None, motion: Motion | None = None) -> Path:
    """Write a bag of the motion as the laboratory sees it."""
    lab, motion = lab or Lab(), motion or moving()
    found: list[tuple[int, str, Any]] = []
    rng = np.random.default_rng(1)
    for n in range(0, len(motion.t), lab.every):
        found += _frame(lab, motion, n, rng)
    found += _wrenches(lab, motion, rng)
    found.append((EPOCH_NS, '/tf_static', _transforms(lab)))
    with BagWriter(path) as writer:
        for when, topic, message in sorted(found, key=lambda one: one[0]):
            writer.write_message(topic, message, when)
    return path


def _frame(
    lab: Lab, motion: Motion, n: int, rng: np.random.Generator
) -> list[tuple[int, str, Any]]:
    """Joints and base at one frame of the motion capture."""
    when = EPOCH_NS + round(motion.t[n] * 1e9)
    angles = [
        lab.angle_unit * (one[n] + lab.noise * 2e-4 * rng.standard_normal())
        for one in motion.joints.values()
    ]
    joints = messages.new(
        'sensor_msgs/msg/JointState',
        header=messages.header(when, ''),
        name=list(motion.joints),
        position=angles,
    )
    place = lab.length_unit * (motion.position[n] + lab.noise * 1e-4 * rng.standard_normal(3))
    turn = (
        motion.rotation[n]
        @ Rotation.from_rotvec(lab.noise * 3e-4 * rng.standard_normal(3)).as_matrix()
    )
    pose = messages.new(
        'geometry_msgs/msg/PoseStamped',
        header=messages.header(when, 'world'),
        pose={
            'position': lab.world @ place,
            'orientation': Rotation.from_matrix(lab.world @ turn).as_quat(),
        },
    )
    return [(when, f'{lab.prefix}joint_states', joints), (when, f'{lab.prefix}base/pose', pose)]


def _wrenches(lab: Lab, motion: Motion, rng: np.random.Generator) -> list[tuple[int, str, Any]]:
    phase = 2.0 * np.pi * np.arange(lab.plates) / lab.plates
    # Weight goes round from plate to plate and leaves each for a moment only.
    share = 1.0 + 1e-9 + np.sin(2.0 * np.pi * 0.7 * motion.t[:, None] + phase)
    share = share / share.sum(axis=1, keepdims=True)
    if lab.lost is not None:
        part, start, end = lab.lost
        share[(motion.t >= start) & (motion.t < end)] *= 1.0 - part
    found = []
    for k in range(lab.plates):
        force, moment = np.split(share[:, k : k + 1] * motion.wrench, 2, axis=1)
        about = np.array(lab.poses[k]) + np.array(lab.moments_about)
        moment = lab.moment_unit * (moment - np.cross(about, force))
        force = force + lab.noise * 0.05 * rng.standard_normal(force.shape)
        force, moment = force @ lab.world.T, moment @ lab.world.T
        for n, t in enumerate(motion.t):
            when = EPOCH_NS + round((t + lab.plate_delay) * 1e9)
            found.append(
                (
                    when,
                    f'{lab.prefix}{_plate(k)}/wrench',
                    messages.new(
                        'geometry_msgs/msg/WrenchStamped',
                        header=messages.header(when if lab.plate_stamps else 0, _plate(k)),
                        wrench={'force': force[n], 'torque': moment[n]},
                    ),
                )
            )
    return found


def _plate(k: int) -> str:
    return f'force_plate_{k + 1}' if k else 'force_plate'


def _transforms(lab: Lab) -> Any:
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            messages.new(
                'geometry_msgs/msg/TransformStamped',
                header=messages.header(EPOCH_NS, 'world'),
                child_frame_id=_plate(k),
                transform={
                    'translation': lab.world @ np.array(lab.poses[k]),
                    'rotation': [0.0, 0.0, 0.0, 1.0],
                },
            )
            for k in range(lab.plates)
        ],
    )


def shortened(motion: Motion, start: float, end: float) -> Motion:
    """A stretch of the motion."""
    rows = (motion.t >= start) & (motion.t < end)
    return replace(
        motion,
        t=motion.t[rows],
        joints={n: one[rows] for n, one in motion.joints.items()},
        position=motion.position[rows],
        rotation=motion.rotation[rows],
        wrench=motion.wrench[rows],
    )
