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
from typing import Any

from veh_identification.cli.compiling import COMPUTING, tell_of_compiling
from veh_identification.cli.parser import Parser, parse
from veh_identification.errors import VehIdError

#: Verbs in the order of the help text; each is a module of this package.
VERBS = (
    'demo',
    'info',
    'convert',
    'simulate',
    'init',
    'check',
    'replay',
    'identify',
    'observe',
    'design',
    'compare',
    'reproduce',
    'batch',
    'run',
    'play',
    'record',
    'topics',
    'echo',
    'hz',
    'dashboard',
    'parameters',
    'router',
    'bench',
    'doctor',
)

EPILOG = """exit status: 0 done; 1 the input is unusable (one sentence on stderr says why);
2 wrong usage; 3 with --strict: the verdict is no. `veh-id VERB --help` explains a verb."""


#: Verbs whose systems have options of their own.
OF_SYSTEMS = ('identify', 'observe', 'design', 'batch')


class _Version(argparse.Action):
    """Prints what is installed; argparse's own action wants the text before anybody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from veh_identification.cli.doctor import version_text

        print(version_text())
        parser.exit()


def build_parser(arguments: Sequence[str] = ()) -> Parser:
    """The whole command line; of systems only the one that the arguments name is filled."""
    parser = Parser(
        prog='veh-id',
        description='Dynamic models of cars, humanoids, arms and parallel robots from recordings '
        'or live sensor streams.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--version', action=_Version, nargs=0, help='the version and what it runs on'
    )
    verbs = parser.add_subparsers(dest='verb', metavar='VERB', parser_class=Parser)
    words = [word for word in arguments if not word.startswith('-')]
    for verb in VERBS:
        # Verbs import what they need when they run: `veh-id --help` must not load Numba.
        module = importlib.import_module(f'veh_identification.cli.{verb}')
        if verb in OF_SYSTEMS:
            named = len(words) > 1 and words[0] == verb
            module.add_parser(verbs, words[1] if named else '')
        else:
            module.add_parser(verbs)
    return parser


def _complete(parser: Parser) -> None:
    """Completion in the shell, where argcomplete is set up for it."""
    if '_ARGCOMPLETE' in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def _incomplete(error: ModuleNotFoundError, words: Sequence[str]) -> int:
    """A library is missing: the doctor works without any, other verbs say whom to ask."""
    if (error.name or '').startswith('veh_identification'):
        raise error
    from veh_identification.cli import doctor

    if words[:1] == ['doctor']:
        return doctor.run(argparse.Namespace())
    print(
        f'veh-id: the Python library {error.name} is missing; `veh-id doctor` says how to get it',
        file=sys.stderr,
    )
    return 1


def main(arguments: Sequence[str] | None = None, *, tell: bool = False) -> int:
    """Run one verb; with `tell` a word is said when kernels are compiled first."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    completing = os.environ.get('COMP_LINE', '').split()[1:]
    try:
        parser = build_parser(completing or words)
    except ModuleNotFoundError as error:
        return _incomplete(error, words)
    _complete(parser)
    if not words:
        parser.print_help()
        return 0
    options = parse(parser, words)
    if threading.current_thread() is threading.main_thread():
        # As an exception, so that half-written output is removed on the way out.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if tell and options.verb in COMPUTING:
            tell_of_compiling()
        status: int = options.run(options) or 0
    except VehIdError as error:
        print(f'veh-id {options.verb}: {error}', file=sys.stderr)
        return error.exit_status
    except ModuleNotFoundError as error:
        return _incomplete(error, words)
    except KeyboardInterrupt:
        print(f'veh-id {options.verb}: interrupted', file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Someone closed the pipe (`veh-id info | head`): nothing is wrong. Python would complain
        # again when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def program() -> int:
    """`main` as a program of its own: nothing follows it but the end of the interpreter."""
    try:
        return main(tell=True)
    finally:
        # The work is done and Python waits for its threads: Ctrl-C ends it there and then, without
        # the traceback of a wait that nobody asked for.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == '__main__':
    sys.exit(program())
