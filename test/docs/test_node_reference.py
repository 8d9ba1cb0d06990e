"""docs/parameters.md is what the nodes declare today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veh_identification.cli.main import main
from veh_identification.errors import ParameterError
from veh_identification.nodes.reference import all_nodes, inspect_graph, inspect_node
from veh_identification.nodes.reference_text import markdown
from veh_identification.runtime.graph import GRAPHS, find_node

DOCS = Path(__file__).parents[2] / 'docs'


def test_document_is_not_stale() -> None:
    stored = (DOCS / 'parameters.md').read_text('utf-8')
    assert stored == markdown(), 'make docs (veh-id parameters --markdown > docs/parameters.md)'


def test_every_node_and_every_parameter_is_explained() -> None:
    seen = set()
    for description, interface in all_nodes():
        seen.add(description.name)
        assert interface.summary and interface.published and interface.subscribed
        assert interface.services and interface.parameters
        for parameter in interface.parameters:
            assert parameter.descriptor.description, f'{description.name}: {parameter.name}'
    assert seen == {node.name for graph in GRAPHS.values() for node in graph.nodes}


def test_units_stand_where_ranges_are_of_physical_quantities() -> None:
    for _, interface in all_nodes():
        for parameter in interface.parameters:
            if re.search(r'(^|\.)(rate|cutoff|delay|timeout|position)$', parameter.name):
                assert parameter.descriptor.unit, f'{interface.name}: {parameter.name} has no unit'


def test_overrides_do_not_change_the_default_that_is_shown() -> None:
    interface = inspect_node(find_node('parallel_identification'), '', {'skip_periods': 7})
    found = {parameter.name: parameter.default for parameter in interface.parameters}
    assert found['skip_periods'] == 0


def test_misspelt_parameters_stop_the_inspection() -> None:
    with pytest.raises(ParameterError, match='skip_period'):
        inspect_node(find_node('parallel_identification'), '', {'skip_period': 7})


def test_a_graph_gives_its_nodes_in_order() -> None:
    names = [interface.name for interface in inspect_graph(GRAPHS['contact_identification'])]
    assert names == ['sensor_fusion', 'contact_identification']


def test_verb_prints_one_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['parameters', 'car_identification']) == 0
    text = capsys.readouterr().out
    assert '/car_identification/parameters' in text and 'chunk: 15.0 s  (5 to 120)' in text
    assert main(['parameters']) == 0
    assert capsys.readouterr().out.split() == [description.name for description, _ in all_nodes()]
    assert main(['parameters', 'nothing']) == 2
    assert 'there is no node' in capsys.readouterr().err


def test_parameters_that_name_files_are_known_as_such() -> None:
    found = set()
    for _, interface in all_nodes():
        for parameter in interface.parameters:
            words = re.search(
                r'\b(file|folder|config/|\.npz|\.json)', parameter.descriptor.description
            )
            if isinstance(parameter.default, str) and words:
                assert parameter.descriptor.path, f'{interface.name}: {parameter.name}'
            if parameter.descriptor.path:
                found.add(parameter.name)
    assert found >= {'car', 'urdf', 'robot', 'hexapod', 'model', 'file', 'checkpoint.file'}
