"""The report of the sensor fusion beside the truth of a short drive."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from veh_identification.cli.main import main
from veh_identification.errors import InputError
from veh_identification.reporting.html import render
from veh_identification.reporting.pages.observation import observation_page
from veh_identification.results.fused import fused_report
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter, read_columns


@pytest.fixture(scope='module')
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('drive')
    bag = folder / 'drive'
    assert main(['simulate', 'drive', '--duration', '14', '--out', str(bag)]) == 0
    words = ['replay', str(bag), '--graph', 'sensor_fusion', '--config', 'sensor_fusion_drive']
    page = str(folder / 'report.html')
    assert main([*words, '--out', str(folder / 'fused'), '--report', page]) == 0
    return folder


def test_errors_are_those_of_the_published_states(drive: Path) -> None:
    content, verdict = fused_report(drive / 'fused', [drive / 'drive'])
    assert verdict.level in ('yes', 'care')
    path = 'pose.position.x'
    seen = read_columns(drive / 'fused', {'/fused/state': [path]})['/fused/state']
    real = read_columns(drive / 'drive', {'/truth/odom': [f'pose.{path}']})['/truth/odom']
    exact = np.interp(seen.stamps_ns, real.stamps_ns, real[f'pose.{path}'])
    inside = (seen.stamps_ns <= real.stamps_ns[-1]) & (seen.stamps_ns >= real.stamps_ns[0])
    late = inside & (seen.stamps_ns > seen.stamps_ns[0] + 10_000_000_000)
    rms = np.sqrt(np.mean(np.square((seen[path] - exact)[late])))
    row = next(one for one in content.errors if one.name == 'x')
    assert row.rms_observer == pytest.approx(rms, rel=1e-6)
    assert 0.0 < row.rms_observer < 0.2


def test_every_sensor_of_the_node_is_told(drive: Path) -> None:
    content, _ = fused_report(drive / 'fused', [drive / 'drive'])
    used = {row.sensor: row.used for row in content.sensors}
    assert {'imu', 'gnss', 'speed', 'joints'} <= set(used) and used['imu'] > 1000


def test_page_shows_map_speeds_and_frames(drive: Path) -> None:
    text = (drive / 'report.html').read_text('utf-8')
    for words in ('Path', 'forward_speed', 'along its own x', 'after the first 10 s'):
        assert words in text
    assert 'Each sensor has a chi-square gate of its own' in text
    assert 'used without innovations' in text  # the IMU drives the filter
    command = f'veh-id replay {drive / "drive"} --graph sensor_fusion --config sensor_fusion_drive'
    assert command in re.sub(r'</?span[^>]*>', '', text)
    assert not re.search(r'times real time', text)


def test_a_recording_of_something_else_is_refused(drive: Path) -> None:
    with pytest.raises(InputError, match='FusedState'):
        fused_report(drive / 'drive', [])


def test_what_was_never_known_is_said_and_not_drawn(tmp_path: Path) -> None:
    kind = 'veh_identification/msg/FusedState'
    with BagWriter(tmp_path / 'fused') as writer:
        for k in range(20):
            header = messages.header(1_000_000_000 + k * 10_000_000, 'odom')
            state = messages.new(
                kind,
                header=header,
                orientation_valid=True,
                twist_valid=True,
                pose={'orientation': (0.0, 0.0, 0.0, 1.0)},
            )
            writer.write_message('/fused/state', state)
    content, verdict = fused_report(tmp_path / 'fused', [])
    assert {one.name for one in content.states} == {
        *('roll', 'pitch'),
        *('forward_speed', 'lateral_speed', 'yaw_rate'),
    }
    assert content.path is None
    (told,) = [one for one in verdict.findings if one.code == 'never_known']
    assert told.level == 'warn' and told.text.startswith('x, y, z, yaw, forward_acceleration and')
    assert 'roll' in render(observation_page(content, verdict))


def test_deviations_are_those_of_the_odometry_and_true(drive: Path) -> None:
    content, verdict = fused_report(drive / 'fused', [drive / 'drive'])
    path = 'pose.covariance[0]'
    topic = '/odometry/fused'
    seen = read_columns(drive / 'fused', {topic: [path]})[topic]
    state = next(one for one in content.states if one.name == 'x')
    assert state.std is not None
    told = state.std[np.isfinite(state.std)]
    assert told == pytest.approx(np.sqrt(seen[path])[-len(told) :])
    shares = {row.name: row.inside for row in content.errors}
    # Four seconds after settling are one draw of an error that changes slowly.
    assert len(shares) == 9 and sum(share > 0.85 for share in shares.values()) >= 8
    assert all(row.in_sigma < 3.0 for row in content.errors)
    assert {one.code for one in verdict.findings} & {'truth_inside_bands', 'too_sure'}
    text = (drive / 'report.html').read_text('utf-8')
    assert 'Blue band' in text and 'within 2 sigma' in text
    assert 'model alone' not in text  # the fusion has none: no empty column


def test_roll_and_pitch_are_turns_about_the_axes_of_the_heading(tmp_path: Path) -> None:
    """Sure about the fixed x axis, unsure about y; the car heads along y: roll is unsure."""
    half = np.sqrt(0.5)
    covariance = np.diag([0.01, 0.04, 0.09, 1e-6, 4e-4, 1e-4]).ravel()
    with BagWriter(tmp_path / 'fused') as writer:
        for k in range(20):
            header = messages.header(1_000_000_000 + k * 10_000_000, 'odom')
            pose = {'orientation': (0.0, 0.0, half, half)}
            state = messages.new(
                'veh_identification/msg/FusedState',
                header=header,
                pose_valid=True,
                orientation_valid=True,
                twist_valid=True,
                pose=pose,
            )
            writer.write_message('/fused/state', state)
            moved = messages.new(
                'nav_msgs/msg/Odometry',
                header=header,
                pose={'pose': pose, 'covariance': covariance.tolist()},
            )
            writer.write_message('/odometry/fused', moved)
    content, _ = fused_report(tmp_path / 'fused', [])
    stds = {one.name: one.std for one in content.states}
    for name, value in {'x': 0.1, 'y': 0.2, 'z': 0.3, 'roll': 0.02, 'pitch': 1e-3}.items():
        assert stds[name] == pytest.approx(value), name
