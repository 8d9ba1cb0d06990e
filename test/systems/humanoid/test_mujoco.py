"""A quadruped that stands and sways on a floor, simulated by MuJoCo (optional): its own contacts.

The plant shares nothing with the identification: forces of the feet are those of MuJoCo's contacts
(compliant, with friction), the motion is what controllers at the joints make of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from humanoid_runs import identified
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from test_quadruped import EPOCH, GRAVITY, LEGS, MIMIC, urdf

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter

mujoco = pytest.importorskip('mujoco', reason='MuJoCo (pip install mujoco) is not installed')

STEP, RATE = 0.0005, 500.0
THIGH, SHANK, SIDE, HEIGHT = 0.25, 0.28, 0.08, 0.44
FOOT = '<collision><geometry><sphere radius="0.003"/></geometry></collision>'


def floating(text: str) -> str:
    """The description with feet that touch, a free base and no joint that mimics another."""
    text = text.replace(f'<mimic joint="tail_1" multiplier="{MIMIC}"/>', '')
    for leg in LEGS:
        text = text.replace(f'<link name="{leg}_FOOT">', f'<link name="{leg}_FOOT">{FOOT}')
    root = '<mujoco><compiler boundinertia="1e-9" discardvisual="true"/></mujoco>'
    root += '<link name="world"/><joint name="free" type="floating">'
    root += '<parent link="world"/><child link="trunk"/></joint>'
    for axis in ('ixx', 'iyy', 'izz'):  # newer ones refuse feet that are points
        text = re.sub(f'{axis}="(0(\\.0)?|1e-35)"', f'{axis}="1e-9"', text)
    return text.replace('<robot name="quadruped">', f'<robot name="quadruped">{root}')


class Quadruped:
    """Controllers hold the feet where they are while the trunk sways."""

    def __init__(self, text: str, seconds: float, seed: int) -> None:
        spec = mujoco.MjSpec.from_string(floating(text))
        plane = mujoco.mjtGeom.mjGEOM_PLANE
        floor = spec.worldbody.add_geom(name='floor', type=plane, size=[0.0, 0.0, 0.05])
        floor.friction = [1.2, 0.005, 0.0001]
        spec.option.timestep, spec.option.gravity = STEP, [0.0, 0.0, -GRAVITY]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.model = spec.compile()
        self.model.dof_damping[6:] = 4.0
        self.data, self.rng = mujoco.MjData(self.model), np.random.default_rng(seed)
        names = [self.model.joint(k).name for k in range(1, self.model.njnt)]
        self.joints, self.place = names, [self.model.joint(n).qposadr[0] for n in names]
        self.speed = [self.model.joint(n).dofadr[0] for n in names]
        self.waves = [self._wave(s) for s in (0.025, 0.025, 0.015, 0.1, 0.1, 0.1, 0.5, 0.5)]
        self.samples: list[tuple[float, np.ndarray, np.ndarray, dict[str, np.ndarray]]] = []
        self._run(seconds)

    def _wave(self, size: float):
        w, phase = self.rng.uniform(0.3, 1.2, 4) * 2.0 * np.pi, self.rng.uniform(0.0, 6.28, 4)
        a = 0.6 * size * self.rng.normal(size=4)
        return lambda t: float(np.sum(a * np.sin(w * t + phase)) * min(1.0, t))

    def wanted(self, t: float) -> np.ndarray:
        """Angles of all joints for the trunk of this moment, feet below the hips."""
        move = [wave(t) for wave in self.waves]
        turn = Rotation.from_rotvec(move[3:6])
        found = {'tail_1': move[6], 'tail_2': move[7]}
        for leg, (x, y) in LEGS.items():
            side = SIDE * np.sign(y)
            foot = np.array([x, y + side, 0.0]) - [move[0], move[1], HEIGHT + move[2]]
            px, py, pz = turn.inv().apply(foot) - [x, y, 0.0]
            h = np.sqrt(py**2 + pz**2 - side**2)
            bend = (px**2 + h**2 - THIGH**2 - SHANK**2) / (2.0 * THIGH * SHANK)
            knee = -np.arccos(np.clip(bend, -1.0, 1.0))
            found[f'{leg}_HAA'] = np.arctan2(py, -pz) - np.arctan2(side, h)
            lean = np.arctan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee))
            found[f'{leg}_HFE'], found[f'{leg}_KFE'] = np.arctan2(-px, h) - lean, knee
        return np.array([found[name] for name in self.joints])

    def _run(self, seconds: float) -> None:
        data, every = self.data, round(1.0 / (RATE * STEP))
        data.qpos[:7] = [0.0, 0.0, HEIGHT + 0.003, 1.0, 0.0, 0.0, 0.0]
        # Smooth between its points: steps of a controller would shake feet and sensors.
        grid, steps = np.arange(0.0, seconds + 1.02, 0.01), round((seconds + 1.0) / STEP)
        course = CubicSpline(grid, np.stack([self.wanted(t) for t in grid]))
        targets = course(STEP * np.arange(steps))
        data.qpos[self.place] = targets[0]
        for k in range(steps):
            t = k * STEP
            error = targets[k] - data.qpos[self.place]
            data.qfrc_applied[self.speed] = 400.0 * error
            pose = data.qpos.copy()
            mujoco.mj_step(self.model, self.data)
            if t >= 1.0 and k % every == 0:  # it has settled
                # Contacts behind a step are those of its beginning, which have acted.
                self.samples.append((t, pose[:7], pose[self.place], self._feet()))

    def _feet(self) -> dict[str, np.ndarray]:
        """Force on every foot, in its frame (that of its shank)."""
        found, force = {f'{leg}_FOOT': np.zeros(3) for leg in LEGS}, np.zeros(6)
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            mujoco.mj_contactForce(self.model, self.data, k, force)
            first, second = (self.model.geom_bodyid[g] for g in (contact.geom1, contact.geom2))
            body, sign = (second, 1.0) if first == 0 else (first, -1.0)
            world = sign * contact.frame.reshape(3, 3).T @ force[:3]
            leg = self.model.body(body).name[:2]
            found[f'{leg}_FOOT'] += self.data.xmat[body].reshape(3, 3).T @ world
        return found

    def record(self, path: Path) -> Path:
        """What mocap (125 Hz), encoders (250 Hz) and feet (500 Hz) show."""
        rng = self.rng
        with BagWriter(path) as writer:
            for k, (time, base, joints, feet) in enumerate(self.samples):
                stamp = EPOCH + round(1e9 * time)
                if k % 4 == 0:
                    shake = Rotation.from_rotvec(4e-4 * rng.normal(size=3))
                    turn = Rotation.from_quat(base[[4, 5, 6, 3]]) * shake
                    place = base[:3] + 2e-4 * rng.normal(size=3)
                    pose = {'position': place, 'orientation': turn.as_quat()}
                    header = messages.header(stamp, 'world')
                    made = messages.new('geometry_msgs/msg/PoseStamped', header=header, pose=pose)
                    writer.write_message('/base/pose', made, stamp)
                if k % 2 == 0:
                    position = joints + 1e-4 * rng.normal(size=len(joints))
                    state = {'name': self.joints, 'position': position}
                    made = messages.new(
                        'sensor_msgs/msg/JointState', header=messages.header(stamp), **state
                    )
                    writer.write_message('/joint_states', made, stamp)
                for name, force in feet.items():
                    wrench = {'force': force + 0.3 * rng.normal(size=3), 'torque': np.zeros(3)}
                    made = messages.new(
                        'geometry_msgs/msg/WrenchStamped',
                        header=messages.header(stamp, name),
                        wrench=wrench,
                    )
                    writer.write_message(f'/contact/{name.lower()}', made, stamp)
        return path


def swayed(folder: Path, seed: int, seconds: float = 10.0):
    """Mass (true, found, deviation) and errors of base parameters over their deviations."""
    rng = np.random.default_rng(seed)
    names = ['trunk', 'tail_a', 'tail_b']
    names += [f'{leg}_{part}' for leg in LEGS for part in ('HIP', 'THIGH', 'SHANK')]
    factor = {name: float(np.exp(0.15 * rng.normal())) for name in names}
    plant = Quadruped(urdf(factor), seconds, seed)
    cad = folder / f'cad_{seed}.urdf'
    cad.write_text(urdf({}).replace(f'<mimic joint="tail_1" multiplier="{MIMIC}"/>', ''))
    found = identified([plant.record(folder / f'bag_{seed}')], cad, check_frames=False)
    problem, total = found.estimate.problem, found.result.extra['total_mass']
    truth = np.concatenate(
        [factor.get(name, 1.0) * problem.robot.parameters[name] for name in problem.robot.massive]
    )
    off = (found.result.value - problem.to_base @ truth) / found.result.std
    return float(plant.model.body_mass.sum()), total['value'], total['std'], off


def test_a_quadruped_of_mujoco(tmp_path: Path) -> None:
    mass, value, std, off = swayed(tmp_path, 1)
    print(
        f'mass {100 * (value / mass - 1):+.3f} %, {std / mass:.2%}; {np.mean(np.abs(off) < 2):.3f}'
    )
    assert value == pytest.approx(mass, rel=0.003)
    assert abs(value - mass) < 3.0 * std
    assert np.mean(np.abs(off) < 2.0) > 0.88
