"""The parser that all verbs share: what was meant where a word is wrong, bags by position."""

from __future__ import annotations

import argparse
import glob
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from veh_identification.errors import UsageError
from veh_identification.systems.options import NoOptions, OptionField, option_fields


class Parser(argparse.ArgumentParser):
    """argparse's parser whose errors name the nearest word that exists."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # An abbreviation that works today breaks when an option with the same beginning comes.
        options.setdefault('allow_abbrev', False)
        super().__init__(*arguments, **options)

    def words(self) -> list[str]:
        """Options of this parser."""
        return [word for action in self._actions for word in action.option_strings]

    def error(self, message: str) -> NoReturn:
        """Print the usage and what was meant, and end with status 2."""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            known = re.findall(r'[\w-]+', choice[2])
            message = f'{choice[1]!r} is not known; {meant(choice[1], known)}'
        super().error(message)

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say which options do not exist, and what may have been meant."""
        told = [f'{word} is not known here; {meant(word, self.words())}' for word in words]
        self.error('; '.join(told))


def meant(word: str, known: Sequence[str]) -> str:
    """The nearest known word, or all of them."""
    near = get_close_matches(word.partition('=')[0], known, 1)
    return f'did you mean {near[0]}?' if near else f'there are: {", ".join(known)}'


def parse(parser: Parser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """All arguments; bags may stand before, between and behind options."""
    options, rest = parser.parse_known_args(arguments)
    leaf: Parser = getattr(options, 'leaf', parser)
    if rest and hasattr(options, 'handed_on'):
        options.handed_on = rest  # a script that the verb runs knows them
        return options
    bags = [word for word in rest if not word.startswith('-')]
    strange = [word for word in rest if word.startswith('-')]
    if strange:
        leaf.refuse(strange)
    if bags and not hasattr(options, 'bags'):
        leaf.error(f'{bags[0]!r} is one word too many')
    if bags:
        options.bags = [*options.bags, *bags]
    return options


def add_bags(parser: argparse.ArgumentParser, help: str, *, several: bool = True) -> None:
    """Recordings by position; `--bag` says the same."""
    parser.add_argument('bags', metavar='BAG', nargs='*', default=[], help=help)
    parser.add_argument(
        '--bag', metavar='BAG', action='append', default=[], help=argparse.SUPPRESS
    )
    parser.set_defaults(several=several)


def bags_of(options: argparse.Namespace, what: str) -> list[Path]:
    """The recordings that were named, patterns expanded."""
    found = [path for word in (*options.bags, *options.bag) for path in expand(word)]
    if not found:
        raise UsageError(f'{what} needs a recording: give its path')
    if len(found) > 1 and not options.several:
        raise UsageError(f'{what} takes one recording, found {len(found)}')
    return found


def expand(word: str) -> list[Path]:
    """One path, or all that a pattern matches, sorted."""
    if not glob.has_magic(word) or Path(word).exists():
        return [Path(word)]
    # Not Path.glob: it knows no pattern with an absolute beginning.
    found = sorted(glob.glob(word))  # noqa: PTH207
    if not found:
        raise UsageError(f'nothing matches {word}')
    return [Path(one) for one in found]


def add_options(parser: argparse.ArgumentParser, options: type) -> None:
    """One argument for every option of a class (see systems/options.py)."""
    if options is NoOptions:
        return
    group = parser.add_argument_group('options')
    for one in option_fields(options):
        _add_option(group, one)


def _add_option(group: Any, one: OptionField) -> None:
    word = f'--{one.name.replace("_", "-")}'
    text = one.help.replace('%', '%%')
    if one.kind is bool:
        # None: neither was said, so that --no-... may contradict a file.
        action = 'store_true' if one.default is False else argparse.BooleanOptionalAction
        group.add_argument(word, action=action, default=None, help=text)
        return
    more: dict[str, Any] = {'type': one.kind, 'help': text, 'default': None}
    if one.choices:
        more['choices'] = one.choices
    elif one.metavar:
        more['metavar'] = one.metavar
    else:
        more['metavar'] = {int: 'N', float: 'X', str: 'NAME', Path: 'FILE'}[one.kind]
    if one.repeated:
        more |= {'action': 'append', 'help': f'{text}; may be given again'}
    elif one.default not in (None, ''):
        more['help'] = f'{text} (default: {one.default})'
    group.add_argument(word, **more)


def options_of(namespace: argparse.Namespace, options: type) -> dict[str, Any]:
    """What was given of the options of a class."""
    return {
        one.name: getattr(namespace, one.name)
        for one in option_fields(options)
        if getattr(namespace, one.name, None) is not None
    }


def add_systems(parser: Parser, entries: Iterable[Any], wanted: str) -> dict[str, Parser | None]:
    """A parser for every system of a verb; only the wanted one is to be filled.

    A system is imported for its own help and work alone, so that others stay quick.
    """
    systems = parser.add_subparsers(
        dest='system', metavar='SYSTEM', required=True, parser_class=Parser
    )
    made: dict[str, Parser | None] = {}
    for entry in entries:
        one = systems.add_parser(
            entry.name,
            aliases=list(entry.aliases),
            help=entry.summary,
            description=f'{entry.summary[:1].upper()}{entry.summary[1:]}.',
        )
        one.set_defaults(leaf=one)
        made[entry.name] = one if wanted in (entry.name, *entry.aliases) else None
    return made


def say(text: str) -> None:
    """Print to the terminal."""
    sys.stdout.write(text if text.endswith('\n') else f'{text}\n')
