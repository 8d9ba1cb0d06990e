"""Hexapod kinematics and dynamics against Pinocchio, energies and numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from parallel_cases import crooked, motion, palida

from veh_identification.signals import spectral_derivatives
from veh_identification.systems.parallel.model.geometry import Hexapod
from veh_identification.systems.parallel.model.kinematics import (
    leg_motion,
)
from veh_identification.systems.parallel.model.model import HexapodModel, Structure

FULL = Structure(platform='full')
RATE = 400 * 0.4


def true_rigid(model: HexapodModel) -> np.ndarray:
    return np.nan_to_num(model.a_priori())


def joint_values(robot: Hexapod, pose: np.ndarray) -> np.ndarray:
    """alpha, beta, l of the legs (N, 6, 3), written apart from the package's kernels."""
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler('XYZ', pose[:, 3:]).as_matrix()
    B = pose[:, None, :3] + np.einsum('nij,kj->nki', R, robot.platform_joints)
    w = B - robot.base_joints
    length = np.linalg.norm(w, axis=2)
    u = w / length[:, :, None]
    e, x, y = leg_frames(robot)
    beta = np.arccos((u * e).sum(axis=2))
    alpha = np.unwrap(np.arctan2((u * y).sum(axis=2), (u * x).sum(axis=2)), axis=0)
    return np.stack([alpha, beta, length], axis=2)


def leg_frames(robot: Hexapod) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    e = robot.alpha_axes
    # any reference direction across the axis will do
    x = np.cross(e, np.array([0.31, 0.21, 0.93]))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return e, x, np.cross(e, x)


def pinocchio_actuator_forces(robot: Hexapod, pose: np.ndarray) -> np.ndarray:
    """Tree of six legs and a free platform, closed by the joints' velocity relation."""
    pin = pytest.importorskip('pinocchio')
    leg, E = robot.leg, robot.platform
    tree = pin.Model()
    tree.gravity = pin.Motion(np.concatenate([robot.gravity, np.zeros(3)]))

    def inertia(mass: float, moment: np.ndarray, about_origin: np.ndarray):
        c = moment / mass
        central = about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c))
        return pin.Inertia(mass, c, central)

    rods = []
    e, x, y = leg_frames(robot)
    for j in range(6):
        place = pin.SE3(np.stack([x[j], y[j], e[j]], axis=1), robot.base_joints[j])
        ring = tree.addJoint(0, pin.JointModelRZ(), place, f'a{j}')
        body = pin.Inertia(0.7, np.zeros(3), np.diag([0.3, 0.2, leg.Izz1]))
        tree.appendBodyToJoint(ring, body, pin.SE3.Identity())
        stator = tree.addJoint(ring, pin.JointModelRY(), pin.SE3.Identity(), f'b{j}')
        body = inertia(5.0, np.array([0, 0, leg.sy2]), np.diag([leg.Ixx2, leg.Izz2, leg.Iyy2]))
        tree.appendBodyToJoint(stator, body, pin.SE3.Identity())
        rod = tree.addJoint(stator, pin.JointModelPZ(), pin.SE3.Identity(), f'l{j}')
        body = inertia(leg.m3, np.array([0, 0, leg.sz3]), np.diag([leg.Ixx3, leg.Iyy3, leg.Izz3]))
        tree.appendBodyToJoint(rod, body, pin.SE3.Identity())
        rods.append(rod)
    free = tree.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
    J = np.array([[E.Ixx, E.Ixy, E.Ixz], [E.Ixy, E.Iyy, E.Iyz], [E.Ixz, E.Iyz, E.Izz]])
    tree.appendBodyToJoint(free, inertia(E.m, np.array([E.sx, E.sy, E.sz]), J), pin.SE3.Identity())
    data = tree.createData()
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_euler('XYZ', pose[:, 3:])
    joints = joint_values(robot, pose).reshape(len(pose), 18)
    _, joints_d, joints_dd = spectral_derivatives(joints, RATE)
    _, r_d, r_dd = spectral_derivatives(pose[:, :3], RATE)
    R = turn.as_matrix()
    _, R_d, R_dd = spectral_derivatives(R, RATE)

    def vee(S: np.ndarray) -> np.ndarray:
        return np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], axis=1)

    Rt = R.transpose(0, 2, 1)
    omega = vee(Rt @ R_d)  # in the platform
    omega_d = vee(R_d.transpose(0, 2, 1) @ R_d + Rt @ R_dd)
    v_body = np.einsum('nij,nj->ni', Rt, r_d)
    a_body = np.einsum('nij,nj->ni', Rt, r_dd) - np.cross(omega, v_body)
    result = np.empty((len(pose), 6))
    for n in range(len(pose)):
        q = np.concatenate([joints[n], pose[n, :3], turn[n].as_quat()])
        v = np.concatenate([joints_d[n], v_body[n], omega[n]])
        a = np.concatenate([joints_dd[n], a_body[n], omega_d[n]])
        tau = pin.rnea(tree, data, q, v, a)
        pin.computeJointJacobians(tree, data, q)
        generalized = np.concatenate([R[n] @ tau[18:21], R[n] @ tau[21:]])
        rows = np.empty((6, 6))
        for j, rod in enumerate(rods):
            full = pin.getJointJacobian(tree, data, rod, pin.LOCAL_WORLD_ALIGNED)
            own = full[:3, 3 * j : 3 * j + 3]
            c = R[n] @ robot.platform_joints[j]
            # the joint's velocity from the platform's: v + omega x c
            closure = np.linalg.solve(own, np.hstack([np.eye(3), -pin.skew(c)]))
            generalized += closure.T @ tau[3 * j : 3 * j + 3]
            rows[j] = closure[2]
        result[n] = np.linalg.solve(rows.T, generalized)
    return result


