"""Bad samples, each counted under its own heading; the rest of the stream goes on."""

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
    is_counted,
    joints,
    odometry,
    pose,
    run,
    steady_imu,
)

from veh_identification.errors import ParameterError
from veh_identification.fusion.sensor_options import GnssOptions
from veh_identification.nodes.sensor_fusion import input as inputs

ONLY_IMU = {'joints.topic': '', 'rate': 50.0}
MS = 1_000_000


def spoil(count: int, replacements: dict[int, Recorded]) -> list[Recorded]:
    return [replacements.get(k, item) for k, item in enumerate(steady_imu(count))]


def finite(states: list[Any]) -> bool:
    return all(
        math.isfinite(s.pose.orientation.w + s.twist.angular.x + s.acceleration.linear.x)
        for s in states
    )


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('where', ['rate', 'force'])
def test_not_finite(bad: float, where: str) -> None:
    item = imu(START + 200 * 10 * MS, **{where: (0.0, bad, 0.0)})
    result = run(ONLY_IMU, spoil(400, {200: item}))
    assert result.sensor('imu').invalid == 1
    assert result.node.core.records['imu'].reasons == {'NaN or infinite': 1}
    assert finite(result.states)
    assert is_counted(result.sensor('imu'), 15)


@pytest.mark.parametrize('q', [(0.0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0), (math.nan, 0, 0, 1)])
def test_orientation_that_is_none(q: tuple[float, float, float, float]) -> None:
    """With the orientation in use a broken one spoils the sample."""
    replaced = {
        k: imu(START + k * 10 * MS, orientation=q, orientation_covariance=[0.01] * 9)
        for k in range(100, 110)
    }
    source = spoil(400, replaced)
    result = run({**ONLY_IMU, 'imu.use_orientation': True}, source)
    assert result.sensor('imu').invalid == 10
    assert 'quaternion is not of unit length' in result.node.core.records['imu'].reasons
    assert finite(result.states)


def test_all_zero_orientation_of_a_driver_without_one_is_harmless() -> None:
    source = [
        imu(START + k * 10 * MS, orientation=(0.0,) * 4, orientation_covariance=[0.0] * 9)
        for k in range(300)
    ]
    result = run(ONLY_IMU, source)
    assert result.sensor('imu').invalid == 0
    assert result.states[-1].orientation_valid


def test_zero_stamps() -> None:
    source = [
        Recorded(item.time_ns, item.topic, item.typename, imu(0).message)
        for item in steady_imu(300)
    ]
    result = run(ONLY_IMU, source)
    sensor = result.sensor('imu')
    assert sensor.invalid == sensor.received >= 200
    assert not result.states
    assert result.status.mode == 'waiting'
    diagnostics = result.sink.messages('/diagnostics')[-1]
    entry = next(s for s in diagnostics.status if s.name.endswith(': imu'))
    assert entry.level == 2
    assert 'zero stamp' in entry.message


def test_duplicates() -> None:
    source = [item for item in steady_imu(300) for _ in range(2)]
    single = run(ONLY_IMU, steady_imu(300))
    result = run(ONLY_IMU, source)
    assert abs(result.sensor('imu').duplicate - result.sensor('imu').accepted) <= 1
    assert result.sink.payloads['/fused/state'] == single.sink.payloads['/fused/state']


def test_stamps_going_back_a_little_are_sorted() -> None:
    """Neighbours swapped within max_wait: the same output as in order."""
    source = steady_imu(400)
    for k in range(0, 400, 4):
        source[k], source[k + 1] = source[k + 1], source[k]
    arrival = [item.time_ns for item in steady_imu(400)]
    source = [
        Recorded(t, s.topic, s.typename, s.message) for t, s in zip(arrival, source, strict=True)
    ]
    plain = run(ONLY_IMU, steady_imu(400))
    result = run(ONLY_IMU, source)
    assert result.sensor('imu').late == 0
    assert result.sink.payloads['/fused/state'] == plain.sink.payloads['/fused/state']


