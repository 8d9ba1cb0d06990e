"""A quadruped with point feet, a mimic joint and inertias of nothing, simulated by Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from humanoid_runs import identified
from scipy.spatial.transform import Rotation

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.problem import make_problem
from veh_identification.systems.humanoid.robot import load_robot

GRAVITY, EPOCH = 9.80665, 1_700_000_000_000_000_000
LEGS = {'LF': (0.3, 0.15), 'RF': (0.3, -0.15), 'LH': (-0.3, 0.15), 'RH': (-0.3, -0.15)}
MIMIC = 0.5


def _link(name: str, mass: float, centre, size) -> str:
    x, y, z = (mass / 12.0 * (sum(np.square(size)) - s**2) for s in size)
    inertia = f'ixx="{x}" iyy="{y}" izz="{z}"' if mass > 0.1 else 'ixx="1e-35" iyy="0" izz="0"'
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        f'<origin xyz="{centre[0]} {centre[1]} {centre[2]}"/>'
        f'<inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(name: str, kind: str, parent: str, child: str, place, axis: str, more: str = '') -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="{axis}"/>'
        f'<limit effort="1" velocity="9" lower="-3" upper="3"/>{more}</joint>'
    )


def urdf(factor: dict[str, float]) -> str:
    """Links weigh `factor` times as much as in the CAD."""

    def link(name: str, mass: float, centre, size) -> str:
        return _link(name, mass * factor.get(name, 1.0), centre, size)

    parts = [link('trunk', 12.0, (0.02, 0.0, 0.03), (0.6, 0.25, 0.2))]
    for leg, (x, y) in LEGS.items():
        side = np.sign(y)
        parts += [
            link(f'{leg}_HIP', 1.2, (0.0, 0.03 * side, 0.0), (0.08, 0.1, 0.08)),
            link(f'{leg}_THIGH', 1.5, (0.0, 0.02 * side, -0.1), (0.06, 0.06, 0.25)),
            link(f'{leg}_SHANK', 0.4, (0.0, 0.0, -0.12), (0.03, 0.03, 0.28)),
            link(f'{leg}_FOOT', 0.06, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
            _joint(f'{leg}_HAA', 'revolute', 'trunk', f'{leg}_HIP', (x, y, 0.0), '1 0 0'),
            _joint(
                f'{leg}_HFE',
                'revolute',
                f'{leg}_HIP',
                f'{leg}_THIGH',
                (0.0, 0.08 * side, 0),
                '0 1 0',
            ),
            _joint(
                f'{leg}_KFE', 'revolute', f'{leg}_THIGH', f'{leg}_SHANK', (0, 0, -0.25), '0 1 0'
            ),
            _joint(f'{leg}_END', 'fixed', f'{leg}_SHANK', f'{leg}_FOOT', (0, 0, -0.28), '1 0 0'),
        ]
    follows = f'<mimic joint="tail_1" multiplier="{MIMIC}"/>'
    parts += [
        link('tail_a', 0.8, (-0.08, 0.0, 0.02), (0.2, 0.04, 0.04)),
        link('tail_b', 0.5, (-0.08, 0.0, 0.0), (0.2, 0.03, 0.03)),
        _joint('tail_1', 'revolute', 'trunk', 'tail_a', (-0.35, 0.0, 0.1), '0 1 0'),
        _joint('tail_2', 'revolute', 'tail_a', 'tail_b', (-0.2, 0.0, 0.0), '0 1 0', follows),
    ]
    return f'<robot name="quadruped">{"".join(parts)}</robot>'


class Plant:
    """Pinocchio's quadruped along sums of sines, its load shared by four point feet."""

    def __init__(self, text: str, seconds: float, seed: int) -> None:
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
        self.data, self.t = self.model.createData(), np.arange(0.0, seconds, 0.002)
        rng = np.random.default_rng(seed)
        self.joints = [
            n for n in self.model.names if n not in ('universe', 'root_joint', 'tail_2')
        ]
        sizes = [0.06, 0.06, 0.04, 0.12, 0.12, 0.15, *([0.5] * len(self.joints))]
        self.waves = [self._wave(rng, size) for size in sizes]
        count = len(self.t)
        self.q, self.v = np.zeros((count, self.model.nq)), np.zeros((count, self.model.nv))
        self.a = np.zeros((count, self.model.nv))
        self._base()
        for name, wave in zip(self.joints, self.waves[6:], strict=True):
            self._place(name, wave, 1.0)
        self._place('tail_2', self.waves[6 + self.joints.index('tail_1')], MIMIC)

    def _wave(self, rng, size):
        w, phase = 2.0 * np.pi * rng.uniform(0.15, 1.6, 4), rng.uniform(0.0, 6.28, 4)
        turn, a = w * self.t[:, None] + phase, 0.5 * size * rng.normal(size=4)
        return (
            (a * np.sin(turn)).sum(1),
            (a * w * np.cos(turn)).sum(1),
            (-a * w**2 * np.sin(turn)).sum(1),
        )

    def _place(self, name: str, wave, scale: float) -> None:
        joint = self.model.joints[self.model.getJointId(name)]
        self.q[:, joint.idx_q], self.v[:, joint.idx_v] = scale * wave[0], scale * wave[1]
        self.a[:, joint.idx_v] = scale * wave[2]

    def _base(self) -> None:
        place = [np.column_stack([wave[k] for wave in self.waves[:3]]) for k in range(3)]
        # A turn about an axis that stays: exp of it, with exact derivatives in the base.
        axis = np.array([0.5, 0.6, np.sqrt(0.39)])
        angle = self.waves[4]
        self.turn = Rotation.from_rotvec(angle[0][:, None] * axis)
        back = self.turn.inv()
        omega, alpha = angle[1][:, None] * axis, angle[2][:, None] * axis
        self.position = place[0] + [0.0, 0.0, 0.5]
        self.q[:, :3], self.q[:, 3:7] = self.position, self.turn.as_quat()
        velocity = back.apply(place[1])
        self.v[:, :3], self.v[:, 3:6] = velocity, omega
        self.a[:, :3] = back.apply(place[2]) - np.cross(omega, velocity)
        self.a[:, 3:6] = alpha

    def feet(self) -> dict[str, np.ndarray]:
        """Force (N, 3) of every foot in its own frame."""
        frames = {f'{leg}_FOOT': self.model.getFrameId(f'{leg}_FOOT') for leg in LEGS}
        found = {name: np.zeros((len(self.t), 3)) for name in frames}
        for k in range(len(self.t)):
            torque = pin.rnea(self.model, self.data, self.q[k], self.v[k], self.a[k])
            turn = self.turn[k].as_matrix()
            force = turn @ torque[:3]
            moment = turn @ torque[3:6] + np.cross(self.position[k], force)
            pin.framesForwardKinematics(self.model, self.data, self.q[k])
            places = [self.data.oMf[one] for one in frames.values()]
            together = np.vstack(
                [
                    np.tile(np.eye(3), len(places)),
                    np.hstack([pin.skew(one.translation) for one in places]),
                ]
            )
            shared = np.linalg.lstsq(together, np.r_[force, moment], rcond=None)[0].reshape(-1, 3)
            for name, one, share in zip(frames, places, shared, strict=True):
                found[name][k] = one.rotation.T @ share
        return found

    def record(self, path: Path, seed: int) -> Path:
        rng, feet = np.random.default_rng(seed), self.feet()
        joints = np.column_stack([wave[0] for wave in self.waves[6:]])
        joints += 1e-4 * rng.normal(size=joints.shape)
        with BagWriter(path) as writer:
            for k, time in enumerate(self.t):
                stamp = EPOCH + round(1e9 * time)
                if k % 4 == 0:
                    shake = Rotation.from_rotvec(4e-4 * rng.normal(size=3))
                    pose = {
                        'position': self.position[k] + 2e-4 * rng.normal(size=3),
                        'orientation': (self.turn[k] * shake).as_quat(),
                    }
                    header = messages.header(stamp, 'world')
                    made = messages.new('geometry_msgs/msg/PoseStamped', header=header, pose=pose)
                    writer.write_message('/base/pose', made, stamp)
                if k % 2 == 0:
                    header = messages.header(stamp)
                    made = messages.new(
                        'sensor_msgs/msg/JointState',
                        header=header,
                        name=self.joints,
                        position=joints[k],
                    )
                    writer.write_message('/joint_states', made, stamp)
                for name, force in feet.items():
                    wrench = {
                        'force': force[k] + 0.3 * rng.normal(size=3),
                        'torque': np.zeros(3),
                    }
                    made = messages.new(
                        'geometry_msgs/msg/WrenchStamped',
                        header=messages.header(stamp, name),
                        wrench=wrench,
                    )
                    writer.write_message(f'/contact/{name.lower()}', made, stamp)
        return path


