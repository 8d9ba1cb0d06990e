import sys
from pathlib import Path

import pytest

from veh_identification.results.provenance import command_line, provenance


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
