"""`--config` of a graph: a ROS 2 parameter file, or the description of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from veh_identification.errors import UsageError
from veh_identification.runtime.graph import find_config, find_graph, graph_parameters


def test_a_parameter_file_is_taken_as_it_is() -> None:
    graph = find_graph('car_identification')
    shipped = find_config('car_identification.yaml')
    assert graph_parameters(graph, None) == (shipped, {})
    assert graph_parameters(graph, 'car_identification') == (shipped, {})


def test_the_description_of_a_car_goes_to_its_parameter(tmp_path: Path) -> None:
    mine = tmp_path / 'my_car.yaml'
    mine.write_text('car:\n  geometry: {wheelbase: 2.6}\n')
    file, machine = graph_parameters(find_graph('car_identification'), mine)
    assert file == find_config('car_identification.yaml')
    assert machine == {'car': str(mine)}


def test_a_graph_without_a_machine_says_what_it_wants(tmp_path: Path) -> None:
    mine = tmp_path / 'my_car.yaml'
    mine.write_text('car:\n  geometry: {wheelbase: 2.6}\n')
    with pytest.raises(
        UsageError, match=r'needs a ROS 2 parameter file.*description of a machine'
    ):
        graph_parameters(find_graph('sensor_fusion'), mine)
