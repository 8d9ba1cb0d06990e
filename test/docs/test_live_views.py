"""Foxglove layouts and RViz configurations name topics and fields that exist, with their types."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from message_paths import NUMBERS, filters, resolve

from veh_identification.nodes.reference import EXAMPLES, inspect_node
from veh_identification.runtime.graph import GRAPHS
from veh_identification.systems.car.parameters import NAMES as CAR_NAMES

CONFIG = Path(__file__).parents[2] / 'config'
LAUNCHES = sorted(p.name.removesuffix('.launch.py') for p in CONFIG.parent.glob('launch/*.py'))
DISPLAY_TYPES = {
    'rviz_default_plugins/Odometry': 'nav_msgs/msg/Odometry',
    'rviz_default_plugins/Wrench': 'geometry_msgs/msg/WrenchStamped',
    'rviz_default_plugins/Pose': 'geometry_msgs/msg/PoseStamped',
    'rviz_default_plugins/Range': 'sensor_msgs/msg/Range',
}
#: Displays that listen to tf or to nothing.
WITHOUT_TOPIC = {'rviz_default_plugins/Grid', 'rviz_default_plugins/TF'}
PANELS = {'3D', 'Plot', 'Table', 'RawMessages', 'DiagnosticSummary'}
#: Names that filters may ask for, where a node's list is known beforehand.
KNOWN_NAMES = {
    '/car_identification/parameters': set(CAR_NAMES),
    '/contact_identification/parameters': {
        'total_mass',
        *(f'centre_of_mass.{axis}' for axis in 'xyz'),
    },
}


@cache
def topics_of(graph_name: str) -> dict[str, str]:
    """Topics that the nodes of a graph read and (with every output switched on) write."""
    graph = GRAPHS[graph_name]
    types: dict[str, str] = {}
    for node in graph.nodes:
        as_launched = inspect_node(node, graph.default_config)
        everything = inspect_node(
            node, '' if node.name in EXAMPLES else graph.default_config, EXAMPLES.get(node.name)
        )
        for topic in [*as_launched.subscribed, *as_launched.published, *everything.published]:
            types[topic.name] = topic.typename
    return types


def layout(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CONFIG / 'foxglove' / f'{name}.json').read_text('utf-8'))
    return content


def panels_in(tree: Any) -> list[str]:
    """Panels in the order in which the layout shows them."""
    if isinstance(tree, str):
        return [tree]
    assert set(tree) == {'first', 'second', 'direction', 'splitPercentage'}
    assert tree['direction'] in ('row', 'column') and 5 < tree['splitPercentage'] < 95
    return panels_in(tree['first']) + panels_in(tree['second'])


def paths_of(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of panel and message path."""
    found = []
    for panel, config in content['configById'].items():
        found += [(panel, path['value']) for path in config.get('paths', [])]
        for key in ('topicPath', 'topicToRender'):
            if key in config:
                found.append((panel, config[key]))
        found += [(panel, topic) for topic in config.get('topics', {})]
    return found


def test_every_launch_file_has_both_views() -> None:
    assert set(LAUNCHES) == set(GRAPHS)
    assert {path.stem for path in CONFIG.glob('foxglove/*.json')} == set(LAUNCHES)
    assert {path.stem for path in CONFIG.glob('rviz/*.rviz')} == set(LAUNCHES)


@pytest.mark.parametrize('name', LAUNCHES)
def test_layout_shows_each_of_its_panels_once(name: str) -> None:
    content = layout(name)
    shown = panels_in(content['layout'])
    assert sorted(shown) == sorted(content['configById'])
    assert {panel.partition('!')[0] for panel in shown} <= PANELS


@pytest.mark.parametrize('name', LAUNCHES)
def test_layout_paths_exist(name: str) -> None:
    paths = paths_of(layout(name))
    assert len(paths) > 5
    for panel, path in paths:
        kind = resolve(path, topics_of(name))
        if panel.startswith('Plot!'):
            assert NUMBERS.match(kind), f'{path} is a {kind}, not a number'
        if panel.startswith('DiagnosticSummary!'):
            assert kind == 'diagnostic_msgs/msg/DiagnosticArray'
        if panel.startswith('Table!'):
            # With [:] the panel shows the first element alone.
            assert kind.endswith(']'), f'{path} is a {kind}, not the whole sequence'


@pytest.mark.parametrize('name', LAUNCHES)
def test_layout_titles_are_read_by_both_programs(name: str) -> None:
    for panel, config in layout(name)['configById'].items():
        title = config['foxglovePanelTitle']
        assert title and title == config['lichtblickPanelTitle'], panel
        if panel.startswith('Plot!') and len(config['paths']) > 1:
            labels = [path.get('label', '') for path in config['paths']]
            assert all(labels) and len(set(labels)) == len(labels), panel
            # A floating legend hides the curves.
            assert config['showLegend'] and config['legendDisplay'] == 'left', panel


@pytest.mark.parametrize('name', LAUNCHES)
def test_layout_filters_ask_for_names_that_exist(name: str) -> None:
    for _, path in paths_of(layout(name)):
        known = KNOWN_NAMES.get(path.partition('.')[0])
        for field, text in filters(path):
            assert field == 'name' and text
            assert known is None or text in known, f'{path}: there is no {text}'


@pytest.mark.parametrize('name', LAUNCHES)
def test_rviz_displays_match_their_topics(name: str) -> None:
    content = yaml.safe_load((CONFIG / 'rviz' / f'{name}.rviz').read_text('utf-8'))
    manager = content['Visualization Manager']
    assert manager['Global Options']['Fixed Frame']
    # Further panels share the dock of the displays and push the 3D view aside.
    assert [panel['Class'] for panel in content['Panels']] == ['rviz_common/Displays']
    displays = manager['Displays']
    assert any(display['Class'] == 'rviz_default_plugins/TF' for display in displays)
    for display in displays:
        if display['Class'] in WITHOUT_TOPIC:
            assert 'Topic' not in display
            continue
        if display['Class'] == 'rviz_default_plugins/RobotModel':
            # robot_state_publisher, which the user starts, latches it.
            assert display['Description Topic']['Value'] == '/robot_description'
            assert display['Description Topic']['Durability Policy'] == 'Transient Local'
            continue
        topic = display['Topic']['Value']
        # Sensors at 200 Hz and more must wait for the transform of a slower node.
        assert display['Topic']['Filter size'] >= 200, topic
        assert topics_of(name).get(topic) == DISPLAY_TYPES[display['Class']], topic


def test_wrong_paths_are_found() -> None:
    types = {'/a': 'veh_identification/msg/ParameterEstimates'}
    assert resolve('/a.parameters[:]{name=="Mc"}.value', types) == 'float64'
    assert resolve('/a.condition_number.@sqrt', types) == 'float64'
    for wrong in (
        '/a.parameters.@sqrt',
        '/a.condition_number.@nothing',
        '/b.value',
        '/a.nothing',
        '/a.parameters.value',
        '/a.condition_number[0]',
        '/a.parameters[:]{title=="Mc"}.value',
        '/a.parameters[x]',
    ):
        with pytest.raises(AssertionError):
            resolve(wrong, types)
