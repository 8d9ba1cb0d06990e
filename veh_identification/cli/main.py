"""Entry of `veh-id`: parses, dispatches, turns errors into one sentence and an exit status."""

from __future__ import annotations

import os

# Before anything imports numpy: our matrices are small, and the threads of a linear algebra
# library that wait for each other on a busy machine cost ten times what they gain.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import importlib
import signal
import sys
import threading
from collections.abc import Sequence

from veh_identification import __version__
from veh_identification.errors import VehIdError

#: Verbs in the order of the help text; each is a module of this package.
VERBS = (
    'demo',
    'info',
    'convert',
    'simulate',
    'replay',
    'identify',
    'observe',
    'design',
    'run',
    'parameters',
    'router',
    'bench',
)

EPILOG = """exit status: 0 done; 1 the input is unusable (one sentence on stderr says why);
2 wrong usage. `veh-id VERB --help` explains a verb."""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog='veh-id',
        description='Dynamic models of cars, humanoids and parallel robots from recordings '
        'or live sensor streams.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'veh-id {__version__}')
    verbs = parser.add_subparsers(dest='verb', metavar='VERB', required=True)
    for verb in VERBS:
        # Verbs import what they need when they run: `veh-id --help` must not load Numba.
        importlib.import_module(f'veh_identification.cli.{verb}').add_parser(verbs)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb."""
    options = build_parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        # As an exception, so that half-written output is removed on the way out.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        status: int = options.run(options) or 0
    except VehIdError as error:
        print(f'veh-id {options.verb}: {error}', file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print(f'veh-id {options.verb}: interrupted', file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Someone closed the pipe (`veh-id info | head`): nothing is wrong. Python would complain
        # again when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == '__main__':
    sys.exit(main())
