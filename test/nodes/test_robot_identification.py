"""The node `robot_identification` on the replay engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from live_harness import Item, codes, run

from veh_identification.errors import ParameterError
from veh_identification.nodes.robot_identification.node import RobotIdentification
from veh_identification.runtime import messages
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.robot.plant import equations_of_motion
from veh_identification.simulation.robot.scenarios import exciting_motion, random_arm

NAME = 'robot_identification'
EPOCH_NS, RATE, SECONDS = 1_700_000_000_000_000_000, 100.0, 16.0


@pytest.fixture(scope='module')
def source() -> list[Item]:
    """The six-axis arm on its path, without noise."""
    arm = random_arm('arm_6_axis.urdf', 12)
    times = np.arange(round(SECONDS * RATE)) / RATE
    q, qd, qdd = exciting_motion(arm.nominal, times, 2)
    made = []
    for k, moment in enumerate(times):
        M, c = equations_of_motion(arm.plant, q[k], qd[k])
        effort = M @ qdd[k] + c + arm.drive.motor_inertia * qdd[k] + arm.friction.offset
        effort += arm.friction.viscous * qd[k] + arm.friction.coulomb * np.sign(qd[k])
        made.append(message(round(1e9 * moment), arm.plant.joints, q[k], effort))
    return made


def message(after_ns: int, names: Any, position: Any, effort: Any) -> Item:
    stamp = EPOCH_NS + after_ns
    fields = {'name': list(names), 'position': position, 'velocity': [], 'effort': effort}
    header = messages.header(stamp, 'base_link')
    made = messages.new('sensor_msgs/msg/JointState', header=header, **fields)
    return Item(stamp, '/joint_states', made)


def counts(sink: Any) -> dict[str, int]:
    """Of the sensor in the last diagnostics; the sum was checked by the harness."""
    status = [
        one
        for array in sink.of('/diagnostics')
        for one in array.status
        if one.name == f'{NAME}: joint_states'
    ][-1]
    return {item.key: int(item.value) for item in status.values if item.value.isdigit()}


def test_estimates_while_the_arm_moves(source: list[Item]) -> None:
    node, sink = run(RobotIdentification, NAME, source)
    estimates = sink.of(f'/{NAME}/parameters')
    assert len(estimates) > 5 and estimates[-1].system == 'robot'
    truth = node.model.arm.values_of(random_arm('arm_6_axis.urdf', 12).truth())
    found = {one.name: one for one in estimates[-1].parameters}
    known = dict(zip(node.model.arm.names, truth, strict=True))
    for name in ('link_2.MSx', 'joint_1.h', 'joint_2.fs', 'joint_3.h'):
        assert found[name].value == pytest.approx(known[name], rel=0.05), name
    shown = sink.of(f'/{NAME}/reconstruction')
    measured, predicted = (
        np.array([getattr(one, side) for one in shown]) for side in ('measured', 'predicted')
    )
    left = np.sqrt(np.mean((measured - predicted) ** 2, axis=0))
    assert np.all(left < 0.05 * np.sqrt(np.mean(measured**2, axis=0)))
    told, all_of_them = counts(sink), node.model.counts()['joint_states']
    assert told['received'] == told['accepted'] >= 1501  # the last report, at 15 s or the end
    assert all_of_them.received == all_of_them.used == len(source)


def test_every_message_is_accounted_for(source: list[Item]) -> None:
    first = source[0].message
    names, q, effort = list(first.name), first.position, first.effort
    spoilt = list(source[:400])
    spoilt[50] = message(500_000_000, names[:5], q[:5], effort[:5])
    spoilt[60] = message(600_000_000, names, np.full(6, np.nan), effort)
    spoilt[70] = message(700_000_000, names, q, [])
    stale = message(100_000_000, names, q, effort)
    spoilt[80] = Item(spoilt[80].time_ns, stale.topic, stale.message)
    other = message(900_000_000, ['finger', *names], [0.1, *q], [0.0, *effort])
    spoilt[90] = other
    node, sink = run(RobotIdentification, NAME, spoilt)
    told = counts(sink)
    assert told['received'] == 301  # at 3 s
    # The other message holds the first posture: a glitch, which goes with its neighbours.
    assert (told['invalid'], told['late'], told['rejected'], told['accepted']) == (3, 1, 3, 294)
    assert node.model.counts()['joint_states'].received == 400
    assert node.model.rejected == 7


def test_services_and_silence(source: list[Item], tmp_path: Any) -> None:
    path = str(tmp_path / 'state.npz')
    calls = [(9.0, '/save', {}), (9.5, '/reset', {}), (10.0, '/enable', {'data': False})]
    calls += [(11.5, '/enable', {'data': True})]
    quiet = [*source[:1200], message(15_000_000_000, ['other'], [0.0], [0.0])]
    node, sink = run(RobotIdentification, NAME, quiet, calls=calls, file=path)
    assert (tmp_path / 'state.npz').is_file()
    assert node.model.samples < 200  # of the time after the reset alone
    again, _ = run(RobotIdentification, NAME, source[:300], calls=[(1.0, '/load', {})], file=path)
    assert again.model.solution is not None
    status = sink.statuses(NAME)[-1]
    assert messages.byte_value(status.level) in (1, 2)
    assert 'no_estimate' in codes(status)


def test_wrong_parameters_are_one_sentence(source: list[Item]) -> None:
    for parameters, words in (
        ({'urdf': 'nothing.urdf'}, 'nothing.urdf'),
        ({'result': str(share_directory() / 'config')}, 'result'),
        ({'payload_link': 'hand'}, 'hand'),
    ):
        with pytest.raises(ParameterError, match=words):
            run(RobotIdentification, NAME, source[:2], **parameters)


def wanted(after_ns: int, **changes: Any) -> Item:
    stamp = EPOCH_NS + after_ns
    names = [f'joint_{k}' for k in range(6, 0, -1)]
    sides = {'positions': 0.3, 'velocities': 0.5, 'accelerations': 0.2}
    fields = {side: np.full(6, value) for side, value in sides.items()}
    duration = messages.new('builtin_interfaces/msg/Duration', sec=1, nanosec=5)
    fields |= {'effort': [], 'time_from_start': duration, **changes}
    point = messages.new('trajectory_msgs/msg/JointTrajectoryPoint', **fields)
    header = messages.header(stamp, 'base_link')
    made = messages.new(
        'trajectory_msgs/msg/JointTrajectory', header=header, joint_names=names, points=[point]
    )
    return Item(stamp, '/wanted', made)


def test_torques_for_a_wanted_motion(source: list[Item]) -> None:
    early, late = wanted(1_000_000_000), wanted(15_500_000_000)
    lacking = wanted(15_600_000_000, accelerations=[])
    asked = sorted([*source, early, late, lacking], key=lambda one: one.time_ns)
    node, sink = run(RobotIdentification, NAME, asked, learn=8.0)
    (torques,), (deviations,) = (
        sink.of(f'/{NAME}/{topic}') for topic in ('feedforward', 'feedforward_deviation')
    )
    assert node.facts()['wanted_answered'] == 1 and node.facts()['wanted_refused'] == 2
    assert list(torques.joint_names) == [f'joint_{k}' for k in range(1, 7)]
    assert torques.points[0].time_from_start.nanosec == 5
    arm = random_arm('arm_6_axis.urdf', 12)
    M, c = equations_of_motion(arm.plant, np.full(6, 0.3), np.full(6, 0.5))
    truth = M @ np.full(6, 0.2) + c + arm.drive.motor_inertia * 0.2 + arm.friction.offset
    truth += 0.5 * arm.friction.viscous + arm.friction.coulomb
    found, sigma = torques.points[0].effort, deviations.points[0].effort
    assert np.all(np.abs(found - truth) < 0.02 * arm.nominal.effort)
    assert np.all(np.abs(found - truth) < 5.0 * sigma) and np.all(sigma > 0.0)
