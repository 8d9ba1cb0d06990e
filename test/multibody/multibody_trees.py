"""Random trees, and the same trees in Pinocchio, for the tests of multibody/."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from veh_identification.multibody.inertia import centre_of_mass, from_log_cholesky
from veh_identification.multibody.motion import (
    Motion,
    fixed_base_motion,
    floating_base_motion,
)
from veh_identification.multibody.tree import (
    PRISMATIC,
    REVOLUTE,
    BodySpec,
    TreeModel,
    assemble,
)

# Where our ten parameters stand in Pinocchio's order (m, mc, xx, xy, yy, xz, yz, zz).
PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=4)
    return pin.Quaternion(quaternion / np.linalg.norm(quaternion)).matrix()


def random_tree(
    seed: int,
    prismatic: float = 0.4,
    bodies: int | None = None,
    floating: bool | None = None,
    serial: bool | None = None,
) -> TreeModel:
    """A tree with random shape, joints, axes, poses and physically possible inertia."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9)) if bodies is None else bodies
    floats = bool(seed % 2) if floating is None else floating
    is_serial = bool(seed // 2 % 2) if serial is None else serial
    inertia = from_log_cholesky(rng.normal(0.0, 0.5, (count, 10)))
    specs = []
    for k in range(count):
        if k == 0 and floats:
            specs.append(BodySpec('body_0', '', parameters=inertia[0]))
            continue
        before = k - 1 if is_serial else int(rng.integers(0, k)) if k else -1
        axis = rng.normal(size=3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
        specs.append(
            BodySpec(
                f'body_{k}',
                f'body_{before}' if before >= 0 else '',
                f'joint_{k}',
                PRISMATIC if rng.random() < prismatic else REVOLUTE,
                random_rotation(rng),
                rng.normal(0.0, 0.5, 3),
                axis / np.linalg.norm(axis),
                f'joint_{k}',
                parameters=inertia[k],
            )
        )
    return assemble(f'tree_{seed}', specs, floats)


def pinocchio_model(model: TreeModel) -> pin.Model:
    """The same tree, body by body; Pinocchio's joint k + 1 carries our body k."""
    twin = pin.Model()
    for k in range(model.bodies):
        placement = pin.SE3(model.rotation[k], model.translation[k])
        if model.floating and k == 0:
            joint = pin.JointModelFreeFlyer()
        elif model.joint_type[k] == PRISMATIC:
            joint = pin.JointModelPrismaticUnaligned(model.axis[k])
        else:
            joint = pin.JointModelRevoluteUnaligned(model.axis[k])
        parent = twin_joint(twin, model, int(model.parent[k]))
        index = twin.addJoint(parent, joint, placement, f'joint_of_{model.body_names[k]}')
        mass, centre, inertia = centre_of_mass(model.parameters[k])
        twin.appendBodyToJoint(
            index, pin.Inertia(float(mass), centre, inertia), pin.SE3.Identity()
        )
    twin.gravity.linear = np.array([0.0, 0.0, -9.80665])
    return twin


def twin_joint(twin: pin.Model, model: TreeModel, body: int) -> int:
    return 0 if body < 0 else twin.getJointId(f'joint_of_{model.body_names[body]}')


def twin_motion(model: TreeModel, samples: int, seed: int) -> tuple[Motion, list[tuple]]:
    """Random states for us and, per sample, (q, v, a) in Pinocchio's conventions."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (rng.normal(0.0, 2.0, (samples, model.dof)) for _ in range(3))
    if not model.floating:
        return fixed_base_motion(q, qd, qdd), list(zip(q, qd, qdd, strict=True))
    velocity, omega, alpha, acceleration = (rng.normal(0.0, 2.0, (samples, 3)) for _ in range(4))
    quaternions = rng.normal(size=(samples, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    rotation = np.array([pin.Quaternion(value).matrix() for value in quaternions])
    # Pinocchio wants the spatial acceleration: classical minus omega x v.
    spatial = acceleration - np.cross(omega, velocity)
    states = [
        (
            np.concatenate([rng.normal(size=3), quaternions[s], q[s]]),
            np.concatenate([velocity[s], omega[s], qd[s]]),
            np.concatenate([spatial[s], alpha[s], qdd[s]]),
        )
        for s in range(samples)
    ]
    motion = floating_base_motion(q, qd, qdd, acceleration, omega, alpha, rotation)
    return motion, states


def pinocchio_regressor(twin: pin.Model, states: list[tuple]) -> np.ndarray:
    """computeJointTorqueRegressor per sample with our parameter order."""
    data = twin.createData()
    columns = np.concatenate(
        [10 * body + np.array(PINOCCHIO_ORDER) for body in range(twin.njoints - 1)]
    )
    # A model with one row comes back as a vector.
    return np.array(
        [
            pin.computeJointTorqueRegressor(twin, data, *state).reshape(twin.nv, -1)[:, columns]
            for state in states
        ]
    )


def pinocchio_torques(twin: pin.Model, states: list[tuple]) -> np.ndarray:
    data = twin.createData()
    return np.array([pin.rnea(twin, data, *state) for state in states])
