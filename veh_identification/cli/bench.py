"""`veh-id bench`: speed and memory beside peers, measured in the same run."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'bench',
        help='benchmarks beside their peers, as a table and JSON',
        description='Runs the benchmarks of bench/; each measures the plain approach or another '
        'library in the same run, so that the ratio means something on any machine. Further '
        'options go to the script of the one part that is named: `veh-id bench mistakes --help` '
        'lists these of a script that has any.',
        add_help=False,
    )
    parser.add_argument('-h', '--help', action='store_true', help='this help, or that of a part')
    parser.add_argument('parts', metavar='PART', nargs='*', help='only these parts (see --list)')
    parser.add_argument('--list', action='store_true', help='list the parts and stop')
    parser.add_argument('--quick', action='store_true', help='smaller cases, for a first look')
    parser.add_argument('--json', metavar='FILE', help='write the figures here as well')
    parser.add_argument(
        '--readme',
        action='store_true',
        help='measure nothing: write the tables of README.md from bench/measured',
    )
    parser.set_defaults(run=run, leaf=parser, handed_on=[])


@dataclass(frozen=True)
class Part:
    """A benchmark file; its module is loaded only when it runs."""

    name: str
    summary: str
    path: Path

    def measure(self, quick: bool, limits: dict[str, Any]) -> list[dict[str, Any]]:
        """Load the module and run it with options of its own."""
        rows: list[dict[str, Any]] = self.module().measure(quick, **limits)
        return rows

    def module(self) -> Any:
        """The script as a module."""
        name = f'veh_identification_bench_{self.path.stem}'
        spec = importlib.util.spec_from_file_location(name, self.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


def find_parts() -> dict[str, Part]:
    """The benchmarks by the name of their part; files without PART are helpers of others."""
    from veh_identification.runtime.share import share_directory

    parts = {}
    folder = share_directory() / 'bench'
    for path in sorted([*folder.glob('*.py'), *folder.glob('*/*.py')]):
        text = path.read_text('utf-8')
        named = re.search(r"^PART = '([\w-]+)'$", text, re.MULTILINE)
        if named:
            summary = (ast.get_docstring(ast.parse(text)) or '').partition('\n')[0]
            parts[named[1]] = Part(named[1], summary, path)
    return parts


def run(options: argparse.Namespace) -> int:
    """Run and print."""
    parts = find_parts()
    if options.help and not options.parts:
        options.leaf.print_help()
        options.leaf.exit()
    if options.readme:
        return _readme()
    if options.list:
        for part in parts.values():
            print(f'{part.name:16} {part.summary}')
        return 0
    unknown = [name for name in options.parts if name not in parts]
    if unknown:
        raise UsageError(f'there is no part {unknown[0]!r}; there are: {", ".join(parts)}')
    limits: dict[str, Any] = {}
    if options.handed_on or options.help:
        script = parts[options.parts[0]].module() if len(options.parts) == 1 else None
        if not hasattr(script, 'options_parser'):
            return _without_options(options)
        assert script is not None
        if hasattr(script, 'main'):  # it has a table of its own
            return int(script.main(_words(options)))
        given = vars(script.options_parser().parse_args(_words(options, shared=False)))
        limits = {name: value for name, value in given.items() if value is not None}
    results: dict[str, list[dict[str, Any]]] = {}
    for name, part in parts.items():
        if options.parts and name not in options.parts:
            continue
        print(f'{name}: measuring ...', file=sys.stderr, flush=True)
        results[name] = part.measure(options.quick, limits)
    print(table(results))
    if options.json:
        document = {
            'version': __version__,
            'machine': f'{platform.machine()}, Python {platform.python_version()}',
            'parts': results,
        }
        Path(options.json).write_text(json.dumps(document, indent=2) + '\n', 'utf-8')
    return 0


def _readme() -> int:
    """Write the tables of the README in the source tree."""
    from veh_identification.atomic import write_text
    from veh_identification.cli.readme_tables import filled
    from veh_identification.runtime.share import share_directory

    root = share_directory()
    file = root / 'README.md'
    if not file.is_file():
        raise UsageError(f'--readme is for the repository: there is no README.md in {root}')
    write_text(file, filled(file.read_text('utf-8'), root / 'bench' / 'measured'))
    return 0


def _without_options(options: argparse.Namespace) -> int:
    """Help of the verb, or what is wrong with options that no part takes."""
    words = list(options.handed_on)
    if words:
        options.leaf.refuse([word for word in words if word.startswith('-')] or words)
    options.leaf.print_help()
    return 0


def _words(options: argparse.Namespace, *, shared: bool = True) -> list[str]:
    """What goes to the script of a part; `shared`: also the options that the verb itself has."""
    words = [*options.handed_on, *(['--help'] if options.help else [])]
    if shared:
        words += ['--quick'] if options.quick else []
        words += ['--json', options.json] if options.json else []
    return words


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """All rows as one text table."""
    head = ('part', 'case', 'ours', 'peer', 'unit', 'ratio', 'wanted', 'peer is')
    rows = [head]
    for part, entries in results.items():
        for entry in entries:
            met = {True: ' (met)', False: ' (MISSED)', None: ''}[entry.get('met')]
            rows.append(
                (
                    part,
                    entry['case'],
                    _number(entry.get('ours')),
                    _number(entry.get('peer')),
                    entry.get('unit', ''),
                    _number(entry.get('ratio')),
                    entry.get('wanted', '') + met,
                    entry.get('peer_name', ''),
                )
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, '-' * max(len(line) for line in lines))
    return '\n'.join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return '-'
    return f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.3g}'
