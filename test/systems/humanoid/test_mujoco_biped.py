"""A humanoid that sways, squats and hops on soles that give way, simulated by MuJoCo (optional).

Nothing is shared with the identification: soles slip, tilt and lose the ground, forces are those
of MuJoCo's contacts, and those at the ankles of its own inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from humanoid_runs import identified
from lxml import etree
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory

mujoco = pytest.importorskip('mujoco', reason='MuJoCo (pip install mujoco) is not installed')

CAD = share_directory() / 'config/models/ut_mu2_like.urdf'
GRAVITY, EPOCH = 9.80665, 1_700_000_000_000_000_000
STEP, RATE, SETTLED = 0.0005, 500.0, 1.0
THIGH = SHANK = 0.11
HIP = np.array([0.0, 0.045, -0.045])  # of the left leg in the base
FALLING = 0.5  # rad: what comes after is not recorded, soles alone touch the floor
ANKLE, STANDING = 0.035, 0.195  # heights of ankle above sole and of hip above ankle
SOLE = '<collision><origin xyz="0.012 0 -0.01"/><geometry>'
SOLE += '<box size="0.115 0.06 0.02"/></geometry></collision>'
SIDES = {'l': 1.0, 'r': -1.0}


def changed(factor: Mapping[str, float]) -> str:
    """The CAD with links that weigh `factor` times as much, distributed alike."""
    root = etree.fromstring(CAD.read_bytes())
    for link in root.findall('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        scale = factor[link.get('name')]
        mass, inertia = inertial.find('mass'), inertial.find('inertia')
        mass.set('value', repr(scale * float(mass.get('value'))))
        for key, value in inertia.attrib.items():
            inertia.set(key, repr(scale * float(value)))
    return str(etree.tostring(root, encoding='unicode'))


def floating(text: str) -> str:
    """With soles that touch and a free base; links on fixed joints stay bodies."""
    for side in SIDES:
        text = text.replace(f'<link name="{side}_foot">', f'<link name="{side}_foot">{SOLE}')
    root = (
        '<mujoco><compiler fusestatic="false" boundinertia="1e-9" discardvisual="true"/></mujoco>'
    )
    root += '<link name="world"/><joint name="free" type="floating">'
    root += '<parent link="world"/><child link="base_link"/></joint>'
    return text.replace('<robot name="ut_mu2_like">', f'<robot name="ut_mu2_like">{root}')


def leg_angles(side: str, turn: Rotation, base: np.ndarray, ankle: np.ndarray) -> dict[str, float]:
    """Hip, knee and ankle for a flat foot below its ankle (a usual closed form)."""
    r = base + turn.apply(HIP * [1.0, SIDES[side], 1.0]) - ankle
    length = min(float(np.linalg.norm(r)), THIGH + SHANK - 1e-4)
    knee = np.pi - np.arccos((THIGH**2 + SHANK**2 - length**2) / (2.0 * THIGH * SHANK))
    lean = np.arcsin(THIGH * np.sin(np.pi - knee) / length)
    roll = np.arctan2(r[1], r[2])
    pitch = -np.arctan2(r[0], np.hypot(r[1], r[2])) - lean
    back = Rotation.from_euler('x', -roll) * Rotation.from_euler('y', -knee - pitch)
    # From the base to the thigh: yaw, roll, pitch.
    hip = (turn.inv() * back).as_matrix()
    yaw = np.arctan2(-hip[0, 1], hip[1, 1])
    sideways = np.arctan2(hip[2, 1], -hip[0, 1] * np.sin(yaw) + hip[1, 1] * np.cos(yaw))
    forward = np.arctan2(-hip[2, 0], hip[2, 2])
    names = ('hip_yaw', 'hip_roll', 'hip_pitch', 'knee', 'ankle_pitch', 'ankle_roll')
    values = (yaw, sideways, forward, knee, pitch, roll)
    return {f'{side}_{n}_joint': float(v) for n, v in zip(names, values, strict=True)}


class Biped:
    """Controllers at the joints follow a course that is made for feet that stand."""

    def __init__(self, text: str, seconds: float, seed: int) -> None:
        spec = mujoco.MjSpec.from_string(floating(text))
        floor = spec.worldbody.add_geom(
            name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 0.05]
        )
        floor.friction = [1.0, 0.02, 0.001]
        spec.option.timestep, spec.option.gravity = STEP, [0.0, 0.0, -GRAVITY]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for side in SIDES:
            site = spec.body(f'{side}_ankle_sensor').add_site(name=f'{side}_ankle')
            for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
                spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name)
        self.model = spec.compile()
        self.model.dof_damping[6:] = 1.5
        self.data, self.rng = mujoco.MjData(self.model), np.random.default_rng(seed)
        names = [self.model.joint(k).name for k in range(1, self.model.njnt)]
        self.joints, self.place = names, [self.model.joint(n).qposadr[0] for n in names]
        self.speed = [self.model.joint(n).dofadr[0] for n in names]
        sizes = (0.012, 0.015, 0.012, 0.1, 0.1, 0.15)
        self.waves = [self._wave(size) for size in sizes]
        self.arms = {n: self._wave(0.6) for n in names if 'shoulder' in n or 'elbow' in n}
        self.hops = np.arange(SETTLED + 1.2, SETTLED + seconds - 0.6, 2.6)
        self.samples: list[dict[str, Any]] = []
        self._run(seconds)

    def _wave(self, size: float):
        w, phase = self.rng.uniform(0.3, 1.4, 4) * 2.0 * np.pi, self.rng.uniform(0.0, 6.28, 4)
        a = 0.6 * size * self.rng.normal(size=4)
        return lambda t: float(np.sum(a * np.sin(w * t + phase)) * min(1.0, t))

    def wanted(self, t: float) -> np.ndarray:
        """Angles of all joints of this moment."""
        move = np.array([wave(t) for wave in self.waves])
        # Calm while it hops: crouch, push off, land.
        near = np.abs(t - self.hops)
        calm = float(np.clip((near.min() - 0.25) / 0.2, 0.0, 1.0)) if len(self.hops) else 1.0
        move *= calm
        height = STANDING + move[2]
        if len(self.hops):
            s = t - self.hops[np.argmin(near)]
            height += float(
                np.interp(s, [-0.4, -0.06, 0.0, 0.12, 0.3], [0, -0.025, 0.0, -0.005, 0])
            )
        base = np.array([move[0] + 0.008, move[1], ANKLE + height - HIP[2]])
        turn = Rotation.from_rotvec(move[3:])
        found = {name: calm * wave(t) for name, wave in self.arms.items()}
        for side, sign in SIDES.items():
            found |= leg_angles(side, turn, base, np.array([0.0, sign * HIP[1], ANKLE]))
        return np.array([found[name] for name in self.joints])

    def _run(self, seconds: float) -> None:
        data, every = self.data, round(1.0 / (RATE * STEP))
        data.qpos[:7] = [0.0, 0.0, ANKLE + STANDING - HIP[2] + 0.002, 1.0, 0.0, 0.0, 0.0]
        grid, steps = np.arange(0.0, seconds + 1.02, 0.01), round((seconds + SETTLED) / STEP)
        targets = CubicSpline(grid, np.stack([self.wanted(t) for t in grid]))(
            STEP * np.arange(steps)
        )
        data.qpos[self.place] = targets[0]
        for k in range(steps):
            data.qfrc_applied[self.speed] = 150.0 * (targets[k] - data.qpos[self.place])
            time, pose = float(data.time), data.qpos.copy()
            mujoco.mj_step(self.model, data)
            if k * STEP >= SETTLED and k % every == 0:
                if data.body('base_link').xmat[8] < np.cos(FALLING):
                    return
                # Contacts and frames behind a step are those of its beginning, which have acted;
                # asked for anew, forces would be those of drives that are not there yet.
                self.samples.append(
                    {
                        'time': time,
                        'base': pose[:7],
                        'joints': pose[self.place],
                        **self._soles(),
                        **self._ankles(),
                    }
                )

    def _soles(self) -> dict[str, np.ndarray]:
        """Wrench of the floor on every sole, in its frame."""
        found, force = {f'{side}_sole': np.zeros(6) for side in SIDES}, np.zeros(6)
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            mujoco.mj_contactForce(self.model, self.data, k, force)
            first, second = (self.model.geom_bodyid[g] for g in (contact.geom1, contact.geom2))
            body, sign = (second, 1.0) if first == 0 else (first, -1.0)
            axes = sign * contact.frame.reshape(3, 3).T
            name = f'{self.model.body(body).name[0]}_sole'
            sole = self.data.body(name)
            turn, arm = sole.xmat.reshape(3, 3).T, contact.pos - sole.xpos
            world = axes @ force[:3]
            found[name] += np.concatenate(
                [turn @ world, turn @ (axes @ force[3:] + np.cross(arm, world))]
            )
        return found

    def _ankles(self) -> dict[str, np.ndarray]:
        """Wrench of what is beyond each ankle on the robot, in the sensor's frame."""
        # MuJoCo's sensors show what the robot exerts on what is beyond.
        values = -self.data.sensordata.reshape(-1, 6)
        return {f'{side}_ankle_sensor': values[k] for k, side in enumerate(SIDES)}

    @property
    def flight(self) -> float:
        """Share of the time without any contact."""
        loads = [sum(np.abs(one[f'{side}_sole'][2]) for side in SIDES) for one in self.samples]
        return float(np.mean(np.array(loads) < 0.1))

    def record(self, path: Path, sensor: str) -> Path:
        """What mocap (125 Hz), encoders (250 Hz) and the sensors (500 Hz) of that name show."""
        rng = self.rng
        with BagWriter(path) as writer:

            def write(topic: str, kind: str, frame: str, stamp: int, **fields: Any) -> None:
                made = messages.new(kind, header=messages.header(stamp, frame), **fields)
                writer.write_message(topic, made, stamp)

            for k, one in enumerate(self.samples):
                stamp = EPOCH + round(1e9 * one['time'])
                if k % 4 == 0:
                    shake = Rotation.from_rotvec(4e-4 * rng.normal(size=3))
                    turn = Rotation.from_quat(one['base'][[4, 5, 6, 3]]) * shake
                    place = one['base'][:3] + 2e-4 * rng.normal(size=3)
                    pose = {'position': place, 'orientation': turn.as_quat()}
                    write('/base/pose', 'geometry_msgs/msg/PoseStamped', 'world', stamp, pose=pose)
                if k % 2 == 0:
                    position = one['joints'] + 1e-4 * rng.normal(size=len(self.joints))
                    state = {'name': self.joints, 'position': position}
                    write('/joint_states', 'sensor_msgs/msg/JointState', '', stamp, **state)
                for side in SIDES:
                    frame = f'{side}_{sensor}'
                    noise = rng.normal(size=6) * [0.15, 0.15, 0.15, 0.004, 0.004, 0.004]
                    value = one[frame] + noise
                    wrench = {'force': value[:3], 'torque': value[3:]}
                    kind = 'geometry_msgs/msg/WrenchStamped'
                    write(f'/{side}_foot/wrench', kind, frame, stamp, wrench=wrench)
        return path


