"""The simulated humanoid: exact derivatives, feet that stand, forces that ground can give."""

import json
from functools import cache

import numpy as np
import pytest

from veh_identification.multibody.dynamics import ExternalWrench, external_rows, inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.simulation.humanoid.gait import Gait, bending, walking
from veh_identification.simulation.humanoid.motion import HumanoidMotion, world_wrench
from veh_identification.simulation.humanoid.scenarios import robot_path, write_bend, write_walk
from veh_identification.simulation.humanoid.sensors import (
    FootInertia,
    HumanoidSensors,
    plate_wrench,
)
from veh_identification.systems.humanoid.robot import load_robot

ROBOT = load_robot(robot_path())
REFERENCES = {'walk': walking(4.5), 'bend': bending(6.0), 'arms': walking(4.5, Gait(arms=0.5))}


@cache
def motion_of(name: str) -> HumanoidMotion:
    """Made when it is wanted: every worker imports every file, and this compiles kernels."""
    return HumanoidMotion(ROBOT.model(), REFERENCES[name])


@pytest.mark.parametrize('name', REFERENCES)
def test_feet_carry_exactly_the_total_and_only_push(name: str) -> None:
    motion = motion_of(name)
    t = np.linspace(0.0, motion.references.t[-1], 1501)
    state = motion.at(t)
    total = world_wrench(state.total, state.rotation, state.position)
    np.testing.assert_allclose(state.feet['l'] + state.feet['r'], total, atol=1e-12)
    for side in ('l', 'r'):
        wrench = state.feet[side]
        assert wrench[:, 2].min() > -1e-9
        loaded = wrench[:, 2] > 1.0
        friction = np.hypot(wrench[loaded, 0], wrench[loaded, 1]) / wrench[loaded, 2]
        assert friction.max() < 0.3
        centre = np.column_stack([-wrench[loaded, 4], wrench[loaded, 3]]) / wrench[loaded, 2:3]
        foot = np.column_stack(
            [
                np.interp(
                    t[loaded], motion.references.t, motion.references.foot_position[side][:, k]
                )
                for k in range(2)
            ]
        )
        # The sole reaches 55 mm to the front and 30 mm to the side.
        assert np.all(np.abs(centre - foot) < [0.02, 0.01])


def test_walk_has_steps_with_single_and_double_support() -> None:
    references = REFERENCES['walk']
    assert references.steps == 4
    share = references.left_share
    assert np.mean((share > 0.999) | (share < 0.001)) > 0.2
    assert np.mean((share > 0.01) & (share < 0.99)) > 0.1
    for start, end, what in references.phases:
        inside = (references.t > start) & (references.t < end)
        lifted = references.foot_position[what[0]][inside, 2]
        loaded = share[inside] if what[0] == 'l' else 1.0 - share[inside]
        assert lifted.max() > 0.015 and loaded.max() < 1e-9


@pytest.mark.parametrize('name', REFERENCES)
def test_derivatives_are_those_of_the_positions(name: str) -> None:
    motion, h = motion_of(name), 1e-4
    t = np.linspace(0.3, motion.references.t[-1] - 0.3, 40)
    here, before, after = (motion.at(t + shift) for shift in (0.0, -h, h))
    np.testing.assert_allclose(
        here.motion.qd, (after.motion.q - before.motion.q) / (2 * h), atol=2e-4
    )
    np.testing.assert_allclose(
        here.motion.qdd, (after.motion.qd - before.motion.qd) / (2 * h), atol=2e-2
    )
    turn = np.swapaxes(here.rotation, -1, -2) @ (after.rotation - before.rotation) / (2 * h)
    omega = np.column_stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]])
    np.testing.assert_allclose(here.motion.base_angular_velocity, omega, atol=1e-5)
    alpha = (after.motion.base_angular_velocity - before.motion.base_angular_velocity) / (2 * h)
    np.testing.assert_allclose(here.motion.base_angular_acceleration, alpha, atol=1e-3)
    second = (after.position - 2 * here.position + before.position) / h**2
    world = np.einsum('nij,nj->ni', here.rotation, here.motion.base_acceleration)
    np.testing.assert_allclose(world, second + [0.0, 0.0, 9.80665], atol=1e-4)


