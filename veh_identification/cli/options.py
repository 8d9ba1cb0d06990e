"""Options that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from veh_identification.configuration.faults import ConfigurationError, shown
from veh_identification.configuration.reading import parse
from veh_identification.errors import UsageError, one_line
from veh_identification.runtime.names import parse_remapping

if TYPE_CHECKING:
    from veh_identification.runtime.zenoh import ZenohEngine


def _remapping(text: str) -> tuple[str, str]:
    try:
        return parse_remapping(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Configuration file, single parameters, remappings and namespace."""
    parser.add_argument(
        '--config',
        metavar='YAML',
        help='ROS 2 parameter file, or the name of one in config/; the graphs '
        'car_identification and robot_identification also take the description of the machine',
    )
    parser.add_argument(
        '--parameter',
        '-p',
        metavar='NAME:=VALUE',
        action='append',
        default=[],
        help='set one node parameter; may be given again',
    )
    parser.add_argument(
        '--remap',
        '-r',
        metavar='FROM:=TO',
        type=_remapping,
        action='append',
        default=[],
        help='remap a topic or service; may be given again',
    )
    parser.add_argument('--namespace', default='/', help='namespace of the nodes')


def add_zenoh_options(parser: argparse.ArgumentParser) -> None:
    """Which router and which domain."""
    parser.add_argument(
        '--endpoint',
        default='tcp/127.0.0.1:7447',
        help='zenoh router to connect to (default: %(default)s; start one with veh-id router)',
    )
    parser.add_argument(
        '--domain', type=int, help='ROS domain id for zenoh (default: ROS_DOMAIN_ID or 0)'
    )


def open_zenoh(options: argparse.Namespace, log_stream: Any = None) -> ZenohEngine:
    """The engine that the options ask for."""
    from veh_identification.runtime import zenoh

    domain = zenoh.default_domain() if options.domain is None else options.domain
    return zenoh.ZenohEngine(domain=domain, endpoint=options.endpoint, log_stream=log_stream)


def parameter_values(assignments: Iterable[str]) -> dict[str, Any]:
    """`name:=value` pairs; values are read as YAML, as on a ROS command line."""
    values = {}
    for assignment in assignments:
        name, separator, text = assignment.partition(':=')
        if not separator or not name:
            raise UsageError(f'{assignment!r} is not a parameter of the form name:=value')
        try:
            values[name] = parse(text, f'parameter {name}').data
        except ConfigurationError as error:
            raise UsageError(f'{shown(text)} is no value: {one_line(error)}') from error
    return values
