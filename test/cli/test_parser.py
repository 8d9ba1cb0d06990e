"""Words that are nearly right, bags in any place, patterns, options made of data classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from veh_identification.cli import parser as shared
from veh_identification.cli.main import VERBS, build_parser, main
from veh_identification.errors import UsageError
from veh_identification.systems import registry
from veh_identification.systems.options import make_options, option, option_fields


@dataclass(frozen=True)
class Options:
    dof: int | None = option(None, 'degrees of freedom', choices=(20, 38))
    rate: float = option(100.0, 'of the grid in Hz', minimum=1.0, maximum=1e4)
    name: tuple[str, ...] = option((), 'of a thing')
    fast: bool = option(False, 'hurry')
    careful: bool = option(True, 'look twice')
    file: Path | None = option(None, 'to read')


@pytest.fixture
def parser() -> shared.Parser:
    made = shared.Parser(prog='try')
    shared.add_bags(made, 'recording')
    shared.add_options(made, Options)
    made.set_defaults(leaf=made)
    return made


def test_options_of_a_class_become_arguments(parser: shared.Parser) -> None:
    found = shared.parse(
        parser,
        ['a', '--dof', '20', 'b', '--name', 'x', '--name', 'y', '--fast', '--no-careful', 'c'],
    )
    assert found.bags == ['a', 'b', 'c']
    given = shared.options_of(found, Options)
    assert given == {'dof': 20, 'name': ['x', 'y'], 'fast': True, 'careful': False}
    assert make_options(Options, given, 'try') == Options(20, 100.0, ('x', 'y'), True, False)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--dofs', '20'], '--dofs is not known here; did you mean --dof?'),
        (['--dof', '21'], 'dof'),
        (['--rate', 'quick'], 'rate'),
    ],
)
def test_wrong_words_are_answered(
    parser: shared.Parser, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        shared.parse(parser, words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'dofs': 20}, "try has no option 'dofs'; did you mean 'dof'?"),
        ({'zebra': 1}, 'it has: dof, rate, name, fast, careful, file'),
        ({'dof': 21}, 'dof must be one of 20, 38; found 21'),
        ({'rate': 'quick'}, "rate must be a number, found 'quick'"),
        ({'rate': True}, 'rate must be a number, found True'),
        ({'rate': 0.5}, 'rate must be at least 1, found 0.5'),
        ({'rate': 2e4}, 'rate must be at most 10000, found 20000.0'),
    ],
)
def test_options_are_checked_from_python_too(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_options(Options, given, 'try')
    assert message in str(refused.value)


def test_every_option_of_every_system_can_be_read() -> None:
    for entry in registry.SYSTEMS:
        for options in registry.load(entry).verbs.values():
            assert all(one.kind in (bool, int, float, str, Path) for one in option_fields(options))


def test_patterns_are_expanded(tmp_path: Path) -> None:
    for name in ('run2', 'run1', 'other'):
        (tmp_path / name).mkdir()
    assert shared.expand(str(tmp_path / 'run*')) == [tmp_path / 'run1', tmp_path / 'run2']
    assert shared.expand('not_there') == [Path('not_there')]
    with pytest.raises(UsageError, match='nothing matches'):
        shared.expand(str(tmp_path / 'walk*'))


def test_bare_program_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f'    {verb}' in text for verb in VERBS)


@pytest.mark.parametrize(
    ('words', 'meant'),
    [
        (['identfy', 'car'], 'did you mean identify?'),
        (['identify', 'caar'], 'did you mean car?'),
        (['observe', 'bugy', 'x'], 'did you mean buggy?'),
    ],
)
def test_verbs_and_systems_that_are_nearly_right(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert meant in capsys.readouterr().err


def test_bags_are_positional_and_by_option(tmp_path: Path) -> None:
    words = ['identify', 'car', 'a', '--bag', 'b', '--out', 'c']
    found = shared.parse(build_parser(words), words)
    assert shared.bags_of(found, 'identify car') == [Path('a'), Path('b')]
    words = ['observe', 'buggy', '--bag', 'b', '--out', 'c']
    found = shared.parse(build_parser(words), words)
    assert shared.bags_of(found, 'observe vehicle') == [Path('b')]
    words = ['observe', 'vehicle', 'a', 'b', '--out', 'c']
    found = shared.parse(build_parser(words), words)
    with pytest.raises(UsageError, match='takes one recording, found 2'):
        shared.bags_of(found, 'observe vehicle')
