"""The node reference as Markdown (`docs/parameters.md`) and as plain text for a terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import Any

from veh_identification.nodes.reference import DeclaredParameter, NodeInterface, Topic, all_nodes

HEAD = """# Nodes and their parameters

<!-- Made by `veh-id parameters --markdown`; a test fails when this file is stale. -->

Everything below is read off the nodes themselves. A parameter is read-only unless its line says
otherwise; give it in a file (`config:=FILE`, `--config FILE`) or alone (`-p NAME:=VALUE` after
`veh-id run`, `veh-id replay` and `ros2 run ... --ros-args`). Values out of range and names that do
not exist stop the node with one sentence. Relative topics follow the namespace and remappings.
`veh-id parameters NODE` prints the same in a terminal.
"""


def default_text(value: Any) -> str:
    """A default as one would write it in a parameter file."""
    if isinstance(value, str):
        return f"'{value}'"
    return json.dumps(value)


def range_text(parameter: DeclaredParameter) -> str:
    """The values that are allowed."""
    d = parameter.descriptor
    if d.choices:
        return ', '.join(f"'{choice}'" for choice in d.choices)
    low = '' if d.minimum is None else f'{d.minimum:g}'
    high = '' if d.maximum is None else f'{d.maximum:g}'
    if low and high:
        return f'{low} to {high}'
    if low:
        return f'at least {low}'
    return f'at most {high}' if high else ''


def meaning_text(parameter: DeclaredParameter) -> str:
    """The description, and whether it may change while the node runs."""
    description = parameter.descriptor.description
    if parameter.descriptor.read_only:
        return description
    return f'{description} (may be changed while the node runs)'


def _cell(text: str) -> str:
    return ' '.join(text.split()).replace('|', '\\|')


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    titles = list(titles)
    lines = ['| ' + ' | '.join(titles) + ' |', '|' + '---|' * len(titles)]
    lines += ['| ' + ' | '.join(_cell(text) for text in row) + ' |' for row in rows]
    return lines


def _topics(title: str, topics: list[Topic]) -> list[str]:
    if not topics:
        return []
    rows = [
        (
            f'`{topic.name}`',
            topic.typename.replace('/msg/', '/').replace('/srv/', '/')
            + (', latched' if topic.latched else ''),
        )
        for topic in topics
    ]
    return ['', *_table((title, 'type'), rows)]


def _summary(text: str) -> list[str]:
    """The module's text; its first line repeats the name of the node, which the title has."""
    first, _, rest = text.partition('\n')
    _, _, what = first.partition(': ')
    return ['', what[:1].upper() + what[1:], *rest.splitlines()]


def markdown_node(interface: NodeInterface) -> list[str]:
    """The section of one node."""
    lines = [f'## {interface.name}', *_summary(interface.summary)]
    lines += _topics('publishes', interface.published)
    lines += _topics('subscribes to', interface.subscribed)
    lines += _topics('service', interface.services)
    rows = [
        (
            f'`{p.name}`',
            meaning_text(p),
            f'`{default_text(p.default)}` {p.descriptor.unit}',
            range_text(p),
        )
        for p in interface.parameters
    ]
    titles = ('parameter', 'meaning', 'default', 'allowed')  # what is out of sight is wanted least
    return [*lines, '', *_table(titles, rows)]


NOTES = {
    'sensor_fusion': 'Each name in `wrench_sensors`, `range_sensors` and `pressure_sensors` has a '
    'group of parameters of its own, shown here once as `WRENCH`, `RANGE` and `PRESSURE`.',
}


def markdown() -> str:
    """The whole of docs/parameters.md."""
    interfaces = [interface for _, interface in all_nodes()]
    lines = [HEAD]
    lines += [f'- [{interface.name}](#{interface.name})' for interface in interfaces]
    for interface in interfaces:
        lines += ['', *markdown_node(interface)]
        if interface.name in NOTES:
            lines += ['', NOTES[interface.name]]
    return '\n'.join(lines) + '\n'


def plain(interface: NodeInterface) -> str:
    """One node for a terminal."""
    lines = [interface.summary, '']
    for title, topics in (
        ('publishes', interface.published),
        ('subscribes to', interface.subscribed),
        ('services', interface.services),
    ):
        lines.append(f'{title}:')
        lines += [f'  {topic.name}  {topic.typename}' for topic in topics] or ['  nothing']
    lines.append('parameters:')
    for p in interface.parameters:
        unit = f' {p.descriptor.unit}' if p.descriptor.unit else ''
        allowed = range_text(p)
        head = f'  {p.name}: {default_text(p.default)}{unit}'
        lines.append(head + (f'  ({allowed})' if allowed else ''))
        lines += textwrap.wrap(
            meaning_text(p), 90, initial_indent=' ' * 6, subsequent_indent=' ' * 6
        )
    return '\n'.join(lines)