@pytest.mark.parametrize('make', [palida, crooked])
def test_rigid_body_forces_agree_with_pinocchio_and_loop_closure(make) -> None:
    robot = make()
    model = HexapodModel(robot, FULL)
    _, pose, v, a = motion(robot)
    ours = model.regressor(pose, v, a) @ true_rigid(model)
    theirs = pinocchio_actuator_forces(robot, pose)
    assert np.ptp(ours) > 30.0
    np.testing.assert_allclose(ours, theirs, atol=2e-8)


def test_actuator_power_is_the_rate_of_energy() -> None:
    """Body by body energies, differentiated numerically; friction switched off."""
    robot = crooked()
    model = HexapodModel(robot, FULL)
    _, pose, v, a = motion(robot, seed=5)
    force = model.regressor(pose, v, a) @ true_rigid(model)
    _, rates, _ = leg_motion(robot, pose, v, a)
    energy = total_energy(robot, pose)
    _, power, _ = spectral_derivatives(energy[:, None], RATE)
    assert np.abs(power).max() > 10.0
    np.testing.assert_allclose((force * rates).sum(axis=1), power[:, 0], atol=1e-8)


def total_energy(robot: Hexapod, pose: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler('XYZ', pose[:, 3:]).as_matrix()
    _, R_d, _ = spectral_derivatives(R, RATE)
    W = np.einsum('nji,njk->nik', R, R_d)
    omega = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
    E, leg, g = robot.platform, robot.leg, robot.gravity
    J = np.array([[E.Ixx, E.Ixy, E.Ixz], [E.Ixy, E.Iyy, E.Iyz], [E.Ixz, E.Iyz, E.Izz]])
    c = np.array([E.sx, E.sy, E.sz]) / E.m
    central = J - E.m * (c @ c * np.eye(3) - np.outer(c, c))
    centre = pose[:, :3] + R @ c
    _, speed, _ = spectral_derivatives(centre, RATE)
    energy = 0.5 * E.m * (speed**2).sum(axis=1) - E.m * centre @ g
    energy += 0.5 * np.einsum('ni,ij,nj->n', omega, central, omega)
    B = pose[:, None, :3] + np.einsum('nij,kj->nki', R, robot.platform_joints)
    angles = joint_values(robot, pose)
    _, angle_d, _ = spectral_derivatives(angles, RATE)
    u = (B - robot.base_joints) / angles[:, :, 2:]
    ad, bd = angle_d[:, :, 0], angle_d[:, :, 1]
    S, C = np.sin(angles[:, :, 1]), np.cos(angles[:, :, 1])
    along, across, beta = ad * C, ad * S, bd  # angular velocity in leg axes
    energy += 0.5 * leg.Izz1 * (ad**2).sum(axis=1)
    spin = leg.Iyy2 * along**2 + leg.Ixx2 * across**2 + leg.Izz2 * beta**2
    energy += 0.5 * spin.sum(axis=1) - (leg.sy2 * u @ g).sum(axis=1)
    rod = B + leg.sz3 / leg.m3 * u
    _, rod_speed, _ = spectral_derivatives(rod, RATE)
    energy += 0.5 * leg.m3 * (rod_speed**2).sum(axis=(1, 2)) - leg.m3 * (rod @ g).sum(axis=1)
    steiner = leg.sz3**2 / leg.m3
    spin = (leg.Ixx3 - steiner) * across**2 + (leg.Iyy3 - steiner) * beta**2
    return energy + 0.5 * (spin + leg.Izz3 * along**2).sum(axis=1)


def test_friction_power_is_what_the_joints_dissipate() -> None:
    """Section 2: J^T J_L^T A_f; power of the actuators equals friction power of all joints."""
    robot = crooked()
    structure = Structure(passive='dry_viscous', platform='full')
    model = HexapodModel(robot, structure)
    rng = np.random.default_rng(1)
    p = np.zeros(len(model.names))
    friction = slice(len(structure.rigid_columns()), None)
    p[friction] = rng.uniform(1.0, 5.0, len(p))[friction]
    value = dict(zip(model.names, p, strict=True))
    _, pose, v, a = motion(robot, seed=2)
    force = model.regressor(pose, v, a) @ p
    _, rates, _ = leg_motion(robot, pose, v, a)
    angle_d = spectral_derivatives(joint_values(robot, pose), RATE)[1]
    ad, bd = angle_d[:, :, 0], angle_d[:, :, 1]
    expected = value['r_alpha'] * np.abs(ad) + value['v_alpha'] * ad**2
    expected += value['r_beta'] * np.abs(bd) + value['v_beta'] * bd**2
    for j in range(6):
        expected[:, j] += value[f'r{j + 1}'] * np.abs(rates[:, j])
        expected[:, j] += value[f'v{j + 1}'] * rates[:, j] ** 2
    np.testing.assert_allclose((force * rates).sum(axis=1), expected.sum(axis=1), rtol=1e-8)


def test_per_leg_friction_columns_add_up_to_the_common_ones() -> None:
    robot = palida()
    _, pose, v, a = motion(robot)
    common = HexapodModel(robot).regressor(pose, v, a)
    single = HexapodModel(robot, Structure(passive='dry_per_leg')).regressor(pose, v, a)
    np.testing.assert_allclose(single[:, :, 10:16].sum(axis=2), common[:, :, 10])
    np.testing.assert_allclose(single[:, :, 16:22].sum(axis=2), common[:, :, 11])