def test_stamps_going_back_too_far_are_late() -> None:
    source = steady_imu(400)
    old = imu(START + 100 * 10 * MS + 1, arrival=source[200].time_ns)
    plain = run(ONLY_IMU, steady_imu(400))
    result = run(ONLY_IMU, [*source[:201], old, *source[201:]])
    assert result.sensor('imu').late == 1
    assert result.sink.payloads['/fused/state'] == plain.sink.payloads['/fused/state']


@pytest.mark.parametrize('hours', [1, -1])
def test_an_hours_jump_of_the_only_sensor(hours: int) -> None:
    before = steady_imu(500)
    step = hours * 3600 * SECOND
    after = [
        imu(START + 5 * SECOND + step + k * 10 * MS, arrival=START + (500 + k) * 10 * MS)
        for k in range(800)
    ]
    result = run(ONLY_IMU, before + after)
    sensor = result.sensor('imu')
    assert sensor.clock_jumps == 1
    assert sensor.accepted + 15 >= sensor.received
    stamps = [s.header.stamp.sec for s in result.states]
    assert stamps[-1] - stamps[0] == pytest.approx(hours * 3600 + 12, abs=2)
    assert result.states[-1].orientation_valid
    assert any(
        'jumped' in text
        for m in result.sink.messages('/sensor_fusion/status')
        for text in m.messages
    )


