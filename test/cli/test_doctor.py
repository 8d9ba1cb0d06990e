from __future__ import annotations

import subprocess
import venv
from pathlib import Path

import pytest

import veh_identification
from veh_identification.cli import doctor
from veh_identification.cli.doctor import Requirement, fits, libraries, numbers, requirement
from veh_identification.cli.main import main

SOURCES = Path(veh_identification.__file__).parents[1]


def test_everything_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['doctor']) == 0
    text = capsys.readouterr().out
    assert 'numpy' in text and 'engine zenoh' in text and 'compiled kernels' in text
    assert text.endswith('Everything needed is here.\n')


def test_version_says_what_it_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(['--version'])
    lines = capsys.readouterr().out.splitlines()
    assert caught.value.code == 0
    assert lines[0] == f'veh-id {veh_identification.__version__}'
    assert 'engines: replay' in lines[2] and 'numpy ' in lines[3]


def test_requirements_as_metadata_spells_them() -> None:
    assert requirement('numpy>=1.26.4') == Requirement('numpy', '1.26.4', '')
    assert requirement('rosbags<0.12,>=0.11') == Requirement('rosbags', '0.11', '0.12')
    named = requirement('xxhash>=3.4.1; extra == "zenoh"')
    assert named == Requirement('xxhash', '3.4.1', '', 'zenoh')
    assert requirement("tomli>=2; python_version < '3.2'") is None
    assert requirement("tomli>=2; python_version < '3.99'") is not None


@pytest.mark.parametrize(
    ('installed', 'good'),
    [('1.26.4', True), ('1.26.3', False), ('2.4.6', True), ('1.9', False), ('3.0', False)],
)
def test_versions_compare_by_their_numbers(installed: str, good: bool) -> None:
    assert fits(installed, Requirement('numpy', '1.26.4', '3')) is good


def test_zeros_at_the_end_say_nothing() -> None:
    assert numbers('6') == numbers('6.0.0') and numbers('6.0.1') > numbers('6')


def test_what_is_missing_or_old_is_named_with_its_remedy() -> None:
    lines = list(
        libraries([Requirement('no-such-library', '2', ''), Requirement('numpy', '99', '')])
    )
    assert [line.level for line in lines] == ['bad', 'bad']
    assert lines[0].remedy == "pip install 'no-such-library>=2'"
    assert 'numpy>=99 is needed' in lines[1].text


def test_an_extra_that_is_missing_is_no_fault() -> None:
    (line,) = libraries([Requirement('no-such-library', '', '', 'zenoh')])
    assert line.level == 'note' and 'no-such-library' in line.text


def test_a_fault_gives_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, 'requirements', lambda: [Requirement('no-such-library', '', '')])
    assert main(['doctor']) == 1
    assert 'Something is missing: no-such-library.' in capsys.readouterr().out


def test_without_any_library_the_doctor_still_works(tmp_path: Path) -> None:
    venv.create(tmp_path / 'bare', symlinks=True)
    python = tmp_path / 'bare' / 'bin' / 'python'

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), '-m', 'veh_identification.cli.main', *words]
        environment = {'PYTHONPATH': str(SOURCES), 'HOME': str(tmp_path), 'PATH': ''}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    told = run('doctor')
    assert told.returncode == 1 and 'Traceback' not in told.stderr
    assert "pip install 'numpy>=" in told.stdout
    refused = run('info', 'nothing')
    assert refused.returncode == 1
    assert 'is missing; `veh-id doctor` says how to get it' in refused.stderr
    assert 'Traceback' not in refused.stderr


def test_our_own_missing_module_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ModuleNotFoundError(name='veh_identification.nothing')

    monkeypatch.setattr('veh_identification.cli.main.build_parser', broken)
    with pytest.raises(ModuleNotFoundError):
        main(['info', 'x'])


def test_metadata_without_requirements_is_what_colcon_installs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor.metadata, 'requires', lambda _: None)
    assert 'numpy' in [one.name for one in doctor.requirements()]
