"""`veh-id init` and `veh-id check`: what is written is taken, faults are named with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from veh_identification.cli.main import main
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems import registry


@pytest.fixture(scope='module')
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('check') / 'drive'
    simulate('car-sine-steer', path, duration=6.0, seed=2)
    return path


@pytest.mark.parametrize('name', [one.name for one in registry.SYSTEMS if one.name != 'humanoid'])
def test_what_init_writes_is_taken_by_check(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'machine.yaml'
    assert main(['init', name, '--out', str(file)]) == 0
    assert main(['check', str(file), '--strict']) == 0
    assert name in capsys.readouterr().out
    assert main(['init', name, '--out', str(file)]) == 1, 'nobody loses a description'


def test_init_says_what_a_recording_tells(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['init', 'car', '--bag', str(drive)]) == 0
    text = capsys.readouterr().out
    assert '/imu/data  Imu' in text and 'frame imu_link' in text
    assert 'base_link -> imu_link: x y z 1.15 0.05 0.12 m' in text


def test_all_errors_of_a_file_are_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'my_car.yaml'
    file.write_text('car:\n  geometry:\n    whelbase: 2.7\n    wheel_radius: abc\n')
    assert main(['check', str(file)]) == 1
    said = capsys.readouterr().err
    assert "my_car.yaml:3: car.geometry.whelbase: is not known; did you mean 'wheelbase'?" in said
    assert 'my_car.yaml:4: car.geometry.wheel_radius: expected a positive length' in said


def test_check_with_a_recording(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['check', 'car_peugeot_406', str(drive), '--system', 'car', '--strict']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] and lines[0].startswith('verdict: ')


def other_names(path: Path) -> Path:
    """A car whose joints have names of their own, and an observer's topics beside them."""
    with BagWriter(path) as writer:
        for k in range(40):
            header = messages.header(1_000_000_000 + k * 10_000_000, 'imu_link')
            joints = messages.new(
                'sensor_msgs/msg/JointState',
                header=header,
                name=['damper_pot_FL', 'toe_FL'],
                position=[0.01, 0.0],
            )
            imu = messages.new(
                'sensor_msgs/msg/Imu', header=header, linear_acceleration=(0.0, 0.0, 9.8)
            )
            writer.write_message('/joint_states', joints)
            writer.write_message('/imu/data', imu)
    return path


def test_joints_of_other_names_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = str(other_names(tmp_path / 'track'))
    assert main(['init', 'car', bag]) == 0
    assert '#     joints: damper_pot_FL, toe_FL' in capsys.readouterr().out
    assert main(['info', bag, '--topic', 'joint_states']) == 0
    assert 'joints that its messages name: damper_pot_FL, toe_FL' in capsys.readouterr().out
    assert main(['identify', 'car', bag, '--config', 'car_peugeot_406', '--out', 'x']) == 1
    said = capsys.readouterr().err
    assert 'topic joint_states: none of its joints (damper_pot_FL and toe_FL) is one of a' in said
    assert 'veh-id convert --map' in said


def test_check_says_what_a_recording_is_not_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = str(other_names(tmp_path / 'track'))
    assert main(['check', 'car_peugeot_406', bag]) == 0
    said = capsys.readouterr().out
    assert 'warning: not for identify car: ' in said and 'none of its joints' in said