def test_an_hours_jump_of_one_of_two_sensors() -> None:
    source = []
    for k, item in enumerate(steady_imu(1500)):
        stamp = item.time_ns + (3600 * SECOND if k >= 500 else 0)
        source += [item, joints(stamp, ['a'], [0.001 * k], arrival=item.time_ns)]
    result = run({'rate': 50.0}, source)
    assert result.sensor('imu').late == 0
    assert result.sensor('joints').clock_jumps == 1
    assert result.sensor('joints').invalid > 50
    last = result.states[-1]
    assert last.orientation_valid
    assert list(last.joint_valid) == [False]
    assert abs(last.header.stamp.sec - START // SECOND) < 20
    assert not result.sensor('joints').active
    assert 'joints: its stamps are +3600.0 s off the others: set aside' in result.status.messages


def test_a_sensor_that_stops_for_ten_seconds_and_comes_back() -> None:
    source = []
    for k, item in enumerate(steady_imu(2500)):
        source.append(item)
        if not 800 <= k < 1800:
            source.append(joints(item.time_ns, ['a', 'b'], [0.01 * k, -0.01 * k]))
    result = run({'rate': 50.0}, source)
    valid = {
        (s.header.stamp.sec * SECOND + s.header.stamp.nanosec - START) * 1e-9: all(s.joint_valid)
        for s in result.states
    }
    assert not any(ok for t, ok in valid.items() if 8.1 < t < 17.9)
    assert all(ok for t, ok in valid.items() if 0.5 < t < 7.8)
    assert all(ok for t, ok in valid.items() if t > 18.2)
    assert all(s.orientation_valid for s in result.states[50:])
    modes = result.sink.messages('/sensor_fusion/status')
    inactive = [not s.active for m in modes for s in m.sensors if s.name == 'joints']
    assert 8 <= sum(inactive) <= 11
    assert result.sensor('joints').active
    assert result.sensor('joints').late == 0


def test_ten_percent_random_loss() -> None:
    rng = random.Random(1)
    source = []
    for k, item in enumerate(steady_imu(1500)):
        if rng.random() > 0.1:
            source.append(item)
        if rng.random() > 0.1:
            source.append(joints(item.time_ns, ['a'], [math.sin(0.02 * k)]))
    result = run({'rate': 50.0}, source)
    states = result.states[60:]
    assert all(s.orientation_valid for s in states)
    assert np.mean([s.joint_valid[0] for s in states]) > 0.98
    truth = [
        2.0 * math.cos(2.0 * (s.header.stamp.sec * SECOND + s.header.stamp.nanosec - START) * 1e-9)
        for s in states
    ]
    found = [s.joint_velocities[0] for s in states]
    error = np.subtract(found, truth)[[bool(s.joint_valid[0]) for s in states]]
    assert np.max(np.abs(error)) < 0.01


def test_fixes_without_solution_or_place() -> None:
    source = steady_imu(500)
    for k in range(0, 500, 20):
        stamp = START + k * 10 * MS
        source.append(odometry(stamp, 0.0, 0.0))
        if k == 100:
            source.append(fix(stamp, 42.0, -71.0, status=-1))
        elif k == 200:
            source.append(fix(stamp, math.nan, -71.0))
        elif k == 300:
            source.append(fix(stamp, 95.0, -71.0))
        else:
            source.append(fix(stamp, 42.0, -71.0))
    source.sort(key=lambda item: item.time_ns)
    parameters = {**ONLY_IMU, 'gnss.topic': 'gps/fix', 'odometry.topic': 'odom'}
    result = run(parameters, source)
    assert result.sensor('gnss').invalid == 3
    assert result.node.core.records['gnss'].reasons == {
        'no fix': 1,
        'NaN or infinite': 1,
        'impossible position': 1,
        'no attitude yet': 3,
    }
    # it stands still: the heading stays unknown, and so does the pose
    assert not any(s.pose_valid for s in result.states)
    assert any('heading is not known' in text for text in result.status.messages)


def test_poses_with_broken_quaternions() -> None:
    source = []
    for k in range(400):
        q = {100: (0.0,) * 4, 101: (2.0, 0.0, 0.0, 1.0), 102: (math.nan, 0.0, 0.0, 1.0)}.get(
            k, (0.0, 0.0, 0.0, 1.0)
        )
        source.append(pose(START + k * 10 * MS, (0.01 * k, 0.0, 0.0), q))
    result = run(
        {'imu.topic': '', 'joints.topic': '', 'mocap.topic': 'base/pose', 'rate': 50.0}, source
    )
    assert result.sensor('mocap').invalid == 3
    assert result.node.core.records['mocap'].reasons == {
        'NaN or infinite': 1,
        'quaternion is not of unit length': 2,
    }
    assert result.states[-1].pose_valid


@pytest.mark.parametrize(('factor', 'code'), [(1e3, 'unit'), (1.0, None)])
def test_poses_in_millimetres_are_named_and_not_called_silent(factor: float, code) -> None:
    source = []
    for k in range(400):
        place = tuple(factor * x for x in (0.3 * math.sin(0.03 * k), 0.004 * k, 0.9))
        source.append(pose(START + k * 10 * MS, place, (0.0, 0.0, 0.0, 1.0)))
    result = run(
        {'imu.topic': '', 'joints.topic': '', 'mocap.topic': 'base/pose', 'rate': 50.0}, source
    )
    told = {one.code for one in result.node.report.findings if one.where == 'mocap'}
    assert told == ({code} if code else set())


def test_joint_messages_that_do_not_fit() -> None:
    source: list[Recorded] = []
    for k, item in enumerate(steady_imu(300)):
        source.append(item)
        stamp = item.time_ns
        good = joints(stamp, ['b', 'a'], [1.0, 2.0])
        source.append(
            {
                50: joints(stamp, ['a', 'b'], [1.0]),
                60: joints(stamp, ['a', 'a'], [1.0, 1.0]),
                70: joints(stamp, ['a', 'b'], []),
                80: joints(stamp, ['a', 'b'], [1.0, math.nan]),
            }.get(k, good)
        )
    result = run({'rate': 50.0}, source)
    assert result.node.core.records['joints'].reasons == {
        'arrays of unequal length': 1,
        'a joint is named twice': 1,
        'no positions': 1,
        'NaN or infinite': 1,
    }
    last = result.states[-1]
    assert list(last.joint_names) == ['a', 'b']
    assert np.allclose(last.joint_positions, [2.0, 1.0])
    assert is_counted(result.sensor('joints'), 15)


def test_a_joint_without_an_encoder_does_not_cost_the_others() -> None:
    """NaN for good in one joint: the others are used, and it is told."""
    source: list[Recorded] = []
    for item in steady_imu(300):
        source += [item, joints(item.time_ns, ['b', 'a', 'c'], [1.0, 2.0, math.nan])]
    result = run({'rate': 50.0}, source)
    used = result.sensor('joints')
    assert used.invalid == inputs.UNMEASURED_FOR - 1
    assert used.accepted > 0.9 * used.received
    assert list(result.states[-1].joint_names) == ['a', 'b']
    assert np.allclose(result.states[-1].joint_positions, [2.0, 1.0])
    assert result.node.core.records['joints'].unmeasured == ('c',)


def test_joints_without_encoders_are_counted_for_each_sender() -> None:
    """Messages of another sender between them, all good, do not make the count begin anew."""
    parser = inputs.JointParser([], use_velocity=False)
    for _ in range(inputs.UNMEASURED_FOR):
        found = parser.measured(['a', 'b'], (1.0, math.nan), ())
        assert not isinstance(parser.measured(['c'], (3.0,), ()), str)
    assert not isinstance(found, str)
    ((layout, values),) = found
    assert (layout.names, values) == (['a'], (1.0,))
    assert parser.unmeasured == ('b',)


def test_wheels_with_velocities_beside_steering_with_positions_are_both_used() -> None:
    """One message holds steering angles and wheel speeds, NaN where a joint has no such thing."""
    parser = inputs.JointParser([], use_velocity=False)
    names, nan = ['wheel_rl', 'wheel_rr', 'steering_fl', 'broken'], math.nan
    for _ in range(inputs.UNMEASURED_FOR - 1):
        assert parser.measured(names, (nan, nan, 0.1, nan), (60.0, 61.0, nan, nan)) == (
            inputs.NOT_FINITE
        )
    found = parser.measured(names, (nan, nan, 0.1, nan), (60.0, 61.0, nan, nan))
    assert not isinstance(found, str)
    (steering, angle), (wheels, speeds) = found
    assert (steering.names, angle) == (['steering_fl'], (0.1,))
    assert (wheels.names, speeds) == (['wheel_rl', 'wheel_rr'], (60.0, 61.0))
    assert not wheels.has_position and wheels.has_velocity
    assert parser.unmeasured == ('broken',)


def test_velocities_without_numbers_do_not_cost_the_positions() -> None:
    parser = inputs.JointParser([], use_velocity=True)
    names = ['a', 'b']
    for _ in range(inputs.UNMEASURED_FOR - 1):
        assert parser.measured(names, (1.0, 2.0), (math.nan, 0.0)) == inputs.NOT_FINITE
    found = parser.measured(names, (1.0, 2.0), (math.nan, 0.0))
    assert not isinstance(found, str)
    assert (found[0][0].has_velocity, found[0][1]) == (False, (1.0, 2.0))
    whole = parser.measured(names, (1.0, 2.0), (0.5, 0.0))
    assert not isinstance(whole, str)
    assert whole[0][1] == (1.0, 2.0, 0.5, 0.0)


def test_an_imu_of_a_few_axes_says_what_to_set() -> None:
    source = [imu(START + k * 10 * MS, rate=(math.nan, math.nan, 0.1)) for k in range(400)]
    result = run(ONLY_IMU, source)
    assert 'imu.axes' in result.node.report.sensors['imu'].message


def test_speeds_that_cannot_be_are_not_used() -> None:
    """Two seconds of 1e12 m/s ended the node once."""
    source: list[Recorded] = []
    for k, item in enumerate(steady_imu(1500)):
        source.append(item)
        speed = 1e12 if 600 <= k < 800 else 0.05
        source += [odometry(item.time_ns, speed, 0.0)] if k % 5 == 0 else []
    result = run({**ONLY_IMU, 'odometry.topic': 'odom'}, source)
    assert result.node.core.records['odometry'].reasons['speed beyond what can be'] == 40
    assert result.sensor('odometry').invalid == 40
    assert finite(result.states)
    assert all(abs(s.twist.linear.x) < 1.0 for s in result.states if s.twist_valid)


@pytest.mark.parametrize('with_imu', [True, False])
def test_captured_poses_that_cannot_be_are_not_used(with_imu: bool) -> None:
    """Far away, or a jump of 50 m for 0.2 s; one that lasts is another place."""
    source: list[Recorded] = []
    q = (0.0, 0.0, 0.0, 1.0)
    for k in range(600):
        stamp = START + k * 10 * MS
        source += [imu(stamp)] if with_imu else []
        x = 0.001 * k
        x += {100: 1e12, 101: -1e12}.get(k, 0.0)
        x += 50.0 if 200 <= k < 220 or k >= 400 else 0.0
        source.append(pose(stamp, (x, 0.0, 1.0), q))
    parameters = {'joints.topic': '', 'rate': 50.0, 'mocap.topic': 'base/pose'}
    result = run({**parameters, 'imu.topic': 'imu/data' if with_imu else ''}, source)
    record = result.node.core.records['mocap']
    assert record.invalid == 2
    assert 20 + 50 <= record.reasons['jumps'] <= 20 + 51
    xs = [s.pose.position.x for s in result.states if s.pose_valid and s.header.stamp.sec]
    assert max(abs(x) for x in xs[: 380 // 2]) < 0.5
    assert xs[-1] == pytest.approx(50.58, abs=0.3)


def test_single_axis_imu_levels_by_the_road() -> None:
    """Yaw rate and two accelerations; the other fields hold rubbish."""
    source: list[Recorded] = []
    for k in range(1000):
        stamp = START + k * 10 * MS
        source.append(imu(stamp, (math.nan, 1e30, 0.2), (0.0, 0.4, math.nan)))
        source += [odometry(stamp, 2.0, 0.2)] if k % 5 == 0 else []
    axes = ['wz', 'ax', 'ay']
    result = run({**ONLY_IMU, 'odometry.topic': 'odom', 'imu.axes': axes}, source)
    assert result.sensor('imu').invalid == 0
    last = result.states[-1]
    assert finite(result.states)
    assert last.twist.linear.x == pytest.approx(2.0, abs=0.05)
    assert last.twist.angular.z == pytest.approx(0.2, abs=0.01)
    assert abs(last.pose.orientation.x) + abs(last.pose.orientation.y) < 0.05


@pytest.mark.parametrize(
    ('datum', 'message'),
    [
        ([91.0, 0.0, 0.0], 'latitude must be within -90 and 90 degrees, got 91'),
        ([0.0, -181.0, 0.0], 'longitude must be within -180 and 180 degrees, got -181'),
        ([0.0, 0.0, math.inf], 'altitude must be finite, got inf'),
        ([math.nan, 0.0, 0.0], ''),
        ([48.0, 9.0], ''),
    ],
)
def test_datum_that_is_no_place_on_earth(datum: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=f'gnss.datum.*{message}'):
        run({'gnss.topic': 'gps/fix', 'gnss.fixed_datum': True, 'gnss.datum': datum}, [])


@pytest.mark.parametrize('value', [1e13, -1e308, 1e308])
def test_values_whose_squares_overflow_are_refused(value: float) -> None:
    """Found by bench/fuzz.py: they became infinite forces in fused/state."""
    header = (0, 0, 'frame')
    assert inputs.WRENCH.parse((*header, 1.0, value, 0.0, 0.0, 0.0, 0.0)) == inputs.BEYOND
    assert inputs.PRESSURE.parse((*header, value)) == inputs.BEYOND
    assert inputs.RANGE.parse((*header, value, 0.0, 0.0)) == inputs.BEYOND
    layout = inputs.JointParser([], use_velocity=False).layout(['a', 'b'], 2, 0)
    assert isinstance(layout, inputs.JointLayout)
    assert layout.values((0.0, value), ()) == inputs.BEYOND
    assert layout.values((0.0, 1e11), ()) == (0.0, 1e11)


def test_a_place_above_the_sky_and_a_turn_beyond_numbers_are_refused() -> None:
    """Found by bench/fuzz.py: they became infinite innovations in ~/status."""
    header = (0, 0, 'frame')
    with_height = inputs.gnss_input(GnssOptions(use_altitude=True))
    without = inputs.gnss_input(GnssOptions(use_altitude=False))
    high = (*header, 0, 47.0, 6.0, 1e308, 2, 1e308, 1.0, 1e308)
    assert with_height.parse(high) == 'impossible position'
    found = without.parse(high)
    assert isinstance(found, tuple) and found[2] == 0.0 and max(found) <= 1e12
    turning = inputs.twist_input('Odometry', 100.0, yaw_rate=True)
    assert turning.parse((*header, 1.0, 0.0, 0.0, 1e308)) == 'yaw rate out of range'
    assert turning.parse((*header, 1.0, 0.0, 0.0, 0.5)) == (1.0, 0.0, 0.0, 0.5)
