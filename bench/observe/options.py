"""Options of the parts that drive: `veh-id bench observe --drives 2 --cases lock,spin`."""

from __future__ import annotations

import argparse


def driving_options(part: str, *, cases: bool = True) -> argparse.ArgumentParser:
    """How much is driven; without `cases` for a part that has none."""
    parser = argparse.ArgumentParser(prog=f'veh-id bench {part}')
    parser.add_argument('--drives', metavar='N', type=int, help='so many drives')
    parser.add_argument(
        '--seed', metavar='N', type=int, help='of the first drive; the next ones count on'
    )
    parser.add_argument('--duration', metavar='S', type=float, help='length of each drive [s]')
    parser.add_argument(
        '--minutes', metavar='M', type=float, help='start nothing new after so long'
    )
    parser.add_argument(
        '--resume', metavar='FILE', help='keep every drive here, repeat none that is in it'
    )
    if cases:
        parser.add_argument(
            '--cases', metavar='TEXT', help='only cases whose names hold one of these, by commas'
        )
        parser.add_argument(
            '--markdown', metavar='FILE', help='write the table of the cases here as well'
        )
    return parser
