"""The node `feedforward` on the replay engine: arms and parallel robots."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_harness import Sink
from mistaken.common import Item

from veh_identification.errors import InputError, ModelError, ParameterError, UsageError
from veh_identification.nodes.feedforward.node import Feedforward
from veh_identification.nodes.feedforward.robots import _finite
from veh_identification.runtime import messages
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.parallel.scenarios import EPOCH_NS, TRUTH
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.parallel import feedforward as parallel
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import LEGS, POSE_NAMES
from veh_identification.systems.robot import feedforward as robot
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.model import ArmModel, fixed_tree

URDF = share_directory() / 'config' / 'models' / 'arm_6_axis.urdf'
TYPE = 'trajectory_msgs/msg/JointTrajectory'
POSE = load_configuration().model().robot.home + 0.01
MOTION = (POSE, np.full(6, 0.05), np.full(6, 0.4))


def written(folder: Path, data: dict[str, Any], **changes: Any) -> str:
    (folder / 'parameters.json').write_text(json.dumps({**data, **changes}), 'utf-8')
    return str(folder)


def hexapod(folder: Path, **changes: Any) -> str:
    names = load_configuration().model().names
    data = {
        'system': 'parallel',
        'verdict': {'level': 'yes', 'findings': []},
        'parameters': [{'name': name, 'value': TRUTH[name]} for name in names],
        'covariance': np.diag([(0.01 * TRUTH[name]) ** 2 for name in names]).tolist(),
        'residuals': {leg: {'sigma': 2.0} for leg in LEGS},
    }
    return written(folder, data, **changes)


def arm(folder: Path) -> str:
    made, configuration = load_robot(URDF), Configuration()
    tree = fixed_tree(made, [])
    joints = tree.coordinate_names
    gravity = [0.0, 0.0, -9.81]
    measured = np.ones(len(joints), dtype=bool)
    model = ArmModel(made, tree, np.array(gravity), measured, configuration)
    value = np.random.default_rng(1).normal(size=len(model.names))
    told = {
        'gravity': gravity,
        'motor_inertia': configuration.motor_inertia,
        'friction': asdict(configuration.friction),
        'coupled': [],
        'locked_joints': [],
        'measured_joints': list(joints),
    }
    data = {
        'system': 'robot',
        'verdict': {'level': 'care', 'findings': []},
        'input': told,
        'parameters': [
            {'name': n, 'value': v} for n, v in zip(model.names, value.tolist(), strict=True)
        ],
        'covariance': (1e-4 * np.eye(len(model.names))).tolist(),
        'residuals': {name: {'sigma': 0.5} for name in joints},
        'dry_friction': [{'joint': n, 'width': 0.01, 'changes_over': 0.0} for n in joints],
    }
    return written(folder, data)


def wanted(names: list[str], motion: Any, seconds: float = 0.5, **changes: Any) -> Item:
    stamp = EPOCH_NS + round(seconds * 1e9)
    sides = dict(zip(('positions', 'velocities', 'accelerations'), motion, strict=True))
    duration = messages.new('builtin_interfaces/msg/Duration', sec=1, nanosec=5)
    point = messages.new(
        'trajectory_msgs/msg/JointTrajectoryPoint',
        **{**sides, 'effort': [], 'time_from_start': duration, **changes},
    )
    header = messages.header(stamp, 'base_link')
    made = messages.new(TYPE, header=header, joint_names=names, points=[point, point])
    return Item(stamp, '/wanted', made, TYPE)


def run(items: list[Item], calls: Any = (), **parameters: Any) -> tuple[Feedforward, Sink]:
    sink = Sink()
    engine = ReplayEngine(EPOCH_NS, sink=sink, log_level='fatal')
    node = Feedforward(engine.create_node('feedforward', parameters=parameters))
    for seconds, service in calls:
        engine.call_service_at(EPOCH_NS + round(seconds * 1e9), f'/feedforward{service}')
    engine.run(items)
    return node, sink


def answer(sink: Sink) -> tuple[Any, Any]:
    (efforts,), (deviations,) = (
        sink.of(f'/feedforward/{topic}') for topic in ('feedforward', 'feedforward_deviation')
    )
    assert efforts.header.frame_id == 'base_link' and len(efforts.points) == 2
    assert efforts.points[1].time_from_start.nanosec == 5
    return efforts, deviations


def test_forces_for_a_motion_of_platform_or_legs(tmp_path: Path) -> None:
    result = hexapod(tmp_path)
    model = parallel.load_feedforward(result)
    motion = tuple(one[None] for one in MOTION)
    forces, sigma = parallel.feedforward(model, *motion)
    names = list(reversed(POSE_NAMES))
    _, sink = run([wanted(names, [one[::-1] for one in MOTION])], result=result)
    efforts, deviations = answer(sink)
    assert list(efforts.joint_names) == list(LEGS)
    np.testing.assert_allclose(efforts.points[0].effort, forces[0])
    np.testing.assert_allclose(deviations.points[1].effort, sigma[0])
    legs = [efforts.points[0].positions, efforts.points[0].velocities]
    legs.append(efforts.points[0].accelerations)
    _, sink = run([wanted(list(LEGS), legs)], result=result)
    np.testing.assert_allclose(answer(sink)[0].points[0].effort, forces[0], rtol=1e-6)


def test_torques_of_an_arm(tmp_path: Path) -> None:
    result = arm(tmp_path)
    model = robot.load_feedforward(result, URDF)
    motion = (np.full(6, 0.3), np.full(6, 0.5), np.full(6, 0.2))
    item = wanted(list(model.joints), motion)
    node, sink = run([item], result=result, urdf='models/arm_6_axis.urdf', noise=True)
    efforts, deviations = answer(sink)
    torque, sigma = robot.feedforward(model, *motion, noise=True)
    np.testing.assert_allclose(efforts.points[0].effort, torque[0])
    np.testing.assert_allclose(deviations.points[0].effort, sigma[0])
    assert node.facts()['robot'] == 'robot' and 'verdict care' in node.facts()['result']


def test_motions_that_an_arm_cannot_mean(tmp_path: Path) -> None:
    """Degrees, another order, a joint too few or too many: named, or understood."""
    result = arm(tmp_path)
    model = robot.load_feedforward(result, URDF)
    joints = list(model.joints)
    motion = tuple(np.linspace(a, a + 0.1, 6) for a in (0.3, 0.5, 0.2))
    torque, sigma = robot.feedforward(model, *motion)
    backwards = tuple(one[::-1] for one in motion)
    turned, deviation = robot.feedforward(model, *backwards, joints=joints[::-1])
    np.testing.assert_allclose(turned[:, ::-1], torque)
    np.testing.assert_allclose(deviation[:, ::-1], sigma)
    with pytest.raises(UsageError, match='the motion names joint_1'):
        robot.feedforward(model, *motion, joints=['joint_1'] * 6)
    with pytest.raises(InputError, match=r'positions of joint_1 .*degrees\?'):
        robot.feedforward(model, *(np.degrees(one) for one in motion))
    items = [
        wanted(joints, [np.degrees(one) for one in motion], 0.2),
        wanted(joints[:5], [one[:5] for one in motion], 0.4),
        wanted([*joints, 'finger'], [np.append(one, 0.0) for one in motion], 0.6),
        wanted([*joints, 'joint_2'], [np.append(one, 0.0) for one in motion], 0.8),
        wanted(joints[::-1], backwards, 2.5),
    ]
    node, sink = run(items, result=result, urdf=str(URDF))
    facts = node.facts()
    assert (facts['wanted_answered'], facts['wanted_refused']) == (1, 4)
    np.testing.assert_allclose(answer(sink)[0].points[0].effort, torque[0])
    told = [one.message for one in sink.statuses('feedforward')]
    assert 'holds joint_2 twice' in told[0]


def test_a_platform_in_degrees_is_refused(tmp_path: Path) -> None:
    model = parallel.load_feedforward(hexapod(tmp_path))
    pose = POSE + np.array([0.0, 0.0, 0.0, 0.1, 0.05, -0.1])
    still = np.zeros(6)
    parallel.feedforward(model, pose, still, still)
    degrees = np.concatenate([pose[:3], np.degrees(pose[3:])])
    with pytest.raises(ModelError, match='phi, theta and psi in degrees'):
        parallel.feedforward(model, degrees, still, still)
    with pytest.raises(InputError, match='velocities of leg_1'):
        parallel.feedforward(model, pose, np.array([0.0, 0.0, 9.0, 0.0, 0.0, 0.0]), still)


def test_a_result_whose_verdict_is_no_is_refused(tmp_path: Path) -> None:
    bad = {'level': 'no', 'findings': [{'text': 'two legs are exchanged'}]}
    result = hexapod(tmp_path, verdict=bad)
    with pytest.raises(ParameterError, match=r'verdict of this result is no.*two legs'):
        run([], result=result)
    with pytest.raises(ParameterError, match='description \\(urdf\\) must be given'):
        run([], result=arm(tmp_path))
    with pytest.raises(ParameterError, match="system is 'car'"):
        run([], result=hexapod(tmp_path, system='car'))


def test_a_result_that_turns_bad_leaves_no_model(tmp_path: Path) -> None:
    result = hexapod(tmp_path)
    node, _ = run([], result=result)
    hexapod(tmp_path, verdict={'level': 'no', 'headline': 'No.'})
    with pytest.raises(Exception, match='verdict'):
        node._load()
    assert node.robot is None


def test_motions_that_lack_something_are_refused_and_said(tmp_path: Path) -> None:
    result = hexapod(tmp_path)
    items = [
        wanted(list(LEGS), MOTION, 0.2, accelerations=[]),
        wanted(list(LEGS[:5]) + ['other'], MOTION, 0.4),
        wanted(list(LEGS), (np.full(6, 9.0), *MOTION[1:]), 0.6),
        wanted(list(POSE_NAMES), (POSE, np.full(6, np.nan), MOTION[2]), 1.2),
    ]
    node, sink = run([*items, wanted(list(POSE_NAMES), MOTION, 4.5)], result=result)
    facts = node.facts()
    assert (facts['wanted_answered'], facts['wanted_refused']) == (1, 4)
    levels = [messages.byte_value(one.level) for one in sink.statuses('feedforward')]
    assert levels == [1, 1, 0, 0]
    without, sink = run([wanted(list(LEGS), MOTION), wanted(list(LEGS), MOTION, 1.5)])
    assert without.facts()['wanted_refused'] == 2 and sink.of('/feedforward/feedforward') == []
    (status,) = sink.statuses('feedforward')
    assert messages.byte_value(status.level) == 2 and 'result is empty' in status.message


def test_a_motion_beyond_numbers_is_refused(tmp_path: Path) -> None:
    """Found by bench/fuzz.py: the deviations of finite efforts were infinite."""
    result = hexapod(tmp_path)
    beyond = [
        wanted(list(POSE_NAMES), (POSE, MOTION[1], np.full(6, size))) for size in (1e160, 1e300)
    ]
    with np.errstate(all='ignore'):
        node, sink = run(beyond, result=result)
    assert node.facts()['wanted_refused'] == 2 and sink.of('/feedforward/feedforward') == []
    assert node._guard.failures == 0


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    wide = [np.append(one, one[0]) for one in MOTION]
    node, _ = run([wanted([*POSE_NAMES, POSE_NAMES[0]], wide)], result=hexapod(tmp_path))
    assert node.facts()['wanted_refused'] == 1


def test_a_joint_whose_effort_nobody_measured_has_no_deviation_and_refuses_nothing() -> None:
    effort, motion = np.ones((3, 2)), (np.zeros((3, 2)),) * 3
    sigma = np.array([[0.1, np.nan]] * 3)
    assert _finite((effort, sigma), motion, 'wanted')[1] is sigma
    for spoilt in (np.array([[0.1, np.nan], [np.inf, np.nan], [0.1, np.nan]]), sigma * np.inf):
        with pytest.raises(InputError, match='no number'):
            _finite((effort, spoilt), motion, 'wanted')
