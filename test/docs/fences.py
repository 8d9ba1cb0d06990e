"""Fenced blocks of Markdown documents, and checks of commands that cannot be run everywhere."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from veh_identification.cli.main import build_parser
from veh_identification.cli.parser import parse
from veh_identification.runtime.graph import GRAPHS

ROOT = Path(__file__).parents[2]
MARKERS = ('needs ros', 'needs hardware', 'installs', 'your own files', 'runs until stopped')
LANGUAGES = ('sh', 'python', 'yaml', 'text', 'cmake', 'json')
COMMENT = re.compile(r'<!--\s*(.*?)\s*-->')
LAUNCH_ARGUMENTS = {
    'autostart',
    'bag',
    'bag_rate',
    'bag_delay',
    'bag_linger',
    'record',
    'config',
    'namespace',
    'log_level',
}
#: Commands of other programs; what we say about them cannot be wrong about our own files.
FOREIGN = {
    'apt-get',
    'cd',
    'colcon',
    'cp',
    'echo',
    'git',
    'less',
    'mkdir',
    'rosdep',
    'rviz2',
    'source',
    '.',
    'touch',
    'python3',
}


@dataclass(frozen=True)
class Fence:
    """One block."""

    document: str
    line: int
    language: str
    text: str
    marker: str = ''


def documents() -> list[Path]:
    """README.md, CONTRIBUTING.md and everything in docs/."""
    return [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md'))]


def fences(path: Path) -> list[Fence]:
    """All fenced blocks of a document, each with the marker comment right above it."""
    found, marker, lines = [], '', path.read_text(encoding='utf-8').splitlines()
    k = 0
    while k < len(lines):
        line = lines[k]
        if line.lstrip().startswith('```'):
            indent = len(line) - len(line.lstrip())
            language, begin = line.strip().removeprefix('```').strip(), k
            k += 1
            block = []
            while k < len(lines) and lines[k].strip() != '```':
                block.append(lines[k][indent:])
                k += 1
            assert k < len(lines), f'{path.name}:{begin + 1}: the block has no end'
            found.append(Fence(path.name, begin + 1, language, '\n'.join(block), marker))
            marker = ''
        elif comment := COMMENT.fullmatch(line.strip()):
            marker = comment[1] if comment[1] in MARKERS else ''
        elif line.strip():
            marker = ''
        k += 1
    return found


def commands(block: str) -> list[list[str]]:
    """The simple commands of a shell block, without comments, redirections and pipes' ends."""
    joined = re.sub(r'\\\n', ' ', block)
    found = []
    for line in joined.splitlines():
        for part in re.split(r'&&|\||;', line.split(' #')[0]):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r'[A-Z_]+=.*', words[0]):
                words = words[1:]
            if words and '>' in words:
                words = words[: words.index('>')]
            if words:
                found.append(words)
    return found


def check_command(words: list[str]) -> None:
    """Raise AssertionError where a command cannot be right; it is not run."""
    name = Path(words[0]).name
    if name == 'veh-id':
        try:
            parse(build_parser(words[1:]), words[1:])
        except SystemExit as error:
            assert error.code == 0, f'{shlex.join(words)}: the command line is wrong'
    elif name == 'make':
        for target in words[1:]:
            text = (ROOT / 'Makefile').read_text(encoding='utf-8')
            assert re.search(rf'^{re.escape(target)}:', text, re.M), f'no make target {target}'
    elif name == 'ros2':
        check_ros2(words)
    elif name in ('pip', 'pip3'):
        check_pip(words)
    else:
        assert name in FOREIGN, f'{shlex.join(words)}: what is {name}?'


def check_ros2(words: list[str]) -> None:
    """Launch files, executables and launch arguments that are ours must exist."""
    verb = words[1]
    if verb == 'launch' and words[2] == 'veh_identification':
        assert (ROOT / 'launch' / words[3]).is_file(), f'no launch file {words[3]}'
        graph = GRAPHS[words[3].removesuffix('.launch.py')]
        known = LAUNCH_ARGUMENTS | {
            f'{kind}_driver{end}' for kind in graph.driver_kinds for end in ('', '_config')
        }
        for word in words[4:]:
            argument = word.partition(':=')[0]
            assert word.startswith('--') or argument in known, f'{words[3]} has no {argument}'
    elif verb == 'run' and words[2] == 'veh_identification':
        assert (ROOT / 'scripts' / words[3]).is_file(), f'no executable {words[3]}'
    else:
        assert verb in ('bag', 'topic', 'service', 'param', 'node', 'lifecycle'), f'ros2 {verb}'


def check_pip(words: list[str]) -> None:
    """What pip is told to install must be this package or something that it depends on."""
    project = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    for before, word in pairwise(words):
        if before == '-r':
            named = word.partition('veh_identification/')[2] or word
            assert (ROOT / named).is_file(), f'pip install -r {word}: no such file'
            continue
        if word in ('install', '-e', '-r') or word.startswith('--'):
            continue
        if local := re.fullmatch(r'(\.|git\+\S+)(\[(.*)\])?', word):
            for extra in filter(None, (local[3] or '').split(',')):
                assert re.search(rf'^{extra} = \[', project, re.M), f'no extra {extra}'
        else:
            plain = re.split('[<>=]', word)[0].replace('-', '[-_]')
            assert re.search(rf'"{plain}[>=<"]', project), f'pip install {word}: not needed'