def factors(seed: int) -> dict[str, float]:
    """How much heavier each link is than in the CAD."""
    rng = np.random.default_rng(seed)
    root = etree.fromstring(CAD.read_bytes())
    return {link.get('name'): float(np.exp(0.15 * rng.normal())) for link in root.findall('link')}


def judged(folder: Path, plant: Biped, factor: Mapping[str, float], sensor: str, **entries: Any):
    """Total mass as it was found, and errors of base parameters over their deviations."""
    bag = plant.record(folder / f'bag_{sensor}', sensor)
    found = identified([bag], CAD, contacts='sensors', **entries)
    problem = found.estimate.problem
    truth = np.concatenate(
        [factor[name] * problem.robot.parameters[name] for name in problem.robot.massive]
    )
    off = (found.result.value - problem.to_base @ truth) / found.result.std
    return found.result.extra['total_mass'], off


def test_a_humanoid_of_mujoco_with_sole_sensors(tmp_path: Path) -> None:
    """Soles in the air show their offsets; left open, these would be as large as the error."""
    factor = factors(1)
    plant = Biped(changed(factor), 12.0, 1)
    assert 0.01 < plant.flight < 0.3
    total, off = judged(tmp_path, plant, factor, 'sole')
    assert total['value'] == pytest.approx(plant.model.body_mass.sum(), rel=0.001)
    assert abs(total['value'] - plant.model.body_mass.sum()) < 2.5 * total['std']
    assert np.mean(np.abs(off) < 2.0) > 0.9


def test_a_humanoid_of_mujoco_with_ankle_sensors(tmp_path: Path) -> None:
    """Feet hang on them in the air: they are trusted to be tared."""
    factor = factors(2)
    plant = Biped(changed(factor), 12.0, 2)
    total, off = judged(tmp_path, plant, factor, 'ankle_sensor', wrench_offset='off')
    beyond = sum(plant.model.body(f'{side}_foot').mass[0] for side in SIDES)
    truth = float(plant.model.body_mass.sum())
    assert total['identified'] == pytest.approx(truth - beyond, rel=0.003)
    assert abs(total['value'] - truth) < 3.0 * total['std']
    assert np.mean(np.abs(off) < 2.0) > 0.9
