"""Mutation testing: small faults in a module, one at a time, and whether its tests notice.

    python tools/mutation.py veh_identification/identification/statistics.py \
        test/identification/test_least_squares.py --most 20

Works on a copy of the repository. A survivor is read: either the fault changes nothing that
anybody can see, or a test is missing. For modules without compiled kernels: the copy keeps those
of the others.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def faults(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Every fault: where and what, and the module that has it."""
    for k, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node):
            spoilt = copy.deepcopy(tree)
            twin = next(one for j, one in enumerate(ast.walk(spoilt)) if j == k)
            change(twin)
            yield f'line {getattr(node, "lineno", 0)}: {what}', ast.fix_missing_locations(spoilt)


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
        other = SWAPS[type(node.op)]
        yield (
            f'{type(node.op).__name__} to {other.__name__}',
            lambda twin: setattr(twin, 'op', other()),
        )
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        other = SWAPS[type(node.ops[0])]
        yield (
            f'{type(node.ops[0]).__name__} to {other.__name__}',
            lambda twin: setattr(twin, 'ops', [other(), *twin.ops[1:]]),
        )
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = node.value + 1
        yield f'{node.value} to {value}', lambda twin: setattr(twin, 'value', value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield 'minus removed', lambda twin: setattr(twin, 'op', ast.UAdd())


def killed(tree: Path, tests: list[str], seconds: float) -> bool:
    """Whether a test notices; a test that never ends has noticed, too."""
    command = [sys.executable, '-m', 'pytest', '-q', '-x', '-n', '0', '-p', 'no:cacheprovider']
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=tree,
            env={**os.environ, 'PYTHONPATH': str(tree), 'PYTHONDONTWRITEBYTECODE': '1'},
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def replace(file: Path, text: str) -> None:
    """New text with the old time, so that compiled kernels of other modules stay valid."""
    before = file.stat()
    file.write_text(text, 'utf-8')
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for kept in (file.parent / '__pycache__').glob(f'{file.stem}.*.pyc'):
        kept.unlink()


def main() -> int:
    """Print survivors and the score; status 1 where the tests fail without a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('module')
    parser.add_argument('tests', nargs='+')
    parser.add_argument('--most', type=int, default=40, help='faults that are tried, by chance')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--seconds', type=float, default=300.0, help='for one run of the tests')
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / 'tree'
        left_out = shutil.ignore_patterns('.git', '.venv*', 'out', 'dist', 'site', '.*_cache')
        shutil.copytree(ROOT, tree, ignore=left_out)
        file = tree / chosen.module
        text = file.read_text('utf-8')
        if killed(tree, chosen.tests, chosen.seconds):
            print('the tests fail without any fault')
            return 1
        found = list(faults(ast.parse(text)))
        picked = random.Random(chosen.seed).sample(found, min(chosen.most, len(found)))
        survivors = 0
        for where, spoilt in picked:
            replace(file, ast.unparse(spoilt))
            if not killed(tree, chosen.tests, chosen.seconds):
                survivors += 1
                print(f'survives: {chosen.module} {where}', flush=True)
        print(f'{len(picked) - survivors} of {len(picked)} faults noticed ({len(found)} possible)')
    return 0


if __name__ == '__main__':
    sys.exit(main())
