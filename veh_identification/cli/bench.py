"""`veh-id bench`: speed and memory beside peers, measured in the same run."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.errors import UsageError

#: Options that go to a part whose `measure` has them.
LIMITS = ('drives', 'duration', 'cases', 'minutes', 'resume')


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'bench',
        help='benchmarks beside their peers, as a table and JSON',
        description='Runs the benchmarks of bench/; each measures the plain approach or another '
        'library in the same run, so that the ratio means something on any machine.',
    )
    parser.add_argument('parts', metavar='PART', nargs='*', help='only these parts (see --list)')
    parser.add_argument('--list', action='store_true', help='list the parts and stop')
    parser.add_argument('--quick', action='store_true', help='smaller cases, for a first look')
    parser.add_argument('--json', metavar='FILE', help='write the figures here as well')
    limits = parser.add_argument_group('limits of parts that drive (others refuse them)')
    limits.add_argument('--drives', metavar='N', type=int, help='so many drives, seeds from 0 on')
    limits.add_argument('--duration', metavar='S', type=float, help='length of each drive [s]')
    limits.add_argument(
        '--cases', metavar='TEXT', help='only cases whose names hold one of these, by commas'
    )
    limits.add_argument(
        '--minutes', metavar='M', type=float, help='start nothing new after so long'
    )
    limits.add_argument(
        '--resume', metavar='FILE', help='keep every drive here, and do not repeat what is in it'
    )
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Part:
    """A benchmark file; its module is loaded only when it runs."""

    name: str
    summary: str
    path: Path

    def measure(self, quick: bool, limits: dict[str, Any]) -> list[dict[str, Any]]:
        """Load the module and run it; `limits` that it does not know are refused."""
        name = f'veh_identification_bench_{self.path.stem}'
        spec = importlib.util.spec_from_file_location(name, self.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        known = inspect.signature(module.measure).parameters
        for limit in limits:
            if limit not in known and 'limits' not in known:
                raise UsageError(f'part {self.name!r} does not take --{limit}')
        rows: list[dict[str, Any]] = module.measure(quick, **limits)
        return rows


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
    if options.list:
        for part in parts.values():
            print(f'{part.name:16} {part.summary}')
        return 0
    unknown = [name for name in options.parts if name not in parts]
    if unknown:
        raise UsageError(f'there is no part {unknown[0]!r}; there are: {", ".join(parts)}')
    given = {name: getattr(options, name) for name in LIMITS}
    limits = {name: value for name, value in given.items() if value is not None}
    if limits and not options.parts:
        raise UsageError(f'--{next(iter(limits))} needs the name of a part')
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
