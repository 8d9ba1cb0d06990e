"""`veh-id convert BAG`: any recording to rosbag2, custom messages to standard ones."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from veh_identification.errors import UsageError

if TYPE_CHECKING:
    from veh_identification.runtime.convert import Conversion


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'convert',
        help='convert recordings to rosbag2, mapping custom messages',
        description='Writes rosbag2 or ROS 1 recordings as one rosbag2. A mapping file gives '
        'topics and joints other names and units, and turns custom messages (a force plate '
        'without header, say) into standard ones. An OpenSim model (.osim) with the tables of '
        'its coordinates and of the ground forces (.mot, .sto, or the plates of a .c3d) becomes a '
        'recording with model.urdf beside it. CSV files (a decoded CAN log, a data logger, a '
        'laboratory; with a .c3d or without) need a mapping file that says what their columns '
        'are. docs/your_data.md has an example of each; config/map_*.yaml are files to begin '
        'with.',
    )
    parser.add_argument(
        'bags', metavar='BAG', nargs='+', help='recordings, or files of a laboratory'
    )
    parser.add_argument('--out', metavar='BAG2', required=True, help='recording to write')
    parser.add_argument('--map', metavar='YAML', help='what becomes of which topic or column')
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    parser.add_argument('--overwrite', action='store_true', help='replace an existing output')
    parser.add_argument(
        '--skip-damage',
        action='store_true',
        help='leave out what cannot be read instead of stopping; it is counted and named',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Convert."""
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.convert import convert, read_mapping
    from veh_identification.runtime.graph import find_config
    from veh_identification.runtime.tables import convert_tables, is_table_mapping
    from veh_identification.systems.humanoid.laboratory.convert import (
        convert_laboratory,
        is_laboratory,
    )

    csv = [one for one in options.bags if one.lower().endswith('.csv')]
    if csv and not options.map:
        raise UsageError(
            f'{csv[0]}: CSV files need --map FILE.yaml, which says what their columns are; '
            'docs/your_data.md shows one for a car, docs/humanoid.md one for force plates'
        )
    columns = find_config(options.map) if options.map else None
    if csv and columns is not None and is_table_mapping(columns):
        tables = convert_tables(
            options.bags,
            options.out,
            columns,
            storage=options.storage,
            overwrite=options.overwrite,
        )
        return _told(tables, options.out)
    if is_laboratory(options.bags):
        laboratory = convert_laboratory(
            options.bags,
            options.out,
            columns=columns,
            storage=options.storage,
            overwrite=options.overwrite,
        )
        return _told(laboratory, options.out)
    mapping = read_mapping(columns) if columns is not None else None
    with Progress('converting') as progress:
        conversion = convert(
            options.bags,
            options.out,
            mapping=mapping,
            storage=options.storage,
            overwrite=options.overwrite,
            on_error='skip' if options.skip_damage else 'stop',
            progress=progress,
        )
    for sentence in conversion.problems:
        print(f'left out: {sentence}', file=sys.stderr)
    for topic, count in sorted(conversion.lost.items()):
        print(f'left out: {count} messages of {topic}', file=sys.stderr)
    return _told(conversion, options.out)


def _told(conversion: Conversion, out: str) -> int:
    for sentence in conversion.told:
        print(f'warning: {sentence}', file=sys.stderr)
    for topic, count in sorted(conversion.written.items()):
        print(f'  {topic}  {count}')
    print(f'{out}: {sum(conversion.written.values())} messages')
    return 0
