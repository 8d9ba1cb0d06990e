"""`veh-id parameters [NODE]`: topics, services and parameters of the nodes, from the nodes."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'parameters',
        help='explain the topics, services and parameters of a node',
        description='Prints what a node subscribes to, publishes, serves and lets one set, read '
        'off the node itself; without a name it lists the nodes.',
    )
    parser.add_argument('node', metavar='NODE', nargs='?', help='such as sensor_fusion')
    parser.add_argument(
        '--markdown', action='store_true', help='all nodes as Markdown (docs/parameters.md)'
    )
    parser.add_argument(
        '--glossary',
        action='store_true',
        help='every parameter and state of the systems as Markdown (docs/glossary.md)',
    )
    parser.add_argument(
        '--types',
        action='store_true',
        help='options of all verbs as Python types (veh_identification/api_options.py)',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print."""
    if options.glossary:
        from veh_identification.cli.glossary import glossary_text

        print(glossary_text(), end='')
        return 0
    from veh_identification.nodes.reference import all_nodes
    from veh_identification.nodes.reference_text import markdown, plain
    from veh_identification.runtime.graph import GRAPHS

    if options.types:
        from veh_identification.cli.api_options import options_text

        print(options_text(), end='')
        return 0
    if options.markdown:
        if options.node:
            raise UsageError('--markdown writes all nodes: give no name with it')
        print(markdown(), end='')
        return 0
    names = list(dict.fromkeys(node.name for graph in GRAPHS.values() for node in graph.nodes))
    if not options.node:
        print('\n'.join(names))
        return 0
    if options.node not in names:
        raise UsageError(f'there is no node {options.node!r}; there are: {", ".join(names)}')
    for description, interface in all_nodes():
        if description.name == options.node:
            print(plain(interface))
            break
    return 0
