"""Links, paths and quoted sentences of the documents are right."""

from __future__ import annotations

import argparse
import ast
import re
from functools import cache
from pathlib import Path

import pytest
from fences import ROOT, documents

from veh_identification.cli.main import build_parser
from veh_identification.design import registry as designs
from veh_identification.systems import registry

PACKAGE = ROOT / 'veh_identification'
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
#: Where `make demo` and the commands of the documents write.
WRITTEN = 'out'
PATH = re.compile(r'`((?:[a-z_0-9]+/)+[A-Za-z_0-9.]+\.(?:py|yaml|json|rviz|md|urdf|msg))`')


def read(name: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / name).read_text('utf-8')


def anchors(path: Path) -> set[str]:
    """Anchors of the titles, as GitHub makes them."""
    titles = re.findall(r'^#+ (.*)$', path.read_text('utf-8'), re.M)
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles}


@pytest.mark.parametrize('path', documents(), ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text('utf-8')):
        if target.startswith('http'):
            continue
        file, _, anchor = target.partition('#')
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), f'{path.name}: {target} leads nowhere'
        if anchor:
            assert anchor in anchors(linked), f'{path.name}: no title for {target}'


@pytest.mark.parametrize('path', documents(), ids=lambda path: path.stem)
def test_paths_in_the_text_exist(path: Path) -> None:
    text = re.sub(r'^```.*?^```', '', path.read_text('utf-8'), flags=re.M | re.S)
    for named in PATH.findall(text):
        top = named.partition('/')[0]
        ours = top != WRITTEN and ((ROOT / top).is_dir() or (PACKAGE / top).is_dir())
        if 'NAME' in named or not ours:  # a file that a command writes
            continue
        assert any((base / named).exists() for base in (ROOT, PACKAGE)), f'{path.name}: {named}'


def test_index_names_every_document() -> None:
    index = (ROOT / 'docs' / 'index.md').read_text('utf-8')
    for path in documents():
        assert (
            path.name in ('index.md', 'README.md', 'CONTRIBUTING.md') or f'({path.name})' in index
        ), path.name


#: Stands between texts, and in none.
BETWEEN = '\x01'


@cache
def sentences() -> str:
    """All texts of the sources, apart from each other; a value that is filled in is a NUL."""
    found = []
    for path in PACKAGE.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    ''.join(
                        str(part.value) if isinstance(part, ast.Constant) else '\0'
                        for part in node.values
                    )
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return BETWEEN.join(found)


def quoted() -> list[str]:
    """What the documents say that the program prints."""
    found = re.findall(r'"([^"\n]+)"', read('docs/troubleshooting.md'))
    # Elsewhere only sentences at the begin of a table's row.
    for path in documents():
        found += re.findall(r'^\| "([^"\n]+)"', path.read_text('utf-8'), re.M)
    return found


def is_said(quote: str) -> bool:
    """Whether some text of the sources holds the quoted words, `...` standing for anything."""
    parts = [re.escape(part.strip()) for part in quote.split('...')]
    return re.search(f'[^{BETWEEN}]*'.join(parts), sentences()) is not None


def test_quotations_are_what_the_program_says() -> None:
    foreign = {'externally-managed-environment', 'python3-venv is missing'}
    quotes = quoted()
    assert len(quotes) > 30
    strange = [q for q in quotes if q not in foreign and not is_said(q)]
    assert not strange
    assert not is_said('a sentence that nobody ever wrote')


#: Options of other programs that the documents name.
#: --cutoff: of the system that adding_a_system.md makes.
FOREIGN_OPTIONS = {
    '--from',
    '--packages-select',
    '--clock',
    '--cutoff',
    '--from-paths',
    '--host',
    '--nthreads',
    '--nworkers',
    '--show-args',
    '--system-site-packages',
    '--ros-args',
    '--sim-time',  # of examples/speed_without_ros.py
}


def known_options(parser: argparse.ArgumentParser) -> set[str]:
    """Every option of the command line, of all verbs."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= known_options(inner)
    return found


@cache
def all_options() -> set[str]:
    """Options of all verbs, and of every system that a verb knows."""
    named = [(verb, one.name) for one in registry.SYSTEMS for verb in one.verbs]
    named += [('design', one.name) for one in designs.DESIGNS]
    named += [('batch', one.name) for one in registry.entries('identify')]
    found = set().union(*(known_options(build_parser(words)) for words in named))
    return found | options_of_benchmarks()


def options_of_benchmarks() -> set[str]:
    """Options that `veh-id bench PART` hands on to a script, by its text: to load it is slow."""
    texts = (path.read_text('utf-8') for path in (ROOT / 'bench').rglob('*.py'))
    return {word for text in texts for word in re.findall(r"'(--[a-z][a-z-]+)'", text)}


@pytest.mark.parametrize('path', documents(), ids=lambda path: path.stem)
def test_options_in_the_text_exist(path: Path) -> None:
    known = all_options() | FOREIGN_OPTIONS
    assert '--validate' in known and '--no-such-option' not in known
    named = set(re.findall(r'(?<![\w-])--[a-z][a-z-]+', path.read_text('utf-8')))
    assert not named - known
