"""`veh-id bench`: speed and memory beside peers, measured in the same run."""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from veh_identification import __version__
from veh_identification.errors import UsageError


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
    parser.set_defaults(run=run)


def find_parts() -> dict[str, ModuleType]:
    """The benchmark modules by the name of their part."""
    from veh_identification.runtime.share import share_directory

    parts = {}
    for path in sorted((share_directory() / 'bench').glob('*.py')):
        name = f'veh_identification_bench_{path.stem}'
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        text = path.read_text('utf-8')
        if 'PART = ' not in text:
            continue  # a helper of other benchmarks
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        parts[module.PART] = module
    return parts


def run(options: argparse.Namespace) -> int:
    """Run and print."""
    parts = find_parts()
    if options.list:
        for name, module in parts.items():
            print(f'{name:16} {(module.__doc__ or "").splitlines()[0]}')
        return 0
    unknown = [name for name in options.parts if name not in parts]
    if unknown:
        raise UsageError(f'there is no part {unknown[0]!r}; there are: {", ".join(parts)}')
    results: dict[str, list[dict[str, Any]]] = {}
    for name, module in parts.items():
        if options.parts and name not in options.parts:
            continue
        print(f'{name}: measuring ...', file=sys.stderr, flush=True)
        results[name] = module.measure(options.quick)
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