def test_stance_feet_do_not_slip() -> None:
    motion = motion_of('walk')
    model = ROBOT.model()
    t = np.linspace(0.0, motion.references.t[-1], 400)
    state = motion.at(t)
    bodies = body_motion(model, state.motion)
    for side in ('l', 'r'):
        frame = model.frame(f'{side}_sole')
        local = (
            bodies.position[:, frame.body] + bodies.orientation[:, frame.body] @ frame.translation
        )
        world = state.position + np.einsum('nij,nj->ni', state.rotation, local)
        wanted = np.column_stack(
            [
                np.interp(t, motion.references.t, motion.references.foot_position[side][:, k])
                for k in range(3)
            ]
        )
        stance = state.feet[side][:, 2] > 1.0
        assert np.abs(world - wanted)[stance].max() < 1e-6


@pytest.mark.parametrize('frame', ['ankle_sensor', 'sole'])
def test_ankle_sensors_carry_what_is_left_of_the_robot(frame: str) -> None:
    """Sensor wrenches balance the tree without the feet, to rounding."""
    motion = motion_of('walk')
    state = motion.at(np.linspace(0.5, 4.0, 200))
    sensors = HumanoidSensors(sensor_frame=frame)
    feet = FootInertia(motion.model, ROBOT, sensors)
    rest = ROBOT.cut_at(feet.frames.values()).model()
    needed = inverse_dynamics(rest, state.motion)[:, :6]
    supplied = external_rows(
        rest,
        state.motion,
        [
            ExternalWrench(rest.frame(feet.frames[side]), feet.on_robot(state, side))
            for side in ('l', 'r')
        ],
        rows='base',
    )
    np.testing.assert_allclose(supplied, needed, atol=1e-10)
    assert (ROBOT.total_mass - rest.parameters[:, 0].sum() > 0.3) == (frame == 'ankle_sensor')


def test_plate_wrench_turns_back_to_the_world() -> None:
    sensors = HumanoidSensors()
    world = np.random.default_rng(0).normal(size=(5, 6))
    local = plate_wrench(world, sensors)
    rotation = sensors.plate_rotation()
    force = local[:, :3] @ rotation.T
    moment = local[:, 3:] @ rotation.T + np.cross(sensors.plate_position, force)
    np.testing.assert_allclose(np.hstack([force, moment]), world, atol=1e-12)


@pytest.mark.parametrize(('write', 'duration'), [(write_walk, 3.2), (write_bend, 4.0)])
def test_scenarios_write_topics_and_truth(tmp_path, write, duration) -> None:
    seen = []
    with BagWriter(tmp_path / 'bag') as writer:
        truth = write(writer, duration, 1, 1.0, lambda done, total: seen.append(done))
    json.dumps(truth)
    assert truth['total_mass'] == pytest.approx(8.0)
    assert seen == list(range(len(seen))) and len(seen) >= 3
    with BagReader(tmp_path / 'bag') as reader:
        counts = {name: info.count for name, info in reader.topics.items()}
    assert set(counts) == {
        '/joint_states',
        '/base/pose',
        '/force_plate/wrench',
        '/l_foot/wrench',
        '/r_foot/wrench',
        '/tf_static',
        '/imu/data',
    }
    # The plate samples every 3 ms, the motion capture loses about a hundredth of its frames.
    assert counts['/force_plate/wrench'] == pytest.approx(duration / 0.003, abs=2)
    assert 0.9 < counts['/base/pose'] / (240 * duration) < 1.0


def test_same_seed_same_bytes(tmp_path) -> None:
    payloads = []
    for name in ('a', 'b'):
        with BagWriter(tmp_path / name) as writer:
            write_bend(writer, 4.0, 5, 1.0, lambda done, total: None)
        with BagReader(tmp_path / name) as reader:
            payloads.append([(raw.topic, bytes(raw.data)) for raw in reader.raw()])
    assert payloads[0] == payloads[1]


def test_plate_resolution_is_visible(tmp_path) -> None:
    with BagWriter(tmp_path / 'bag') as writer:
        write_bend(writer, 4.0, 0, 1.0, lambda done, total: None)
    with BagReader(tmp_path / 'bag') as reader:
        forces = np.array(
            [m.message.wrench.force.z for m in reader.messages(['/force_plate/wrench'])]
        )
    steps = forces / 0.7
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)
    assert len(np.unique(np.round(steps))) > 3