def test_a_quadruped_on_point_feet_with_topics_of_any_name(tmp_path) -> None:
    cad, rng = tmp_path / 'cad.urdf', np.random.default_rng(5)
    cad.write_text(urdf({}))
    names = ['trunk', 'tail_a', 'tail_b']
    names += [f'{leg}_{part}' for leg in LEGS for part in ('HIP', 'THIGH', 'SHANK')]
    factor = {name: float(np.exp(0.15 * rng.normal())) for name in names}
    plant = Plant(urdf(factor), 6.0, 2)
    bag = plant.record(tmp_path / 'bag', 3)
    found = identified([bag], cad, check_frames=False)
    problem = found.estimate.problem
    assert {one.topic for one in problem.unknowns.sources} == {
        f'contact/{leg.lower()}_foot' for leg in LEGS
    }
    # The ground touches the feet: they are not beyond a sensor, as they would be with moments.
    assert 'point_contacts' in {one.code for one in found.findings}
    mass, total = pin.computeTotalMass(plant.model), found.result.extra['total_mass']
    print(f'mass {100 * (total["value"] / mass - 1):+.3f} %, {total["std"] / mass:.2%}')
    assert total['value'] == pytest.approx(mass, rel=0.003)
    assert abs(total['value'] - mass) < 3.0 * total['std']
    truth = np.concatenate(
        [factor.get(name, 1.0) * problem.robot.parameters[name] for name in problem.robot.massive]
    )
    off = np.abs(found.result.value - problem.to_base @ truth) / found.result.std
    print(f'{np.mean(off < 2.0):.3f} of {len(off)} within two deviations')
    assert np.mean(off < 2.0) > 0.88


def test_the_rank_with_a_mimic_joint_is_pinocchios(tmp_path) -> None:
    """One coordinate moves two links: rank of the six rows over random states that keep to it."""
    cad = tmp_path / 'cad.urdf'
    cad.write_text(urdf({}))
    plant = Plant(urdf({}), 0.4, 1)
    model, data, rng = plant.model, plant.data, np.random.default_rng(0)
    one, two = (model.joints[model.getJointId(f'tail_{k}')] for k in (1, 2))
    rows = []
    for _ in range(80):
        q, v, a = pin.randomConfiguration(model), *rng.normal(size=(2, model.nv))
        q[:3], q[two.idx_q] = 0.0, MIMIC * q[one.idx_q]
        v[two.idx_v], a[two.idx_v] = MIMIC * v[one.idx_v], MIMIC * a[one.idx_v]
        rows.append(pin.computeJointTorqueRegressor(model, data, q, v, a)[:6])
    size = np.linalg.svd(np.vstack(rows), compute_uv=False)
    rank = int(np.sum(size > 1e-9 * size[0]))
    robot = load_robot(cad)
    problem = make_problem(robot, robot.model(), load_configuration(None), [])
    assert problem.base.rank == rank
