import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.reporting import hooks
from veh_identification.results.provenance import command_line, provenance
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.parallel.command import identify


def test_command_is_put_together_from_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    options = [('bag', 'a b'), ('bag', 'c'), ('validate', None), ('out', Path('x'))]
    monkeypatch.setattr(sys, 'argv', ['pytest'])
    assert (
        command_line('identify', 'car', options)
        == "veh-id identify car --bag 'a b' --bag c --out x"
    )
    monkeypatch.setattr(sys, 'argv', ['/usr/bin/veh-id', 'identify', 'car', '--bag', 'typed'])
    assert command_line('identify', 'car', options) == 'veh-id identify car --bag typed'
    monkeypatch.setattr(sys, 'argv', ['/ws/veh_identification/cli/main.py', 'identify', 'car'])
    assert command_line('identify', 'car', options) == 'veh-id identify car'


def test_choices_stand_in_the_command_and_among_the_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, 'argv', ['pytest'])
    found = provenance(
        'identify',
        'car',
        [('bag', 'a'), ('dof', 20), ('paper_rule', True), ('filter_study', False)],
    )
    assert found.command == 'veh-id identify car --bag a --dof 20 --paper-rule'
    assert found.files == (('bag', 'a'), ('dof', '20'), ('paper rule', 'yes'))


def test_report_that_fails_is_told_and_does_not_raise(tmp_path: Path) -> None:
    broken = SimpleNamespace(system='car', input={}, noise={}, extra={})
    line = hooks.write_identification_report(
        tmp_path,
        broken,
        reconstruction='none',
        bags=['gone'],  # type: ignore[arg-type]
        out=tmp_path,
    )
    assert line.startswith('no report: ')
    assert not (tmp_path / 'report.html').exists()


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith('veh_identification.reporting.'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'plotly', None)
    monkeypatch.setitem(sys.modules, 'plotly.offline', None)
    monkeypatch.setitem(sys.modules, 'plotly.graph_objects', None)
    result = SimpleNamespace(system='car', input={}, noise={}, extra={})
    line = hooks.write_identification_report(
        tmp_path,
        result,
        reconstruction='none',
        bags=['gone'],  # type: ignore[arg-type]
        out=tmp_path,
    )
    assert line.startswith('no report: plotly')
    assert 'pip install plotly' in line


def test_identify_parallel_writes_a_report(tmp_path: Path) -> None:
    simulate('hexapod-periodic', tmp_path / 'run', duration=10.0)
    text = identify(bags=[tmp_path / 'run'], out=tmp_path / 'out')
    assert text.splitlines()[-1] == f'report: {tmp_path / "out" / "report.html"}'
    page = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert 'This recording is simulated' in page
    assert 'only its own data judged it' in page
    assert str(tmp_path / 'out') in page
    assert '.partial' not in re.sub(r'<script>.*?</script>', '', page, flags=re.DOTALL)


def test_four_bar_states_find_the_truth_of_the_crank() -> None:
    from veh_identification.systems.vehicle.results.states import four_bar_states

    time = np.linspace(0.0, 10.0, 501)
    angle, rate = 3.0 * time, np.full(501, 3.0)
    truth = {
        'time': time,
        'position[x1]': 2 * np.cos(angle),
        'position[y1]': 2 * np.sin(angle),
        'velocity[x1]': -6 * np.sin(angle),
        'velocity[y1]': 6 * np.cos(angle),
    }
    q, qd = np.zeros((501, 5)), np.zeros((501, 5))
    q[:, 4], qd[:, 4] = angle + 0.1, rate
    states = four_bar_states(time, q, qd, np.tile(np.eye(2), (501, 1, 1)), truth, None)
    crank, speed = states[0], states[1]
    assert crank.truth is not None
    assert crank.truth == pytest.approx(angle)
    assert speed.truth == pytest.approx(rate)
    assert crank.std == pytest.approx(np.ones(501))
    assert states[4].truth is None  # x2 is not in this truth
