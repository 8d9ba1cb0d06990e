"""The node: determinism, parameters, services, frames, outputs."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from fusion_harness import (
    SECOND,
    START,
    Recorded,
    fix,
    imu,
    joints,
    odometry,
    pose,
    prepare,
    run,
    static_transform,
    steady_imu,
    wrench,
)

from veh_identification.errors import ParameterError
from veh_identification.runtime.messages import stamp_ns

MS = 1_000_000
SENSORS = {'gnss.topic': 'gps/fix', 'odometry.topic': 'odom', 'rate': 50.0}


def drive(seconds: float = 20.0) -> list[Recorded]:
    """A vehicle on a circle with IMU, odometry, satellites and two groups of joints."""
    source: list[Recorded] = []
    v, w, heading = 3.0, 0.2, 1.0
    for k in range(int(seconds * 100)):
        stamp = START + k * 10 * MS
        t = k / 100
        source.append(imu(stamp, (0.0, 0.0, w), (0.0, v * w, 9.80665)))
        if k % 5 == 0:
            source.append(odometry(stamp + 3 * MS, v, w))
        if k % 20 == 0:
            angle = heading + w * t
            east = v / w * (math.sin(angle) - math.sin(heading))
            north = v / w * (math.cos(heading) - math.cos(angle))
            scale = 180.0 / math.pi / 6378137.0
            east_scale = scale / math.cos(math.radians(42.0))
            source.append(fix(stamp + 7 * MS, 42.0 + north * scale, -71.0 + east * east_scale))
        source.append(joints(stamp + MS, ['wheel', 'arm'], [10.0 * t, math.sin(t)]))
        if k % 2 == 0:
            source.append(joints(stamp + MS, ['rack'], [0.1 * math.sin(t)]))
    return sorted(source, key=lambda item: item.time_ns)


def late(source: list[Recorded], spread: int, seed: int) -> list[Recorded]:
    """The same messages as they arrive over a bad network."""
    rng = random.Random(seed)
    items = [
        Recorded(item.time_ns + rng.randrange(spread), item.topic, item.typename, item.message)
        for item in source
    ]
    return sorted(items, key=lambda item: item.time_ns)


def test_arrival_order_does_not_change_a_byte() -> None:
    source = drive()
    plain = run(SENSORS, source)
    payloads = plain.sink.payloads['/fused/state']
    assert len(payloads) > 900
    assert plain.states[-1].pose_valid and plain.states[-1].twist_valid
    for seed in range(3):
        shaken = run(SENSORS, late(source, 50 * MS, seed))
        other = shaken.sink.payloads['/fused/state']
        assert other[: len(payloads) - 5] == payloads[: len(payloads) - 5]
        assert all(shaken.sensor(n).late == 0 for n in ('imu', 'gnss', 'odometry', 'joints'))


def test_in_order_streams_give_the_same_bytes_with_less_latency() -> None:
    """Fast path: what leaves is the same, only earlier."""
    source = drive(10.0)
    waiting = run(SENSORS, source)
    quick = run({**SENSORS, 'merge.in_order': True, 'merge.max_wait': 1.0}, source)
    a, b = waiting.sink.payloads['/fused/state'], quick.sink.payloads['/fused/state']
    n = min(len(a), len(b))
    assert n > 400
    assert a[:n] == b[:n]


def test_two_runs_are_byte_identical() -> None:
    first, second = run(SENSORS, drive(5.0)), run(SENSORS, drive(5.0))
    assert first.sink.payloads == second.sink.payloads


def test_outputs_stand_on_the_grid() -> None:
    states = run(SENSORS, drive(5.0)).states
    stamps = [stamp_ns(s) for s in states]
    assert all(stamp % (20 * MS) == 0 for stamp in stamps)
    assert set(np.diff(stamps)) == {20 * MS}


def test_joint_groups_come_together_at_one_stamp() -> None:
    last = run(SENSORS, drive(5.0)).states[-1]
    t = (stamp_ns(last) - START - MS) * 1e-9
    assert list(last.joint_names) == ['arm', 'rack', 'wheel']
    assert all(last.joint_valid)
    assert np.allclose(last.joint_positions, [math.sin(t), 0.1 * math.sin(t), 10 * t], atol=1e-2)
    assert np.allclose(last.joint_velocities, [math.cos(t), 0.1 * math.cos(t), 10.0], atol=1e-2)


def test_chosen_joints_with_measured_velocity_and_unwrapping() -> None:
    source = steady_imu(300)
    for k in range(300):
        t = k / 100
        angle = math.remainder(9.0 * t, 2.0 * math.pi)
        source.append(
            joints(START + k * 10 * MS, ['x', 'wheel', 'y'], [0.0, angle, 0.0], [0.0, 9.0, 0.0])
        )
    source.sort(key=lambda item: item.time_ns)
    names = {'joints.names': ['wheel', 'missing'], 'joints.unwrap': ['wheel']}
    for extra in ({}, {'joints.use_velocity': True}):
        last = run({'rate': 50.0, **names, **extra}, source).states[-1]
        assert list(last.joint_names) == ['wheel', 'missing']
        assert list(last.joint_valid) == [True, False]
        assert last.joint_velocities[0] == pytest.approx(9.0, abs=1e-6)
        assert last.joint_accelerations[0] == pytest.approx(0.0, abs=1e-3)
        assert last.joint_positions[0] == pytest.approx(9.0 * (stamp_ns(last) - START) * 1e-9)


def humanoid(seconds: float = 3.0) -> list[Recorded]:
    """A body that turns about z beside a plate that is pushed down."""
    source = []
    for k in range(int(seconds * 200)):
        stamp, t = START + k * 5 * MS, k / 200
        half = 0.25 * t
        q = (0.0, 0.0, math.sin(half), math.cos(half))
        source.append(pose(stamp, (0.0, 0.0, 1.0), q))
        source.append(
            wrench(stamp + MS, '/force_plate/wrench', 'plate', [0.0, 0.0, 80.0, 0.0, 0.0, 0.0])
        )
    return source


HUMANOID = {
    'imu.topic': '',
    'joints.topic': '',
    'mocap.topic': 'base/pose',
    'rate': 50.0,
    'world_frame': 'world',
    'wrench_sensors': ['force_plate'],
    'force_plate.topic': 'force_plate/wrench',
}


@pytest.mark.parametrize('source', ['parameter', 'tf', 'both'])
def test_plate_wrench_by_hand(source: str) -> None:
    """Plate at x = 2 in the world, base 1 m above its origin, turned by psi: N = r x F."""
    messages = humanoid()
    parameters: dict[str, Any] = dict(HUMANOID)
    if source != 'tf':
        parameters['force_plate.position'] = [2.0, 0.0, 0.0]
    if source != 'parameter':
        # a configuration wins over /tf_static
        x = 2.0 if source == 'tf' else 5.0
        messages.insert(0, static_transform(START, 'world', 'plate', (x, 0.0, 0.0)))
    last = run(parameters, messages).states[-1]
    psi = 0.5 * (stamp_ns(last) - START) * 1e-9
    assert last.wrench_valid[0] and last.pose_valid
    force, torque = last.wrenches[0].force, last.wrenches[0].torque
    assert (force.x, force.y, force.z) == pytest.approx((0.0, 0.0, 80.0), abs=1e-6)
    # r in base axes: (2 cos psi, -2 sin psi, -1); r x (0, 0, 80)
    expected = (-160.0 * math.sin(psi), -160.0 * math.cos(psi), 0.0)
    assert (torque.x, torque.y, torque.z) == pytest.approx(expected, abs=1e-3)
    assert last.twist.angular.z == pytest.approx(0.5, abs=1e-6)


def test_plate_without_base_pose_is_invalid() -> None:
    source = [item for item in humanoid() if item.topic != '/base/pose']
    states = run(HUMANOID, source).states
    assert len(states) > 100
    assert not any(s.wrench_valid[0] for s in states)


def test_static_transform_of_the_imu() -> None:
    """An IMU on its side: gravity on y; the tree base -> mast -> imu says so."""
    half = math.sqrt(0.5)
    source = [
        static_transform(START, 'base_link', 'mast', (0.0, 0.0, 1.0)),
        static_transform(START, 'mast', 'imu_link', (0.5, 0.0, 0.0), (half, 0.0, 0.0, half)),
    ]
    for k in range(300):
        item = imu(START + k * 10 * MS, force=(0.0, 9.80665, 0.0))
        item.message.header.frame_id = 'imu_link'
        source.append(item)
    result = run({'joints.topic': '', 'rate': 50.0}, source)
    last = result.states[-1]
    assert (last.gravity.x, last.gravity.y, last.gravity.z) == pytest.approx(
        (0.0, 0.0, -9.80665), abs=1e-3
    )
    assert result.node.core.navigator.imu_mount.translation == (0.5, 0.0, 1.0)
    assert not any('mounted turned' in text for text in result.status.messages)
    # without the tree the node says what is odd
    bare = run({'joints.topic': '', 'rate': 50.0}, source[2:])
    assert any('points along +y' in text for text in bare.status.messages)
    assert any('not in /tf_static' in text for text in bare.status.messages)


def test_channels_of_ranges_and_pressures() -> None:
    from veh_identification.runtime import messages

    source = steady_imu(300)
    for k in range(60):
        stamp = START + k * 50 * MS
        kind = 'sensor_msgs/msg/Range'
        message = messages.new(
            kind,
            header=messages.header(stamp),
            min_range=0.05,
            max_range=1.0,
            range=math.inf if k == 30 else 0.2 + 0.001 * k,
        )
        source.append(Recorded(stamp, '/ride_height_fl', kind, message))
        kind = 'sensor_msgs/msg/FluidPressure'
        message = messages.new(kind, header=messages.header(stamp), fluid_pressure=1e5)
        source.append(Recorded(stamp, '/brake/pressure', kind, message))
    source.sort(key=lambda item: item.time_ns)
    parameters = {
        'joints.topic': '',
        'rate': 50.0,
        'range_sensors': ['fl'],
        'fl.topic': 'ride_height_fl',
        'pressure_sensors': ['brake'],
        'brake.topic': 'brake/pressure',
    }
    result = run(parameters, source)
    last = result.states[-1]
    t = (stamp_ns(last) - START) * 1e-9
    assert list(last.channel_names) == ['fl', 'brake']
    assert list(last.channel_valid) == [True, True]
    assert last.channel_values[0] == pytest.approx(0.2 + 0.02 * t, abs=1e-6)
    assert result.sensor('fl').invalid == 1


def test_services() -> None:
    result = prepare({**SENSORS, 'publish_tf': True, 'publish_odometry': True})
    engine = result.engine
    assert engine.services() == [
        '/sensor_fusion/enable',
        '/sensor_fusion/reset',
        '/sensor_fusion/set_datum',
    ]
    source = drive(16.0)
    engine.call_service_at(START + 6 * SECOND, '/sensor_fusion/enable', data=False)
    engine.call_service_at(START + 8 * SECOND, '/sensor_fusion/enable', data=True)
    engine.call_service_at(START + 14 * SECOND, '/sensor_fusion/set_datum')
    engine.run(source)
    stamps = np.array([stamp_ns(s) for s in result.states])
    assert not np.any((stamps > START + 6.1 * SECOND) & (stamps < START + 7.9 * SECOND))
    modes = [m.mode for m in result.sink.messages('/sensor_fusion/status')]
    assert 'disabled' in modes and modes[-1] == 'running'
    by_stamp = {stamp_ns(s): s for s in result.states}
    before = by_stamp[START + 13 * SECOND].pose.position
    after = result.states[-1].pose.position
    assert math.hypot(before.x, before.y) > 10.0
    assert math.hypot(after.x, after.y) < 8.0
    assert result.sink.payloads['/tf'] and result.sink.payloads['/odometry/fused']
    answer = engine.call_service('/sensor_fusion/reset')
    assert answer.success
    assert not result.node.core.navigator.filter.ready


def test_set_datum_needs_a_receiver() -> None:
    result = prepare({'joints.topic': ''})
    answer = result.engine.call_service('/sensor_fusion/set_datum')
    assert not answer.success
    assert 'gnss.topic' in answer.message


@pytest.mark.parametrize(
    ('parameters', 'sentence'),
    [
        ({'rate': -1.0}, 'parameter rate: -1 Hz is below its minimum'),
        ({'rate': 'fast'}, 'parameter rate: expected a number'),
        ({'imu.gravity': 'maybe'}, "parameter imu.gravity: 'maybe' is not one of"),
        ({'imu.dealy': 0.1}, 'unknown parameter imu.dealy'),
        ({'wrench_sensors': ['plate']}, 'parameter plate.topic: sensor plate has no topic'),
        ({'imu.position': [0.0, 1.0]}, 'parameter imu.position: expected 3 numbers, found 2'),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        prepare(parameters)


@pytest.mark.parametrize('name', ['car', 'humanoid', 'husky', 'buggy'])
def test_shipped_configurations(name: str) -> None:
    from pathlib import Path

    path = Path(__file__).parents[2] / 'config' / f'sensor_fusion_{name}.yaml'
    result = prepare({}, files=[path])
    assert result.engine.input_topics()
