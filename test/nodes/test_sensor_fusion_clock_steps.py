"""A small clock step of one sensor, as the node reports it: not as silence of the others."""

from __future__ import annotations

import io
from typing import Any

import pytest
from fusion_harness import SECOND, START, Recorded, Sink, imu, is_counted, joints, odometry

from veh_identification.nodes.sensor_fusion.node import SensorFusion
from veh_identification.runtime.replay.engine import ReplayEngine

MS = 1_000_000
PARAMETERS = {'rate': 50.0, 'joints.topic': 'joint_states', 'odometry.topic': 'odom'}


def source(stepped: str, step: float, seconds: int = 8) -> list[Recorded]:
    """IMU, encoders and odometry; one of them with a clock that steps after four seconds."""
    items = []
    for k in range(seconds * 100):
        arrival = START + k * 10 * MS
        shift = round(step * SECOND) if k >= 400 else 0
        moved = {stepped: arrival + shift}
        made = [
            imu(moved.get('imu', arrival)),
            joints(moved.get('joints', arrival), ['a'], [0.01 * k]),
        ]
        if k % 2 == 0:
            made.append(odometry(moved.get('odometry', arrival), 0.0, 0.0))
        for item in made:
            item.time_ns = arrival
        items += made
    return items


def play(items: list[Recorded]) -> tuple[Any, dict[str, Any], Any, str]:
    """Last observer status and diagnostics by sensor, the states, the log."""
    sink, log = Sink(), io.StringIO()
    engine = ReplayEngine(START, sink=sink, log_level='warning', log_stream=log)
    node = engine.create_node('sensor_fusion', parameters=PARAMETERS)
    SensorFusion(node)
    engine.run(items)
    status = sink.messages('/sensor_fusion/status')[-1]
    lines = {line.name: line for line in sink.messages('/diagnostics')[-1].status}
    return status, lines, sink.messages('/fused/state'), log.getvalue()


@pytest.mark.parametrize('stepped', ['imu', 'joints', 'odometry'])
@pytest.mark.parametrize('step', [0.5, -0.5])
def test_one_sensor_steps(stepped: str, step: float) -> None:
    status, lines, states, log = play(source(stepped, step))
    for sensor in status.sensors:
        line = lines[f'sensor_fusion: {sensor.name}']
        assert is_counted(sensor, 210 if sensor.name == stepped else 15)
        if sensor.name == stepped:
            assert sensor.clock_jumps == 1 and not sensor.active
            assert f'its clock stepped by {step:+.2f}' in line.message
        else:
            assert sensor.active and sensor.late == sensor.clock_jumps == 0
            assert line.message == 'ok'
    assert log.count('its clock stepped by') == 1 and f'{stepped}: its ' in log
    # The outputs go on: the newest state is as recent as without a step.
    stamp = states[-1].header.stamp
    assert stamp.sec * SECOND + stamp.nanosec > START + 7_800 * MS


def test_pause_of_all_is_reported_as_nothing() -> None:
    items = source('none', 0.0)
    for item in items[len(items) // 2 :]:
        stamp = item.message.header.stamp
        moved = stamp.sec * SECOND + stamp.nanosec + SECOND
        stamp.sec, stamp.nanosec = divmod(moved, SECOND)
        item.time_ns += SECOND
    status, lines, _, log = play(items)
    assert all(s.active and s.late == s.clock_jumps == s.invalid == 0 for s in status.sensors)
    assert 'clock' not in log
    assert all('clock' not in line.message for line in lines.values())
